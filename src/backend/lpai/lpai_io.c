/* SPDX-License-Identifier: Apache-2.0 */
/* The buffers of one execution: each tensor is in the client's buffer, or in its room in scratch when there is none. */
#include "backend/lpai/lpai_backend.h"

/* DDR is off in island mode, and the only TCM that is known is that of the pools: what a pool has beyond the
 * graph's need. */
static bool in_tcm(const struct backend_graph *g, const uint8_t *data, uint64_t bytes)
{
    for (int k = 0; k < POOL_COUNT; k++) {
        const struct lpai_mem *m = &g->claim.pool[k];
        if (m->tcm && data >= m->addr && bytes <= m->size && (uint64_t)(data - m->addr) <= m->size - bytes)
            return true;
    }
    return false;
}

static const struct binary_tensor *tensor_of(const struct backend_graph *g, uint32_t io)
{
    return &g->g->tensors[g->g->io[io]];
}

static bool is_output(const struct binary_tensor *t)
{
    return t->io != IO_INPUT;
}

/* Every page of a buffer that is new; of one that was there the last time the ends, where a file may have become shorter. */
static enum status check_usable(const struct backend_graph *g, uint32_t io, void *data, uint64_t bytes)
{
    const struct binary_tensor *t = tensor_of(g, io);
    const struct lpai_buffer *before = &g->buffers[io];
    bool write = is_output(t), known = before->data == data && before->bytes >= bytes;
    bool ok = known ? lpai_ends_usable(data, bytes, write) : lpai_usable(data, bytes, write);
    RETURN_IF(
        !ok, ST_INVALID_TENSOR,
        "tensor \"%s\": there is no memory for %llu bytes at %p that can be %s; it must stay allocated during the execution",
        t->name, (unsigned long long)bytes, data, write ? "written" : "read");
    return ST_OK;
}

static enum status check_buffer(const struct backend_graph *g, uint32_t io, uint8_t *data, uint64_t bytes)
{
    const struct binary_tensor *t = tensor_of(g, io);
    RETURN_IF(
        !g->left_to_us && (uintptr_t)data % LPAI_ALIGN, ST_INVALID_TENSOR,
        "tensor \"%s\": its buffer starts at %p; the address must be a multiple of %d (backend property ALIGNMENT_REQ)",
        t->name, (void *)data, LPAI_ALIGN);
    for (int k = 0; k < POOL_COUNT; k++)
        RETURN_IF(lpai_overlap(data, bytes, g->claim.pool[k].addr, lpai_pool_bytes(g, (enum lpai_pool)k)), ST_INVALID_TENSOR,
                  "tensor \"%s\": its buffer at %p lies in the graph's own %s memory; leave the buffer out to have the "
                  "tensor there",
                  t->name, (void *)data, k == POOL_SCRATCH ? "scratch" : "persistent");
    TRY(check_usable(g, io, data, bytes));
    RETURN_IF(lpai_is_island(g) && !in_tcm(g, data, bytes), ST_INVALID_TENSOR,
              "tensor \"%s\": graph \"%s\" is enabled for island mode, where DDR is off; leave its buffer out to have it in "
              "scratch, or take it from memory "
              "that was given as TCM",
              t->name, g->g->info.name);
    return ST_OK;
}

/* Outputs are written while inputs are still read. */
static enum status check_separate(const struct backend_graph *g, uint32_t io)
{
    const struct lpai_buffer *b = &g->buffers[io];
    for (uint32_t k = 0; k < io; k++)
        RETURN_IF((is_output(tensor_of(g, io)) || is_output(tensor_of(g, k))) &&
                      lpai_overlap(b->data, b->bytes, g->buffers[k].data, g->buffers[k].bytes),
                  ST_INVALID_TENSOR,
                  "tensors \"%s\" and \"%s\": their buffers at %p and %p overlap; give each one of its own",
                  tensor_of(g, k)->name, tensor_of(g, io)->name, g->buffers[k].data, b->data);
    return ST_OK;
}

static enum status bind_one(struct backend_graph *g, const struct backend_run *r, uint32_t i)
{
    const struct binary_tensor *t = tensor_of(g, i);
    uint64_t bytes = desc_bytes(&t->desc) * (r->batch ? r->batch : 1);
    uint8_t *room = g->home[i] == LPAI_NO_HOME ? NULL : g->claim.pool[POOL_SCRATCH].addr + g->home[i], *data = r->io[i].data;
    bool own = data && data != room;
    if (own)
        TRY(check_buffer(g, i, data, bytes));
    RETURN_IF(!own && r->batch > 1, ST_INVALID_TENSOR,
              "tensor \"%s\" has room for one batch in scratch; give a buffer for %u", t->name, r->batch);
    g->buffers[i] = own ? (struct lpai_buffer){ data, bytes } : (struct lpai_buffer){ NULL, 0 };
    TRY(check_separate(g, i));
    g->io[i] = (struct exec_binding){ .data = own ? data : room, .produced = r->io[i].produced };
    return ST_OK;
}

/* The tensors of a paused execution hold what is done so far. */
static enum status check_same(struct backend_graph *g, const struct backend_run *r)
{
    bool same = r->batch == g->paused.batch;
    for (uint32_t i = 0; i < g->g->n_io; i++) {
        uint8_t *room = g->home[i] == LPAI_NO_HOME ? NULL : g->claim.pool[POOL_SCRATCH].addr + g->home[i],
                *data = r->io[i].data;
        same &= (data == room ? NULL : data) == g->buffers[i].data;
    }
    RETURN_IF(
        !same, ST_INVALID_TENSOR,
        "graph \"%s\" is paused in the middle of an execution; continue it with the same tensors before another begins",
        g->g->info.name);
    for (uint32_t i = 0; i < g->g->n_io; i++) {
        g->io[i].produced = r->io[i].produced;
        if (g->buffers[i].data)
            TRY(check_usable(g, i, g->buffers[i].data, g->buffers[i].bytes));
    }
    return ST_OK;
}

enum status lpai_bind_io(struct backend_graph *g, const struct backend_run *r)
{
    RETURN_IF(r->batch > 1 && !g->batch_multiple, ST_INVALID_TENSOR,
              "graph \"%s\" is given %u times its batch; set the graph option BATCH_MULTIPLE_SUPPORT to allow that",
              g->g->info.name, r->batch);
    if (g->paused.halfway)
        return check_same(g, r);
    for (uint32_t i = 0; i < g->g->n_io; i++)
        TRY(bind_one(g, r, i));
    return ST_OK;
}
