/* SPDX-License-Identifier: Apache-2.0 */
/* Runs every operator case of a folder on libQnnCpu.so and says, per operator, what passed, failed or was refused, and why.
 *
 *     onnx_conformance FOLDER [--baseline FILE] [--document FILE] [--only TEXT] [--verbose] [--spoil] [--channel_last]
 *
 * The baseline holds the number of cases that must pass; wrong numbers always fail. With --spoil every result is changed
 * before it is compared, and it is a failure when anything passes. With --channel_last inputs and outputs have the order
 * that the converter chooses. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "onnx_case.h"

static const char *const verdict_names[] = {"passed", "failed", "refused", "broken"};

struct suite {
    VEC(struct onnx_case) cases;
    unsigned count[4];
    unsigned turned;          /* cases with channels moved */
    unsigned known, computed; /* passed with inputs given when converting; with all of them */
};

struct options {
    const char *folder, *baseline, *document, *only;
    bool verbose;
    struct onnx_how how;
};

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int is_case(const struct dirent *d)
{
    return !strncmp(d->d_name, "test_", 5);
}

static bool run_all(struct suite *s, const struct options *o, struct compose *on)
{
    struct dirent **list;
    int n = scandir(o->folder, &list, is_case, by_name);
    for (int i = 0; i < n; i++) {
        char path[4096];
        snprintf(path, sizeof(path), "%s/%s", o->folder, list[i]->d_name);
        if (o->only && !strstr(list[i]->d_name, o->only)) {
            free(list[i]);
            continue;
        }
        struct onnx_case *c = vec_push(&s->cases);
        if (!c)
            return false;
        snprintf(c->name, sizeof(c->name), "%.120s", list[i]->d_name);
        onnx_case_run(c, on, path, o->how);
        s->count[c->verdict]++;
        s->turned += c->turned > 0;
        s->known += c->verdict == CASE_PASSED && c->fixed;
        s->computed += c->verdict == CASE_PASSED && c->fixed && !c->inputs;
        if (o->verbose || (!o->how.spoil && (c->verdict == CASE_FAILED || c->verdict == CASE_BROKEN)))
            printf("%-8s %s [%s] known=%u inputs=%u nodes=%u compared=%llu %s\n", verdict_names[c->verdict], c->name, c->ops,
                   c->fixed, c->inputs, c->nodes, (unsigned long long)c->compared, c->reason);
        free(list[i]);
    }
    if (n > 0)
        free(list);
    return n > 0;
}

/* ---- by operator -------------------------------------------------------------------------------------------------- */

static int by_ops(const void *a, const void *b)
{
    const struct onnx_case *x = a, *y = b;
    int order = strcmp(x->ops, y->ops);
    return order ? order : strcmp(x->name, y->name);
}

static void print_table(const struct suite *s, FILE *to, const char *row)
{
    for (size_t i = 0; i < s->cases.n;) {
        unsigned count[4] = {0};
        const char *ops = s->cases.at[i].ops;
        for (; i < s->cases.n && !strcmp(s->cases.at[i].ops, ops); i++)
            count[s->cases.at[i].verdict]++;
        fprintf(to, row, ops[0] ? ops : "(none)", count[CASE_PASSED], count[CASE_FAILED] + count[CASE_BROKEN],
                count[CASE_REFUSED]);
    }
}

static void write_document(const struct suite *s, const char *path)
{
    FILE *f = fopen(path, "w");
    if (!f)
        return;
    fprintf(f, "<!-- SPDX-License-Identifier: Apache-2.0 -->\n# ONNX operator cases\n\nMade by `onnx_conformance "
               "--document`; do not edit. Every case is converted, "
               "composed and executed on libQnnCpu.so through the public API and compared with the outputs that come with "
               "it (relative 1e-3, absolute 1e-5; "
               "16-bit floats 5e-3 and 2e-3).\n\n");
    fprintf(f,
            "%u passed, %u failed, %u refused. A graph's shapes are fixed, so inputs that decide one (axes, pads, sizes) "
            "had to be given when converting for %u "
            "of those that passed. %u of these were left with no input at all: their results were computed by the "
            "converter, not by the backend, and say nothing "
            "about kernels.\n\n",
            s->count[CASE_PASSED], s->count[CASE_FAILED] + s->count[CASE_BROKEN], s->count[CASE_REFUSED], s->known,
            s->computed);
    fprintf(f, "## Not passed\n\n| case | operators | | why |\n|---|---|---|---|\n");
    for (size_t i = 0; i < s->cases.n; i++) {
        const struct onnx_case *c = &s->cases.at[i];
        if (c->verdict != CASE_PASSED)
            fprintf(f, "| %s | %s | %s | %s |\n", c->name, c->ops, verdict_names[c->verdict], c->reason);
    }
    fprintf(f, "\n## By operators of a case\n\n| operators | passed | failed | refused |\n|---|---|---|---|\n");
    print_table(s, f, "| %s | %u | %u | %u |\n");
    fclose(f);
}

/* ---- main --------------------------------------------------------------------------------------------------------- */

static unsigned read_baseline(const char *path)
{
    unsigned n = 0;
    char line[200];
    FILE *f = path ? fopen(path, "r") : NULL;
    while (f && fgets(line, sizeof(line), f))
        if (line[0] != '#')
            sscanf(line, "passed %u", &n);
    if (f)
        fclose(f);
    return n;
}

static struct options read_options(int argc, char **argv)
{
    struct options o = {.folder = argc > 1 ? argv[1] : ""};
    for (int i = 2; i < argc; i++) {
        if (!strcmp(argv[i], "--verbose"))
            o.verbose = true;
        else if (!strcmp(argv[i], "--spoil"))
            o.how.spoil = true;
        else if (!strcmp(argv[i], "--channel_last"))
            o.how.channel_last = true;
        else if (i + 1 < argc && !strcmp(argv[i], "--baseline"))
            o.baseline = argv[++i];
        else if (i + 1 < argc && !strcmp(argv[i], "--document"))
            o.document = argv[++i];
        else if (i + 1 < argc && !strcmp(argv[i], "--only"))
            o.only = argv[++i];
    }
    return o;
}

int main(int argc, char **argv)
{
    struct options o = read_options(argc, argv);
    struct suite s = {0};
    struct compose on;
    char library[4096];
    const char *folder = getenv("OPENQNN_LIB_DIR");
    snprintf(library, sizeof(library), "%s%slibQnnCpu.so", folder ? folder : "", folder ? "/" : "");
    if (!compose_open(&on, library)) {
        printf("%s\n", on.error);
        compose_close(&on);
        return 1;
    }
    bool there = run_all(&s, &o, &on);
    compose_close(&on);
    if (!there) {
        printf("SKIP: no cases in \"%s\"\n", o.folder);
        return 77;
    }
    if (s.cases.n)
        qsort(s.cases.at, s.cases.n, sizeof(s.cases.at[0]), by_ops);
    print_table(&s, stdout, "%-60s %4u passed %4u failed %4u refused\n");
    unsigned wrong = s.count[CASE_FAILED] + s.count[CASE_BROKEN], least = read_baseline(o.baseline);
    printf("%zu cases: %u passed (%u with inputs known when converting, %u of them with all), %u failed, %u refused; at "
           "least %u must pass\n",
           s.cases.n, s.count[CASE_PASSED], s.known, s.computed, wrong, s.count[CASE_REFUSED], least);
    if (o.how.channel_last)
        printf("%u cases have inputs or outputs in another order than the source\n", s.turned);
    if (o.document)
        write_document(&s, o.document);
    bool good = o.how.spoil ? !s.count[CASE_PASSED] && wrong : !wrong && s.count[CASE_PASSED] >= least;
    vec_finish(&s.cases);
    return good ? 0 : 1;
}
