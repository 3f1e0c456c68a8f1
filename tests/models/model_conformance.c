/* SPDX-License-Identifier: Apache-2.0 */
/* Networks that others trained, converted and run on a backend library, against outputs that others computed.
 *
 *     model_conformance [--tsv] [--verbose] [--spoil] LIBRARY MODELS [BOUNDS]
 *
 * TFLite and ONNX networks. MODELS has refs/index.tsv (model, step, in|expected, index, type, shape, tensor, engine; the
 * data in files beside it) and tflm-seanet-int16/ (single operators with CSV files). Integer outputs are compared in quanta,
 * float ones relative to the largest expected value. BOUNDS is a table of what each model may differ by; exit 1 when one
 * differs by more, 77 when MODELS is not there. With --spoil results are changed before they are compared, and every model
 * with a reference must be noticed. */
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model_refs.h"

enum { MAX_NAME = 160, MAX_ROWS = 256, MAX_BOUNDS = 256, MAX_LINE = 1 << 10 };

/* What one model gave. */
struct row {
    char name[MAX_NAME], engine[40], type[8];
    unsigned cases;
    uint64_t elements, differing;
    double quanta, relative, scale; /* scale: the largest expected magnitude */
    unsigned top_same, top_all;
    char error[1400];
};

struct bound {
    char name[MAX_NAME];
    double quanta, differing, relative; /* differing: share of the elements */
};

static struct row rows[MAX_ROWS];
static unsigned n_rows;
static struct bound bounds[MAX_BOUNDS];
static unsigned n_bounds;
static bool verbose, spoil;

static struct row *row_for(const char *name)
{
    for (unsigned i = 0; i < n_rows; i++)
        if (!strcmp(rows[i].name, name))
            return &rows[i];
    if (n_rows == MAX_ROWS) {
        fprintf(stderr, "more than %d models; make MAX_ROWS larger\n", MAX_ROWS);
        exit(2);
    }
    snprintf(rows[n_rows].name, MAX_NAME, "%s", name);
    return &rows[n_rows++];
}

/* ---- comparing ------------------------------------------------------------------------------------------------------ */

static double number(enum dtype t, const void *p, uint64_t i)
{
    switch (t) {
    case DT_F32:
        return (double)((const float *)p)[i];
    case DT_SQ8:
    case DT_I8:
        return ((const int8_t *)p)[i];
    case DT_UQ8:
    case DT_U8:
    case DT_B8:
        return ((const uint8_t *)p)[i];
    case DT_SQ16:
    case DT_I16:
        return ((const int16_t *)p)[i];
    default:
        return ((const int32_t *)p)[i];
    }
}

/* Every byte of a result changed, to see that the comparison notices. */
static void spoil_result(const struct tensor_desc *d, void *got)
{
    for (uint64_t i = 0; i < desc_bytes(d); i++)
        ((uint8_t *)got)[i] ^= 0x55;
}

static void compare(struct row *r, const struct tensor_desc *d, void *got, const void *want)
{
    if (spoil)
        spoil_result(d, got);
    uint64_t n = desc_count(d), best_got = 0, best_want = 0;
    for (uint64_t i = 0; i < n; i++) {
        double a = number(d->type, got, i), b = number(d->type, want, i), diff = fabs(a - b);
        if (!(diff <= r->quanta)) /* a NaN counts as different */
            r->quanta = diff == diff ? diff : INFINITY;
        r->scale = fabs(b) > r->scale ? fabs(b) : r->scale;
        r->differing += diff != 0;
        best_got = a > number(d->type, got, best_got) ? i : best_got;
        best_want = b > number(d->type, want, best_want) ? i : best_want;
    }
    r->elements += n;
    snprintf(r->type, sizeof(r->type), "%s", dtype_name(d->type));
    r->relative = r->scale > 0 ? r->quanta / r->scale : r->quanta;
    if (d->rank == 2 && d->dims[0] == 1 && n > 1) {
        r->top_all++;
        r->top_same += best_got == best_want;
    }
}

/* ---- refs/index.tsv ------------------------------------------------------------------------------------------------- */

static void compare_output(void *arg, const struct tensor_desc *d, void *got, const void *want, const char *engine)
{
    struct row *r = arg;
    compare(r, d, got, want);
    snprintf(r->engine, sizeof(r->engine), "%s", engine);
}

static void run_model(struct compose *on, const char *models, const struct ref_line *l, unsigned n)
{
    struct row *r = row_for(l[0].model);
    struct model_run m;
    char path[4096];
    snprintf(path, sizeof(path), "%s/%s", models, l[0].model);
    bool ok = model_open(&m, on, path, NULL) && refs_feed(&m, models, l, n, compare_output, r);
    r->cases += m.steps;
    if (!ok)
        snprintf(r->error, sizeof(r->error), "%s", m.error);
    model_close(&m);
}

static bool run_index(struct compose *on, const char *models)
{
    struct refs refs;
    if (!refs_read(models, &refs))
        return false;
    for (unsigned i = 0; i < refs.n; i += refs_of_model(&refs, i))
        run_model(on, models, &refs.at[i], refs_of_model(&refs, i));
    refs_free(&refs);
    return true;
}

/* ---- tflm-seanet-int16 ---------------------------------------------------------------------------------------------- */

static bool read_csv(const char *folder, const char *stem, const char *what, const struct tensor_desc *d, void *ret)
{
    char path[4096];
    size_t size;
    uint64_t n = 0, count = desc_count(d);
    unsigned bytes = dtype_bits(d->type) / 8;
    snprintf(path, sizeof(path), "%.3000s/%.200s_%s_int%u.csv", folder, stem, what, dtype_bits(d->type));
    char *text = read_whole_file(path, &size);
    if (!text)
        return false;
    for (char *p = text; n < count; n++) {
        char *end;
        long v = strtol(p, &end, 10);
        if (end == p)
            break;
        memcpy((char *)ret + n * bytes, &v, bytes);
        p = end + strspn(end, ", \r\n");
    }
    free(text);
    return n == count;
}

/* Row "tflm-seanet-int16/add": all cases of one kind. */
static void run_csv_case(struct compose *on, const char *folder, const char *stem)
{
    char path[4096], kind[MAX_NAME], what[32];
    struct model_run m;
    unsigned input = 0;
    snprintf(kind, sizeof(kind), "tflm-seanet-int16/%.*s", (int)strcspn(stem, "0123456789"), stem);
    struct row *r = row_for(kind);
    snprintf(r->engine, sizeof(r->engine), "golden files");
    snprintf(path, sizeof(path), "%.3000s/%.200s.tflite", folder, stem);
    bool ok = model_open(&m, on, path, NULL);
    for (size_t i = 0; ok && i < m.report.io.n; i++) {
        uint32_t t = ir_find_tensor(m.g, m.report.io.at[i].graph_name);
        snprintf(what, sizeof(what), "input%u", input);
        if (!m.report.io.at[i].output) {
            ok = read_csv(folder, stem, what, &m.g->tensors.at[t].desc, m.data[t]);
            input++;
        }
    }
    ok = ok && model_step(&m);
    for (size_t i = 0; ok && i < m.report.io.n; i++) {
        uint32_t t = ir_find_tensor(m.g, m.report.io.at[i].graph_name);
        void *want = m.report.io.at[i].output ? calloc(1, desc_bytes(&m.g->tensors.at[t].desc)) : NULL;
        if (!want)
            continue;
        ok = read_csv(folder, stem, "golden", &m.g->tensors.at[t].desc, want);
        uint64_t before = r->differing;
        if (ok)
            compare(r, &m.g->tensors.at[t].desc, m.data[t], want);
        if (verbose && r->differing != before)
            printf("%s: %llu of %llu differ\n", stem, (unsigned long long)(r->differing - before),
                   (unsigned long long)desc_count(&m.g->tensors.at[t].desc));
        free(want);
    }
    r->cases++;
    if (!ok)
        snprintf(r->error, sizeof(r->error), "%.100s: %.1200s", stem,
                 m.error[0] ? m.error : "a CSV file is missing or too short");
    model_close(&m);
}

static void run_csv(struct compose *on, const char *models)
{
    char folder[4096];
    struct dirent **names;
    snprintf(folder, sizeof(folder), "%s/tflm-seanet-int16", models);
    int n = scandir(folder, &names, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        char *dot = strstr(names[i]->d_name, ".tflite");
        if (dot) {
            *dot = 0;
            run_csv_case(on, folder, names[i]->d_name);
        }
        free(names[i]);
    }
    if (n >= 0)
        free(names);
}

/* ---- models without expected outputs --------------------------------------------------------------------------------- */

static void run_plain(struct compose *on, const char *models, const char *name)
{
    char path[4096];
    struct model_run m;
    struct row *r = row_for(name);
    snprintf(r->engine, sizeof(r->engine), "runs; no reference");
    snprintf(path, sizeof(path), "%s/%s", models, name);
    if (!model_open(&m, on, path, NULL) || !model_step(&m))
        snprintf(r->error, sizeof(r->error), "%s", m.error);
    r->cases++;
    model_close(&m);
}

static void run_rest(struct compose *on, const char *models, const char *folder)
{
    char path[4096], name[MAX_NAME];
    struct dirent **names;
    snprintf(path, sizeof(path), "%s/%s", models, folder);
    int n = scandir(path, &names, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        bool known = false;
        snprintf(name, sizeof(name), "%.60s/%.90s", folder, names[i]->d_name);
        for (unsigned k = 0; k < n_rows; k++)
            known = known || !strcmp(rows[k].name, name);
        if (!known && strstr(name, ".tflite"))
            run_plain(on, models, name);
        free(names[i]);
    }
    if (n >= 0)
        free(names);
}

/* ---- results -------------------------------------------------------------------------------------------------------- */

static bool read_bounds(const char *path)
{
    char text[MAX_LINE];
    FILE *f = fopen(path, "r");
    if (!f)
        return false;
    while (n_bounds < MAX_BOUNDS && fgets(text, sizeof(text), f)) {
        struct bound *b = &bounds[n_bounds];
        if (text[0] != '#' && sscanf(text, "%159s %lf %lf %lf", b->name, &b->quanta, &b->differing, &b->relative) == 4)
            n_bounds++;
    }
    fclose(f);
    return true;
}

static const char *judge(const struct row *r)
{
    if (r->error[0])
        return "failed";
    for (unsigned i = 0; i < n_bounds; i++) {
        const struct bound *b = &bounds[i];
        if (strcmp(b->name, r->name))
            continue;
        bool real = !strcmp(r->type, "f32");
        bool ok = real ? r->relative <= b->relative
                       : r->quanta <= b->quanta && (double)r->differing <= b->differing * (double)r->elements;
        return ok ? "ok" : "out of bounds";
    }
    return n_bounds ? "no bound" : "ran";
}

static void print_row(const struct row *r, bool tsv)
{
    char diff[64] = "-", top[32] = "-";
    bool real = !strcmp(r->type, "f32");
    if (r->elements && real)
        snprintf(diff, sizeof(diff), "%.1e relative", r->relative);
    else if (r->elements)
        snprintf(diff, sizeof(diff), "%g quanta, %llu differ", r->quanta, (unsigned long long)r->differing);
    if (r->top_all)
        snprintf(top, sizeof(top), "%u/%u", r->top_same, r->top_all);
    if (tsv)
        printf("%s\t%s\t%u\t%s\t%llu\t%s\t%s\t%s\t%s\n", r->name, r->engine, r->cases, r->type[0] ? r->type : "-",
               (unsigned long long)r->elements, diff, top, judge(r), r->error[0] ? r->error : "-");
    else
        printf("%-52s %-20s %3u runs %-5s %8llu values  %-28s top-1 %-6s %s%s%s\n", r->name, r->engine, r->cases, r->type,
               (unsigned long long)r->elements, diff, top, judge(r), r->error[0] ? ": " : "", r->error);
}

int main(int argc, char **argv)
{
    const char *args[3] = {0};
    bool tsv = false, bad = false;
    int n = 0;
    for (int i = 1; i < argc; i++) {
        tsv = tsv || !strcmp(argv[i], "--tsv");
        verbose = verbose || !strcmp(argv[i], "--verbose");
        spoil = spoil || !strcmp(argv[i], "--spoil");
        if (argv[i][0] != '-' && n < 3)
            args[n++] = argv[i];
    }
    if (n < 2 || (args[2] && !read_bounds(args[2]))) {
        fprintf(stderr, "usage: model_conformance [--tsv] [--verbose] [--spoil] LIBRARY MODELS [BOUNDS]\n");
        return 2;
    }
    struct compose on;
    if (!compose_open(&on, args[0])) {
        fprintf(stderr, "%s: %s\n", args[0], on.error);
        return 2;
    }
    if (!run_index(&on, args[1])) {
        printf("SKIP: %s/refs/index.tsv is not there; put the models beside the source tree\n", args[1]);
        compose_close(&on);
        return 77;
    }
    run_csv(&on, args[1]);
    static const char *const folders[] = {"mlperf-tiny", "tflm", "vision", "litert", "wakeword", "dtln"};
    for (unsigned i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
        run_rest(&on, args[1], folders[i]);
    for (unsigned i = 0; i < n_rows; i++) {
        print_row(&rows[i], tsv);
        bool wrong = !strcmp(judge(&rows[i]), "failed") || !strcmp(judge(&rows[i]), "out of bounds");
        bad = bad || (spoil ? rows[i].elements && !wrong : wrong);
    }
    compose_close(&on);
    return bad ? 1 : 0;
}
