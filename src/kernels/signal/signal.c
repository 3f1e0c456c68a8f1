/* SPDX-License-Identifier: Apache-2.0 */
/* Binding of HadamardTransform, RotaryEmbedding and Stft. */
#include <math.h>

#include "kernels/families.h"
#include "kernels/signal/signal.h"

#define KERNEL KERNEL_VARIANT
static const struct kernel_variant hadamard_variants[] = {
#include "kernels/signal/hadamard.def"
    {0},
};
static const struct kernel_variant rotary_variants[] = {
#include "kernels/signal/rotary.def"
    {0},
};
static const struct kernel_variant stft_variants[] = {
#include "kernels/signal/stft.def"
    {0},
};
#undef KERNEL

union signal_args {
    struct hadamard_args hadamard;
    struct rotary_args rotary;
    struct stft_args stft;
};

static enum status bind_hadamard(const struct op_call *c, struct hadamard_args *a, struct kernel_bound *ret)
{
    const struct tensor_desc *x = c->in[0];
    *a = (struct hadamard_args){.n = x->dims[x->rank - 1]};
    a->rows = desc_count(x) / a->n;
    a->scale = (float)(op_real(c, "scale", 0) / sqrt((double)a->n));
    TRY(codec_init(&a->src, x, c));
    TRY(codec_init_out(&a->dst, c->out[0], c));
    kernel_units(ret, a->rows, 8 * (uint64_t)a->n);
    ret->work_bytes = (uint64_t)a->n * sizeof(float);
    return ST_OK;
}

static enum status bind_rotary(const struct op_call *c, struct rotary_args *a, struct kernel_bound *ret)
{
    const struct tensor_desc *x = c->in[0], *cos = c->in[1];
    uint32_t half = cos->dims[cos->rank - 1];
    *a = (struct rotary_args){.batch = x->dims[0], .rotated = 2 * half, .heads_first = x->rank == 4, .n_in = c->n_in};
    a->sequence = x->dims[x->rank - 2];
    a->size = x->rank == 4 || op_int(c, "rotary_embedding_dim", 0) ? x->dims[x->rank - 1] : 2 * half;
    a->heads = x->rank == 4 ? x->dims[1] : x->dims[2] / a->size;
    a->units = (uint64_t)a->batch * a->heads * a->sequence;
    a->interleaved = op_int(c, "interleaved", 0);
    a->positions = c->n_in > 3 && c->in[3];
    a->position_type = a->positions ? c->in[3]->type : DT_NONE;
    a->table = cos->dims[0];
    TRY(codec_init(&a->src, x, c));
    TRY(codec_init(&a->cos, cos, c));
    TRY(codec_init(&a->sin, c->in[2], c));
    TRY(codec_init_out(&a->dst, c->out[0], c));
    kernel_units(ret, a->units, 6 * (uint64_t)a->size);
    ret->work_bytes = 3 * (uint64_t)a->size * sizeof(float);
    return ST_OK;
}

void stft_turns(double *turns, uint32_t length)
{
    for (uint64_t i = 0; i < length; i++) {
        double angle = 6.283185307179586477 * (double)i / (double)length;
        turns[2 * i] = cos(angle);
        turns[2 * i + 1] = sin(angle);
    }
}

static uint32_t frame_length(const struct op_call *c)
{
    return op_has(c, "frame_length") ? (uint32_t)op_int(c, "frame_length", 0) : (uint32_t)desc_count(c->in[1]);
}

static void find_primes(struct stft_args *a)
{
    uint32_t found[STFT_PRIMES], n = 0, rest = a->length;
    for (uint32_t p = 2; rest > 1; p++) {
        if ((uint64_t)p * p > rest)
            p = rest;
        for (; rest % p == 0; rest /= p)
            found[n++] = p;
    }
    for (uint32_t i = 0; i < n; i++)
        a->primes[i] = found[n - 1 - i];
    a->n_primes = n;
}

static enum status bind_stft(const struct op_call *c, struct stft_args *a, struct kernel_bound *ret)
{
    const struct tensor_desc *x = c->in[0], *y = c->out[0];
    *a = (struct stft_args){ .batch = x->dims[0],
                             .samples = x->dims[1],
                             .frames = y->dims[1],
                             .step = (uint32_t)op_int(c, "frame_step", 0),
                             .bins = y->dims[2],
                             .windowed = c->n_in > 1 && c->in[1],
                             .n_in = c->n_in };
    a->length = frame_length(c);
    a->lanes = a->length <= STFT_FEW ? STFT_LANES : 1;
    a->turns = c->n_aux && c->aux ? c->aux[0] : NULL;
    find_primes(a);
    TRY(codec_init(&a->src, x, c));
    TRY(codec_init_out(&a->dst, y, c));
    if (a->windowed)
        TRY(codec_init(&a->window, c->in[1], c));
    uint64_t steps = 4;
    for (uint32_t i = 0; i < a->n_primes; i++)
        steps += a->primes[i];
    kernel_units(ret, (uint64_t)a->batch * a->frames, steps * a->length);
    if (ret->grain < a->lanes)
        ret->grain = a->lanes < ret->extent ? a->lanes : ret->extent;
    /* Two sets of numbers, the window, a frame of floats, and turns where they are made here. */
    ret->work_bytes = (4 * (uint64_t)a->lanes + 1 + 1 + 2) * a->length * sizeof(double);
    return ST_OK;
}

static enum status signal_bind(const struct op_call *c, void *args, struct kernel_bound *ret,
                               const struct kernel_variant **variants)
{
    union signal_args *a = args;
    switch (c->op->id) {
    case OP_HadamardTransform:
        *variants = hadamard_variants;
        return bind_hadamard(c, &a->hadamard, ret);
    case OP_RotaryEmbedding:
        *variants = rotary_variants;
        return bind_rotary(c, &a->rotary, ret);
    default:
        *variants = stft_variants;
        return bind_stft(c, &a->stft, ret);
    }
}

/* Turns take longer to make than a frame to transform. */
static enum status signal_aux(const struct op_call *c, struct kernel_aux *ret)
{
    if (c->op->id == OP_Stft) {
        ret->n = 1;
        ret->bytes[0] = 2 * (uint64_t)frame_length(c) * sizeof(double);
    }
    return ST_OK;
}

static enum status signal_aux_fill(const struct op_call *c, uint32_t which, void *dst)
{
    (void)which;
    stft_turns(dst, frame_length(c));
    return ST_OK;
}

const struct kernel_family family_signal = {
    .name = "signal",
    .args_size = sizeof(union signal_args),
    .bind = signal_bind,
    .aux = signal_aux,
    .aux_fill = signal_aux_fill,
};
