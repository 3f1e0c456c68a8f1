/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of the quantizer: what every tensor became, and where a quantized run differs from a float one. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "common/difference.h"
#include "common/tool_log.h"
#include "converter/graph_runner.h"
#include "converter/quantizer.h"

static const char *real_text(double v, char buf[24])
{
    if (isnan(v))
        return "-";
    snprintf(buf, 24, "%.6g", v);
    return buf;
}

/* No noise at all prints as "exact". */
static const char *decibel_text(double v, char buf[24])
{
    return isinf(v) && v > 0 ? "exact" : real_text(v, buf);
}

static void print_row(const struct quantize_row *x)
{
    char lo[24], hi[24], db[24], scale[40] = "-", offset[24] = "-";
    bool fixed = dtype_is_fixed(x->type) && x->scales;
    if (fixed && x->n > 1)
        snprintf(scale, sizeof(scale), "%u scales", x->n);
    else if (fixed)
        snprintf(scale, sizeof(scale), "%.8g", (double)x->scales[0]);
    if (fixed && x->n == 1)
        snprintf(offset, sizeof(offset), "%d", x->offsets ? x->offsets[0] : 0);
    tool_say("%-5s %12s %12s %14s %8s %8s  %-10s  %s", dtype_name(x->type), real_text(x->min, lo), real_text(x->max, hi),
             scale, offset, decibel_text(x->sqnr, db), quantize_origin_names[x->origin], x->name);
}

void quantizer_print(const struct quantize_report *r)
{
    tool_say("%-5s %12s %12s %14s %8s %8s  %-10s  %s", "type", "min", "max", "scale", "offset", "SQNR dB", "from", "tensor");
    for (size_t i = 0; i < r->rows.n; i++)
        print_row(&r->rows.at[i]);
}

/* ---- comparison --------------------------------------------------------------------------------------------------- */

struct pair {
    uint32_t real;  /* output of the float run */
    uint32_t fixed; /* output of the quantized run */
    struct difference difference;
    float *want; /* the float run's values, until the quantized run of the same inputs has its */
};

struct comparison {
    struct runner real, fixed;
    struct pair *list;
    uint32_t n;
    float *values; /* room for the largest output */
};

static enum status pair_outputs(struct comparison *c, struct arena *a)
{
    uint64_t most = 1;
    struct ir_uses uses;
    TRY(ir_uses(c->real.g, a, &uses));
    c->list = arena_array(a, struct pair, c->real.n_out + 1);
    RETURN_IF(!c->list, ST_NO_MEMORY, "no memory for the comparison");
    for (uint32_t i = 0; i < c->real.n_out; i++) {
        const struct ir_tensor *t = &c->real.g->tensors.at[c->real.out_of[i]];
        bool wanted = quantize_is_activation(t) && !quantize_before_clamp(c->real.g, &uses, c->real.out_of[i]);
        for (uint32_t k = 0; k < c->fixed.n_out && wanted; k++) {
            const struct ir_tensor *u = &c->fixed.g->tensors.at[c->fixed.out_of[k]];
            if (!str_eq(t->name, u->name) || !desc_same_shape(&t->desc, &u->desc))
                continue;
            float *want = arena_array(a, float, runner_elements(&c->real, i));
            c->list[c->n] = (struct pair){ .real = i, .fixed = k, .want = want };
            RETURN_IF(!want, ST_NO_MEMORY, "no memory for the comparison");
            c->n++;
            most = runner_elements(&c->real, i) > most ? runner_elements(&c->real, i) : most;
        }
    }
    c->values = arena_array(a, float, most);
    RETURN_IF(!c->values, ST_NO_MEMORY, "no memory for the comparison");
    return ST_OK;
}

static void add_pair(struct comparison *c, struct pair *pair)
{
    runner_floats(&c->fixed, pair->fixed, c->values);
    difference_add(&pair->difference, c->values, pair->want, runner_elements(&c->fixed, pair->fixed));
}

/* The same line of the list feeds both graphs. */
static enum status compare_line(struct comparison *c, struct graph_io *real, struct graph_io *fixed, uint64_t k)
{
    struct arena a;
    arena_init(&a);
    enum status st = ST_OK;
    for (int pass = 0; pass < 2 && st == ST_OK; pass++) {
        struct graph_io *io = pass ? fixed : real;
        struct runner *r = pass ? &c->fixed : &c->real;
        void **buffers = arena_array(&a, void *, r->n_in + 1);
        const void **data = arena_array(&a, const void *, r->n_in + 1);
        for (uint32_t i = 0; buffers && data && i < io->n_inputs; i++)
            buffers[i] = arena_alloc(&a, io->inputs[i].bytes);
        st =
            buffers && data ? graph_io_load(io, k, buffers, false, data) : status_fail(ST_NO_MEMORY, "no memory for inputs");
        if (st == ST_OK)
            st = runner_execute(r, data);
        for (uint32_t i = 0; i < c->n && st == ST_OK && !pass; i++)
            runner_floats(r, c->list[i].real, c->list[i].want);
    }
    for (uint32_t i = 0; i < c->n && st == ST_OK; i++)
        add_pair(c, &c->list[i]);
    arena_finish(&a);
    return st;
}

static int worse_first(const void *a, const void *b)
{
    const struct pair *x = a;
    const struct pair *y = b;

    return difference_order(&x->difference, &y->difference);
}

static void print_differences(struct comparison *c)
{
    qsort(c->list, c->n, sizeof(*c->list), worse_first);
    tool_say("float against quantized, worst first:\n%8s %9s %14s %9s  %s", "SQNR dB", "cosine", "largest error", "NaN, Inf",
             "tensor");
    for (uint32_t i = 0; i < c->n; i++) {
        const struct difference *d = &c->list[i].difference;
        char ratio[24];

        tool_say("%8s %9.6f %14.6g %9" PRIu64 "  %s", difference_sqnr_text(d, ratio), difference_cosine(d), d->worst, d->odd,
                 c->real.out[c->list[i].real].v1.name);
    }
}

static enum status run_both(struct comparison *c, const struct quantizer_args *q)
{
    struct graph_io real = { 0 }, fixed = { 0 };
    struct io_options opt = { .native_inputs = q->native_inputs, .batch_multiplier = 1 }, floats = { .batch_multiplier = 1 };
    enum status st = graph_io_open(&real, &c->real.view, q->input_list, &opt);
    if (st == ST_OK)
        st = graph_io_open(&fixed, &c->fixed.view, q->input_list, &floats);
    for (uint64_t k = 0; st == ST_OK && k < real.executions; k++) {
        st = compare_line(c, &real, &fixed, k);
        tool_progress("Comparing: input", k + 1, real.executions);
    }
    graph_io_finish(&real);
    graph_io_finish(&fixed);
    return st;
}

enum status quantizer_compare(const struct quantizer_args *q, const struct convert_report *report,
                              const struct ir_graph *real, const struct ir_graph *fixed)
{
    struct runner_engine engine;
    struct comparison c = { 0 };
    struct arena a;
    arena_init(&a);
    enum status st = runner_engine_open(&engine, q->backend);
    if (st == ST_OK)
        st = runner_open(&c.real, &engine, real, report, true);
    if (st == ST_OK)
        st = runner_open(&c.fixed, &engine, fixed, report, true);
    if (st == ST_OK)
        st = pair_outputs(&c, &a);
    if (st == ST_OK)
        st = run_both(&c, q);
    if (st == ST_OK)
        print_differences(&c);
    if (c.fixed.engine)
        runner_close(&c.fixed);
    if (c.real.engine)
        runner_close(&c.real);
    runner_engine_close(&engine);
    arena_finish(&a);
    return st == ST_OK ? st : status_prefix(st, "comparison");
}
