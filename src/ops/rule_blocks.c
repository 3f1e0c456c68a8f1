/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of pixels moved between the spatial dimensions and depth or batch. */
#include "ops/op_rules.h"

static const char layout[] = "[batch, height, width, channels]";

struct blocks {
    uint64_t b, h, w, d, bh, bw; /* sizes of the input, and the block */
};

static enum status read_blocks(const struct op_call *c, struct tensor_desc *want, struct blocks *ret)
{
    const struct tensor_desc *x = c->in[0];
    TRY(rule_rank(c, 0, 4, layout));
    TRY(rule_positive(c, "block_size"));
    rule_type(&want[0], x);
    *ret = (struct blocks){x->dims[0], x->dims[1], x->dims[2], x->dims[3], (uint64_t)op_int(c, "block_size", 0),
                           (uint64_t)op_int(c, "block_size", 1)};
    REFUSE_IF(ret->bh * ret->bw > UINT32_MAX, c, "parameter \"block_size\" is [%llu, %llu]; smaller blocks are expected",
              (unsigned long long)ret->bh, (unsigned long long)ret->bw);
    return ST_OK;
}

static enum status divisible(const struct op_call *c, const char *what, uint64_t size, uint64_t by)
{
    REFUSE_IF(size % by, c, "%s is %llu; a multiple of %llu is expected", what, (unsigned long long)size,
              (unsigned long long)by);
    return ST_OK;
}

RULE(depth_to_space)
{
    struct blocks k;
    TRY(read_blocks(c, want, &k));
    TRY(divisible(c, "the number of channels", k.d, k.bh * k.bw));
    return rule_set(c, &want[0], 4, (uint64_t[]){k.b, k.h * k.bh, k.w * k.bw, k.d / (k.bh * k.bw)});
}

RULE(space_to_depth)
{
    struct blocks k;
    TRY(read_blocks(c, want, &k));
    TRY(divisible(c, "the height", k.h, k.bh));
    TRY(divisible(c, "the width", k.w, k.bw));
    return rule_set(c, &want[0], 4, (uint64_t[]){k.b, k.h / k.bh, k.w / k.bw, k.d * k.bh * k.bw});
}

RULE(batch_to_space)
{
    struct blocks k;
    TRY(read_blocks(c, want, &k));
    TRY(divisible(c, "the batch", k.b, k.bh * k.bw));
    uint64_t ch = (uint64_t)(op_int(c, "crops", 0) + op_int(c, "crops", 1)),
             cw = (uint64_t)(op_int(c, "crops", 2) + op_int(c, "crops", 3));
    REFUSE_IF(ch >= k.h * k.bh || cw >= k.w * k.bw, c,
              "parameter \"crops\" removes %llu rows of %llu and %llu columns of %llu; some must remain",
              (unsigned long long)ch, (unsigned long long)(k.h * k.bh), (unsigned long long)cw,
              (unsigned long long)(k.w * k.bw));
    return rule_set(c, &want[0], 4, (uint64_t[]){k.b / (k.bh * k.bw), k.h * k.bh - ch, k.w * k.bw - cw, k.d});
}

RULE(space_to_batch)
{
    struct blocks k;
    TRY(read_blocks(c, want, &k));
    uint64_t h = k.h + (uint64_t)(op_int(c, "pad_amount", 0) + op_int(c, "pad_amount", 1));
    uint64_t w = k.w + (uint64_t)(op_int(c, "pad_amount", 2) + op_int(c, "pad_amount", 3));
    TRY(divisible(c, "the padded height", h, k.bh));
    TRY(divisible(c, "the padded width", w, k.bw));
    return rule_set(c, &want[0], 4, (uint64_t[]){k.b * k.bh * k.bw, h / k.bh, w / k.bw, k.d});
}

RULE(channel_shuffle)
{
    const struct tensor_desc *x = c->in[0];
    uint32_t axis;
    TRY(rule_axis(c, "axis", x->rank, &axis));
    TRY(rule_positive(c, "num_groups"));
    TRY(divisible(c, "the shuffled dimension", x->dims[axis], (uint64_t)op_int(c, "num_groups", 0)));
    return rule_like_input(c, want);
}
