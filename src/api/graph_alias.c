/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors of one execution that share memory. A graph may write an output before it has read all inputs, so an input that
 * overlaps an output is copied before the run, unless the program reads it in time: all that use it are done before the
 * output is first written, or it is the operand of the element-wise operator that writes it, at the same address.
 *
 * Clients mostly give the same buffers again, so the comparison is made when one of them is new. */
#include "api/graph_alias.h"

#include <string.h>

#include "api/objects.h"

enum { NO_INPUT = UINT32_MAX };

struct alias {
    bool known;           /* the spans were compared, */
    const void *program;  /* for this one */
    bool copies;          /* some input is copied */
    struct io_span *span; /* per I/O table entry, as here and below */
    uint32_t *same_as;    /* outputs: the input whose memory they are computed in; NO_INPUT: none */
    void **spare;         /* inputs: room for the copy */
    uint64_t *room;       /* its bytes */
    bool *copied;
};

enum status alias_create(uint32_t n_io, struct alias **ret)
{
    struct alias *a = mem_new(struct alias);
    RETURN_IF(!a, ST_NO_MEMORY, "no memory to compare the buffers of an execution");

    a->span = mem_array(struct io_span, n_io);
    a->same_as = mem_array(uint32_t, n_io);
    a->spare = mem_array(void *, n_io);
    a->room = mem_array(uint64_t, n_io);
    a->copied = mem_array(bool, n_io);
    *ret = a;
    RETURN_IF(!a->span || !a->same_as || !a->spare || !a->room || !a->copied, ST_NO_MEMORY,
              "no memory to compare the buffers of %u tensors", n_io);
    return ST_OK;
}

void alias_free(struct alias *a, uint32_t n_io)
{
    if (!a)
        return;

    for (uint32_t i = 0; a->spare && i < n_io; i++)
        mem_free(a->spare[i]);
    mem_free(a->span);
    mem_free(a->same_as);
    mem_free(a->spare);
    mem_free(a->room);
    mem_free(a->copied);
    mem_free(a);
}

void alias_note(struct alias *a, uint32_t io, struct io_span span)
{
    struct io_span *known = &a->span[io];
    bool same = known->device == span.device && known->inode == span.inode && known->begin == span.begin &&
                known->bytes == span.bytes;

    if (!same)
        a->known = false;
    *known = span;
}

/* ---- what a program does with two entries of its I/O table ------------------------------------------------------------ */

static bool lies_in(const struct binary_graph *g, uint32_t tensor, uint32_t io)
{
    return tensor != BINARY_NONE && g->tensors[tensor].place == PLACE_IO && g->tensors[tensor].offset == io;
}

static bool reads(const struct binary_graph *g, const struct binary_node *n, uint32_t io)
{
    bool found = false;

    for (uint32_t i = 0; i < n->n_in; i++)
        found |= lies_in(g, n->in[i], io);
    for (uint32_t i = 0; i < n->n_guards; i++)
        found |= lies_in(g, n->guards[2 * i], io);
    return found;
}

static bool writes(const struct binary_graph *g, const struct binary_node *n, uint32_t io)
{
    bool found = false;

    for (uint32_t i = 0; i < n->n_out; i++)
        found |= lies_in(g, n->out[i], io);
    return found;
}

/* An element of the result depends on the same element of the operand alone. */
static bool is_elementwise(const struct binary_graph *g, const struct binary_node *n, uint32_t input)
{
    if (!(n->op->flags & (OP_ELEMENTWISE | OP_VIEW)) || n->n_out != 1)
        return false;

    for (uint32_t i = 0; i < n->n_guards; i++)
        if (lies_in(g, n->guards[2 * i], input))
            return false;

    const struct tensor_desc *out = &g->tensors[n->out[0]].desc;
    for (uint32_t i = 0; i < n->n_in; i++) {
        if (!lies_in(g, n->in[i], input))
            continue;

        const struct tensor_desc *in = &g->tensors[n->in[i]].desc;
        bool same_shape = n->op->flags & OP_VIEW || desc_same_shape(in, out);
        if (!same_shape || desc_bytes(in) != desc_bytes(out) || out->dynamic)
            return false;
    }
    return true;
}

struct use {
    uint32_t first_write, last_read; /* steps; a node that may compute in place does not count as a reader */
    uint32_t n_writers;
    bool in_place; /* some node reads the one and writes the other */
};

static void look_at(const struct binary_graph *g, uint32_t node, uint32_t step, uint32_t input, uint32_t output,
                    struct use *u)
{
    const struct binary_node *n = &g->nodes[node];
    bool is_reader = reads(g, n, input);
    bool is_writer = writes(g, n, output);
    bool may = is_reader && is_writer && is_elementwise(g, n, input);

    if (is_writer && step < u->first_write)
        u->first_write = step;
    if (is_reader && !may && step + 1 > u->last_read)
        u->last_read = step + 1;
    u->in_place |= may;
}

/* Whether the graph computes the right result when both are the same memory. */
static bool program_allows(const struct binary_graph *g, uint32_t input, uint32_t output)
{
    struct use u = { .first_write = UINT32_MAX };

    for (uint32_t c = 0; c < g->n_commands; c++) {
        uint32_t last = g->commands[c].node;
        uint32_t chain = g->chain_of ? g->chain_of[last] : BINARY_NONE;
        uint32_t first = chain == BINARY_NONE ? last : g->chains[chain].first;

        for (uint32_t k = first; k <= last; k++)
            look_at(g, k, g->commands[c].step, input, output, &u);
    }
    if (u.first_write == UINT32_MAX || u.last_read > u.first_write)
        return false;
    if (!u.in_place)
        return true;

    /* The operator that computes in place is the only one that writes there: an earlier one would have destroyed what it
     * reads. */
    for (uint32_t k = 0; k < g->n_nodes; k++)
        u.n_writers += writes(g, &g->nodes[k], output);
    return u.n_writers == 1;
}

/* ---- comparing -------------------------------------------------------------------------------------------------------- */

static bool overlap(const struct io_span *a, const struct io_span *b)
{
    bool same_memory = a->device == b->device && a->inode == b->inode && a->bytes && b->bytes;

    return same_memory && a->begin < b->begin + b->bytes && b->begin < a->begin + a->bytes;
}

static const struct binary_tensor *tensor_of(const struct graph_run *r, uint32_t io)
{
    return r->graph->io[io].tensor;
}

static bool in_place(const struct graph_run *r, uint32_t input, uint32_t output)
{
    const struct io_span *a = &r->alias->span[input];
    const struct io_span *b = &r->alias->span[output];
    const struct binary_graph *g = &r->graph->binary->graphs[r->graph->binary_index];

    return a->begin == b->begin && a->bytes == b->bytes && tensor_of(r, output)->io == IO_OUTPUT &&
           program_allows(g, input, output);
}

static enum status make_room(struct graph_run *r, uint32_t input)
{
    struct alias *a = r->alias;
    uint64_t need = a->span[input].bytes;

    a->copied[input] = true;
    a->copies = true;
    if (a->room[input] >= need)
        return ST_OK;

    mem_free(a->spare[input]);
    a->room[input] = 0;
    a->spare[input] = mem_alloc_aligned(ALIAS_ALIGN, need);
    RETURN_IF(!a->spare[input], ST_NO_MEMORY, "tensor \"%s\": no memory for a copy of %llu bytes", tensor_of(r, input)->name,
              (unsigned long long)need);
    a->room[input] = need;
    return ST_OK;
}

static enum status compare(struct graph_run *r, uint32_t output)
{
    struct alias *a = r->alias;

    for (uint32_t k = 0; k < r->graph->n_io; k++) {
        if (k == output || !overlap(&a->span[output], &a->span[k]))
            continue;

        uint32_t first = k < output ? k : output;
        uint32_t second = k + output - first;

        RETURN_IF(tensor_of(r, k)->io != IO_INPUT, ST_INVALID_TENSOR,
                  "tensors \"%s\" and \"%s\" are both written, and their buffers overlap; give each one of its own",
                  tensor_of(r, first)->name, tensor_of(r, second)->name);
        if (in_place(r, k, output))
            a->same_as[output] = k;
        else
            TRY(make_room(r, k));
    }
    return ST_OK;
}

static enum status compare_all(struct graph_run *r)
{
    struct alias *a = r->alias;
    uint32_t n = r->graph->n_io;

    a->copies = false;
    memset(a->copied, 0, n * sizeof *a->copied);
    for (uint32_t i = 0; i < n; i++)
        a->same_as[i] = NO_INPUT;

    for (uint32_t i = 0; i < n; i++)
        if (tensor_of(r, i)->io != IO_INPUT)
            TRY(compare(r, i));

    a->known = true;
    a->program = r->graph->binary;
    return ST_OK;
}

enum status alias_check(struct graph_run *r)
{
    struct alias *a = r->alias;

    if (!a->known)
        TRY(compare_all(r));

    /* Two registrations of one buffer are mapped twice: one address tells the program that it is the same memory. */
    for (uint32_t i = 0; i < r->graph->n_io; i++)
        if (a->same_as[i] != NO_INPUT && r->io[i].data)
            r->io[i].data = r->io[a->same_as[i]].data;
    return ST_OK;
}

enum status alias_copy(struct graph_run *r)
{
    struct alias *a = r->alias;
    if (a->program != r->graph->binary) /* an update took its place while this run was waiting */
        TRY(compare_all(r));
    if (!a->copies)
        return ST_OK;

    for (uint32_t i = 0; i < r->graph->n_io; i++) {
        struct backend_io *io = &r->io[i];
        if (!a->copied[i])
            continue;

        const void *from = io->mem ? backend_this->mem_address(io->mem) : io->data;
        RETURN_IF(!from, ST_INVALID_TENSOR,
                  "tensor \"%s\": its registered buffer overlaps that of an output, and there was no room to map it into "
                  "this process; give it a buffer of its own",
                  tensor_of(r, i)->name);
        memcpy(a->spare[i], from, a->span[i].bytes);
        io->data = a->spare[i];
        io->mem = NULL;
    }
    return ST_OK;
}
