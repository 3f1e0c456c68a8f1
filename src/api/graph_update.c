/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs that change after they were finalized: by new values of tensors, or by a section of a binary that has them. Either
 * way there is a new binary of the whole graph, which is loaded beside the old one and takes its place between two
 * executions. So nothing that was made of an old value can stay in use, whatever the compiler made of it. */
#include "api/objects.h"

#include <string.h>

static struct api_graph *shell_of(const struct api_graph *g)
{
    struct api_graph *s = mem_new(struct api_graph);
    if (!s)
        return NULL;
    s->context = g->context;
    s->name = g->name;
    return s;
}

void graph_spare_free(struct graph_spare *s)
{
    if (!s->shell)
        return;
    graph_unload(s->shell);
    mem_free(s->shell);
    s->shell = NULL;
}

/* Tensors of the client are what they were, in the same order, but for their encodings: executions that wait in the queue
 * were made for them. */
static enum status check_io(const struct api_graph *g, const struct binary_graph *b)
{
    RETURN_IF(strcmp(b->info.name, g->name) != 0, ST_BINARY_CONFIG, "the new values are for graph \"%s\"; this is \"%s\"",
              b->info.name, g->name);
    bool same = b->n_io == g->n_io && b->info.n_inputs == g->n_inputs;
    for (uint32_t i = 0; same && i < g->n_io; i++) {
        const struct binary_tensor *x = &b->tensors[b->io[i]], *y = g->io[i].tensor;
        same = x->client_id == y->client_id && x->io == y->io && x->desc.type == y->desc.type &&
               x->desc.dynamic == y->desc.dynamic && desc_same_shape(&x->desc, &y->desc) && x->optional == y->optional;
    }
    RETURN_IF(!same, ST_BINARY_CONFIG,
              "the new values are for a graph \"%s\" with other inputs or outputs than the one of this context", g->name);
    return ST_OK;
}

static enum status load(const struct api_graph *g, struct api_graph *shell)
{
    RETURN_IF(!shell->own, ST_NO_MEMORY, "no memory for graph \"%s\"", g->name);
    TRY(binary_open(shell->image.data, shell->image.size, shell->own));
    RETURN_IF(shell->own->n_graphs != 1, ST_BAD_BINARY, "a section for graph \"%s\" has %u graphs; one is expected", g->name,
              shell->own->n_graphs);
    TRY(check_io(g, &shell->own->graphs[0]));
    return graph_load(shell, shell->own, 0);
}

enum status graph_spare_load(const struct api_graph *g, struct binary_image *im, struct graph_spare *ret)
{
    struct graph_spare s = { shell_of(g) };
    if (!s.shell) {
        binary_image_free(im);
        return status_fail(ST_NO_MEMORY, "no memory for graph \"%s\"", g->name);
    }
    s.shell->image = *im;
    s.shell->own = mem_new(struct binary);
    enum status st = load(g, s.shell);
    if (st == ST_OK)
        *ret = s;
    else
        graph_spare_free(&s);
    return st;
}

#define SWAP(a, b)                    \
    do {                              \
        __typeof__(a) swapped_ = (a); \
        (a) = (b);                    \
        (b) = swapped_;               \
    } while (0)

void graph_spare_swap(struct api_graph *g, struct graph_spare *spare)
{
    struct api_graph *s = spare->shell;
    sched_pause(&g->context->queue.group);
    pthread_rwlock_wrlock(&g->program);
    SWAP(g->image, s->image);
    SWAP(g->own, s->own);
    SWAP(g->binary, s->binary);
    SWAP(g->binary_index, s->binary_index);
    SWAP(g->loaded, s->loaded);
    SWAP(g->budget, s->budget);
    SWAP(g->io, s->io);
    SWAP(g->by_id, s->by_id);
    SWAP(g->sync, s->sync);
    g->sync->graph = g;
    graph_set_needs(g);
    pthread_rwlock_unlock(&g->program);
    sched_resume(&g->context->queue.group);
}

enum status graph_update(struct api_graph *g, struct cancel *cancel)
{
    struct binary_image im = { 0 };
    struct graph_spare spare = { 0 };
    TRY(graph_present(g));
    TRY(graph_compile(g, cancel, &im));
    TRY(graph_spare_load(g, &im, &spare));
    graph_spare_swap(g, &spare);
    graph_spare_free(&spare);
    g->changed = false;
    return ST_OK;
}
