/* SPDX-License-Identifier: Apache-2.0 */
/* Looking at a graph: a node as an op_call, producers and consumers, the verifier that runs after every pass, and
 * compaction. */
#include <string.h>

#include "base/mem.h"
#include "ir/ir.h"

void ir_call(const struct ir_graph *g, const struct ir_node *n, struct ir_call *v)
{
    uint32_t n_in = n->n_in < MAX_PORTS ? n->n_in : MAX_PORTS, n_out = n->n_out < MAX_PORTS ? n->n_out : MAX_PORTS;
    uint32_t n_aux = n->n_aux < 8 ? n->n_aux : 8;
    for (uint32_t i = 0; i < n_in; i++) {
        const struct ir_tensor *t = n->in[i] == IR_NONE ? NULL : &g->tensors.at[n->in[i]];
        bool there = t && t->role != IR_ABSENT;
        v->in[i] = there ? &t->desc : NULL;
        v->in_data[i] = there && t->role == IR_CONST ? t->data : NULL;
    }
    for (uint32_t i = 0; i < n_out; i++)
        v->out[i] = &g->tensors.at[n->out[i]].desc;
    for (uint32_t i = 0; i < n_aux; i++)
        v->aux[i] = g->tensors.at[n->aux[i]].data;
    v->call = (struct op_call){
        .op = n->op, .node = n->name, .n_in = n_in, .n_out = n_out, .n_aux = n_aux, .in = v->in, .out = v->out,
        .params = n->params, .in_data = v->in_data, .aux = v->aux, .post = n->post,
    };
}

enum status ir_check_node(const struct ir_graph *g, const struct ir_node *n)
{
    struct ir_call v;
    RETURN_IF(n->n_in > MAX_PORTS || n->n_out > MAX_PORTS, ST_INVALID_OP,
              "node \"%s\": %u inputs and %u outputs; at most %d of each", n->name, n->n_in, n->n_out, MAX_PORTS);
    ir_call(g, n, &v);
    return op_check(&v.call);
}

bool ir_stateful(const struct ir_graph *g, const struct ir_node *n)
{
    struct ir_call v;
    ir_call(g, n, &v);
    return op_stateful(&v.call);
}

enum status ir_uses(const struct ir_graph *g, struct arena *a, struct ir_uses *ret)
{
    size_t nt = g->tensors.n;
    struct ir_uses u = { arena_array(a, uint32_t, nt), arena_array(a, uint32_t, nt), arena_array(a, uint32_t, nt) };
    RETURN_IF(!u.producer || !u.n_consumers || !u.consumer, ST_NO_MEMORY, "no memory to analyse %zu tensors", nt);
    for (size_t i = 0; i < nt; i++)
        u.producer[i] = u.consumer[i] = IR_NONE;
    for (uint32_t k = 0; k < g->nodes.n; k++) {
        const struct ir_node *n = &g->nodes.at[k];
        if (n->dead)
            continue;
        for (uint32_t i = 0; i < n->n_in; i++)
            if (n->in[i] != IR_NONE) {
                u.n_consumers[n->in[i]]++;
                u.consumer[n->in[i]] = k;
            }
        for (uint32_t i = 0; i < n->n_out; i++)
            u.producer[n->out[i]] = k;
        for (uint32_t i = 0; i < n->n_guards; i++) {
            u.n_consumers[n->guards[i].tensor]++;
            u.consumer[n->guards[i].tensor] = k;
        }
    }
    *ret = u;
    return ST_OK;
}

static enum status verify_edge(const struct ir_graph *g, const struct ir_node *n, uint32_t t, const char *after)
{
    RETURN_IF(t >= g->tensors.n, ST_INTERNAL, "after %s: node \"%s\" uses tensor %u of %zu", after, n->name, t,
              g->tensors.n);
    return ST_OK;
}

static bool needs_producer(const struct ir_tensor *t)
{
    return t->role == IR_NATIVE || t->role == IR_OUTPUT;
}

static enum status verify_guard(const struct ir_graph *g, const struct ir_node *n, const struct ir_guard *guard,
                                const bool *made, const char *after)
{
    TRY(verify_edge(g, n, guard->tensor, after));
    const struct ir_tensor *t = &g->tensors.at[guard->tensor];
    RETURN_IF(t->desc.type != DT_B8 || desc_count(&t->desc) != 1 || guard->value > 1 || t->role == IR_ABSENT, ST_INVALID_OP,
              "after %s: node \"%s\" runs when tensor \"%s\" is %u; one bool is expected", after, n->name, t->name,
              guard->value);
    RETURN_IF(needs_producer(t) && !made[guard->tensor], ST_UNCONNECTED,
              "after %s: node \"%s\" asks tensor \"%s\" before any node has written it", after, n->name, t->name);
    return ST_OK;
}

static enum status verify_node(const struct ir_graph *g, const struct ir_node *n, bool *made, const char *after)
{
    for (uint32_t i = 0; i < n->n_in; i++) {
        if (n->in[i] == IR_NONE)
            continue;
        TRY(verify_edge(g, n, n->in[i], after));
        const struct ir_tensor *t = &g->tensors.at[n->in[i]];
        RETURN_IF(needs_producer(t) && !made[n->in[i]], ST_UNCONNECTED,
                  "after %s: node \"%s\" reads tensor \"%s\" before any node has written it", after, n->name, t->name);
    }
    for (uint32_t i = 0; i < n->n_aux; i++)
        TRY(verify_edge(g, n, n->aux[i], after));
    for (uint32_t i = 0; i < n->n_guards; i++)
        TRY(verify_guard(g, n, &n->guards[i], made, after));
    for (uint32_t i = 0; i < n->n_out; i++) {
        TRY(verify_edge(g, n, n->out[i], after));
        const struct ir_tensor *t = &g->tensors.at[n->out[i]];
        RETURN_IF(made[n->out[i]], ST_INVALID_OP, "after %s: tensor \"%s\" is written twice, again by node \"%s\"", after,
                  t->name, n->name);
        RETURN_IF(t->role == IR_INPUT || t->role == IR_CONST || t->role == IR_ABSENT, ST_INVALID_OP,
                  "after %s: node \"%s\" writes tensor \"%s\", which is an input or a constant", after, n->name, t->name);
        made[n->out[i]] = true;
    }
    struct ir_graph *branch[2];
    enum status st = ir_check_node(g, n);
    if (st == ST_OK && ir_is_if(n))
        st = ir_if(g, n, branch);
    return st == ST_OK ? ST_OK : status_prefix(st, "after %s", after);
}

enum status ir_verify(const struct ir_graph *g, const char *after)
{
    CLEANUP(mem_freep) bool *made = mem_array(bool, g->tensors.n);
    RETURN_IF(!made, ST_NO_MEMORY, "no memory to verify %zu tensors", g->tensors.n);
    for (size_t i = 0; i < g->children.n; i++)
        TRY(ir_verify(g->children.at[i], after));
    for (size_t k = 0; k < g->nodes.n; k++)
        if (!g->nodes.at[k].dead)
            TRY(verify_node(g, &g->nodes.at[k], made, after));
    return ST_OK;
}

static void mark_used(const uint32_t *list, uint32_t n, uint32_t *map)
{
    for (uint32_t i = 0; i < n; i++)
        if (list[i] != IR_NONE)
            map[list[i]] = 1;
}

static void renumber(uint32_t *list, uint32_t n, const uint32_t *map)
{
    for (uint32_t i = 0; i < n; i++)
        if (list[i] != IR_NONE)
            list[i] = map[list[i]];
}

static bool is_io(const struct ir_tensor *t)
{
    return t->role == IR_INPUT || t->role == IR_OUTPUT || t->role == IR_INOUT;
}

enum status ir_compact(struct ir_graph *g)
{
    CLEANUP(mem_freep) uint32_t *map = mem_array(uint32_t, g->tensors.n);
    RETURN_IF(!map, ST_NO_MEMORY, "no memory to renumber %zu tensors", g->tensors.n);
    size_t kept = 0;
    for (size_t k = 0; k < g->nodes.n; k++) {
        if (g->nodes.at[k].dead)
            continue;
        struct ir_node *n = &g->nodes.at[kept++];
        *n = g->nodes.at[k];
        mark_used(n->in, n->n_in, map);
        mark_used(n->out, n->n_out, map);
        mark_used(n->aux, n->n_aux, map);
        for (uint32_t i = 0; i < n->n_guards; i++)
            map[n->guards[i].tensor] = 1;
    }
    g->nodes.n = kept;
    kept = 0;
    for (size_t i = 0; i < g->tensors.n; i++) {
        if (!map[i] && !is_io(&g->tensors.at[i]))
            continue;
        map[i] = (uint32_t)kept;
        g->tensors.at[kept++] = g->tensors.at[i];
    }
    g->tensors.n = kept;
    g->names.n = SIZE_MAX; /* indexes changed: the name index starts again */
    for (size_t k = 0; k < g->nodes.n; k++) {
        struct ir_node *n = &g->nodes.at[k];
        renumber(n->in, n->n_in, map);
        renumber(n->out, n->n_out, map);
        renumber(n->aux, n->n_aux, map);
        for (uint32_t i = 0; i < n->n_guards; i++)
            n->guards[i].tensor = map[n->guards[i].tensor];
    }
    return ST_OK;
}
