/* SPDX-License-Identifier: Apache-2.0 */
/* Single passes as text in, text out: run_pass [-p] FILE...
 *
 *     # what this case shows
 *     == pass fuse-activation
 *     graph "g" { … }
 *     == expect
 *     graph "g" { … }
 *
 * "== patterns" runs the converter's patterns instead, "== patterns approximate" also those that change numbers a little. A
 * file holds any number of cases. The expected text is compared letter by letter with what ir_print says after the pass; "==
 * same" instead of "== expect" says that the pass changes nothing. Constants longer than 64 bytes appear as their size and
 * hash; "hash *" is any hash, where the layout of the bytes is the kernels' own business. -p prints what the passes made of
 * each case instead of comparing, for writing new ones. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "convert/convert.h"
#include "prepare/prepare.h"

enum { MAX_DATA = 64, VTCM = 5120 };

struct section {
    const char *head, *body; /* the line behind "== ", and the text below it */
    size_t head_n, body_n;
    unsigned line;
};

static bool print_only;

static char *read_all(const char *path)
{
    struct str s;
    char part[4096];
    FILE *f = fopen(path, "rb");
    if (!f) {
        fprintf(stderr, "run_pass: %s: %s\n", path, strerror(errno));
        return NULL;
    }
    str_init(&s);
    for (size_t n; (n = fread(part, 1, sizeof part, f)) > 0;)
        str_addn(&s, part, n);
    fclose(f);
    char *text = s.failed ? NULL : strdup(str_text(&s));
    str_finish(&s);
    return text;
}

/* The next "== …" at or behind *at; false at the end of the text. */
static bool next_section(const char **at, unsigned *line, struct section *ret)
{
    const char *p = *at;
    while (strncmp(p, "== ", 3) != 0) {
        p += strcspn(p, "\n");
        if (!*p)
            return false;
        p++;
        ++*line;
    }
    *ret = (struct section){ .head = p + 3, .head_n = strcspn(p + 3, "\n"), .line = *line };
    p += 3 + ret->head_n;
    ret->body = p + (*p == '\n');
    *line += *p == '\n';
    const char *end = strstr(ret->body, "\n== ");
    end = end ? end + 1 : ret->body + strlen(ret->body);
    *at = end;
    for (const char *c = ret->body; c < end; c++)
        *line += *c == '\n';
    ret->body_n = (size_t)(end - ret->body);
    return true;
}

/* Without comment lines and without what surrounds the graph. */
static void trim(const struct section *s, struct str *out)
{
    str_init(out);
    for (const char *p = s->body, *end = s->body + s->body_n; p < end;) {
        size_t n = strcspn(p, "\n");
        n = n < (size_t)(end - p) ? n + (p + n < end) : (size_t)(end - p);
        if (*p != '#' && *p != '\n')
            str_addn(out, p, n);
        p += n;
    }
}

static const struct pass *find_pass(const char *name, size_t n)
{
    static const struct pass rare[] = { { "fp16", lower_fp16 },
                                        { "fuse-mask", opt_fuse_mask },
                                        { "weights", lower_weights },
                                        {} }; /* in the list of one backend only */
    const struct pass *const lists[] = { prepare_default_passes, rare };
    for (int i = 0; i < 2; i++)
        for (const struct pass *p = lists[i]; p->name; p++)
            if (strlen(p->name) == n && memcmp(p->name, name, n) == 0)
                return p;
    return NULL;
}

static bool head_is(const struct section *s, const char *text)
{
    return s->head_n == strlen(text) && memcmp(s->head, text, s->head_n) == 0;
}

static bool is_patterns(const struct section *s)
{
    return head_is(s, "patterns") || head_is(s, "patterns approximate");
}

static enum status change(const struct pass *pass, const struct section *in, struct ir_graph *g)
{
    if (is_patterns(in)) {
        TRY(convert_fuse(g, head_is(in, "patterns approximate")));
        return ir_verify(g, "patterns");
    }
    const struct pass list[] = { *pass, {} };
    const struct chain_limits small = { .bytes = 1024, .lines = 4, .twice = 10 };
    struct prepare_target t = { .passes = list,
                                .tensor_align = 64,
                                .fp16 = pass->run == lower_fp16,
                                .bytes = true,
                                .max_tiles = 4,
                                .order_steps = 100000,
                                .plan_nodes = 20000,
                                .vtcm_bytes = pass->run == tile_vtcm ? VTCM : 0,
                                .chains = pass->run == tile_heads ? small : (struct chain_limits){ 0 } };
    struct prepare_opts o = { .opt_level = 2 };
    return prepare_passes(&t, &o, g);
}

static enum status run_pass(const struct pass *pass, const struct section *in, struct str *before, struct str *after)
{
    struct ir_graph *g;
    TRY(ir_parse(in->body, in->body_n, &g));
    ir_print(g, MAX_DATA, before);
    enum status st = change(pass, in, g);
    if (st == ST_OK)
        ir_print(g, MAX_DATA, after);
    ir_graph_free(g);
    return st;
}

/* The first letter of `want` that is not in `got`. */
static const char *difference(const char *want, const char *got)
{
    for (; *want && (*want == *got || *want == '*'); want++)
        if (*want == '*')
            got += strspn(got, "0123456789abcdef");
        else
            got++;
    return *want || *got ? want : NULL;
}

static bool compare(const char *path, const struct section *in, const char *want, const char *got)
{
    const char *at = difference(want, got);
    unsigned line = 1;
    if (!at)
        return true;
    for (const char *c = want; c < at; c++)
        line += *c == '\n';
    printf("%s:%u: %.*s: line %u of the result is not what is expected\n--- expected\n%s--- got\n%s\n", path, in->line,
           (int)in->head_n, in->head, line, want, got);
    return false;
}

static bool run_case(const char *path, const struct section *in, const struct section *expect)
{
    struct str before, after, want;
    const char *name = in->head + 5;
    const struct pass *pass = in->head_n > 5 && strncmp(in->head, "pass ", 5) == 0 ? find_pass(name, in->head_n - 5) : NULL;
    bool same = head_is(expect, "same");
    if ((!pass && !is_patterns(in)) || (!same && !head_is(expect, "expect"))) {
        printf("%s:%u: \"== pass NAME\" or \"== patterns\" followed by \"== expect\" or \"== same\" is expected\n", path,
               in->line);
        return false;
    }
    str_init(&before);
    str_init(&after);
    trim(expect, &want);
    bool ok = run_pass(pass, in, &before, &after) == ST_OK;
    if (!ok)
        printf("%s:%u: %s\n", path, in->line, status_text());
    else if (print_only)
        printf("== %.*s\n%s== %s\n%s\n", (int)in->head_n, in->head, str_text(&before),
               strcmp(str_text(&before), str_text(&after)) ? "expect" : "same", str_text(&after));
    else
        ok = compare(path, in, same ? str_text(&before) : str_text(&want), str_text(&after));
    str_finish(&before);
    str_finish(&after);
    str_finish(&want);
    return ok;
}

static unsigned run_file(const char *path, unsigned *cases)
{
    char *text = read_all(path);
    const char *at = text;
    struct section in, expect;
    unsigned failed = 0, line = 1;
    if (!text)
        return 1;
    while (next_section(&at, &line, &in)) {
        if (!next_section(&at, &line, &expect)) {
            printf("%s:%u: a case without \"== expect\"\n", path, in.line);
            failed++;
            break;
        }
        failed += !run_case(path, &in, &expect);
        ++*cases;
    }
    free(text);
    return failed;
}

int main(int argc, char **argv)
{
    unsigned failed = 0, cases = 0;
    int i = 1;
    if (i < argc && strcmp(argv[i], "-p") == 0) {
        print_only = true;
        i++;
    }
    if (i >= argc) {
        fprintf(stderr, "usage: run_pass [-p] FILE...\n");
        return 2;
    }
    for (; i < argc; i++)
        failed += run_file(argv[i], &cases);
    fprintf(stderr, "run_pass: %u cases, %u failed\n", cases, failed);
    return failed || !cases;
}
