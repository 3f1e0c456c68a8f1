/* SPDX-License-Identifier: Apache-2.0 */
/* Which operators LPAI takes: those that have a kernel, unless a public fact (src/ops/op_backend.c) speaks against them. */
#include "backend/lpai/lpai_backend.h"
#include "base/cpu.h"
#include "base/mem.h"
#include "kernels/kernels.h"

bool lpai_has_op(enum op_id op)
{
    return kernel_exists(op) && op_backend_has(OP_BACKEND_LPAI, op);
}

enum status lpai_supports(const struct op_call *c)
{
    TRY(op_backend_takes(OP_BACKEND_LPAI, c));
    struct kernel_bound bound;
    CLEANUP(mem_freep) void *args = mem_zalloc(kernel_args_size(c->op->id));
    RETURN_IF(!args, ST_NO_MEMORY, "%s: no memory to look for a kernel", c->op->name);
    return kernel_bind(c, cpu_isa(), args, &bound);
}
