/* SPDX-License-Identifier: Apache-2.0 */
/* Spans of a graph in the order of time, each vector span on a thread that is free, and short names of its nodes. */
#include "profile_viewer/trace_model.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

enum { MOST_THREADS = 64, SHORT_NAME = 48, NS_PER_US = 1000 };

const char *const trace_units[UNIT_COUNT] = { "HMX", "HVX", "DMA read", "DMA write" };

double trace_us(const struct trace_graph *t, uint64_t cycles)
{
    return (double)cycles / t->g->timeline.clock_mhz;
}

uint64_t trace_ns(const struct trace_graph *t, uint64_t cycles)
{
    uint32_t mhz = t->g->timeline.clock_mhz;

    return (uint64_t)(((unsigned __int128)cycles * NS_PER_US + mhz / 2) / mhz);
}

static int by_start(const void *a, const void *b)
{
    const struct binary_span *x = &((const struct trace_span *)a)->span, *y = &((const struct trace_span *)b)->span;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return x->command != y->command ? (x->command > y->command) - (x->command < y->command)
                                    : (x->node > y->node) - (x->node < y->node);
}

/* The estimate had a thread for each, so there is one. */
static void choose_threads(struct trace_graph *t)
{
    uint64_t free[BINARY_MAX_CORES][MOST_THREADS] = { { 0 } };
    uint32_t threads = t->g->timeline.threads < MOST_THREADS ? t->g->timeline.threads : MOST_THREADS;
    for (uint32_t i = 0; i < t->n; i++) {
        const struct binary_span *s = &t->spans[i].span;
        uint64_t *free_at = free[s->core];
        uint32_t lane = 0;
        if (s->unit != UNIT_VECTOR)
            continue;
        while (!s->all && lane + 1 < threads && free_at[lane] > s->start)
            lane++;
        t->spans[i].lane = lane;
        for (uint32_t k = s->all ? 0 : lane; k < (s->all ? threads : lane + 1); k++)
            free_at[k] = s->start + s->cycles;
    }
}

/* ---- short names ------------------------------------------------------------------------------------------------------ */

struct name {
    const char *text;
    size_t n;
    uint32_t node;
};

static size_t common_end(const struct name *a, const struct name *b)
{
    size_t n = 0;

    while (n < a->n && n < b->n && a->text[a->n - 1 - n] == b->text[b->n - 1 - n])
        n++;
    return n;
}

/* By their ends, so that those with the longest common end stand side by side. */
static int by_end(const void *a, const void *b)
{
    const struct name *x = a;
    const struct name *y = b;
    size_t same = common_end(x, y);

    if (same == x->n || same == y->n)
        return (x->n > y->n) - (x->n < y->n);
    return (unsigned char)x->text[x->n - 1 - same] < (unsigned char)y->text[y->n - 1 - same] ? -1 : 1;
}

/* A word of a name: it begins with a letter, behind a separator. Converters make "_" of separators. */
static bool begins_word(const struct name *name, size_t from)
{
    return strchr("/;:_", name->text[from - 1]) && isalpha((unsigned char)name->text[from]);
}

static bool within_character(char byte)
{
    return ((unsigned char)byte & 0xc0) == 0x80;
}

void trace_shorten(struct str *to, const char *name, size_t n)
{
    size_t head = SHORT_NAME / 2;
    size_t tail = n - SHORT_NAME / 2;

    if (n <= SHORT_NAME) {
        str_addn(to, name, n);
        return;
    }
    while (head > 0 && within_character(name[head]))
        head--;
    while (tail < n && within_character(name[tail]))
        tail++;
    str_addf(to, "%.*s…%.*s", (int)head, name, (int)(n - tail), name + tail);
}

/* The shortest end that begins with a word and has more than `common` characters; a name that is long all the same keeps its
 * two ends. */
static char *shortened(const struct name *name, size_t common)
{
    size_t from = name->n;
    while (from > 0 && (name->n - from <= common || !begins_word(name, from)))
        from--;

    CLEANUP(str_finish) struct str cut;
    str_init(&cut);
    trace_shorten(&cut, name->text + from, name->n - from);
    return cut.failed ? NULL : mem_strdup(str_text(&cut));
}

/* Transfers have the name of the operator that they belong to: nodes of one name have one short name. */
static bool shorten_all(struct trace_graph *t, struct name *names)
{
    uint32_t n = t->g->n_nodes;
    bool ok = true;

    for (uint32_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && str_eq(names[end].text, names[i].text);)
            end++;
        size_t before = i ? common_end(&names[i - 1], &names[i]) : 0;
        size_t behind = end < n ? common_end(&names[end], &names[i]) : 0;
        for (uint32_t k = i; k < end; k++) {
            char *made = shortened(&names[k], before > behind ? before : behind);
            t->short_names[names[k].node] = made;
            ok &= made != NULL;
        }
    }
    return ok;
}

static bool list_short_names(struct trace_graph *t)
{
    uint32_t n = t->g->n_nodes;
    CLEANUP(mem_freep) struct name *names = mem_array(struct name, (size_t)n + 1);

    t->short_names = mem_array(char *, (size_t)n + 1);
    if (!names || !t->short_names)
        return false;
    for (uint32_t k = 0; k < n; k++)
        names[k] = (struct name){ t->g->nodes[k].name, strlen(t->g->nodes[k].name), k };
    qsort(names, n, sizeof *names, by_end);
    return shorten_all(t, names);
}

/* ---- graphs ----------------------------------------------------------------------------------------------------------- */

void trace_graph_close(struct trace_graph *t)
{
    for (uint32_t k = 0; t->short_names && k < t->g->n_nodes; k++)
        mem_free(t->short_names[k]);
    mem_free(t->short_names);
    mem_free(t->sources);
    mem_free(t->wanted);
    mem_free(t->spans);
    *t = (struct trace_graph){ 0 };
}

enum status trace_graph_open(const struct binary_graph *g, struct trace_graph *ret)
{
    struct trace_graph t = { .g = g, .n_wanted = g->n_nodes, .cycles = g->info.cycles, .end = g->info.cycles };
    struct binary_span_reader r;
    struct binary_span s;

    t.spans = mem_array(struct trace_span, (size_t)g->timeline.n_spans + 1);
    t.wanted = mem_array(bool, (size_t)g->n_nodes + 1);
    if (!t.spans || !t.wanted || !list_short_names(&t)) {
        trace_graph_close(&t);
        return status_fail(ST_NO_MEMORY, "no memory for %u spans of graph \"%s\"", g->timeline.n_spans, g->info.name);
    }

    for (uint32_t k = 0; k < g->n_nodes; k++)
        t.wanted[k] = true;
    for (binary_span_first(g, &r); binary_span_next(&r, &s);)
        t.spans[t.n++].span = s;
    qsort(t.spans, t.n, sizeof *t.spans, by_start);
    choose_threads(&t);
    *ret = t;
    return ST_OK;
}
