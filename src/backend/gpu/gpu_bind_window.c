/* SPDX-License-Identifier: Apache-2.0 */
/* Binding of pools and resizing. */
#include "backend/gpu/gpu_kernels.h"
#include "backend/gpu/gpu_launch.h"

static int param(const struct op_call *c, const char *name, uint32_t at)
{
    return (int)op_int(c, name, at);
}

enum status gpu_bind_pool(const struct op_call *c, struct gpu_work *w)
{
    struct gpu_launch l = {
        .kernel = K_POOL, GPU_ARGS(pool), .n_operands = 2, .operand = { 0, (uint8_t)c->n_in }, .items = desc_count(c->out[0])
    };
    const uint32_t *x = c->in[0]->dims, *y = c->out[0]->dims;
    bool average = c->op->id == OP_PoolAvg2d;
    TRY(gpu_float_storage(c, &l.storage));
    l.args.pool = (struct gpu_pool){
        .n = (int)l.items,
        .kind = average                    ? POOL_AVG
                : c->op->id == OP_L2Pool2d ? POOL_L2
                                           : POOL_MAX,
        .in_h = (int)x[1],
        .in_w = (int)x[2],
        .channels = (int)x[3],
        .out_h = (int)y[1],
        .out_w = (int)y[2],
        .k_h = param(c, "filter_size", 0),
        .k_w = param(c, "filter_size", 1),
        .stride_h = param(c, "stride", 0),
        .stride_w = param(c, "stride", 1),
        .pad_h = param(c, "pad_amount", 0),
        .after_h = param(c, "pad_amount", 1),
        .pad_w = param(c, "pad_amount", 2),
        .after_w = param(c, "pad_amount", 3),
        .count_pad = average && op_int(c, "count_pad_for_edges", 0),
    };
    return gpu_add(c, w, &l);
}

/* Resize's interpolation modes. */
enum { MODE_NEAREST, MODE_LINEAR };

static enum status read_modes(const struct op_call *c, struct gpu_resize *a)
{
    if (c->op->id == OP_Resize) {
        int64_t mode = op_int(c, "interpolation_mode", 0);
        if (mode != MODE_NEAREST && mode != MODE_LINEAR)
            return gpu_refuse(c, "interpolation_mode %lld; 0 (nearest) and 1 (linear) are supported", (long long)mode);
        a->linear = mode == MODE_LINEAR;
        a->coord = param(c, "transformation_mode", 0);
        a->round = param(c, "nearest_mode", 0);
        return ST_OK;
    }
    bool corners = op_int(c, "align_corners", 0), half = op_int(c, "half_pixel_centers", 0);
    a->linear = c->op->id == OP_ResizeBilinear;
    if (a->linear && op_int(c, "antialias", 0))
        return gpu_refuse(c, "antialias is not supported");
    a->coord = corners ? COORD_ALIGN_CORNERS : half ? (a->linear ? COORD_HALF_PIXEL : COORD_CENTER) : COORD_ASYMMETRIC;
    a->round = corners ? ROUND_PREFER_CEIL : ROUND_FLOOR;
    return ST_OK;
}

enum status gpu_bind_resize(const struct op_call *c, struct gpu_work *w)
{
    struct gpu_launch l = { .kernel = K_RESIZE,
                            GPU_ARGS(resize),
                            .n_operands = 2,
                            .operand = { 0, (uint8_t)c->n_in },
                            .items = desc_count(c->out[0]) };
    const struct tensor_desc *x = c->in[0], *y = c->out[0];
    struct gpu_resize *a = &l.args.resize;
    if (x->rank < 3 || x->rank > 5)
        return gpu_refuse(c, "rank %u; 3 to 5 are supported", x->rank);
    TRY(gpu_float_storage(c, &l.storage));
    *a = (struct gpu_resize){
        .n = (int)l.items, .channels = (int)x->dims[x->rank - 1], .in = { 1, 1, 1 }, .out = { 1, 1, 1 }, .first = 5 - x->rank
    };
    TRY(read_modes(c, a));
    for (int d = a->first; d < 3; d++) {
        a->in[d] = (int)x->dims[1 + d - a->first];
        a->out[d] = (int)y->dims[1 + d - a->first];
    }
    return gpu_add(c, w, &l);
}

enum status gpu_bind_lrn(const struct op_call *c, struct gpu_work *w)
{
    struct gpu_launch l = {
        .kernel = K_LRN, GPU_ARGS(lrn), .n_operands = 2, .operand = { 0, (uint8_t)c->n_in }, .items = desc_count(c->out[0])
    };
    const struct tensor_desc *x = c->in[0];
    bool spatial = op_int(c, "region", 0) == 1;
    TRY(gpu_float_storage(c, &l.storage));
    l.args.lrn = (struct gpu_lrn){
        .n = (int)l.items,
        .radius = param(c, "radius", 0),
        .spatial = spatial,
        .height = 1,
        .width = 1,
        .channels = x->rank ? (int)x->dims[x->rank - 1] : 1,
        .alpha = (float)op_real(c, "alpha", 0),
        .beta = (float)op_real(c, "beta", 0),
        .bias = (float)op_real(c, "bias", 0),
    };
    if (spatial && x->rank > 1)
        l.args.lrn.width = (int)x->dims[x->rank - 2];
    if (spatial && x->rank > 2)
        l.args.lrn.height = (int)x->dims[x->rank - 3];
    return gpu_add(c, w, &l);
}
