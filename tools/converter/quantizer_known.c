/* SPDX-License-Identifier: Apache-2.0 */
/* Weights that a model computes from constants are constants: the float graph runs once, and what it computed takes the
 * place of the nodes. Otherwise they would be quantized like activations, every step on the way with an encoding of its own.
 *
 *     %w = Sin(%k); %y = MatMul(%x, %w)   ->   const %w; %y = MatMul(%x, %w) */
#include <string.h>

#include "base/mem.h"
#include "converter/graph_runner.h"
#include "converter/quantizer.h"

struct known {
    struct ir_graph *g;
    bool *nodes, *tensors, *wanted; /* computed from constants; of the tensors those that others read */
};

/* Weights that are stored in fixed point stay so: the quantizer looks through their Dequantize. */
static bool can_be_known(const struct ir_graph *g, const struct ir_node *n)
{
    static const char *const never[] = {
        "Dequantize", "RandomUniformLike", "RandomNormalLike", "Multinomial", "Buffer", "If"
    };
    for (size_t i = 0; i < sizeof(never) / sizeof(never[0]); i++)
        if (!strcmp(n->op->name, never[i]))
            return false;
    return n->n_in && !n->n_guards && !ir_stateful(g, n);
}

static bool is_known(const struct known *k, const struct ir_node *n)
{
    bool all = can_be_known(k->g, n);
    for (uint32_t i = 0; i < n->n_in && all; i++) {
        const struct ir_tensor *t = n->in[i] == IR_NONE ? NULL : &k->g->tensors.at[n->in[i]];
        all = !t || t->role == IR_ABSENT || (t->role == IR_CONST && !t->updateable) || k->tensors[n->in[i]];
    }
    for (uint32_t i = 0; i < n->n_out && all; i++)
        all = k->g->tensors.at[n->out[i]].role == IR_NATIVE;
    return all;
}

/* Whether there is anything to take over. */
static bool find_known(struct known *k)
{
    bool any = false;
    for (size_t j = 0; j < k->g->nodes.n; j++) {
        const struct ir_node *n = &k->g->nodes.at[j];
        k->nodes[j] = is_known(k, n);
        for (uint32_t i = 0; i < n->n_out && k->nodes[j]; i++)
            k->tensors[n->out[i]] = true;
        for (uint32_t i = 0; i < n->n_in && !k->nodes[j]; i++)
            if (n->in[i] != IR_NONE && k->tensors[n->in[i]])
                any = k->wanted[n->in[i]] = true;
    }
    return any;
}

static enum status take_over(void *arg, struct runner *r, uint64_t done, uint64_t total)
{
    struct known *k = arg;
    (void)done, (void)total;
    for (uint32_t i = 0; i < r->n_out; i++) {
        struct ir_tensor *t = &k->g->tensors.at[r->out_of[i]];
        if (!k->wanted[r->out_of[i]] || t->data)
            continue;
        t->data = arena_dup(&k->g->arena, r->out[i].v1.clientBuf.data, desc_bytes(&t->desc));
        RETURN_IF(!t->data, ST_NO_MEMORY, "no memory for the values of \"%s\"", t->name);
    }
    return ST_OK;
}

/* What was computed becomes constants; all or nothing. */
static enum status replace(struct known *k)
{
    bool all = true;
    for (size_t i = 0; i < k->g->tensors.n; i++)
        all &= !k->wanted[i] || k->g->tensors.at[i].data;
    for (size_t i = 0; i < k->g->tensors.n; i++) {
        struct ir_tensor *t = &k->g->tensors.at[i];
        if (k->wanted[i] && all)
            t->role = IR_CONST;
        else if (k->wanted[i])
            t->data = NULL;
    }
    for (size_t j = 0; j < k->g->nodes.n && all; j++)
        k->g->nodes.at[j].dead = k->nodes[j];
    return all ? ir_compact(k->g) : ST_OK;
}

enum status quantizer_known(const struct quantizer_args *q, struct runner_engine *e, const struct convert_report *report,
                            struct ir_graph *g)
{
    CLEANUP(mem_freep)
    bool *nodes = mem_array(bool, g->nodes.n + 1),
         *tensors = mem_array(bool, g->tensors.n + 1), *wanted = mem_array(bool, g->tensors.n + 1);
    struct known k = { g, nodes, tensors, wanted };
    struct runner r = { 0 };
    RETURN_IF(!nodes || !tensors || !wanted, ST_NO_MEMORY, "no memory for %zu tensors", g->tensors.n);
    if (!find_known(&k))
        return ST_OK;
    enum status st = runner_open(&r, e, g, report, true);
    if (st == ST_OK) {
        struct runner_inputs in = { .list = q->input_list, .native = q->native_inputs, .most = 1 };
        st = runner_run_list(&r, &in, take_over, &k);
    }
    if (r.engine)
        runner_close(&r);
    TRY(st);
    return replace(&k);
}
