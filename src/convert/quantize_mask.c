/* SPDX-License-Identifier: Apache-2.0 */
/* Attention masks: scores are added to (or replaced by) something so negative that Softmax makes zeros of it.
 *
 *     %s = ElementWiseAdd(%scores, %mask)        %mask: 0 where it may look, -inf or -1e38 where it may not
 *     %p = Softmax(%s)
 *
 * Such numbers would take all steps of an encoding. It is enough that masked scores are well below all others: exp(-20) is
 * nothing. */
#include <math.h>

#include "convert/builder.h"
#include "convert/quantize_plan.h"

static const double below = 20, wild_from = -1000;

struct extent {
    double min, max; /* of finite values */
    bool wild;       /* so negative that only a mask can be meant */
};

static struct extent extent_of(const struct plan *p, uint32_t t)
{
    struct extent e = { INFINITY, -INFINITY, false };
    const struct ir_tensor *x = t == IR_NONE ? NULL : &p->g->tensors.at[t];
    bool constant = x && x->role == IR_CONST && x->data && dtype_is_float(x->desc.type);
    uint64_t n = constant ? desc_count(&x->desc) : 0;
    for (uint64_t i = 0; i < n; i++) {
        double v = number_get(x->desc.type, x->data, i);
        e.wild |= v < wild_from;
        if (isfinite(v)) {
            e.min = fmin(e.min, v);
            e.max = fmax(e.max, v);
        }
    }
    if (x && !constant && p->o->stats && quantize_is_activation(x))
        e = (struct extent){ p->o->stats[t].min, p->o->stats[t].max,
                             p->o->stats[t].odd > 0 || p->o->stats[t].min < wild_from };
    return e;
}

static void set(const struct plan *p, uint32_t t, double min, double max)
{
    struct plan_tensor *x = &p->tensors[t];
    bool constant = p->g->tensors.at[t].role == IR_CONST;
    if (p->override[t] || (!constant && x->origin == QUANTIZE_FLOAT && !p->o->stats[t].odd))
        return;
    quantize_encode(&p->o->act, min, max, &x->e);
    x->origin = QUANTIZE_OPERATOR;
}

/* ret: -1 when the operands are not scores and a mask, else the port of the mask. */
static int mask_port(const struct plan *p, const struct ir_node *n, uint32_t first, struct extent *scores)
{
    if (n->n_in < first + 2)
        return -1;
    struct extent a = extent_of(p, n->in[first]), b = extent_of(p, n->in[first + 1]);
    if (a.wild == b.wild || (a.wild ? b.min > b.max : a.min > a.max))
        return -1;
    *scores = a.wild ? b : a;
    return (int)(a.wild ? first : first + 1);
}

static bool feeds_softmax(const struct plan *p, uint32_t t)
{
    for (size_t k = 0; k < p->g->nodes.n; k++)
        if (p->g->nodes.at[k].op->id == OP_Softmax && p->g->nodes.at[k].in[0] == t)
            return true;
    return false;
}

static bool adds(const struct plan *p, const struct ir_node *n)
{
    struct ir_call v;
    if (n->op->id != OP_ElementWiseBinary)
        return n->op->id == OP_ElementWiseAdd;
    ir_call(p->g, n, &v);
    return op_int(&v.call, "operation", 0) == 0;
}

/* What a mask is made of is as wild as the mask: parts of it get its range too. */
static void set_parts(const struct plan *p, uint32_t t, double min, double max, unsigned depth)
{
    set(p, t, min, max);
    if (p->uses.producer[t] == IR_NONE || depth == 0)
        return;
    const struct ir_node *n = &p->g->nodes.at[p->uses.producer[t]];
    if (!adds(p, n) && n->op->id != OP_ElementWiseSelect && n->op->id != OP_Concat && !plan_moves_values(n->op->id))
        return;
    for (uint32_t i = 0; i < n->n_in; i++)
        if (extent_of(p, n->in[i]).wild)
            set_parts(p, n->in[i], min, max, depth - 1);
}

void plan_mask(const struct plan *p, const struct ir_node *n)
{
    enum { DEPTH = 8 };
    struct extent scores, mask;
    bool picks = n->op->id == OP_ElementWiseSelect, joined = n->op->id == OP_MaskedSoftmax;
    if (!p->o->stats || !n->n_out || (!picks && !joined && !adds(p, n)))
        return;
    uint32_t out = n->out[0];
    int port = mask_port(p, n, picks ? 1 : 0, &scores);
    if (port < 0 || (!joined && !feeds_softmax(p, out)))
        return;
    mask = extent_of(p, n->in[port]);
    double top = mask.max < mask.min ? 0 : mask.max;
    set_parts(p, n->in[port], picks ? scores.min - below : -(scores.max - scores.min + below),
              picks ? fmax(top, scores.max) : top, DEPTH);
    if (!joined)
        set(p, out, scores.min - below, scores.max + fmax(picks ? 0 : top, 0));
}
