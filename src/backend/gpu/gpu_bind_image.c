/* SPDX-License-Identifier: Apache-2.0 */
/* Binding of the image operators: sampling, colours, windows. */
#include "backend/gpu/gpu_kernels.h"
#include "backend/gpu/gpu_launch.h"

#define T_COLOUR (T_FLOAT | T_(DT_U8))

enum status gpu_bind_sample(const struct op_call *c, struct gpu_work *w)
{
    bool crop = c->op->id == OP_CropAndResize, grid = c->op->id == OP_GridSample;
    struct gpu_launch l = { .kernel = K_SAMPLE,
                            GPU_ARGS(sample),
                            .n_operands = 4,
                            .operand = { 0, 1, crop ? 2 : 1, (uint8_t)c->n_in },
                            .items = desc_count(c->out[0]) };
    const struct tensor_desc *x = c->in[0], *y = c->out[0];
    struct gpu_sample *a = &l.args.sample;
    *a = (struct gpu_sample){ .n = (int)l.items,
                              .kind = grid   ? SAMPLE_GRID
                                      : crop ? SAMPLE_CROP
                                             : SAMPLE_PROJECTION,
                              .batch = (int)x->dims[0],
                              .channels = (int)x->dims[x->rank - 1],
                              .first = 5 - x->rank,
                              .in = { 1, 1, 1 },
                              .out = { 1, 1, 1 },
                              .half_away = !grid };
    for (int d = a->first; d < 3; d++) {
        a->in[d] = (int)x->dims[1 + d - a->first];
        a->out[d] = (int)y->dims[1 + d - a->first];
    }
    if (grid) {
        a->align_corners = (int)op_int(c, "align_corners", 0);
        a->padding = (int)op_int(c, "padding_mode", 0);
        a->edge = a->padding != GRID_ZEROS;
    } else if (crop) {
        a->edge = 1;
        a->outside = (float)op_real(c, "extrapolation_value", 0);
        TRY(gpu_type(c, 2, T_INDEX, &a->index_type));
    }
    a->own = desc_count(c->in[1]) != 8;
    a->nearest = op_int(c, grid ? "mode" : "interpolation_mode", 0) == 1;
    TRY(gpu_type(c, 0, T_FLOAT, &a->x_type));
    TRY(gpu_type(c, 1, T_FLOAT, &a->place_type));
    TRY(gpu_type(c, c->n_in, T_FLOAT, &a->y_type));
    return gpu_add(c, w, &l);
}

enum status gpu_bind_nv(const struct op_call *c, struct gpu_work *w)
{
    struct gpu_launch l = {
        .kernel = K_NV, GPU_ARGS(nv), .n_operands = 2, .operand = { 0, (uint8_t)c->n_in }, .items = desc_count(c->out[0]) / 3
    };
    const uint32_t *y = c->out[0]->dims;
    bool swapped = c->op->id == OP_Nv21ToRgb, bgr = op_int(c, "output_order", 0) == 1;
    struct gpu_nv *a = &l.args.nv;
    *a = (struct gpu_nv){ .n = (int)l.items,
                          .height = (int)y[1],
                          .width = (int)y[2],
                          .u = swapped,
                          .v = !swapped,
                          .red = bgr ? 2 : 0,
                          .blue = bgr ? 0 : 2 };
    TRY(gpu_type(c, 0, T_COLOUR, &a->x_type));
    TRY(gpu_type(c, c->n_in, T_COLOUR, &a->y_type));
    return gpu_add(c, w, &l);
}

/* ---- windows ---------------------------------------------------------------------------------------------------------- */

static struct gpu_launch patch_launch(const struct op_call *c, enum gpu_kernel kernel)
{
    return (struct gpu_launch){ .kernel = kernel,
                                GPU_ARGS(windows),
                                .n_operands = 2,
                                .operand = { 0, (uint8_t)c->n_in },
                                .items = desc_count(c->out[0]) };
}

static enum status same_type(const struct op_call *c)
{
    if (c->in[0]->type != c->out[0]->type)
        return gpu_refuse(c, "%s to %s; both must be the same: put a Cast between", dtype_name(c->in[0]->type),
                          dtype_name(c->out[0]->type));
    return ST_OK;
}

enum status gpu_bind_patches(const struct op_call *c, struct gpu_work *w)
{
    struct gpu_launch l = patch_launch(c, K_PATCHES);
    struct gpu_windows *a = &l.args.windows;
    *a = (struct gpu_windows){ .n = (int)l.items, .channels = (int)c->in[0]->dims[3] };
    for (uint32_t d = 0; d < 2; d++) {
        a->in[d] = (int)c->in[0]->dims[1 + d];
        a->out[d] = (int)c->out[0]->dims[1 + d];
        a->size[d] = (int)op_int(c, "size", d);
        a->stride[d] = (int)op_int(c, "stride", d);
        a->dilation[d] = (int)op_int(c, "rate", d);
        int span = (a->size[d] - 1) * a->dilation[d] + 1;
        int pad = op_int(c, "padding", 0) == 1 ? (a->out[d] - 1) * a->stride[d] + span - a->in[d] : 0;
        a->before[d] = pad > 0 ? pad / 2 : 0;
    }
    TRY(same_type(c));
    TRY(gpu_bits_storage(c, c->in[0], &l.storage));
    return gpu_add(c, w, &l);
}

/* Im2Col from an image, Col2Im to one. */
static void column_geometry(const struct op_call *c, const struct tensor_desc *image, struct gpu_windows *a)
{
    *a = (struct gpu_windows){ .n = (int)desc_count(c->out[0]), .channels = (int)image->dims[3] };
    for (uint32_t d = 0; d < 2; d++) {
        a->in[d] = (int)image->dims[1 + d];
        a->size[d] = (int)op_int(c, "kernel_size", d);
        a->stride[d] = (int)op_int(c, "stride", d);
        a->dilation[d] = (int)op_int(c, "dilation", d);
        a->before[d] = (int)op_int(c, "pad_amount", 2 * d);
        int padded = a->in[d] + a->before[d] + (int)op_int(c, "pad_amount", 2 * d + 1);
        a->out[d] = (padded - (a->size[d] - 1) * a->dilation[d] - 1) / a->stride[d] + 1;
    }
}

enum status gpu_bind_im2col(const struct op_call *c, struct gpu_work *w)
{
    struct gpu_launch l = patch_launch(c, K_IM2COL);
    column_geometry(c, c->in[0], &l.args.windows);
    TRY(same_type(c));
    TRY(gpu_bits_storage(c, c->in[0], &l.storage));
    return gpu_add(c, w, &l);
}

enum status gpu_bind_col2im(const struct op_call *c, struct gpu_work *w)
{
    struct gpu_launch l = patch_launch(c, K_COL2IM);
    column_geometry(c, c->out[0], &l.args.windows);
    TRY(gpu_type(c, 0, T_FLOAT, &l.args.windows.x_type));
    TRY(gpu_type(c, c->n_in, T_FLOAT, &l.args.windows.y_type));
    return gpu_add(c, w, &l);
}

enum status gpu_bind_correlation(const struct op_call *c, struct gpu_work *w)
{
    struct gpu_launch l = { .kernel = K_CORRELATION,
                            GPU_ARGS(correlation),
                            .n_operands = 3,
                            .operand = { 0, 1, (uint8_t)c->n_in },
                            .items = desc_count(c->out[0]) };
    struct gpu_correlation *a = &l.args.correlation;
    int displacement = (int)op_int(c, "displacement", 0);
    *a = (struct gpu_correlation){ .n = (int)l.items,
                                   .width = (int)c->in[0]->dims[2],
                                   .depth = (int)c->in[0]->dims[3],
                                   .shifts = 2 * displacement + 1,
                                   .first = (int)op_int(c, "shift", 0) - displacement };
    TRY(gpu_type(c, 0, T_FLOAT, &a->a_type));
    TRY(gpu_type(c, 1, T_FLOAT, &a->b_type));
    TRY(gpu_type(c, c->n_in, T_FLOAT, &a->y_type));
    return gpu_add(c, w, &l);
}

/* Noise is made of what the image holds, which is worked out first. */
enum status gpu_bind_glimpse(const struct op_call *c, struct gpu_work *w)
{
    const uint32_t *x = c->in[0]->dims;
    struct gpu_launch l = { .kernel = K_GLIMPSE_NOISE,
                            GPU_ARGS(glimpse),
                            .n_operands = 1,
                            .room = (uint64_t)x[0] * x[3] * 2 * sizeof(float),
                            .items = (uint64_t)x[0] * x[3] };
    struct gpu_glimpse *a = &l.args.glimpse;
    *a = (struct gpu_glimpse){ .n = (int)desc_count(c->out[0]),
                               .batch = (int)x[0],
                               .channels = (int)x[3],
                               .in = { (int)x[1], (int)x[2] },
                               .size = { (int)op_int(c, "size", 0), (int)op_int(c, "size", 1) },
                               .centered = (int)op_int(c, "centered", 0),
                               .normalized = (int)op_int(c, "normalized", 0),
                               .noise = (int)op_int(c, "noise", 0) };
    TRY(gpu_type(c, 0, T_FLOAT, &a->x_type));
    TRY(gpu_type(c, 1, T_FLOAT, &a->offset_type));
    TRY(gpu_type(c, c->n_in, T_FLOAT, &a->y_type));
    if (a->noise != NOISE_ZEROES)
        TRY(gpu_add(c, w, &l));
    l.kernel = K_GLIMPSE;
    l.n_operands = 3;
    l.operand[1] = 1;
    l.operand[2] = (uint8_t)c->n_in;
    l.items = desc_count(c->out[0]);
    return gpu_add(c, w, &l);
}
