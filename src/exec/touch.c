/* SPDX-License-Identifier: Apache-2.0 */
/* Which memory steps and commands touch: operands, guards, states. Nothing is taken from the graph's edges, so whatever a
 * file says, two that could see each other are found to meet. Workspaces are no such memory: a team does not use those of
 * the plan, every worker has its own. Only nodes with phases keep something in theirs. */
#include "exec/touch.h"

/* Elements of a tensor. */
struct elements {
    uint64_t begin, end;
};
static const struct elements all_elements = { 0, UINT64_MAX };

static void touch(struct touched *t, struct touch_span s)
{
    if (s.begin >= s.end || t->n > TOUCH_SPANS)
        return;
    if (t->n < TOUCH_SPANS)
        t->at[t->n] = s;
    t->n++;
}

static void touch_tensor(struct touched *t, const struct binary_graph *g, uint32_t tensor, bool write, struct elements e)
{
    const struct binary_tensor *b = tensor == BINARY_NONE ? NULL : &g->tensors[tensor];
    if (!b || b->place == PLACE_NONE || b->place == PLACE_CONST || b->place == PLACE_LINES)
        return;
    uint64_t at = b->place == PLACE_IO ? 0 : b->offset, bytes = desc_bytes(&b->desc), size = dtype_bits(b->desc.type) / 8,
             count = desc_count(&b->desc);
    bool part = size && e.end <= count;
    touch(t, (struct touch_span){ .space = b->place == PLACE_IO ? PLACE_COUNT + b->offset : b->place,
                                  .begin = at + (part ? e.begin * size : 0),
                                  .end = at + (part ? e.end * size : bytes),
                                  .write = write });
}

/* Nothing to do: the result is where the input is. Its readers wait for whoever wrote that. */
static bool is_quiet(const struct binary_graph *g, const struct binary_node *n)
{
    if (!(n->op->flags & OP_VIEW) || n->n_out != 1 || !n->n_in || n->in[0] == BINARY_NONE || n->out[0] == BINARY_NONE)
        return false;
    const struct binary_tensor *in = &g->tensors[n->in[0]], *out = &g->tensors[n->out[0]];
    return in->place == out->place && in->offset == out->offset;
}

/* What is never touched in part. */
static void touch_rest(struct touched *t, const struct binary_graph *g, const uint8_t *phased, uint32_t node)
{
    const struct binary_node *n = &g->nodes[node];
    t->macs += n->macs;
    for (uint32_t i = 0; i < n->n_guards; i++)
        touch_tensor(t, g, n->guards[2 * i], false, all_elements);
    if (n->op->id == OP_NONE) /* an op package: a memory that only the client's library knows */
        touch(t, (struct touch_span){
                     .space = PLACE_COUNT + (uint64_t)UINT32_MAX + 1, .begin = 0, .end = 1, .write = true });
    if (phased[node])
        touch(t,
              (struct touch_span){
                  .space = PLACE_SCRATCH, .begin = n->work_offset, .end = n->work_offset + n->work_bytes, .write = true });
    touch(t,
          (struct touch_span){
              .space = PLACE_PERSISTENT, .begin = n->state_offset, .end = n->state_offset + n->state_bytes, .write = true });
}

static void touch_node(struct touched *t, const struct binary_graph *g, const uint8_t *phased, uint32_t node)
{
    const struct binary_node *n = &g->nodes[node];
    if (is_quiet(g, n))
        return;
    for (uint32_t i = 0; i < n->n_in; i++)
        touch_tensor(t, g, n->in[i], false, all_elements);
    for (uint32_t i = 0; i < n->n_out; i++)
        touch_tensor(t, g, n->out[i], true, all_elements);
    touch_rest(t, g, phased, node);
}

void touch_nodes(struct touched *t, const struct binary_graph *g, const uint8_t *phased, uint32_t node)
{
    const struct binary_chain *c = g->chain_of && g->chain_of[node] != BINARY_NONE ? &g->chains[g->chain_of[node]] : NULL;
    for (uint32_t i = c ? c->first : node; i <= node; i++)
        touch_node(t, g, phased, i);
}

/* ---- commands --------------------------------------------------------------------------------------------------------- */

/* Elements of the result that a command makes. */
static struct elements made_by(const struct exec_node *n, const struct exec_command *c, uint64_t count)
{
    uint64_t end = c->end < n->extent ? c->end : n->extent, runs = (end + n->run_units - 1) / n->run_units,
             first = c->begin / n->run_units;
    struct elements e = { first * n->run_elements, runs * n->run_elements };
    e.end = e.end < count ? e.end : count;
    e.begin = e.begin < e.end ? e.begin : e.end;
    return e;
}

/* Lines of one image need lines of one image. */
static bool lines_read(const struct op_call *c, uint32_t i, const struct op_lines *in, const struct op_lines *out,
                       struct elements *e)
{
    struct op_reach r;
    uint64_t begin = e->begin / out->elements, end = (e->end + out->elements - 1) / out->elements;
    if (!op_reach(c, i, &r))
        return false;
    uint32_t per = r.plain ? out->n : out->n / out->images, image = (uint32_t)(begin / per);
    if (image != (end - 1) / per)
        return false;
    uint32_t from = (uint32_t)(begin - (uint64_t)image * per), to = (uint32_t)(end - (uint64_t)image * per);
    op_reach_lines(&r, &from, &to);
    uint64_t base = (uint64_t)image * r.lines;
    *e = (struct elements){ (base + from) * in->elements, (base + to) * in->elements };
    return true;
}

/* Elements of input i that are needed for the elements `made`. */
static struct elements read_by(const struct op_call *c, uint32_t i, struct elements made)
{
    struct op_lines in, out;
    if (!c->in[i] || made.begin == made.end)
        return made;
    if (c->op->flags & OP_ELEMENTWISE && desc_same_shape(c->in[i], c->out[0]))
        return made;
    bool lines = op_by_lines(c) && desc_lines(c->in[i], &in) && desc_lines(c->out[0], &out);
    return lines && lines_read(c, i, &in, &out, &made) ? made : all_elements;
}

void touch_part(struct touched *t, const struct exec_program *p, const struct exec_command *c)
{
    const struct binary_node *n = &p->g->nodes[c->node];
    const struct exec_node *node = &p->nodes[c->node];
    if (node->chain || !node->run_units || n->n_out != 1 || is_quiet(p->g, n)) {
        touch_nodes(t, p->g, p->phased, c->node);
        return;
    }
    struct exec_call view;
    bind_call(p, c->node, &view);
    struct elements made = made_by(node, c, desc_count(view.out[0]));
    for (uint32_t i = 0; i < n->n_in; i++)
        touch_tensor(t, p->g, n->in[i], false, read_by(&view.call, i, made));
    touch_tensor(t, p->g, n->out[0], true, made);
    touch_rest(t, p->g, p->phased, c->node);
}

static bool meet(const struct touch_span *a, const struct touch_span *b)
{
    return a->space == b->space && a->begin < b->end && b->begin < a->end && (a->write || b->write);
}

bool touched_meet(const struct touched *a, const struct touched *b)
{
    if (a->n > TOUCH_SPANS || b->n > TOUCH_SPANS)
        return true;
    for (uint32_t i = 0; i < a->n; i++)
        for (uint32_t k = 0; k < b->n; k++)
            if (meet(&a->at[i], &b->at[k]))
                return true;
    return false;
}
