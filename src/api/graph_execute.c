/* SPDX-License-Identifier: Apache-2.0 */
/* One execution: from the client's tensor structs to the graph's I/O table. Tensors are matched by id; of everything else in
 * the structs only the data pointer counts, and the dimensions where they may differ from those at creation (batch
 * multiples, dynamic dimensions). */
#include <string.h>

#include "api/dump.h"
#include "api/graph_alias.h"
#include "api/graph_environment.h"
#include "api/objects.h"
#include "api/profile_all.h"
#include "api/translate.h"
#include "base/clock.h"

enum status graph_run_create(struct api_graph *g, struct graph_run **ret)
{
    struct graph_run *r = mem_new(struct graph_run);
    if (r) {
        r->graph = g;
        r->io = mem_array(struct backend_io, g->n_io);
        r->mems = mem_array(void *, g->n_io);
    }
    if (!r || !r->io || !r->mems || alias_create(g->n_io, &r->alias) != ST_OK) {
        graph_run_free(r);
        return status_fail(ST_NO_MEMORY, "no memory to execute graph \"%s\"", g->name);
    }
    *ret = r;
    return ST_OK;
}

void graph_run_free(struct graph_run *r)
{
    if (!r)
        return;
    alias_free(r->alias, r->graph->n_io);
    mem_free(r->io);
    mem_free(r->mems);
    mem_free(r);
}

/* The I/O table entry with that id: nearly always the one at the client's own position. */
static uint32_t find_io(const struct api_graph *g, uint32_t id, uint32_t guess)
{
    if (guess < g->n_io && g->io[guess].id == id)
        return guess;
    uint32_t lo = 0, hi = g->n_io;
    while (lo < hi) {
        uint32_t mid = (lo + hi) / 2;
        if (g->io[g->by_id[mid]].id < id)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < g->n_io && g->io[g->by_id[lo]].id == id ? g->by_id[lo] : UINT32_MAX;
}

static bool same_row(const struct tensor_desc *d, const Qnn_TensorV1_t *v)
{
    for (unsigned i = 1; i < d->rank; i++)
        if (v->dimensions[i] != d->dims[i])
            return false;
    return true;
}

static uint64_t elements(const uint32_t *dims, uint32_t rank)
{
    uint64_t n = 1;

    for (uint32_t i = 0; i < rank; i++)
        if (__builtin_mul_overflow(n, dims[i], &n))
            return UINT64_MAX;
    return n;
}

/* How many times the client's batch is that of the graph: 1 without dimensions, or with other ones for as many elements.
 * 0: the dimensions are no multiple. */
static uint32_t batch_of(const struct tensor_desc *d, const Qnn_TensorV1_t *v)
{
    if (d->dynamic || !d->rank || !v->rank || !v->dimensions)
        return 1;
    if (v->rank == d->rank && same_row(d, v) && v->dimensions[0] % d->dims[0] == 0)
        return v->dimensions[0] / d->dims[0];

    return elements(v->dimensions, v->rank) == elements(d->dims, d->rank);
}

static enum status refuse_batch(const struct binary_tensor *t, const Qnn_TensorV1_t *v)
{
    char want[DESC_TEXT_MAX];
    char seen[DESC_TEXT_MAX];
    struct tensor_desc given = { .type = t->desc.type, .rank = v->rank < MAX_RANK ? (uint8_t)v->rank : MAX_RANK };

    memcpy(given.dims, v->dimensions, given.rank * sizeof(uint32_t));
    return status_fail(ST_INVALID_TENSOR,
                       "tensor \"%s\" comes as %s; the graph was prepared for %s: only the first dimension may differ, "
                       "and must be a multiple of %u",
                       t->name, desc_text(&given, seen), desc_text(&t->desc, want), t->desc.dims[0]);
}

static enum status take_batch(struct graph_run *r, const struct binary_tensor *t, const Qnn_TensorV1_t *v, bool first)
{
    uint32_t batch = batch_of(&t->desc, v);

    if (!batch)
        return refuse_batch(t, v);
    if (first)
        r->batch = batch;
    RETURN_IF(batch != r->batch, ST_INVALID_TENSOR,
              "tensor \"%s\" comes with %u times the batch of the graph, another tensor with %u times", t->name, batch,
              r->batch);
    return ST_OK;
}

/* The bytes are there, but the client may have meant another tensor. A batch may be longer, a dynamic dimension is at most
 * as long as the graph's. */
static bool is_as_described(const struct api_mem *m, const struct tensor_desc *t, uint32_t batch)
{
    const struct tensor_desc *d = &m->desc;
    if (d->type != t->type || d->rank != t->rank)
        return false;

    for (unsigned i = 0; i < d->rank; i++) {
        uint64_t want = (uint64_t)t->dims[i] * (i == 0 ? batch : 1);
        bool fits = t->dynamic ? d->dims[i] >= 1 : d->dims[i] == want || (i == 0 && d->dims[0] % t->dims[0] == 0);

        if (!fits)
            return false;
    }
    return true;
}

static void warn_of_other(struct api_mem *m, const struct binary_tensor *t, uint32_t batch)
{
    if (m->use != MEM_TENSOR || m->object || is_as_described(m, &t->desc, batch) || atomic_exchange(&m->warned, true))
        return;

    char graph[DESC_TEXT_MAX], memory[DESC_TEXT_MAX];
    api_log(LOG_WARN, "tensor \"%s\" is %s, but its memory was registered as %s; its first bytes are used as %s", t->name,
            desc_text(&t->desc, graph), desc_text(&m->desc, memory), graph);
}

static enum status mem_data(struct graph_run *r, uint32_t at, const char *name, void *handle, uint64_t need)
{
    struct api_mem *m = handle_get(handle, HANDLE_MEM);
    RETURN_IF(!m, ST_INVALID_TENSOR, "tensor \"%s\": the memory handle is %s", name, handle_describe(handle, HANDLE_MEM));
    r->mems[at] = handle; /* pinned until the run ends */
    RETURN_IF(m->owner != r->graph->context, ST_INVALID_TENSOR,
              "tensor \"%s\": the memory is registered with another context; register it with the graph's", name);
    RETURN_IF(m->bytes < need, ST_INVALID_TENSOR, "tensor \"%s\" needs %llu bytes; the registered memory has %llu", name,
              (unsigned long long)need, (unsigned long long)m->bytes);
    RETURN_IF(m->use != MEM_TENSOR, ST_INVALID_TENSOR,
              "tensor \"%s\": the memory is registered for the whole context, not for a tensor", name);
    r->io[at].data = m->address;
    r->io[at].mem = m->mem;
    warn_of_other(m, r->graph->io[at].tensor, r->batch);
    if (backend_this->direct != DIRECT_NONE)
        alias_note(r->alias, at, (struct io_span){ m->device, m->inode, m->offset, need });
    return ST_OK;
}

static bool is_given(const struct backend_io *io)
{
    return io->data || io->mem;
}

/* Bytes the client's buffer must have: with dynamic dimensions those of this execution. */
static uint64_t bytes_needed(const struct binary_tensor *t, const Qnn_TensorV1_t *v, uint32_t batch)
{
    struct tensor_desc d = t->desc;
    if (!d.dynamic || t->io == IO_OUTPUT || v->rank != d.rank || !v->dimensions)
        return desc_bytes(&t->desc) * batch;
    memcpy(d.dims, v->dimensions, d.rank * sizeof(uint32_t));
    return desc_bytes(&d);
}

static enum status check_dynamic(const struct binary_tensor *t, const Qnn_TensorV1_t *v)
{
    const struct tensor_desc *d = &t->desc;
    RETURN_IF(v->rank != d->rank || !v->dimensions, ST_DYNAMIC_SHAPE,
              "tensor \"%s\" has dynamic dimensions: give %u of them with each execution", t->name, d->rank);
    for (unsigned i = 0; i < d->rank; i++)
        RETURN_IF(d->dynamic >> i & 1 ? !v->dimensions[i] || v->dimensions[i] > d->dims[i] : v->dimensions[i] != d->dims[i],
                  ST_DYNAMIC_SHAPE, "tensor \"%s\": dimension %u is %u; %s %u", t->name, i, v->dimensions[i],
                  d->dynamic >> i & 1 ? "it is dynamic, with a maximum of" : "it is fixed at", d->dims[i]);
    return ST_OK;
}

static bool may_be_left_out(const struct api_graph *g, uint32_t at)
{
    return g->io[at].tensor->optional || (backend_this->has_room && backend_this->has_room(g->loaded, at));
}

static enum status take_data(struct graph_run *r, uint32_t at, const struct binary_tensor *t, const Qnn_TensorV1_t *v)
{
    uint64_t need = bytes_needed(t, v, r->batch);
    bool raw = v->memType == QNN_TENSORMEMTYPE_RAW || v->memType == QNN_TENSORMEMTYPE_UNDEFINED;
    void *known = raw && r->graph->envs ? graph_env_find(r->graph, at, v->clientBuf.data) : NULL;
    if (known)
        return mem_data(r, at, t->name, known, need);
    if (v->memType == QNN_TENSORMEMTYPE_MEMHANDLE)
        return mem_data(r, at, t->name, v->memHandle, need);
    RETURN_IF(!raw, ST_INVALID_TENSOR,
              "tensor \"%s\" has memType %u; RAW (0) and MEMHANDLE (1) are supported when executing", t->name,
              (unsigned)v->memType);
    RETURN_IF(!v->clientBuf.data && !may_be_left_out(r->graph, at), ST_INVALID_TENSOR,
              "tensor \"%s\" has no buffer; give clientBuf.data, or a registered memory handle", t->name);
    RETURN_IF(v->clientBuf.data && v->clientBuf.dataSize < need, ST_INVALID_TENSOR,
              "tensor \"%s\" needs %llu bytes; the buffer has %u (clientBuf.dataSize)", t->name, (unsigned long long)need,
              v->clientBuf.dataSize);
    r->io[at].data = v->clientBuf.data;
    if (v->clientBuf.data && backend_this->direct == DIRECT_ALL)
        alias_note(r->alias, at, (struct io_span){ .begin = (uintptr_t)v->clientBuf.data, .bytes = need });
    else
        alias_note(r->alias, at, (struct io_span){ 0 });
    return ST_OK;
}

static bool is_float(enum dtype type)
{
    return type == DT_F16 || type == DT_BF16 || type == DT_F32 || type == DT_F64;
}

/* Only the bytes of a tensor count when executing, but a client that says another type has mistaken them: floats for
 * fixed point, mostly. Some public clients do so on purpose, so it is told once per graph and not refused. */
static void warn_of_type(const struct graph_run *r, const struct binary_tensor *t, const Qnn_TensorV1_t *v)
{
    const enum dtype said = dtype_from_client(v->dataType);
    const struct tensor_desc *d = &t->desc;
    char own[DESC_TEXT_MAX];

    if (said == DT_NONE || (is_float(said) == is_float(d->type) && dtype_bits(said) == dtype_bits(d->type)))
        return;
    if (atomic_exchange(&r->graph->warned, true))
        return;

    desc_text(d, own);
    if (dtype_is_fixed(d->type) && d->q.kind == Q_TENSOR && is_float(said))
        api_log(LOG_WARN,
                "tensor \"%s\" of graph \"%s\" is %s, but comes as %s: its bytes are used as %s; quantize with scale %g and "
                "offset %d: q = x / scale - offset",
                t->name, r->graph->name, own, dtype_name(said), dtype_name(d->type), (double)d->q.scale, d->q.offset);
    else
        api_log(LOG_WARN, "tensor \"%s\" of graph \"%s\" is %s, but comes as %s: its bytes are used as %s", t->name,
                r->graph->name, own, dtype_name(said), dtype_name(d->type));
}

static enum status bind_tensor(struct graph_run *r, const Qnn_Tensor_t *client, uint32_t guess, bool output, bool first)
{
    const struct api_graph *g = r->graph;
    const Qnn_TensorV1_t *v = tensor_v1(client);
    RETURN_IF(!v, ST_INVALID_TENSOR, "a tensor has version %u; 1 and 2 are supported", (unsigned)client->version);
    uint32_t at = find_io(g, v->id, guess);
    RETURN_IF(at == UINT32_MAX, ST_INVALID_TENSOR,
              "tensor id %u (\"%s\") is not an input or output of graph \"%s\"; give the ids that its tensors got at "
              "creation, or those that QnnSystemContext tells of a binary",
              v->id, v->name ? v->name : "", g->name);
    const struct binary_tensor *t = g->io[at].tensor;
    RETURN_IF(t->io != IO_BOTH && (t->io == IO_OUTPUT) != output, ST_INVALID_TENSOR,
              "tensor \"%s\" is %s of graph \"%s\", but stands among the %s", t->name,
              t->io == IO_OUTPUT ? "an output" : "an input", g->name, output ? "outputs" : "inputs");
    RETURN_IF(is_given(&r->io[at]) && t->io != IO_BOTH, ST_INVALID_TENSOR,
              "tensor \"%s\" is given twice; each input and output is given once", t->name);
    warn_of_type(r, t, v);
    TRY(take_batch(r, t, v, first));
    if (t->desc.dynamic && !output)
        TRY(check_dynamic(t, v));
    TRY(take_data(r, at, t, v));
    if (t->desc.dynamic) {
        r->io[at].dims = output ? NULL : v->dimensions;
        r->io[at].out_dims = output && v->rank == t->desc.rank ? v->dimensions : NULL;
    }
    /* The structs of an asynchronous call may be gone when it runs. */
    if (output && client->version == QNN_TENSOR_VERSION_2 && r == g->sync)
        r->io[at].produced = (uint8_t *)(uintptr_t)&client->v2.isProduced;
    return ST_OK;
}

static enum status bind_all(struct graph_run *r, const struct run_args *a)
{
    const struct api_graph *g = r->graph;
    r->batch = 1;
    memset(r->io, 0, g->n_io * sizeof *r->io);
    for (uint32_t i = 0; i < a->n_inputs; i++)
        TRY(bind_tensor(r, &a->inputs[i], i, false, i == 0));
    for (uint32_t i = 0; i < a->n_outputs; i++)
        TRY(bind_tensor(r, &a->outputs[i], g->n_inputs + i, true, i == 0 && !a->n_inputs));
    for (uint32_t i = 0; i < g->n_io; i++) {
        if (is_given(&r->io[i]))
            continue;
        void *bound = g->envs ? graph_env_find(g, i, NULL) : NULL;
        if (bound) {
            TRY(mem_data(r, i, g->io[i].tensor->name, bound, desc_bytes(&g->io[i].tensor->desc) * r->batch));
            continue;
        }

        RETURN_IF(!may_be_left_out(g, i), ST_INVALID_TENSOR, "%s \"%s\" of graph \"%s\" is missing",
                  i < g->n_inputs ? "input" : "output", g->io[i].tensor->name, g->name);
        alias_note(r->alias, i, (struct io_span){ 0 });
    }
    return ST_OK;
}

static void unpin_mems(struct graph_run *r)
{
    for (uint32_t i = 0; i < r->graph->n_io; i++) {
        if (r->mems[i])
            handle_put(r->mems[i]);
        r->mems[i] = NULL;
    }
}

enum status graph_run_bind(struct graph_run *r, const struct run_args *a)
{
    enum status st = bind_all(r, a);
    if (st == ST_OK)
        st = alias_check(r);
    if (st != ST_OK)
        unpin_mems(r);
    return st;
}

/* What a profiled run begins with; returns the event of the whole call. */
static int32_t begin_profile(struct graph_run *r, struct prof *prof, struct backend_run *run, uint64_t *parts)
{
    r->at.run = clock_ns();
    if (!r->at.called || !r->at.asked || !r->at.turn) /* the profile was switched on since */
        r->at.called = r->at.asked = r->at.turn = r->at.run;
    run->prof = prof;
    run->parts = prof_level(prof) >= PROF_DETAILED ? parts : NULL;

    const int32_t whole = prof_add(prof, PROF_ROOT, PROF_EXECUTE, PROF_UNIT_US, 0, "QNN (execute) time");
    run->prof_parent = backend_this->flat_profile ? PROF_ROOT : whole;
    return whole;
}

static void end_profile(struct graph_run *r, const struct backend_run *run, int32_t whole, bool done)
{
    r->at.ended = clock_ns();
    if (whole >= 0)
        prof_set(run->prof, whole, (r->at.ended - r->at.called) / 1000);
    if (run->parts && done)
        call_parts_add(run->prof, run->prof_parent, &r->at, run->parts);
}

enum status graph_run_execute(struct graph_run *r)
{
    struct backend_run run = { .io = r->io,
                               .turn = r->turn,
                               .priority = graph_priority(r->graph),
                               .batch = r->batch,
                               .cancel = r->signal ? &r->signal->cancel : NULL,
                               .prof_parent = PROF_ROOT };
    uint64_t parts[BACKEND_PARTS] = { 0 };
    int32_t whole = PROF_ROOT;
    TRY(alias_copy(r));

    struct prof *own = r->profile ? NULL : profile_all_begin();
    struct prof *prof = r->profile ? r->profile->prof : own;
    if (prof)
        whole = begin_profile(r, prof, &run, parts);

    const uint32_t dump = dump_inputs(r);
    enum status st = backend_this->run(r->graph->loaded, &run);
    if (st == ST_OK)
        dump_outputs(r, dump);

    if (prof)
        end_profile(r, &run, whole, st == ST_OK || st == ST_ENDED_EARLY);
    if (own)
        profile_all_end(own, r->graph, r->at.called, r->at.ended);
    return st;
}

void graph_run_release(struct graph_run *r)
{
    unpin_mems(r);
    signal_end(r->signal);
    profile_end(r->profile);
    r->signal = NULL;
    r->profile = NULL;
    r->turn = NULL;
}
