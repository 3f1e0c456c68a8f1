/* SPDX-License-Identifier: Apache-2.0 */
/* What the patterns (fuse_*.c) are written with: looking through a graph, remembering what a match covers, putting one node
 * in its place. Private to convert/.
 *
 * A pattern looks at one node, follows makers down and the only reader up, and marks every node on the way. fuse_replace
 * puts one operator where the topmost node is, but only when nothing outside reads what the marked nodes make and the
 * operator's own rule takes the tensors. */
#ifndef CONVERT_FUSE_H
#define CONVERT_FUSE_H

#include "convert/builder.h"

enum { FUSE_SEEN = 48 };

struct fuse {
    struct ir_graph *g;
    struct arena arena;
    struct ir_uses u;
    bool approximate;        /* operators that differ by up to 5e-4 may stand for each other */
    uint32_t seen[FUSE_SEEN]; /* nodes of the match in progress */
    uint32_t steps;           /* of the polynomial in progress */
    uint32_t n_seen;          /* more than FUSE_SEEN: too many, the match fails */
};

/* A pattern: try to match at node k, and say whether the graph was changed. */
typedef enum status fuse_pattern(struct fuse *f, uint32_t k, bool *done);
fuse_pattern fuse_activation, fuse_norm, fuse_softmax;

const struct ir_node *fuse_maker(struct fuse *f, uint32_t t);  /* not marked; NULL: none */
const struct ir_node *fuse_follow(struct fuse *f, uint32_t t); /* the maker, marked, past nodes that only change the type */
/* The only node that reads t; NULL: none, several, or t leaves the graph. */
const struct ir_node *fuse_reader(struct fuse *f, uint32_t t);
uint32_t fuse_index(const struct fuse *f, const struct ir_node *n);
void fuse_mark(struct fuse *f, const struct ir_node *n);
bool fuse_retypes(const struct ir_node *n); /* Quantize, Dequantize, Convert, Cast: the same number in another type */
bool fuse_scalar(const struct fuse *f, uint32_t t, double *ret); /* a constant of one element, as a real number */
/* Integers of a parameter, -1 past its end. */
int64_t fuse_param(const struct fuse *f, const struct ir_node *n, const char *name, uint32_t at);

/* t as c[0][i] x^i + c[1][i] x^i v. Nodes on the way are marked; false: it is something else. v may be IR_NONE. */
struct fuse_poly {
    double c[2][4];
};
bool fuse_poly(struct fuse *f, uint32_t t, uint32_t x, uint32_t v, struct fuse_poly *ret);
bool fuse_near(double a, double b, double tolerance); /* relative, and absolute a thousandth of it */
bool fuse_same_poly(const struct fuse_poly *a, const struct fuse_poly *b, double tolerance);
/* How far constants may be from what they stand for: those of narrow types are rounded. */
double fuse_tolerance(const struct fuse *f, uint32_t x);

/* One node instead of all marked ones, at the place of `top`, which keeps its name and output. *done stays false when that
 * is not possible. */
enum status fuse_replace(struct fuse *f, const struct ir_node *top, const char *op, const uint32_t *in, uint32_t n_in,
                         const struct build_param *params, bool *done);

#endif
