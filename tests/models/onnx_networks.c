/* SPDX-License-Identifier: Apache-2.0 */
/* Whole ONNX networks on libQnnCpu.so, or the library that OPENQNN_TEST_LIB names, against the reference outputs beside
 * them.
 *
 *     onnx_networks MODELS_FOLDER BOUNDS_FILE [--spoil]
 *
 * A line of the bounds file: model, how it is fed ("refs", or "ramp": arange(n)/n against MODEL_output_0.pb), the largest
 * error allowed, as a part of the largest expected magnitude, and the part of the values that may differ by more than a
 * millionth of it. With --spoil results are changed before they are compared, and every network must be noticed. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "convert/onnx/onnx_model.h"
#include "model_run.h"

enum { STEPS_MAX = 64 };

struct network {
    const char *folder;
    char model[200], feed[16];
    double bound, share, worst; /* share: part of the values that may differ at all */
    uint64_t compared, different; /* different: by more than a millionth of the largest */
    bool spoil;
    struct convert_report report;
    struct ir_graph *g;
    struct compose *on;
    void *file, **data;
    struct arena arena;
};

static bool say(const struct network *w, const char *what)
{
    printf("FAIL %s: %s\n", w->model, what);
    return false;
}

static uint32_t find_io(struct network *w, uint32_t nth, const char *name, bool output)
{
    for (size_t i = 0; i < w->report.io.n; i++) {
        const struct convert_io *io = &w->report.io.at[i];
        if (io->output == output && (name ? !strcmp(io->source_name, name) : nth-- == 0))
            return ir_find_tensor(w->g, io->graph_name);
    }
    return IR_NONE;
}

static void *ref_file(const struct network *w, const char *what, unsigned step, unsigned index, size_t *size)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/refs/%.*s/%s_s%u_%u.bin", w->folder, (int)strlen(w->model) - 5, w->model, what, step,
             index);
    return read_whole_file(path, size);
}

static void compare(struct network *w, uint32_t t, const float *want, uint64_t n)
{
    const float *got = w->data[t];
    double largest = 0, worst = 0;
    for (uint64_t i = 0; i < n; i++)
        largest = fmax(largest, fabs((double)want[i]));
    for (uint64_t i = 0; i < n; i++) {
        double d = fabs((double)got[i] + (w->spoil && i == 0 ? largest + 1 : 0) - want[i]);
        w->different += !(d <= 1e-6 * largest);
        worst = d > worst || d != d ? (d != d ? INFINITY : d) : worst;
    }
    w->compared += n;
    w->worst = fmax(w->worst, worst / (largest > 0 ? largest : 1));
}

/* Read the states of the index: "input<-output". */
static uint32_t read_states(struct network *w, uint32_t (*pairs)[2])
{
    char path[4096], line[1000], model[300], text[300];
    uint32_t n = 0;
    snprintf(path, sizeof(path), "%s/refs/index.tsv", w->folder);
    FILE *f = fopen(path, "r");
    while (f && n < 8 && fgets(line, sizeof(line), f)) {
        if (sscanf(line, "%299[^\t]\t*\tstate\t-\t-\t-\t%299[^\t\n]", model, text) != 2 || strcmp(model, w->model) != 0)
            continue;
        char *arrow = strstr(text, "<-");
        if (!arrow)
            continue;
        *arrow = 0;
        pairs[n][0] = find_io(w, 0, text, false);
        pairs[n][1] = find_io(w, 0, arrow + 2, true);
        n += pairs[n][0] != IR_NONE && pairs[n][1] != IR_NONE;
    }
    if (f)
        fclose(f);
    return n;
}

static bool give_step(struct network *w, unsigned step, bool *any)
{
    *any = false;
    for (unsigned i = 0; i < 8; i++) {
        size_t size;
        uint32_t t = find_io(w, i, NULL, false);
        void *bytes = t == IR_NONE ? NULL : ref_file(w, "in", step, i, &size);
        if (!bytes)
            continue;
        bool fits = size == desc_bytes(&w->g->tensors.at[t].desc);
        if (fits)
            memcpy(w->data[t], bytes, size);
        free(bytes);
        if (!fits)
            return say(w, "an input has another size than its reference");
        *any = true;
    }
    return true;
}

static bool run_refs(struct network *w)
{
    uint32_t pairs[9][2], n = read_states(w, pairs);
    for (unsigned step = 0; step < STEPS_MAX; step++) {
        bool any;
        if (!give_step(w, step, &any))
            return false;
        if (!any)
            break;
        if (!compose_run(w->on, w->data))
            return say(w, w->on->error);
        for (unsigned i = 0; i < 8; i++) {
            size_t size;
            uint32_t t = find_io(w, i, NULL, true);
            float *want = t == IR_NONE ? NULL : ref_file(w, "expected", step, i, &size);
            if (!want)
                continue;
            bool fits = size == desc_bytes(&w->g->tensors.at[t].desc);
            if (fits)
                compare(w, t, want, size / sizeof(float));
            free(want);
            if (!fits)
                return say(w, "an output has another size than its reference");
        }
        for (uint32_t k = 0; k < n; k++)
            memcpy(w->data[pairs[k][0]], w->data[pairs[k][1]], desc_bytes(&w->g->tensors.at[pairs[k][0]].desc));
    }
    return true;
}

static bool run_ramp(struct network *w)
{
    char path[4096];
    size_t size;
    struct onnx_tensor want;
    const void *bytes;
    uint32_t in = find_io(w, 0, NULL, false), out = find_io(w, 0, NULL, true);
    if (in == IR_NONE || out == IR_NONE)
        return say(w, "it has no input or no output");
    uint64_t n = desc_count(&w->g->tensors.at[in].desc);
    for (uint64_t i = 0; i < n; i++)
        ((float *)w->data[in])[i] = (float)i / (float)n;
    if (!compose_run(w->on, w->data))
        return say(w, w->on->error);
    snprintf(path, sizeof(path), "%s/%.*s_output_0.pb", w->folder, (int)strlen(w->model) - 5, w->model);
    void *file = read_whole_file(path, &size);
    bool ok = file && onnx_parse_tensor(&w->arena, (struct wire){file, (const uint8_t *)file + size}, &want) == ST_OK &&
              onnx_tensor_bytes(&w->arena, &want, NULL, &bytes) == ST_OK;
    if (ok) {
        uint64_t count = desc_count(&w->g->tensors.at[out].desc);
        float *copy = arena_dup(&w->arena, bytes, count * sizeof(float));
        compare(w, out, copy, count);
    }
    free(file);
    return ok || say(w, "the expected output cannot be read");
}

static bool prepare(struct network *w)
{
    char path[4096];
    size_t size;
    struct convert_opts o = {.preserve_io = true};
    snprintf(path, sizeof(path), "%s/%s", w->folder, w->model);
    w->file = read_whole_file(path, &size);
    if (!w->file)
        return say(w, "it cannot be read");
    if (convert_onnx(w->file, size, NULL, &o, &w->report, &w->g) != ST_OK)
        return say(w, status_text());
    w->data = arena_array(&w->arena, void *, w->g->tensors.n);
    for (size_t i = 0; w->data && i < w->g->tensors.n; i++)
        if (w->g->tensors.at[i].role == IR_INPUT || w->g->tensors.at[i].role == IR_OUTPUT)
            w->data[i] = arena_alloc(&w->arena, desc_bytes(&w->g->tensors.at[i].desc));
    return compose_graph(w->on, w->g) || say(w, w->on->error);
}

static bool run_network(struct network *w)
{
    arena_init(&w->arena);
    convert_report_init(&w->report);
    bool ok = prepare(w) && (!strcmp(w->feed, "ramp") ? run_ramp(w) : run_refs(w));
    if (ok && !w->compared)
        ok = say(w, "nothing was compared");
    if (ok) {
        bool within = w->worst <= w->bound && (double)w->different <= w->share * (double)w->compared;
        ok = within != w->spoil;
        printf("%s %-40s %4zu nodes, %7llu values, %llu differ, error %.3g of the largest, allowed %.3g\n",
               ok ? "ok  " : "FAIL", w->model, w->g->nodes.n, (unsigned long long)w->compared,
               (unsigned long long)w->different, w->worst, w->bound);
    }
    compose_drop(w->on);
    ir_graph_free(w->g);
    convert_report_finish(&w->report);
    arena_finish(&w->arena);
    free(w->file);
    return ok;
}

int main(int argc, char **argv)
{
    char library[4096], line[400], probe[4096];
    const char *folder = getenv("OPENQNN_LIB_DIR"), *other = getenv("OPENQNN_TEST_LIB");
    struct compose on;
    unsigned good = 0, bad = 0;
    FILE *f = argc > 2 ? fopen(argv[2], "r") : NULL, *there;
    if (!f)
        return 2;
    snprintf(probe, sizeof(probe), "%s/refs/index.tsv", argv[1]);
    there = fopen(probe, "r");
    if (!there) {
        printf("SKIP: no reference outputs in \"%s\"\n", argv[1]);
        fclose(f);
        return 77;
    }
    fclose(there);
    snprintf(library, sizeof(library), "%s%s%s", folder ? folder : "", folder ? "/" : "", other ? other : "libQnnCpu.so");
    bool opened = compose_open(&on, library);
    if (!opened)
        printf("%s%s\n", other ? "SKIP: " : "", on.error);
    if (!opened && other) { /* what it runs on is not here */
        compose_close(&on);
        fclose(f);
        return 77;
    }
    while (opened && fgets(line, sizeof(line), f)) {
        struct network w = {.folder = argv[1], .on = &on, .spoil = argc > 3 && !strcmp(argv[3], "--spoil")};
        if (line[0] == '#' || sscanf(line, "%199s %15s %lf %lf", w.model, w.feed, &w.bound, &w.share) != 4)
            continue;
        *(run_network(&w) ? &good : &bad) += 1;
    }
    compose_close(&on);
    fclose(f);
    printf("%u networks as expected, %u not\n", good, bad);
    return opened && good && !bad ? 0 : 1;
}
