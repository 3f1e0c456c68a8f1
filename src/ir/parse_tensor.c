/* SPDX-License-Identifier: Apache-2.0 */
/* A tensor of the text form: %name : type[dimensions], then attributes in any order, each a row of a table, then data. */
#include <stddef.h>
#include <string.h>

#include "ir/ir_parse.h"

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
    TRY(parse_numbers(p, a->list, &data, &n));
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
        FAIL_IF(l->axis[i] > UINT32_MAX || (first && l->axis[i] != q->n), "%s has %llu entries; %u are expected, as in %s",
                names[i], (unsigned long long)l->axis[i], q->n, first ? first : names[i]);
        q->n = (uint32_t)l->axis[i];
        first = first ? first : names[i];
    }
    FAIL_IF(q->block_scales && l->blocks != (uint64_t)q->n * q->blocks_per_axis,
            "%llu block scales; %u scales times %u blocks are expected", (unsigned long long)l->blocks, q->n,
            q->blocks_per_axis);
    return ST_OK;
}

static enum status attribute_value(struct parser *p, const struct attribute *a, struct ir_tensor *t, struct list_lengths *l)
{
    char *to = (char *)t + a->offset;
    if (a->kind == A_FLAG) {
        *(bool *)to = true;
        return ST_OK;
    }
    TRY(parse_expect(p, '='));
    if (a->kind == A_LIST)
        return list_attribute(p, a, t, l);
    if (a->kind == A_FLOAT) {
        double v;
        TRY(parse_real(p, &v));
        /* cppcheck-suppress invalidPointerCast ; the row of the table says that a float lies there */
        *(float *)to = (float)v;
        t->desc.q.kind = Q_TENSOR;
        return ST_OK;
    }
    int64_t v;
    TRY(parse_integer(p, integer_kinds[a->kind].lo, integer_kinds[a->kind].hi, &v));
    memcpy(to, &v, integer_kinds[a->kind].bytes); /* little-endian host */
    return ST_OK;
}

static enum status block_attribute(struct parser *p, struct ir_tensor *t)
{
    const void *data;
    uint64_t n;
    TRY(parse_expect(p, '='));
    TRY(parse_numbers(p, DT_U32, &data, &n));
    FAIL_IF(n != t->desc.rank, "block has %llu entries; the rank is %u", (unsigned long long)n, t->desc.rank);
    memcpy(t->desc.q.block, data, n * sizeof(uint32_t));
    return ST_OK;
}

static enum status tensor_attributes(struct parser *p, struct ir_tensor *t)
{
    struct list_lengths lengths = { .given = 0 };
    t->desc.q.definition = 1;
    for (;;) {
        if (parse_accept_word(p, "block")) {
            TRY(block_attribute(p, t));
            continue;
        }
        const struct attribute *a = NULL;
        for (size_t i = 0; i < sizeof attributes / sizeof attributes[0] && !a; i++)
            if (parse_accept_word(p, attributes[i].key))
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
    parse_position(p, &line, &column); /* goes through the text */
    return status_prefix(st, "line %u, column %u", line, column);
}

static enum status constant(struct parser *p, struct ir_tensor *t)
{
    uint64_t bytes;
    bool raw =
        parse_peek(p) == 'x' && t->desc.type == DT_U8 && t->desc.rank == 1; /* how the bytes that kernels made are printed */
    TRY(parse_values(p, t->desc.type, &t->data, &bytes));
    FAIL_IF(bytes != desc_bytes(&t->desc), "tensor \"%s\" has %llu bytes of data; its type needs %llu", t->name,
            (unsigned long long)bytes, (unsigned long long)desc_bytes(&t->desc));
    t->raw_bytes = raw ? bytes : 0;
    return ST_OK;
}

enum status parse_tensor(struct parser *p, enum ir_role role)
{
    struct ir_tensor t = { .role = (uint8_t)role };
    TRY(parse_tensor_name(p, &t.name));
    FAIL_IF(ir_find_tensor(p->g, t.name) != IR_NONE, "tensor \"%s\" is declared twice", t.name);
    TRY(parse_expect(p, ':'));
    TRY(parse_type(p, &t.desc.type));
    TRY(parse_expect(p, '['));
    TRY(parse_dims(p, &t.desc.rank, t.desc.dims, &t.desc.dynamic));
    TRY(tensor_attributes(p, &t));
    if (role != IR_ABSENT)
        TRY(checked_desc(p, &t));
    FAIL_IF(role == IR_CONST && !t.stripped && parse_peek(p) != '=', "a constant needs data");
    if (role == IR_CONST && parse_accept(p, '='))
        TRY(constant(p, &t));
    uint32_t index;
    return ir_add_tensor(p->g, &t, &index);
}
