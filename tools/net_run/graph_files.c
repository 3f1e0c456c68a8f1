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
    bool begin; /* first chunk: a new file */
};

static enum status store_part(const struct graph_io *io, const struct part *p)
{
    uint32_t bits = tensor_type(p->t->tensor.v1.dataType)->bits;
    const uint8_t *native = p->data + p->first * bits / 8;
    CLEANUP(str_finish) struct str path, native_path;
    str_init(&path);
    str_init(&native_path);
    str_addf(&path, "%s/", p->folder);
    tensor_file_name(p->t->tensor.v1.name ? p->t->tensor.v1.name : "output", &path);
    str_addf(&native_path, "%s%s.raw", str_text(&path), io->opt.output_type == OUTPUT_BOTH ? "_native" : "");
    str_add(&path, ".raw");
    RETURN_IF(path.failed || native_path.failed, ST_NO_MEMORY, "path of a result");
    if (io->opt.output_type != OUTPUT_FLOAT)
        TRY(append(str_text(&native_path), p->begin, native, (size_t)((p->n * bits + 7) / 8)));
    if (io->opt.output_type == OUTPUT_NATIVE)
        return ST_OK;
    CLEANUP(mem_freep) float *values = mem_alloc_array(p->n, sizeof(*values));
    RETURN_IF(!values, ST_NO_MEMORY, "%" PRIu64 " numbers of \"%s\"", p->n, str_text(&path));
    tensor_to_float(&p->t->tensor, native, p->first, p->n, values);
    return append(str_text(&path), p->begin, values, (size_t)(p->n * sizeof(float)));
}

static enum status store_folder(struct graph_io *io, const struct io_result *r, uint32_t line_of_job)
{
    uint32_t chunk;
    const struct io_job *job = graph_io_job(io, r->execution, &chunk);
    CLEANUP(str_finish) struct str folder;
    str_init(&folder);
    str_addf(&folder, "%s/Result_%" PRIu64, io->opt.output_dir, r->first + job->line + line_of_job);
    RETURN_IF(folder.failed, ST_NO_MEMORY, "path of a result");
    TRY(tool_make_dirs(str_text(&folder)));
    for (uint32_t i = 0; i < io->n_outputs; i++) {
        const struct io_tensor *t = &io->outputs[i];
        uint64_t batch = io->n_inputs ? io->inputs[0].batch : 1, slice = t->elements / batch;
        bool taken_apart = job->combined && t->batch % batch == 0;
        struct part p = { .t = t, .data = r->data[i], .n = t->elements, .folder = str_text(&folder), .begin = chunk == 0 };
        if (!t->saved || (job->combined && !taken_apart && line_of_job))
            continue; /* an output without the batch goes to the first folder only */
        if (taken_apart) {
            p.first = line_of_job * slice;
            p.n = slice;
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
        if (r->first + job->line + i < r->limit)
            TRY(store_folder(io, r, i));
    }
    return ST_OK;
}
