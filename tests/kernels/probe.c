/* SPDX-License-Identifier: Apache-2.0 */
/* Test-only shared library: run one operator from another language. It goes the way the engine goes (check, constants, bind,
 * tiles), so an oracle written in Python compares exactly what a graph would compute. Nothing here knows any operator. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/gpu/gpu_launch.h"
#include "probe.h"

/* Exactly as many bytes as asked for, so that the address sanitizer sees the first one too many. */
static void *exact_alloc(size_t bytes)
{
    void *p;
    return posix_memalign(&p, 64, bytes ? bytes : 1) ? NULL : p;
}

static void fill_desc(struct tensor_desc *d, const struct probe_tensor *t)
{
    *d = (struct tensor_desc){ .type = (enum dtype)t->type, .rank = (uint8_t)t->rank };
    memcpy(d->dims, t->dims, sizeof d->dims);
    d->q = (struct quant){
        .kind = (uint8_t)t->quant_kind, .definition = 1, .bits = (uint8_t)t->bits, .axis = t->axis, .n = t->n
    };
    if (t->quant_kind == Q_TENSOR) {
        d->q.n = 0;
        d->q.scale = t->scales[0];
        d->q.offset = t->offsets ? t->offsets[0] : 0;
    } else if (t->quant_kind != Q_NONE) {
        d->q.scales = t->scales;
        d->q.offsets = t->offsets;
        d->q.float_offsets = t->float_offsets;
        d->q.blocks_per_axis = t->blocks_per_axis;
        d->q.block_scale_storage = (uint8_t)t->block_scale_storage;
        d->q.block_scale_bits = (uint8_t)t->block_scale_bits;
        d->q.block_scales = t->block_scales;
        memcpy(d->q.block, t->block, sizeof d->q.block);
    }
    d->q.mapping = (uint8_t)t->mapping;
}

enum status probe_fill_call(struct probe_run *r, struct probe_case *c)
{
    const struct op_def *op = op_find(c->op);
    RETURN_IF(!op, ST_NOT_FOUND, "no operator is called \"%s\"", c->op);
    RETURN_IF(c->n_in + c->n_out > KERNEL_MAX_OPERANDS, ST_INVALID_ARG, "too many operands");
    for (uint32_t i = 0; i < c->n_in + c->n_out; i++) {
        const struct probe_tensor *t = i < c->n_in ? &c->in[i] : &c->out[i - c->n_in];
        fill_desc(&r->desc[i], t);
        if (i >= c->n_in)
            r->out[i - c->n_in] = &r->desc[i];
        else if (!t->absent)
            r->in[i] = &r->desc[i];
        r->data[i] = t->absent ? NULL : t->data;
        if (i < c->n_in && t->is_constant && !t->absent)
            r->in_data[i] = t->data;
    }
    for (uint32_t i = 0; i < c->n_params; i++) {
        const struct probe_param *p = &c->params[i];
        int at = op_param_index(op, p->name);
        RETURN_IF(at < 0, ST_NOT_FOUND, "%s has no parameter \"%s\"", c->op, p->name);
        struct op_value *v = &r->params[at];
        *v = (struct op_value){ .type = (enum dtype)p->type, .rank = (uint8_t)p->rank, .count = p->count, .data = p->data };
        memcpy(v->dims, p->dims, sizeof v->dims);
    }
    r->call = (struct op_call){ .op = op, .node = "probe", .n_in = c->n_in, .n_out = c->n_out, .in = r->in, .out = r->out,
                                .params = r->params, .in_data = r->in_data, .post = { c->post_lo, c->post_hi } };
    return ST_OK;
}

static enum status make_aux(struct probe_run *r)
{
    struct kernel_aux want;
    TRY(kernel_aux(&r->call, &want));
    for (uint32_t i = 0; i < want.n; i++) {
        r->aux[i] = exact_alloc(want.bytes[i]);
        memset(r->aux[i], 0xa5, want.bytes[i]);
        TRY(kernel_aux_fill(&r->call, i, r->aux[i]));
    }
    r->call.aux = (const void *const *)r->aux;
    r->call.n_aux = want.n;
    /* What the constants replace is gone when the graph runs: a kernel that still reads it must fail here. */
    for (uint32_t i = 0; i < r->call.n_in; i++)
        if (want.n && (want.replaces >> i & 1)) {
            r->data[i] = NULL;
            r->in_data[i] = NULL;
        }
    return ST_OK;
}

/* L listed, S silent, R refused; the GPU has kernels of its own, and what does not bind to them is refused. */
static void note_facts(const struct op_call *call, char *facts)
{
    struct gpu_work w = { 0 };
    for (unsigned i = 0; i < OP_BACKEND_COUNT; i++)
        facts[i] = "LSR"[op_backend_fact((enum op_backend)i, call)];
    if (gpu_bind(call, &w) != ST_OK)
        facts[OP_BACKEND_GPU] = 'R';
    vec_finish(&w.launches);
    status_clear();
}

static enum status run_tiles(struct probe_run *r, struct probe_case *c)
{
    struct kernel_bound b;
    TRY(op_check(&r->call));
    RETURN_IF(!kernel_exists(r->call.op->id), ST_NOT_SUPPORTED, "no kernel for %s", c->op);
    if (c->use_aux)
        TRY(make_aux(r));
    r->args = exact_alloc(kernel_args_size(r->call.op->id));
    TRY(kernel_bind(&r->call, (enum isa)c->isa, r->args, &b));
    snprintf(c->kernel, sizeof c->kernel, "%s", b.name);
    note_facts(&r->call, c->facts);
    r->work = exact_alloc(b.work_bytes);
    r->state = exact_alloc(b.state_bytes);
    c->state_bytes = b.state_bytes;
    RETURN_IF(c->state && c->state_room < b.state_bytes, ST_INVALID_ARG, "a state of %llu bytes",
              (unsigned long long)b.state_bytes);
    memset(r->state, 0, b.state_bytes);
    if (c->state)
        memcpy(r->state, c->state, b.state_bytes);
    _Atomic uint32_t ended = 0;
    uint32_t tiles = c->tiles ? c->tiles : 1;
    /* Last tile first: a kernel may not depend on the order of tiles, except that phases follow each other. */
    uint32_t phases = b.phases > 1 ? b.phases : 1, units = b.extent / phases;
    void *shared = b.phases > 1 ? exact_alloc(b.work_bytes) : NULL;
    tiles = tiles > units ? units : tiles;
    if (shared)
        memset(shared, 0xee, b.work_bytes);
    for (uint32_t k = 0; k < phases; k++)
        for (uint32_t i = tiles; i-- > 0;) {
            struct range t = { k * units + (uint32_t)((uint64_t)units * i / tiles),
                               k * units + (uint32_t)((uint64_t)units * (i + 1) / tiles) };
            memset(r->work, 0xee, b.work_bytes);
            b.run(&(struct kernel_call){ .args = r->args,
                                         .data = r->data,
                                         .work = r->work,
                                         .shared = shared,
                                         .state = r->state,
                                         .ended = &ended },
                  t);
        }
    free(shared);
    if (c->state)
        memcpy(c->state, r->state, b.state_bytes);
    c->ended = ended;
    return ST_OK;
}

EXPORT int probe_run(struct probe_case *c)
{
    struct probe_run *r = calloc(1, sizeof *r);
    if (!r)
        return ST_NO_MEMORY;
    c->kernel[0] = c->text[0] = 0;
    memset(c->facts, 0, sizeof c->facts);
    enum status st = probe_fill_call(r, c);
    if (st == ST_OK)
        st = run_tiles(r, c);
    if (st != ST_OK)
        snprintf(c->text, sizeof c->text, "%s: %s", status_name(st), status_text());
    for (int i = 0; i < KERNEL_MAX_AUX; i++)
        free(r->aux[i]);
    free(r->args);
    free(r->work);
    free(r->state);
    free(r);
    return st;
}

EXPORT int probe_dtype(const char *name)
{
    return dtype_from_name(name);
}

EXPORT int probe_isa(void)
{
    return cpu_isa();
}

EXPORT int probe_struct_size(void)
{
    return (int)sizeof(struct probe_case);
}
