/* SPDX-License-Identifier: Apache-2.0 */
/* What the front ends build graphs with: constants, nodes whose outputs follow from the operator's rule, names that are
 * unique C identifiers, and transposes that are made once and cancel. Private to convert/.
 *
 *     uint32_t y;
 *     TRY(build_node(b, &(struct build_spec){ .op = "Conv2d", .name = "conv1", BUILD_IN(x, w, bias),
 *                       .params = { BUILD_U32S("stride", 2, stride), BUILD_PAIRS("pad_amount", 2, pads),
 *                                   BUILD_U32("group", 1) } }, &y));
 *
 * Everything refused leaves the graph as it was and its explanation in status_text(). */
#ifndef CONVERT_BUILDER_H
#define CONVERT_BUILDER_H

#include "convert/convert.h"

/* dst = transpose(src, perm) is in the graph. */
struct build_view {
    uint32_t src, dst;
    uint8_t perm[MAX_RANK];
};

struct builder {
    struct ir_graph *g;
    struct convert_report *report; /* params and macs are counted there, may be NULL */
    bool float16;                  /* f32 tensors become f16 */
    bool fold;                     /* small computations with integers are done on the spot (builder_fold.c) */
    const char *source;            /* of nodes that are built now, see build_source */
    const struct convert_opts *opts; /* whom to tell that bytes of the file were copied; may be NULL */
    struct {                       /* names in use: 't' and 'n' in front say tensor and node */
        struct build_name {
            const char *name;
            uint32_t next; /* the numbers below are taken: name_1, name_2, … */
        } *slots;
        size_t cap, n;
    } names;
    VEC(struct build_view) views;
    VEC(uint32_t) view_of; /* per tensor: the view that made it, +1; 0: none */
    VEC(uint32_t) made_by; /* per tensor: node + 1; 0: none */
};

enum status build_init(struct builder *b, const char *graph_name, struct convert_report *report); /* creates b->g */
void build_finish(struct builder *b); /* frees b->g too, unless it was taken */

/* ---- parameters and nodes ---------------------------------------------------------------------------------------- */

struct build_param {
    const char *name; /* NULL: ends the list; "": left out, so that optional parameters can be written in place */
    struct op_value v;
};

#define BUILD_U32(n, x) { n, { .type = DT_U32, .count = 1, .data = (uint32_t[]){ (uint32_t)(x) } } }
#define BUILD_I32(n, x) { n, { .type = DT_I32, .count = 1, .data = (int32_t[]){ (int32_t)(x) } } }
#define BUILD_F32(n, x) { n, { .type = DT_F32, .count = 1, .data = (float[]){ (float)(x) } } }
#define BUILD_B8(n, x) { n, { .type = DT_B8, .count = 1, .data = (uint8_t[]){ (x) ? 1 : 0 } } }
#define BUILD_U32S(n, k, p) { n, { .type = DT_U32, .rank = 1, .dims = { (k) }, .count = (k), .data = (p) } }
#define BUILD_I32S(n, k, p) { n, { .type = DT_I32, .rank = 1, .dims = { (k) }, .count = (k), .data = (p) } }
#define BUILD_F32S(n, k, p) { n, { .type = DT_F32, .rank = 1, .dims = { (k) }, .count = (k), .data = (p) } }
#define BUILD_PAIRS(n, k, p) { n, { .type = DT_U32, .rank = 2, .dims = { (k), 2 }, .count = 2 * (k), .data = (p) } }
#define BUILD_RANGES(n, k, p) { n, { .type = DT_I32, .rank = 2, .dims = { (k), 3 }, .count = 3 * (k), .data = (p) } }

#define BUILD_IN(...) .in = (const uint32_t[]){ __VA_ARGS__ }, .n_in = sizeof((uint32_t[]){ __VA_ARGS__ }) / sizeof(uint32_t)

struct build_spec {
    const char *op, *name;
    const uint32_t *in; /* IR_NONE: absent; absent ones at the end are dropped */
    uint32_t n_in;
    uint32_t n_out;                /* 0: one */
    const struct tensor_desc *out; /* what the caller knows of the outputs, n_out entries: a type other than DT_NONE, a shape
                                    * where the rule asks for one; NULL: everything follows from the rule */
    struct build_param params[14];
};

/* ret[0 … n_out) are new tensors named after the node. Joins and splits may have any number of tensors (builder_wide.c).
 * Where spec->out has a type, the node was checked against it. */
enum status build_node(struct builder *b, const struct build_spec *spec, uint32_t *ret);

/* Nodes from now on are made from this operator of the model. */
void build_source(struct builder *b, const char *type, const char *name);
/* The operator became part of the node that makes `t`, or a view of it: it is one of its sources then. Call it when no node
 * was built. */
void build_absorbed(struct builder *b, uint32_t t);

/* Frequent forms. `type` of build_cast, build_reshape's dims: the output's. */
enum status build_unary(struct builder *b, const char *op, const char *name, uint32_t x, uint32_t *ret);
enum status build_binary(struct builder *b, const char *op, const char *name, uint32_t x, uint32_t y, uint32_t *ret);
/* x itself when it has the type. */
enum status build_cast(struct builder *b, const char *name, uint32_t x, enum dtype type, uint32_t *ret);
enum status build_reshape(struct builder *b, const char *name, uint32_t x, uint32_t rank, const uint32_t *dims,
                          uint32_t *ret); /* x itself when the
                                           * shape is the same */

/* ---- tensors ------------------------------------------------------------------------------------------------------ */

/* Descriptors are copied. Names become unique C identifiers. With float16, f32 becomes f16 (constants are converted, no
 * longer borrowed). */
enum status build_input(struct builder *b, const char *name, const struct tensor_desc *d, uint32_t *ret);
enum status build_const(struct builder *b, const char *name, const struct tensor_desc *d, const void *data, bool borrow,
                        uint32_t *ret);
enum status build_const_f32(struct builder *b, const char *name, uint32_t rank, const uint32_t *dims, const float *data,
                            uint32_t *ret);
enum status build_const_i32(struct builder *b, const char *name, uint32_t n, const int32_t *data, uint32_t *ret);
/* One number of the given type as a tensor of rank 0. Floats, integers and bool only. */
enum status build_scalar(struct builder *b, const char *name, enum dtype type, double value, uint32_t *ret);

/* The tensor becomes a graph output with this name. Inputs, constants and tensors that are outputs already get a copy
 * (Reshape). */
enum status build_output(struct builder *b, uint32_t t, const char *name, uint32_t *ret);
/* Give a native tensor the source's name; does nothing for other roles or without memory. */
void build_rename(struct builder *b, uint32_t t, const char *name);

struct tensor_desc *build_desc(struct builder *b, uint32_t t);
/* The bytes of a constant are not needed in the file any more (convert_opts.release). */
void build_release(const struct builder *b, const void *data, uint64_t size);
const void *build_data(const struct builder *b, uint32_t t); /* NULL: not a constant */
enum dtype build_plain(enum dtype t); /* the integer of the same storage for fixed point, others as they are */
enum dtype build_type(const struct builder *b, enum dtype t); /* f32 -> f16 when the graph is made in f16 */

/* ---- layout ------------------------------------------------------------------------------------------------------- */

/* Dimension i of the result is dimension perm[i] of t. Identity gives t back, a transpose of a transpose is one of the
 * source, an equal one is found again, and constants are transposed on the spot. */
enum status build_transpose(struct builder *b, const char *name, uint32_t t, const uint8_t *perm, uint32_t *ret);

bool perm_is_identity(const uint8_t *perm, uint32_t rank);
void perm_identity(uint8_t *perm, uint32_t rank);
void perm_channel_last(uint8_t *perm, uint32_t rank); /* source [n, c, spatial…] -> [n, spatial…, c]: 0, 2, …, rank - 1, 1 */
void perm_invert(const uint8_t *perm, uint32_t rank, uint8_t *ret);
/* second applied to the result of first. */
void perm_compose(const uint8_t *first, const uint8_t *second, uint32_t rank, uint8_t *ret);

/* Constant bytes moved; dims are those of src. 4-bit types are packed. */
void transpose_bytes(const struct tensor_desc *src, const void *from, const uint8_t *perm, void *to);

/* ---- report ------------------------------------------------------------------------------------------------------- */

enum status report_issue(struct convert_report *r, const char *node, const char *op, const char *reason,
                         const char *nearest);
enum status report_io(struct convert_report *r, const struct convert_io *io);

/* A double stored as `type`, and back. Floats, integers, bool. */
void number_put(enum dtype type, void *at, uint64_t i, double v);
double number_get(enum dtype type, const void *at, uint64_t i); /* `at` may be unaligned */
int64_t number_get_int(enum dtype type, const void *at, uint64_t i); /* exact for 64-bit integers */
uint16_t f16_from_f32(float x);
float f32_from_f16(uint16_t h);

#endif
