/* SPDX-License-Identifier: Apache-2.0 */
/* Computes nodes whose inputs are all constant, with the same kernels that would run them later.
 *
 *     const %a, const %b; %t = Add(%a, %b); %y = Mul(%x, %t)   ->   const %t; %y = Mul(%x, %t)
 *
 * Results that would make the binary much larger than what they were made from are left to run time. */
#include "base/mem.h"
#include "prepare/cx.h"

enum { FOLD_FREE_BYTES = 1 << 20, FOLD_GROWTH = 4 };

static bool foldable(const struct ir_graph *g, const struct ir_node *n)
{
    uint64_t in = 0, out = 0;
    if (n->op->flags & OP_RANDOM || ir_stateful(g, n))
        return false;
    for (uint32_t i = 0; i < n->n_in; i++) {
        if (n->in[i] == IR_NONE || g->tensors.at[n->in[i]].role == IR_ABSENT)
            continue;
        const struct ir_tensor *t = &g->tensors.at[n->in[i]];
        if (t->role != IR_CONST || !t->data || t->updateable)
            return false;
        in += desc_bytes(&t->desc);
    }
    for (uint32_t i = 0; i < n->n_out; i++) {
        const struct ir_tensor *t = &g->tensors.at[n->out[i]];
        if (t->role != IR_NATIVE || t->desc.dynamic)
            return false;
        out += desc_bytes(&t->desc);
    }
    return out <= FOLD_FREE_BYTES || out / FOLD_GROWTH <= in;
}

static enum status make_aux(struct prepare_cx *cx, struct ir_call *v)
{
    struct kernel_aux want;
    TRY(kernel_aux(&v->call, &want));
    for (uint32_t i = 0; i < want.n; i++) {
        void *p = arena_alloc(&cx->arena, want.bytes[i] + 64);
        RETURN_IF(!p, ST_NO_MEMORY, "no memory for constants of node \"%s\"", v->call.node);
        v->aux[i] = (void *)(((uintptr_t)p + 63) & ~(uintptr_t)63);
        TRY(kernel_aux_fill(&v->call, i, (void *)v->aux[i]));
    }
    v->call.n_aux = want.n;
    return ST_OK;
}

enum status fold_run(struct prepare_cx *cx, const struct ir_node *n, void *const *out)
{
    struct ir_call v;
    void *data[2 * MAX_PORTS];
    struct kernel_bound k;
    ir_call(cx->g, n, &v);
    TRY(make_aux(cx, &v));
    CLEANUP(mem_freep) void *args = mem_zalloc(kernel_args_size(n->op->id));
    RETURN_IF(!args, ST_NO_MEMORY, "no memory for node \"%s\"", n->name);
    TRY(kernel_bind(&v.call, cpu_isa(), args, &k));
    CLEANUP(mem_freep) void *work = mem_alloc_aligned(64, k.work_bytes + 64);
    RETURN_IF(!work, ST_NO_MEMORY, "no memory for node \"%s\"", n->name);
    for (uint32_t i = 0; i < n->n_in; i++)
        data[i] = (void *)v.in_data[i];
    for (uint32_t i = 0; i < n->n_out; i++)
        data[n->n_in + i] = out[i];
    struct kernel_call call = { .args = args, .data = data, .work = work };
    k.run(&call, (struct range){ 0, k.extent });
    return ST_OK;
}

static enum status fold_node(struct prepare_cx *cx, struct ir_node *n)
{
    struct ir_graph *g = cx->g;
    void *out[MAX_PORTS];
    for (uint32_t i = 0; i < n->n_out; i++) {
        out[i] = arena_alloc(&g->arena, desc_bytes(&g->tensors.at[n->out[i]].desc) + 64);
        RETURN_IF(!out[i], ST_NO_MEMORY, "no memory for the value of \"%s\"", g->tensors.at[n->out[i]].name);
    }
    TRY(fold_run(cx, n, out));
    for (uint32_t i = 0; i < n->n_out; i++) {
        struct ir_tensor *t = &g->tensors.at[n->out[i]];
        t->role = IR_CONST;
        t->data = out[i];
    }
    n->dead = true;
    return ST_OK;
}

enum status opt_fold(struct prepare_cx *cx, bool *progress)
{
    for (size_t k = 0; k < cx->g->nodes.n; k++) {
        struct ir_node *n = &cx->g->nodes.at[k];
        if (n->dead || !foldable(cx->g, n))
            continue;
        TRY(prepare_interrupted(cx));
        TRY(fold_node(cx, n));
        *progress = true;
    }
    return *progress ? ir_compact(cx->g) : ST_OK;
}
