/* SPDX-License-Identifier: Apache-2.0 */
/* Binding of the operators on regions of interest. */
#include "backend/gpu/gpu_launch.h"

enum { MAX_SAMPLES = 1024 };

static enum status read_samples(const struct op_call *c, struct gpu_roi *a)
{
    static const char *const names[] = { "num_samples_y", "num_samples_x" };
    for (uint32_t d = 0; d < 2; d++) {
        int64_t n = op_int(c, names[d], 0);
        if (n > MAX_SAMPLES)
            return gpu_refuse(c, "parameter \"%s\" is %lld; at most %d are supported", names[d], (long long)n, MAX_SAMPLES);
        a->samples[d] = n > 0 ? (int)n : 0;
    }
    a->aligned = (int)op_int(c, "aligned", 0);
    a->allow_invalid = (int)op_int(c, "allow_invalid_roi", 0);
    return ST_OK;
}

enum status gpu_bind_roi(const struct op_call *c, struct gpu_work *w)
{
    struct gpu_launch l = { .kernel = K_ROI,
                            GPU_ARGS(roi),
                            .n_operands = 4,
                            .operand = { 0, 1, 2, (uint8_t)c->n_in },
                            .items = desc_count(c->out[0]) };
    const uint32_t *x = c->in[0]->dims, *y = c->out[0]->dims;
    struct gpu_roi *a = &l.args.roi;
    *a = (struct gpu_roi){ .n = (int)l.items,
                           .align = c->op->id == OP_RoiAlign,
                           .batch = (int)x[0],
                           .channels = (int)x[3],
                           .in = { (int)x[1], (int)x[2] },
                           .out = { (int)y[1], (int)y[2] } };
    for (uint32_t d = 0; d < 2; d++) {
        a->ratio[d] = (float)op_real(c, "img_size_ratio", d);
        RETURN_IF(!(a->ratio[d] > 0.0f), ST_INVALID_OP,
                  "%s \"%s\": parameter \"img_size_ratio\" holds %g; numbers above 0 are expected", c->op->name,
                  c->node ? c->node : "", (double)a->ratio[d]);
    }
    if (a->align)
        TRY(read_samples(c, a));
    TRY(gpu_type(c, 0, T_FLOAT, &a->x_type));
    TRY(gpu_type(c, 1, T_FLOAT, &a->roi_type));
    TRY(gpu_type(c, 2, T_INDEX, &a->index_type));
    TRY(gpu_type(c, c->n_in, T_FLOAT, &a->y_type));
    return gpu_add(c, w, &l);
}

enum status gpu_bind_heat_map(const struct op_call *c, struct gpu_work *w)
{
    const uint32_t *x = c->in[0]->dims;
    uint8_t out = (uint8_t)c->n_in;
    struct gpu_launch l = { .kernel = K_HEAT_MAP,
                            GPU_ARGS(heat_map),
                            .n_operands = 4,
                            .operand = { 0, 1, out, out + 1 },
                            .items = (uint64_t)x[0] * x[3] };
    struct gpu_heat_map *a = &l.args.heat_map;
    *a = (struct gpu_heat_map){ .n = (int)l.items, .height = (int)x[1], .width = (int)x[2], .points = (int)x[3] };
    TRY(gpu_type(c, 0, T_FLOAT, &a->map_type));
    TRY(gpu_type(c, 1, T_FLOAT, &a->box_type));
    TRY(gpu_type(c, out, T_FLOAT, &a->score_type));
    TRY(gpu_type(c, out + 1u, T_FLOAT, &a->point_type));
    return gpu_add(c, w, &l);
}
