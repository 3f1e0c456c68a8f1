/* SPDX-License-Identifier: Apache-2.0 */
/* LSTM, GRU and RNN step by step, for what QNN's layers do not have: other activations, clipped inputs, coupled gates,
 * sequences of different lengths. The products with the input are one FullyConnected for all steps; each step adds the
 * product with the last hidden state.
 *
 *     gates of x   [steps * batch, gates * hidden] = x W' + Wb
 *     gates of h   [batch, gates * hidden] = h R' + Rb
 */
#include <math.h>
#include <string.h>

#include "convert/onnx/onnx.h"

#define ADD "ElementWiseAdd"
#define SUB "ElementWiseSubtract"
#define MUL "ElementWiseMultiply"

enum { STEPS_MAX = 2048, GATES = 4 };

struct function {
    const char *name;
    double alpha, beta;
};

static const struct {
    const char *name, *op; /* op: one node without parameters */
    bool takes_alpha, takes_beta;
    double alpha, beta;
} functions[] = {
    {"Sigmoid", "Sigmoid", 0, 0, 0, 0},   {"Tanh", "Tanh", 0, 0, 0, 0},          {"Relu", "Relu", 0, 0, 0, 0},
    {"Softplus", "ElementWiseSoftplus", 0, 0, 0, 0}, {"Softsign", NULL, 0, 0, 0, 0}, {"LeakyRelu", NULL, 1, 0, 0.01, 0},
    {"ThresholdedRelu", NULL, 1, 0, 1, 0}, {"Elu", NULL, 1, 0, 1, 0},             {"HardSigmoid", NULL, 1, 1, 0.2, 0.5},
    {"ScaledTanh", NULL, 1, 1, 1, 1},      {"Affine", NULL, 1, 1, 1, 0},
};

struct unroll {
    struct onnx_cx *cx;
    const struct onnx_node *n;
    struct onnx_value *x, *w, *r, *b, *lens, *h0, *c0, *p;
    uint32_t gates, directions, hidden, steps, batch, in;
    bool batch_first, lstm, gru;
    double clip;
    struct function f[6]; /* of all directions */
    uint32_t per_direction;
};

/* One direction while it runs. */
struct lane {
    uint32_t gx, r, rb, r_last, rb_last, p[3]; /* r_last: the rows of the last gate, for a GRU that resets first */
    uint32_t h, c;
    const struct function *f;
};

/* ---- arithmetic --------------------------------------------------------------------------------------------------- */

static enum status binary(struct unroll *u, const char *op, uint32_t a, uint32_t b, uint32_t *ret)
{
    struct onnx_cx *cx = u->cx;
    return build_binary(B, op, onnx_name(cx, "step"), a, b, ret);
}

static enum status with(struct unroll *u, const char *op, uint32_t a, double k, bool first, uint32_t *ret)
{
    struct onnx_cx *cx = u->cx;
    enum dtype t = build_desc(B, a)->type;
    uint32_t c;
    TRY(build_scalar(B, onnx_name(cx, "k"), t == DT_F16 && cx->b.float16 ? DT_F32 : t, k, &c));
    return binary(u, op, first ? c : a, first ? a : c, ret);
}

static enum status unary(struct unroll *u, const char *op, uint32_t a, uint32_t *ret)
{
    struct onnx_cx *cx = u->cx;
    return build_unary(B, op, onnx_name(cx, "step"), a, ret);
}

static enum status select_where(struct unroll *u, uint32_t when, uint32_t a, uint32_t b, uint32_t *ret)
{
    struct onnx_cx *cx = u->cx;
    return build_node(
        B, &(struct build_spec){ .op = "ElementWiseSelect", .name = onnx_name(cx, "step"), BUILD_IN(when, a, b) }, ret);
}

static enum status slice(struct unroll *u, uint32_t x, uint32_t axis, uint32_t from, uint32_t count, uint32_t *ret)
{
    struct onnx_cx *cx = u->cx;
    const struct tensor_desc *d = build_desc(B, x);
    int32_t ranges[3 * MAX_RANK];
    for (uint32_t i = 0; i < d->rank; i++) {
        ranges[3 * i] = i == axis ? (int32_t)from : 0;
        ranges[3 * i + 1] = i == axis ? (int32_t)(from + count) : (int32_t)d->dims[i];
        ranges[3 * i + 2] = 1;
    }
    return build_node(B,
                      &(struct build_spec){ .op = "StridedSlice",
                                            .name = onnx_name(cx, "part"),
                                            BUILD_IN(x),
                                            .params = { BUILD_RANGES("ranges", d->rank, ranges) } },
                      ret);
}

static enum status connected(struct unroll *u, uint32_t x, uint32_t w, uint32_t b, uint32_t *ret)
{
    struct onnx_cx *cx = u->cx;
    return build_node(B, &(struct build_spec){ .op = "FullyConnected", .name = onnx_name(cx, "gates"), BUILD_IN(x, w, b) },
                      ret);
}

static enum status activate_by_parts(struct unroll *u, const struct function *f, uint32_t x, uint32_t *ret)
{
    struct onnx_cx *cx = u->cx;
    enum { HARD_SIGMOID = 2 };
    uint32_t t, y;
    if (!strcmp(f->name, "Elu"))
        return build_node(
            B,
            &(struct build_spec){
                .op = "Elu", .name = onnx_name(cx, "step"), BUILD_IN(x), .params = { BUILD_F32("alpha", f->alpha) } },
            ret);
    if (!strcmp(f->name, "HardSigmoid"))
        return build_node(B,
                          &(struct build_spec){ .op = "ElementWiseNeuron",
                                                .name = onnx_name(cx, "step"),
                                                BUILD_IN(x),
                                                .params = { BUILD_U32("operation", HARD_SIGMOID),
                                                            BUILD_F32("alpha", f->alpha), BUILD_F32("beta", f->beta) } },
                          ret);
    if (!strcmp(f->name, "Affine")) {
        TRY(with(u, MUL, x, f->alpha, false, &y));
        return with(u, ADD, y, f->beta, false, ret);
    }
    if (!strcmp(f->name, "ScaledTanh")) {
        TRY(with(u, MUL, x, f->beta, false, &y));
        TRY(unary(u, "Tanh", y, &y));
        return with(u, MUL, y, f->alpha, false, ret);
    }
    if (!strcmp(f->name, "Softsign")) {
        TRY(unary(u, "ElementWiseAbs", x, &t));
        TRY(with(u, ADD, t, 1, false, &t));
        return binary(u, "ElementWiseDivide", x, t, ret);
    }
    bool leaky = !strcmp(f->name, "LeakyRelu");
    TRY(with(u, MUL, x, leaky ? f->alpha : 0, false, &y));
    TRY(with(u, "ElementWiseGreater", x, leaky ? 0 : f->alpha, false, &t));
    return select_where(u, t, x, y, ret);
}

static enum status activate(struct unroll *u, const struct function *f, uint32_t x, uint32_t *ret)
{
    struct onnx_cx *cx = u->cx;
    if (u->clip > 0)
        TRY(build_node(
            B,
            &(struct build_spec){ .op = "ReluMinMax",
                                  .name = onnx_name(cx, "clip"),
                                  BUILD_IN(x),
                                  .params = { BUILD_F32("min_value", -u->clip), BUILD_F32("max_value", u->clip) } },
            &x));
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
        if (!strcmp(functions[i].name, f->name))
            return functions[i].op ? unary(u, functions[i].op, x, ret) : activate_by_parts(u, f, x, ret);
    REFUSE("activation %s is not known", f->name);
}

/* ---- reading ------------------------------------------------------------------------------------------------------ */

static enum status read_functions(struct unroll *u)
{
    static const char *const usual_lstm[] = { "Sigmoid", "Tanh", "Tanh" }, *const usual_gru[] = { "Sigmoid", "Tanh" },
                             *const usual_rnn[] = { "Tanh" };
    const char *const *usual = u->lstm ? usual_lstm : u->gru ? usual_gru : usual_rnn;
    struct onnx_cx *cx = u->cx;
    const struct onnx_attr *list = onnx_attr(cx, u->n, "activations"), *alpha = onnx_attr(cx, u->n, "activation_alpha"),
                           *beta = onnx_attr(cx, u->n, "activation_beta");
    uint32_t used_alpha = 0, used_beta = 0;
    u->per_direction = u->lstm ? 3 : u->gru ? 2 : 1;
    for (uint32_t i = 0; i < u->per_direction * u->directions; i++) {
        struct function *f = &u->f[i];
        size_t k = 0;
        f->name = list && i < list->n_strings ? list->strings[i] : usual[i % u->per_direction];
        while (k < sizeof(functions) / sizeof(functions[0]) && strcasecmp(functions[k].name, f->name) != 0)
            k++;
        REFUSE_WHEN(k == sizeof(functions) / sizeof(functions[0]), "activation %u is %s, which is not known", i, f->name);
        f->name = functions[k].name;
        f->alpha = functions[k].alpha;
        f->beta = functions[k].beta;
        if (functions[k].takes_alpha && alpha && used_alpha < alpha->n_floats)
            f->alpha = alpha->floats[used_alpha++];
        if (functions[k].takes_beta && beta && used_beta < beta->n_floats)
            f->beta = beta->floats[used_beta++];
    }
    return ST_OK;
}

static enum status read_layer(struct unroll *u)
{
    static const uint8_t swap[3] = {1, 0, 2};
    struct onnx_cx *cx = u->cx;
    const struct onnx_node *n = u->n;
    u->lstm = !strcmp(n->op, "LSTM");
    u->gru = !strcmp(n->op, "GRU");
    u->gates = u->lstm ? 4 : u->gru ? 3 : 1;
    u->batch_first = onnx_attr_int(cx, n, "layout", 0);
    u->clip = onnx_attr_float(cx, n, "clip", 0);
    TRY(onnx_in(cx, n, 0, &u->x));
    TRY(onnx_in(cx, n, 1, &u->w));
    TRY(onnx_in(cx, n, 2, &u->r));
    TRY(onnx_in_opt(cx, n, 3, &u->b));
    TRY(onnx_in_opt(cx, n, 4, &u->lens));
    TRY(onnx_in_opt(cx, n, 5, &u->h0));
    if (u->lstm) {
        TRY(onnx_in_opt(cx, n, 6, &u->c0));
        TRY(onnx_in_opt(cx, n, 7, &u->p));
    }
    IMPOSSIBLE_WHEN(u->x->rank != 3 || u->w->rank != 3 || u->r->rank != 3,
                    "the input has rank %u, the weights %u and %u; 3 is expected", u->x->rank, u->w->rank, u->r->rank);
    u->directions = u->w->dims[0];
    u->hidden = u->r->dims[2];
    u->steps = u->x->dims[u->batch_first];
    u->batch = u->x->dims[!u->batch_first];
    RETURN_IF(u->directions < 1 || u->directions > 2 || u->w->dims[1] != u->gates * u->hidden ||
                  u->r->dims[1] != u->w->dims[1] || u->r->dims[0] != u->directions,
              ST_INVALID_OP, "the weights have the wrong shape");
    REFUSE_WHEN(u->steps > STEPS_MAX, "%u steps, one by one; at most %d are supported", u->steps, STEPS_MAX);
    TRY(onnx_tensor(cx, u->x, u->batch_first ? swap : NULL, &u->in));
    return read_functions(u);
}

/* Direction d of [directions, …] as a matrix or vector. */
static enum status direction_of(struct unroll *u, struct onnx_value *v, uint32_t d, uint32_t rank, uint32_t *ret)
{
    struct onnx_cx *cx = u->cx;
    uint32_t t;
    TRY(onnx_tensor(cx, v, NULL, &t));
    if (v->dims[0] > 1)
        TRY(slice(u, t, 0, d, 1, &t));
    return build_reshape(B, onnx_name(cx, "direction"), t, rank, v->dims + 1, ret);
}

static enum status initial(struct unroll *u, struct onnx_value *v, uint32_t d, uint32_t *ret)
{
    static const uint8_t swap[3] = {1, 0, 2};
    struct onnx_cx *cx = u->cx;
    uint32_t dims[2] = {u->batch, u->hidden}, t;
    if (!v) {
        struct tensor_desc z = {.type = onnx_inner_type(u->x->type), .rank = 2, .dims = {u->batch, u->hidden}};
        TRY(desc_check(&z, "zeros"));
        TRY(onnx_charge(cx, "zeros", desc_bytes(&z), 1));
        void *zeros = arena_alloc(&cx->b.g->arena, desc_bytes(&z));
        RETURN_IF(!zeros, ST_NO_MEMORY, "no memory for a state");
        return build_const(B, onnx_name(cx, "zero"), &z, zeros, true, ret);
    }
    RETURN_IF(v->rank != 3 || onnx_count(v) != (uint64_t)u->directions * u->batch * u->hidden, ST_INVALID_OP,
              "an initial state has the wrong shape");
    TRY(onnx_tensor(cx, v, u->batch_first ? swap : NULL, &t));
    if (u->directions > 1)
        TRY(slice(u, t, 0, d, 1, &t));
    return build_reshape(B, onnx_name(cx, "initial"), t, 2, dims, ret);
}

static enum status open_lane(struct unroll *u, uint32_t d, struct lane *l)
{
    struct onnx_cx *cx = u->cx;
    uint32_t w, wb = IR_NONE, b, x, all = u->gates * u->hidden, flat[2] = {u->steps * u->batch, u->x->dims[2]};
    *l = (struct lane){
        .rb = IR_NONE, .rb_last = IR_NONE, .p = { IR_NONE, IR_NONE, IR_NONE }, .f = &u->f[d * u->per_direction]
    };
    TRY(direction_of(u, u->w, d, 2, &w));
    TRY(direction_of(u, u->r, d, 2, &l->r));
    if (u->b) {
        RETURN_IF(u->b->rank != 2 || u->b->dims[1] != 2 * all || u->b->dims[0] != u->directions, ST_INVALID_OP,
                  "the bias has the wrong shape");
        TRY(direction_of(u, u->b, d, 1, &b));
        TRY(slice(u, b, 0, 0, all, &wb));
        TRY(slice(u, b, 0, all, all, &l->rb));
    }
    TRY(build_reshape(B, onnx_name(cx, "rows"), u->in, 2, flat, &x));
    TRY(connected(u, x, w, wb, &l->gx));
    if (u->gru) {
        TRY(slice(u, l->r, 0, 2 * u->hidden, u->hidden, &l->r_last));
        if (l->rb != IR_NONE)
            TRY(slice(u, l->rb, 0, 2 * u->hidden, u->hidden, &l->rb_last));
    }
    for (uint32_t i = 0; u->p && i < 3; i++) {
        TRY(direction_of(u, u->p, d, 1, &b));
        TRY(slice(u, b, 0, i * u->hidden, u->hidden, &l->p[i]));
    }
    TRY(initial(u, u->h0, d, &l->h));
    return u->lstm ? initial(u, u->c0, d, &l->c) : ST_OK;
}

/* ---- one step ----------------------------------------------------------------------------------------------------- */

static enum status gate(struct unroll *u, uint32_t all, uint32_t i, uint32_t *ret)
{
    return slice(u, all, 1, i * u->hidden, u->hidden, ret);
}

static enum status peep(struct unroll *u, uint32_t x, uint32_t p, uint32_t c, uint32_t *ret)
{
    *ret = x;
    if (p == IR_NONE)
        return ST_OK;
    TRY(binary(u, MUL, c, p, &c));
    return binary(u, ADD, x, c, ret);
}

static enum status lstm_step(struct unroll *u, struct lane *l, uint32_t gx, uint32_t gh, uint32_t *h, uint32_t *c)
{
    struct onnx_cx *cx = u->cx;
    uint32_t sum, i, o, f, t, a;
    TRY(binary(u, ADD, gx, gh, &sum));
    TRY(gate(u, sum, 0, &i));
    TRY(peep(u, i, l->p[0], l->c, &i));
    TRY(activate(u, &l->f[0], i, &i));
    if (onnx_attr_int(cx, u->n, "input_forget", 0)) {
        TRY(with(u, SUB, i, 1, true, &f));
    } else {
        TRY(gate(u, sum, 2, &f));
        TRY(peep(u, f, l->p[2], l->c, &f));
        TRY(activate(u, &l->f[0], f, &f));
    }
    TRY(gate(u, sum, 3, &t));
    TRY(activate(u, &l->f[1], t, &t));
    TRY(binary(u, MUL, f, l->c, &a));
    TRY(binary(u, MUL, i, t, &t));
    TRY(binary(u, ADD, a, t, c));
    TRY(gate(u, sum, 1, &o));
    TRY(peep(u, o, l->p[1], *c, &o));
    TRY(activate(u, &l->f[0], o, &o));
    double clip = u->clip; /* the cell's way out is not clipped */
    u->clip = 0;
    TRY(activate(u, &l->f[2], *c, &t));
    u->clip = clip;
    return binary(u, MUL, o, t, h);
}

static enum status gru_step(struct unroll *u, struct lane *l, uint32_t gx, uint32_t gh, uint32_t *h)
{
    struct onnx_cx *cx = u->cx;
    uint32_t sum, z, r, n, t;
    TRY(binary(u, ADD, gx, gh, &sum));
    TRY(gate(u, sum, 0, &z));
    TRY(activate(u, &l->f[0], z, &z));
    TRY(gate(u, sum, 1, &r));
    TRY(activate(u, &l->f[0], r, &r));
    if (onnx_attr_int(cx, u->n, "linear_before_reset", 0)) {
        TRY(gate(u, gh, 2, &t));
        TRY(binary(u, MUL, r, t, &t));
    } else {
        TRY(binary(u, MUL, r, l->h, &t));
        TRY(connected(u, t, l->r_last, l->rb_last, &t));
    }
    TRY(gate(u, gx, 2, &n));
    TRY(binary(u, ADD, n, t, &n));
    TRY(activate(u, &l->f[1], n, &n));
    TRY(with(u, SUB, z, 1, true, &t));
    TRY(binary(u, MUL, t, n, &n));
    TRY(binary(u, MUL, z, l->h, &t));
    return binary(u, ADD, n, t, h);
}

/* Is step t inside the sequence? [batch, 1]; IR_NONE: always. */
static enum status inside(struct unroll *u, uint32_t t, uint32_t *ret)
{
    struct onnx_cx *cx = u->cx;
    uint32_t lens, at, dims[2] = {u->batch, 1};
    *ret = IR_NONE;
    if (!u->lens)
        return ST_OK;
    RETURN_IF(onnx_count(u->lens) != u->batch, ST_INVALID_OP, "\"sequence_lens\" has %llu entries for a batch of %u",
              (unsigned long long)onnx_count(u->lens), u->batch);
    TRY(onnx_tensor(cx, u->lens, NULL, &lens));
    TRY(onnx_cast(cx, "lengths", lens, DT_I32, &lens));
    TRY(build_reshape(B, onnx_name(cx, "column"), lens, 2, dims, &lens));
    TRY(build_scalar(B, onnx_name(cx, "now"), DT_I32, t, &at));
    return binary(u, "ElementWiseLess", at, lens, ret);
}

static enum status one_step(struct unroll *u, struct lane *l, uint32_t t, uint32_t *y)
{
    uint32_t gx, gh, h, c = IR_NONE, valid, zero;
    TRY(slice(u, l->gx, 0, t * u->batch, u->batch, &gx));
    TRY(connected(u, l->h, l->r, l->rb, &gh));
    if (u->lstm) {
        TRY(lstm_step(u, l, gx, gh, &h, &c));
    } else if (u->gru) {
        TRY(gru_step(u, l, gx, gh, &h));
    } else {
        TRY(binary(u, ADD, gx, gh, &h));
        TRY(activate(u, &l->f[0], h, &h));
    }
    *y = h;
    TRY(inside(u, t, &valid));
    if (valid != IR_NONE) {
        TRY(with(u, MUL, h, 0, false, &zero));
        TRY(select_where(u, valid, h, zero, y));
        TRY(select_where(u, valid, h, l->h, &h));
        if (u->lstm)
            TRY(select_where(u, valid, c, l->c, &c));
    }
    l->h = h;
    l->c = c;
    return ST_OK;
}

/* ---- all of it ---------------------------------------------------------------------------------------------------- */

/* Tensors of [1, …] joined along the first dimension, as many at a time as a node takes. */
static enum status join(struct unroll *u, uint32_t *t, uint32_t n, uint32_t axis, uint32_t *ret)
{
    struct onnx_cx *cx = u->cx;
    while (n > 1) {
        uint32_t k = 0;
        for (uint32_t from = 0; from < n; from += MAX_PORTS) {
            uint32_t count = n - from < MAX_PORTS ? n - from : MAX_PORTS, y = t[from];
            if (count > 1)
                TRY(build_node(B,
                               &(struct build_spec){ .op = "Concat",
                                                     .name = onnx_name(cx, "join"),
                                                     .in = t + from,
                                                     .n_in = count,
                                                     .params = { BUILD_U32("axis", axis) } },
                               &y));
            t[k++] = y;
        }
        n = k;
    }
    *ret = t[0];
    return ST_OK;
}

static enum status run_lane(struct unroll *u, uint32_t d, uint32_t *all, uint32_t *h, uint32_t *c)
{
    struct onnx_cx *cx = u->cx;
    struct lane l;
    bool reverse = d == 1 || !strcmp(onnx_attr_text(cx, u->n, "direction", "forward"), "reverse");
    uint32_t *y = arena_array(&cx->arena, uint32_t, u->steps), dims[4] = { 1, 1, u->batch, u->hidden },
             last[3] = { 1, u->batch, u->hidden };
    RETURN_IF(!y, ST_NO_MEMORY, "no memory for steps");
    TRY(open_lane(u, d, &l));
    for (uint32_t i = 0; i < u->steps; i++) {
        uint32_t t = reverse ? u->steps - 1 - i : i;
        TRY(one_step(u, &l, t, &y[t]));
        TRY(build_reshape(B, onnx_name(cx, "output"), y[t], 4, dims, &y[t]));
    }
    TRY(join(u, y, u->steps, 0, all));
    TRY(build_reshape(B, onnx_name(cx, "last"), l.h, 3, last, h));
    return u->lstm ? build_reshape(B, onnx_name(cx, "last"), l.c, 3, last, c) : ST_OK;
}

enum status onnx_unroll(struct onnx_cx *cx, const struct onnx_node *n)
{
    static const uint8_t swap3[3] = { 1, 0, 2 },
                         swap4[4] = { 1, 2, 0, 3 }; /* how the tensor lies against the source with the batch first */
    struct unroll u = {.cx = cx, .n = n};
    uint32_t all[2], h[2], c[2], y;
    TRY(read_layer(&u));
    for (uint32_t d = 0; d < u.directions; d++)
        TRY(run_lane(&u, d, &all[d], &h[d], &c[d]));
    TRY(join(&u, all, u.directions, 1, &y));
    TRY(onnx_out(cx, n, 0, y, u.batch_first ? swap4 : NULL));
    TRY(join(&u, h, u.directions, 0, &y));
    TRY(onnx_out(cx, n, 1, y, u.batch_first ? swap3 : NULL));
    if (!u.lstm)
        return ST_OK;
    TRY(join(&u, c, u.directions, 0, &y));
    return onnx_out(cx, n, 2, y, u.batch_first ? swap3 : NULL);
}
