/* SPDX-License-Identifier: Apache-2.0 */
/* The forms of a tensor in the graph that is made: float and fixed, with conversions between them. */
#include "convert/quantize_rewrite.h"

/* A name that neither graph uses. */
const char *rewrite_fresh_name(struct rewrite *w, const char *name, const char *suffix)
{
    for (unsigned i = 0; i < 1000000; i++) {
        const char *s =
            i ? arena_printf(w->plan.arena, "%s%s_%u", name, suffix, i) : arena_printf(w->plan.arena, "%s%s", name, suffix);
        if (!s || (ir_find_tensor(w->plan.g, s) == IR_NONE && ir_find_tensor(w->to, s) == IR_NONE))
            return s;
    }
    return NULL;
}

/* A constant keeps its name unless its other form has it already. */
const char *rewrite_constant_name(struct rewrite *w, const char *name, const char *suffix)
{
    return ir_find_tensor(w->to, name) == IR_NONE ? name : rewrite_fresh_name(w, name, suffix);
}

struct tensor_desc rewrite_fixed_desc(const struct rewrite *w, uint32_t t)
{
    struct tensor_desc d = w->plan.g->tensors.at[t].desc;
    const struct quantize_encoding *e = &w->plan.tensors[t].e;
    if (w->plan.tensors[t].alias != IR_NONE)
        return w->plan.g->tensors.at[w->plan.tensors[t].alias].desc;
    d.type = e->type;
    d.q = (struct quant){ .kind = Q_TENSOR, .definition = 1, .scale = e->scale, .offset = e->offset };
    return d;
}

static enum status add_native(struct rewrite *w, const char *name, const struct tensor_desc *d, uint32_t *ret)
{
    struct ir_tensor t = { .name = name, .desc = *d, .role = IR_NATIVE };
    RETURN_IF(!name, ST_NO_MEMORY, "no memory for the name of a tensor");
    return ir_add_tensor(w->to, &t, ret);
}

enum status rewrite_conversion(struct rewrite *w, enum op_id op, uint32_t from, uint32_t to)
{
    uint32_t at;
    struct ir_node n = { .name = arena_printf(w->plan.arena, "%s_%s", w->to->tensors.at[to].name,
                                              op == OP_Quantize ? "quantize" : "dequantize"),
                         .op = op_get(op),
                         .n_in = 1,
                         .n_out = 1,
                         .in = &from,
                         .out = &to };
    return ir_add_node(w->to, &n, &at);
}

enum status rewrite_plain(struct rewrite *w, uint32_t t, uint32_t *ret)
{
    struct forms *f = &w->forms[t];
    const struct ir_tensor *from = &w->plan.g->tensors.at[t];
    if (f->plain == IR_NONE)
        TRY(from->role == IR_CONST ? ir_add_const(w->to, from, true, &f->plain) : ir_add_tensor(w->to, from, &f->plain));
    *ret = f->plain;
    return ST_OK;
}

enum status rewrite_real(struct rewrite *w, uint32_t t, uint32_t *ret)
{
    struct forms *f = &w->forms[t];
    const struct ir_tensor *from = &w->plan.g->tensors.at[t];
    if (f->real == IR_NONE && from->role == IR_CONST) {
        struct ir_tensor c = *from;
        c.name = rewrite_constant_name(w, from->name, "_float");
        RETURN_IF(!c.name, ST_NO_MEMORY, "no memory for the name of a constant");
        TRY(ir_add_const(w->to, &c, true, &f->real));
    }
    if (f->real == IR_NONE) {
        if (w->plan.tensors[t].alias != IR_NONE)
            TRY(rewrite_plain(w, w->plan.tensors[t].alias, &f->fixed));
        TRY(add_native(w, rewrite_fresh_name(w, from->name, "_float"), &from->desc, &f->real));
        TRY(rewrite_conversion(w, OP_Dequantize, f->fixed, f->real));
    }
    *ret = f->real;
    return ST_OK;
}

enum status rewrite_fixed(struct rewrite *w, uint32_t t, uint32_t *ret)
{
    struct forms *f = &w->forms[t];
    if (w->plan.tensors[t].alias != IR_NONE)
        return rewrite_plain(w, w->plan.tensors[t].alias, ret);
    if (f->fixed == IR_NONE) {
        struct tensor_desc d = rewrite_fixed_desc(w, t);
        TRY(add_native(w, rewrite_fresh_name(w, w->plan.g->tensors.at[t].name, "_fixed"), &d, &f->fixed));
        TRY(rewrite_conversion(w, OP_Quantize, f->real, f->fixed));
    }
    *ret = f->fixed;
    return ST_OK;
}

bool rewrite_is_float(const struct rewrite *w, uint32_t t)
{
    return t != IR_NONE && dtype_is_float(w->plan.g->tensors.at[t].desc.type);
}
