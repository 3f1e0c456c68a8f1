/* SPDX-License-Identifier: Apache-2.0 */
/* Launches that follow each other become one where the second only changes what the first computed, element by element:
 *
 *     t = Conv2d(x, w); u = Add(t, r); y = Relu(u)     ->     y = max(Conv2d(x, w) + r, 0)
 *
 * This is done when a graph is loaded: nodes in the binary stay what they are, and memory is planned for all of them. The
 * output of the later launch is written earlier than the plan says, so nobody in between may use its memory. Usually that is
 * the first one's own output, which an element-wise operator writes over. */
#include <math.h>

#include "backend/gpu/gpu_fuse_parts.h"
#include "backend/gpu/gpu_kernels.h"

enum { PRODUCT_MORE = 3 }; /* the operand of products that is added */

bool fuse_gone(const struct gpu_launch *l)
{
    return l->n_operands == 0;
}

/* Of launches with one output, which is their last operand. */
uint32_t fuse_out(const struct gpu_launch *l)
{
    return l->tensors[l->n_operands - 1];
}

/* ---- memory ----------------------------------------------------------------------------------------------------------- */

bool fuse_overlap(const struct binary_graph *g, uint32_t a, uint32_t b)
{
    const struct binary_tensor *x = &g->tensors[a], *y = &g->tensors[b];
    if (x->place != y->place || x->place == PLACE_CONST)
        return false;
    if (x->place == PLACE_IO)
        return x->offset == y->offset;
    return x->offset < y->offset + y->bytes && y->offset < x->offset + x->bytes;
}

bool fuse_same_place(const struct binary_graph *g, uint32_t a, uint32_t b)
{
    const struct binary_tensor *x = &g->tensors[a], *y = &g->tensors[b];
    return x->place == y->place && x->offset == y->offset && x->bytes == y->bytes;
}

/* Whether launch `first` may write `out`, which launch `then` writes now, with `beside` read at the same elements. */
static bool may_write(const struct fuse *f, uint32_t first, uint32_t then, uint32_t out, uint32_t beside)
{
    const struct gpu_launch *l = &f->at[first];
    for (uint32_t k = first + 1; k < then; k++)
        for (uint32_t i = 0; i < f->at[k].n_operands; i++)
            if (fuse_overlap(f->g, out, f->at[k].tensors[i]))
                return false;
    for (uint32_t i = 0; i + 1 < l->n_operands; i++)
        if (fuse_overlap(f->g, out, l->tensors[i]) && !(l->tensors[i] == beside && fuse_same_place(f->g, out, beside)))
            return false;
    return beside == BINARY_NONE || !fuse_overlap(f->g, out, beside) || fuse_same_place(f->g, out, beside);
}

/* ---- products --------------------------------------------------------------------------------------------------------- */

static struct gpu_end *end_of(struct gpu_launch *l)
{
    switch ((int)l->kernel) {
    case K_PRODUCT: return &l->args.conv.end;
    case K_PRODUCT_ANY: return &l->args.matmul.end;
    case K_CONV:
    case K_DEPTHWISE:
    case K_TRANSPOSED: return &l->args.taps.end;
    default: return NULL;
    }
}

/* The launch that makes tensor t for one reader alone. */
uint32_t fuse_only_producer(const struct fuse *f, uint32_t t)
{
    return f->uses[t] == 1 && f->g->tensors[t].place == PLACE_SCRATCH ? f->producer[t] : BINARY_NONE;
}

static bool is_plain_add(const struct gpu_launch *l)
{
    const struct gpu_broadcast *a = &l->args.broadcast;
    return l->kernel == K_BINARY && a->op == BIN_ADD && (a->rank == 0 || (a->rank == 1 && a->a[0] == 1 && a->b[0] == 1)) &&
           l->tensors[0] != l->tensors[1];
}

void fuse_move_output(struct fuse *f, uint32_t first, uint32_t then)
{
    uint32_t out = fuse_out(&f->at[then]);
    f->at[first].tensors[f->at[first].n_operands - 1] = out;
    f->producer[out] = first;
    f->at[then].n_operands = 0;
}

/* The sum of a product and something that is there before the product begins. */
static void fuse_add(struct fuse *f, uint32_t k)
{
    struct gpu_launch *add = &f->at[k];
    if (fuse_gone(add) || !is_plain_add(add))
        return;
    for (int i = 0; i < 2; i++) {
        uint32_t p = fuse_only_producer(f, add->tensors[i]), other = add->tensors[1 - i], q = f->producer[other];
        struct gpu_end *e = p == BINARY_NONE ? NULL : end_of(&f->at[p]);
        if (!e || e->more || f->at[p].storage != add->storage || (q != BINARY_NONE && q >= p) ||
            !may_write(f, p, k, fuse_out(add), other))
            continue;
        *e = (struct gpu_end){
            .bias = e->bias, .more = 1, .lo = e->lo, .hi = e->hi, .more_lo = -INFINITY, .more_hi = INFINITY
        };
        f->at[p].tensors[PRODUCT_MORE] = other;
        fuse_move_output(f, p, k);
        return;
    }
}

/* Limits behind a product, with or without a sum. */
static void fuse_limits(struct fuse *f, uint32_t k)
{
    const struct gpu_launch *u = &f->at[k];
    if (fuse_gone(u) || u->kernel != K_UNARY || (u->args.unary.op != UN_RELU && u->args.unary.op != UN_CLAMP))
        return;
    uint32_t p = fuse_only_producer(f, u->tensors[0]);
    struct gpu_end *e = p == BINARY_NONE ? NULL : end_of(&f->at[p]);
    if (!e || f->at[p].storage != u->storage || !may_write(f, p, k, fuse_out(u), BINARY_NONE))
        return;
    float *lo = e->more ? &e->more_lo : &e->lo, *hi = e->more ? &e->more_hi : &e->hi;
    float to_lo = fmaxf(*lo, u->args.unary.op == UN_RELU ? 0.0f : u->args.unary.lo),
          to_hi = fminf(*hi, u->args.unary.op == UN_RELU ? INFINITY : u->args.unary.hi);
    if (!(to_lo <= to_hi))
        return;
    *lo = to_lo;
    *hi = to_hi;
    fuse_move_output(f, p, k);
}

/* ---- all of it -------------------------------------------------------------------------------------------------------- */

static void count_uses(struct fuse *f, const uint32_t *nodes)
{
    for (uint32_t t = 0; t < f->g->n_tensors; t++) {
        f->uses[t] = 0;
        f->producer[t] = BINARY_NONE;
    }
    for (uint32_t k = 0; k < f->n; k++) {
        const struct gpu_launch *l = &f->at[k];
        const struct binary_node *n = &f->g->nodes[nodes[k]];
        for (uint32_t i = 0; i < l->n_operands; i++)
            if (l->operand[i] >= n->n_in && l->operand[i] < n->n_in + n->n_out)
                f->producer[l->tensors[i]] = k;
            else
                f->uses[l->tensors[i]]++;
    }
}

enum status gpu_fuse(const struct binary_graph *g, struct arena *a, struct gpu_work *w, uint32_t *nodes)
{
    struct fuse f = { .g = g,
                      .at = w->launches.at,
                      .n = (uint32_t)w->launches.n,
                      .uses = arena_array(a, uint32_t, g->n_tensors),
                      .producer = arena_array(a, uint32_t, g->n_tensors) };
    RETURN_IF(!f.uses || !f.producer, ST_NO_MEMORY, "no memory to join %u launches", f.n);
    count_uses(&f, nodes);
    for (uint32_t k = 0; k < f.n; k++) {
        fuse_add(&f, k);
        fuse_limits(&f, k);
    }
    for (uint32_t k = 0; k < f.n; k++)
        fuse_chain(&f, k);
    uint32_t n = 0;
    for (uint32_t k = 0; k < f.n; k++)
        if (!fuse_gone(&f.at[k])) {
            f.at[n] = f.at[k];
            nodes[n++] = nodes[k];
        }
    w->launches.n = n;
    return ST_OK;
}
