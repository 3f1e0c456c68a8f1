/* SPDX-License-Identifier: Apache-2.0 */
/* Operators whose meaning the standard gives as other operators, with shapes in it: they are written out as text once the
 * shapes are known (onnx_expand.c says how the text is read), and each piece is converted as if the exporter had
 * written it. */
#include <math.h>
#include <string.h>

#include "convert/onnx/onnx.h"

/* What was written becomes nodes. */
static enum status finish(struct onnx_cx *cx, const struct onnx_node *n, struct str *s)
{
    enum status st = s->failed ? status_fail(ST_NO_MEMORY, "no memory to write out \"%s\"", cx->label)
                               : onnx_write_out(cx, n, str_text(s));
    str_finish(s);
    return st;
}

/* ---- a convolution that looks back --------------------------------------------------------------------------------- */

static enum status convert_causal_conv(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct onnx_value *x, *w;
    struct str s;
    TRY(onnx_in(cx, n, 0, &x));
    TRY(onnx_in(cx, n, 1, &w));
    REFUSE_WHEN(x->rank != 3 || w->rank != 3, "input and weights have ranks %u and %u; 3 is expected of both", x->rank,
                w->rank);
    uint32_t past = w->dims[2] ? w->dims[2] - 1 : 0;
    const char *activation = onnx_attr_text(cx, n, "activation", "none");
    bool silu = !strcmp(activation, "silu") || !strcmp(activation, "swish");
    REFUSE_WHEN(!silu && strcmp(activation, "none") != 0, "the activation is \"%s\"; none, silu and swish are known",
                activation);
    str_init(&s);
    if (past)
        str_addf(&s, "?3 a = Concat[axis=2](#3, #0); !3 a = Pad(#0, {0,0,%u,0,0,0}); ", past);
    else
        str_add(&s, "a = Identity(#0); ");
    str_addf(&s, "c = Conv[group=%u](a, #1, #2); %s @1 = Slice(a, {%u}, {2147483647}, {2})", x->dims[1],
             silu ? "g = Sigmoid(c); @0 = Mul(c, g);" : "@0 = Identity(c);", x->dims[2]);
    return finish(cx, n, &s);
}

/* ---- attention with a state in place of a cache -------------------------------------------------------------------- */

struct linear {
    uint32_t batch, steps, heads, group, keys, values; /* heads of keys and values; query heads for each */
    bool gated, delta;
    uint32_t decay, beta; /* how many of them per head of keys, and per step */
    float scale;
};

static enum status read_linear(struct onnx_cx *cx, const struct onnx_node *n, struct linear *l)
{
    struct onnx_value *q, *k, *v, *decay, *beta;
    int64_t all = onnx_attr_int(cx, n, "q_num_heads", 0), heads = onnx_attr_int(cx, n, "kv_num_heads", 0);
    const char *rule = onnx_attr_text(cx, n, "update_rule", "gated_delta");
    enum { NODES = 20 }; /* of a step, at most */
    TRY(onnx_in(cx, n, 0, &q));
    TRY(onnx_in(cx, n, 1, &k));
    TRY(onnx_in(cx, n, 2, &v));
    TRY(onnx_in_opt(cx, n, 4, &decay));
    TRY(onnx_in_opt(cx, n, 5, &beta));
    REFUSE_WHEN(q->rank != 3 || v->rank != 3, "query and value have ranks %u and %u; 3 is expected of both", q->rank,
                v->rank);
    RETURN_IF(heads < 1 || all < 1 || all % heads || q->dims[2] % all || v->dims[2] % heads, ST_INVALID_OP,
              "%lld query heads and %lld heads of keys for rows of %u and %u elements; each must divide the one before it",
              (long long)all, (long long)heads, q->dims[2], v->dims[2]);
    if (q->dims[1] <= ONNX_MAX_TURNS)
        cx->unrolled += (uint64_t)q->dims[1] * NODES;
    REFUSE_WHEN(q->dims[1] > ONNX_MAX_TURNS || cx->unrolled > ONNX_MAX_UNROLLED,
                "a sequence of %u steps; at most %d, and %d nodes in all loops, are written out", q->dims[1], ONNX_MAX_TURNS,
                ONNX_MAX_UNROLLED);
    l->gated = !strncmp(rule, "gated", 5);
    l->delta = strstr(rule, "delta") != NULL;
    RETURN_IF((l->gated && !decay) || (l->delta && !beta), ST_INVALID_OP, "rule \"%s\" without its %s", rule,
              l->gated && !decay ? "decay" : "beta");
    l->batch = q->dims[0];
    l->steps = q->dims[1];
    l->heads = (uint32_t)heads;
    l->group = (uint32_t)(all / heads);
    l->keys = q->dims[2] / (uint32_t)all;
    l->values = v->dims[2] / l->heads;
    RETURN_IF(k->rank != 3 || k->dims[2] != l->heads * l->keys, ST_INVALID_OP,
              "keys of rank %u with rows of %u elements; 3 and %u heads of %u are expected", k->rank,
              k->rank == 3 ? k->dims[2] : 0, l->heads, l->keys);
    l->decay = decay && decay->rank == 3 ? decay->dims[2] / l->heads : 1;
    l->beta = beta && beta->rank == 3 ? beta->dims[2] : 1;
    float scale = onnx_attr_float(cx, n, "scale", 0);
    l->scale = scale != 0 ? scale : 1 / sqrtf((float)l->keys);
    return ST_OK;
}

/* Everything in float32 and by step: [step, batch, heads, rows, columns]. */
static void write_linear_inputs(struct str *s, const struct linear *l)
{
    const char *shape =
        "%s0 = Cast[to=1](#%u); %s1 = Reshape(%s0, {%u,%u,%u,%u,%u}); %s = Transpose[perm=(1,0,2,3,4)](%s1); ";
    str_addf(s, shape, "q", 0, "q", "q", l->batch, l->steps, l->heads, l->group, l->keys, "q", "q");
    str_addf(s, shape, "k", 1, "k", "k", l->batch, l->steps, l->heads, l->keys, 1, "k", "k");
    str_addf(s, shape, "v", 2, "v", "v", l->batch, l->steps, l->heads, 1, l->values, "v", "v");
    if (l->gated) {
        str_addf(s, shape, "d", 4, "d", "d", l->batch, l->steps, l->heads, l->decay, 1, "d", "d");
        str_add(s, "e = Exp(d); ");
    }
    if (l->delta)
        str_addf(s, shape, "b", 5, "b", "b", l->batch, l->steps, l->beta, 1, 1, "b", "b");
    str_addf(s,
             "f = Constant[value_float=%.12f](); ?3 s0 = Cast[to=1](#3); !3 z = ConstantOfShape({%u,%u,%u,%u}); !3 s0 = "
             "Identity(z); ",
             l->scale, l->batch, l->heads, l->keys, l->values);
}

/* state = decay * state; what the state gives for the key is taken from the value; state += key x value; result = query of
 * it */
static void write_linear_step(struct str *s, const struct linear *l, uint32_t t)
{
    str_addf(s,
             "q_%u = Gather[axis=0](q, {%u}); qs_%u = Squeeze[axes=(0)](q_%u); k_%u = Gather[axis=0](k, {%u}); ks_%u = "
             "Squeeze[axes=(0)](k_%u); "
             "v_%u = Gather[axis=0](v, {%u}); vs_%u = Squeeze[axes=(0)](v_%u); ",
             t, t, t, t, t, t, t, t, t, t, t, t);
    if (l->gated)
        str_addf(s, "e_%u = Gather[axis=0](e, {%u}); es_%u = Squeeze[axes=(0)](e_%u); g_%u = Mul(s%u, es_%u); ", t, t, t, t,
                 t, t, t);
    else
        str_addf(s, "g_%u = Identity(s%u); ", t, t);
    if (l->delta)
        str_addf(s,
                 "b_%u = Gather[axis=0](b, {%u}); bs_%u = Squeeze[axes=(0)](b_%u); kt_%u = "
                 "Transpose[perm=(0,1,3,2)](ks_%u); r_%u = MatMul(kt_%u, g_%u); "
                 "u_%u = Sub(vs_%u, r_%u); w_%u = Mul(bs_%u, u_%u); ",
                 t, t, t, t, t, t, t, t, t, t, t, t, t, t, t);
    else
        str_addf(s, "w_%u = Identity(vs_%u); ", t, t);
    str_addf(s,
             "p_%u = Mul(ks_%u, w_%u); s%u = Add(g_%u, p_%u); m_%u = MatMul(qs_%u, s%u); o_%u = Reshape(m_%u, {%u,1,%u}); ",
             t, t, t, t + 1, t, t, t, t, t + 1, t, t, l->batch, l->heads * l->group * l->values);
}

static enum status convert_linear_attention(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct linear l = {0};
    struct str s;
    TRY(read_linear(cx, n, &l));
    str_init(&s);
    write_linear_inputs(&s, &l);
    for (uint32_t t = 0; t < l.steps; t++)
        write_linear_step(&s, &l, t);
    str_add(&s, "y = Concat[axis=1](o_0");
    for (uint32_t t = 1; t < l.steps; t++)
        str_addf(&s, ", o_%u", t);
    str_addf(&s, "); x = Mul(y, f); @0 = CastLike(x, #0); ?3 @1 = CastLike(s%u, #3); !3 @1 = CastLike(s%u, #0)", l.steps,
             l.steps);
    return finish(cx, n, &s);
}

/* ---- attention with graphs inside ---------------------------------------------------------------------------------- */

static enum status convert_flex_attention(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct onnx_value *q, *k, *v;
    struct str s;
    TRY(onnx_in(cx, n, 0, &q));
    TRY(onnx_in(cx, n, 1, &k));
    TRY(onnx_in(cx, n, 2, &v));
    REFUSE_WHEN(q->rank != 4 || k->rank != 4 || v->rank != 4, "the inputs have ranks %u, %u and %u; 4 is expected", q->rank,
                k->rank, v->rank);
    RETURN_IF(!k->dims[1] || q->dims[1] % k->dims[1], ST_INVALID_OP,
              "%u heads of queries for %u of keys, which do not divide them", q->dims[1], k->dims[1]);
    uint32_t group = q->dims[1] / k->dims[1];
    const struct onnx_attr *scale = onnx_attr(cx, n, "scale");
    str_init(&s);
    str_add(&s, "q = Cast[to=1](#0); k = Cast[to=1](#1); v = Cast[to=1](#2); ");
    for (uint32_t i = 0; i < 2 && group > 1; i++) { /* every head of keys and values once per query that it serves */
        const struct onnx_value *of = i ? v : k;
        char c = i ? 'v' : 'k';
        str_addf(&s, "%ca = Unsqueeze[axes=(2)](%c); %cb = Expand(%ca, {1,1,%u,1,1}); %cr = Reshape(%cb, {%u,%u,%u,%u}); ",
                 c, c, c, c, group, c, c, of->dims[0], q->dims[1], of->dims[2], of->dims[3]);
    }
    const char *r = group > 1 ? "r" : "";
    str_addf(&s,
             "t = Transpose[perm=(0,1,3,2)](k%s); m = MatMul(q, t); f = Constant[value_float=%.12f](); a = Mul(m, f); "
             "?score_mod b = CallBody[body=$score_mod](a); "
             "!score_mod b = Identity(a); p = Softmax[axis=-1](b); ?prob_mod o = CallBody[body=$prob_mod](p); !prob_mod o = "
             "Identity(p); y = MatMul(o, v%s); "
             "@0 = CastLike(y, #0)",
             r, scale ? scale->f : 1 / sqrtf((float)q->dims[3]), r);
    return finish(cx, n, &s);
}

const struct onnx_row onnx_rows_written[] = {
    {"CausalConvWithState", 0, convert_causal_conv, NULL},
    {"LinearAttention", ONNX_RETYPES, convert_linear_attention, NULL},
    {"FlexAttention", ONNX_RETYPES, convert_flex_attention, NULL},
    {0},
};
