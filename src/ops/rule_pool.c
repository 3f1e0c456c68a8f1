/* SPDX-License-Identifier: Apache-2.0 */
/* Pooling windows over two and three spatial dimensions. */
#include "ops/op_rules.h"

enum { ROUND_CEIL = 1 };

static enum status pool_size(const struct op_call *c, uint32_t k, bool ceil, uint64_t *ret)
{
    uint64_t size = c->in[0]->dims[1 + k], window = (uint64_t)op_int(c, "filter_size", k),
             stride = (uint64_t)op_int(c, "stride", k);
    uint64_t before = (uint64_t)op_int(c, "pad_amount", 2 * k), after = (uint64_t)op_int(c, "pad_amount", 2 * k + 1);
    REFUSE_IF(before >= window || after >= window, c,
              "parameter \"pad_amount\" is [%llu, %llu] for spatial dimension %u; less than the window's %llu is expected, "
              "or a window could "
              "lie in padding alone",
              (unsigned long long)before, (unsigned long long)after, k, (unsigned long long)window);
    REFUSE_IF(window > before + size + after, c,
              "the window covers %llu elements of spatial dimension %u, which has %llu with padding (%llu + %llu + %llu); a "
              "smaller window or more padding is expected",
              (unsigned long long)window, k, (unsigned long long)(before + size + after), (unsigned long long)before,
              (unsigned long long)size, (unsigned long long)after);
    uint64_t room = before + size + after - window;
    uint64_t n = room / stride + 1;
    /* Rounding up adds a window that reaches over the end, but only if it starts on the input or the padding before it. */
    if (ceil && room % stride && n * stride < before + size)
        n++;
    *ret = n;
    return ST_OK;
}

static enum status pool(const struct op_call *c, struct tensor_desc *want, uint32_t spatial)
{
    const struct tensor_desc *x = c->in[0];
    uint64_t size;
    TRY(rule_rank(c, 0, spatial + 2,
                  spatial == 2 ? "[batch, height, width, channels]" : "[batch, depth, height, width, channels]"));
    TRY(rule_positive(c, "filter_size"));
    TRY(rule_positive(c, "stride"));
    bool ceil = op_param_index(c->op, "rounding_mode") >= 0 && op_int(c, "rounding_mode", 0) == ROUND_CEIL;
    rule_shape_of(&want[0], x);
    rule_type_computed(&want[0], x);
    for (uint32_t k = 0; k < spatial; k++) {
        TRY(pool_size(c, k, ceil, &size));
        TRY(rule_set_dim(c, &want[0], 1 + k, size));
    }
    return ST_OK;
}

RULE(pool2d)
{
    return pool(c, want, 2);
}

RULE(pool3d)
{
    return pool(c, want, 3);
}
