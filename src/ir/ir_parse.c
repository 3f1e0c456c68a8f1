/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the text form that ir_print writes; docs/internals/ir.md has the grammar. Any bytes are safe: every count is checked against
 * what the text really contains before memory is taken, and errors give line and column. */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "ir/ir.h"
#include "ir/ir_text.h"

struct parser {
    const char *at, *end, *start;
    struct ir_graph *g;
    struct arena scratch; /* values being collected, freed when parsing ends */
    unsigned depth;       /* of graphs inside graphs */
};

static void position(const struct parser *p, unsigned *line, unsigned *column)
{
    *line = *column = 1;
    for (const char *c = p->start; c < p->at; c++) {
        *line += *c == '\n';
        *column = *c == '\n' ? 1 : *column + 1;
    }
}

static enum status fail(const struct parser *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static enum status fail(const struct parser *p, const char *fmt, ...)
{
    unsigned line, column;
    position(p, &line, &column);
    char text[256];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return status_fail(ST_BAD_TEXT, "line %u, column %u: %s", line, column, text);
}

#define FAIL_IF(cond, ...)                \
    do {                                  \
        if (cond)                         \
            return fail(p, __VA_ARGS__);  \
    } while (0)

static void skip_space(struct parser *p)
{
    while (p->at < p->end && (isspace((unsigned char)*p->at) || *p->at == '#')) {
        if (*p->at == '#')
            while (p->at < p->end && *p->at != '\n')
                p->at++;
        else
            p->at++;
    }
}

static char peek(struct parser *p)
{
    skip_space(p);
    return p->at < p->end ? *p->at : '\0';
}

static bool accept(struct parser *p, char c)
{
    if (peek(p) != c || p->at >= p->end)
        return false;
    p->at++;
    return true;
}

static enum status expect(struct parser *p, char c)
{
    FAIL_IF(!accept(p, c), "'%c' expected", c);
    return ST_OK;
}

static bool word_char(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* A word of letters, digits and '_', cut at 63 characters; empty when there is none. */
static void word(struct parser *p, char out[64])
{
    size_t n = 0;
    skip_space(p);
    while (p->at < p->end && word_char(*p->at) && n < 63)
        out[n++] = *p->at++;
    out[n] = '\0';
}

static bool accept_word(struct parser *p, const char *want)
{
    size_t n = strlen(want);
    skip_space(p);
    if ((size_t)(p->end - p->at) < n || memcmp(p->at, want, n) != 0 || (p->at + n < p->end && word_char(p->at[n])))
        return false;
    p->at += n;
    return true;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return -1;
}

static enum status escape(struct parser *p, struct str *s)
{
    FAIL_IF(p->at >= p->end, "unfinished escape");
    char c = *p->at++;
    if (c == 'x') {
        FAIL_IF(p->end - p->at < 2 || hex_digit(p->at[0]) < 0 || hex_digit(p->at[1]) < 0, "two hexadecimal digits expected");
        c = (char)(hex_digit(p->at[0]) * 16 + hex_digit(p->at[1]));
        FAIL_IF(c == '\0', "names cannot contain a zero byte");
        p->at += 2;
    }
    str_addn(s, &c, 1);
    return ST_OK;
}

static enum status quoted_into(struct parser *p, struct str *s)
{
    TRY(expect(p, '"'));
    while (p->at < p->end && *p->at != '"') {
        char c = *p->at++;
        FAIL_IF(c == '\0', "names cannot contain a zero byte");
        if (c == '\\')
            TRY(escape(p, s));
        else
            str_addn(s, &c, 1);
    }
    return expect(p, '"');
}

/* A quoted string, copied into the scratch arena. */
static enum status quoted(struct parser *p, const char **ret)
{
    struct str s;
    str_init(&s);
    enum status st = quoted_into(p, &s);
    if (st == ST_OK) {
        *ret = s.failed ? NULL : arena_strdup(&p->scratch, str_text(&s));
        st = *ret ? ST_OK : status_fail(ST_NO_MEMORY, "no memory for a name");
    }
    str_finish(&s);
    return st;
}

static enum status tensor_name(struct parser *p, const char **ret)
{
    TRY(expect(p, '%'));
    if (p->at < p->end && *p->at == '"')
        return quoted(p, ret);
    const char *from = p->at;
    while (p->at < p->end && (isalnum((unsigned char)*p->at) || memchr("_./:-", *p->at, 5)))
        p->at++;
    FAIL_IF(from == p->at, "a tensor name is expected after '%%'");
    char *s = arena_alloc(&p->scratch, (size_t)(p->at - from) + 1);
    RETURN_IF(!s, ST_NO_MEMORY, "no memory for a name");
    memcpy(s, from, (size_t)(p->at - from));
    *ret = s;
    return ST_OK;
}

/* The characters of a number, as strtod and strtoll take them. */
static enum status number_text(struct parser *p, char out[64])
{
    size_t n = 0;
    skip_space(p);
    while (p->at < p->end && n < 63 && (isalnum((unsigned char)*p->at) || memchr("+-.", *p->at, 3)))
        out[n++] = *p->at++;
    out[n] = '\0';
    FAIL_IF(n == 0, "a number is expected");
    return ST_OK;
}

static enum status integer(struct parser *p, int64_t lo, int64_t hi, int64_t *ret)
{
    char text[64], *rest;
    TRY(number_text(p, text));
    errno = 0;
    long long v = strtoll(text, &rest, 10);
    FAIL_IF(*rest || errno, "\"%s\" is not an integer", text);
    FAIL_IF(v < lo || v > hi, "%lld is not within %lld and %lld", v, (long long)lo, (long long)hi);
    *ret = v;
    return ST_OK;
}

static enum status real(struct parser *p, double *ret)
{
    char text[64], *rest;
    TRY(number_text(p, text));
    *ret = strtod(text, &rest);
    FAIL_IF(*rest, "\"%s\" is not a number", text);
    return ST_OK;
}

static enum status store_element(struct parser *p, enum dtype t, void *data, uint64_t i)
{
    if (dtype_is_float(t)) {
        double v;
        TRY(real(p, &v));
        if (t == DT_F32)
            ((float *)data)[i] = (float)v;
        else
            ((double *)data)[i] = v;
        return ST_OK;
    }
    char text[64], *rest;
    if (t == DT_U64) {
        TRY(number_text(p, text));
        errno = 0;
        ((uint64_t *)data)[i] = strtoull(text, &rest, 10);
        FAIL_IF(*rest || errno || text[0] == '-', "\"%s\" is not an unsigned integer", text);
        return ST_OK;
    }
    int64_t v;
    TRY(integer(p, t == DT_B8 ? 0 : dtype_min(t), t == DT_B8 ? 255 : dtype_max(t), &v));
    memcpy((char *)data + i * dtype_bits(t) / 8, &v, dtype_bits(t) / 8); /* little-endian host */
    return ST_OK;
}

/* x"0011…" into the scratch arena. */
static enum status hex_values(struct parser *p, const void **data, uint64_t *bytes)
{
    p->at++; /* x */
    TRY(expect(p, '"'));
    const char *close = memchr(p->at, '"', (size_t)(p->end - p->at));
    FAIL_IF(!close, "unfinished x\"…\"");
    uint64_t n = (uint64_t)(close - p->at) / 2;
    FAIL_IF((close - p->at) % 2, "an even number of hexadecimal digits is expected");
    uint8_t *out = arena_alloc(&p->scratch, n);
    RETURN_IF(!out, ST_NO_MEMORY, "no memory for %llu bytes of data", (unsigned long long)n);
    for (uint64_t i = 0; i < n; i++, p->at += 2) {
        int a = hex_digit(p->at[0]), b = hex_digit(p->at[1]);
        FAIL_IF(a < 0 || b < 0, "hexadecimal digits 0-9 and a-f are expected");
        out[i] = (uint8_t)(a * 16 + b);
    }
    p->at = close + 1;
    *data = out;
    *bytes = n;
    return ST_OK;
}

/* "(1,2,3)": the number of elements is bounded by the commas that are really there. */
static enum status number_values(struct parser *p, enum dtype t, const void **data, uint64_t *count)
{
    TRY(expect(p, '('));
    const char *close = memchr(p->at, ')', (size_t)(p->end - p->at));
    FAIL_IF(!close, "unfinished list");
    uint64_t most = 1;
    for (const char *c = p->at; c < close; c++)
        most += *c == ',';
    bool numbers = t != DT_NONE && t != DT_STR && t != DT_F16 && t != DT_BF16 && dtype_bits(t) >= 8;
    FAIL_IF(!numbers, "values of type %s are written as x\"…\"", dtype_name(t));
    void *out = arena_alloc(&p->scratch, dtype_bytes(t, most));
    RETURN_IF(!out, ST_NO_MEMORY, "no memory for %llu values", (unsigned long long)most);
    uint64_t n = 0;
    if (peek(p) != ')')
        do
            TRY(store_element(p, t, out, n++));
        while (n < most && accept(p, ','));
    *data = out;
    *count = n;
    return expect(p, ')');
}

static enum status values(struct parser *p, enum dtype t, const void **data, uint64_t *bytes)
{
    if (peek(p) == 'x')
        return hex_values(p, data, bytes);
    uint64_t n;
    TRY(number_values(p, t, data, &n));
    *bytes = dtype_bytes(t, n);
    return ST_OK;
}

static enum status dims(struct parser *p, uint8_t *rank, uint32_t *out, uint8_t *dynamic)
{
    *rank = 0;
    if (accept(p, ']'))
        return ST_OK;
    do {
        FAIL_IF(*rank == MAX_RANK, "at most %d dimensions", MAX_RANK);
        if (dynamic && accept(p, '?'))
            *dynamic |= (uint8_t)(1u << *rank);
        int64_t v;
        TRY(integer(p, 0, UINT32_MAX, &v));
        out[(*rank)++] = (uint32_t)v;
    } while (accept(p, ','));
    return expect(p, ']');
}

static enum status type_name(struct parser *p, enum dtype *ret)
{
    char name[64];
    word(p, name);
    *ret = dtype_from_name(name);
    FAIL_IF(*ret == DT_NONE && strcmp(name, "none") != 0, "\"%s\" is not a data type", name);
    return ST_OK;
}

/* ---- attributes of a tensor ------------------------------------------------------------------------------------------- */

enum attribute_kind { A_FLOAT, A_FLAG, A_LIST, A_U8, A_U16, A_U32, A_I32 };

struct attribute {
    const char *key;
    size_t offset; /* in struct ir_tensor */
    enum attribute_kind kind;
    enum dtype list;
};

#define AT(field) offsetof(struct ir_tensor, field)

static const struct attribute attributes[] = {
    { "scale", AT(desc.q.scale), A_FLOAT, DT_NONE },
    { "offset", AT(desc.q.offset), A_I32, DT_NONE },
    { "quant", AT(desc.q.kind), A_U8, DT_NONE },
    { "axis", AT(desc.q.axis), A_I32, DT_NONE },
    { "bits", AT(desc.q.bits), A_U8, DT_NONE },
    { "mapping", AT(desc.q.mapping), A_U8, DT_NONE },
    { "def", AT(desc.q.definition), A_U8, DT_NONE },
    { "blocks", AT(desc.q.blocks_per_axis), A_U32, DT_NONE },
    { "block_bits", AT(desc.q.block_scale_bits), A_U8, DT_NONE },
    { "scales", AT(desc.q.scales), A_LIST, DT_F32 },
    { "offsets", AT(desc.q.offsets), A_LIST, DT_I32 },
    { "foffsets", AT(desc.q.float_offsets), A_LIST, DT_F32 },
    { "block_scales8", AT(desc.q.block_scales), A_LIST, DT_U8 },
    { "block_scales16", AT(desc.q.block_scales), A_LIST, DT_U16 },
    { "format", AT(desc.format), A_U16, DT_NONE },
    { "id", AT(client_id), A_U32, DT_NONE },
    { "ctype", AT(client_type), A_U32, DT_NONE },
    { "optional", AT(optional), A_FLAG, DT_NONE },
    { "stripped", AT(stripped), A_FLAG, DT_NONE },
    { "updateable", AT(updateable), A_FLAG, DT_NONE },
    { "memhandle", AT(mem_handle), A_FLAG, DT_NONE },
};

static const struct {
    unsigned char bytes;
    int64_t lo, hi;
} integer_kinds[] = {
    [A_U8] = { 1, 0, UINT8_MAX },
    [A_U16] = { 2, 0, UINT16_MAX },
    [A_U32] = { 4, 0, UINT32_MAX },
    [A_I32] = { 4, INT32_MIN, INT32_MAX },
};

/* How long the lists of one tensor are. They may come in any order, so lengths are compared when all are read. */
struct list_lengths {
    uint64_t axis[3], blocks; /* scales, offsets, foffsets; block_scales */
    unsigned given;           /* bit i: axis[i] */
};

static enum status list_attribute(struct parser *p, const struct attribute *a, struct ir_tensor *t, struct list_lengths *l)
{
    const void *data;
    uint64_t n;
    TRY(number_values(p, a->list, &data, &n));
    if (a->offset == AT(desc.q.block_scales)) {
        t->desc.q.block_scale_storage = a->list == DT_U16 ? 16 : 8;
        l->blocks = n;
    } else {
        unsigned which = a->offset == AT(desc.q.scales) ? 0 : a->offset == AT(desc.q.offsets) ? 1 : 2;
        l->axis[which] = n;
        l->given |= 1u << which;
    }
    memcpy((char *)t + a->offset, &data, sizeof data);
    return ST_OK;
}

/* Lists that belong together have equal lengths; the block scales have one entry for each block of each scale. */
static enum status check_lists(struct parser *p, struct quant *q, const struct list_lengths *l)
{
    static const char *const names[] = { "scales", "offsets", "foffsets" };
    const char *first = NULL;
    for (unsigned i = 0; i < 3; i++) {
        if (!(l->given >> i & 1))
            continue;
        FAIL_IF(l->axis[i] > UINT32_MAX || (first && l->axis[i] != q->n), "%s has %llu entries; %u are expected, as in %s", names[i],
                (unsigned long long)l->axis[i], q->n, first ? first : names[i]);
        q->n = (uint32_t)l->axis[i];
        first = first ? first : names[i];
    }
    FAIL_IF(q->block_scales && l->blocks != (uint64_t)q->n * q->blocks_per_axis,
            "%llu block scales; %u scales times %u blocks are expected", (unsigned long long)l->blocks, q->n, q->blocks_per_axis);
    return ST_OK;
}

static enum status attribute_value(struct parser *p, const struct attribute *a, struct ir_tensor *t, struct list_lengths *l)
{
    char *to = (char *)t + a->offset;
    if (a->kind == A_FLAG) {
        *(bool *)to = true;
        return ST_OK;
    }
    TRY(expect(p, '='));
    if (a->kind == A_LIST)
        return list_attribute(p, a, t, l);
    if (a->kind == A_FLOAT) {
        double v;
        TRY(real(p, &v));
        *(float *)to = (float)v;
        t->desc.q.kind = Q_TENSOR;
        return ST_OK;
    }
    int64_t v;
    TRY(integer(p, integer_kinds[a->kind].lo, integer_kinds[a->kind].hi, &v));
    memcpy(to, &v, integer_kinds[a->kind].bytes); /* little-endian host */
    return ST_OK;
}

static enum status block_attribute(struct parser *p, struct ir_tensor *t)
{
    const void *data;
    uint64_t n;
    TRY(expect(p, '='));
    TRY(number_values(p, DT_U32, &data, &n));
    FAIL_IF(n != t->desc.rank, "block has %llu entries; the rank is %u", (unsigned long long)n, t->desc.rank);
    memcpy(t->desc.q.block, data, n * sizeof(uint32_t));
    return ST_OK;
}

static enum status tensor_attributes(struct parser *p, struct ir_tensor *t)
{
    struct list_lengths lengths = { .given = 0 };
    t->desc.q.definition = 1;
    for (;;) {
        if (accept_word(p, "block")) {
            TRY(block_attribute(p, t));
            continue;
        }
        const struct attribute *a = NULL;
        for (size_t i = 0; i < sizeof attributes / sizeof attributes[0] && !a; i++)
            if (accept_word(p, attributes[i].key))
                a = &attributes[i];
        if (!a)
            break;
        TRY(attribute_value(p, a, t, &lengths));
    }
    TRY(check_lists(p, &t->desc.q, &lengths));
    FAIL_IF(t->desc.q.kind >= QUANT_KIND_COUNT, "quant=%u is unknown", t->desc.q.kind);
    FAIL_IF(t->desc.q.kind > Q_TENSOR && !t->desc.q.scales, "scales are missing");
    FAIL_IF(t->desc.q.kind == Q_EXPANSION && !t->desc.q.block_scales, "block scales are missing");
    if (t->desc.q.kind == Q_NONE)
        t->desc.q = (struct quant){ .definition = 2 };
    return ST_OK;
}

static enum status checked_desc(struct parser *p, const struct ir_tensor *t)
{
    unsigned line, column;
    enum status st = desc_check(&t->desc, t->name);
    if (st == ST_OK)
        return st;
    position(p, &line, &column); /* goes through the text */
    return status_prefix(st, "line %u, column %u", line, column);
}

static enum status constant(struct parser *p, struct ir_tensor *t)
{
    uint64_t bytes;
    bool raw = peek(p) == 'x' && t->desc.type == DT_U8 && t->desc.rank == 1; /* how the bytes that kernels made are printed */
    TRY(values(p, t->desc.type, &t->data, &bytes));
    FAIL_IF(bytes != desc_bytes(&t->desc), "tensor \"%s\" has %llu bytes of data; its type needs %llu", t->name,
            (unsigned long long)bytes, (unsigned long long)desc_bytes(&t->desc));
    t->raw_bytes = raw ? bytes : 0;
    return ST_OK;
}

static enum status tensor(struct parser *p, enum ir_role role)
{
    struct ir_tensor t = { .role = (uint8_t)role };
    TRY(tensor_name(p, &t.name));
    FAIL_IF(ir_find_tensor(p->g, t.name) != IR_NONE, "tensor \"%s\" is declared twice", t.name);
    TRY(expect(p, ':'));
    TRY(type_name(p, &t.desc.type));
    TRY(expect(p, '['));
    TRY(dims(p, &t.desc.rank, t.desc.dims, &t.desc.dynamic));
    TRY(tensor_attributes(p, &t));
    if (role != IR_ABSENT)
        TRY(checked_desc(p, &t));
    FAIL_IF(role == IR_CONST && !t.stripped && peek(p) != '=', "a constant needs data");
    if (role == IR_CONST && accept(p, '='))
        TRY(constant(p, &t));
    uint32_t index;
    return ir_add_tensor(p->g, &t, &index);
}

/* ---- nodes ------------------------------------------------------------------------------------------------------------ */

static enum status operand(struct parser *p, uint32_t *ret)
{
    if (accept(p, '_')) {
        *ret = IR_NONE;
        return ST_OK;
    }
    const char *name;
    TRY(tensor_name(p, &name));
    *ret = ir_find_tensor(p->g, name);
    FAIL_IF(*ret == IR_NONE, "tensor \"%s\" is not declared", name);
    return ST_OK;
}

static enum status operands(struct parser *p, uint32_t *list, uint32_t *n, char close)
{
    *n = 0;
    if (peek(p) == close)
        return ST_OK;
    do {
        FAIL_IF(*n == MAX_PORTS, "at most %d operands", MAX_PORTS);
        TRY(operand(p, &list[(*n)++]));
    } while (accept(p, ','));
    return ST_OK;
}

static enum status string_param(struct parser *p, struct op_value *v)
{
    const char *text;
    TRY(quoted(p, &text));
    *v = (struct op_value){ .type = DT_STR, .count = (uint32_t)strlen(text) + 1, .data = text };
    return ST_OK;
}

static enum status param(struct parser *p, const struct op_def *op, struct op_value *params)
{
    char name[64];
    word(p, name);
    int i = op_param_index(op, name);
    FAIL_IF(i < 0, "%s has no parameter \"%s\"", op->name, name);
    FAIL_IF(params[i].data, "parameter \"%s\" is given twice", name);
    struct op_value *v = &params[i];
    TRY(expect(p, '='));
    if (peek(p) == '"')
        return string_param(p, v);
    TRY(type_name(p, &v->type));
    FAIL_IF(v->type == DT_STR, "a text is written in quotes");
    if (accept(p, '['))
        TRY(dims(p, &v->rank, v->dims, NULL));
    uint64_t bytes, count = 1;
    TRY(values(p, v->type, &v->data, &bytes));
    for (unsigned k = 0; k < v->rank; k++)
        FAIL_IF(__builtin_mul_overflow(count, v->dims[k], &count), "parameter \"%s\" is too large", name);
    FAIL_IF(count > UINT32_MAX || dtype_bytes(v->type, count) != bytes, "parameter \"%s\" has %llu bytes of data; its type needs %llu",
            name, (unsigned long long)bytes, (unsigned long long)dtype_bytes(v->type, count));
    v->count = (uint32_t)count;
    return ST_OK;
}

static enum status node_params(struct parser *p, struct ir_node *n)
{
    n->params = arena_array(&p->scratch, struct op_value, op_param_count(n->op));
    RETURN_IF(!n->params, ST_NO_MEMORY, "no memory for parameters");
    if (!accept(p, '{'))
        return ST_OK;
    do
        TRY(param(p, n->op, n->params));
    while (accept(p, ','));
    return expect(p, '}');
}

static enum status node_clamp(struct parser *p, struct ir_node *n)
{
    n->post = OP_POST_NONE;
    if (!accept_word(p, "clamp"))
        return ST_OK;
    double lo, hi;
    TRY(expect(p, '('));
    TRY(real(p, &lo));
    TRY(expect(p, ','));
    TRY(real(p, &hi));
    n->post = (struct op_post){ (float)lo, (float)hi };
    FAIL_IF(!(n->post.lo <= n->post.hi), "the clamp from %g to %g holds nothing", lo, hi);
    return expect(p, ')');
}

static enum status node_sources(struct parser *p, struct ir_node *n)
{
    if (!accept_word(p, "from"))
        return ST_OK;
    do {
        const char *one;
        TRY(quoted(p, &one));
        FAIL_IF(!*one || strchr(one, '\n'), "the name of a source is one line");
        n->source = ir_join_sources(&p->scratch, n->source, one);
    } while (accept(p, ','));
    return ST_OK;
}

/* when (%a, !%b) */
static enum status node_guards(struct parser *p, struct ir_node *n)
{
    if (!accept_word(p, "when"))
        return ST_OK;
    n->guards = arena_array(&p->scratch, struct ir_guard, IR_MAX_GUARDS);
    RETURN_IF(!n->guards, ST_NO_MEMORY, "no memory for conditions");
    TRY(expect(p, '('));
    do {
        FAIL_IF(n->n_guards == IR_MAX_GUARDS, "at most %d conditions", IR_MAX_GUARDS);
        struct ir_guard *g = &n->guards[n->n_guards++];
        g->value = !accept(p, '!');
        TRY(operand(p, &g->tensor));
        FAIL_IF(g->tensor == IR_NONE, "a condition cannot be absent");
    } while (accept(p, ','));
    return expect(p, ')');
}

static enum status node(struct parser *p)
{
    uint32_t in[MAX_PORTS], out[MAX_PORTS], aux[MAX_PORTS];
    struct ir_node n = { .in = in, .out = out, .aux = aux };
    char op[64];
    TRY(operands(p, out, &n.n_out, '='));
    for (uint32_t i = 0; i < n.n_out; i++)
        FAIL_IF(out[i] == IR_NONE, "an output cannot be absent");
    TRY(expect(p, '='));
    word(p, op);
    n.op = op_find_any(op);
    FAIL_IF(!n.op, "there is no operator \"%s\"", op);
    TRY(quoted(p, &n.name));
    TRY(expect(p, '('));
    TRY(operands(p, in, &n.n_in, ')'));
    TRY(expect(p, ')'));
    TRY(node_params(p, &n));
    if (accept_word(p, "aux")) {
        TRY(expect(p, '('));
        TRY(operands(p, aux, &n.n_aux, ')'));
        TRY(expect(p, ')'));
        for (uint32_t i = 0; i < n.n_aux; i++)
            FAIL_IF(aux[i] == IR_NONE, "an aux constant cannot be absent");
    }
    TRY(node_clamp(p, &n));
    TRY(node_guards(p, &n));
    TRY(node_sources(p, &n));
    uint32_t index;
    TRY(ir_add_node(p->g, &n, &index));
    p->g->nodes.at[index].post = n.post; /* also a clamp to [0, 0], which ir_add_node takes for none */
    return ST_OK;
}

static enum status parse_graph(struct parser *p);

/* A graph inside the graph. */
static enum status child(struct parser *p)
{
    struct ir_graph *outer = p->g;
    FAIL_IF(p->depth == IR_MAX_GUARDS, "at most %d graphs inside each other", IR_MAX_GUARDS);
    p->depth++;
    p->g = NULL;
    enum status st = parse_graph(p);
    if (st == ST_OK)
        st = ir_find_child(outer, p->g->name) ? fail(p, "there are two graphs named \"%s\"", p->g->name) : ir_take_child(outer, p->g);
    if (st != ST_OK)
        ir_graph_free(p->g);
    p->g = outer;
    p->depth--;
    return st;
}

static enum status body(struct parser *p)
{
    TRY(expect(p, '{'));
    while (!accept(p, '}')) {
        FAIL_IF(p->at >= p->end, "'}' expected");
        if (accept_word(p, "graph")) {
            TRY(child(p));
            continue;
        }
        int role = -1;
        for (int r = 0; r < IR_ROLE_COUNT && role < 0; r++)
            role = accept_word(p, ir_role_words[r]) ? r : -1;
        TRY(role >= 0 ? tensor(p, (enum ir_role)role) : node(p));
    }
    return ST_OK;
}

static enum status parse_graph(struct parser *p)
{
    const char *name;
    TRY(quoted(p, &name));
    TRY(ir_graph_create(name, &p->g));
    return body(p);
}

static enum status parse_text(struct parser *p)
{
    FAIL_IF(!accept_word(p, "graph"), "\"graph\" expected");
    TRY(parse_graph(p));
    FAIL_IF(peek(p) != '\0', "nothing is expected after the graph");
    return ir_verify(p->g, "parsing");
}

enum status ir_parse(const char *text, size_t size, struct ir_graph **ret)
{
    struct parser p = { .at = text, .start = text, .end = text + size };
    arena_init(&p.scratch);
    enum status st = parse_text(&p);
    arena_finish(&p.scratch);
    if (st == ST_OK)
        *ret = p.g;
    else
        ir_graph_free(p.g);
    return st;
}
