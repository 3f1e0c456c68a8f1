/* SPDX-License-Identifier: Apache-2.0 */
/* See dump.h. A dump never makes a call fail: what cannot be written is told once, and then no more is written. */
#include "api/dump.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/objects.h"
#include "base/file_write.h"
#include "base/str.h"

enum { PATH_SIZE = 3072, FOLDER_MOST = 2800, NAME_SIZE = 120, USUAL_RUNS = 8, HEADER_STEP = 64 };

static char folder[PATH_SIZE]; /* "": nothing is dumped */
static uint32_t most_runs;     /* 0: all */
static _Atomic bool stopped;

/* What is no number is told by base/environment.c, and changes nothing. */
static uint32_t read_runs(const char *text)
{
    char *end;
    if (!text || !isdigit((unsigned char)*text))
        return USUAL_RUNS;

    const unsigned long n = strtoul(text, &end, 10);
    return *end || n > INT_MAX ? USUAL_RUNS : (uint32_t)n;
}

/* The folder has the number of the parent, whose files a child would overwrite. */
static void stop_in_child(void)
{
    atomic_store(&stopped, true);
}

__attribute__((constructor)) static void begin(void)
{
    const char *wanted = getenv("OPENQNN_DUMP");
    const char *runs = getenv("OPENQNN_DUMP_RUNS");
    const char *own = backend_own_path();
    const char *slash = strrchr(own, '/');
    if (!wanted || !*wanted)
        return;

    const int n = snprintf(folder, sizeof(folder), "%s/%.60s-%d", wanted, slash ? slash + 1 : own, (int)getpid());
    if (n >= FOLDER_MOST) {
        folder[0] = '\0';
        api_log(LOG_ERROR, "OPENQNN_DUMP has %zu letters; at most %d: nothing is dumped", strlen(wanted), FOLDER_MOST - 100);
        return;
    }
    most_runs = read_runs(runs);
    pthread_atfork(NULL, NULL, stop_in_child);
}

static void stop(const char *path, int error)
{
    if (!atomic_exchange(&stopped, true))
        api_log(LOG_ERROR, "OPENQNN_DUMP: \"%s\" cannot be written (%s); nothing more is dumped", path,
                strerrordesc_np(error));
}

/* Letters that mean something to a shell or a path become '_'. */
static void plain_name(const char *name, char to[NAME_SIZE])
{
    static const char usual[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
    size_t n = 0;

    for (; name && name[n] && n < NAME_SIZE - 1; n++)
        to[n] = strchr(usual, name[n]) ? name[n] : '_';
    to[n] = '\0';
    if (to[0] == '.')
        to[0] = '_';
}

/* The folders of a path, all of them. */
static bool make_folders(const char *path)
{
    char part[PATH_SIZE + NAME_SIZE * 2];
    const int n = snprintf(part, sizeof(part), "%s", path);

    for (int i = 1; i <= n && i < (int)sizeof(part); i++) {
        if (part[i] != '/' && part[i])
            continue;
        const char end = part[i];
        part[i] = '\0';
        if (mkdir(part, 0777) != 0 && errno != EEXIST)
            return false;
        part[i] = end;
    }
    return true;
}

/* ---- .npy ---------------------------------------------------------------------------------------------------------- */

/* The element type as NumPy spells it; types below a byte are dumped as the bytes they are packed in. */
static const char *npy_type(enum dtype type)
{
    static const char *const unsigned_of[] = { [8] = "|u1", [16] = "<u2", [32] = "<u4", [64] = "<u8" };
    static const char *const signed_of[] = { [8] = "|i1", [16] = "<i2", [32] = "<i4", [64] = "<i8" };
    const unsigned bits = dtype_bits(type);

    if (type == DT_B8)
        return "|b1";
    if (type == DT_F16)
        return "<f2";
    if (type == DT_F32)
        return "<f4";
    if (type == DT_F64)
        return "<f8";
    if (bits < 8)
        return "|u1";
    return dtype_is_signed(type) ? signed_of[bits] : unsigned_of[bits];
}

static void npy_header(const struct tensor_desc *d, uint64_t bytes, struct str *out)
{
    struct str text;
    str_init(&text);

    str_addf(&text, "{'descr': '%s', 'fortran_order': False, 'shape': (", npy_type(d->type));
    if (dtype_bits(d->type) < 8)
        str_addf(&text, "%" PRIu64 ",", bytes);
    for (unsigned i = 0; dtype_bits(d->type) >= 8 && i < d->rank; i++)
        str_addf(&text, "%" PRIu32 ",", d->dims[i]);
    str_add(&text, "), }");

    const size_t fixed = 10; /* magic, version, length */
    const size_t padded = (fixed + text.n + 1 + HEADER_STEP - 1) / HEADER_STEP * HEADER_STEP;
    const size_t length = padded - fixed;
    const char head[] = { '\x93', 'N', 'U', 'M', 'P', 'Y', 1, 0, (char)(length & 0xff), (char)(length >> 8) };
    str_addn(out, head, sizeof(head));
    str_addn(out, str_text(&text), text.n);
    while (!out->failed && out->n < padded - 1)
        str_addn(out, " ", 1);
    str_add(out, "\n");
    str_finish(&text);
}

static void write_array(const char *path, const struct tensor_desc *d, const void *data, uint64_t bytes)
{
    CLEANUP(file_write_abort) struct file_write w = { 0 };
    CLEANUP(str_finish) struct str header;

    str_init(&header);
    npy_header(d, bytes, &header);
    if (header.failed || file_write_begin(&w, path) != ST_OK) {
        stop(path, header.failed ? ENOMEM : errno);
        return;
    }
    fwrite(str_text(&header), 1, header.n, w.to);
    fwrite(data, 1, bytes, w.to);
    if (file_write_end(&w) != ST_OK)
        stop(path, errno ? errno : EIO);
}

/* ---- what the tensors are ------------------------------------------------------------------------------------------ */

static void add_text(struct str *out, const char *text)
{
    str_add(out, "\"");
    for (; text && *text; text++) {
        const unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            str_addf(out, "\\%c", c);
        else if (c < 0x20)
            str_addf(out, "\\u%04x", c);
        else
            str_addn(out, text, 1);
    }
    str_add(out, "\"");
}

static void add_encoding(struct str *out, const struct tensor_desc *d)
{
    const struct quant *q = &d->q;

    if (q->kind == Q_TENSOR)
        str_addf(out, ", \"scale\": %.9g, \"offset\": %" PRId32, (double)q->scale, q->offset);
    if (q->kind != Q_AXIS)
        return;

    str_addf(out, ", \"axis\": %" PRId32 ", \"scales\": [", q->axis);
    for (uint32_t i = 0; i < q->n; i++)
        str_addf(out, "%s%.9g", i ? ", " : "", (double)quant_scale(q, i));
    str_add(out, "], \"offsets\": [");
    for (uint32_t i = 0; i < q->n; i++)
        str_addf(out, "%s%" PRId32, i ? ", " : "", quant_offset(q, i));
    str_add(out, "]");
}

static void write_tensors(const char *path, const struct api_graph *g)
{
    CLEANUP(str_finish) struct str out;
    str_init(&out);

    str_add(&out, "{ \"graph\": ");
    add_text(&out, g->name);
    str_add(&out, ", \"real\": \"(stored + offset) * scale\", \"tensors\": [");
    for (uint32_t i = 0; i < g->n_io; i++) {
        const struct tensor_desc *d = &g->io[i].tensor->desc;
        const bool is_input = i < g->n_inputs;
        const uint32_t number = is_input ? i : i - g->n_inputs;
        str_add(&out, i ? ",\n" : "\n");
        str_addf(&out, "  { \"%s\": %" PRIu32 ", \"name\": ", is_input ? "input" : "output", number);
        add_text(&out, g->io[i].tensor->name);
        str_addf(&out, ", \"type\": \"%s\", \"shape\": [", dtype_name(d->type));
        for (unsigned k = 0; k < d->rank; k++)
            str_addf(&out, "%s%" PRIu32, k ? ", " : "", d->dims[k]);
        str_add(&out, "]");
        add_encoding(&out, d);
        str_add(&out, " }");
    }
    str_add(&out, "\n] }\n");
    if (out.failed || file_write_all(path, str_text(&out), out.n) != ST_OK)
        stop(path, out.failed ? ENOMEM : EIO);
}

/* ---- runs ---------------------------------------------------------------------------------------------------------- */

static void run_folder(const struct graph_run *r, uint32_t number, char to[PATH_SIZE])
{
    char name[NAME_SIZE];

    plain_name(r->graph->name, name);
    snprintf(to, PATH_SIZE, "%.2800s/%s/run_%04" PRIu32, folder, name, number);
}

/* The tensor as this execution has it: more of a batch, or other lengths of dynamic dimensions. */
static struct tensor_desc seen_desc(const struct graph_run *r, uint32_t i)
{
    const struct backend_io *io = &r->io[i];
    struct tensor_desc d = r->graph->io[i].tensor->desc;
    const uint32_t *dims = i < r->graph->n_inputs ? io->dims : io->out_dims;

    if (d.dynamic && dims)
        memcpy(d.dims, dims, d.rank * sizeof(d.dims[0]));
    else if (!d.dynamic && d.rank)
        d.dims[0] *= r->batch;
    return d;
}

static void dump_tensors(const struct graph_run *r, uint32_t number, bool inputs)
{
    const struct api_graph *g = r->graph;
    const uint32_t first = inputs ? 0 : g->n_inputs;
    const uint32_t end = inputs ? g->n_inputs : g->n_io;
    char where[PATH_SIZE], path[PATH_SIZE + NAME_SIZE * 2], name[NAME_SIZE];

    run_folder(r, number, where);
    for (uint32_t i = first; i < end && !stopped; i++) {
        const struct tensor_desc d = seen_desc(r, i);
        plain_name(g->io[i].tensor->name, name);
        snprintf(path, sizeof(path), "%s/%s_%02" PRIu32 "_%s.npy", where, inputs ? "in" : "out", i - first, name);
        if (r->io[i].data)
            write_array(path, &d, r->io[i].data, desc_bytes(&d));
        else
            api_log(LOG_INFO, "OPENQNN_DUMP: tensor \"%s\" is in memory that this process does not map, or was left out",
                    g->io[i].tensor->name);
    }
}

uint32_t dump_inputs(const struct graph_run *r)
{
    char path[PATH_SIZE + NAME_SIZE], name[NAME_SIZE];
    if (!folder[0] || stopped)
        return 0;

    const uint32_t number = atomic_fetch_add(&r->graph->dumped, 1) + 1;
    if (most_runs && number > most_runs)
        return 0;

    run_folder(r, number, path);
    if (!make_folders(path)) {
        stop(path, errno);
        return 0;
    }
    if (number == 1) {
        plain_name(r->graph->name, name);
        snprintf(path, sizeof(path), "%.2800s/%s/tensors.json", folder, name);
        write_tensors(path, r->graph);
        api_log(LOG_WARN, "OPENQNN_DUMP: inputs and outputs of graph \"%s\" are written to %s/%s", r->graph->name, folder,
                name);
    }
    dump_tensors(r, number, true);
    return number;
}

void dump_outputs(const struct graph_run *r, uint32_t number)
{
    if (number && !stopped)
        dump_tensors(r, number, false);
}
