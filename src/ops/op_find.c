/* SPDX-License-Identifier: Apache-2.0 */
/* The catalogue: rows by id and by name, and the shape of a row. The rows themselves are in op_table_*.c; a row that is
 * missing there does not link. */
#include <assert.h>
#include <string.h>

#include "ops/op_table.h"

#define OP(name) extern const struct op_def op_row_##name;
#include "ops/op_names.def"
#include "ops/op_internal.def"
#undef OP

extern const struct op_def op_row_package;
static const struct op_def *const rows[OP_COUNT] = {
    [OP_NONE] = &op_row_package,
#define OP(name) [OP_##name] = &op_row_##name,
#include "ops/op_names.def"
#include "ops/op_internal.def"
#undef OP
};

/* The names are in the order of strcmp (a test holds op_names.def to that), so a binary search finds them. */
const struct op_def *op_find(const char *name)
{
    unsigned lo = OP_NONE + 1, hi = OP_PUBLIC_END;
    while (name && lo < hi) {
        unsigned mid = (lo + hi) / 2;
        int order = strcmp(name, rows[mid]->name);
        if (order == 0)
            return rows[mid];
        if (order < 0)
            hi = mid;
        else
            lo = mid + 1;
    }
    return NULL;
}

const struct op_def *op_find_any(const char *name)
{
    for (unsigned id = OP_PUBLIC_END; name && id < OP_COUNT; id++)
        if (strcmp(name, rows[id]->name) == 0)
            return rows[id];
    return name && strcmp(name, op_row_package.name) == 0 ? &op_row_package : op_find(name);
}

const struct op_def *op_get(enum op_id id)
{
    assert((unsigned)id < OP_COUNT);
    return rows[id];
}

uint32_t op_port_count(const struct op_port *ports)
{
    uint32_t n = 0;
    while (ports[n].name)
        n++;
    return n;
}

static const struct op_port *port_at(const struct op_port *ports, uint32_t i)
{
    uint32_t n = op_port_count(ports);
    if (i < n)
        return &ports[i];
    return n > 0 && ports[n - 1].flags & PORT_VARIADIC ? &ports[n - 1] : NULL;
}

const struct op_port *op_in_port(const struct op_def *op, uint32_t i)
{
    return port_at(op->in, i);
}

const struct op_port *op_out_port(const struct op_def *op, uint32_t i)
{
    return port_at(op->out, i);
}

uint32_t op_param_count(const struct op_def *op)
{
    uint32_t n = 0, max = sizeof(op->params) / sizeof(op->params[0]);
    while (n < max && op->params[n].name)
        n++;
    return n;
}

int op_param_index(const struct op_def *op, const char *name)
{
    uint32_t n = op_param_count(op);
    for (uint32_t i = 0; i < n; i++)
        if (!strcmp(op->params[i].name, name))
            return (int)i;
    return -1;
}

bool op_stateful(const struct op_call *c)
{
    uint32_t in = c->op->state_in;
    return c->op->flags & OP_STATEFUL || (in && in < c->n_in && c->in[in]);
}
