/* SPDX-License-Identifier: Apache-2.0 */
/* All networks on libQnnHtp.so: the same bits as on libQnnCpu.so, whatever the size of the VTCM, and as accurate as the
 * bounds say.
 *
 *     htp_networks [--tsv] [--spoil] LIB_DIR MODELS BOUNDS
 *
 * A network runs as it is, a float one in float32 (the graph option) and in float16, and quantized here to 8-bit
 * weights with 8- and 16-bit activations, and with float ones: what the weights alone cost, in whatever engine.
 * Accuracy is the signal to noise ratio of the outputs, in decibel, against the reference outputs of refs/;
 * quantized networks are calibrated on the same inputs, which are few. A line of BOUNDS: model, form, least
 * decibel. With --spoil a bit of every result is turned, which has to be noticed. --tsv adds what is estimated
 * for the SoC (OPENQNN_SOC) and the time on this computer. */
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <QNN/HTP/QnnHtpGraph.h>

#include "backend/htp/htp_cost.h"
#include "binary/binary.h"
#include "model_refs.h"

enum { MAX_BOUNDS = 256, TIMED = 30, SKIP = 77, EXACT = 999 };
#define SMALL_VTCM (256u << 10)
#define ENOUGH_VTCM (2u << 20) /* every operator of these networks fits */

enum form { AS_IS, FLOAT16, W8A8, W8A16, W8, FORMS };
static const char *const form_names[FORMS] = { "as given", "float16", "w8a8", "w8a16", "w8" };

/* What a run gave. */
struct outcome {
    uint8_t *bytes; /* all outputs of all steps */
    size_t n, cap;
    double signal, noise;
    unsigned top_same, top_all, steps;
    bool reference;
    char type[8];
};

struct facts {
    double ms; /* on this computer */
    uint64_t cycles, peak, spill;
    uint64_t small_spill; /* with the least VTCM that its operators fit into … */
    uint32_t small_vtcm;  /* … of this size: 256 KiB or twice as much, and so on */
    uint32_t mhz;
};

static struct {
    char model[160], form[16];
    double decibel;
} bounds[MAX_BOUNDS];
static unsigned n_bounds;
static const char *models;
static struct refs refs;
static struct compose cpu, htp;
static bool tsv, spoil;

/* ---- outcomes --------------------------------------------------------------------------------------------------------- */

static double real_value(const struct tensor_desc *d, const void *p, uint64_t i)
{
    double q = 0;
    if (d->type == DT_F32)
        return (double)((const float *)p)[i];
    switch (dtype_bits(d->type)) {
    case 8:
        q = dtype_is_signed(d->type) ? ((const int8_t *)p)[i] : ((const uint8_t *)p)[i];
        break;
    case 16:
        q = dtype_is_signed(d->type) ? ((const int16_t *)p)[i] : ((const uint16_t *)p)[i];
        break;
    default:
        q = ((const int32_t *)p)[i];
    }
    return dtype_is_fixed(d->type) ? (q + d->q.offset) * (double)d->q.scale : q;
}

static void keep_bytes(struct outcome *o, const void *p, size_t n)
{
    if (o->n + n > o->cap) {
        o->cap = 2 * (o->n + n);
        o->bytes = realloc(o->bytes, o->cap);
    }
    if (o->bytes)
        memcpy(o->bytes + o->n, p, n);
    o->n += n;
}

static void score(void *arg, const struct tensor_desc *d, void *got, const void *want, const char *engine)
{
    (void)engine;
    struct outcome *o = arg;
    uint64_t n = desc_count(d), row = d->rank == 2 ? d->dims[1] : n, best_got = 0, best_want = 0;
    keep_bytes(o, got, desc_bytes(d));
    for (uint64_t i = 0; i < n; i++) {
        double a = real_value(d, got, i), b = real_value(d, want, i);
        o->signal += b * b;
        o->noise += (a - b) * (a - b);
        best_got = i % row == 0 || a > real_value(d, got, best_got) ? i : best_got;
        best_want = i % row == 0 || b > real_value(d, want, best_want) ? i : best_want;
        if (d->rank == 2 && row > 1 && i % row == row - 1) {
            o->top_all++;
            o->top_same += best_got == best_want;
        }
    }
    o->reference = true;
    snprintf(o->type, sizeof(o->type), "%s", dtype_name(d->type));
}

static double decibel(const struct outcome *o)
{
    if (o->noise == 0)
        return EXACT;
    return o->signal > 0 && o->noise == o->noise ? 10 * log10(o->signal / o->noise) : -EXACT;
}

/* ---- running ---------------------------------------------------------------------------------------------------------- */

/* Networks without reference: numbers from 0 to 1, all bytes. */
static void ramp(struct model_run *m)
{
    for (size_t i = 0; i < m->g->tensors.n; i++) {
        const struct ir_tensor *t = &m->g->tensors.at[i];
        uint64_t n = t->role == IR_INPUT ? desc_count(&t->desc) : 0;
        for (uint64_t k = 0; k < n; k++) {
            if (t->desc.type == DT_F32)
                ((float *)m->data[i])[k] = (float)k / (float)n;
            else
                ((uint8_t *)m->data[i])[k * dtype_bits(t->desc.type) / 8] = (uint8_t)(k * 7);
        }
    }
}

static bool feed(struct model_run *m, const char *name, struct outcome *o)
{
    bool known, ok = refs_feed_all(m, models, &refs, name, (struct refs_to){ score, o }, &known);
    if (!known) {
        ramp(m);
        ok = model_step(m);
        for (size_t i = 0; ok && i < m->g->tensors.n; i++)
            if (m->g->tensors.at[i].role == IR_OUTPUT) {
                keep_bytes(o, m->data[i], desc_bytes(&m->g->tensors.at[i].desc));
                snprintf(o->type, sizeof(o->type), "%s", dtype_name(m->g->tensors.at[i].desc.type));
            }
    }
    o->steps = m->steps;
    return ok;
}

enum { MIB = 1 << 20 };

static bool compose_htp(struct model_run *m, enum form form, uint32_t vtcm, unsigned level)
{
    QnnHtpGraph_CustomConfig_t custom[3] = { QNN_HTP_GRAPH_CUSTOM_CONFIG_INIT, QNN_HTP_GRAPH_CUSTOM_CONFIG_INIT,
                                             QNN_HTP_GRAPH_CUSTOM_CONFIG_INIT };
    QnnGraph_Config_t config[3];
    const QnnGraph_Config_t *list[4] = {&config[0], &config[1], &config[2], NULL};
    custom[0].option = (QnnHtpGraph_ConfigOption_t)0x4F510001; /* FLOAT32, docs/htp-options.md */
    custom[0].foldReluActivationIntoConvOff = form != FLOAT16; /* any flag */
    if (vtcm % MIB) {
        custom[1].option = QNN_HTP_GRAPH_CONFIG_OPTION_VTCM_SIZE_IN_BYTES;
        custom[1].vtcmSizeInBytes = vtcm;
    } else {
        custom[1].option = QNN_HTP_GRAPH_CONFIG_OPTION_VTCM_SIZE_IN_MB;
        custom[1].vtcmSizeInMB = vtcm / MIB;
    }
    custom[2].option = QNN_HTP_GRAPH_CONFIG_OPTION_OPTIMIZATION;
    custom[2].optimizationOption.type = QNN_HTP_GRAPH_OPTIMIZATION_TYPE_FINALIZE_OPTIMIZATION_FLAG;
    custom[2].optimizationOption.floatValue = (float)level;
    for (int i = 0; i < 3; i++)
        config[i] = (QnnGraph_Config_t){.option = QNN_GRAPH_CONFIG_OPTION_CUSTOM, .customConfig = &custom[i]};
    htp.config = list;
    bool ok = model_compose(m, &htp);
    htp.config = NULL;
    return ok;
}

/* As its references are, with a size for those that leave theirs open. */
static bool load_source(struct model_run *m, const char *path)
{
    static const char *const symbols[] = {"height", "width"};
    static const uint32_t sizes[] = {96, 96};
    static const struct convert_opts onnx = {
        .preserve_io = true, .symbols = symbols, .symbol_values = sizes, .n_symbols = 2
    };
    return model_load(m, path, strstr(path, ".onnx") ? &onnx : NULL);
}

/* ---- quantizing ------------------------------------------------------------------------------------------------------- */

static void observe_nothing(void *arg, const struct tensor_desc *d, void *got, const void *want, const char *engine)
{
    (void)arg, (void)d, (void)got, (void)want, (void)engine;
}

/* The float network step by step with every tensor an output; the index of a tensor is that of the network itself. */
struct watch {
    struct model_run *m;
    struct quantize_range *ranges;
    struct quantize_cells cells;
};

static bool values_of(void *arg, uint32_t t, float *to)
{
    const struct model_run *m = arg;
    if (m->data[t])
        memcpy(to, m->data[t], desc_bytes(&m->g->tensors.at[t].desc));
    return m->data[t] != NULL;
}

static void observe_step(void *arg)
{
    struct watch *w = arg;
    quantize_cells_observe(&w->cells, values_of, w->m, w->ranges);
    for (size_t i = 0; i < w->m->g->tensors.n; i++)
        if (w->m->data[i] && w->m->g->tensors.at[i].desc.type == DT_F32)
            quantize_range_add(&w->ranges[i], w->m->data[i], desc_count(&w->m->g->tensors.at[i].desc));
}

static bool calibrate(const char *path, const char *name, struct quantize_range **ret)
{
    struct model_run m;
    struct watch w = { .m = &m };
    bool ok = load_source(&m, path) && quantize_cells_find(m.g, &w.cells) == ST_OK;
    if (ok && w.cells.graph) {
        m.source = m.g;
        m.g = w.cells.graph;
    }
    w.ranges = ok ? calloc(m.g->tensors.n, sizeof(*w.ranges)) : NULL;
    for (size_t i = 0; w.ranges && i < m.g->tensors.n; i++) {
        quantize_range_init(&w.ranges[i]);
        if (m.g->tensors.at[i].role == IR_NATIVE)
            m.g->tensors.at[i].role = IR_OUTPUT;
    }
    m.after_step = observe_step;
    m.after_arg = &w;
    ok = w.ranges && model_compose(&m, &cpu);
    for (unsigned i = 0; ok && i < refs.n; i += refs_of_model(&refs, i))
        if (!strcmp(refs.at[i].model, name))
            ok = refs_feed(&m, models, &refs.at[i], refs_of_model(&refs, i), observe_nothing, NULL);
    if (!ok)
        printf("%s: calibrating: %s\n", name, m.error);
    model_close(&m); /* and the graph of the cells with it */
    w.cells.graph = NULL;
    quantize_cells_finish(&w.cells);
    *ret = w.ranges;
    return ok;
}

static bool quantize(struct model_run *m, const struct quantize_range *ranges, enum form form)
{
    struct quantize_report report;
    struct quantize_state states[32];
    struct ir_graph *g = NULL;
    struct quantize_opts o = { .act = { .bits = form == W8A8 ? 8 : 16 },
                               .param = { .bits = 8, .schema = QUANTIZE_SYMMETRIC },
                               .bias_bits = 32,
                               .per_channel = true,
                               .per_row = true,
                               .stats = ranges,
                               .preserve_io = true,
                               .states = states };
    for (size_t i = 0; i < m->report.io.n && o.n_states < 32; i++)
        if (m->report.io.at[i].state)
            states[o.n_states++] = (struct quantize_state){m->report.io.at[i].state, m->report.io.at[i].graph_name};
    quantize_report_init(&report);
    bool ok = quantize_graph(m->g, &o, &report, &g) == ST_OK;
    quantize_report_finish(&report);
    if (ok && form == W8) {
        struct ir_graph *fixed = g;
        ok = quantize_strip(fixed, &g) == ST_OK;
        ir_graph_free(fixed);
    }
    if (!ok) {
        snprintf(m->error, sizeof(m->error), "quantize: %.1000s", status_text());
        return false;
    }
    m->source = m->g; /* its constants are borrowed */
    m->g = g;
    return true;
}

/* ---- one network in one form ------------------------------------------------------------------------------------------ */

static bool load(struct model_run *m, const char *path, const struct quantize_range *ranges, enum form form)
{
    return load_source(m, path) && (!ranges || quantize(m, ranges, form));
}

static void measure(struct model_run *m, struct facts *f)
{
    struct timespec a, b;
    f->ms = INFINITY;
    for (int i = 0; i < TIMED; i++) {
        clock_gettime(CLOCK_MONOTONIC, &a);
        if (!compose_run(m->on, m->data))
            return;
        clock_gettime(CLOCK_MONOTONIC, &b);
        f->ms = fmin(f->ms, (double)(b.tv_sec - a.tv_sec) * 1e3 + (double)(b.tv_nsec - a.tv_nsec) / 1e6);
    }
}

/* What the binary says. */
static void look(struct model_run *m, bool small, struct facts *f)
{
    uint64_t size = 0, written = 0;
    struct binary file;
    struct cost_device device;
    if (m->on->q.contextGetBinarySize(m->on->context, &size) != QNN_SUCCESS)
        return;
    void *data = aligned_alloc(4096, (size + 4095) / 4096 * 4096);
    if (data && m->on->q.contextGetBinary(m->on->context, data, size, &written) == QNN_SUCCESS &&
        binary_open(data, written, &file) == ST_OK) {
        const struct binary_graph *g = &file.graphs[0];
        htp_cost_device(file.target.soc_model, file.target.arch, 0, 0, &device);
        *(small ? &f->small_spill : &f->spill) = g->info.spill_fill_bytes;
        if (!small) {
            f->cycles = g->info.cycles;
            f->mhz = device.clock_mhz;
            f->peak = g->info.vtcm_used;
        }
        binary_close(&file);
    }
    free(data);
}

/* With little VTCM, or twice as much where an operator does not fit. */
static bool compose_small(struct model_run *m, enum form form, uint32_t *vtcm)
{
    for (*vtcm = SMALL_VTCM;; *vtcm *= 2) {
        if (compose_htp(m, form, *vtcm, 1))
            return true;
        bool in_bytes = strstr(m->error, "needs architecture v81"); /* before, sizes are whole MiB */
        if ((!in_bytes && !strstr(m->error, "bytes of TCM")) || *vtcm >= ENOUGH_VTCM)
            return false;
        compose_drop(m->on);
    }
}

/* With all of the VTCM in a session process, and with little of it at another level; the last says why when something is
 * wrong. */
static const char *run_htp(const char *path, const char *name, const struct quantize_range *ranges, enum form form,
                           struct outcome *first, struct facts *facts)
{
    static char text[1500];
    struct outcome second = {0};
    const char *wrong = NULL;
    for (int i = 0; i < 2 && !wrong; i++) {
        struct model_run m;
        struct outcome *o = i ? &second : first;
        bool ok = load(&m, path, ranges, form) &&
                  (i ? compose_small(&m, form, &facts->small_vtcm) : compose_htp(&m, form, 0, 2)) && feed(&m, name, o);
        if (!ok) {
            snprintf(text, sizeof(text), "%s", m.error);
            wrong = text;
        } else if (tsv) {
            look(&m, i, facts);
            if (!i)
                measure(&m, facts);
        }
        if (spoil && !i && o->bytes)
            o->bytes[o->n / 2] ^= 1;
        model_close(&m);
    }
    if (!wrong && (first->n != second.n || memcmp(first->bytes, second.bytes, first->n)))
        wrong = "another size of VTCM and optimization level give other bits";
    free(second.bytes);
    return wrong;
}

static const char *run_cpu(const char *path, const char *name, const struct quantize_range *ranges, enum form form,
                           const struct outcome *htp_gave)
{
    static char text[1500];
    struct model_run m;
    struct outcome o = {0};
    const char *wrong = NULL;
    bool ok = load(&m, path, ranges, form) && model_compose(&m, &cpu) && feed(&m, name, &o);
    if (!ok) {
        snprintf(text, sizeof(text), "libQnnCpu.so: %s", m.error);
        wrong = text;
    } else if (o.n != htp_gave->n || memcmp(o.bytes, htp_gave->bytes, o.n)) {
        wrong = "other bits than those of libQnnCpu.so";
    }
    model_close(&m);
    free(o.bytes);
    return wrong;
}

static const char *too_bad(const char *name, enum form form, const struct outcome *o)
{
    static char text[200];
    for (unsigned i = 0; i < n_bounds; i++)
        if (!strcmp(bounds[i].model, name) && !strcmp(bounds[i].form, form_names[form])) {
            snprintf(text, sizeof(text), "%.1f dB, at least %.1f are expected", decibel(o), bounds[i].decibel);
            return decibel(o) >= bounds[i].decibel ? NULL : text;
        }
    return o->reference ? "there is no bound for it" : NULL;
}

static bool run_form(const char *path, const char *name, const struct quantize_range *ranges, enum form form)
{
    struct outcome o = {0};
    struct facts f = {0};
    char db[32] = "-", top[32] = "-";
    const char *wrong = run_htp(path, name, ranges, form, &o, &f);
    if (!wrong && form != FLOAT16)
        wrong = run_cpu(path, name, ranges, form, &o);
    if (!wrong)
        wrong = too_bad(name, form, &o);
    if (o.reference && decibel(&o) == EXACT)
        snprintf(db, sizeof(db), "exact");
    else if (o.reference)
        snprintf(db, sizeof(db), "%.1f", decibel(&o));
    if (o.top_all)
        snprintf(top, sizeof(top), "%u/%u", o.top_same, o.top_all);
    if (tsv)
        printf("%s\t%s\t%s\t%u\t%s\t%s\t%llu\t%.3f\t%llu\t%llu\t%llu\t%u\t%.3f\t%s\n", name, form_names[form], o.type,
               o.steps, db, top, (unsigned long long)f.cycles, f.mhz ? (double)f.cycles / f.mhz / 1e3 : 0.0,
               (unsigned long long)f.peak, (unsigned long long)f.spill, (unsigned long long)f.small_spill,
               f.small_vtcm >> 10, f.ms, wrong ? wrong : "ok");
    else
        printf("%-48s %-9s %-5s %3u runs %8s dB  top-1 %-6s %s\n", name, form_names[form], o.type, o.steps, db, top,
               wrong ? wrong : "ok");
    fflush(stdout);
    free(o.bytes);
    return !wrong == !spoil;
}

/* ---- all networks ----------------------------------------------------------------------------------------------------- */

/* Float between its operators, and fed with references to calibrate on. */
static bool is_float(const char *path, const char *name)
{
    struct model_run m;
    bool known = false, real = load_source(&m, path);
    for (size_t i = 0; real && i < m.g->tensors.n; i++)
        real = !dtype_is_fixed(m.g->tensors.at[i].desc.type) || m.g->tensors.at[i].role == IR_CONST;
    for (unsigned i = 0; i < refs.n; i++)
        known = known || !strcmp(refs.at[i].model, name);
    model_close(&m);
    return real && known;
}

static unsigned run_network(const char *name)
{
    char path[4096];
    struct quantize_range *ranges = NULL;
    unsigned failed = 0;
    snprintf(path, sizeof(path), "%s/%s", models, name);
    failed += !run_form(path, name, NULL, AS_IS);
    if (!is_float(path, name))
        return failed;
    failed += !run_form(path, name, NULL, FLOAT16);
    if (!calibrate(path, name, &ranges))
        failed++;
    for (int form = W8A8; ranges && form < FORMS; form++)
        failed += !run_form(path, name, ranges, (enum form)form);
    free(ranges);
    return failed;
}

static unsigned run_folder(const char *folder, unsigned *n_models)
{
    char path[4096], name[400];
    struct dirent **names;
    unsigned failed = 0;
    snprintf(path, sizeof(path), "%s/%s", models, folder);
    int n = scandir(path, &names, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        const char *dot = strrchr(names[i]->d_name, '.');
        snprintf(name, sizeof(name), "%s/%s", folder, names[i]->d_name);
        if (dot && (!strcmp(dot, ".tflite") || !strcmp(dot, ".onnx"))) {
            failed += run_network(name);
            ++*n_models;
        }
        free(names[i]);
    }
    if (n >= 0)
        free(names);
    return failed;
}

static bool read_bounds(const char *path)
{
    char text[400];
    FILE *f = fopen(path, "r");
    if (!f)
        return false;
    while (n_bounds < MAX_BOUNDS && fgets(text, sizeof(text), f))
        if (text[0] != '#' && sscanf(text, "%159[^\t]\t%15[^\t]\t%lf", bounds[n_bounds].model, bounds[n_bounds].form,
                                     &bounds[n_bounds].decibel) == 3)
            n_bounds++;
    fclose(f);
    return true;
}

int main(int argc, char **argv)
{
    static const char *const folders[] = { "dtln",       "litert", "llm",  "mlperf-tiny",       "onnx",
                                           "onnx-light", "silero", "tflm", "tflm-seanet-int16", "vision",
                                           "wakeword" };
    const char *args[3] = {0};
    char path[4096];
    unsigned failed = 0, n_models = 0, n = 0;
    for (int i = 1; i < argc; i++) {
        tsv = tsv || !strcmp(argv[i], "--tsv");
        spoil = spoil || !strcmp(argv[i], "--spoil");
        if (argv[i][0] != '-' && n < 3)
            args[n++] = argv[i];
    }
    if (n < 3 || !read_bounds(args[2]))
        return fprintf(stderr, "usage: htp_networks [--tsv] [--spoil] LIB_DIR MODELS BOUNDS\n"), 2;
    models = args[1];
    if (!refs_read(models, &refs))
        return printf("SKIP: %s/refs/index.tsv is not there; put the models beside the source tree\n", models), SKIP;
    snprintf(path, sizeof(path), "%s/libQnnCpu.so", args[0]);
    bool opened = compose_open(&cpu, path);
    snprintf(path, sizeof(path), "%s/libQnnHtp.so", args[0]);
    bool opened2 = compose_open(&htp, path);
    if (!opened || !opened2)
        return fprintf(stderr, "%s\n", opened ? htp.error : cpu.error), 1;
    for (size_t i = 0; i < (spoil ? 4 : sizeof(folders) / sizeof(folders[0])); i++)
        failed += run_folder(folders[i], &n_models);
    compose_close(&cpu);
    compose_close(&htp);
    refs_free(&refs);
    printf("%u networks and layers, %u failed\n", n_models, failed);
    return failed != 0;
}
