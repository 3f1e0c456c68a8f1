/* SPDX-License-Identifier: Apache-2.0 */
/* Taking a graph apart: nodes and commands. A node that passes here has been through op_check with the shapes stored in the
 * file, so kernels can trust what they are given. */
#include <inttypes.h>
#include <string.h>

#include "binary/binary_format.h"

/* Rows of the operators that the file names, looked up once each. */
static enum status read_ops(struct bin_reader *r, const struct op_def ***ret)
{
    uint32_t n = r->sec[SEC_OPS].n;
    const struct op_def **ops = arena_array(r->arena, const struct op_def *, n);
    RETURN_IF(!ops, ST_NO_MEMORY, "context binary, %s: no memory for %u operators", r->graph, n);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t at;
        const char *name;
        memcpy(&at, r->sec[SEC_OPS].data + (size_t)i * sizeof(at), sizeof(at));
        TRY(bin_string(r, at, "operator", &name));
        ops[i] = op_find_any(name);
        RETURN_IF(!ops[i], ST_BAD_BINARY, "context binary, %s: operator \"%s\" is not known to this library", r->graph,
                  name);
    }
    *ret = ops;
    return ST_OK;
}

static enum status read_operands(const struct bin_reader *r, const struct bin_node *rec, struct binary_node *n)
{
    uint32_t total = (uint32_t)rec->n_in + rec->n_out + rec->n_aux, have = r->sec[SEC_LISTS].n;
    RETURN_IF(rec->n_in > MAX_PORTS || rec->n_out > MAX_PORTS || rec->n_aux > MAX_PORTS, ST_BAD_BINARY,
              "context binary, node \"%s\": %u inputs, %u outputs, %u constants; at most %d each", n->name, rec->n_in,
              rec->n_out, rec->n_aux, MAX_PORTS);
    RETURN_IF(rec->list > have || total > have - rec->list, ST_BAD_BINARY,
              "context binary, node \"%s\": operands at %u of %u", n->name, rec->list, have);
    n->n_in = rec->n_in;
    n->n_out = rec->n_out;
    n->n_aux = rec->n_aux;
    n->in = r->lists + rec->list;
    n->out = n->in + n->n_in;
    n->aux = n->out + n->n_out;
    for (uint32_t i = 0; i < total; i++)
        RETURN_IF(n->in[i] >= r->g->n_tensors && (n->in[i] != BINARY_NONE || i >= total - n->n_aux), ST_BAD_BINARY,
                  "context binary, node \"%s\": operand %u names tensor %u of %u", n->name, i, n->in[i], r->g->n_tensors);
    return ST_OK;
}

/* A guard is one bool that somebody has written, or a constant. */
static enum status read_guards(const struct bin_reader *r, const struct bin_node *rec, struct binary_node *n)
{
    uint32_t have = r->sec[SEC_LISTS].n;
    if (!rec->n_guards)
        return ST_OK;
    RETURN_IF(rec->n_guards > MAX_PORTS || rec->guards > have || 2 * rec->n_guards > have - rec->guards, ST_BAD_BINARY,
              "context binary, node \"%s\": %u guards at %u of %u", n->name, rec->n_guards, rec->guards, have);
    n->n_guards = rec->n_guards;
    n->guards = r->lists + rec->guards;
    for (uint32_t i = 0; i < n->n_guards; i++) {
        uint32_t t = n->guards[2 * i], value = n->guards[2 * i + 1];
        RETURN_IF(t >= r->g->n_tensors || value > 1, ST_BAD_BINARY,
                  "context binary, node \"%s\": it runs when tensor %u of %u is %u", n->name, t, r->g->n_tensors, value);
        const struct binary_tensor *x = &r->g->tensors[t];
        RETURN_IF(x->desc.type != DT_B8 || desc_count(&x->desc) != 1 || x->place == PLACE_NONE, ST_BAD_BINARY,
                  "context binary, node \"%s\": it runs when tensor \"%s\" is %u; that is not one bool", n->name, x->name,
                  value);
    }
    return ST_OK;
}

/* A view over its own input writes nothing when it runs. */
static bool writes_nothing(const struct binary_graph *g, const struct binary_node *n)
{
    if (!(n->op->flags & OP_VIEW) || n->n_in == 0 || n->n_out != 1 || n->in[0] == BINARY_NONE || n->out[0] == BINARY_NONE)
        return false;
    const struct binary_tensor *a = &g->tensors[n->in[0]], *b = &g->tensors[n->out[0]];
    return a->place == b->place && a->offset == b->offset && a->place != PLACE_NONE;
}

/* Results need memory that the graph may write; aux constants are constants. */
static enum status check_places(const struct bin_reader *r, const struct binary_node *n)
{
    const struct binary_graph *g = r->g;
    bool quiet = writes_nothing(g, n);
    for (uint32_t i = 0; i < n->n_out && !quiet; i++) {
        if (n->out[i] == BINARY_NONE)
            continue;
        const struct binary_tensor *t = &g->tensors[n->out[i]];
        bool input = t->place == PLACE_IO && g->tensors[g->io[t->offset]].io == IO_INPUT;
        RETURN_IF(t->place == PLACE_NONE || t->place == PLACE_CONST || input, ST_BAD_BINARY,
                  "context binary, node \"%s\": output %u (\"%s\") is in memory that cannot be written", n->name, i,
                  t->name);
    }
    for (uint32_t i = 0; i < n->n_aux; i++)
        RETURN_IF(g->tensors[n->aux[i]].place != PLACE_CONST, ST_BAD_BINARY,
                  "context binary, node \"%s\": constant %u is none", n->name, i);
    return ST_OK;
}

static enum status read_value(const struct bin_reader *r, const struct bin_param *rec, const struct binary_node *n,
                              struct op_value *v)
{
    uint64_t count = 1;
    RETURN_IF(rec->type == DT_NONE || rec->type >= DT_COUNT || rec->rank > MAX_RANK, ST_BAD_BINARY,
              "context binary, node \"%s\": a parameter of type %u and rank %u", n->name, rec->type, rec->rank);
    for (unsigned i = 0; i < rec->rank && count <= UINT32_MAX; i++)
        count *= rec->dims[i];
    /* The count of a scalar string is its length. */
    RETURN_IF(rec->rank > 0 ? count != rec->count : rec->count != 1 && rec->type != DT_STR, ST_BAD_BINARY,
              "context binary, node \"%s\": a parameter of %u elements has dimensions for %" PRIu64, n->name, rec->count,
              count);
    *v = (struct op_value){ .type = rec->type, .rank = rec->rank, .count = rec->count };
    memcpy(v->dims, rec->dims, sizeof(v->dims));
    TRY(bin_value(r, rec->data, dtype_bytes(v->type, v->count), &v->data));
    RETURN_IF(!v->data, ST_BAD_BINARY, "context binary, node \"%s\": a parameter has no data", n->name);
    RETURN_IF(v->type == DT_STR && (v->count == 0 || ((const char *)v->data)[v->count - 1] != 0), ST_BAD_BINARY,
              "context binary, node \"%s\": a text parameter has no end", n->name);
    return ST_OK;
}

static enum status read_params(struct bin_reader *r, const struct bin_node *rec, struct binary_node *n)
{
    uint32_t have = r->sec[SEC_PARAMS].n, count = op_param_count(n->op);
    RETURN_IF(rec->param > have || rec->n_params > have - rec->param, ST_BAD_BINARY,
              "context binary, node \"%s\": parameters at %u of %u", n->name, rec->param, have);
    struct op_value *values = arena_array(r->arena, struct op_value, count);
    RETURN_IF(!values, ST_NO_MEMORY, "context binary, node \"%s\": no memory for %u parameters", n->name, count);
    for (uint32_t i = 0; i < rec->n_params; i++) {
        struct bin_param p;
        const char *name;
        memcpy(&p, r->sec[SEC_PARAMS].data + (size_t)(rec->param + i) * sizeof(p), sizeof(p));
        TRY(bin_string(r, p.name, "parameter", &name));
        int at = op_param_index(n->op, name);
        RETURN_IF(at < 0, ST_BAD_BINARY, "context binary, node \"%s\": operator %s has no parameter \"%s\"", n->name,
                  n->op->name, name);
        RETURN_IF(values[at].data, ST_BAD_BINARY, "context binary, node \"%s\": parameter \"%s\" is there twice", n->name,
                  name);
        TRY(read_value(r, &p, n, &values[at]));
    }
    n->params = values;
    return ST_OK;
}

static enum status check_node(const struct bin_reader *r, const struct binary_node *n)
{
    const struct binary_graph *g = r->g;
    const struct tensor_desc *in[MAX_PORTS], *out[MAX_PORTS];
    const void *in_data[MAX_PORTS], *aux[MAX_PORTS];
    for (uint32_t i = 0; i < n->n_in; i++) {
        const struct binary_tensor *t = n->in[i] == BINARY_NONE ? NULL : &g->tensors[n->in[i]];
        in[i] = t ? &t->desc : NULL;
        in_data[i] = t && t->place == PLACE_CONST ? g->constants + t->offset : NULL;
    }
    for (uint32_t i = 0; i < n->n_out; i++)
        out[i] = n->out[i] == BINARY_NONE ? NULL : &g->tensors[n->out[i]].desc;
    for (uint32_t i = 0; i < n->n_aux; i++)
        aux[i] = g->constants + g->tensors[n->aux[i]].offset;
    struct op_call c = { .op = n->op,
                         .node = n->name,
                         .n_in = n->n_in,
                         .n_out = n->n_out,
                         .n_aux = n->n_aux,
                         .in = in,
                         .out = out,
                         .params = n->params,
                         .in_data = in_data,
                         .aux = aux,
                         .post = n->post };
    enum status st = op_check(&c);
    return st == ST_OK || st == ST_NO_MEMORY ? st : status_prefix(ST_BAD_BINARY, "context binary, %s", r->graph);
}

static enum status read_node(struct bin_reader *r, uint32_t i, const struct op_def *const *ops, struct binary_node *n)
{
    struct bin_node rec;
    memcpy(&rec, r->sec[SEC_NODES].data + (size_t)i * sizeof(rec), sizeof(rec));
    TRY(bin_string(r, rec.name, "node", &n->name));
    RETURN_IF(rec.op >= r->sec[SEC_OPS].n, ST_BAD_BINARY, "context binary, node \"%s\": operator %u of %u", n->name, rec.op,
              r->sec[SEC_OPS].n);
    n->op = ops[rec.op];
    n->post = (struct op_post){ rec.post_lo, rec.post_hi };
    n->work_offset = rec.work_offset;
    n->work_bytes = rec.work_bytes;
    n->macs = rec.macs;
    n->cycles = rec.cycles;
    n->resources = rec.resources;
    n->stored_share = rec.stored_share <= BINARY_WHOLE ? rec.stored_share : 0;
    n->state_offset = rec.state_offset;
    n->state_bytes = rec.state_bytes;
    /* Not only NaN: a clamp whose ends are swapped has no meaning. */
    RETURN_IF(!(n->post.lo <= n->post.hi), ST_BAD_BINARY, "context binary, node \"%s\": a clamp to %g … %g", n->name,
              (double)n->post.lo, (double)n->post.hi);
    TRY(read_operands(r, &rec, n));
    TRY(read_guards(r, &rec, n));
    TRY(check_places(r, n));
    TRY(read_params(r, &rec, n));
    return check_node(r, n);
}

enum status bin_read_nodes(struct bin_reader *r)
{
    struct binary_graph *g = r->g;
    const struct op_def **ops = NULL;
    TRY(read_ops(r, &ops));
    g->n_nodes = r->sec[SEC_NODES].n;
    struct binary_node *nodes = arena_array(r->arena, struct binary_node, g->n_nodes);
    RETURN_IF(!nodes, ST_NO_MEMORY, "context binary, %s: no memory for %u nodes", r->graph, g->n_nodes);
    for (uint32_t i = 0; i < g->n_nodes; i++)
        TRY(read_node(r, i, ops, &nodes[i]));
    g->nodes = nodes;
    return ST_OK;
}

static enum status check_work(const struct bin_reader *r)
{
    const struct binary_graph *g = r->g;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const struct binary_node *n = &g->nodes[i];
        uint64_t end;
        if (n->work_bytes == 0)
            continue;
        RETURN_IF(__builtin_add_overflow(n->work_bytes, n->work_offset, &end) || end > g->info.scratch_bytes, ST_BAD_BINARY,
                  "context binary, node \"%s\": a workspace of %" PRIu64 " bytes at %" PRIu64 "; scratch has %" PRIu64,
                  n->name, n->work_bytes, n->work_offset, g->info.scratch_bytes);
        RETURN_IF(n->work_offset % BIN_ALIGN, ST_BAD_BINARY,
                  "context binary, node \"%s\": a workspace at %" PRIu64 "; a multiple of %d is expected", n->name,
                  n->work_offset, BIN_ALIGN);
    }
    return ST_OK;
}

enum status bin_read_commands(struct bin_reader *r)
{
    struct binary_graph *g = r->g;
    g->n_commands = r->sec[SEC_COMMANDS].n;
    struct binary_command *c = arena_dup(r->arena, r->sec[SEC_COMMANDS].data, r->sec[SEC_COMMANDS].size);
    RETURN_IF(!c, ST_NO_MEMORY, "context binary, %s: no memory for %u commands", r->graph, g->n_commands);
    for (uint32_t i = 0; i < g->n_commands; i++) {
        RETURN_IF(c[i].node >= g->n_nodes || c[i].begin >= c[i].end, ST_BAD_BINARY,
                  "context binary, %s: command %u does units %u to %u of node %u; there are %u nodes", r->graph, i,
                  c[i].begin, c[i].end, c[i].node, g->n_nodes);
        RETURN_IF(c[i].step > i || (i > 0 && c[i].step < c[i - 1].step), ST_BAD_BINARY,
                  "context binary, %s: command %u is in step %u; steps never go back and leave no gaps", r->graph, i,
                  c[i].step);
    }
    g->commands = c;
    TRY(bin_check_chain_commands(r));
    g->n_steps = g->n_commands ? c[g->n_commands - 1].step + 1 : 0;
    TRY(check_work(r));
    TRY(bin_check_states(r));
    return bin_check_overlap(r);
}
