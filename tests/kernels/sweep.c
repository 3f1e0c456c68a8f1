/* SPDX-License-Identifier: Apache-2.0 */
/* One promise for all operators: what op_check accepts, a kernel takes. Starting from a case that ran, the data types of its
 * tensors are exchanged (those that were equal together, each one alone, and in pairs), its fixed-point tensors get every
 * kind of encoding, and its parameters every value that the row allows; every call that op_check accepts must bind. Nothing
 * is run. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe.h"

struct sweep {
    struct probe_run *r;
    void *args;
    char *text;
    size_t size, used;
    uint32_t tried, accepted, gaps;
};

static struct tensor_desc *port(struct sweep *s, uint32_t i)
{
    return &s->r->desc[i];
}

static uint32_t ports(const struct sweep *s)
{
    return s->r->call.n_in + s->r->call.n_out;
}

static bool present(const struct sweep *s, uint32_t i)
{
    return i >= s->r->call.n_in || s->r->in[i];
}

static void add(struct sweep *s, const char *text)
{
    int n = snprintf(s->text + s->used, s->size - s->used, "%s", text);
    s->used = s->used + (size_t)n < s->size ? s->used + (size_t)n : s->size - 1;
}

static void report(struct sweep *s)
{
    char line[1600], types[512] = "";
    size_t used = 0;
    for (uint32_t i = 0; i < ports(s) && used < sizeof(types) - 16; i++)
        used += (size_t)snprintf(types + used, sizeof(types) - used, "%s%s", i == s->r->call.n_in ? " > " : i ? " " : "",
                                 present(s, i) ? dtype_name(port(s, i)->type) : "-");
    snprintf(line, sizeof(line), "%s\t%s\t%.1000s\n", s->r->call.op->name, types, status_text());
    add(s, line);
    s->gaps++;
}

static void try_one(struct sweep *s)
{
    struct kernel_bound b;
    s->tried++;
    if (op_check(&s->r->call) != ST_OK)
        return;
    s->accepted++;
    if (kernel_bind(&s->r->call, ISA_REF, s->args, &b) != ST_OK)
        report(s);
}

/* Another type for a tensor. Contents that were known are those of another type, so they are forgotten. */
static void set_type(struct sweep *s, uint32_t i, enum dtype t)
{
    struct tensor_desc *d = port(s, i);
    if (d->type == t)
        return;
    d->type = t;
    if (i < s->r->call.n_in)
        s->r->in_data[i] = NULL;
    if (dtype_is_fixed(t) && d->q.kind == Q_NONE)
        d->q = (struct quant){.kind = Q_TENSOR, .definition = 1, .scale = 0.125f};
    if (d->q.kind == Q_TENSOR && dtype_is_fixed(t))
        d->q.offset = 0;
    if (!dtype_is_fixed(t))
        d->q = (struct quant){0};
    else if (d->q.bits > dtype_bits(t))
        d->q.bits = 0;
}

struct saved {
    struct tensor_desc desc[KERNEL_MAX_OPERANDS];
    const void *in_data[KERNEL_MAX_OPERANDS];
};

static void save(const struct sweep *s, struct saved *k)
{
    memcpy(k->desc, s->r->desc, sizeof(k->desc));
    memcpy(k->in_data, s->r->in_data, sizeof(k->in_data));
}

static void restore(struct sweep *s, const struct saved *k)
{
    memcpy(s->r->desc, k->desc, sizeof(k->desc));
    memcpy(s->r->in_data, k->in_data, sizeof(k->in_data));
}

/* All tensors of the type `from` (in the case as it came) get `to`. */
static void set_group(struct sweep *s, const struct saved *k, enum dtype from, enum dtype to)
{
    for (uint32_t i = 0; i < ports(s); i++)
        if (present(s, i) && k->desc[i].type == from)
            set_type(s, i, to);
}

/* Two groups at a time; with b == a, one. */
static void sweep_groups(struct sweep *s, const struct saved *k, enum dtype a, enum dtype b)
{
    for (unsigned x = 1; x < DT_COUNT; x++)
        for (unsigned y = 1; y < (b == a ? 2u : (unsigned)DT_COUNT); y++) {
            set_group(s, k, a, (enum dtype)x);
            if (b != a)
                set_group(s, k, b, (enum dtype)y);
            try_one(s);
            restore(s, k);
        }
}

static void sweep_ports(struct sweep *s, const struct saved *k, uint32_t i, uint32_t j)
{
    for (unsigned x = 1; x < DT_COUNT; x++)
        for (unsigned y = 1; y < (i == j ? 2u : (unsigned)DT_COUNT); y++) {
            set_type(s, i, (enum dtype)x);
            if (i != j)
                set_type(s, j, (enum dtype)y);
            try_one(s);
            restore(s, k);
        }
}

static void sweep_types(struct sweep *s)
{
    struct saved k;
    uint32_t seen = 0;
    save(s, &k);
    for (uint32_t i = 0; i < ports(s); i++)
        seen |= present(s, i) ? T_(port(s, i)->type) : 0;
    for (unsigned a = 1; a < DT_COUNT; a++)
        for (unsigned b = a; b < DT_COUNT; b++)
            if (seen & T_(a) && seen & T_(b))
                sweep_groups(s, &k, (enum dtype)a, (enum dtype)b);
    for (uint32_t i = 0; i < ports(s); i++)
        for (uint32_t j = i; j < ports(s) && j < i + 3; j++)
            if (present(s, i) && present(s, j))
                sweep_ports(s, &k, i, j);
}

/* ---- encodings --------------------------------------------------------------------------------------------------- */

enum { MANY = 1 << 12 };
struct arrays {
    float scales[MANY], float_offsets[MANY];
    uint8_t block_scales[MANY];
};

/* Encoding number k of a tensor: per axis, in blocks along each dimension, expansions, float blocks, fewer bits. False:
 * there are no more. */
static bool encoding(const struct tensor_desc *d, const struct arrays *a, unsigned k, struct quant *q)
{
    static const struct {
        uint8_t kind, bits, mapping;
    } kinds[] = {
        {Q_TENSOR, 2, 0}, {Q_TENSOR, 4, 0}, {Q_AXIS, 0, 0}, {Q_AXIS, 2, 0},   {Q_AXIS, 4, 0},        {Q_AXIS, 0, 2},
        {Q_BLOCK, 0, 0},  {Q_BLOCK, 4, 1},  {Q_EXPANSION, 4, 0}, {Q_VECTOR, 0, 0}, {Q_FLOAT_BLOCK, 0, 0},
    };
    unsigned n = sizeof(kinds) / sizeof(kinds[0]), axis = k / n;
    if (axis >= d->rank)
        return false;
    *q = (struct quant){ .kind = kinds[k % n].kind,
                         .definition = 1,
                         .bits = kinds[k % n].bits,
                         .mapping = kinds[k % n].mapping,
                         .axis = (int32_t)axis,
                         .scale = 0.5f,
                         .scales = a->scales,
                         .n = d->dims[axis],
                         .blocks_per_axis = 1,
                         .block_scale_bits = 4,
                         .block_scale_storage = 8,
                         .block_scales = a->block_scales };
    for (unsigned i = 0; i < d->rank; i++)
        q->block[i] = i == axis ? 1 : d->dims[i];
    if (q->kind == Q_FLOAT_BLOCK)
        q->float_offsets = a->float_offsets;
    return true;
}

static void sweep_encodings(struct sweep *s)
{
    static struct arrays a;
    struct saved k;
    struct quant q;
    for (uint32_t i = 0; i < MANY; i++) {
        a.scales[i] = 0.25f;
        a.block_scales[i] = 3;
    }
    save(s, &k);
    for (uint32_t i = 0; i < ports(s); i++)
        for (unsigned e = 0; present(s, i) && dtype_is_fixed(port(s, i)->type) && encoding(port(s, i), &a, e, &q); e++) {
            if (q.n <= MANY && q.bits <= dtype_bits(port(s, i)->type)) {
                port(s, i)->q = q;
                try_one(s);
            }
            restore(s, &k);
        }
}

/* Every value of parameters that have few. */
static void sweep_params(struct sweep *s)
{
    const struct op_def *op = s->r->call.op;
    for (uint32_t i = 0; i < op_param_count(op); i++) {
        const struct op_param *p = &op->params[i];
        struct op_value old = s->r->params[i];
        uint32_t value, n = p->type == DT_B8 ? 2 : p->limit;
        for (value = 0; p->rank == 0 && value < n; value++) {
            uint8_t flag = (uint8_t)value;
            s->r->params[i] =
                (struct op_value){ .type = p->type, .count = 1, .data = p->type == DT_B8 ? (const void *)&flag : &value };
            try_one(s);
        }
        s->r->params[i] = old;
    }
}

/* Lines "operator, types, what the kernel said" into text; *ret_accepted: how many calls op_check accepted. Returns the
 * number of gaps, -1: the case itself makes no sense. */
EXPORT int probe_sweep(struct probe_case *c, char *text, uint32_t size, uint32_t *ret_accepted)
{
    struct sweep s = {.r = calloc(1, sizeof(*s.r)), .text = text, .size = size};
    int gaps = -1;
    if (size)
        text[0] = 0;
    *ret_accepted = 0;
    if (s.r && size && probe_fill_call(s.r, c) == ST_OK && kernel_exists(s.r->call.op->id)) {
        s.args = calloc(1, kernel_args_size(s.r->call.op->id));
        s.r->call.post = OP_POST_NONE; /* passes fuse clamps only where there is room for one */
        if (s.args) {
            sweep_types(&s);
            sweep_encodings(&s);
            sweep_params(&s);
            gaps = (int)s.gaps;
            *ret_accepted = s.accepted;
        }
    }
    free(s.args);
    free(s.r);
    return gaps;
}
