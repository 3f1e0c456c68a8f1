/* SPDX-License-Identifier: Apache-2.0 */
/* What is publicly known about operators on each backend, from op_facts.def. Three answers: listed, not mentioned, refused.
 * Only a fact refuses: LPAI computes in fixed point and plans memory for fixed shapes, GPU computes in float. */
#include "ops/op_rules.h"

enum { CPU_F = 1, CPU_Q = 2, HTP = 4, FP16 = 8, LATER = 16, LPAI = 32, NO_LPAI = 64, GPU = 128, NOTHING = 0 };

enum {
    UQ8 = T_(DT_UQ8),
    SQ8 = T_(DT_SQ8),
    UQ16 = T_(DT_UQ16),
    SQ16 = T_(DT_SQ16),
    SQ32 = T_(DT_SQ32),
    F32 = T_(DT_F32),
    F16 = T_(DT_F16),
    I32 = T_(DT_I32),
    I64 = T_(DT_I64),
    U8 = T_(DT_U8),
    U16 = T_(DT_U16),
    U32 = T_(DT_U32),
    B8 = T_(DT_B8),
};

static const struct facts {
    uint8_t flags, rank;
    uint32_t in[3], out;
} facts[OP_COUNT] = {
#define FACTS(op, listed, rank, a, b, c, out) [OP_##op] = {listed, rank, {a, b, c}, out},
#define GPU_TYPES(op, a, b, out)
#include "ops/op_facts.def"
#undef FACTS
#undef GPU_TYPES
};

static const struct gpu_types {
    uint32_t in[2], out;
} gpu_types[OP_COUNT] = {
#define FACTS(op, listed, rank, a, b, c, out)
#define GPU_TYPES(op, a, b, out) [OP_##op] = {{a, b}, out},
#include "ops/op_facts.def"
#undef FACTS
#undef GPU_TYPES
};

/* Operands that may be float32 in an otherwise fixed-point LPAI graph: bits of inputs and outputs. */
static const struct {
    uint16_t op;
    uint32_t in, out;
} lpai_floats[] = {
    {OP_Batchnorm, 1u << 1 | 1u << 2, 0},
    {OP_Quantize, 1u << 0, 0},
    {OP_Dequantize, 0, 1u << 0},
    {OP_Cast, 1u << 0, 1u << 0},
};

/* ---- listed ------------------------------------------------------------------------------------------------------ */

static bool within(const struct tensor_desc *d, uint32_t types)
{
    return !d || types == 0 || types & T_(d->type);
}

static bool all_float(const struct op_call *c)
{
    for (uint32_t i = 0; i < c->n_in; i++)
        if (c->in[i] && dtype_is_fixed(c->in[i]->type))
            return false;
    return c->n_in > 0 && c->in[0] && T_(c->in[0]->type) & T_FLOAT;
}

static bool listed_cpu(const struct facts *f, const struct op_call *c)
{
    uint32_t x = c->n_in > 0 && c->in[0] ? T_(c->in[0]->type) : 0;
    return (f->flags & CPU_F && x & T_F32) || (f->flags & CPU_Q && x & T_Q8);
}

static bool listed_htp(const struct facts *f, const struct op_call *c)
{
    for (uint32_t i = 0; i < c->n_in; i++)
        if (f->rank && c->in[i] && c->in[i]->rank > f->rank)
            return false;
    if (all_float(c) && f->flags & FP16)
        return true;
    if (!(f->flags & HTP) || !f->in[0])
        return false;
    for (uint32_t i = 0; i < c->n_in; i++)
        if (!within(c->in[i], i < 3 ? f->in[i] : 0))
            return false;
    return within(c->n_out > 0 ? c->out[0] : NULL, f->out);
}

/* The page has 8- and 16-bit fixed point; floats that get here are at one of the ports for them. */
static bool listed_lpai(const struct facts *f, const struct op_call *c)
{
    return f->flags & LPAI && within(c->n_in > 0 ? c->in[0] : NULL, T_Q | T_F32);
}

static bool listed_gpu(const struct facts *f, const struct op_call *c)
{
    const struct gpu_types *g = &gpu_types[c->op->id];
    uint32_t x = g->in[0] ? g->in[0] : T_FLOAT;
    return f->flags & GPU && within(c->n_in > 0 ? c->in[0] : NULL, x) && within(c->n_in > 1 ? c->in[1] : NULL, g->in[1]) &&
           within(c->n_out > 0 ? c->out[0] : NULL, g->out);
}

/* ---- refused ----------------------------------------------------------------------------------------------------- */

struct port {
    const struct tensor_desc *d;
    uint32_t at;
    bool output;
};

static bool lpai_float(const struct op_call *c, const struct port *p)
{
    for (size_t i = 0; i < sizeof(lpai_floats) / sizeof(lpai_floats[0]); i++)
        if (lpai_floats[i].op == c->op->id)
            return p->at < 32 && (p->output ? lpai_floats[i].out : lpai_floats[i].in) >> p->at & 1;
    return false;
}

static enum status port_refuse(const struct op_call *c, const struct port *p, const char *why)
{
    char text[DESC_TEXT_MAX];
    return status_fail(ST_NOT_SUPPORTED, "%s \"%s\": %s %u is %s; %s", c->op->name, c->node ? c->node : "",
                       p->output ? "output" : "input", p->at, desc_text(p->d, text), why);
}

static enum status lpai_port(const struct op_call *c, const struct port *p)
{
    if (dtype_is_float(p->d->type) && !(p->d->type == DT_F32 && lpai_float(c, p)))
        return port_refuse(c, p, "LPAI computes in 8- and 16-bit fixed point only: quantize the model first");
    if (p->d->dynamic)
        return port_refuse(c, p, "it has dynamic dimensions, and memory of LPAI graphs is planned for fixed ones");
    return ST_OK;
}

/* Weights and tables in blocks of 4 bits and what Dequantize reads are all the fixed point there is. */
static enum status gpu_port(const struct op_call *c, const struct port *p)
{
    const struct op_port *row = p->output ? op_out_port(c->op, p->at) : op_in_port(c->op, p->at);
    bool weights = !p->output && ((row && row->flags & PORT_AXIS) || rule_looks_up(c));
    if (dtype_is_fixed(p->d->type) && !weights)
        return port_refuse(c, p, "the GPU backend computes in float only: use f32 or f16");
    if (p->d->dynamic)
        return port_refuse(c, p, "the GPU backend has no dynamic dimensions: give it a fixed shape");
    return ST_OK;
}

static enum status each_port(const struct op_call *c, enum status (*check)(const struct op_call *c, const struct port *p))
{
    for (uint32_t i = 0; i < c->n_in; i++)
        if (c->in[i])
            TRY(check(c, &(struct port){c->in[i], i, false}));
    for (uint32_t i = 0; i < c->n_out; i++)
        if (c->out[i])
            TRY(check(c, &(struct port){c->out[i], i, true}));
    return ST_OK;
}

bool op_backend_has(enum op_backend b, enum op_id op)
{
    return b != OP_BACKEND_LPAI || !(facts[op].flags & NO_LPAI);
}

enum status op_backend_takes(enum op_backend b, const struct op_call *c)
{
    static const char *const names[OP_BACKEND_COUNT] = {"CPU", "HTP", "LPAI", "GPU"};
    RETURN_IF(!op_backend_has(b, c->op->id), ST_NOT_SUPPORTED,
              "%s \"%s\": the operator is known not to run on %s; replace it in the model", c->op->name,
              c->node ? c->node : "", names[b]);
    if (b == OP_BACKEND_LPAI)
        return each_port(c, lpai_port);
    return b == OP_BACKEND_GPU ? each_port(c, gpu_port) : ST_OK;
}

enum op_fact op_backend_fact(enum op_backend b, const struct op_call *c)
{
    const struct facts *f = &facts[c->op->id];
    if (op_backend_takes(b, c) != ST_OK)
        return OP_FACT_REFUSED;
    bool listed = b == OP_BACKEND_CPU    ? listed_cpu(f, c)
                  : b == OP_BACKEND_HTP  ? listed_htp(f, c)
                  : b == OP_BACKEND_LPAI ? listed_lpai(f, c)
                                         : listed_gpu(f, c);
    return listed ? OP_FACT_LISTED : OP_FACT_SILENT;
}
