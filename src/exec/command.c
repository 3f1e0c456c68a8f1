/* SPDX-License-Identifier: Apache-2.0 */
/* One command: its kernel or its chain, on one thread. */
#include "base/clock.h"
#include "exec/program.h"

/* Guards were written in steps that this one waits for, so all tiles of a node see the same. */
static inline bool guarded_off(const struct exec_node *n)
{
    for (uint32_t i = 0; i < n->n_guards; i++)
        if ((*(const uint8_t *)n->guards[i] != 0) != n->guard_values[2 * i + 1])
            return true;
    return false;
}

static inline void run_command(struct exec_program *p, uint32_t index, unsigned worker, uint64_t *ns)
{
    const struct exec_command *c = &p->commands[index];
    const struct exec_node *n = &p->nodes[c->node];
    uint32_t end = c->end < n->extent ? c->end : n->extent;
    if (c->begin >= end || (early_any(p) && early_skips(p, c->node)) || guarded_off(n) ||
        (n->view_out && n->data[0] == n->data[n->view_out]))
        return;
    if (n->chain) {
        chain_run(p, n->chain, (struct range){ c->begin, end }, worker, ns);
        return;
    }
    if (n->outside) {
        outside_run(p, c->node);
        return;
    }
    struct kernel_call call = { .args = n->args,
                                .data = n->data,
                                .work = program_work(p, n->work, worker),
                                .shared = p->phased[c->node] ? n->work : NULL,
                                .state = n->state,
                                .ended = &p->ended[c->node] };
    n->run(&call, (struct range){ c->begin, end });
}

/* Marks have a place of their own per command: no locks, and the same order for any number of threads. The members of a
 * chain take turns many times; their marks stand one behind the other, each as long as all of its turns. */
static void run_marked(struct exec_program *p, uint32_t index, unsigned worker)
{
    const struct exec_command *c = &p->commands[index];
    const struct exec_chain *chain = p->nodes[c->node].chain;
    uint64_t begin = clock_ns(), ns[OP_CHAIN_MAX] = { 0 };
    run_command(p, index, worker, ns);
    if (!chain && c->mark < p->marks.cap)
        p->marks.marks[c->mark] = (struct prof_mark){ begin, clock_ns(), c->node, worker };
    for (uint32_t i = 0; chain && i < chain->shape.n && c->mark + i < p->marks.cap; begin += ns[i++])
        p->marks.marks[c->mark + i] = (struct prof_mark){ begin, begin + ns[i], chain->node + i, worker };
}

bool command_run(struct exec_program *p, uint32_t index, unsigned worker)
{
    struct exec_job *j = p->job;
    enum status st = cancel_status(j->cancel);
    if (st != ST_OK) {
        atomic_store_explicit(&j->stop, st, memory_order_relaxed);
        return false;
    }
    if (j->marks)
        run_marked(p, index, worker);
    else
        run_command(p, index, worker, NULL);
    return !p->nodes[p->commands[index].node].outside || atomic_load_explicit(&j->stop, memory_order_relaxed) == ST_OK;
}
