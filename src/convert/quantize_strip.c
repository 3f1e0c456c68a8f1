/* SPDX-License-Identifier: Apache-2.0 */
/* A model without its encodings: the float graph that a quantized one stands for.
 *
 *     %x : uq8; %t : uq8 = Conv2d(%x, %w : sq8, %b : sq32); %y : f32 = Dequantize(%t)
 *  -> %x : f32; %t : f32 = Conv2d(%x, %w : f32, %b : f32);  %y = %t
 *
 * Constants become the real numbers that they were. Quantize, Dequantize and Convert between two floats vanish; between a
 * graph input and a graph output a Reshape stands in for them, since both are the client's. */
#include <string.h>

#include "base/str.h"
#include "convert/builder.h"

struct stripper {
    const struct ir_graph *from;
    struct ir_graph *to;
    uint32_t *map; /* per tensor of `from`: that of `to`, IR_NONE: not made */
};

static struct tensor_desc real_desc(const struct tensor_desc *d)
{
    struct tensor_desc r = *d;
    if (dtype_is_fixed(d->type)) {
        r.type = DT_F32;
        r.q = (struct quant){ .kind = Q_NONE };
    }
    return r;
}

/* The numbers of a fixed-point constant, in the new graph's arena. */
static enum status real_data(struct stripper *s, const struct ir_tensor *t, const void **ret)
{
    uint64_t n = desc_count(&t->desc);
    float *x = arena_array(&s->to->arena, float, n);
    RETURN_IF(!x, ST_NO_MEMORY, "no memory for constant \"%s\"", t->name);
    RETURN_IF(t->desc.q.kind == Q_FLOAT_BLOCK || t->desc.q.mapping, ST_NOT_SUPPORTED,
              "the encoding of constant \"%s\" cannot be taken out", t->name);
    for (uint64_t i = 0; i < n; i++)
        x[i] = (float)((double)(number_get_int(t->desc.type, t->data, i) + quantize_step_offset(&t->desc, i)) *
                       quantize_step(&t->desc, i));
    *ret = x;
    return ST_OK;
}

static enum status put_tensor(struct stripper *s, uint32_t i)
{
    struct ir_tensor t = s->from->tensors.at[i];
    if (s->map[i] != IR_NONE)
        return ST_OK;
    bool fixed = dtype_is_fixed(t.desc.type);
    if (t.role == IR_CONST && fixed)
        TRY(real_data(s, &t, &t.data));
    t.desc = real_desc(&t.desc);
    return t.role == IR_CONST ? ir_add_const(s->to, &t, fixed, &s->map[i]) : ir_add_tensor(s->to, &t, &s->map[i]);
}

static bool is_conversion(const struct stripper *s, const struct ir_node *n)
{
    bool op = n->op->id == OP_Quantize || n->op->id == OP_Dequantize || n->op->id == OP_Convert;
    return op && n->in[0] != IR_NONE &&
           real_desc(&s->from->tensors.at[n->in[0]].desc).type == real_desc(&s->from->tensors.at[n->out[0]].desc).type;
}

/* Whether the result can be the input itself. */
static bool is_alias(const struct stripper *s, const struct ir_node *n)
{
    return s->from->tensors.at[n->out[0]].role == IR_NATIVE;
}

static enum status put_node(struct stripper *s, const struct ir_node *n)
{
    uint32_t in[MAX_PORTS], out[MAX_PORTS], at;
    struct ir_node c = *n;
    bool conversion = is_conversion(s, n);
    if (conversion && is_alias(s, n)) {
        TRY(put_tensor(s, n->in[0]));
        s->map[n->out[0]] = s->map[n->in[0]];
        return ST_OK;
    }
    for (uint32_t i = 0; i < n->n_in; i++) {
        in[i] = IR_NONE;
        if (n->in[i] == IR_NONE)
            continue;
        TRY(put_tensor(s, n->in[i]));
        in[i] = s->map[n->in[i]];
    }
    for (uint32_t i = 0; i < n->n_out; i++) {
        TRY(put_tensor(s, n->out[i]));
        out[i] = s->map[n->out[i]];
    }
    c.in = in;
    c.out = out;
    if (conversion) {
        c.op = op_get(OP_Reshape);
        c.params = NULL;
    }
    TRY(ir_add_node(s->to, &c, &at));
    s->to->nodes.at[at].post = n->post;
    return ST_OK;
}

static enum status run(struct stripper *s)
{
    for (uint32_t i = 0; i < s->from->tensors.n; i++) {
        s->map[i] = IR_NONE;
        uint8_t role = s->from->tensors.at[i].role;
        if (role == IR_INPUT || role == IR_INOUT) /* in their order */
            TRY(put_tensor(s, i));
    }
    for (size_t k = 0; k < s->from->nodes.n; k++)
        if (!s->from->nodes.at[k].dead)
            TRY(put_node(s, &s->from->nodes.at[k]));
    return ir_verify(s->to, "taking encodings out");
}

enum status quantize_strip(const struct ir_graph *g, struct ir_graph **ret)
{
    struct stripper s = { .from = g };
    CLEANUP(mem_freep) uint32_t *map = mem_array(uint32_t, g->tensors.n + 1);
    RETURN_IF(!map, ST_NO_MEMORY, "no memory for %zu tensors", g->tensors.n);
    TRY(ir_graph_create(g->name, &s.to));
    s.map = map;
    enum status st = run(&s);
    if (st != ST_OK)
        ir_graph_free(s.to);
    else
        *ret = s.to;
    return st;
}
