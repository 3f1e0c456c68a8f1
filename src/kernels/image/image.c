/* SPDX-License-Identifier: Apache-2.0 */
/* Binding of the image operators. */
#include "kernels/families.h"
#include "kernels/image/image.h"

#define IMAGE_KERNEL(name)                              \
    static const struct kernel_variant name##_list[] = { \
        KERNEL_VARIANT(AVX512, name##_avx512, NULL)     \
        KERNEL_VARIANT(AVX2, name##_avx2, NULL)         \
        KERNEL_VARIANT(REF, name##_ref, NULL)           \
        {0},                                            \
    };
#include "kernels/image/image.def"
#undef IMAGE_KERNEL

union image_args {
    struct grid_sample_args grid;
    struct crop_args crop;
    struct projection_args projection;
    struct argb_args argb;
    struct nv_args nv;
    struct patch_args patch;
    struct glimpse_args glimpse;
    struct correlation_args correlation;
};

typedef enum status image_bind_fn(const struct op_call *c, union image_args *a, struct kernel_bound *ret);

/* ---- sampling ---------------------------------------------------------------------------------------------------- */

static enum status make_sampler(const struct op_call *c, struct sampler *s)
{
    const struct tensor_desc *x = c->in[0], *y = c->out[0];
    *s = (struct sampler){
        .first = 5u - x->rank, .channels = x->dims[x->rank - 1], .batch = x->dims[0], .in = { 1, 1, 1 }, .out = { 1, 1, 1 }
    };
    for (uint32_t d = s->first; d < 3; d++) {
        s->in[d] = x->dims[1 + d - s->first];
        s->out[d] = y->dims[1 + d - s->first];
    }
    TRY(codec_init(&s->src, x, c));
    TRY(codec_init_out(&s->dst, y, c));
    return mover_init(&s->mover, x, y, c);
}

static void sampler_work(const struct sampler *s, uint64_t rows, struct kernel_bound *ret)
{
    kernel_units(ret, rows, (uint64_t)s->out[2] * s->channels * (s->nearest ? 1 : 8));
}

static enum status bind_grid(const struct op_call *c, union image_args *u, struct kernel_bound *ret)
{
    struct grid_sample_args *a = &u->grid;
    *a = (struct grid_sample_args){ .align_corners = op_int(c, "align_corners", 0),
                                    .padding = (enum grid_padding)op_int(c, "padding_mode", 0) };
    TRY(make_sampler(c, &a->s));
    TRY(codec_init(&a->grid, c->in[1], c));
    a->s.nearest = op_int(c, "mode", 0) == 1;
    a->s.edge = a->padding != GRID_ZEROS;
    sampler_work(&a->s, (uint64_t)a->s.batch * a->s.out[0] * a->s.out[1], ret);
    return ST_OK;
}

static enum status bind_crop(const struct op_call *c, union image_args *u, struct kernel_bound *ret)
{
    struct crop_args *a = &u->crop;
    *a = (struct crop_args){.boxes = c->in[1]->dims[0], .index_type = c->in[2]->type};
    TRY(make_sampler(c, &a->s));
    TRY(codec_init(&a->box, c->in[1], c));
    a->s.nearest = op_int(c, "interpolation_mode", 0) == 1;
    a->s.half_away = a->s.edge = true;
    mover_stored(c->out[0], c, op_real(c, "extrapolation_value", 0), a->outside);
    sampler_work(&a->s, (uint64_t)a->boxes * a->s.out[1], ret);
    return ST_OK;
}

static enum status bind_projection(const struct op_call *c, union image_args *u, struct kernel_bound *ret)
{
    struct projection_args *a = &u->projection;
    *a = (struct projection_args){.own = desc_count(c->in[1]) != 8};
    TRY(make_sampler(c, &a->s));
    TRY(codec_init(&a->transform, c->in[1], c));
    a->s.nearest = op_int(c, "interpolation_mode", 0) == 1;
    a->s.half_away = true;
    sampler_work(&a->s, (uint64_t)a->s.batch * a->s.out[1], ret);
    return ST_OK;
}

/* ---- colours ----------------------------------------------------------------------------------------------------- */

static enum status bind_argb(const struct op_call *c, union image_args *u, struct kernel_bound *ret)
{
    struct argb_args *a = &u->argb;
    uint32_t red = op_int(c, "input_order", 0) == 0 ? 1 : 0;
    bool reverse = op_int(c, "reverse_output", 0);
    *a = (struct argb_args){.pixels = desc_count(c->in[0]) / 4};
    for (uint32_t i = 0; i < 3; i++)
        a->pick[i] = red + (reverse ? 2 - i : i);
    TRY(mover_init(&a->mover, c->in[0], c->out[0], c));
    kernel_spans(ret, a->pixels);
    return ST_OK;
}

/* Unsigned bytes are the samples themselves, whatever encoding the client gave them. */
static struct tensor_desc as_bytes(const struct tensor_desc *d)
{
    struct tensor_desc r = *d;
    if (d->type == DT_UQ8) {
        r.type = DT_U8;
        r.q = (struct quant){.kind = Q_NONE};
    }
    return r;
}

static enum status bind_nv(const struct op_call *c, union image_args *u, struct kernel_bound *ret)
{
    struct nv_args *a = &u->nv;
    struct tensor_desc x = as_bytes(c->in[0]), y = as_bytes(c->out[0]);
    bool swapped = c->op->id == OP_Nv21ToRgb, bgr = op_int(c, "output_order", 0) == 1;
    *a = (struct nv_args){.batch = y.dims[0], .height = y.dims[1], .width = y.dims[2], .u = swapped, .v = !swapped,
                          .red = bgr ? 2 : 0, .blue = bgr ? 0 : 2, .bytes_out = y.type == DT_U8};
    TRY(codec_init(&a->src, &x, c));
    TRY(codec_init(&a->dst, &y, c));
    kernel_units(ret, (uint64_t)a->batch * a->height, 6 * (uint64_t)a->width);
    return ST_OK;
}

/* ---- windows ----------------------------------------------------------------------------------------------------- */

static enum status bind_patches(const struct op_call *c, union image_args *u, struct kernel_bound *ret)
{
    struct patch_args *a = &u->patch;
    const struct tensor_desc *x = c->in[0], *y = c->out[0];
    *a = (struct patch_args){.batch = x->dims[0], .channels = x->dims[3]};
    for (uint32_t d = 0; d < 2; d++) {
        a->in[d] = x->dims[1 + d];
        a->out[d] = y->dims[1 + d];
        a->size[d] = (uint32_t)op_int(c, "size", d);
        a->stride[d] = (uint32_t)op_int(c, "stride", d);
        a->dilation[d] = (uint32_t)op_int(c, "rate", d);
        int64_t span = (int64_t)(a->size[d] - 1) * a->dilation[d] + 1;
        int64_t pad = op_int(c, "padding", 0) == 1 ? (int64_t)(a->out[d] - 1) * a->stride[d] + span - (int64_t)a->in[d] : 0;
        a->before[d] = pad > 0 ? pad / 2 : 0;
    }
    TRY(mover_init(&a->mover, x, y, c));
    kernel_units(ret, (uint64_t)a->batch * a->out[0], (uint64_t)a->out[1] * y->dims[3]);
    mover_serial(&a->mover, ret);
    return ST_OK;
}

/* Im2Col from an image, Col2Im to one. */
static void column_geometry(const struct op_call *c, const struct tensor_desc *image, struct patch_args *a)
{
    *a = (struct patch_args){.batch = image->dims[0], .channels = image->dims[3]};
    for (uint32_t d = 0; d < 2; d++) {
        a->in[d] = image->dims[1 + d];
        a->size[d] = (uint32_t)op_int(c, "kernel_size", d);
        a->stride[d] = (uint32_t)op_int(c, "stride", d);
        a->dilation[d] = (uint32_t)op_int(c, "dilation", d);
        a->before[d] = op_int(c, "pad_amount", 2 * d);
        uint64_t padded = a->in[d] + (uint64_t)a->before[d] + (uint64_t)op_int(c, "pad_amount", 2 * d + 1);
        a->out[d] = (uint32_t)((padded - (uint64_t)(a->size[d] - 1) * a->dilation[d] - 1) / a->stride[d] + 1);
    }
}

static enum status bind_im2col(const struct op_call *c, union image_args *u, struct kernel_bound *ret)
{
    struct patch_args *a = &u->patch;
    column_geometry(c, c->in[0], a);
    TRY(mover_init(&a->mover, c->in[0], c->out[0], c));
    kernel_units(ret, (uint64_t)a->batch * a->channels * a->size[0] * a->size[1], (uint64_t)a->out[0] * a->out[1]);
    return ST_OK;
}

static enum status bind_col2im(const struct op_call *c, union image_args *u, struct kernel_bound *ret)
{
    struct patch_args *a = &u->patch;
    column_geometry(c, c->out[0], a);
    TRY(codec_init(&a->src, c->in[0], c));
    TRY(codec_init_out(&a->dst, c->out[0], c));
    kernel_units(ret, (uint64_t)a->batch * a->in[0], (uint64_t)a->in[1] * a->channels * a->size[0] * a->size[1]);
    return ST_OK;
}

static enum status bind_glimpse(const struct op_call *c, union image_args *u, struct kernel_bound *ret)
{
    struct glimpse_args *a = &u->glimpse;
    const struct tensor_desc *x = c->in[0];
    *a = (struct glimpse_args){.batch = x->dims[0], .channels = x->dims[3], .in = {x->dims[1], x->dims[2]},
                               .centered = op_int(c, "centered", 0), .normalized = op_int(c, "normalized", 0),
                               .noise = (enum glimpse_noise)op_int(c, "noise", 0)};
    for (uint32_t d = 0; d < 2; d++)
        a->size[d] = (uint32_t)op_int(c, "size", d);
    TRY(codec_init(&a->offset, c->in[1], c));
    TRY(codec_init(&a->src, x, c));
    TRY(codec_init_out(&a->dst, c->out[0], c));
    TRY(mover_init(&a->mover, x, c->out[0], c));
    kernel_units(ret, a->batch, (uint64_t)a->size[0] * a->size[1] * a->channels);
    return ST_OK;
}

static enum status bind_correlation(const struct op_call *c, union image_args *u, struct kernel_bound *ret)
{
    struct correlation_args *a = &u->correlation;
    const struct tensor_desc *x = c->in[0];
    *a = (struct correlation_args){.batch = x->dims[0], .height = x->dims[1], .width = x->dims[2], .depth = x->dims[3],
                                   .displacement = (uint32_t)op_int(c, "displacement", 0)};
    a->first = op_int(c, "shift", 0) - (int64_t)a->displacement;
    TRY(codec_init(&a->a, x, c));
    TRY(codec_init(&a->b, c->in[1], c));
    TRY(codec_init_out(&a->dst, c->out[0], c));
    kernel_units(ret, (uint64_t)a->batch * a->height, (uint64_t)a->width * a->depth * (2 * (uint64_t)a->displacement + 1));
    return ST_OK;
}

static const struct {
    enum op_id op;
    image_bind_fn *bind;
    const struct kernel_variant *variants;
} binders[] = {
    {OP_GridSample, bind_grid, image_grid_sample_list},
    {OP_CropAndResize, bind_crop, image_crop_list},
    {OP_ImageProjectionTransform, bind_projection, image_projection_list},
    {OP_ArgbToRgb, bind_argb, image_argb_list},
    {OP_Nv12ToRgb, bind_nv, image_nv_list},
    {OP_Nv21ToRgb, bind_nv, image_nv_list},
    {OP_ExtractPatches, bind_patches, image_patches_list},
    {OP_Im2Col, bind_im2col, image_im2col_list},
    {OP_Col2Im, bind_col2im, image_col2im_list},
    {OP_ExtractGlimpse, bind_glimpse, image_glimpse_list},
    {OP_Correlation1D, bind_correlation, image_correlation_list},
};

static enum status image_bind(const struct op_call *c, void *args, struct kernel_bound *ret,
                              const struct kernel_variant **variants)
{
    for (size_t i = 0; i < sizeof(binders) / sizeof(binders[0]); i++)
        if (binders[i].op == c->op->id) {
            *variants = binders[i].variants;
            return binders[i].bind(c, args, ret);
        }
    return status_fail(ST_INTERNAL, "%s is not an operator of the image family", c->op->name);
}

const struct kernel_family family_image = {
    .name = "image",
    .args_size = sizeof(union image_args),
    .bind = image_bind,
};
