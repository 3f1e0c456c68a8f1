/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of one and two operands that follow each other become one launch, a link each:
 *
 *     s = Sigmoid(x); m = Multiply(x, s); y = Add(m, b)     ->     y = chain(x: sigmoid, x * v, v + b) */
#include "backend/gpu/gpu_fuse_parts.h"

enum { CHAIN_INPUTS = 4 }; /* of the kernel */

/* A launch as a chain, with the tensors it reads; one of them is read element by element from the first link on. */
struct links {
    struct gpu_chain a;
    uint32_t tensors[CHAIN_INPUTS], n_tensors;
    bool flat[CHAIN_INPUTS]; /* every element is read by the work item that writes the same one */
};

/* Which element of an operand element i of the output takes, as i / div % mod; false: not in this form. */
static bool period(const struct gpu_broadcast *a, const int *strides, struct gpu_link *l)
{
    *l = (struct gpu_link){ .binary = 1, .div = 1, .mod = a->n, .f = { .op = a->op } };
    if (a->rank == 0)
        return true;
    if (a->rank == 1) {
        l->mod = strides[0] ? a->n : 1;
        return true;
    }
    if (a->rank != 2)
        return false;
    bool row = strides[0] == 0 && strides[1] == 1, column = strides[0] == 1 && strides[1] == 0,
         all = strides[0] == a->dims[1] && strides[1] == 1;
    l->div = column ? a->dims[1] : 1;
    l->mod = row ? a->dims[1] : column ? a->dims[0] : a->n;
    return row || column || all;
}

static bool is_flat(const struct gpu_link *l, int n)
{
    return l->div == 1 && l->mod == n;
}

/* Binary launches: the link for either operand, the other one being the value so far. */
static bool binary_link(const struct gpu_launch *l, uint32_t value, struct gpu_link *ret)
{
    struct gpu_link own;
    const struct gpu_broadcast *a = &l->args.broadcast;
    if (!period(a, value ? a->b : a->a, &own) || !is_flat(&own, a->n) || !period(a, value ? a->a : a->b, ret))
        return false;
    ret->swapped = value == 1;
    return true;
}

static bool as_links(const struct gpu_launch *l, struct links *ret)
{
    *ret = (struct links){ .a = { .n = l->args.unary.n, .count = 1 } }; /* n is first in all of these */
    if (l->kernel == K_CHAIN) {
        ret->a = l->args.chain;
        for (int i = 0; i < CHAIN_INPUTS; i++) {
            bool used = i == 0;
            ret->flat[i] = true;
            for (int k = 0; k < ret->a.count; k++)
                if (ret->a.links[k].binary && ret->a.links[k].operand == i) {
                    used = true;
                    ret->flat[i] = ret->flat[i] && is_flat(&ret->a.links[k], ret->a.n);
                }
            if (used)
                ret->tensors[ret->n_tensors++] = l->tensors[i];
        }
        return true;
    }
    ret->flat[0] = true;
    ret->tensors[0] = l->tensors[0];
    ret->n_tensors = 1;
    if (l->kernel == K_UNARY) {
        ret->a.links[0].f = l->args.unary;
        return true;
    }
    if (l->kernel != K_BINARY)
        return false;
    uint32_t value = binary_link(l, 0, &ret->a.links[0]) ? 0 : 1;
    if (value == 1 && !binary_link(l, 1, &ret->a.links[0]))
        return false;
    ret->tensors[0] = l->tensors[value];
    ret->tensors[1] = l->tensors[1 - value];
    ret->flat[1] = is_flat(&ret->a.links[0], ret->a.n);
    ret->a.links[0].operand = 1;
    ret->n_tensors = 2;
    return true;
}

/* The number of a tensor among those that a chain reads. */
static bool add_tensor(struct links *c, uint32_t t, bool flat, int *ret)
{
    for (uint32_t i = 0; i < c->n_tensors; i++)
        if (c->tensors[i] == t) {
            c->flat[i] = c->flat[i] && flat;
            *ret = (int)i;
            return true;
        }
    if (c->n_tensors == CHAIN_INPUTS)
        return false;
    c->tensors[c->n_tensors] = t;
    c->flat[c->n_tensors] = flat;
    *ret = (int)c->n_tensors++;
    return true;
}

/* The chain with launch l behind it, which takes the chain's output as operand `value`. */
static bool append(struct links *c, const struct gpu_launch *l, uint32_t value)
{
    if (c->a.count == GPU_LINKS || l->args.unary.n != c->a.n)
        return false;
    struct gpu_link *k = &c->a.links[c->a.count];
    if (l->kernel == K_UNARY) {
        *k = (struct gpu_link){ .f = l->args.unary };
        c->a.count++;
        return true;
    }
    if (!binary_link(l, value, k) || !add_tensor(c, l->tensors[1 - value], is_flat(k, c->a.n), &k->operand))
        return false;
    c->a.count++;
    return true;
}

/* Nobody between the two launches may use the output's memory, and the chain itself only element by element. */
static bool may_write(const struct fuse *f, uint32_t first, uint32_t then, const struct links *c)
{
    uint32_t out = fuse_out(&f->at[then]);
    for (uint32_t k = first + 1; k < then; k++)
        for (uint32_t i = 0; i < f->at[k].n_operands; i++)
            if (fuse_overlap(f->g, out, f->at[k].tensors[i]))
                return false;
    for (uint32_t i = 0; i < c->n_tensors; i++)
        if (fuse_overlap(f->g, out, c->tensors[i]) && !(c->flat[i] && fuse_same_place(f->g, out, c->tensors[i])))
            return false;
    return true;
}

/* Other operands must be there before the first of the launches runs. */
static bool known_before(const struct fuse *f, uint32_t first, uint32_t t)
{
    return f->producer[t] == BINARY_NONE || f->producer[t] < first;
}

static bool join(struct fuse *f, uint32_t first, uint32_t then, uint32_t value)
{
    struct gpu_launch *p = &f->at[first];
    const struct gpu_launch *l = &f->at[then];
    struct links c;
    bool other = l->kernel == K_BINARY;
    if (p->storage != l->storage || !as_links(p, &c) || (other && !known_before(f, first, l->tensors[1 - value])) ||
        !append(&c, l, value) || !may_write(f, first, then, &c))
        return false;
    p->kernel = K_CHAIN;
    p->args_bytes = sizeof p->args.chain;
    p->args.chain = c.a;
    p->n_operands = CHAIN_INPUTS + 1;
    for (uint32_t i = 0; i < CHAIN_INPUTS; i++)
        p->tensors[i] = c.tensors[i < c.n_tensors ? i : 0];
    fuse_move_output(f, first, then);
    return true;
}

void fuse_chain(struct fuse *f, uint32_t k)
{
    const struct gpu_launch *l = &f->at[k];
    if (fuse_gone(l) || (l->kernel != K_UNARY && l->kernel != K_BINARY))
        return;
    for (uint32_t value = 0; value < (l->kernel == K_BINARY ? 2u : 1u); value++) {
        uint32_t p = fuse_only_producer(f, l->tensors[value]);
        if (p != BINARY_NONE && p < k && join(f, p, k, value))
            return;
    }
}
