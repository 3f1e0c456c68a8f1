/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes of one execution: input files into tensors, tensors into Result files; see graph_io.h. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/file_write.h"
#include "base/str.h"
#include "common/tensor_data.h"
#include "common/tensor_text.h"
#include "common/tool_log.h"
#include "net_run/graph_io.h"

/* ---- inputs ---------------------------------------------------------------------------------------------------------- */

/* Reads elements [first, first + n) of the tensor from the file's elements that start at `from`. */
static enum status read_elements(const struct io_tensor *t, const char *path, uint64_t from, uint64_t first, uint64_t n,
                                 uint8_t *to)
{
    uint32_t bits = tensor_type(t->tensor.v1.dataType)->bits;
    uint8_t *at = to + first * bits / 8;
    if (t->native)
        return tool_file_read_at(path, from * bits / 8, at, (size_t)((n * bits + 7) / 8));
    CLEANUP(mem_freep) float *values = mem_alloc_array(n, sizeof(*values));
    RETURN_IF(!values, ST_NO_MEMORY, "%" PRIu64 " numbers of \"%s\"", n, path);
    TRY(tool_file_read_at(path, from * sizeof(float), values, (size_t)(n * sizeof(float))));
    tensor_from_float(&t->tensor, values, first, n, at);
    return ST_OK;
}

static enum status load_input(struct graph_io *io, uint32_t input, const struct io_job *job, uint32_t chunk, void *to)
{
    const struct io_tensor *t = &io->inputs[input];
    const char **paths = &io->paths[(size_t)job->line * io->n_inputs + input];
    if (!job->combined)
        return read_elements(t, paths[0], chunk * t->elements, 0, t->elements, to);
    uint64_t slice = t->elements / t->batch;
    memset(to, 0, (size_t)t->bytes);
    for (uint32_t i = 0; i < job->n_lines; i++)
        TRY(read_elements(t, paths[(size_t)i * io->n_inputs], 0, i * slice, slice, to));
    return ST_OK;
}

/* Copies the loaded buffers into the cache while there is room. */
static void keep_inputs(struct graph_io *io, uint64_t execution, void *const *buffers)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < io->n_inputs; i++)
        bytes += io->inputs[i].bytes;
    bool full = (io->opt.cache_sets >= 0 && io->cached_sets >= (uint64_t)io->opt.cache_sets) ||
                (io->opt.cache_bytes >= 0 && io->cached_bytes + bytes > (uint64_t)io->opt.cache_bytes);
    void **set = full ? NULL : mem_alloc_array(io->n_inputs + 1u, sizeof(*set));
    if (!set)
        return;
    for (uint32_t i = 0; i < io->n_inputs; i++) {
        set[i] = mem_dup(buffers[i], (size_t)io->inputs[i].bytes);
        if (set[i])
            continue;
        while (i--)
            mem_free(set[i]);
        mem_free(set);
        return;
    }
    io->cache[execution] = set;
    io->cached_sets++;
    io->cached_bytes += bytes;
}

enum status graph_io_load(struct graph_io *io, uint64_t execution, void *const *buffers, bool keep, const void **data)
{
    uint32_t chunk;
    const struct io_job *job = graph_io_job(io, execution, &chunk);
    void **cached = io->cache[execution];
    for (uint32_t i = 0; i < io->n_inputs; i++) {
        data[i] = cached ? cached[i] : buffers[i];
        if (!cached)
            TRY(load_input(io, i, job, chunk, buffers[i]));
    }
    if (keep && !cached && io->n_inputs)
        keep_inputs(io, execution, buffers);
    return ST_OK;
}

/* ---- outputs --------------------------------------------------------------------------------------------------------- */

static enum status append(const char *path, bool first, const void *data, size_t size)
{
    if (first)
        return file_write_all(path, data, size);

    return file_append(path, data, size);
}

/* Part of an output tensor and the folder it goes to. */
struct part {
    const struct io_tensor *t;
    const uint8_t *data;
    uint64_t first, n; /* elements */
    const char *folder;
    uint64_t result; /* number of the folder */
    uint32_t output;
    uint64_t total; /* elements of the whole file */
    uint64_t at;    /* place of these elements there; 0: a new file */
    bool kept;      /* goes to a file */
};

static enum status store_native(const struct graph_io *io, const struct part *p, const char *name, const uint8_t *native)
{
    const char *suffix = io->opt.output_type == OUTPUT_BOTH ? "_native" : "";
    uint32_t bits = tensor_type(p->t->tensor.v1.dataType)->bits;
    CLEANUP(str_finish) struct str path;

    str_init(&path);
    str_addf(&path, "%s/%s%s.raw", p->folder, name, suffix);
    RETURN_IF(path.failed, ST_NO_MEMORY, "path of a result");

    return append(str_text(&path), p->at == 0, native, (size_t)((p->n * bits + 7) / 8));
}

static enum status store_floats(const struct graph_io *io, const struct part *p, const char *name, const uint8_t *native)
{
    CLEANUP(str_finish) struct str path;
    CLEANUP(mem_freep) float *values = mem_alloc_array(p->n, sizeof(*values));

    str_init(&path);
    str_addf(&path, "%s/%s.raw", p->folder, name);
    RETURN_IF(path.failed, ST_NO_MEMORY, "path of a result");
    RETURN_IF(!values, ST_NO_MEMORY, "%" PRIu64 " numbers of \"%s\"", p->n, str_text(&path));
    tensor_to_float(&p->t->tensor, native, p->first, p->n, values);

    struct result_values result = { .result = p->result,
                                    .name = name,
                                    .output = p->output,
                                    .first = p->at,
                                    .n = p->n,
                                    .total = p->total,
                                    .values = values };
    if (io->opt.sink)
        TRY(io->opt.sink->take(io->opt.sink, &result));
    if (!p->kept)
        return ST_OK;

    return append(str_text(&path), p->at == 0, values, (size_t)(p->n * sizeof(float)));
}

static enum status store_part(const struct graph_io *io, const struct part *p)
{
    uint32_t bits = tensor_type(p->t->tensor.v1.dataType)->bits;
    const uint8_t *native = p->data + p->first * bits / 8;
    CLEANUP(str_finish) struct str name;

    str_init(&name);
    tensor_file_name(p->t->tensor.v1.name ? p->t->tensor.v1.name : "output", &name);
    RETURN_IF(name.failed, ST_NO_MEMORY, "name of a result");

    if (io->opt.output_type != OUTPUT_FLOAT && p->kept)
        TRY(store_native(io, p, str_text(&name), native));
    if (io->opt.output_type != OUTPUT_NATIVE)
        TRY(store_floats(io, p, str_text(&name), native));

    return ST_OK;
}

static enum status store_folder(struct graph_io *io, const struct io_result *r, uint32_t line_of_job, bool kept)
{
    uint32_t chunk;
    const struct io_job *job = graph_io_job(io, r->execution, &chunk);
    uint64_t result = r->first + job->line + line_of_job;
    CLEANUP(str_finish) struct str folder;

    str_init(&folder);
    str_addf(&folder, "%s/Result_%" PRIu64, io->opt.output_dir, result);
    RETURN_IF(folder.failed, ST_NO_MEMORY, "path of a result");
    if (kept)
        TRY(tool_make_dirs(str_text(&folder)));

    for (uint32_t i = 0; i < io->n_outputs; i++) {
        const struct io_tensor *t = &io->outputs[i];
        uint64_t batch = io->n_inputs ? io->inputs[0].batch : 1, slice = t->elements / batch;
        bool taken_apart = job->combined && t->batch % batch == 0;
        struct part p = { .t = t,
                          .data = r->data[i],
                          .n = t->elements,
                          .folder = str_text(&folder),
                          .result = result,
                          .output = i,
                          .total = t->elements * job->chunks,
                          .at = t->elements * chunk,
                          .kept = kept };
        if (!t->saved || (job->combined && !taken_apart && line_of_job))
            continue; /* an output without the batch goes to the first folder only */
        if (taken_apart) {
            p.first = line_of_job * slice;
            p.n = slice;
            p.total = slice;
        }
        TRY(store_part(io, &p));
    }
    return ST_OK;
}

enum status graph_io_store(struct graph_io *io, const struct io_result *r)
{
    uint32_t chunk;
    const struct io_job *job = graph_io_job(io, r->execution, &chunk);
    for (uint32_t i = 0; i < job->n_lines; i++) {
        bool kept = r->first + job->line + i < r->limit;
        if (kept || io->opt.sink)
            TRY(store_folder(io, r, i, kept));
    }
    return ST_OK;
}
