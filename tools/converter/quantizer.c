/* SPDX-License-Identifier: Apache-2.0 */
/* See quantizer.h. */
#include "converter/quantizer.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "common/tensor_data.h"
#include "common/tool_log.h"
#include "converter/calibration_samples.h"
#include "converter/graph_runner.h"

const char *const quantizer_old_names[] = { "tf", "enhanced", "adjusted", "symmetric", NULL };

/* What the quantizers of the old option are in terms of the new ones. */
static const struct {
    uint8_t schema, method;
    double widen;
} old_meaning[] = {
    { QUANTIZE_ASYMMETRIC, QUANTIZE_MINMAX, 0 },
    { QUANTIZE_ASYMMETRIC, QUANTIZE_SQNR, 0 },
    { QUANTIZE_ASYMMETRIC, QUANTIZE_MINMAX, 1.0 / 16 },
    { QUANTIZE_SYMMETRIC, QUANTIZE_MINMAX, 0 },
};

void quantizer_defaults(struct quantizer_args *q)
{
    q->act_bits = q->weight_bits = q->bias_bits = 8;
}

bool quantizer_wanted(const struct quantizer_args *q)
{
    return q->input_list || (q->overrides && !q->ignore_overrides) || q->float_fallback;
}

/* ---- options ------------------------------------------------------------------------------------------------------ */

static enum status read_percentile(const char *text, double *ret)
{
    char *end;
    *ret = 0;
    if (!text)
        return ST_OK;
    *ret = strtod(text, &end);
    RETURN_IF(end == text || *end || !(*ret >= 50 && *ret <= 100), ST_INVALID_ARG,
              "--percentile_calibration_value \"%s\": a number between 50 and 100 is expected, such as 99.99", text);
    return ST_OK;
}

/* "-0x8000 0x7F7F" */
static enum status read_steps(const char *text, struct quantize_rule *r)
{
    char *end;
    if (!text)
        return ST_OK;
    long lo = strtol(text, &end, 16);
    const char *second = end;
    long hi = strtol(second, &end, 16);
    RETURN_IF(
        second == text || end == second || end[strspn(end, " ")] || lo >= 0 || hi <= 0 || lo < -0x8000 || hi > 0x7fff,
        ST_INVALID_ARG,
        "--restrict_quantization_steps \"%s\": two hexadecimal numbers around zero are expected, such as \"-0x8000 0x7F7F\"",
        text);
    r->step_min = (int32_t)lo;
    r->step_max = (int32_t)hi;
    return ST_OK;
}

static enum status check_bits(const char *option, int64_t bits, const char *allowed, bool ok)
{
    RETURN_IF(!ok, ST_INVALID_ARG, "%s %lld is not possible; %s are", option, (long long)bits, allowed);
    return ST_OK;
}

static enum status fill_opts(const struct quantizer_args *q, struct quantize_opts *o)
{
    double percentile;
    TRY(check_bits("activation bit width", q->act_bits, "8 and 16", q->act_bits == 8 || q->act_bits == 16));
    TRY(check_bits("weight bit width", q->weight_bits, "4, 8 and 16",
                   q->weight_bits == 4 || q->weight_bits == 8 || q->weight_bits == 16));
    TRY(check_bits("bias bit width", q->bias_bits, "8 and 32", q->bias_bits == 8 || q->bias_bits == 32));
    RETURN_IF((q->cle || q->bc || q->adaround || q->amp) && !q->input_list, ST_INVALID_ARG,
              "algorithms work on what the float graph computes; --input_list is needed with them");
    RETURN_IF(q->amp && q->act_bits == 16 && q->weight_bits == 16, ST_INVALID_ARG,
              "algorithm \"amp\" raises layers to 16 bits, and all of them have 16 bits already; choose narrower "
              "activations or weights");
    RETURN_IF(q->weight_bits == 16 && q->act_bits == 8, ST_INVALID_ARG,
              "16-bit weights need 16-bit activations; choose 16 for both, or 8-bit weights");
    TRY(read_percentile(q->percentile, &percentile));
    o->act = (struct quantize_rule){ .bits = (uint8_t)q->act_bits,
                                     .schema = (uint8_t)q->act_schema,
                                     .method = (uint8_t)q->act_method };
    o->param = (struct quantize_rule){ .bits = (uint8_t)q->weight_bits,
                                       .schema = (uint8_t)q->param_schema,
                                       .method = (uint8_t)q->param_method };
    if (q->act_old_given) {
        o->act.schema = q->act_schema_given ? o->act.schema : old_meaning[q->act_old].schema;
        o->act.method = q->act_method_given ? o->act.method : old_meaning[q->act_old].method;
        o->act.widen = old_meaning[q->act_old].widen;
    }
    if (q->param_old_given) {
        o->param.schema = q->param_schema_given ? o->param.schema : old_meaning[q->param_old].schema;
        o->param.method = q->param_method_given ? o->param.method : old_meaning[q->param_old].method;
        o->param.widen = old_meaning[q->param_old].widen;
    }
    o->act.percentile = o->param.percentile = percentile;
    TRY(read_steps(q->restrict_steps, &o->act));
    TRY(read_steps(q->restrict_steps, &o->param));
    o->bias_bits = (uint8_t)q->bias_bits;
    o->per_channel = q->per_channel;
    o->per_row = q->per_row;
    o->preserve_io = q->preserve_io;
    o->preserved = q->preserved;
    o->n_preserved = q->n_preserved;
    return ST_OK;
}

/* ---- calibration -------------------------------------------------------------------------------------------------- */

struct calibration {
    struct quantize_range *stats; /* per tensor of the graph */
    float *values;                /* room for the largest output */
    struct quantize_layers *layers;
    bool samples;                 /* of patches are wanted, not just their means */
    struct quantize_cells cells;
    struct calibration_samples seen;
};

/* c->values are those of tensor t. */
static void observe_tensor(struct calibration *c, uint32_t t, uint64_t n)
{
    quantize_range_add(&c->stats[t], c->values, n);
    for (size_t i = 0; c->layers && i < c->layers->list.n; i++)
        if (c->layers->list.at[i].in == t)
            quantize_layer_observe(&c->layers->list.at[i], c->values);
}

static bool result_values(void *arg, uint32_t t, float *to)
{
    const struct runner *r = arg;
    for (uint32_t i = 0; i < r->n_out; i++)
        if (r->out_of[i] == t) {
            runner_floats(r, i, to);
            return true;
        }
    for (uint32_t i = 0; i < r->n_in; i++)
        if (r->in_of[i] == t) {
            tensor_to_float(&r->in[i], r->in[i].v1.clientBuf.data, 0, desc_count(&r->g->tensors.at[t].desc), to);
            return true;
        }
    return false;
}

static enum status observe(void *arg, struct runner *r, uint64_t done, uint64_t total)
{
    struct calibration *c = arg;
    TRY(calibration_samples_observe(&c->seen, r, c->values));
    if (done == 1 && c->layers)
        TRY(quantize_layers_prepare(c->layers, total, c->samples));
    for (uint32_t i = 0; i < r->n_out; i++) {
        if (!quantize_is_activation(&r->g->tensors.at[r->out_of[i]]))
            continue;
        runner_floats(r, i, c->values);
        observe_tensor(c, r->out_of[i], runner_elements(r, i));
    }
    for (uint32_t i = 0; i < r->n_in; i++) {
        const struct ir_tensor *t = &r->g->tensors.at[r->in_of[i]];
        uint64_t n = desc_count(&t->desc);
        if (!quantize_is_activation(t) || t->role == IR_INOUT)
            continue;
        tensor_to_float(&r->in[i], r->in[i].v1.clientBuf.data, 0, n, c->values);
        observe_tensor(c, r->in_of[i], n);
    }
    return quantize_cells_observe(&c->cells, result_values, r, c->stats);
}

static enum status run_list(struct runner_engine *e, const struct quantizer_args *q, const struct convert_report *report,
                            const struct ir_graph *g, struct calibration *c)
{
    struct runner r = { 0 };
    uint64_t most = 1;
    c->stats = mem_array(struct quantize_range, g->tensors.n);
    for (size_t i = 0; i < g->tensors.n; i++) {
        if (c->stats && quantize_is_activation(&g->tensors.at[i]))
            quantize_range_init(&c->stats[i]);
        most = desc_count(&g->tensors.at[i].desc) > most ? desc_count(&g->tensors.at[i].desc) : most;
    }
    c->values = mem_array(float, most);
    RETURN_IF(!c->stats || !c->values, ST_NO_MEMORY, "no memory for statistics");
    enum status st = runner_open(&r, e, g, report, true);
    if (st == ST_OK) {
        struct runner_inputs in = { .list = q->input_list, .native = q->native_inputs, .what = "Calibrating: input" };
        st = runner_run_list(&r, &in, observe, c);
    }
    if (st == ST_OK)
        calibration_samples_report(&c->seen, &r);
    if (r.engine)
        runner_close(&r);
    return st;
}

/* layers: NULL, or those to observe. ret: one per tensor, for mem_free. */
static enum status calibrate(struct runner_engine *e, const struct quantizer_args *q, const struct convert_report *report,
                             const struct ir_graph *g, struct quantize_layers *layers, struct quantize_range **ret)
{
    struct calibration c = { .layers = layers, .samples = q->adaround, .seen = { .native = q->native_inputs } };
    enum status st = quantize_cells_find(g, &c.cells);
    if (st == ST_OK)
        st = run_list(e, q, report, c.cells.graph ? c.cells.graph : g, &c);
    quantize_cells_finish(&c.cells);
    calibration_samples_finish(&c.seen);
    mem_free(c.values);
    if (st != ST_OK)
        mem_free(c.stats);
    else
        *ret = c.stats;
    return st == ST_OK ? st : status_prefix(st, "calibration");
}

/* ---- all of it ---------------------------------------------------------------------------------------------------- */

/* All of them at once: names of another version of the model usually come in numbers. */
static void report_unused(const struct encodings *e)
{
    struct str names;
    uint32_t n = 0;
    str_init(&names);
    for (size_t i = 0; i < e->list.n; i++)
        if (!e->used.at[i])
            str_addf(&names, "%s\"%s\"", n++ ? ", " : "", e->list.at[i].name);
    if (n)
        tool_log(TOOL_WARN, "%u of %zu names in the overrides are no tensors of the graph: %s", n, e->list.n,
                 str_text(&names));
    str_finish(&names);
}

static void report_floats(const struct quantize_report *r, const struct ir_graph *g)
{
    if (!r->float_nodes.n)
        return;
    tool_say("%zu of %zu operators stay float:", r->float_nodes.n, g->nodes.n);
    for (size_t i = 0; i < r->float_nodes.n; i++)
        tool_say("  %s", r->float_nodes.at[i]);
}

static enum status quantize(const struct quantizer_args *q, const struct quantize_opts *o, struct ir_graph *g,
                            struct ir_graph **ret)
{
    struct quantize_report report;
    quantize_report_init(&report);
    enum status st = quantize_graph(g, o, &report, ret);
    if (st == ST_OK && !q->quiet)
        quantizer_print(&report);
    if (st == ST_OK)
        report_floats(&report, g);
    if (st == ST_OK && q->dump_encodings)
        st = encodings_write(&report, q->dump_encodings);
    quantize_report_finish(&report);
    return st;
}

static enum status read_overrides(const struct quantizer_args *q, struct arena *a, struct encodings *e)
{
    if (q->overrides && !q->ignore_overrides)
        TRY(encodings_read(q->overrides, a, e));
    for (uint32_t i = 0; i < q->n_io; i++) {
        struct quantize_override *slot = vec_push(&e->list);
        RETURN_IF(!slot || !vec_push(&e->used), ST_NO_MEMORY, "no memory for encodings");
        *slot = q->io[i];
    }
    return encodings_link(e, a);
}

static enum status list_states(const struct convert_report *report, struct arena *a, struct quantize_opts *o)
{
    struct quantize_state *list = arena_array(a, struct quantize_state, report ? report->io.n : 0);
    RETURN_IF(!list, ST_NO_MEMORY, "no memory for states");
    o->states = list;
    for (size_t i = 0; report && i < report->io.n; i++)
        if (report->io.at[i].output && report->io.at[i].state)
            list[o->n_states++] = (struct quantize_state){ report->io.at[i].state, report->io.at[i].graph_name };
    return ST_OK;
}

static bool has_floats(const struct ir_graph *g)
{
    for (size_t i = 0; i < g->tensors.n; i++)
        if (quantize_is_activation(&g->tensors.at[i]))
            return true;
    return false;
}

/* Everything that lives while a graph is quantized. */
struct work {
    const struct quantizer_args *q;
    const struct convert_report *report;
    struct runner_engine engine;
    struct quantize_range *stats;
    struct quantize_layers layers;
    struct encodings overrides;
    struct quantize_opts o;
    struct arena arena;
};

/* Tensors that somebody gave an encoding to must keep their values. */
static enum status frozen_tensors(struct work *w, struct ir_graph *g, bool **ret)
{
    bool *frozen = arena_array(&w->arena, bool, g->tensors.n);
    RETURN_IF(!frozen, ST_NO_MEMORY, "no memory for encodings");
    for (uint32_t i = 0; i < w->o.n_overrides; i++) {
        uint32_t t = quantize_override_tensor(g, &w->o.overrides[i], &w->arena);
        if (t != IR_NONE)
            frozen[t] = true;
    }
    *ret = frozen;
    return ST_OK;
}

/* What changes the float graph before it runs. */
static enum status prepare_graph(struct work *w, struct ir_graph *g)
{
    struct quantize_equalized done;
    bool *frozen;
    if (w->q->cle) {
        TRY(frozen_tensors(w, g, &frozen));
        TRY(quantize_equalize(g, frozen, &done));
        tool_say("cle: %u pairs of layers equalized%s", done.pairs,
                 done.pairs ? "" : "; none stand behind each other with nothing but Relu between them");
        if (done.clamps)
            tool_say("cle: %u clamps with an upper limit (Relu6) between them became Relu", done.clamps);
    }
    if (w->q->bc)
        TRY(quantize_add_biases(g));
    return w->q->bc || w->q->adaround ? quantize_layers_find(g, &w->layers) : ST_OK;
}

static enum status calibrate_graph(struct work *w, struct ir_graph *g)
{
    bool layers = w->q->bc || w->q->adaround;
    TRY(quantizer_known(w->q, &w->engine, w->report, g));
    TRY(prepare_graph(w, g));
    TRY(calibrate(&w->engine, w->q, w->report, g, layers ? &w->layers : NULL, &w->stats));
    w->o.stats = w->stats;
    if (w->q->amp) {
        uint8_t *bits = arena_array(&w->arena, uint8_t, g->tensors.n);
        RETURN_IF(!bits, ST_NO_MEMORY, "no memory for bit widths");
        TRY(quantizer_mix(w->q, &w->engine, w->report, g, &w->o, bits));
        w->o.bits = bits;
    }
    w->o.layers = layers ? &w->layers : NULL;
    w->o.round = w->q->adaround;
    w->o.correct = w->q->bc;
    return layers ? quantizer_weigh(w->q, &w->engine, w->report, g, &w->o) : ST_OK;
}

static enum status work_run(struct work *w, bool calibrated, struct ir_graph *g, struct ir_graph **ret)
{
    TRY(fill_opts(w->q, &w->o));
    TRY(list_states(w->report, &w->arena, &w->o));
    TRY(read_overrides(w->q, &w->arena, &w->overrides));
    w->o.overrides = w->overrides.list.at;
    w->o.n_overrides = (uint32_t)w->overrides.list.n;
    TRY(runner_engine_open(&w->engine, w->q->backend));
    w->o.supported = runner_supports;
    w->o.arg = &w->engine;
    if (calibrated)
        TRY(calibrate_graph(w, g));
    TRY(quantize(w->q, &w->o, g, ret));
    report_unused(&w->overrides);
    return ST_OK;
}

enum status quantizer_run(const struct quantizer_args *q, const struct convert_report *report, struct ir_graph **g,
                          struct ir_graph **keep)
{
    struct work w = { .q = q, .report = report };
    struct ir_graph *fixed = NULL;
    bool calibrated = q->input_list && has_floats(*g);
    if (q->input_list && !calibrated)
        tool_say("the model has no float tensors: its own encodings stay, the input list is not used");
    arena_init(&w.arena);
    enum status st = work_run(&w, calibrated, *g, &fixed);
    if (st == ST_OK) {
        *keep = *g;
        *g = fixed;
    }
    runner_engine_close(&w.engine);
    mem_free(w.stats);
    quantize_layers_finish(&w.layers);
    encodings_finish(&w.overrides);
    arena_finish(&w.arena);
    if (st == ST_OK && q->compare && calibrated)
        st = quantizer_compare(q, report, *keep, *g);
    return st;
}
