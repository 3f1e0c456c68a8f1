/* SPDX-License-Identifier: Apache-2.0 */
/* The mean squared error of outputs; see throughput.h.
 *
 *     MSE           real values; files hold the tensor's own type
 *     MSE_FLOAT32   real values; files hold float32
 *     MSE_INT8/16   the stored integers, of tensors with 8 or 16 bits; files hold the tensor's own type */
#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "common/tensor_data.h"
#include "common/tensor_text.h"
#include "throughput_net_run/throughput.h"

static bool of_integers(const struct golden *g)
{
    return g->post == POST_MSE_INT8 || g->post == POST_MSE_INT16;
}

/* Stored integers as numbers; unsigned unless the type says so. */
static void integers(const struct io_tensor *t, const void *native, float *to)
{
    const struct tensor_type *type = tensor_type(t->tensor.v1.dataType);
    bool is_signed = type->kind == CLASS_SFIXED || type->kind == CLASS_INT, wide = type->bits == 16;
    for (uint64_t i = 0; i < t->elements; i++) {
        uint16_t v = ((const uint8_t *)native)[i];
        if (wide)
            memcpy(&v, (const char *)native + 2 * i, sizeof(v));
        to[i] = !is_signed ? (float)v : wide ? (float)(int16_t)v : (float)(int8_t)v;
    }
}

static enum status values_of(const struct golden *g, uint32_t output, const void *native, float **ret)
{
    const struct io_tensor *t = &g->io->outputs[output];
    *ret = mem_alloc_array(t->elements, sizeof(**ret));
    RETURN_IF(!*ret, ST_NO_MEMORY, "%" PRIu64 " numbers of output \"%s\"", t->elements, t->tensor.v1.name);
    if (of_integers(g))
        integers(t, native, *ret);
    else
        tensor_to_float(&t->tensor, native, 0, t->elements, *ret);
    return ST_OK;
}

static enum status read_file(struct golden *g, uint32_t output, const char *path, float **ret)
{
    const struct io_tensor *t = &g->io->outputs[output];
    uint64_t want = g->post == POST_MSE_FLOAT32 ? t->elements * sizeof(float) : t->bytes;
    struct tool_file f = { 0 };
    TRY(tool_file_read(path, &f));
    enum status st = f.size == want ? ST_OK
                                    : status_fail(ST_INVALID_ARG, "\"%s\" has %zu bytes; output \"%s\" needs %" PRIu64, path,
                                                  f.size, t->tensor.v1.name, want);
    if (st == ST_OK && g->post == POST_MSE_FLOAT32) {
        *ret = mem_dup(f.data, f.size);
        st = *ret ? ST_OK : status_fail(ST_NO_MEMORY, "no memory for \"%s\"", path);
    } else if (st == ST_OK) {
        st = values_of(g, output, f.data, ret);
    }
    tool_file_free(&f);
    return st;
}

static enum status read_lines(struct golden *g, const struct input_list *list, const char *path)
{
    uint32_t n = g->io->n_outputs;
    RETURN_IF(list->lines.n != g->io->executions, ST_INVALID_ARG,
              "%s has %zu lines; graph \"%s\" runs on %" PRIu64 " sets of inputs", path, list->lines.n, g->io->graph->name,
              g->io->executions);
    for (size_t i = 0; i < list->lines.n; i++) {
        const struct input_line *line = &list->lines.at[i];
        RETURN_IF(line->n != n, ST_INVALID_ARG, "%s:%u: %zu files on the line; graph \"%s\" has %u outputs", path,
                  line->number, line->n, g->io->graph->name, n);
        for (uint32_t k = 0; k < n; k++)
            TRY(read_file(g, k, line->items[k].path, &g->at[i * n + k]));
    }
    return ST_OK;
}

static enum status read_list(struct golden *g, const char *path)
{
    struct tool_file f = { 0 };
    struct input_list list = { 0 };
    CLEANUP(arena_finish) struct arena arena;
    arena_init(&arena);
    TRY(tool_file_read(path, &f));
    enum status st = input_list_parse(f.data, f.size, path, &arena, &list);
    if (st == ST_OK)
        st = read_lines(g, &list, path);
    input_list_finish(&list);
    tool_file_free(&f);
    return st == ST_OK ? st : status_prefix(st, "groundTruthPath");
}

enum status golden_open(struct golden *g, const struct graph_io *io, const struct tp_model *m, const char *list)
{
    *g = (struct golden){ .io = io, .post = m->post };
    if (m->post == POST_NONE)
        return ST_OK;
    for (uint32_t i = 0; i < io->n_outputs; i++) {
        const Qnn_Tensor_t *t = &io->outputs[i].tensor;
        const struct tensor_type *type = tensor_type(t->v1.dataType);
        uint32_t want = m->post == POST_MSE_INT8 ? 8 : 16;
        TRY(tensor_convertible(t));
        RETURN_IF(of_integers(g) && (type->bits != want || type->kind == CLASS_FLOAT), ST_INVALID_CONFIG,
                  "model \"%s\": postProcessor MSE_INT%u, but output \"%s\" is %s; use MSE", m->name, want, t->v1.name,
                  type->brief);
    }
    g->at = mem_alloc_array(io->executions * io->n_outputs + 1, sizeof(*g->at));
    RETURN_IF(!g->at, ST_NO_MEMORY, "expected outputs");
    return list ? read_list(g, list) : ST_OK;
}

void golden_finish(struct golden *g)
{
    for (uint64_t i = 0; g->at && i < g->io->executions * g->io->n_outputs; i++)
        mem_free(g->at[i]);
    mem_free(g->at);
    g->at = NULL;
}

enum status golden_compare(struct golden *g, uint64_t execution, void *const *outputs)
{
    for (uint32_t i = 0; g->at && i < g->io->n_outputs; i++) {
        float **want = &g->at[execution * g->io->n_outputs + i];
        CLEANUP(mem_freep) float *got = NULL;
        TRY(values_of(g, i, outputs[i], &got));
        if (!*want) {
            *want = got;
            got = NULL;
        }
        for (uint64_t k = 0; k < g->io->outputs[i].elements; k++) {
            double d = got ? (double)got[k] - (double)(*want)[k] : 0;
            g->sum += d * d;
        }
        g->n += g->io->outputs[i].elements;
    }
    return ST_OK;
}
