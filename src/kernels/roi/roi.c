/* SPDX-License-Identifier: Apache-2.0 */
/* Binding of the operators on regions of interest. */
#include "kernels/families.h"
#include "kernels/roi/roi.h"

#define KERNEL KERNEL_VARIANT
static const struct kernel_variant roi_align_variants[] = {
#include "kernels/roi/roi_align.def"
    {0},
};
static const struct kernel_variant roi_pool_variants[] = {
#include "kernels/roi/roi_pool.def"
    {0},
};
static const struct kernel_variant heat_map_variants[] = {
#include "kernels/roi/heat_map.def"
    {0},
};
#undef KERNEL

union roi_any {
    struct roi_args roi;
    struct heat_map_args map;
};

static enum status read_samples(const struct op_call *c, struct roi_args *a)
{
    static const char *const names[] = {"num_samples_y", "num_samples_x"};
    for (uint32_t d = 0; d < 2; d++) {
        int64_t n = op_int(c, names[d], 0);
        RETURN_IF(n > ROI_MAX_SAMPLES, ST_NOT_SUPPORTED,
                  "RoiAlign \"%s\": parameter \"%s\" is %lld; at most %d are supported", c->node ? c->node : "", names[d],
                  (long long)n, ROI_MAX_SAMPLES);
        a->samples[d] = n > 0 ? (int32_t)n : 0;
    }
    a->aligned = op_int(c, "aligned", 0);
    a->allow_invalid = op_int(c, "allow_invalid_roi", 0);
    return ST_OK;
}

static enum status bind_roi(const struct op_call *c, struct roi_args *a, struct kernel_bound *ret)
{
    const struct tensor_desc *x = c->in[0], *y = c->out[0];
    bool align = c->op->id == OP_RoiAlign;
    *a = (struct roi_args){ .batch = x->dims[0],
                            .rois = c->in[1]->dims[0],
                            .channels = x->dims[3],
                            .in = { x->dims[1], x->dims[2] },
                            .out = { y->dims[1], y->dims[2] },
                            .index_type = c->in[2]->type };
    for (uint32_t d = 0; d < 2; d++) {
        a->ratio[d] = (float)op_real(c, "img_size_ratio", d);
        RETURN_IF(!(a->ratio[d] > 0.0f), ST_INVALID_OP,
                  "%s \"%s\": parameter \"img_size_ratio\" holds %g; numbers above 0 are expected", c->op->name,
                  c->node ? c->node : "", (double)a->ratio[d]);
    }
    TRY(codec_init(&a->src, x, c));
    TRY(codec_init_out(&a->dst, y, c));
    TRY(codec_init(&a->roi, c->in[1], c));
    if (align)
        TRY(read_samples(c, a));
    else
        codec_pair(&a->src, &a->dst, x, y);
    kernel_units(ret, (uint64_t)a->rois * a->out[0], 16 * (uint64_t)a->out[1] * a->channels);
    return ST_OK;
}

static enum status bind_heat_map(const struct op_call *c, struct heat_map_args *a, struct kernel_bound *ret)
{
    const struct tensor_desc *x = c->in[0];
    *a = (struct heat_map_args){.boxes = x->dims[0], .height = x->dims[1], .width = x->dims[2], .points = x->dims[3]};
    TRY(codec_init(&a->map, x, c));
    TRY(codec_init(&a->box, c->in[1], c));
    TRY(codec_init(&a->score, c->out[0], c));
    TRY(codec_init(&a->point, c->out[1], c));
    kernel_units(ret, (uint64_t)a->boxes * a->points, (uint64_t)a->height * a->width);
    return ST_OK;
}

static enum status roi_bind(const struct op_call *c, void *args, struct kernel_bound *ret,
                            const struct kernel_variant **variants)
{
    union roi_any *a = args;
    if (c->op->id == OP_HeatMapMaxKeyPoint) {
        *variants = heat_map_variants;
        return bind_heat_map(c, &a->map, ret);
    }
    *variants = c->op->id == OP_RoiAlign ? roi_align_variants : roi_pool_variants;
    return bind_roi(c, &a->roi, ret);
}

const struct kernel_family family_roi = {
    .name = "roi",
    .args_size = sizeof(union roi_any),
    .bind = roi_bind,
};
