/* SPDX-License-Identifier: Apache-2.0 */
/* Float networks on libQnnGpu.so against libQnnCpu.so, with the inputs of the references: as they are, and in the precision
 * modes.
 *
 *     gpu_networks [--all] [--tsv] [--spoil] LIB_DIR MODELS BOUNDS
 *
 * A line of BOUNDS: model, "check" or "all", and for float32 and float16 the largest difference that is allowed, in parts of
 * the largest value of the output; inf: float16 is too small for the network, and only has to run. Networks marked "all" run
 * with --all only. --tsv prints the table of docs/models.md. With --spoil every result is changed a little, which has to be
 * noticed. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <QNN/GPU/QnnGpuGraph.h>

#include "model_refs.h"

enum { SKIP = 77, TIMED = 3 };
enum mode { AS_GIVEN, FP16, HYBRID, FP32, MODES };
static const char *const mode_names[MODES] = { "as given", "fp16", "hybrid", "fp32" };
static const QnnGpu_Precision_t precisions[MODES] = { QNN_GPU_PRECISION_USER_PROVIDED, QNN_GPU_PRECISION_FP16,
                                                      QNN_GPU_PRECISION_HYBRID, QNN_GPU_PRECISION_FP32 };

/* All outputs of all steps, one after the other; and the largest value. */
struct outcome {
    float *at;
    size_t n, cap;
    float most;
    double ms;
};

static const char *models;
static struct refs refs;
static struct compose cpu, gpu;
static bool tsv, spoil;

static void keep(void *arg, const struct tensor_desc *d, void *got, const void *want, const char *engine)
{
    struct outcome *o = arg;
    uint64_t n = d->type == DT_F32 ? desc_count(d) : 0;
    (void)want, (void)engine;
    if (o->n + n > o->cap) {
        o->cap = 2 * (o->n + n);
        o->at = realloc(o->at, o->cap * sizeof(float));
    }
    for (uint64_t i = 0; o->at && i < n; i++) {
        float v = ((const float *)got)[i];
        o->at[o->n++] = v;
        o->most = fabsf(v) > o->most ? fabsf(v) : o->most;
    }
}

/* Networks without reference: numbers from 0 to 1. */
static bool run_ramp(struct model_run *m, struct outcome *o)
{
    for (size_t i = 0; i < m->g->tensors.n; i++) {
        const struct ir_tensor *t = &m->g->tensors.at[i];
        for (uint64_t k = 0, n = t->role == IR_INPUT && t->desc.type == DT_F32 ? desc_count(&t->desc) : 0; k < n; k++)
            ((float *)m->data[i])[k] = (float)k / (float)n;
    }
    bool ok = model_step(m);
    for (size_t i = 0; ok && i < m->g->tensors.n; i++)
        if (m->g->tensors.at[i].role == IR_OUTPUT)
            keep(o, &m->g->tensors.at[i].desc, m->data[i], NULL, NULL);
    return ok;
}

static bool feed(struct model_run *m, const char *name, struct outcome *o)
{
    bool known, ok = refs_feed_all(m, models, &refs, name, (struct refs_to){ keep, o }, &known);
    return known ? ok : run_ramp(m, o);
}

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static bool run_on(struct compose *on, const char *name, enum mode mode, struct outcome *o)
{
    static const char *const symbols[] = { "height", "width" };
    static const uint32_t sizes[] = { 96, 96 };
    static const struct convert_opts onnx = {
        .preserve_io = true, .symbols = symbols, .symbol_values = sizes, .n_symbols = 2
    };
    QnnGpuGraph_CustomConfig_t custom = QNN_GPU_GRAPH_CUSTOM_CONFIG_INIT;
    QnnGraph_Config_t config = { .option = QNN_GRAPH_CONFIG_OPTION_CUSTOM, .customConfig = &custom };
    const QnnGraph_Config_t *list[] = { &config, NULL };
    struct model_run m;
    char path[700];
    custom.precision = precisions[mode];
    on->config = on == &gpu ? list : NULL;
    snprintf(path, sizeof path, "%s/%s", models, name);
    bool ok = model_open(&m, on, path, strstr(name, ".onnx") ? &onnx : NULL) && feed(&m, name, o);
    for (int i = 0; ok && tsv && i < TIMED; i++) {
        double t0 = now_ms();
        ok = model_step(&m);
        o->ms = i == 0 || now_ms() - t0 < o->ms ? now_ms() - t0 : o->ms;
    }
    if (!ok)
        printf("FAILED %s, %s on %s: %s\n", name, mode_names[mode], on == &gpu ? "GPU" : "CPU", m.error);
    on->config = NULL;
    model_close(&m);
    return ok;
}

/* The largest difference in parts of the largest value. */
static double difference(const struct outcome *want, struct outcome *got)
{
    double most = 0;
    if (want->n != got->n || !want->n)
        return INFINITY;
    if (spoil)
        got->at[got->n / 2] += 0.2f * (want->most > 0 ? want->most : 1.0f);
    for (size_t i = 0; i < want->n; i++) {
        double d = fabs((double)want->at[i] - (double)got->at[i]);
        most = d > most || d != d ? d : most;
    }
    return most / (want->most > 0 ? (double)want->most : 1.0);
}

/* Float16 storage in FP16 and HYBRID, float32 in the other two. */
static bool one(const char *name, double bound32, double bound16)
{
    struct outcome want = { 0 }, got[MODES] = { { 0 } };
    double off[MODES] = { 0 };
    bool ok = run_on(&cpu, name, AS_GIVEN, &want);
    for (int mode = 0; ok && mode < MODES; mode++) {
        ok = run_on(&gpu, name, (enum mode)mode, &got[mode]);
        off[mode] = ok ? difference(&want, &got[mode]) : INFINITY;
        double bound = mode == FP16 || mode == HYBRID ? bound16 : bound32;
        if (ok && !isinf(bound) && !(off[mode] <= bound)) {
            printf("FAILED %s, %s: the largest difference is %.3g of the largest value; %.3g is allowed\n", name,
                   mode_names[mode], off[mode], bound);
            ok = false;
        }
    }
    if (tsv)
        printf("| %s | %zu | %.1e | %.1e | %.2f | %.2f | %.2f |\n", name, want.n, off[AS_GIVEN], off[FP16], want.ms,
               got[AS_GIVEN].ms, got[FP16].ms);
    else if (ok)
        printf("%s: %zu values, as given %.1e, fp16 %.1e, hybrid %.1e, fp32 %.1e\n", name, want.n, off[0], off[1], off[2],
               off[3]);
    free(want.at);
    for (int mode = 0; mode < MODES; mode++)
        free(got[mode].at);
    return ok;
}

static bool open_libraries(const char *dir)
{
    char path[700];
    snprintf(path, sizeof path, "%s/libQnnCpu.so", dir);
    if (!compose_open(&cpu, path)) {
        printf("%s\n", cpu.error);
        return false;
    }
    snprintf(path, sizeof path, "%s/libQnnGpu.so", dir);
    if (compose_open(&gpu, path))
        return true;
    printf("SKIP: libQnnGpu.so: %s\n", gpu.error);
    exit(SKIP);
}

int main(int argc, char **argv)
{
    bool all = false, missing = false;
    unsigned n = 0, bad = 0, left = 0;
    for (; argc > 1 && argv[1][0] == '-'; argc--, argv++) {
        all |= !strcmp(argv[1], "--all");
        tsv |= !strcmp(argv[1], "--tsv");
        spoil |= !strcmp(argv[1], "--spoil");
    }
    FILE *f = argc == 4 ? fopen(argv[3], "r") : NULL;
    if (!f) {
        printf("gpu_networks [--all] [--tsv] [--spoil] LIB_DIR MODELS BOUNDS\n");
        return 1;
    }
    models = argv[2];
    missing = !refs_read(models, &refs);
    if (missing) {
        printf("SKIP: %s is not there\n", models);
        return SKIP;
    }
    if (!open_libraries(argv[1]))
        return 1;
    char line[400], name[200], when[16];
    double bound32, bound16;
    while (fgets(line, sizeof line, f)) {
        if (line[0] == '#' || sscanf(line, "%199s %15s %lf %lf", name, when, &bound32, &bound16) != 4)
            continue;
        if (!all && strcmp(when, "check")) {
            left++;
            continue;
        }
        n++;
        bad += !one(name, bound32, bound16);
        fflush(stdout);
    }
    fclose(f);
    if (!tsv)
        printf("%u networks, %u bad; %u larger ones run with --all\n", n, bad, left);
    compose_close(&gpu);
    compose_close(&cpu);
    refs_free(&refs);
    return spoil ? bad != n : bad != 0;
}
