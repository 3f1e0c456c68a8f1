/* SPDX-License-Identifier: Apache-2.0 */
/* Running one model step by step. */
#include "model_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *read_whole_file(const char *path, size_t *ret_size)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        return NULL;
    char *p = NULL;
    long n = fseek(f, 0, SEEK_END) == 0 ? ftell(f) : -1;
    if (n >= 0) {
        rewind(f);
        p = malloc((size_t)n + 1);
    }
    if (p && fread(p, 1, (size_t)n, f) != (size_t)n) {
        free(p);
        p = NULL;
    }
    fclose(f);
    if (p) {
        p[n] = 0;
        *ret_size = (size_t)n;
    }
    return p;
}

static bool fail(struct model_run *m, const char *what, const char *why)
{
    snprintf(m->error, sizeof(m->error), "%s: %s", what, why);
    return false;
}

uint32_t model_io(const struct model_run *m, const char *source_name, bool output)
{
    for (size_t i = 0; i < m->report.io.n; i++) {
        const struct convert_io *io = &m->report.io.at[i];
        if (io->output == output && !io->state && !strcmp(io->source_name, source_name))
            return ir_find_tensor(m->g, io->graph_name);
    }
    return IR_NONE;
}

/* Real zero, unless the report has a first value. */
static void first_value(struct model_run *m, const struct convert_io *io)
{
    uint32_t at = ir_find_tensor(m->g, io->graph_name);
    const struct tensor_desc *d = &m->g->tensors.at[at].desc;
    uint64_t bytes = desc_bytes(d), each = dtype_bits(d->type) / 8;
    int32_t zero = dtype_is_fixed(d->type) ? -d->q.offset : 0;
    for (uint64_t i = 0; each && i < bytes / each; i++)
        memcpy((char *)m->data[at] + i * each, &zero, each < 4 ? each : 4);
    if (io->initial && io->initial_bytes == bytes)
        memcpy(m->data[at], io->initial, bytes);
}

static bool make_buffers(struct model_run *m)
{
    m->data = calloc(m->g->tensors.n + 1, sizeof(void *));
    for (size_t i = 0; m->data && i < m->g->tensors.n; i++) {
        uint8_t role = m->g->tensors.at[i].role;
        if (role != IR_INPUT && role != IR_OUTPUT)
            continue;
        m->data[i] = calloc(1, desc_bytes(&m->g->tensors.at[i].desc));
        if (!m->data[i])
            return fail(m, "buffers", "out of memory");
    }
    for (size_t i = 0; m->data && i < m->report.io.n; i++)
        if (!m->report.io.at[i].output)
            first_value(m, &m->report.io.at[i]);
    return m->data || fail(m, "buffers", "out of memory");
}

/* The inputs and outputs of an ONNX model stay as they are in the source, so that vectors made for it fit. */
static enum status convert(struct model_run *m, const char *path, const struct convert_opts *o)
{
    static const struct convert_opts as_source = {.preserve_io = true};
    if (!strstr(path, ".onnx"))
        return convert_tflite(m->file, m->size, o, &m->report, &m->g);
    return convert_onnx(m->file, m->size, NULL, o ? o : &as_source, &m->report, &m->g);
}

bool model_load(struct model_run *m, const char *path, const struct convert_opts *o)
{
    memset(m, 0, sizeof(*m));
    convert_report_init(&m->report);
    m->file = read_whole_file(path, &m->size);
    if (!m->file)
        return fail(m, path, "cannot be read");
    return convert(m, path, o) == ST_OK || fail(m, "convert", status_text());
}

bool model_compose(struct model_run *m, struct compose *on)
{
    m->on = on;
    return (compose_graph(on, m->g) || fail(m, "compose", on->error)) && make_buffers(m);
}

bool model_open(struct model_run *m, struct compose *on, const char *path, const struct convert_opts *o)
{
    return model_load(m, path, o) && model_compose(m, on);
}

void model_close(struct model_run *m)
{
    if (m->on)
        compose_drop(m->on);
    for (size_t i = 0; m->data && i < m->g->tensors.n; i++)
        free(m->data[i]);
    free(m->data);
    ir_graph_free(m->g);
    ir_graph_free(m->source);
    convert_report_finish(&m->report);
    free(m->file);
}

bool model_step(struct model_run *m)
{
    if (!compose_run(m->on, m->data))
        return fail(m, "run", m->on->error);
    m->steps++;
    if (m->after_step)
        m->after_step(m->after_arg);
    for (size_t i = 0; i < m->report.io.n; i++) {
        const struct convert_io *io = &m->report.io.at[i];
        if (!io->state)
            continue;
        uint32_t from = ir_find_tensor(m->g, io->graph_name), to = ir_find_tensor(m->g, io->state);
        memcpy(m->data[to], m->data[from], desc_bytes(&m->g->tensors.at[to].desc));
    }
    return true;
}
