/* SPDX-License-Identifier: Apache-2.0 */
/* Floats that are bytes less a zero point, multiplied with constant whole numbers: the same sums from the bytes themselves.
 *
 *     %f = Cast(%q); %z = Cast(%zero); %x = Subtract(%f, %z); %t = MatMul(%x, w)      ->      %y = BytesMatMul(%q, w as sq8,
 *     %i = Cast(%t) to i32; %r = Cast(%i) to f32; %y = Multiply(%r, %s)                                        %zero, -, %s)
 *
 *     %d = Divide(%x, %s); %r = Round(%d); %a = Add(%r, Cast(%zero)); %c = ReluMinMax(%a, 0, 255); %q = Cast(%c) to u8
 *                                                                         ->      %q = BytesQuantize(%x, %s, %zero)
 *
 * So converters write DynamicQuantizeLinear with MatMulInteger or ConvInteger of ONNX. Sums in f32 of whole numbers are
 * exact while none of them can go beyond 2^24, whatever the bytes are; weights with which one could stay as they are. */
#include <math.h>
#include <string.h>

#include "prepare/cx.h"

enum { BYTE = 255, EXACT = 1 << 24, ZERO = 2, WHOLE, SCALE, BIAS, PORTS };

struct match {
    struct prepare_cx *cx;
    struct ir_graph *g;
    struct ir_uses u;
};

static const struct tensor_desc *desc_of(const struct match *m, uint32_t t)
{
    return &m->g->tensors.at[t].desc;
}

/* What makes t, always. */
static const struct ir_node *maker(const struct match *m, uint32_t t)
{
    uint32_t p = t == IR_NONE ? IR_NONE : m->u.producer[t];
    const struct ir_node *n = p == IR_NONE ? NULL : &m->g->nodes.at[p];
    return n && !n->dead && !n->n_guards ? n : NULL;
}

/* The same if it is this operator. */
static const struct ir_node *maker_is(const struct match *m, uint32_t t, enum op_id op)
{
    const struct ir_node *n = maker(m, t);
    return n && n->op->id == op ? n : NULL;
}

/* The only reader of what node `at` makes, if nobody else can see that; IR_NONE: none such. */
static uint32_t reader(const struct match *m, uint32_t at)
{
    uint32_t t = m->g->nodes.at[at].out[0], k = m->u.consumer[t];
    bool alone = m->u.n_consumers[t] == 1 && m->g->tensors.at[t].role == IR_NATIVE && k != IR_NONE;
    return alone && !m->g->nodes.at[k].dead && !m->g->nodes.at[k].n_guards ? k : IR_NONE;
}

static bool casts(const struct match *m, const struct ir_node *n, enum dtype from, enum dtype to)
{
    return n && n->op->id == OP_Cast && desc_of(m, n->in[0])->type == from && desc_of(m, n->out[0])->type == to;
}

static bool is_one(const struct match *m, uint32_t t)
{
    return !desc_of(m, t)->dynamic && desc_count(desc_of(m, t)) == 1;
}

/* The bytes that t holds as floats; IR_NONE: it does not, or they are not seen. One number may have been reshaped. */
static uint32_t bytes_behind(const struct match *m, uint32_t t)
{
    const struct ir_node *n = maker(m, t);
    while (n && n->op->id == OP_Reshape && is_one(m, t) && is_one(m, n->in[0]))
        n = maker(m, t = n->in[0]);
    return casts(m, n, DT_U8, DT_F32) ? n->in[0] : IR_NONE;
}

/* ---- weights ---------------------------------------------------------------------------------------------------------- */

/* Constant whole numbers, and how they are cut into output channels. */
struct weights {
    const float *at;
    uint64_t n;
    uint32_t channels;
    bool turned; /* a channel is a run */
};

static bool weights_of(const struct match *m, const struct ir_node *n, struct weights *ret)
{
    const struct ir_tensor *t = &m->g->tensors.at[n->in[1]];
    const struct tensor_desc *d = &t->desc;
    struct ir_call v;
    if (t->role != IR_CONST || !t->data || t->updateable || d->type != DT_F32)
        return false;
    *ret = (struct weights){ .at = t->data, .n = desc_count(d), .channels = d->dims[d->rank - 1] };
    ir_call(m->g, n, &v);
    if (n->op->id == OP_Conv2d)
        return op_int(&v.call, "group", 0) == 1 || (uint64_t)op_int(&v.call, "group", 0) != desc_of(m, n->in[0])->dims[3];
    ret->turned = op_int(&v.call, "transpose_in1", 0);
    ret->channels = d->dims[d->rank - (ret->turned ? 2 : 1)];
    return d->rank == 2;
}

/* Bytes less any zero point times a channel's weights: within 255 times the sum of either sign. */
static bool sums_are_exact(const struct weights *w, uint64_t *sums)
{
    const uint64_t run = w->n / w->channels;
    for (uint64_t i = 0; i < w->n; i++) {
        uint64_t c = w->turned ? i / run : i % w->channels;
        float v = w->at[i];
        if (!(fabsf(v) <= BYTE) || v != rintf(v))
            return false;
        sums[2 * c + (v < 0)] += (uint64_t)fabsf(v);
    }
    for (uint64_t c = 0; c < 2 * (uint64_t)w->channels; c++)
        if (sums[c] * BYTE > EXACT)
            return false;
    return true;
}

/* The weights as sq8, with the offset that brings them there; *ret IR_NONE: they do not fit, or sums are not exact. */
static enum status weights_as_bytes(const struct match *m, const struct ir_node *n, const struct weights *w, uint32_t *ret)
{
    const struct ir_tensor *t = &m->g->tensors.at[n->in[1]];
    float lo = 0, hi = 0;
    uint64_t *sums = arena_array(&m->cx->arena, uint64_t, 2 * (uint64_t)w->channels);
    RETURN_IF(!sums, ST_NO_MEMORY, "no memory for sums of the weights of \"%s\"", n->name);
    memset(sums, 0, 2 * sizeof(uint64_t) * w->channels);
    *ret = IR_NONE;
    if (!sums_are_exact(w, sums))
        return ST_OK;
    for (uint64_t i = 0; i < w->n; i++) {
        lo = fminf(lo, w->at[i]);
        hi = fmaxf(hi, w->at[i]);
    }
    if (hi - lo > BYTE)
        return ST_OK;
    int32_t offset = lo >= INT8_MIN && hi <= INT8_MAX ? 0 : (int32_t)hi - INT8_MAX;
    int8_t *bytes = arena_alloc_array(&m->g->arena, w->n, 1);
    RETURN_IF(!bytes, ST_NO_MEMORY, "no memory for the weights of \"%s\"", n->name);
    for (uint64_t i = 0; i < w->n; i++)
        bytes[i] = (int8_t)((int32_t)w->at[i] - offset);
    struct ir_tensor b = { .name = arena_printf(&m->g->arena, "%s.bytes.of.%s", t->name, n->name),
                           .desc = t->desc,
                           .data = bytes };
    b.desc.type = DT_SQ8;
    b.desc.q = (struct quant){ .kind = Q_TENSOR, .definition = 1, .scale = 1.0f, .offset = offset };
    return ir_add_const(m->g, &b, true, ret);
}

/* ---- products --------------------------------------------------------------------------------------------------------- */

/* A product of bytes and what it takes of the nodes behind it. */
struct product {
    uint32_t in[PORTS];
    uint32_t at, taken[8], n_taken; /* the last node that it stands for, and the ones before that */
    uint32_t channels;
};

/* x = bytes, or bytes less one byte. */
static bool read_x(const struct match *m, uint32_t x, struct product *p)
{
    const struct ir_node *n = maker_is(m, x, OP_ElementWiseSubtract);
    p->in[0] = bytes_behind(m, n ? n->in[0] : x);
    p->in[ZERO] = n ? bytes_behind(m, n->in[1]) : IR_NONE;
    if (p->in[0] == IR_NONE || (n && (p->in[ZERO] == IR_NONE || !is_one(m, p->in[ZERO]))))
        return false;
    return desc_same_shape(desc_of(m, p->in[0]), desc_of(m, x));
}

/* The operand of a sum or product that is not t, if it has one number per output channel (or one at all). */
static uint32_t other_operand(const struct match *m, const struct ir_node *n, uint32_t t, const struct product *p, bool one)
{
    uint32_t o = n->in[0] == t ? n->in[1] : n->in[0];
    const struct tensor_desc *d = desc_of(m, o), *out = desc_of(m, n->out[0]);
    if (o == t || !desc_same_shape(desc_of(m, t), out) || d->type != out->type || d->dynamic)
        return IR_NONE;
    bool per_channel = d->rank && d->dims[d->rank - 1] == p->channels && desc_count(d) == p->channels;
    return per_channel || (one && desc_count(d) == 1) ? o : IR_NONE;
}

static void take(struct product *p, uint32_t next)
{
    p->taken[p->n_taken++] = p->at;
    p->at = next;
}

/* Cast to i32, perhaps a sum there, Cast to f32: whole numbers stay what they are. */
static void take_whole(const struct match *m, struct product *p)
{
    const struct ir_node *nodes = m->g->nodes.at;
    uint32_t a = reader(m, p->at);
    if (a == IR_NONE || !casts(m, &nodes[a], DT_F32, DT_I32))
        return;
    uint32_t b = reader(m, a), sum = IR_NONE;
    if (b != IR_NONE && nodes[b].op->id == OP_ElementWiseAdd)
        sum = other_operand(m, &nodes[b], nodes[a].out[0], p, false);
    uint32_t c = sum == IR_NONE ? b : reader(m, b);
    if (c == IR_NONE || !casts(m, &nodes[c], DT_I32, DT_F32))
        return;
    take(p, a);
    if (sum != IR_NONE)
        take(p, b);
    take(p, c);
    p->in[WHOLE] = sum;
}

static void take_term(const struct match *m, struct product *p, enum op_id op, uint32_t port)
{
    const struct ir_node *nodes = m->g->nodes.at;
    uint32_t k = reader(m, p->at), o = IR_NONE;
    if (k != IR_NONE && nodes[k].op->id == op)
        o = other_operand(m, &nodes[k], nodes[p->at].out[0], p, port == SCALE);
    if (o == IR_NONE)
        return;
    p->in[port] = o;
    take(p, k);
}

/* The node stands where the last one of its parts stood, since everything that these read is there by then. */
static enum status put_product(const struct match *m, const struct product *p)
{
    struct ir_graph *g = m->g;
    const struct ir_node *from = p->n_taken ? &g->nodes.at[p->taken[0]] : &g->nodes.at[p->at];
    struct ir_node n = *from;
    n.op = op_get(from->op->id == OP_Conv2d ? OP_BytesConv2d : OP_BytesMatMul);
    n.out = g->nodes.at[p->at].out;
    n.in = arena_dup(&g->arena, p->in, sizeof p->in);
    RETURN_IF(!n.in, ST_NO_MEMORY, "no memory for node \"%s\"", n.name);
    n.n_in = PORTS;
    while (n.in[n.n_in - 1] == IR_NONE)
        n.n_in--;
    for (uint32_t i = 1; i < p->n_taken; i++)
        n.source = ir_join_sources(&g->arena, n.source, g->nodes.at[p->taken[i]].source);
    if (p->n_taken)
        n.source = ir_join_sources(&g->arena, n.source, g->nodes.at[p->at].source);
    for (uint32_t i = 0; i < p->n_taken; i++)
        g->nodes.at[p->taken[i]].dead = true;
    g->nodes.at[p->at] = n;
    return ST_OK;
}

static enum status try_product(const struct match *m, uint32_t at, bool *progress)
{
    const struct ir_node *n = &m->g->nodes.at[at];
    struct product p = { .in = { IR_NONE, IR_NONE, IR_NONE, IR_NONE, IR_NONE, IR_NONE }, .at = at };
    struct weights w;
    const bool plain = n->post.lo == -INFINITY && n->post.hi == INFINITY && (n->n_in < 3 || n->in[2] == IR_NONE);
    if (n->n_guards || !plain || !read_x(m, n->in[0], &p) || !weights_of(m, n, &w))
        return ST_OK;
    TRY(weights_as_bytes(m, n, &w, &p.in[1]));
    if (p.in[1] == IR_NONE)
        return ST_OK;
    p.channels = w.channels;
    take_whole(m, &p);
    take_term(m, &p, OP_ElementWiseMultiply, SCALE);
    take_term(m, &p, OP_ElementWiseAdd, BIAS);
    *progress = true;
    return put_product(m, &p);
}

/* ---- bytes ------------------------------------------------------------------------------------------------------------ */

static bool clamps_to_bytes(const struct match *m, const struct ir_node *n)
{
    struct ir_call v;
    ir_call(m->g, n, &v);
    return op_real(&v.call, "min_value", 0) == 0 && op_real(&v.call, "max_value", 0) == BYTE;
}

static enum status try_quantize(const struct match *m, struct ir_node *cast, bool *progress)
{
    const struct ir_node *clamp = maker_is(m, cast->in[0], OP_ReluMinMax),
                         *add = clamp && clamps_to_bytes(m, clamp) ? maker_is(m, clamp->in[0], OP_ElementWiseAdd) : NULL,
                         *round = add ? maker_is(m, add->in[0], OP_ElementWiseRound) : NULL,
                         *divide = round ? maker_is(m, round->in[0], OP_ElementWiseDivide) : NULL;
    uint32_t zero = add ? bytes_behind(m, add->in[1]) : IR_NONE;
    if (!divide || zero == IR_NONE || !is_one(m, zero) || !is_one(m, divide->in[1]) || cast->n_guards ||
        desc_of(m, divide->in[0])->type != DT_F32 || !desc_same_shape(desc_of(m, divide->in[0]), desc_of(m, cast->out[0])))
        return ST_OK;
    uint32_t *in = arena_array(&m->g->arena, uint32_t, 3);
    RETURN_IF(!in, ST_NO_MEMORY, "no memory for node \"%s\"", cast->name);
    memcpy(in, (uint32_t[]){ divide->in[0], divide->in[1], zero }, sizeof(uint32_t[3]));
    cast->op = op_get(OP_BytesQuantize);
    cast->in = in;
    cast->n_in = 3;
    *progress = true;
    return ST_OK;
}

enum status opt_fuse_bytes(struct prepare_cx *cx, bool *progress)
{
    struct match m = { cx, cx->g, { 0 } };
    if (!cx->target->bytes)
        return ST_OK;
    TRY(ir_uses(m.g, &cx->arena, &m.u));
    for (uint32_t k = 0; k < m.g->nodes.n; k++) {
        struct ir_node *n = &m.g->nodes.at[k];
        if (n->dead)
            continue;
        if (n->op->id == OP_Conv2d || n->op->id == OP_MatMul)
            TRY(try_product(&m, k, progress));
        else if (casts(&m, n, DT_F32, DT_U8))
            TRY(try_quantize(&m, n, progress));
    }
    return *progress ? opt_dead(cx, progress) : ST_OK; /* the floats that nobody reads now */
}
