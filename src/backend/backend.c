/* SPDX-License-Identifier: Apache-2.0 */
/* Defaults of the backend table: an operator is supported when no public fact about the
 * device speaks against it and there is a kernel for it that takes these types. */
#include "backend/backend.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"
#include "base/mem.h"
#include "kernels/kernels.h"

struct backend_host backend_host;

void backend_log(uint32_t level, const char *fmt, ...)
{
    char text[STATUS_TEXT_MAX];
    va_list ap;
    if (!backend_host.log)
        return;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    backend_host.log(level, text);
}

bool backend_variable_set(const char *variable)
{
    const char *text = getenv(variable);
    return text && *text && strcmp(text, "0") != 0;
}

bool backend_strict(void)
{
    return backend_variable_set("OPENQNN_STRICT");
}

bool backend_has_op(const struct backend *b, enum op_id op)
{
    return (b->has_kernel ? b->has_kernel(op) : kernel_exists(op)) && op_backend_has(b->facts, op);
}

/* Bind for show: kernels refuse what they cannot compute, and say why. */
enum status backend_try_bind(const struct op_call *c)
{
    struct kernel_bound bound;
    CLEANUP(mem_freep) void *args = mem_zalloc(kernel_args_size(c->op->id));
    RETURN_IF(!args, ST_NO_MEMORY, "%s: no memory to look for a kernel", c->op->name);
    return kernel_bind(c, cpu_isa(), args, &bound);
}

enum status backend_supports(const struct backend *b, const struct op_call *c)
{
    RETURN_IF(!backend_has_op(b, c->op->id), ST_NOT_SUPPORTED,
              "%s%s%s%s: the operator is known, but the %s backend has no kernel for it yet", c->op->name,
              c->node ? " \"" : "", c->node ? c->node : "", c->node ? "\"" : "", b->name);
    /* What If has to compute are the nodes of its graphs, and those were asked for one by one. */
    if (c->op->id == OP_If && op_has(c, "then_graph"))
        return ST_OK;
    TRY(op_backend_takes(b->facts, c));
    return b->try_kernel ? b->try_kernel(c) : backend_try_bind(c);
}

static const struct {
    uint16_t key;
    uint8_t columns;
} capabilities[] = {
#define CAPABILITY(key, name, columns) { key, columns },
#include "backend/capabilities.def"
#undef CAPABILITY
};

bool backend_capable(const struct backend *b, uint32_t key)
{
    for (size_t i = 0; i < sizeof(capabilities) / sizeof(capabilities[0]); i++)
        if (capabilities[i].key == key)
            return capabilities[i].columns & b->column;
    return false;
}
