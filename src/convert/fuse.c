/* SPDX-License-Identifier: Apache-2.0 */
/* Subgraphs that exporters write out and that QNN has one operator for.
 *
 *     %a = Div(%x, 1.41); %b = Erf(%a); %c = Add(%b, 1); %d = Mul(%x, %c); %y = Mul(%d, 0.5)   ->   %y = Gelu(%x)
 *
 * Every pattern is a function of one node (fuse_activation.c, fuse_norm.c, fuse_softmax.c). Patterns are tried until nothing
 * changes, in rounds, because one may uncover another. What lies between a Dequantize and a Quantize becomes fixed point
 * with their encodings; encodings of what was inside go. */
#include "convert/fuse.h"

#include <string.h>

uint32_t fuse_index(const struct fuse *f, const struct ir_node *n)
{
    return (uint32_t)(n - f->g->nodes.at);
}

void fuse_mark(struct fuse *f, const struct ir_node *n)
{
    uint32_t k = fuse_index(f, n);
    for (uint32_t i = 0; i < f->n_seen && i < FUSE_SEEN; i++)
        if (f->seen[i] == k)
            return;
    if (f->n_seen < FUSE_SEEN)
        f->seen[f->n_seen] = k;
    f->n_seen += f->n_seen <= FUSE_SEEN;
}

const struct ir_node *fuse_maker(struct fuse *f, uint32_t t)
{
    uint32_t k = t == IR_NONE ? IR_NONE : f->u.producer[t];
    return k == IR_NONE || f->g->nodes.at[k].dead ? NULL : &f->g->nodes.at[k];
}

bool fuse_retypes(const struct ir_node *n)
{
    return n->op->id == OP_Quantize || n->op->id == OP_Dequantize || n->op->id == OP_Convert || n->op->id == OP_Cast;
}

/* A Cast to or from integers does more than change the type. */
static bool keeps_number(const struct fuse *f, const struct ir_node *n)
{
    enum dtype from = f->g->tensors.at[n->in[0]].desc.type, to = f->g->tensors.at[n->out[0]].desc.type;
    return fuse_retypes(n) && (n->op->id != OP_Cast || (dtype_is_float(from) && dtype_is_float(to)));
}

const struct ir_node *fuse_follow(struct fuse *f, uint32_t t)
{
    const struct ir_node *n = fuse_maker(f, t);
    for (; n; n = fuse_maker(f, n->in[0])) {
        fuse_mark(f, n);
        if (!keeps_number(f, n))
            return n;
    }
    return NULL;
}

const struct ir_node *fuse_reader(struct fuse *f, uint32_t t)
{
    uint32_t k = f->u.n_consumers[t] == 1 && f->g->tensors.at[t].role == IR_NATIVE ? f->u.consumer[t] : IR_NONE;
    return k == IR_NONE || f->g->nodes.at[k].dead ? NULL : &f->g->nodes.at[k];
}

bool fuse_scalar(const struct fuse *f, uint32_t t, double *ret)
{
    const struct ir_tensor *x = t == IR_NONE ? NULL : &f->g->tensors.at[t];
    if (!x || x->role != IR_CONST || !x->data || desc_count(&x->desc) != 1 || dtype_bits(x->desc.type) < 8)
        return false;
    if (!dtype_is_fixed(x->desc.type)) {
        *ret = number_get(x->desc.type, x->data, 0);
        return true;
    }
    if (x->desc.q.kind != Q_TENSOR)
        return false;
    *ret = ((double)number_get_int(x->desc.type, x->data, 0) + x->desc.q.offset) * (double)x->desc.q.scale;
    return true;
}

double fuse_tolerance(const struct fuse *f, uint32_t x)
{
    return f->g->tensors.at[x].desc.type == DT_F32 ? 1e-4 : 2e-3;
}

int64_t fuse_param(const struct fuse *f, const struct ir_node *n, const char *name, uint32_t at)
{
    struct ir_call v;
    ir_call(f->g, n, &v);
    return at < op_count(&v.call, name) ? op_int(&v.call, name, at) : -1;
}

/* ---- replacing ---------------------------------------------------------------------------------------------------- */

static uint32_t edges_to(const struct fuse *f, uint32_t t)
{
    uint32_t edges = 0;
    for (uint32_t i = 0; i < f->n_seen; i++) {
        const struct ir_node *n = &f->g->nodes.at[f->seen[i]];
        for (uint32_t k = 0; k < n->n_in; k++)
            edges += n->in[k] == t;
    }
    return edges;
}

/* Nothing outside the match reads what is inside. */
static bool is_closed(const struct fuse *f, uint32_t top)
{
    if (f->n_seen > FUSE_SEEN)
        return false;
    for (uint32_t i = 0; i < f->n_seen; i++) {
        const struct ir_node *n = &f->g->nodes.at[f->seen[i]];
        for (uint32_t k = 0; f->seen[i] != top && k < n->n_out; k++)
            if (f->g->tensors.at[n->out[k]].role != IR_NATIVE || f->u.n_consumers[n->out[k]] != edges_to(f, n->out[k]))
                return false;
    }
    return true;
}

static void count_reads(struct fuse *f, uint32_t k, int by)
{
    const struct ir_node *n = &f->g->nodes.at[k];
    for (uint32_t i = 0; i < n->n_in; i++)
        if (n->in[i] != IR_NONE) {
            f->u.n_consumers[n->in[i]] += (uint32_t)by;
            if (by > 0)
                f->u.consumer[n->in[i]] = k;
        }
}

static enum status make_node(struct fuse *f, const struct ir_node *top, const char *op, const uint32_t *in, uint32_t n_in,
                             const struct build_param *params, struct ir_node *ret)
{
    const char *names[14];
    struct op_value values[14];
    uint32_t n = 0;
    for (; params && params[n].name; n++) {
        names[n] = params[n].name;
        values[n] = params[n].v;
        values[n].data = arena_dup(&f->g->arena, values[n].data, dtype_bytes(values[n].type, values[n].count));
        RETURN_IF(!values[n].data, ST_NO_MEMORY, "no memory for parameters of \"%s\"", top->name);
    }
    *ret = (struct ir_node){.name = top->name, .op = op_find(op), .n_in = n_in, .n_out = 1, .post = OP_POST_NONE};
    ret->in = arena_dup(&f->g->arena, in, n_in * sizeof(*in));
    ret->out = arena_dup(&f->g->arena, top->out, sizeof(*top->out));
    ret->params = arena_array(&f->g->arena, struct op_value, op_param_count(ret->op));
    RETURN_IF(!ret->in || !ret->out || !ret->params, ST_NO_MEMORY, "no memory for node \"%s\"", top->name);
    return op_params_bind(ret->op, top->name, names, values, n, ret->params);
}

/* Between a Dequantize and a Quantize that serve nobody else: in fixed point, where the operator can. */
static void into_fixed(struct fuse *f, uint32_t k)
{
    struct ir_node *n = &f->g->nodes.at[k], fixed = *n;
    const struct ir_node *before = fuse_maker(f, n->in[0]), *after = fuse_reader(f, n->out[0]);
    if (!before || !after || before->op->id != OP_Dequantize || after->op->id != OP_Quantize ||
        f->u.n_consumers[n->in[0]] != 1)
        return;
    uint32_t in[MAX_PORTS], out[1] = {after->out[0]};
    memcpy(in, n->in, n->n_in * sizeof(*in));
    in[0] = before->in[0];
    fixed.in = in;
    fixed.out = out;
    if (ir_check_node(f->g, &fixed) != ST_OK)
        return;
    f->u.producer[out[0]] = k;
    f->u.consumer[in[0]] = k; /* instead of the Dequantize */
    n->in[0] = in[0];
    n->out[0] = out[0];
    f->g->nodes.at[fuse_index(f, before)].dead = f->g->nodes.at[fuse_index(f, after)].dead = true;
}

enum status fuse_replace(struct fuse *f, const struct ir_node *top, const char *op, const uint32_t *in, uint32_t n_in,
                         const struct build_param *params, bool *done)
{
    struct ir_node made;
    uint32_t k = fuse_index(f, top);
    fuse_mark(f, top);
    if (!is_closed(f, k))
        return ST_OK;
    TRY(make_node(f, top, op, in, n_in, params, &made));
    if (ir_check_node(f->g, &made) != ST_OK)
        return ST_OK;
    for (uint32_t i = 0; i < f->n_seen; i++) {
        count_reads(f, f->seen[i], -1);
        made.source = ir_join_sources(&f->g->arena, made.source, f->g->nodes.at[f->seen[i]].source);
        f->g->nodes.at[f->seen[i]].dead = true;
    }
    f->g->nodes.at[k] = made;
    count_reads(f, k, 1);
    into_fixed(f, k);
    *done = true;
    return ST_OK;
}

/* ---- entry -------------------------------------------------------------------------------------------------------- */

static enum status round_of(struct fuse *f, bool *progress)
{
    static fuse_pattern *const patterns[] = {fuse_activation, fuse_norm, fuse_softmax};
    TRY(ir_uses(f->g, &f->arena, &f->u));
    for (uint32_t k = 0; k < f->g->nodes.n; k++)
        for (size_t p = 0; p < sizeof(patterns) / sizeof(patterns[0]); p++) {
            bool done = false;
            f->n_seen = 0;
            if (!f->g->nodes.at[k].dead)
                TRY(patterns[p](f, k, &done));
            *progress |= done;
        }
    return *progress ? ir_compact(f->g) : ST_OK;
}

enum status convert_fuse(struct ir_graph *g, bool approximate)
{
    enum { ROUNDS = 4 };
    struct fuse f = {.g = g, .approximate = approximate};
    enum status st = ST_OK;
    bool progress = true;
    arena_init(&f.arena);
    for (unsigned i = 0; i < ROUNDS && progress && st == ST_OK; i++) {
        progress = false;
        st = round_of(&f, &progress);
        arena_finish(&f.arena);
    }
    return st;
}
