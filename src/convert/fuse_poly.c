/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic as a polynomial: whatever order an exporter multiplies and adds in, the coefficients are the same. x is the
 * value that a pattern is about, v a function of it that stands inside: c[0][i] belongs to x^i, c[1][i] to x^i v. */
#include <math.h>
#include <string.h>

#include "convert/fuse.h"

enum { DEPTH = 12, STEPS = 100, DEGREE = 3 }; /* STEPS: shared operands could be looked at 2^DEPTH times */

bool fuse_near(double a, double b, double tolerance)
{
    return fabs(a - b) <= tolerance * fmax(fabs(b), 1e-3);
}

bool fuse_same_poly(const struct fuse_poly *a, const struct fuse_poly *b, double tolerance)
{
    for (unsigned i = 0; i < 2; i++)
        for (unsigned k = 0; k <= DEGREE; k++)
            if (!fuse_near(a->c[i][k], b->c[i][k], tolerance))
                return false;
    return true;
}

static bool is_constant(const struct fuse_poly *p)
{
    bool zero = true;
    for (unsigned i = 0; i < 2; i++)
        for (unsigned k = i ? 0 : 1; k <= DEGREE; k++)
            zero &= p->c[i][k] == 0;
    return zero;
}

static bool multiply(const struct fuse_poly *a, const struct fuse_poly *b, struct fuse_poly *ret)
{
    memset(ret, 0, sizeof(*ret));
    for (unsigned i = 0; i < 4; i++)
        for (unsigned k = 0; k <= 2 * DEGREE; k++)
            for (unsigned m = k > DEGREE ? k - DEGREE : 0; m <= k && m <= DEGREE; m++) {
                double c = a->c[i >> 1][m] * b->c[i & 1][k - m];
                if (c == 0)
                    continue;
                if (k > DEGREE || i == 3) /* x^4, or v^2 */
                    return false;
                ret->c[(i >> 1) + (i & 1)][k] += c;
            }
    return true;
}

static void combine(const struct fuse_poly *a, const struct fuse_poly *b, double sign, struct fuse_poly *ret)
{
    for (unsigned i = 0; i < 2; i++)
        for (unsigned k = 0; k <= DEGREE; k++)
            ret->c[i][k] = a->c[i][k] + sign * b->c[i][k];
}

static bool power(const struct fuse_poly *a, double e, struct fuse_poly *ret)
{
    struct fuse_poly p = {.c[0][0] = 1}, next;
    if (e != 1 && e != 2 && e != 3)
        return false;
    for (int i = 0; i < (int)e; i++) {
        if (!multiply(&p, a, &next))
            return false;
        p = next;
    }
    *ret = p;
    return true;
}

static bool operate(enum op_id op, const struct fuse_poly *a, const struct fuse_poly *b, struct fuse_poly *ret)
{
    struct fuse_poly inverse = {.c[0][0] = 1 / b->c[0][0]};
    switch (op) {
    case OP_ElementWiseAdd:
        combine(a, b, 1, ret);
        return true;
    case OP_ElementWiseSubtract:
        combine(a, b, -1, ret);
        return true;
    case OP_ElementWiseMultiply:
        return multiply(a, b, ret);
    case OP_ElementWiseDivide:
        return is_constant(b) && b->c[0][0] != 0 && multiply(a, &inverse, ret);
    case OP_ElementWisePower:
        return is_constant(b) && power(a, b->c[0][0], ret);
    default:
        return false;
    }
}

static bool evaluate(struct fuse *f, uint32_t t, const uint32_t atoms[2], unsigned depth, struct fuse_poly *ret)
{
    static const struct fuse_poly zero;
    struct fuse_poly a = {0}, b = {0};
    *ret = zero;
    if (t == atoms[0] || t == atoms[1]) {
        ret->c[t == atoms[1]][t == atoms[0]] = 1;
        return true;
    }
    if (fuse_scalar(f, t, &ret->c[0][0]))
        return isfinite(ret->c[0][0]);
    const struct ir_node *n = depth < DEPTH && f->steps++ < STEPS ? fuse_maker(f, t) : NULL;
    enum dtype type = f->g->tensors.at[t].desc.type;
    if (!n || n->n_in < 1 || n->in[0] == IR_NONE || !(dtype_is_float(type) || dtype_is_fixed(type)))
        return false;
    fuse_mark(f, n);
    if (!evaluate(f, n->in[0], atoms, depth + 1, &a))
        return false;
    if (fuse_retypes(n))
        *ret = a;
    else if (n->op->id == OP_ElementWiseNeg)
        combine(&zero, &a, -1, ret);
    else
        return n->n_in == 2 && evaluate(f, n->in[1], atoms, depth + 1, &b) && operate(n->op->id, &a, &b, ret);
    return true;
}

bool fuse_poly(struct fuse *f, uint32_t t, uint32_t x, uint32_t v, struct fuse_poly *ret)
{
    f->steps = 0;
    return evaluate(f, t, (const uint32_t[]){x, v}, 0, ret);
}
