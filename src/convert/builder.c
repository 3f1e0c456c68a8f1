/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes and tensors of a graph under construction. A node's outputs come from the operator's own rule, so a front end says
 * what it knows and no more; what the rule refuses never gets into the graph. */
#include "convert/builder.h"

#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "convert/builder_fold.h"
#include "convert/builder_wide.h"

enum status build_init(struct builder *b, const char *graph_name, struct convert_report *report)
{
    memset(b, 0, sizeof(*b));
    b->report = report;
    return ir_graph_create(graph_name, &b->g);
}

void build_finish(struct builder *b)
{
    ir_graph_free(b->g);
    mem_free(b->names.slots);
    vec_finish(&b->views);
    vec_finish(&b->view_of);
    vec_finish(&b->made_by);
    memset(b, 0, sizeof(*b));
}

/* ---- names -------------------------------------------------------------------------------------------------------- */

static struct build_name *name_slot(const struct builder *b, const char *name)
{
    size_t i = str_hash(name) & (b->names.cap - 1);
    while (b->names.slots[i].name && strcmp(b->names.slots[i].name, name) != 0)
        i = (i + 1) & (b->names.cap - 1);
    return &b->names.slots[i];
}

static bool names_grow(struct builder *b)
{
    struct build_name *old = b->names.slots;
    size_t cap = b->names.cap, bigger = cap ? cap * 2 : 256;
    if (b->names.n * 2 < cap)
        return true;
    struct build_name *slots = mem_array(struct build_name, bigger);
    if (!slots)
        return false;
    b->names.slots = slots;
    b->names.cap = bigger;
    for (size_t i = 0; i < cap; i++)
        if (old[i].name)
            *name_slot(b, old[i].name) = old[i];
    mem_free(old);
    return true;
}

/* `want` as an identifier that no other tensor (kind 't') or node ('n') has; NULL when out of memory. */
static const char *unique(struct builder *b, char kind, const char *want)
{
    struct arena *a = &b->g->arena;
    const char *id = convert_name(a, want);
    const char *key = id ? arena_printf(a, "%c%s", kind, id) : NULL;
    if (!key || !names_grow(b))
        return NULL;
    struct build_name *base = name_slot(b, key);
    for (uint32_t k = base->next ? base->next : 1; name_slot(b, key)->name; k++) {
        char text[300];
        snprintf(text, sizeof(text), "%c%.256s_%u", kind, id, k);
        base->next = k + 1;
        if (name_slot(b, text)->name)
            continue;
        key = arena_strdup(a, text);
        if (!key)
            return NULL;
    }
    name_slot(b, key)->name = key;
    b->names.n++;
    return key + 1;
}

/* ---- tensors ------------------------------------------------------------------------------------------------------ */

struct tensor_desc *build_desc(struct builder *b, uint32_t t)
{
    return &b->g->tensors.at[t].desc;
}

const void *build_data(const struct builder *b, uint32_t t)
{
    const struct ir_tensor *x = &b->g->tensors.at[t];
    return x->role == IR_CONST ? x->data : NULL;
}

void build_release(const struct builder *b, const void *data, uint64_t size)
{
    if (b->opts && b->opts->release)
        b->opts->release(b->opts->release_arg, data, size);
}

enum dtype build_type(const struct builder *b, enum dtype t)
{
    return b->float16 && t == DT_F32 ? DT_F16 : t;
}

enum dtype build_plain(enum dtype t)
{
    static const enum dtype plain[DT_COUNT] = {
        [DT_SQ8] = DT_I8, [DT_SQ16] = DT_I16, [DT_SQ32] = DT_I32, [DT_SQ4] = DT_I4, [DT_SQ2] = DT_I2,
        [DT_UQ8] = DT_U8, [DT_UQ16] = DT_U16, [DT_UQ32] = DT_U32, [DT_UQ4] = DT_U4, [DT_UQ2] = DT_U2,
    };
    return plain[t] ? plain[t] : t;
}

/* The per-tensor arrays grow with the graph's. */
static enum status note_tensor(struct builder *b, uint32_t t, uint32_t node_plus_one)
{
    while (b->made_by.n <= t)
        RETURN_IF(!vec_push(&b->made_by) || !vec_push(&b->view_of), ST_NO_MEMORY, "no memory for %u tensors", t);
    b->made_by.at[t] = node_plus_one;
    return ST_OK;
}

static enum status add(struct builder *b, struct ir_tensor *t, bool borrow, uint32_t *ret)
{
    uint32_t at;
    TRY(desc_check(&t->desc, t->name));
    t->name = unique(b, 't', t->name);
    RETURN_IF(!t->name, ST_NO_MEMORY, "no memory for the name of a tensor");
    TRY(t->role == IR_CONST ? ir_add_const(b->g, t, borrow, &at) : ir_add_tensor(b->g, t, &at));
    TRY(note_tensor(b, at, 0));
    *ret = at;
    return ST_OK;
}

enum status build_input(struct builder *b, const char *name, const struct tensor_desc *d, uint32_t *ret)
{
    struct ir_tensor t = {.name = name, .desc = *d, .role = IR_INPUT};
    t.desc.type = build_type(b, d->type);
    return add(b, &t, false, ret);
}

enum status build_const(struct builder *b, const char *name, const struct tensor_desc *d, const void *data, bool borrow,
                        uint32_t *ret)
{
    struct ir_tensor t = {.name = name, .desc = *d, .role = IR_CONST, .data = data};
    if (b->report)
        b->report->params += desc_count(d);
    if (build_type(b, d->type) == d->type)
        return add(b, &t, borrow, ret);
    uint64_t n = desc_count(d);
    TRY(desc_check(d, name));
    uint16_t *half = arena_array(&b->g->arena, uint16_t, n);
    RETURN_IF(!half, ST_NO_MEMORY, "no memory for constant \"%s\"", name);
    for (uint64_t i = 0; i < n; i++)
        half[i] = f16_from_f32((float)number_get(DT_F32, data, i));
    build_release(b, data, desc_bytes(d));
    t.desc.type = DT_F16;
    t.data = half;
    return add(b, &t, true, ret);
}

enum status build_const_f32(struct builder *b, const char *name, uint32_t rank, const uint32_t *dims, const float *data,
                            uint32_t *ret)
{
    struct tensor_desc d = {.type = DT_F32, .rank = (uint8_t)rank};
    memcpy(d.dims, dims, rank * sizeof(*dims));
    return build_const(b, name, &d, data, false, ret);
}

enum status build_const_i32(struct builder *b, const char *name, uint32_t n, const int32_t *data, uint32_t *ret)
{
    struct tensor_desc d = {.type = DT_I32, .rank = 1, .dims = {n}};
    return build_const(b, name, &d, data, false, ret);
}

enum status build_scalar(struct builder *b, const char *name, enum dtype type, double value, uint32_t *ret)
{
    struct tensor_desc d = {.type = type};
    char bytes[8] = {0};
    number_put(type, bytes, 0, value);
    return build_const(b, name, &d, bytes, false, ret);
}

void build_rename(struct builder *b, uint32_t t, const char *name)
{
    struct ir_tensor *x = &b->g->tensors.at[t];
    if (x->role != IR_NATIVE)
        return;
    const char *same = convert_name(&b->g->arena, name), *id = same && str_eq(same, x->name) ? NULL : unique(b, 't', name);
    if (id) {
        x->name = id;
        b->g->names.n = SIZE_MAX; /* the graph's index of names starts again */
    }
}

/* A constant that is an output has the name that the client looks for: it goes to the copy. */
static void hand_on_name(struct builder *b, uint32_t from, uint32_t to, const char *name)
{
    struct ir_tensor *x = &b->g->tensors.at[from], *y = &b->g->tensors.at[to];
    const char *wanted = convert_name(&b->g->arena, name), *old = x->name;
    if (x->role != IR_CONST || !wanted || !str_eq(wanted, old))
        return;
    x->name = y->name;
    y->name = old;
    b->g->names.n = SIZE_MAX;
}

enum status build_output(struct builder *b, uint32_t t, const char *name, uint32_t *ret)
{
    struct ir_tensor *x = &b->g->tensors.at[t];
    if (x->role != IR_NATIVE) {
        uint32_t source = t;
        struct tensor_desc d = x->desc;
        bool fold = b->fold;
        b->fold = false; /* an output is made by a node */
        enum status st = build_node(b, &(struct build_spec){.op = "Reshape", .name = name, BUILD_IN(t), .out = &d}, &t);
        b->fold = fold;
        TRY(st);
        hand_on_name(b, source, t, name);
    }
    build_rename(b, t, name);
    b->g->tensors.at[t].role = IR_OUTPUT;
    *ret = t;
    return ST_OK;
}

/* ---- sources ------------------------------------------------------------------------------------------------------ */

/* A list has one line per source. */
void build_source(struct builder *b, const char *type, const char *name)
{
    char *line = arena_printf(&b->g->arena, "%s:%s", type, name);
    for (char *p = line; p && *p; p++)
        *p = *p == '\n' || *p == '\r' ? ' ' : *p;
    b->source = line;
}

void build_absorbed(struct builder *b, uint32_t t)
{
    uint32_t maker = t < b->made_by.n ? b->made_by.at[t] : 0;
    if (maker)
        b->g->nodes.at[maker - 1].source = ir_join_sources(&b->g->arena, b->g->nodes.at[maker - 1].source, b->source);
}

/* ---- nodes -------------------------------------------------------------------------------------------------------- */

static uint32_t param_values(const struct build_spec *s, const char **names, struct op_value *values)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < 14 && s->params[i].name; i++) {
        if (!s->params[i].name[0])
            continue;
        names[n] = s->params[i].name;
        values[n++] = s->params[i].v;
    }
    return n;
}

/* The outputs that the caller spoke of are checked with op_check; the others get what the rule infers. */
static enum status infer(struct builder *b, const struct op_call *c, const struct build_spec *s, struct tensor_desc *want)
{
    const struct tensor_desc *out[MAX_PORTS] = {0};
    struct tensor_desc hint[MAX_PORTS];
    struct op_call call = *c;
    for (uint32_t i = 0; s->out && i < c->n_out; i++) {
        hint[i] = s->out[i];
        hint[i].type = build_type(b, hint[i].type);
        out[i] = &hint[i];
    }
    call.out = out;
    TRY(op_infer(&call, want));
    for (uint32_t i = 0; i < c->n_out; i++) {
        if (s->out && hint[i].type != DT_NONE && dtype_is_fixed(hint[i].type))
            want[i].q = hint[i].q;
        out[i] = &want[i];
    }
    return op_check(&call);
}

uint64_t convert_macs(const struct op_call *c, const struct tensor_desc *out)
{
    const char *op = c->op->name;
    if (c->n_in < 2 || !c->in[1])
        return 0;
    const struct tensor_desc *x = c->in[0], *w = c->in[1];
    if (!strncmp(op, "TransposeConv", 13))
        return desc_count(x) * (desc_count(w) / w->dims[w->rank - 2]);
    if (!strncmp(op, "Conv", 4) || !strncmp(op, "DepthWiseConv", 13))
        return desc_count(out) * (desc_count(w) / w->dims[w->rank - 1]);
    if (!strcmp(op, "FullyConnected"))
        return desc_count(out) * w->dims[1];
    if (!strcmp(op, "MatMul"))
        return desc_count(out) * x->dims[x->rank - (op_int(c, "transpose_in0", 0) ? 2 : 1)];
    return 0;
}

static enum status add_outputs(struct builder *b, const char *name, const struct tensor_desc *want, uint32_t n,
                               uint32_t *ret)
{
    for (uint32_t i = 0; i < n; i++) {
        char text[280];
        snprintf(text, sizeof(text), i ? "%.250s_out%u" : "%.250s_out", name, i);
        struct ir_tensor t = {.name = text, .desc = want[i], .role = IR_NATIVE};
        TRY(add(b, &t, false, &ret[i]));
    }
    return ST_OK;
}

enum status build_node(struct builder *b, const struct build_spec *s, uint32_t *ret)
{
    const struct op_def *op = op_find(s->op);
    if (build_is_wide(s))
        return build_wide(b, s, ret);
    RETURN_IF(!op, ST_INTERNAL, "no operator is called \"%s\"", s->op);
    const char *names[14];
    struct op_value values[14], params[14];
    struct tensor_desc want[MAX_PORTS];
    const struct tensor_desc *in[MAX_PORTS];
    const void *data[MAX_PORTS];
    uint32_t n_out = s->n_out ? s->n_out : 1, n_in = s->n_in, node, out[MAX_PORTS];
    while (n_in && s->in[n_in - 1] == IR_NONE)
        n_in--;
    RETURN_IF(n_in > MAX_PORTS || n_out > MAX_PORTS, ST_NOT_SUPPORTED,
              "%s \"%s\": %u inputs and %u outputs; at most %d of each are supported", s->op, s->name, n_in, n_out,
              MAX_PORTS);
    TRY(op_params_bind(op, s->name, names, values, param_values(s, names, values), params));
    for (uint32_t i = 0; i < n_in; i++) {
        in[i] = s->in[i] == IR_NONE ? NULL : build_desc(b, s->in[i]);
        data[i] = s->in[i] == IR_NONE ? NULL : build_data(b, s->in[i]);
    }
    struct op_call c = {.op = op, .node = s->name, .n_in = n_in, .n_out = n_out, .in = in, .params = params, .in_data = data,
                        .post = OP_POST_NONE};
    TRY(infer(b, &c, s, want));
    if (b->fold) {
        bool done;
        TRY(build_folded(b, &c, want, ret, &done));
        if (done)
            return ST_OK;
    }
    if (b->report)
        b->report->macs += convert_macs(&c, &want[0]);
    TRY(add_outputs(b, s->name, want, n_out, out));
    struct ir_node n = { .name = unique(b, 'n', s->name),
                         .op = op,
                         .n_in = n_in,
                         .n_out = n_out,
                         .in = (uint32_t *)s->in,
                         .out = out,
                         .params = params,
                         .source = b->source };
    RETURN_IF(!n.name, ST_NO_MEMORY, "no memory for the name of a node");
    TRY(ir_add_node(b->g, &n, &node));
    for (uint32_t i = 0; i < n_out; i++) {
        TRY(note_tensor(b, out[i], node + 1));
        ret[i] = out[i];
    }
    return ST_OK;
}

enum status build_unary(struct builder *b, const char *op, const char *name, uint32_t x, uint32_t *ret)
{
    return build_node(b, &(struct build_spec){.op = op, .name = name, BUILD_IN(x)}, ret);
}

enum status build_binary(struct builder *b, const char *op, const char *name, uint32_t x, uint32_t y, uint32_t *ret)
{
    return build_node(b, &(struct build_spec){.op = op, .name = name, BUILD_IN(x, y)}, ret);
}

/* Models mean what is stored; a Cast from or to fixed point would look at the encoding, so plain integers stand between. */
enum status build_cast(struct builder *b, const char *name, uint32_t x, enum dtype type, uint32_t *ret)
{
    enum dtype from = build_desc(b, x)->type, to = build_type(b, type);
    struct tensor_desc way[] = { { .type = build_plain(from) }, { .type = build_plain(to) }, { .type = to } };
    *ret = x;
    for (uint32_t i = 0; i < 3 && from != to; i++)
        if (build_desc(b, *ret)->type != way[i].type)
            TRY(build_node(b, &(struct build_spec){ .op = "Cast", .name = name, BUILD_IN(*ret), .out = &way[i] }, ret));
    return ST_OK;
}

enum status build_reshape(struct builder *b, const char *name, uint32_t x, uint32_t rank, const uint32_t *dims,
                          uint32_t *ret)
{
    struct tensor_desc d = *build_desc(b, x);
    *ret = x;
    if (d.rank == rank && !memcmp(d.dims, dims, rank * sizeof(*dims)))
        return ST_OK;
    RETURN_IF(rank > MAX_RANK, ST_NOT_SUPPORTED, "Reshape \"%s\": the output has rank %u; at most %d is supported", name,
              rank, MAX_RANK);
    d.rank = (uint8_t)rank;
    memset(d.dims, 0, sizeof(d.dims));
    memcpy(d.dims, dims, rank * sizeof(*dims));
    const struct ir_tensor *c = &b->g->tensors.at[x];
    bool last_axis =
        d.q.kind == Q_AXIS && d.q.axis == c->desc.rank - 1 && rank && dims[rank - 1] == c->desc.dims[c->desc.rank - 1];
    if (last_axis)
        d.q.axis = (int32_t)rank - 1;
    if (c->role == IR_CONST && (d.q.kind <= Q_TENSOR || last_axis) && desc_count(&d) == desc_count(&c->desc)) {
        struct ir_tensor t = {.name = c->name, .desc = d, .role = IR_CONST, .data = c->data};
        return add(b, &t, true, ret);
    }
    /* a view of a view is a view of the source */
    uint32_t maker = x < b->made_by.n ? b->made_by.at[x] : 0;
    const struct ir_node *before = maker ? &b->g->nodes.at[maker - 1] : NULL;
    if (before && before->op->id == OP_Reshape && !d.dynamic)
        return build_reshape(b, name, before->in[0], rank, dims, ret);
    return build_node(b, &(struct build_spec){.op = "Reshape", .name = name, BUILD_IN(x), .out = &d}, ret);
}
