/* SPDX-License-Identifier: Apache-2.0 */
/* Images, channels last: resizing, sampling, colour and patches. Where the output size is free, the client's tensor
 * says it. */
#include "ops/op_rules.h"

static const char nhwc[] = "[batch, height, width, channels]";

enum { PADDING_SAME = 1 };

/* [batch, …, channels] of in[0] around the client's spatial sizes. */
static enum status free_size(const struct op_call *c, struct tensor_desc *want, uint64_t batch)
{
    const struct tensor_desc *x = c->in[0];
    char text[DESC_TEXT_MAX];
    REFUSE_IF(want->rank != x->rank, c, "output 0 is %s of rank %u; rank %u is expected, it says the new size",
              desc_text(want, text), want->rank, x->rank);
    for (uint32_t i = 1; i + 1 < want->rank; i++)
        REFUSE_IF(want->dims[i] == 0, c, "dimension %u of output 0 is 0; the new size is expected", i);
    TRY(rule_set_dim(c, want, 0, batch));
    return rule_set_dim(c, want, x->rank - 1u, x->dims[x->rank - 1]);
}

RULE(resize_2d)
{
    TRY(rule_rank(c, 0, 4, nhwc));
    REFUSE_IF(op_int(c, "align_corners", 0) && op_int(c, "half_pixel_centers", 0), c,
              "parameters \"align_corners\" and \"half_pixel_centers\" are both true; at most one may be");
    TRY(free_size(c, &want[0], c->in[0]->dims[0]));
    rule_type_computed(&want[0], c->in[0]);
    return ST_OK;
}

RULE(resize)
{
    TRY(rule_rank_min(c, 0, 3));
    TRY(free_size(c, &want[0], c->in[0]->dims[0]));
    rule_type_computed(&want[0], c->in[0]);
    return ST_OK;
}

RULE(crop_and_resize)
{
    TRY(rule_rank(c, 0, 4, nhwc));
    TRY(rule_dims(c, 1, 2, (uint32_t[]){0, 4}, "[boxes, 4]"));
    TRY(rule_vector(c, 2, c->in[1]->dims[0], "one per box"));
    TRY(rule_positive(c, "resize_dims"));
    rule_type_computed(&want[0], c->in[0]);
    return rule_set(c, &want[0], 4,
                    (uint64_t[]){ c->in[1]->dims[0], (uint64_t)op_int(c, "resize_dims", 0),
                                  (uint64_t)op_int(c, "resize_dims", 1), c->in[0]->dims[3] });
}

RULE(roi)
{
    TRY(rule_rank(c, 0, 4, nhwc));
    TRY(rule_dims(c, 1, 2, (uint32_t[]){0, 4}, "[rois, 4]"));
    TRY(rule_vector(c, 2, c->in[1]->dims[0], "one per roi"));
    TRY(free_size(c, &want[0], c->in[1]->dims[0]));
    want[0].dynamic |= c->in[1]->dynamic & 1;
    rule_type_computed(&want[0], c->in[0]);
    return ST_OK;
}

RULE(grid_sample)
{
    const struct tensor_desc *x = c->in[0], *grid = c->in[1];
    REFUSE_IF(x->rank != 4 && x->rank != 5, c, "input 0 has rank %u; 4 %s or 5 is expected", x->rank, nhwc);
    TRY(rule_rank(c, 1, x->rank, "[batch, …, coordinates]"));
    REFUSE_IF(grid->dims[0] != x->dims[0] || grid->dims[x->rank - 1] != x->rank - 2u, c,
              "input 1 (\"grid\") has batch %u and %u coordinates; %u and %u are expected", grid->dims[0],
              grid->dims[x->rank - 1], x->dims[0], x->rank - 2u);
    rule_shape_of(&want[0], grid);
    want[0].dims[x->rank - 1] = x->dims[x->rank - 1];
    rule_type_computed(&want[0], x);
    return ST_OK;
}

RULE(image_projection)
{
    const struct tensor_desc *x = c->in[0];
    uint64_t n = desc_count(c->in[1]);
    TRY(rule_rank(c, 0, 4, nhwc));
    REFUSE_IF(n != 8 && n != 8ull * x->dims[0], c,
              "input 1 (\"transform\") has %llu values; 8, or 8 per image, are expected", (unsigned long long)n);
    TRY(free_size(c, &want[0], x->dims[0]));
    rule_type_computed(&want[0], x);
    return ST_OK;
}

RULE(argb_to_rgb)
{
    TRY(rule_dims(c, 0, 4, (uint32_t[]){0, 0, 0, 4}, "[batch, height, width, 4]"));
    rule_shape_of(&want[0], c->in[0]);
    want[0].dims[3] = 3;
    rule_type_computed(&want[0], c->in[0]);
    return ST_OK;
}

RULE(nv_to_rgb)
{
    char text[DESC_TEXT_MAX];
    const struct tensor_desc *x = c->in[0];
    TRY(rule_rank(c, 0, 2, "[batch, width * height * 3 / 2]"));
    bool ok = want[0].rank == 4 && want[0].dims[0] == x->dims[0] && want[0].dims[3] == 3 && want[0].dims[1] % 2 == 0 &&
              want[0].dims[2] % 2 == 0 && (uint64_t)want[0].dims[1] * want[0].dims[2] * 3 == (uint64_t)x->dims[1] * 2;
    REFUSE_IF(!ok, c, "output 0 is %s; [%u, height, width, 3] with even sizes and height * width * 3 / 2 = %u is expected",
              desc_text(&want[0], text), x->dims[0], x->dims[1]);
    rule_type_computed(&want[0], x);
    return ST_OK;
}

RULE(extract_glimpse)
{
    const struct tensor_desc *x = c->in[0];
    TRY(rule_rank(c, 0, 4, nhwc));
    TRY(rule_dims(c, 1, 2, (uint32_t[]){x->dims[0], 2}, "[batch, 2]"));
    TRY(rule_positive(c, "size"));
    rule_type_computed(&want[0], x);
    return rule_set(c, &want[0], 4,
                    (uint64_t[]){ x->dims[0], (uint64_t)op_int(c, "size", 0), (uint64_t)op_int(c, "size", 1), x->dims[3] });
}

/* Number of windows along one spatial dimension. */
static enum status windows(const struct op_call *c, uint64_t padded, uint64_t span, uint64_t stride, uint64_t *ret)
{
    REFUSE_IF(span > padded, c, "a patch covers %llu elements of a dimension of %llu; make it smaller or pad more",
              (unsigned long long)span, (unsigned long long)padded);
    *ret = (padded - span) / stride + 1;
    return ST_OK;
}

RULE(extract_patches)
{
    const struct tensor_desc *x = c->in[0];
    uint64_t out[2];
    TRY(rule_rank(c, 0, 4, nhwc));
    TRY(rule_positive(c, "size"));
    TRY(rule_positive(c, "stride"));
    TRY(rule_positive(c, "rate"));
    for (uint32_t k = 0; k < 2; k++) {
        uint64_t size = x->dims[1 + k], stride = (uint64_t)op_int(c, "stride", k);
        uint64_t span = (uint64_t)(op_int(c, "size", k) - 1) * (uint64_t)op_int(c, "rate", k) + 1;
        if (op_int(c, "padding", 0) == PADDING_SAME)
            out[k] = (size + stride - 1) / stride;
        else
            TRY(windows(c, size, span, stride, &out[k]));
    }
    uint64_t taps = (uint64_t)op_int(c, "size", 0) * (uint64_t)op_int(c, "size", 1);
    REFUSE_IF(taps > UINT32_MAX, c, "parameter \"size\" makes patches of %llu pixels; fewer are expected",
              (unsigned long long)taps);
    rule_type(&want[0], x);
    return rule_set(c, &want[0], 4, (uint64_t[]){x->dims[0], out[0], out[1], taps * x->dims[3]});
}

/* Patches that a [height, width] image gives, and values per patch and channel. */
static enum status patches(const struct op_call *c, const uint32_t *image, uint64_t *ret_count, uint64_t *ret_taps)
{
    uint64_t n[2];
    TRY(rule_positive(c, "kernel_size"));
    TRY(rule_positive(c, "stride"));
    TRY(rule_positive(c, "dilation"));
    for (uint32_t k = 0; k < 2; k++) {
        uint64_t span = (uint64_t)(op_int(c, "kernel_size", k) - 1) * (uint64_t)op_int(c, "dilation", k) + 1;
        uint64_t padded = image[k] + (uint64_t)(op_int(c, "pad_amount", 2 * k) + op_int(c, "pad_amount", 2 * k + 1));
        TRY(windows(c, padded, span, (uint64_t)op_int(c, "stride", k), &n[k]));
    }
    *ret_count = n[0] * n[1];
    *ret_taps = (uint64_t)op_int(c, "kernel_size", 0) * (uint64_t)op_int(c, "kernel_size", 1);
    return ST_OK;
}

/* Matrices have torch's order: [batch, channel * tap, window]. */
RULE(im2col)
{
    const struct tensor_desc *x = c->in[0];
    uint64_t count, taps;
    TRY(rule_rank(c, 0, 4, nhwc));
    TRY(patches(c, &x->dims[1], &count, &taps));
    REFUSE_IF(taps > UINT32_MAX, c, "parameter \"kernel_size\" makes patches of %llu pixels; fewer are expected",
              (unsigned long long)taps);
    rule_type_computed(&want[0], x);
    return rule_set(c, &want[0], 3, (uint64_t[]){x->dims[0], taps * x->dims[3], count});
}

RULE(col2im)
{
    char text[DESC_TEXT_MAX];
    const struct tensor_desc *x = c->in[0];
    uint64_t count, taps;
    TRY(rule_rank(c, 0, 3, "[batch, values, patches]"));
    REFUSE_IF(want[0].rank != 4, c, "output 0 has rank %u; 4 is expected, it says the image size (%s)", want[0].rank, nhwc);
    TRY(patches(c, &want[0].dims[1], &count, &taps));
    bool ok =
        want[0].dims[0] == x->dims[0] && x->dims[2] == count && taps <= UINT32_MAX && x->dims[1] == taps * want[0].dims[3];
    REFUSE_IF(!ok, c,
              "output 0 is %s, which %llu patches of %llu values per channel make; input 0 has %u patches of %u values",
              desc_text(&want[0], text), (unsigned long long)count, (unsigned long long)taps, x->dims[2], x->dims[1]);
    rule_type_computed(&want[0], x);
    return ST_OK;
}

RULE(correlation_1d)
{
    TRY(rule_rank(c, 0, 4, nhwc));
    TRY(rule_same_dims(c, 0, 1));
    TRY(rule_same_kind(c, 0, 1));
    rule_shape_of(&want[0], c->in[0]);
    rule_type_computed(&want[0], c->in[0]);
    return rule_set_dim(c, &want[0], 3, 2 * (uint64_t)op_int(c, "displacement", 0) + 1);
}
