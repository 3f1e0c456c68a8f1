/* SPDX-License-Identifier: Apache-2.0 */
/* Binding of HadamardTransform, RotaryEmbedding and Stft. */
#include <math.h>

#include "backend/gpu/gpu_launch.h"

enum status gpu_bind_hadamard(const struct op_call *c, struct gpu_work *w)
{
    struct gpu_launch l = { .kernel = K_HADAMARD,
                            GPU_ARGS(hadamard),
                            .n_operands = 2,
                            .operand = { 0, (uint8_t)c->n_in },
                            .items = desc_count(c->out[0]) };
    uint32_t n = c->in[0]->dims[c->in[0]->rank - 1];
    struct gpu_hadamard *a = &l.args.hadamard;
    *a = (struct gpu_hadamard){ .n = (int)l.items,
                                .size = (int)n,
                                .scale = (float)(op_real(c, "scale", 0) / sqrt((double)n)) };
    TRY(gpu_type(c, 0, T_FLOAT, &a->x_type));
    TRY(gpu_type(c, c->n_in, T_FLOAT, &a->y_type));
    return gpu_add(c, w, &l);
}

enum status gpu_bind_rotary(const struct op_call *c, struct gpu_work *w)
{
    bool positions = c->n_in > 3 && c->in[3];
    struct gpu_launch l = { .kernel = K_ROTARY,
                            GPU_ARGS(rotary),
                            .n_operands = 5,
                            .operand = { 0, 1, 2, positions ? 3 : 0, (uint8_t)c->n_in },
                            .items = desc_count(c->out[0]) };
    const struct tensor_desc *x = c->in[0], *cosines = c->in[1];
    uint32_t half = cosines->dims[cosines->rank - 1];
    struct gpu_rotary *a = &l.args.rotary;
    *a = (struct gpu_rotary){ .n = (int)l.items,
                              .rotated = (int)(2 * half),
                              .heads_first = x->rank == 4,
                              .sequence = (int)x->dims[x->rank - 2],
                              .interleaved = (int)op_int(c, "interleaved", 0),
                              .positions = positions,
                              .table = (int)cosines->dims[0] };
    a->size = x->rank == 4 || op_int(c, "rotary_embedding_dim", 0) ? (int)x->dims[x->rank - 1] : a->rotated;
    a->heads = x->rank == 4 ? (int)x->dims[1] : (int)x->dims[2] / a->size;
    TRY(gpu_type(c, 0, T_FLOAT, &a->x_type));
    TRY(gpu_type(c, 1, T_FLOAT, &a->cos_type));
    TRY(gpu_type(c, 2, T_FLOAT, &a->sin_type));
    if (positions)
        TRY(gpu_type(c, 3, T_INDEX, &a->position_type));
    TRY(gpu_type(c, c->n_in, T_FLOAT, &a->y_type));
    return gpu_add(c, w, &l);
}

enum status gpu_bind_stft(const struct op_call *c, struct gpu_work *w)
{
    bool windowed = c->n_in > 1 && c->in[1];
    struct gpu_launch l = { .kernel = K_STFT,
                            GPU_ARGS(stft),
                            .n_operands = 3,
                            .operand = { 0, windowed ? 1 : 0, (uint8_t)c->n_in },
                            .items = desc_count(c->out[0]) / 2 };
    const struct tensor_desc *x = c->in[0], *y = c->out[0];
    struct gpu_stft *a = &l.args.stft;
    *a = (struct gpu_stft){ .n = (int)l.items,
                            .samples = (int)x->dims[1],
                            .frames = (int)y->dims[1],
                            .step = (int)op_int(c, "frame_step", 0),
                            .bins = (int)y->dims[2],
                            .windowed = windowed };
    a->length = op_has(c, "frame_length") ? (int)op_int(c, "frame_length", 0) : (int)desc_count(c->in[1]);
    TRY(gpu_type(c, 0, T_FLOAT, &a->x_type));
    if (windowed)
        TRY(gpu_type(c, 1, T_FLOAT, &a->window_type));
    TRY(gpu_type(c, c->n_in, T_FLOAT, &a->y_type));
    return gpu_add(c, w, &l);
}
