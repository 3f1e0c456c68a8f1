/* SPDX-License-Identifier: Apache-2.0 */
/* Which operators LPAI takes: those that have a kernel, in 8- and 16-bit fixed point, with a few known exceptions. */
#include "backend/lpai/lpai_backend.h"
#include "base/cpu.h"
#include "base/mem.h"
#include "kernels/kernels.h"

/* Known not to be on the accelerator, whatever kernels there are. */
static const uint16_t refused[] = { OP_Pack, OP_UnPack, OP_TransposeConv3d };

/* Operands that may be float32 in an otherwise fixed-point graph: bits of inputs and outputs. */
static const struct {
    uint16_t op;
    uint32_t in, out;
} float_ports[] = {
    { OP_Batchnorm, 1u << 1 | 1u << 2, 0 },
    { OP_Quantize, 1u << 0, 0 },
    { OP_Dequantize, 0, 1u << 0 },
    { OP_Cast, 1u << 0, 1u << 0 },
};

bool lpai_has_op(enum op_id op)
{
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
        if (refused[i] == op)
            return false;
    return kernel_exists(op);
}

static bool float_allowed(const struct op_call *c, uint32_t port, bool output)
{
    for (size_t i = 0; i < sizeof float_ports / sizeof float_ports[0]; i++)
        if (float_ports[i].op == c->op->id)
            return port < 32 && (output ? float_ports[i].out : float_ports[i].in) >> port & 1;
    return false;
}

static enum status check_port(const struct op_call *c, uint32_t port, bool output)
{
    const struct tensor_desc *d = output ? c->out[port] : c->in[port];
    if (!d)
        return ST_OK;
    const char *kind = output ? "output" : "input", *node = c->node ? c->node : "";
    RETURN_IF(dtype_is_float(d->type) && !(d->type == DT_F32 && float_allowed(c, port, output)), ST_NOT_SUPPORTED,
              "%s \"%s\": %s %u has type %s; LPAI computes in 8- and 16-bit fixed point only: quantize the model first", c->op->name, node, kind, port,
              dtype_name(d->type));
    RETURN_IF(d->dynamic, ST_NOT_SUPPORTED, "%s \"%s\": %s %u has dynamic dimensions; memory of LPAI graphs is planned for fixed ones", c->op->name, node,
              kind, port);
    return ST_OK;
}

enum status lpai_supports(const struct op_call *c)
{
    for (uint32_t i = 0; i < c->n_in; i++)
        TRY(check_port(c, i, false));
    for (uint32_t i = 0; i < c->n_out; i++)
        TRY(check_port(c, i, true));
    struct kernel_bound bound;
    CLEANUP(mem_freep) void *args = mem_zalloc(kernel_args_size(c->op->id));
    RETURN_IF(!args, ST_NO_MEMORY, "%s: no memory to look for a kernel", c->op->name);
    return kernel_bind(c, cpu_isa(), args, &bound);
}
