/* SPDX-License-Identifier: Apache-2.0 */
/* From input list to executions: names, sizes and batches are checked before anything runs; see graph_io.h. */
#include "net_run/graph_io.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "common/tensor_data.h"
#include "common/tensor_text.h"
#include "common/tool_log.h"

/* ---- tensors --------------------------------------------------------------------------------------------------------- */

static enum status open_tensor(struct graph_io *io, const Qnn_Tensor_t *from, struct io_tensor *to)
{
    uint32_t multiplier = io->opt.batch_multiplier;
    to->tensor = *from;
    to->tensor.v1.memType = QNN_TENSORMEMTYPE_RAW;
    to->tensor.v1.clientBuf = (Qnn_ClientBuffer_t){ NULL, 0 };
    if (multiplier > 1) {
        RETURN_IF(!from->v1.rank, ST_INVALID_ARG, "--batch_multiplier: tensor \"%s\" is a scalar and has no batch dimension",
                  from->v1.name);
        uint32_t *dims = arena_dup(&io->arena, from->v1.dimensions, from->v1.rank * sizeof(*dims));
        RETURN_IF(!dims, ST_NO_MEMORY, "dimensions");
        RETURN_IF(__builtin_mul_overflow(dims[0], multiplier, &dims[0]), ST_INVALID_ARG,
                  "--batch_multiplier %u is too large", multiplier);
        to->tensor.v1.dimensions = dims;
    }
    TRY(tensor_sizes(&to->tensor, &to->elements, &to->bytes));
    RETURN_IF(!to->elements, ST_INVALID_TENSOR, "tensor \"%s\" has a dimension of 0", from->v1.name);
    to->batch = from->v1.rank ? to->tensor.v1.dimensions[0] : 1;
    to->saved = true;
    return ST_OK;
}

static enum status open_tensors(struct graph_io *io)
{
    const struct session_graph *g = io->graph;
    io->n_inputs = g->n_inputs;
    io->n_outputs = g->n_outputs;
    io->inputs = arena_array(&io->arena, struct io_tensor, g->n_inputs);
    io->outputs = arena_array(&io->arena, struct io_tensor, g->n_outputs);
    RETURN_IF(!io->inputs || !io->outputs, ST_NO_MEMORY, "tensors of graph \"%s\"", g->name);
    for (uint32_t i = 0; i < g->n_inputs; i++) {
        struct io_tensor *t = &io->inputs[i];
        TRY(open_tensor(io, &g->inputs[i], t));
        t->native = io->opt.native_inputs || opt_names_have(&io->opt.native_names, g->name, g->inputs[i].v1.name);
        if (!t->native)
            TRY(tensor_convertible(&t->tensor));
    }
    for (uint32_t i = 0; i < g->n_outputs; i++)
        TRY(open_tensor(io, &g->outputs[i], &io->outputs[i]));
    return ST_OK;
}

/* ---- which outputs --------------------------------------------------------------------------------------------------- */

/* A layer's outputs are named like it, often with a number behind. */
static bool belongs_to_layer(const char *tensor, const char *layer)
{
    size_t n = strlen(layer);
    if (strncmp(tensor, layer, n))
        return false;
    const char *rest = tensor + n;
    return !*rest || (strchr(":_.", *rest) && rest[1] && strspn(rest + 1, "0123456789") == strlen(rest + 1));
}

static bool same_name(const char *tensor, const char *name)
{
    CLEANUP(str_finish) struct str file;
    str_init(&file);
    tensor_file_name(tensor, &file);
    return str_eq(tensor, name) || str_eq(str_text(&file), name);
}

static void list_tensors(const struct io_tensor *t, uint32_t n, struct str *to)
{
    for (uint32_t i = 0; i < n; i++) {
        str_add(to, i ? ", " : "");
        tensor_describe(&t[i].tensor, to);
    }
}

static enum status select_names(struct graph_io *io, const struct input_names *names, bool layers, const char *list)
{
    for (size_t i = 0; i < names->n; i++) {
        bool found = false;
        for (uint32_t t = 0; t < io->n_outputs; t++) {
            const char *tensor = io->outputs[t].tensor.v1.name;
            bool hit = same_name(tensor, names->at[i]) || (layers && belongs_to_layer(tensor, names->at[i]));
            io->outputs[t].saved |= hit;
            found |= hit;
        }
        if (found)
            continue;
        CLEANUP(str_finish) struct str known;
        str_init(&known);
        list_tensors(io->outputs, io->n_outputs, &known);
        return status_fail(ST_NOT_FOUND,
                           "%s: graph \"%s\" has no output %s \"%s\"; its outputs are: %s (more with --set_output_tensors)",
                           list, io->graph->name, layers ? "of layer" : "named", names->at[i], str_text(&known));
    }
    return ST_OK;
}

static enum status select_outputs(struct graph_io *io, const char *list)
{
    bool all = !io->list.layers.n && !io->list.tensors.n;
    for (uint32_t i = 0; i < io->n_outputs; i++)
        io->outputs[i].saved = all;
    TRY(select_names(io, &io->list.layers, true, list));
    TRY(select_names(io, &io->list.tensors, false, list));
    for (uint32_t i = 0; i < io->n_outputs; i++) {
        if (io->outputs[i].saved && io->opt.output_type != OUTPUT_NATIVE)
            TRY(tensor_convertible(&io->outputs[i].tensor));
    }
    return ST_OK;
}

/* ---- which files ----------------------------------------------------------------------------------------------------- */

static enum status refuse_line(const struct graph_io *io, const struct input_line *line, const char *list, const char *why)
{
    CLEANUP(str_finish) struct str known;
    str_init(&known);
    list_tensors(io->inputs, io->n_inputs, &known);
    return status_fail(ST_INVALID_ARG, "%s:%u: %s; graph \"%s\" has %u inputs: %s", list, line->number, why, io->graph->name,
                       io->n_inputs, str_text(&known));
}

static enum status resolve_line(struct graph_io *io, uint32_t index, const char *list)
{
    const struct input_line *line = &io->list.lines.at[index];
    const char **to = &io->paths[(size_t)index * io->n_inputs];
    char why[256];
    for (size_t i = 0; i < line->n; i++) {
        uint32_t at = (uint32_t)i;
        if (line->items[i].tensor) {
            for (at = 0; at < io->n_inputs && !same_name(io->inputs[at].tensor.v1.name, line->items[i].tensor);)
                at++;
            snprintf(why, sizeof(why), "no input is named \"%s\"", line->items[i].tensor);
        } else {
            snprintf(why, sizeof(why), "%zu files on the line", line->n);
        }
        if (at >= io->n_inputs)
            return refuse_line(io, line, list, why);
        to[at] = line->items[i].path;
    }
    for (uint32_t i = 0; i < io->n_inputs; i++) {
        snprintf(why, sizeof(why), "no file for input \"%s\"", io->inputs[i].tensor.v1.name);
        if (!to[i])
            return refuse_line(io, line, list, why);
    }
    return ST_OK;
}

/* ---- sizes and batches ----------------------------------------------------------------------------------------------- */

static uint64_t file_bytes(const struct io_tensor *t)
{
    return t->native ? t->bytes : t->elements * sizeof(float);
}

static enum status refuse_size(const struct io_tensor *t, const char *path, uint64_t size, const char *place)
{
    CLEANUP(str_finish) struct str text;
    str_init(&text);
    tensor_describe(&t->tensor, &text);
    const char *hint = "";
    if (!t->native && size == t->bytes)
        hint =
            "; that is the native size: add --use_native_input_files, or --native_input_tensor_names for this tensor only";
    else if (t->native && size == t->elements * sizeof(float))
        hint = "; that is the float32 size: leave out --use_native_input_files";
    else if (t->batch > 1)
        hint = "; a file holds the whole batch, one element of it, or several batches";
    return status_fail(ST_INVALID_ARG,
                       "%s: file \"%s\" has %" PRIu64 " bytes; tensor %s needs %" PRIu64 " native or %" PRIu64
                       " as float32 (%s files are expected)%s",
                       place, path, size, str_text(&text), t->bytes, t->elements * sizeof(float),
                       t->native ? "native" : "float32", hint);
}

/* How one file fits its tensor: chunks, or 0 for one element of the batch. */
static enum status fit_file(const struct io_tensor *t, const char *path, const char *place, uint32_t *ret)
{
    uint64_t size, full = file_bytes(t), unit = full / t->batch;
    enum status st = tool_file_size(path, &size);
    if (st != ST_OK)
        return status_prefix(st, "%s", place);
    bool one = t->batch > 1 && size == unit && full % t->batch == 0;
    if (!one && (!size || size % full || size / full > UINT32_MAX))
        return refuse_size(t, path, size, place);
    *ret = one ? 0 : (uint32_t)(size / full);
    return ST_OK;
}

static enum status fit_line(struct graph_io *io, uint32_t line, const char *list, uint32_t *ret)
{
    char place[512];
    *ret = 1;
    if (io->n_inputs && io->paths)
        snprintf(place, sizeof(place), "%s:%u", list, io->list.lines.at[line].number);
    for (uint32_t i = 0; i < io->n_inputs && io->paths; i++) {
        uint32_t chunks;
        TRY(fit_file(&io->inputs[i], io->paths[(size_t)line * io->n_inputs + i], place, &chunks));
        RETURN_IF(i && chunks != *ret, ST_INVALID_ARG,
                  "%s: the files of inputs \"%s\" and \"%s\" hold different numbers of batches", place,
                  io->inputs[0].tensor.v1.name, io->inputs[i].tensor.v1.name);
        *ret = chunks;
    }
    return ST_OK;
}

/* A file of several times the size may be meant, or be of another type: told once. */
static void warn_of_batches(const struct graph_io *io, uint32_t line, const char *list, uint32_t chunks)
{
    bool floats = false;

    for (uint32_t i = 0; i < io->n_inputs; i++) {
        const struct io_tensor *t = &io->inputs[i];
        floats |= t->native && t->elements * sizeof(float) == chunks * t->bytes;
    }
    tool_log(TOOL_WARN, "%s:%u: the files hold %u times what an execution takes, and are taken as %u executions%s", list,
             io->list.lines.at[line].number, chunks, chunks,
             floats ? "; if they hold float32 numbers, leave out --use_native_input_files" : "");
}

static enum status make_jobs(struct graph_io *io, const char *list)
{
    bool told = false;

    for (uint32_t line = 0; line < io->n_lines;) {
        uint32_t chunks, n = 1;
        tool_progress("Checking input line", line, io->n_lines);
        TRY(fit_line(io, line, list, &chunks));
        if (chunks > 1 && !told)
            warn_of_batches(io, line, list, chunks);
        told |= chunks > 1;
        uint64_t batch = io->n_inputs ? io->inputs[0].batch : 1;
        for (uint32_t next; !chunks && n < batch && line + n < io->n_lines; n++) {
            TRY(fit_line(io, line + n, list, &next));
            RETURN_IF(next, ST_INVALID_ARG,
                      "%s:%u: one element of the batch is expected, as on the line before; %" PRIu64 " lines make a batch",
                      list, io->list.lines.at[line + n].number, batch);
        }
        struct io_job *job = vec_push(&io->jobs);
        RETURN_IF(!job, ST_NO_MEMORY, "executions");
        *job = (struct io_job){ line, n, chunks ? chunks : 1, !chunks, io->executions };
        if (!chunks && n < batch)
            tool_log(TOOL_WARN, "the last batch has %u of %" PRIu64 " lines; the rest of the tensor is zero", n, batch);
        io->executions += job->chunks;
        line += n;
    }
    tool_progress("Checking input line", 1, 1);
    io->cache = arena_alloc_array(&io->arena, io->executions, sizeof(*io->cache));
    RETURN_IF(!io->cache, ST_NO_MEMORY, "%" PRIu64 " executions", io->executions);
    return ST_OK;
}

static enum status read_list(struct graph_io *io, const char *path)
{
    struct tool_file f = { 0 };
    TRY(tool_file_read(path, &f));
    enum status st = input_list_parse(f.data, f.size, path, &io->arena, &io->list);
    tool_file_free(&f);
    TRY(st);
    io->n_lines = (uint32_t)io->list.lines.n;
    RETURN_IF(!io->n_lines && io->n_inputs, ST_INVALID_ARG, "%s: no line names input files", path);
    io->paths = arena_alloc_array(&io->arena, (size_t)io->n_lines * io->n_inputs + 1, sizeof(*io->paths));
    RETURN_IF(!io->paths, ST_NO_MEMORY, "%s: %u lines", path, io->n_lines);
    for (uint32_t i = 0; i < io->n_lines && io->n_inputs; i++)
        TRY(resolve_line(io, i, path));
    return ST_OK;
}

enum status graph_io_open(struct graph_io *io, const struct session_graph *g, const char *list_path,
                          const struct io_options *opt)
{
    memset(io, 0, sizeof(*io));
    arena_init(&io->arena);
    io->graph = g;
    io->opt = *opt;
    TRY(open_tensors(io));
    if (list_path)
        TRY(read_list(io, list_path));
    io->n_lines = io->n_lines ? io->n_lines : 1;
    TRY(select_outputs(io, list_path ? list_path : "outputs"));
    return make_jobs(io, list_path ? list_path : "inputs");
}

void graph_io_finish(struct graph_io *io)
{
    for (uint64_t i = 0; io->cache && i < io->executions; i++) {
        for (uint32_t t = 0; io->cache[i] && t < io->n_inputs; t++)
            mem_free(io->cache[i][t]);
        mem_free(io->cache[i]);
    }
    input_list_finish(&io->list);
    vec_finish(&io->jobs);
    arena_finish(&io->arena);
}

const struct io_job *graph_io_job(const struct graph_io *io, uint64_t execution, uint32_t *chunk)
{
    size_t low = 0, high = io->jobs.n - 1; /* the last job that does not begin behind the execution */
    while (low < high) {
        size_t middle = (low + high + 1) / 2;
        if (io->jobs.at[middle].first <= execution)
            low = middle;
        else
            high = middle - 1;
    }
    *chunk = (uint32_t)(execution - io->jobs.at[low].first);
    return &io->jobs.at[low];
}
