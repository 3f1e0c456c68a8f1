/* SPDX-License-Identifier: Apache-2.0 */
/* Binding of tensors made from little or nothing, of IsNan, IsInf and Not, and of ElementWiseMux. */
#include <string.h>

#include "backend/gpu/gpu_kernels.h"
#include "backend/gpu/gpu_launch.h"

#define T_SMALL (T_FLOAT | T_INT | T_(DT_U8) | T_(DT_U16) | T_(DT_U32) | T_BOOL)

static struct gpu_launch fill_launch(const struct op_call *c)
{
    return (struct gpu_launch){ .kernel = K_FILL,
                                GPU_ARGS(fill),
                                .n_operands = 1,
                                .operand = { (uint8_t)c->n_in },
                                .items = desc_count(c->out[0]),
                                .args.fill = { .n = (int)desc_count(c->out[0]), .count = 1 } };
}

static void put_bits(struct gpu_fill *a, int at, const int bits[2])
{
    a->low[at] = bits[0];
    a->high[at] = bits[1];
}

enum status gpu_bind_zeros(const struct op_call *c, struct gpu_work *w)
{
    struct gpu_launch l = fill_launch(c);
    TRY(gpu_bits_storage(c, c->out[0], &l.storage));
    return gpu_add(c, w, &l);
}

enum status gpu_bind_constant(const struct op_call *c, struct gpu_work *w)
{
    struct gpu_launch l = fill_launch(c);
    enum dtype t = c->out[0]->type, given = c->params[op_param_index(c->op, "value")].type;
    int bits[2];
    TRY(gpu_bits_storage(c, c->out[0], &l.storage));
    if (!dtype_is_float(t) && t != DT_B8 && op_has(c, "value") &&
        !dtype_is_float(given)) { /* 64-bit integers have more digits than a double */
        int64_t v = op_int(c, "value", 0);
        v = v < dtype_min(t) ? dtype_min(t) : v > dtype_max(t) ? dtype_max(t) : v;
        memcpy(bits, &v, sizeof v);
    } else {
        TRY(gpu_constant_bits(c, t, op_real(c, "value", 0), bits));
    }
    put_bits(&l.args.fill, 0, bits);
    return gpu_add(c, w, &l);
}

enum status gpu_bind_shape(const struct op_call *c, struct gpu_work *w)
{
    struct gpu_launch l = fill_launch(c);
    const struct tensor_desc *x = c->in[0];
    int64_t start = op_int(c, "start", 0), end = op_int(c, "end", 0);
    TRY(gpu_bits_storage(c, c->out[0], &l.storage));
    end = end < x->rank ? end : x->rank;
    for (int64_t i = start; i < end; i++)
        put_bits(&l.args.fill, (int)(i - start), (int[2]){ (int)x->dims[i], 0 });
    l.args.fill.count = (int)(end - start);
    return gpu_add(c, w, &l);
}

enum status gpu_bind_random(const struct op_call *c, struct gpu_work *w)
{
    bool seeded = c->n_in > 1 && c->in[1], normal = c->op->id == OP_RandomNormalLike;
    struct gpu_launch l = { .kernel = K_RANDOM,
                            GPU_ARGS(random),
                            .n_operands = 2,
                            .operand = { seeded ? 1 : (uint8_t)c->n_in, (uint8_t)c->n_in },
                            .items = desc_count(c->out[0]) };
    struct gpu_random *a = &l.args.random;
    *a = (struct gpu_random){ .n = (int)l.items,
                              .normal = normal,
                              .seeded = seeded,
                              .a = (float)op_real(c, normal ? "mean" : "low", 0),
                              .b = (float)op_real(c, normal ? "scale" : "high", 0) };
    if (seeded)
        TRY(gpu_type(c, 1, T_FLOAT, &a->seed_type));
    TRY(gpu_type(c, c->n_in, T_FLOAT, &a->y_type));
    return gpu_add(c, w, &l);
}

enum status gpu_bind_flags(const struct op_call *c, struct gpu_work *w)
{
    struct gpu_launch l = { .kernel = K_FLAGS,
                            GPU_ARGS(flags),
                            .n_operands = 2,
                            .operand = { 0, (uint8_t)c->n_in },
                            .items = desc_count(c->out[0]) };
    struct gpu_flags *a = &l.args.flags;
    bool inf = c->op->id == OP_IsInf;
    *a = (struct gpu_flags){ .n = (int)l.items, .kind = inf ? FLAG_INF : c->op->id == OP_IsNan ? FLAG_NAN : FLAG_NOT };
    a->positive = inf && op_int(c, "detect_positive", 0);
    a->negative = inf && op_int(c, "detect_negative", 0);
    TRY(gpu_type(c, 0, T_SMALL, &a->x_type));
    TRY(gpu_type(c, c->n_in, T_SMALL, &a->y_type));
    return gpu_add(c, w, &l);
}

/* One launch per input: each writes the elements that are its own. */
enum status gpu_bind_mux(const struct op_call *c, struct gpu_work *w)
{
    const struct tensor_desc *y = c->out[0];
    int64_t selector[MAX_RANK] = { 0 }, strides[MAX_RANK] = { 0 };
    gpu_broadcast_strides(c->in[0], y, selector);
    for (uint32_t k = 1; k < c->n_in; k++) {
        struct gpu_launch l = { .kernel = K_MUX,
                                GPU_ARGS(mux),
                                .n_operands = 3,
                                .operand = { 0, (uint8_t)k, (uint8_t)c->n_in },
                                .items = desc_count(y) };
        struct gpu_mux *a = &l.args.mux;
        struct gpu_view v = { 0 };
        *a = (struct gpu_mux){ .n = (int)l.items, .which = (int)k - 1, .inputs = (int)c->n_in - 1 };
        if (c->in[k]->type != y->type)
            return gpu_refuse(c, "input %u is %s and the output %s; both must be the same: put a Cast between", k,
                              dtype_name(c->in[k]->type), dtype_name(y->type));
        TRY(gpu_type(c, 0, T_SMALL, &a->selector_type));
        TRY(gpu_bits_storage(c, y, &l.storage));
        gpu_broadcast_strides(c->in[k], y, strides);
        for (uint32_t d = 0; d < y->rank; d++)
            gpu_view_add(&v, y->dims[d], selector[d], strides[d], 0);
        TRY(gpu_view_end(c, &v, &a->rank, a->dims, (int *const[4]){ a->a, a->b }));
        TRY(gpu_add(c, w, &l));
    }
    return ST_OK;
}
