/* SPDX-License-Identifier: Apache-2.0 */
/* What is decided by looking at the outputs of the quantized graph.
 *
 * Automatic mixed precision: every layer is tried alone in the widths of the options, all others having 16 bits; what the
 * outputs lose then is the layer's cost. The most expensive layers are raised to 16 bits, as few of them as the target
 * allows. AdaRound and bias correction improve layers one by one: whether the outputs gain from it is measured. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "common/tool_log.h"
#include "converter/graph_runner.h"
#include "converter/quantizer.h"

enum { LINES = 16 }; /* of the list are enough to order layers */
static const double target = 30; /* decibel at every output: noise of 3 % of the signal's size */
static const double margin = 1;  /* below what 16 bits everywhere reach, where that is less than the target */

struct layer {
    uint32_t node;
    double cost; /* the outputs' SQNR with this layer alone narrow */
};

struct mix {
    const struct quantizer_args *q;
    const struct convert_report *report;
    struct runner_engine *engine;
    struct ir_graph *g;
    struct quantize_opts o; /* o.bits is ours */
    struct arena arena;
    uint8_t *bits;
    uint32_t n_outputs;     /* float outputs of the graph … */
    uint32_t *outputs;      /* … its tensors … */
    float **real;           /* … and their values: line by line */
    double *signal, *noise; /* per output */
    float *values;
    struct layer *layers;
    uint32_t n_layers;
};

/* ---- scores ------------------------------------------------------------------------------------------------------- */

static enum status keep_real(void *arg, struct runner *r, uint64_t done, uint64_t total)
{
    struct mix *m = arg;
    (void)total;
    for (uint32_t i = 0; i < r->n_out; i++)
        for (uint32_t k = 0; k < m->n_outputs; k++)
            if (r->out_of[i] == m->outputs[k])
                runner_floats(r, i, m->real[k] + (done - 1) * runner_elements(r, i));
    return ST_OK;
}

static enum status add_noise(void *arg, struct runner *r, uint64_t done, uint64_t total)
{
    struct mix *m = arg;
    (void)total;
    for (uint32_t i = 0; i < r->n_out; i++)
        for (uint32_t k = 0; k < m->n_outputs; k++) {
            uint64_t n = runner_elements(r, i);
            if (!str_eq(r->out[i].v1.name, m->g->tensors.at[m->outputs[k]].name))
                continue;
            runner_floats(r, i, m->values);
            for (uint64_t j = 0; j < n; j++) {
                double x = m->real[k][(done - 1) * n + j], e = m->values[j] - x;
                m->signal[k] += isfinite(e) ? x * x : 0;
                m->noise[k] += isfinite(e) ? e * e : 0;
            }
        }
    return ST_OK;
}

static enum status run_lines(struct mix *m, const struct ir_graph *g, bool native, runner_each *each)
{
    struct runner r = { 0 };
    struct runner_inputs in = { .list = m->q->input_list, .native = native, .most = LINES };
    enum status st = runner_open(&r, m->engine, g, m->report, false);
    if (st == ST_OK)
        st = runner_run_list(&r, &in, each, m);
    if (r.engine)
        runner_close(&r);
    return st;
}

/* The worst output of the graph in m->bits, in decibel. */
static enum status score(struct mix *m, double *ret)
{
    struct quantize_report report;
    struct ir_graph *fixed = NULL;
    memset(m->signal, 0, m->n_outputs * sizeof(double));
    memset(m->noise, 0, m->n_outputs * sizeof(double));
    quantize_report_init(&report);
    enum status st = quantize_graph(m->g, &m->o, &report, &fixed);
    if (st == ST_OK)
        st = run_lines(m, fixed, false, add_noise);
    quantize_report_finish(&report);
    ir_graph_free(fixed);
    *ret = INFINITY;
    for (uint32_t k = 0; k < m->n_outputs; k++)
        *ret = fmin(*ret, m->noise[k] > 0 ? 10 * log10(m->signal[k] / m->noise[k]) : INFINITY);
    return st;
}

/* ---- layers ------------------------------------------------------------------------------------------------------- */

static void set_tensor(struct mix *m, uint32_t t, uint8_t bits)
{
    if (t == IR_NONE)
        return;
    const struct ir_tensor *x = &m->g->tensors.at[t];
    if (quantize_is_activation(x) || (x->role == IR_CONST && dtype_is_float(x->desc.type) && x->desc.rank > 1))
        m->bits[t] = bits;
}

/* Weights and results; raised layers also read 16 bits, which 16-bit weights need. */
static void set_layer(struct mix *m, uint32_t node, uint8_t bits)
{
    const struct ir_node *n = &m->g->nodes.at[node];
    for (uint32_t i = 0; i < n->n_in; i++)
        if (n->in[i] != IR_NONE && (bits || m->g->tensors.at[n->in[i]].role == IR_CONST))
            set_tensor(m, n->in[i], bits);
    for (uint32_t i = 0; i < n->n_out; i++)
        set_tensor(m, n->out[i], bits);
}

static void set_all(struct mix *m, uint8_t bits)
{
    memset(m->bits, 0, m->g->tensors.n);
    for (uint32_t k = 0; k < m->g->nodes.n; k++)
        set_layer(m, k, bits);
}

static enum status list_outputs(struct mix *m)
{
    uint64_t most = 1;
    size_t n = m->g->tensors.n;
    m->outputs = arena_array(&m->arena, uint32_t, n);
    m->real = arena_array(&m->arena, float *, n);
    m->signal = arena_array(&m->arena, double, n);
    m->noise = arena_array(&m->arena, double, n);
    m->layers = arena_array(&m->arena, struct layer, m->g->nodes.n);
    RETURN_IF(!m->outputs || !m->real || !m->signal || !m->noise || !m->layers, ST_NO_MEMORY,
              "no memory for mixed precision");
    for (uint32_t t = 0; t < n; t++) {
        const struct ir_tensor *x = &m->g->tensors.at[t];
        if ((x->role != IR_OUTPUT && x->role != IR_INOUT) || !quantize_is_activation(x))
            continue;
        uint64_t count = desc_count(&x->desc);
        m->real[m->n_outputs] = arena_array(&m->arena, float, count * LINES);
        RETURN_IF(!m->real[m->n_outputs], ST_NO_MEMORY, "no memory for the values of \"%s\"", x->name);
        m->outputs[m->n_outputs++] = t;
        most = count > most ? count : most;
    }
    m->values = arena_array(&m->arena, float, most);
    RETURN_IF(!m->values, ST_NO_MEMORY, "no memory for mixed precision");
    return ST_OK;
}

static int dearest_first(const void *a, const void *b)
{
    const struct layer *x = a, *y = b;
    return x->cost < y->cost ? -1 : x->cost > y->cost ? 1 : x->node < y->node ? -1 : x->node > y->node;
}

static enum status order_layers(struct mix *m)
{
    for (uint32_t k = 0; k < m->g->nodes.n; k++) {
        const struct ir_node *n = &m->g->nodes.at[k];
        if (!n->dead && n->n_out && quantize_is_activation(&m->g->tensors.at[n->out[0]]))
            m->layers[m->n_layers++].node = k;
    }
    for (uint32_t i = 0; i < m->n_layers; i++) {
        set_all(m, 16);
        set_layer(m, m->layers[i].node, 0);
        TRY(score(m, &m->layers[i].cost));
        tool_progress("Mixed precision: layer", i + 1, m->n_layers);
    }
    qsort(m->layers, m->n_layers, sizeof(*m->layers), dearest_first);
    return ST_OK;
}

/* ---- choosing ----------------------------------------------------------------------------------------------------- */

static void raise_first(struct mix *m, uint32_t n)
{
    memset(m->bits, 0, m->g->tensors.n);
    for (uint32_t i = 0; i < n; i++)
        set_layer(m, m->layers[i].node, 16);
}

static enum status choose(struct mix *m)
{
    double now, best, got;
    raise_first(m, 0);
    TRY(score(m, &now));
    set_all(m, 16);
    TRY(score(m, &best));
    double want = fmin(target, best - margin);
    tool_say("amp: outputs at %.1f dB, %.1f dB with 16 bits everywhere, %.1f dB wanted", now, best, want);
    if (now >= want) {
        raise_first(m, 0);
        return ST_OK;
    }
    TRY(order_layers(m));
    uint32_t least = 1, most = m->n_layers; /* as many layers as `most` reach it */
    while (least < most) {
        uint32_t middle = least + (most - least) / 2;
        raise_first(m, middle);
        TRY(score(m, &got));
        if (got >= want)
            most = middle;
        else
            least = middle + 1;
    }
    raise_first(m, most);
    TRY(score(m, &got));
    tool_say("amp: %u of %u layers raised to 16 bits, outputs at %.1f dB:", most, m->n_layers, got);
    for (uint32_t i = 0; i < most; i++)
        tool_say("  %6.1f dB alone  %s", m->layers[i].cost, m->g->nodes.at[m->layers[i].node].name);
    return ST_OK;
}

/* Whether the outputs are better with *use than without. */
static enum status weigh(struct mix *m, const char *name, bool *use)
{
    double with, without;
    if (!*use)
        return ST_OK;
    TRY(score(m, &with));
    *use = false;
    TRY(score(m, &without));
    *use = with >= without;
    tool_say("%s: worst output at %.1f dB with it, %.1f dB without%s", name, with, without, *use ? "" : ": not applied");
    return ST_OK;
}

static enum status weigh_all(struct mix *m)
{
    TRY(weigh(m, "adaround", &m->o.round));
    return weigh(m, "bc", &m->o.correct);
}

static enum status run_mix(struct mix *m, const char *what, enum status (*decide)(struct mix *m))
{
    arena_init(&m->arena);
    enum status st = list_outputs(m);
    if (st == ST_OK)
        st = run_lines(m, m->g, m->q->native_inputs, keep_real);
    if (st == ST_OK)
        st = decide(m);
    arena_finish(&m->arena);
    return st == ST_OK ? st : status_prefix(st, "%s", what);
}

enum status quantizer_mix(const struct quantizer_args *q, struct runner_engine *e, const struct convert_report *report,
                          struct ir_graph *g, const struct quantize_opts *o, uint8_t *bits)
{
    struct mix m = { .q = q, .report = report, .engine = e, .g = g, .o = *o, .bits = bits };
    m.o.bits = bits;
    return run_mix(&m, "mixed precision", choose);
}

enum status quantizer_weigh(const struct quantizer_args *q, struct runner_engine *e, const struct convert_report *report,
                            struct ir_graph *g, struct quantize_opts *o)
{
    struct mix m = { .q = q, .report = report, .engine = e, .g = g, .o = *o };
    TRY(run_mix(&m, "algorithms", weigh_all));
    o->round = m.o.round;
    o->correct = m.o.correct;
    return ST_OK;
}
