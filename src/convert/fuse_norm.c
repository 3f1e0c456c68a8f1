/* SPDX-License-Identifier: Apache-2.0 */
/* Normalizations that are written out.
 *
 *     m = mean(x); d = x - m; s = sqrt(mean(d²) + ε); y = d / s · γ + β         ->   LayerNorm(x, γ, β)
 *     m = mean(x); r = rsqrt(mean((x - m)²) + ε) · γ; y = x·r + (β - m·r)       ->   LayerNorm(x, γ, β)
 *     s = sqrt(mean(x²) + ε); y = x / s · γ                                     ->   RmsNorm(x, γ)
 *
 * The variance may also be mean(x²) − mean(x)², limited to 0 or not. The root is where a match begins; d² may be a product,
 * a power or a squared difference, and 1/s a division, a reciprocal or an rsqrt. γ and β are constants of the shape of the
 * normalized dimensions; others stay outside. */
#include <math.h>
#include <string.h>

#include "convert/fuse.h"

struct norm {
    uint32_t x, axes, mean; /* axes: a mask; mean: of x, IR_NONE for RmsNorm */
    double epsilon;
    uint32_t gamma, beta;
    const struct ir_node *top;
    uint32_t y; /* what top makes */
};

/* ---- down from the root ------------------------------------------------------------------------------------------- */

static bool is_mean(struct fuse *f, const struct ir_node *n, uint32_t *axes)
{
    if (!n || n->op->id != OP_ReduceMean || fuse_param(f, n, "keep_dims", 0) != 1)
        return false;
    uint32_t rank = f->g->tensors.at[n->in[0]].desc.rank;
    *axes = 0;
    for (uint32_t i = 0; i < rank; i++) {
        int64_t a = fuse_param(f, n, "axes", i);
        if (a >= 0 && a < rank)
            *axes |= 1u << a;
    }
    return *axes != 0;
}

/* t is x minus its mean over the axes; n->x is found, or compared where it is known. */
static bool is_centered(struct fuse *f, uint32_t t, struct norm *n)
{
    const struct ir_node *sub = fuse_maker(f, t),
                         *mean = sub && sub->op->id == OP_ElementWiseSubtract ? fuse_maker(f, sub->in[1]) : NULL;
    uint32_t axes;
    if (!is_mean(f, mean, &axes) || axes != n->axes || mean->in[0] != sub->in[0] || (n->x != IR_NONE && n->x != sub->in[0]))
        return false;
    fuse_mark(f, sub);
    fuse_mark(f, mean);
    n->x = sub->in[0];
    n->mean = sub->in[1];
    return true;
}

/* t·t or t²; ret is t. */
static bool is_power(const struct fuse *f, const struct ir_node *n, uint32_t *ret)
{
    double two;
    if (!n || n->n_in != 2)
        return false;
    *ret = n->in[0];
    return (n->op->id == OP_ElementWiseMultiply && n->in[0] == n->in[1]) ||
           (n->op->id == OP_ElementWisePower && fuse_scalar(f, n->in[1], &two) && two == 2);
}

static bool is_square(struct fuse *f, uint32_t t, struct norm *n)
{
    const struct ir_node *sq = fuse_follow(f, t);
    uint32_t of;
    if (!sq || sq->n_in != 2)
        return false;
    if (sq->op->id == OP_ElementWiseSquaredDifference) {
        const struct ir_node *mean = fuse_maker(f, sq->in[1]);
        uint32_t axes;
        n->x = sq->in[0];
        n->mean = sq->in[1];
        if (!is_mean(f, mean, &axes) || axes != n->axes || mean->in[0] != n->x)
            return false;
        fuse_mark(f, mean);
        return true;
    }
    bool square = is_power(f, sq, &of);
    if (square && !is_centered(f, of, n))
        n->x = of;
    return square;
}

/* mean(x²) − mean(x)² */
static bool is_difference(struct fuse *f, const struct ir_node *sub, struct norm *n)
{
    const struct ir_node *squares = fuse_follow(f, sub->in[0]), *mean;
    uint32_t axes;
    if (!is_mean(f, squares, &n->axes) || !is_power(f, fuse_follow(f, squares->in[0]), &n->x) ||
        !is_power(f, fuse_follow(f, sub->in[1]), &n->mean))
        return false;
    mean = fuse_follow(f, n->mean);
    return is_mean(f, mean, &axes) && axes == n->axes && mean->in[0] == n->x;
}

/* A variance is not negative: a limit that says so adds nothing. */
static const struct ir_node *past_limit(struct fuse *f, const struct ir_node *n)
{
    double zero;
    if (n && n->op->id == OP_Relu)
        return fuse_follow(f, n->in[0]);
    for (uint32_t i = 0; n && n->op->id == OP_ElementWiseMaximum && i < 2; i++)
        if (fuse_scalar(f, n->in[i], &zero) && zero == 0)
            return fuse_follow(f, n->in[1 - i]);
    return n;
}

static bool is_variance(struct fuse *f, uint32_t t, struct norm *n)
{
    const struct ir_node *top = past_limit(f, fuse_follow(f, t));
    if (top && top->op->id == OP_ElementWiseSubtract)
        return is_difference(f, top, n);
    return is_mean(f, top, &n->axes) && is_square(f, top->in[0], n);
}

/* mean(d²) + ε */
static bool is_inside(struct fuse *f, uint32_t t, struct norm *n)
{
    const struct ir_node *add = fuse_follow(f, t);
    *n = (struct norm){.x = IR_NONE, .mean = IR_NONE, .gamma = IR_NONE, .beta = IR_NONE};
    if (add && add->op->id == OP_ElementWiseAdd)
        for (uint32_t i = 0; i < 2; i++)
            if (fuse_scalar(f, add->in[i], &n->epsilon) && n->epsilon >= 0)
                return is_variance(f, add->in[1 - i], n);
    return false;
}

/* ---- up from the root --------------------------------------------------------------------------------------------- */

static bool move_up(struct fuse *f, const struct ir_node *to, struct norm *n)
{
    fuse_mark(f, to);
    n->top = to;
    n->y = to->out[0];
    return true;
}

/* The reader of n->y, past nodes that change its type. */
static const struct ir_node *reader(struct fuse *f, struct norm *n)
{
    const struct ir_node *to = fuse_reader(f, n->y);
    while (to && (to->op->id == OP_Dequantize || to->op->id == OP_Quantize) && fuse_reader(f, to->out[0])) {
        move_up(f, to, n);
        to = fuse_reader(f, n->y);
    }
    return to;
}

/* The other operand of a commutative node. */
static uint32_t other(const struct ir_node *n, uint32_t t)
{
    return n->in[n->in[0] == t];
}

static bool is_reciprocal(const struct fuse *f, const struct ir_node *n, uint32_t of)
{
    enum { RECIPROCAL = 10 };
    double one;
    if (n->op->id == OP_ElementWiseUnary)
        return fuse_param(f, n, "operation", 0) == RECIPROCAL;
    return n->op->id == OP_ElementWiseDivide && n->in[1] == of && fuse_scalar(f, n->in[0], &one) && one == 1;
}

/* A constant with one element for each position of the normalized dimensions. */
static bool fits(const struct fuse *f, const struct norm *n, uint32_t t)
{
    const struct ir_tensor *c = &f->g->tensors.at[t];
    const struct tensor_desc *x = &f->g->tensors.at[n->x].desc;
    if (c->role != IR_CONST || c->desc.rank > x->rank)
        return false;
    for (uint32_t i = 0; i < x->rank; i++) {
        uint32_t lead = x->rank - c->desc.rank, have = i < lead ? 1 : c->desc.dims[i - lead];
        if (have != (n->axes >> i & 1 ? x->dims[i] : 1))
            return false;
    }
    return true;
}

/* A factor or term behind it, when there is one that fits. */
static void affine(struct fuse *f, enum op_id op, struct norm *n, uint32_t *ret)
{
    struct norm before = *n;
    uint32_t seen = f->n_seen;
    const struct ir_node *to = reader(f, n);
    if (to && to->op->id == op && fits(f, n, other(to, n->y))) {
        *ret = other(to, n->y);
        move_up(f, to, n);
        return;
    }
    *n = before;
    f->n_seen = seen;
}

/* x·r + (β - m·r), or x·r - m·r: what reads r twice. */
static bool expanded(struct fuse *f, struct norm *n)
{
    uint32_t r = n->y, found = 0, a = IR_NONE, b = IR_NONE;
    const struct ir_node *end = f->g->nodes.at + f->g->nodes.n;
    for (const struct ir_node *to = n->top + 1; n->mean != IR_NONE && to < end && to < n->top + 64 && found < 2; to++) {
        if (to->dead || to->op->id != OP_ElementWiseMultiply || (to->in[0] != r && to->in[1] != r))
            continue;
        found++;
        fuse_mark(f, to);
        if (other(to, r) == n->x)
            a = to->out[0];
        else if (other(to, r) == n->mean)
            b = to->out[0];
    }
    const struct ir_node *sub = a != IR_NONE && b != IR_NONE ? fuse_reader(f, b) : NULL;
    if (!sub || sub->op->id != OP_ElementWiseSubtract || sub->in[1] != b)
        return false;
    move_up(f, sub, n);
    if (sub->in[0] == a)
        return true;
    const struct ir_node *add = fits(f, n, sub->in[0]) ? fuse_reader(f, n->y) : NULL;
    n->beta = sub->in[0];
    return add && add->op->id == OP_ElementWiseAdd && other(add, n->y) == a && move_up(f, add, n);
}

/* From 1/s to the normalized value. */
static bool multiplied(struct fuse *f, struct norm *n)
{
    affine(f, OP_ElementWiseMultiply, n, &n->gamma);
    const struct ir_node *to = reader(f, n);
    if (!to)
        return expanded(f, n);
    if (to->op->id != OP_ElementWiseMultiply)
        return false;
    uint32_t d = other(to, n->y);
    return (n->mean == IR_NONE ? d == n->x : is_centered(f, d, n)) && move_up(f, to, n);
}

/* From s. */
static bool divided(struct fuse *f, struct norm *n)
{
    const struct ir_node *to = reader(f, n);
    if (!to)
        return false;
    if (is_reciprocal(f, to, n->y))
        return move_up(f, to, n) && multiplied(f, n);
    if (to->op->id != OP_ElementWiseDivide || to->in[1] != n->y)
        return false;
    return (n->mean == IR_NONE ? to->in[0] == n->x : is_centered(f, to->in[0], n)) && move_up(f, to, n);
}

/* ---- the new node ------------------------------------------------------------------------------------------------- */

static enum status replace(struct fuse *f, const struct norm *n, bool *done)
{
    uint32_t in[3] = {n->x, n->gamma, n->beta}, axes[MAX_RANK], k = 0;
    for (uint32_t i = 0; i < MAX_RANK; i++)
        if (n->axes >> i & 1)
            axes[k++] = i;
    struct build_param params[] = {BUILD_F32("epsilon", n->epsilon), BUILD_U32S("axes", k, axes), {0}};
    return fuse_replace(f, n->top, n->mean == IR_NONE ? "RmsNorm" : "LayerNorm", in,
                        n->beta != IR_NONE    ? 3
                        : n->gamma != IR_NONE ? 2
                                              : 1,
                        params, done);
}

enum status fuse_norm(struct fuse *f, uint32_t k, bool *done)
{
    const struct ir_node *root = &f->g->nodes.at[k];
    struct norm n;
    double e = 0;
    bool inverse = root->op->id == OP_ElementWiseRsqrt, plain = root->op->id == OP_ElementWiseSquareRoot;
    if (root->op->id == OP_ElementWisePower && fuse_scalar(f, root->in[1], &e)) {
        inverse = e == -0.5;
        plain = e == 0.5;
    }
    if ((!inverse && !plain) || !is_inside(f, root->in[0], &n))
        return ST_OK;
    move_up(f, root, &n);
    if (inverse ? !multiplied(f, &n) : !divided(f, &n))
        return ST_OK;
    if (n.gamma == IR_NONE && n.beta == IR_NONE)
        affine(f, OP_ElementWiseMultiply, &n, &n.gamma);
    if (n.beta == IR_NONE)
        affine(f, OP_ElementWiseAdd, &n, &n.beta);
    return replace(f, &n, done);
}
