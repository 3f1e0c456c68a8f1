/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions of one, two and three spatial dimensions; channels last, filters [spatial…, in, out]. */
#include "ops/op_rules.h"

enum conv_kind { CONV, DEPTHWISE, TRANSPOSED };

static const char *const activation_layout[] = {"", "[batch, width, channels]", "[batch, height, width, channels]",
                                                "[batch, depth, height, width, channels]"};
static const char *const filter_layout[][4] = {
    [CONV] = { "", "[width, in / group, out]", "[height, width, in / group, out]",
               "[depth, height, width, in / group, out]" },
    [DEPTHWISE] = { "", "[width, 1, out]", "[height, width, 1, out]", "[depth, height, width, 1, out]" },
    [TRANSPOSED] = { "", "[width, in, out / group]", "[height, width, in, out / group]",
                     "[depth, height, width, in, out / group]" },
};

static uint64_t at_least_one(const struct op_call *c, const char *name, uint32_t at)
{
    return op_param_index(c->op, name) < 0 ? 1 : (uint64_t)op_int(c, name, op_count(c, name) > 1 ? at : 0);
}

/* floor((before + size + after - span) / stride) + 1, span = (kernel - 1) * dilation + 1 */
static enum status forward_size(const struct op_call *c, uint32_t k, uint64_t *ret)
{
    uint64_t size = c->in[0]->dims[1 + k], kernel = c->in[1]->dims[k];
    uint64_t before = (uint64_t)op_int(c, "pad_amount", 2 * k), after = (uint64_t)op_int(c, "pad_amount", 2 * k + 1);
    uint64_t span = (kernel - 1) * at_least_one(c, "dilation", k) + 1, padded = before + size + after;
    REFUSE_IF(span > padded, c,
              "the filter covers %llu elements of spatial dimension %u, which has %llu with padding (%llu + %llu + %llu); "
              "make the filter or "
              "dilation smaller or pad more",
              (unsigned long long)span, k, (unsigned long long)padded, (unsigned long long)before, (unsigned long long)size,
              (unsigned long long)after);
    *ret = (padded - span) / at_least_one(c, "stride", k) + 1;
    return ST_OK;
}

/* stride * (size - 1) + span - before - after + output_padding */
static enum status transposed_size(const struct op_call *c, uint32_t k, uint64_t *ret)
{
    uint64_t size = c->in[0]->dims[1 + k], kernel = c->in[1]->dims[k];
    uint64_t pads = (uint64_t)op_int(c, "pad_amount", 2 * k) + (uint64_t)op_int(c, "pad_amount", 2 * k + 1);
    uint64_t span = (kernel - 1) * at_least_one(c, "dilation", k) + 1;
    uint64_t full = at_least_one(c, "stride", k) * (size - 1) + span + (uint64_t)op_int(c, "output_padding", k);
    REFUSE_IF(span > UINT32_MAX || full > UINT32_MAX || full <= pads, c,
              "spatial dimension %u of the output would have %llu elements before cropping %llu; 1 … %u must remain", k,
              (unsigned long long)full, (unsigned long long)pads, UINT32_MAX);
    *ret = full - pads;
    return ST_OK;
}

/* Output channels from the filter, after checking that its input channels fit. */
static enum status channels(const struct op_call *c, enum conv_kind kind, uint32_t spatial, uint64_t *ret)
{
    uint64_t in = c->in[0]->dims[1 + spatial], fi = c->in[1]->dims[spatial], fo = c->in[1]->dims[spatial + 1];
    uint64_t group = kind == DEPTHWISE ? in : (uint64_t)op_int(c, "group", 0);
    const char *layout = filter_layout[kind][spatial];
    if (kind == DEPTHWISE) {
        REFUSE_IF(fi != 1, c, "the filter has %llu in dimension %u; 1 is expected (%s)", (unsigned long long)fi, spatial,
                  layout);
        REFUSE_IF(fo % in, c, "the filter gives %llu channels; a multiple of the input's %llu is expected (%s)",
                  (unsigned long long)fo, (unsigned long long)in, layout);
        *ret = fo;
        return ST_OK;
    }
    REFUSE_IF(group == 0 || in % group, c, "parameter \"group\" is %llu; a divisor of the input's %llu channels is expected",
              (unsigned long long)group, (unsigned long long)in);
    uint64_t expected = kind == CONV ? in / group : in;
    REFUSE_IF(fi != expected, c,
              "the filter takes %llu input channels; the input has %llu in %llu group%s, so %llu are expected (%s)",
              (unsigned long long)fi, (unsigned long long)in, (unsigned long long)group, group == 1 ? "" : "s",
              (unsigned long long)expected, layout);
    REFUSE_IF(kind == CONV && fo % group, c, "the filter gives %llu channels; a multiple of \"group\" %llu is expected (%s)",
              (unsigned long long)fo, (unsigned long long)group, layout);
    *ret = kind == TRANSPOSED ? fo * group : fo;
    return ST_OK;
}

static enum status conv(const struct op_call *c, struct tensor_desc *want, uint32_t spatial, enum conv_kind kind)
{
    uint64_t out, size;
    TRY(rule_rank(c, 0, spatial + 2, activation_layout[spatial]));
    TRY(rule_rank(c, 1, spatial + 2, filter_layout[kind][spatial]));
    TRY(rule_positive(c, "stride"));
    if (op_param_index(c->op, "dilation") >= 0)
        TRY(rule_positive(c, "dilation"));
    TRY(channels(c, kind, spatial, &out));
    TRY(rule_vector(c, 2, out, "one per output channel"));
    TRY(rule_product_types(c, want, spatial + 1));
    TRY(rule_set_rank(c, &want[0], spatial + 2));
    TRY(rule_set_dim(c, &want[0], 0, c->in[0]->dims[0]));
    for (uint32_t k = 0; k < spatial; k++) {
        TRY(kind == TRANSPOSED ? transposed_size(c, k, &size) : forward_size(c, k, &size));
        TRY(rule_set_dim(c, &want[0], 1 + k, size));
    }
    want[0].dynamic = c->in[0]->dynamic & (uint8_t)((1u << (spatial + 1)) - 1);
    return rule_set_dim(c, &want[0], spatial + 1, out);
}

RULE(conv1d)
{
    return conv(c, want, 1, CONV);
}

RULE(conv2d)
{
    return conv(c, want, 2, CONV);
}

RULE(conv3d)
{
    return conv(c, want, 3, CONV);
}

RULE(depthwise1d)
{
    return conv(c, want, 1, DEPTHWISE);
}

RULE(depthwise2d)
{
    return conv(c, want, 2, DEPTHWISE);
}

RULE(transpose_conv1d)
{
    return conv(c, want, 1, TRANSPOSED);
}

RULE(transpose_conv2d)
{
    return conv(c, want, 2, TRANSPOSED);
}

RULE(transpose_conv3d)
{
    return conv(c, want, 3, TRANSPOSED);
}
