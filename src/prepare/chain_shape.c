/* SPDX-License-Identifier: Apache-2.0 */
/* Which runs of nodes can be a chain: members work line by line, and what they hand to each other nobody else sees. */
#include "prepare/chain.h"

enum { MAX_OPERANDS = 16, USUAL_SHARE = 8, MATRIX_SHARE = 4 };

/* What a member reads of other nodes. */
static void add_inputs(struct chain_graph *g, uint32_t k)
{
    const struct ir_node *n = &g->cx->g->nodes.at[k];
    struct ir_call v;
    g->first_input[k + 1] = g->first_input[k];
    if (!g->member[k])
        return;
    ir_call(g->cx->g, n, &v);
    for (uint32_t i = 0; i < n->n_in; i++) {
        uint32_t maker = n->in[i] == IR_NONE ? IR_NONE : g->maker[n->in[i]];
        if (maker == IR_NONE)
            continue;
        struct chain_input *in = &g->inputs[g->first_input[k + 1]++];
        *in = (struct chain_input){ .maker = maker, .input = i };
        in->whole = !op_reach(&v.call, i, &in->reach);
    }
}

/* The kernel of the node takes single lines of its result. */
static enum status is_member(struct prepare_cx *cx, uint32_t k, bool *ret)
{
    const struct ir_node *n = &cx->g->nodes.at[k];
    struct ir_call v;
    struct kernel_bound b;
    struct op_lines lines;
    ir_call(cx->g, n, &v);
    *ret = false;
    if (n->n_out != 1 || n->n_guards || n->n_in + n->n_out > MAX_OPERANDS || op_stateful(&v.call) || !op_by_lines(&v.call) ||
        !desc_lines(v.out[0], &lines) || lines.n > OP_CHAIN_LINES)
        return ST_OK;
    for (uint32_t i = 0; i < n->n_in; i++)
        if (v.in[i] && v.in[i]->dynamic)
            return ST_OK;
    void *args = arena_alloc(&cx->arena, kernel_args_size(n->op->id));
    RETURN_IF(!args, ST_NO_MEMORY, "no memory for node \"%s\"", n->name);
    v.call.work_budget = cx->target->work_budget;
    v.call.by_lines = true;
    TRY(kernel_bind(&v.call, ISA_REF, args, &b));
    *ret = b.by_lines && b.extent == lines.n && b.work_bytes <= cx->nodes[k].work_bytes && !b.state_bytes;
    return ST_OK;
}

uint32_t chain_matrices(const struct chain_graph *g, uint32_t node)
{
    struct op_lines lines = { 0 };
    desc_lines(&g->cx->g->tensors.at[g->cx->g->nodes.at[node].out[0]].desc, &lines);
    return g->packs[node].bytes ? lines.n / g->packs[node].lines : 1;
}

/* Keys and values of attention: kernels pack a matrix for every call. */
static struct chain_pack pack_of(const struct ir_graph *g, const struct ir_node *n)
{
    const struct tensor_desc *w = n->op->id == OP_MatMul && !n->n_aux ? &g->tensors.at[n->in[1]].desc : NULL;
    struct op_lines lines;
    if (!w || !desc_lines(&g->tensors.at[n->out[0]].desc, &lines))
        return (struct chain_pack){ 0 };
    uint64_t one = (uint64_t)w->dims[w->rank - 1] * w->dims[w->rank - 2], matrices = one ? desc_count(w) / one : 1;
    return (struct chain_pack){ one * dtype_bits(w->type) / 8, matrices < lines.n ? (uint32_t)(lines.n / matrices) : 1 };
}

/* On a device, products of two results are better off by themselves while scores stay in its window: they are shared out
 * among its parts, and nothing has to move. */
static bool stays(const struct prepare_cx *cx, const struct ir_node *n)
{
    const struct ir_tensor *t = cx->g->tensors.at;
    uint64_t x = binary_vtcm_bytes(&t[n->in[0]].desc), y = binary_vtcm_bytes(&t[n->out[0]].desc);
    return cx->target->vtcm_bytes && 2 * (x > y ? x : y) + binary_vtcm_bytes(&t[n->in[1]].desc) <= cx->target->vtcm_bytes;
}

/* Members as boxes see them; their calls live as long as the run. */
static enum status list_boxes(struct prepare_cx *cx, struct chain_graph *g)
{
    const struct ir_graph *ir = cx->g;
    if (!cx->target->vtcm_bytes)
        return ST_OK;
    g->box = arena_array(&cx->arena, struct binary_box_op, ir->nodes.n);
    g->again = arena_array(&cx->arena, uint64_t, ir->nodes.n);
    bool ok = g->box && g->again;
    for (uint32_t k = 0; k < ir->nodes.n && ok; k++) {
        struct ir_call v;
        if (!g->member[k])
            continue;
        ir_call(ir, &ir->nodes.at[k], &v);
        v.call.in = arena_dup(&cx->arena, v.in, v.call.n_in * sizeof(v.in[0]));
        v.call.out = arena_dup(&cx->arena, v.out, v.call.n_out * sizeof(v.out[0]));
        struct op_call *call = arena_dup(&cx->arena, &v.call, sizeof(v.call));
        ok = call && call->in && call->out;
        if (!ok)
            break;
        binary_box_op(call, &g->box[k]);
        uint64_t weights = g->box[k].whole.depth > 1 ? binary_box_operand(&g->box[k], &g->box[k].whole, 1) : 0;
        weights /= chain_matrices(g, k);
        uint32_t share = cx->chain_taste.share ? cx->chain_taste.share : g->packs[k].bytes ? MATRIX_SHARE : USUAL_SHARE;
        g->again[k] = weights > cx->target->vtcm_bytes / share ? weights : 0;
    }
    RETURN_IF(!ok, ST_NO_MEMORY, "no memory to find chains among %zu nodes", ir->nodes.n);
    return ST_OK;
}

enum status chain_graph(struct prepare_cx *cx, struct chain_graph *ret)
{
    const struct ir_graph *g = cx->g;
    uint32_t nt = (uint32_t)g->tensors.n, nn = (uint32_t)g->nodes.n;
    struct arena *a = &cx->arena;
    *ret = (struct chain_graph){ .cx = cx,
                                 .member = arena_array(a, bool, nn),
                                 .maker = arena_array(a, uint32_t, nt),
                                 .last_reader = arena_array(a, uint32_t, nt),
                                 .whole = arena_array(a, bool, nt),
                                 .mates = arena_array(a, uint32_t, nt),
                                 .weights = arena_array(a, uint64_t, nn),
                                 .packs = arena_array(a, struct chain_pack, nn),
                                 .first_input = arena_array(a, uint32_t, (size_t)nn + 1) };
    uint32_t n_inputs = 0;
    for (uint32_t k = 0; k < nn; k++)
        n_inputs += g->nodes.at[k].n_in;
    ret->inputs = arena_array(a, struct chain_input, n_inputs);
    uint32_t *tensors_of = arena_array(a, uint32_t, cx->n_cells);
    RETURN_IF(!ret->member || !ret->maker || !ret->last_reader || !ret->whole || !ret->mates || !ret->weights ||
                  !ret->packs || !ret->first_input || !ret->inputs || !tensors_of,
              ST_NO_MEMORY, "no memory to find chains among %u nodes", nn);
    for (uint32_t t = 0; t < nt; t++) {
        ret->maker[t] = ret->last_reader[t] = IR_NONE;
        if (cx->cell_of[t] != IR_NONE)
            tensors_of[cx->cell_of[t]]++;
    }
    for (uint32_t t = 0; t < nt; t++) {
        ret->whole[t] = g->tensors.at[t].role != IR_NATIVE || cx->cell_of[t] == IR_NONE ||
                        cx->cells[cx->cell_of[t]].place != PLACE_SCRATCH;
        ret->mates[t] = ret->whole[t] ? 1 : tensors_of[cx->cell_of[t]];
    }
    for (uint32_t k = 0; k < nn; k++) {
        const struct ir_node *n = &g->nodes.at[k];
        TRY(is_member(cx, k, &ret->member[k]));
        if (ret->member[k])
            ret->packs[k] = pack_of(g, n);
        if (ret->packs[k].bytes && stays(cx, n)) {
            ret->member[k] = false;
            ret->packs[k] = (struct chain_pack){ 0 };
        }
        add_inputs(ret, k);
        for (uint32_t i = 0; i < n->n_in; i++)
            if (n->in[i] != IR_NONE)
                ret->last_reader[n->in[i]] = k;
        for (uint32_t i = 0; i < n->n_out; i++)
            if (n->out[i] != IR_NONE)
                ret->maker[n->out[i]] = k;
        for (uint32_t i = 0; i < n->n_guards; i++)
            ret->whole[n->guards[i].tensor] = true;
        for (uint32_t i = 0; i < n->n_aux; i++)
            ret->weights[k] += g->tensors.at[n->aux[i]].raw_bytes;
    }
    return list_boxes(cx, ret);
}

/* Edges of one member; false: it wants a result of the chain whole, or there are too many. */
static bool add_edges(const struct chain_graph *g, struct chain_shape *s, uint32_t i)
{
    for (uint32_t k = g->first_input[s->node + i]; k < g->first_input[s->node + i + 1]; k++) {
        const struct chain_input *in = &g->inputs[k];
        if (in->maker < s->node)
            continue;
        if (in->whole || s->first[i + 1] == sizeof(s->edges) / sizeof(s->edges[0]))
            return false;
        s->edges[s->first[i + 1]++] =
            (struct op_chain_edge){ .maker = in->maker - s->node, .input = in->input, .reach = in->reach };
    }
    return true;
}

/* Some views of one memory are results inside, others are not. */
static bool is_open(const struct chain_graph *g, uint32_t node, uint32_t n)
{
    const struct ir_node *nodes = g->cx->g->nodes.at + node;
    for (uint32_t i = 0; i + 1 < n; i++) {
        uint32_t t = nodes[i].out[0], mates = 0;
        for (uint32_t k = 0; k + 1 < n && g->mates[t] > 1; k++)
            mates += g->cx->cell_of[nodes[k].out[0]] == g->cx->cell_of[t];
        if (g->mates[t] > 1 && mates < g->mates[t])
            return true;
    }
    return false;
}

bool chain_shape(const struct chain_graph *g, uint32_t node, uint32_t n, struct chain_shape *ret)
{
    const struct ir_graph *ir = g->cx->g;
    ret->node = node;
    ret->first[0] = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t t = ir->nodes.at[node + i].out[0], last = g->last_reader[t];
        if (!g->member[node + i] || (i + 1 < n && (g->whole[t] || last == IR_NONE || last >= node + n)))
            return false;
        ret->first[i + 1] = ret->first[i];
        if (!desc_lines(&ir->tensors.at[t].desc, &ret->line[i]) || !add_edges(g, ret, i))
            return false;
        ret->weights[i] = g->weights[node + i];
        ret->packs[i] = g->packs[node + i];
        ret->view[i] = g->mates[t] > 1 && plan_is_view(ir, &ir->nodes.at[node + i]);
        ret->pixels[i] = (uint32_t)(ret->line[i].elements / ir->tensors.at[t].desc.dims[ir->tensors.at[t].desc.rank - 1]);
    }
    ret->open = is_open(g, node, n);
    ret->chain = (struct op_chain){ .n = n, .first = ret->first, .edges = ret->edges };
    ret->images = op_chain_images(&ret->chain, ret->line);
    ret->lines = ret->images ? ret->line[n - 1].n / ret->images : 0;
    return ret->images > 0;
}

uint64_t chain_slab_bytes(const struct chain_shape *s, uint32_t height)
{
    struct op_chain_span spans[OP_CHAIN_MAX] = { { 0 } };
    uint64_t bytes = 0;
    uint32_t begin = s->lines > height ? (s->lines - height) / 2 : 0;
    op_chain_next(&s->chain, begin, s->lines - begin < height ? s->lines : begin + height, spans);
    for (uint32_t i = 0; i + 1 < s->chain.n; i++)
        bytes += (spans[i].end - spans[i].begin) * s->line[i].bytes;
    return bytes;
}

uint64_t chain_window_bytes(const struct chain_graph *g, const struct chain_shape *s, uint32_t height)
{
    struct op_chain_span spans[OP_CHAIN_MAX] = { { 0 } };
    uint64_t bytes = 0;
    uint32_t begin = s->lines > height ? (s->lines - height) / 2 : 0;
    op_chain_next(&s->chain, begin, s->lines - begin < height ? s->lines : begin + height, spans);
    for (uint32_t i = 0; i < s->chain.n; i++) {
        const struct ir_node *n = &g->cx->g->nodes.at[s->node + i];
        const struct binary_box_op *o = &g->box[s->node + i];
        struct binary_box b = binary_box_lines(o, spans[i].end - spans[i].begin, g->cx->target->vtcm_bytes / CHAIN_WEIGHTS);
        for (uint32_t p = 0; p < n->n_in; p++) {
            uint32_t maker = n->in[p] == IR_NONE ? IR_NONE : g->maker[n->in[p]];
            bool inside = maker != IR_NONE && maker >= s->node; /* counted as its maker's result */
            bytes += inside ? 0 : binary_box_operand(o, &b, p);
        }
        bytes += binary_box_operand(o, &b, n->n_in);
    }
    return bytes;
}
