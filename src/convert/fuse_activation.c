/* SPDX-License-Identifier: Apache-2.0 */
/* Activations of the form y = polynomial(x, v), v = function(polynomial(x)): a table of coefficients, matched in any order
 * of multiplications.
 *
 *     Gelu        0.5 x (1 + erf(x / √2))
 *     Gelu        0.5 x (1 + tanh(√(2/π) (x + 0.044715 x³)))      where 5e-4 does not matter
 *     HardSwish   x clamp(x + 3, 0, 6) / 6
 *
 * The front end has no operator for erf: what it writes instead (onnx_op_activation.c) is recognized as erf here. */
#include <math.h>

#include "convert/fuse.h"

enum inner_kind { INNER_NONE, INNER_ERF, INNER_TANH, INNER_CLAMP };

/* v = function(scale u + shift) */
struct inner {
    enum inner_kind kind;
    double lo, hi; /* of a clamp */
    double scale, shift;
    uint32_t u, v;
};

struct row {
    enum inner_kind kind;
    double lo, hi;
    struct fuse_poly u, y;
    const char *op;
    bool approximate;
};

static const struct row rows[] = {
    {INNER_ERF, 0, 0, {{{0, 0.70710678118654752}}}, {{{0, 0.5}, {0, 0.5}}}, "Gelu", false},
    {INNER_TANH, 0, 0, {{{0, 0.79788456080286536, 0, 0.035677408136300125}}}, {{{0, 0.5}, {0, 0.5}}}, "Gelu", true},
    {INNER_CLAMP, 0, 6, {{{3, 1}}}, {{{0}, {0, 1.0 / 6}}}, "HardSwish", false},
    {INNER_CLAMP, 0, 1, {{{0.5, 1.0 / 6}}}, {{{0}, {0, 1}}}, "HardSwish", false},
};

/* ---- the function inside ------------------------------------------------------------------------------------------ */

/* Select(t == 0, 0, 2 Gelu(t) / t - 1) is erf(t / √2). */
static bool find_erf(struct fuse *f, const struct ir_node *n, struct inner *in)
{
    struct fuse_poly p;
    double zero;
    const struct ir_node *equal = fuse_maker(f, n->in[0]);
    if (!equal || equal->op->id != OP_ElementWiseEqual || !fuse_scalar(f, n->in[1], &zero) || zero != 0)
        return false;
    uint32_t t = equal->in[0], ratio = n->in[2];
    for (const struct ir_node *m = fuse_maker(f, ratio); m && m->op->id != OP_ElementWiseDivide; m = fuse_maker(f, ratio))
        if (m->n_in != 2 || (ratio = m->in[0]) == IR_NONE)
            return false;
    const struct ir_node *divide = fuse_maker(f, ratio), *gelu = divide ? fuse_maker(f, divide->in[0]) : NULL;
    if (!gelu || gelu->op->id != OP_Gelu || gelu->in[0] != t || divide->in[1] != t || !fuse_scalar(f, equal->in[1], &zero) ||
        zero != 0)
        return false;
    fuse_mark(f, n);
    fuse_mark(f, equal);
    fuse_mark(f, divide);
    fuse_mark(f, gelu);
    if (!fuse_poly(f, n->in[2], ratio, IR_NONE, &p) || !fuse_same_poly(&p, &(struct fuse_poly){{{-1, 2}}}, 1e-6))
        return false;
    *in = (struct inner){.kind = INNER_ERF, .scale = 0.70710678118654752, .u = t, .v = n->out[0]};
    return true;
}

static bool find_neuron(struct fuse *f, const struct ir_node *n, struct inner *in)
{
    enum { HARD_SIGMOID = 2 };
    struct ir_call v;
    ir_call(f->g, n, &v);
    if (n->op->id == OP_ReluMinMax) {
        in->lo = op_real(&v.call, "min_value", 0);
        in->hi = op_real(&v.call, "max_value", 0);
    } else if (n->op->id == OP_Relu6) {
        in->hi = 6;
    } else if (op_int(&v.call, "operation", 0) == HARD_SIGMOID) {
        in->hi = 1;
        in->scale = op_real(&v.call, "alpha", 0);
        in->shift = op_real(&v.call, "beta", 0);
    } else {
        return false;
    }
    in->kind = INNER_CLAMP;
    return true;
}

/* min(max(u, lo), hi), or the other way round */
static bool find_min_max(struct fuse *f, const struct ir_node *n, struct inner *in)
{
    bool low_first = n->op->id == OP_ElementWiseMinimum;
    double *outer = low_first ? &in->hi : &in->lo, *inner = low_first ? &in->lo : &in->hi;
    const struct ir_node *m = fuse_maker(f, n->in[0]);
    if (!m || m->op->id != (low_first ? OP_ElementWiseMaximum : OP_ElementWiseMinimum) || !fuse_scalar(f, n->in[1], outer) ||
        !fuse_scalar(f, m->in[1], inner))
        return false;
    fuse_mark(f, m);
    in->kind = INNER_CLAMP;
    in->u = m->in[0];
    return true;
}

static bool find_inner(struct fuse *f, const struct ir_node *n, struct inner *in)
{
    *in = (struct inner){.kind = INNER_TANH, .scale = 1, .u = n->n_in ? n->in[0] : IR_NONE, .v = n->out[0]};
    if (in->u == IR_NONE)
        return false;
    fuse_mark(f, n);
    switch (n->op->id) {
    case OP_Tanh:
        return true;
    case OP_ElementWiseSelect:
        return find_erf(f, n, in);
    case OP_ReluMinMax:
    case OP_Relu6:
    case OP_ElementWiseNeuron:
        return find_neuron(f, n, in);
    case OP_ElementWiseMinimum:
    case OP_ElementWiseMaximum:
        return find_min_max(f, n, in);
    default:
        return false;
    }
}

/* ---- x and y ------------------------------------------------------------------------------------------------------ */

static bool is_arithmetic(const struct ir_node *n)
{
    enum op_id op = n->op->id;
    return fuse_retypes(n) || op == OP_ElementWiseAdd || op == OP_ElementWiseMultiply || op == OP_ElementWiseDivide ||
           op == OP_ElementWisePower || op == OP_ElementWiseSubtract;
}

/* What u may be a polynomial of, nearest first. */
static uint32_t candidates(struct fuse *f, uint32_t u, uint32_t *ret, uint32_t max)
{
    uint32_t n = 1;
    ret[0] = u;
    for (uint32_t i = 0; i < n; i++) {
        const struct ir_node *m = fuse_maker(f, ret[i]);
        for (uint32_t k = 0; m && is_arithmetic(m) && k < m->n_in && n < max; k++) {
            bool known = m->in[k] == IR_NONE || f->g->tensors.at[m->in[k]].role == IR_CONST;
            for (uint32_t j = 0; j < n; j++)
                known |= ret[j] == m->in[k];
            if (!known)
                ret[n++] = m->in[k];
        }
    }
    return n;
}

static bool inside_fits(struct fuse *f, const struct row *r, const struct inner *in, uint32_t x)
{
    struct fuse_poly p;
    double tolerance = fuse_tolerance(f, x);
    if (!fuse_poly(f, in->u, x, IR_NONE, &p))
        return false;
    for (unsigned k = 0; k < 4; k++)
        p.c[0][k] = p.c[0][k] * in->scale + (k ? 0 : in->shift);
    return fuse_same_poly(&p, &r->u, tolerance);
}

/* The difference between the two forms of Gelu is below half a step of 8 bits, and below what f16 keeps of numbers
 * near 1. */
static bool may_approximate(const struct fuse *f, uint32_t y)
{
    const struct tensor_desc *d = &f->g->tensors.at[y].desc;
    return f->approximate || d->type == DT_F16 || (dtype_is_fixed(d->type) && d->q.kind == Q_TENSOR && d->q.scale >= 1e-3f);
}

/* From v up, through nodes that nobody else reads, to what is the whole function. */
static enum status climb(struct fuse *f, const struct row *r, const struct inner *in, uint32_t x, bool *done)
{
    enum { CLIMB = 8 };
    struct fuse_poly p;
    uint32_t t = in->v, before = f->n_seen;
    for (unsigned i = 0; i < CLIMB && !*done; i++) {
        const struct ir_node *n = fuse_reader(f, t);
        if (!n || !is_arithmetic(n))
            return ST_OK;
        t = n->out[0];
        f->n_seen = before;
        if (fuse_poly(f, t, x, in->v, &p) && fuse_same_poly(&p, &r->y, fuse_tolerance(f, x)) &&
            (!r->approximate || may_approximate(f, t)))
            TRY(fuse_replace(f, n, r->op, &x, 1, NULL, done));
    }
    return ST_OK;
}

enum status fuse_activation(struct fuse *f, uint32_t k, bool *done)
{
    enum { CANDIDATES = 10 };
    struct inner in;
    uint32_t x[CANDIDATES];
    if (!find_inner(f, &f->g->nodes.at[k], &in))
        return ST_OK;
    uint32_t n = candidates(f, in.u, x, CANDIDATES), before = f->n_seen;
    for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++)
        for (uint32_t i = 0; rows[r].kind == in.kind && i < n && !*done; i++) {
            f->n_seen = before;
            if ((in.kind != INNER_CLAMP || (fuse_near(in.lo, rows[r].lo, 1e-4) && fuse_near(in.hi, rows[r].hi, 1e-4))) &&
                inside_fits(f, &rows[r], &in, x[i]))
                TRY(climb(f, &rows[r], &in, x[i], done));
        }
    return ST_OK;
}
