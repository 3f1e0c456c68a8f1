/* SPDX-License-Identifier: Apache-2.0 */
/* Encodings of activations: what was seen, what somebody said, what an operator's results are by nature, and what neighbours
 * share.
 *
 *     Conv2d -> %t -> Relu -> %y     %t gets the encoding of %y: the clamp costs nothing then
 *     %x -> Reshape -> %y            %y gets the encoding of %x: only bytes move */
#include <math.h>
#include <string.h>

#include "base/str.h"
#include "convert/builder.h"
#include "convert/quantize_plan.h"

bool quantize_is_activation(const struct ir_tensor *t)
{
    return dtype_is_float(t->desc.type) && t->desc.type != DT_F64 && t->desc.type != DT_BF16 && t->role != IR_CONST &&
           t->role != IR_ABSENT;
}

/* ---- overrides ---------------------------------------------------------------------------------------------------- */

void plan_entry(const struct quantize_entry *e, uint8_t bits, struct quantize_encoding *ret)
{
    double half = (double)(1ull << (bits - 1)), steps = 2 * half - 1;
    double min = e->min, max = e->max;
    if (!e->has_range) { /* the offset's sign is a matter of taste: zero lies |offset| steps above the least value */
        min = -fabs((double)e->offset) * e->scale;
        max = min + steps * e->scale;
    }
    if (e->symmetric && min < 0) {
        /* [-128, 127] and [-127, 127] steps both occur. */
        double scale = fmax(-min / half, max / (half - 1));
        struct quantize_rule r = { .bits = bits, .schema = QUANTIZE_SYMMETRIC };
        quantize_encode(&r, -scale * (half - 1), scale * (half - 1), ret);
        return;
    }
    struct quantize_rule r = { .bits = bits, .schema = QUANTIZE_ASYMMETRIC };
    quantize_encode(&r, min, max, ret);
    if (!e->has_range && e->scale > 0) /* exactly what was asked for */
        ret->scale = (float)e->scale;
}

uint32_t quantize_override_tensor(struct ir_graph *g, const struct quantize_override *v, struct arena *a)
{
    uint32_t t = ir_find_tensor(g, v->name);
    const char *name = t == IR_NONE ? convert_name(a, v->name) : NULL; /* as front ends write it */
    return name ? ir_find_tensor(g, name) : t;
}

enum status plan_overrides(struct plan *p)
{
    p->override = arena_array(p->arena, const struct quantize_override *, p->g->tensors.n);
    RETURN_IF(!p->override, ST_NO_MEMORY, "no memory for encodings");
    for (uint32_t i = 0; i < p->o->n_overrides; i++) {
        const struct quantize_override *v = &p->o->overrides[i];
        uint32_t t = quantize_override_tensor(p->g, v, p->arena);
        if (t == IR_NONE)
            continue;
        p->override[t] = v;
        if (v->used)
            *v->used = true;
    }
    return ST_OK;
}

struct quantize_rule plan_act_rule(const struct plan *p, uint32_t t)
{
    struct quantize_rule r = p->o->act;
    if (p->o->bits && p->o->bits[t])
        r.bits = p->o->bits[t];
    return r;
}

/* ---- each tensor by itself ---------------------------------------------------------------------------------------- */

static void own_encoding(const struct plan *p, uint32_t t)
{
    struct plan_tensor *x = &p->tensors[t];
    const struct quantize_override *v = p->override[t];
    const struct quantize_range *s = p->o->stats ? &p->o->stats[t] : NULL;
    x->min = s && s->count ? s->min : NAN;
    x->max = s && s->count ? s->max : NAN;
    if (v && v->is_float)
        return;
    if (v) {
        plan_entry(&v->entries[0], v->bits, &x->e);
        x->origin = QUANTIZE_OVERRIDE;
    } else if (s && s->count) {
        struct quantize_rule r = plan_act_rule(p, t);
        double lo, hi;
        quantize_search(s, &r, &lo, &hi);
        quantize_encode(&r, lo, hi, &x->e);
        x->origin = QUANTIZE_CALIBRATED;
    }
}

/* ---- operators whose results are known ---------------------------------------------------------------------------- */

static const struct {
    enum op_id op;
    int32_t operation; /* of ElementWiseNeuron; -1: any */
    double min, max;
} known_results[] = {
    { OP_Softmax, -1, 0, 1 },           { OP_MaskedSoftmax, -1, 0, 1 }, { OP_Sigmoid, -1, 0, 1 }, { OP_Tanh, -1, -1, 1 },
    { OP_ElementWiseNeuron, 6, 0, 1 }, /* SIGMOID */
    { OP_ElementWiseNeuron, 8, -1, 1 }, /* TANH */
};

static int64_t operation_of(const struct ir_graph *g, const struct ir_node *n)
{
    struct ir_call v;
    if (n->op->id != OP_ElementWiseNeuron)
        return -1;
    ir_call(g, n, &v);
    return op_int(&v.call, "operation", 0);
}

static void operator_encoding(const struct plan *p, const struct ir_node *n)
{
    for (size_t i = 0; i < sizeof(known_results) / sizeof(known_results[0]); i++) {
        bool hit = known_results[i].op == n->op->id &&
                   (known_results[i].operation < 0 || known_results[i].operation == operation_of(p->g, n));
        struct plan_tensor *x = &p->tensors[n->out[0]];
        if (!hit || x->origin != QUANTIZE_CALIBRATED)
            continue;
        struct quantize_rule r = plan_act_rule(p, n->out[0]);
        quantize_encode(&r, known_results[i].min, known_results[i].max, &x->e);
        x->origin = QUANTIZE_OPERATOR;
    }
    /* The cell state of a layer is summed over all steps: 8 bits are too few for it. */
    if (n->op->id == OP_Lstm && n->n_out > 1 && p->tensors[n->out[1]].origin == QUANTIZE_CALIBRATED) {
        struct quantize_rule r = p->o->act;
        r.bits = 16;
        quantize_encode(&r, p->tensors[n->out[1]].min, p->tensors[n->out[1]].max, &p->tensors[n->out[1]].e);
    }
}

/* ---- neighbours --------------------------------------------------------------------------------------------------- */

bool plan_moves_values(enum op_id op)
{
    static const enum op_id movers[] = {
        OP_Reshape,        OP_Squeeze,
        OP_ExpandDims,     OP_Transpose,
        OP_Tile,           OP_Split,
        OP_UnPack,         OP_StridedSlice,
        OP_Gather,         OP_GatherNd,
        OP_DepthToSpace,   OP_SpaceToDepth,
        OP_TopK,           OP_BatchToSpace,
        OP_SpaceToBatch,   OP_PoolMax2d,
        OP_PoolMax3d,      OP_ReduceMax,
        OP_ChannelShuffle, OP_ReduceMin,
        OP_GatherElements, OP_ResizeNearestNeighbor,
        OP_ExtractPatches, OP_BatchPermutation,
    };
    for (size_t i = 0; i < sizeof(movers) / sizeof(movers[0]); i++)
        if (movers[i] == op)
            return true;
    return false;
}

static bool is_clamp(const struct ir_graph *g, const struct ir_node *n)
{
    enum { NEURON_RELU = 4, NEURON_RELU_MIN_MAX = 5 };
    int64_t neuron = operation_of(g, n);
    enum op_id op = n->op->id;
    return op == OP_Relu || op == OP_Relu1 || op == OP_Relu6 || op == OP_ReluMinMax || neuron == NEURON_RELU ||
           neuron == NEURON_RELU_MIN_MAX;
}

bool quantize_before_clamp(const struct ir_graph *g, const struct ir_uses *u, uint32_t t)
{
    if (u->n_consumers[t] != 1 || g->tensors.at[t].role != IR_NATIVE || u->producer[t] == IR_NONE)
        return false;
    const struct ir_node *n = &g->nodes.at[u->consumer[t]];
    return is_clamp(g, n) && n->in[0] == t && !plan_moves_values(g->nodes.at[u->producer[t]].op->id);
}

/* The tensor before a clamp, when only the clamp reads it, needs no values that the clamp would cut. */
static void share_clamp(const struct plan *p, const struct ir_node *n)
{
    uint32_t in = n->in[0], out = n->out[0];
    if (in == IR_NONE || !is_clamp(p->g, n) || !quantize_before_clamp(p->g, &p->uses, in))
        return;
    if (p->tensors[in].origin != QUANTIZE_CALIBRATED || p->tensors[out].origin == QUANTIZE_FLOAT)
        return;
    p->tensors[in].e = p->tensors[out].e;
    p->tensors[in].origin = QUANTIZE_PROPAGATED;
}

static bool has_data(const struct plan *p, uint32_t t)
{
    return p->g->tensors.at[t].role == IR_CONST && dtype_is_float(p->g->tensors.at[t].desc.type);
}

/* Only weights have that. */
static bool per_channel(const struct plan *p, uint32_t t)
{
    return p->tensors[t].alias != IR_NONE && p->g->tensors.at[p->tensors[t].alias].desc.q.kind == Q_AXIS;
}

static void share_moved(const struct plan *p, const struct ir_node *n)
{
    uint32_t in = n->in[0];
    if (!plan_moves_values(n->op->id) || in == IR_NONE || has_data(p, in) || p->tensors[in].origin == QUANTIZE_FLOAT ||
        per_channel(p, in))
        return;
    for (uint32_t i = 0; i < n->n_out; i++) {
        struct plan_tensor *y = &p->tensors[n->out[i]];
        if (!quantize_is_activation(&p->g->tensors.at[n->out[i]]) || y->origin == QUANTIZE_OVERRIDE ||
            y->origin == QUANTIZE_MODEL || p->override[n->out[i]])
            continue;
        y->e = p->tensors[in].e;
        y->origin = QUANTIZE_PROPAGATED;
    }
}

/* What a Dequantize makes exists in fixed point already: weights of hybrid models, the borders of quantized parts. */
static void adopt_dequantized(const struct plan *p, const struct ir_node *n)
{
    const struct ir_tensor *x = n->n_in && n->in[0] != IR_NONE ? &p->g->tensors.at[n->in[0]] : NULL;
    if (n->op->id != OP_Dequantize || !x || !dtype_is_fixed(x->desc.type) || p->override[n->out[0]] ||
        p->g->tensors.at[n->out[0]].role != IR_NATIVE)
        return;
    bool whole = x->desc.q.kind == Q_TENSOR && T_(x->desc.type) & T_Q,
         constant = x->role == IR_CONST && x->desc.q.kind == Q_AXIS;
    if (!whole && !constant)
        return;
    struct plan_tensor *y = &p->tensors[n->out[0]];
    y->alias = n->in[0];
    y->origin = QUANTIZE_MODEL;
    y->e.type = x->desc.type;
    y->e.scale = quant_scale(&x->desc.q, 0);
    y->e.offset = quant_offset(&x->desc.q, 0);
}

/* What only a Quantize reads is stored in its encoding at once. */
static void adopt_quantized(const struct plan *p, const struct ir_node *n)
{
    if (n->op->id != OP_Quantize || n->in[0] == IR_NONE || p->uses.n_consumers[n->in[0]] != 1)
        return;
    const struct tensor_desc *z = &p->g->tensors.at[n->out[0]].desc;
    struct plan_tensor *x = &p->tensors[n->in[0]];
    if (x->origin != QUANTIZE_CALIBRATED || z->q.kind != Q_TENSOR || z->q.bits || !(T_(z->type) & T_Q))
        return;
    x->origin = QUANTIZE_MODEL;
    x->e.type = z->type;
    x->e.scale = z->q.scale;
    x->e.offset = z->q.offset;
    x->e.min = (double)(dtype_min(z->type) + z->q.offset) * z->q.scale;
    x->e.max = (double)(dtype_max(z->type) + z->q.offset) * z->q.scale;
}

/* An output that is an input of the next run: the bytes are copied as they are. */
static void share_state(const struct plan *p, const struct quantize_state *s)
{
    uint32_t in = ir_find_tensor(p->g, s->input), out = ir_find_tensor(p->g, s->output);
    if (in == IR_NONE || out == IR_NONE || p->tensors[in].origin != QUANTIZE_CALIBRATED ||
        p->tensors[out].origin == QUANTIZE_FLOAT)
        return;
    p->tensors[in].e = p->tensors[out].e;
    p->tensors[in].origin = QUANTIZE_PROPAGATED;
}

/* ---- factors ------------------------------------------------------------------------------------------------------ */

/* Where the values of a tensor come from that operators only moved. */
static uint32_t moved_from(const struct plan *p, uint32_t t)
{
    for (size_t left = p->g->nodes.n; left > 0 && p->uses.producer[t] != IR_NONE; left--) {
        const struct ir_node *n = &p->g->nodes.at[p->uses.producer[t]];
        if (!plan_moves_values(n->op->id) || n->in[0] == IR_NONE || has_data(p, n->in[0]))
            break;
        t = n->in[0];
    }
    return t;
}

/* How many times too fine the steps of a product of two results are for its bias, which is added in 32 bits of them. */
static double too_fine(const struct plan *p, const struct ir_node *n)
{
    const double most = 2147483647.0 * 0.98;
    struct plan_port port = plan_port(p, n, 2);
    const struct ir_tensor *b = &p->g->tensors.at[n->in[2]];
    double step = (double)p->tensors[n->in[0]].e.scale * p->tensors[n->in[1]].e.scale, largest = 0;
    if (port.use != PLAN_BIAS || !port.product || !has_data(p, n->in[2]) || !b->data || !(step > 0))
        return 1;
    for (uint64_t i = 0; i < desc_count(&b->desc); i++)
        largest = fmax(largest, fabs(number_get(b->desc.type, b->data, i)));
    return isfinite(largest) ? largest / (most * step) : 1;
}

/* The second factor gets larger steps where a bias would not fit; constant ones do so when they are made. Whether something
 * changed. */
static bool coarsen(const struct plan *p, const struct ir_node *n)
{
    if (n->n_in < 3 || n->in[0] == IR_NONE || n->in[1] == IR_NONE || n->in[2] == IR_NONE ||
        !quantize_is_activation(&p->g->tensors.at[n->in[0]]) || !quantize_is_activation(&p->g->tensors.at[n->in[1]]))
        return false;
    uint32_t root = moved_from(p, n->in[1]);
    struct plan_tensor *w = &p->tensors[root];
    double times = too_fine(p, n);
    if (times <= 1 || (w->origin != QUANTIZE_CALIBRATED && w->origin != QUANTIZE_OPERATOR))
        return false;
    struct quantize_rule r = plan_act_rule(p, root);
    quantize_encode(&r, w->e.min * times, w->e.max * times, &w->e);
    return true;
}

/* Clipping of values that a clamp cuts anyway is no noise. */
static void estimate(const struct plan *p, uint32_t t)
{
    struct plan_tensor *x = &p->tensors[t];
    bool cut = x->origin == QUANTIZE_PROPAGATED && quantize_before_clamp(p->g, &p->uses, t);
    x->sqnr = !cut && p->o->stats && p->o->stats[t].count ? quantize_sqnr(&p->o->stats[t], &x->e) : NAN;
}

/* ---- operators that stay float ------------------------------------------------------------------------------------ */

const char *plan_stays_float(const struct plan *p, const struct ir_node *n)
{
    static const enum op_id typed[] = {
        OP_Cast,         OP_Convert,          OP_Quantize,        OP_Dequantize,    OP_Nv12ToRgb, OP_Nv21ToRgb,
        OP_CreateSparse, OP_GetSparseIndices, OP_GetSparseValues, OP_SparseToDense, OP_If
    };
    static const enum op_id coordinates[] = {
        OP_GridSample,
        OP_CropAndResize,
        OP_RoiAlign,
        OP_RoiPooling,
        OP_ImageProjectionTransform,
        OP_ExtractGlimpse,
        OP_NonMaxSuppression,
        OP_MultiClassNms,
        OP_CombinedNms,
        OP_DetectionOutput,
        OP_BoxWithNmsLimit,
        OP_GenerateProposals,
        OP_BboxTransform,
        OP_CollectRpnProposals,
        OP_AxisAlignedBboxTransform,
        OP_HeatMapMaxKeyPoint,
        OP_DistributeFpnProposals,
    };
    for (size_t i = 0; i < sizeof(typed) / sizeof(typed[0]); i++)
        if (typed[i] == n->op->id)
            return "its meaning depends on the data type";
    for (size_t i = 0; i < sizeof(coordinates) / sizeof(coordinates[0]); i++)
        if (coordinates[i] == n->op->id && p->o->act.bits < 16)
            return "it takes coordinates, which need more than 8 bits (--act_bw 16 quantizes it)";
    return n->op->flags & OP_RANDOM ? "its results are random" : NULL;
}

enum status plan_activations(struct plan *p)
{
    struct ir_graph *g = p->g;
    p->tensors = arena_array(p->arena, struct plan_tensor, g->tensors.n);
    RETURN_IF(!p->tensors, ST_NO_MEMORY, "no memory for %zu encodings", g->tensors.n);
    TRY(plan_overrides(p));
    for (uint32_t t = 0; t < g->tensors.n; t++) {
        p->tensors[t].alias = IR_NONE;
        if (quantize_is_activation(&g->tensors.at[t]))
            own_encoding(p, t);
    }
    for (size_t k = 0; k < g->nodes.n; k++)
        operator_encoding(p, &g->nodes.at[k]);
    for (size_t k = 0; k < g->nodes.n; k++)
        plan_mask(p, &g->nodes.at[k]);
    for (size_t k = 0; k < g->nodes.n; k++)
        adopt_dequantized(p, &g->nodes.at[k]);
    for (size_t k = 0; k < g->nodes.n; k++)
        adopt_quantized(p, &g->nodes.at[k]);
    for (uint32_t i = 0; i < p->o->n_states; i++)
        share_state(p, &p->o->states[i]);
    for (size_t k = g->nodes.n; k-- > 0;) /* backwards: a chain of clamps ends in the last one's range */
        if (g->nodes.at[k].n_in && g->nodes.at[k].n_out)
            share_clamp(p, &g->nodes.at[k]);
    for (size_t k = 0; k < g->nodes.n; k++)
        if (g->nodes.at[k].n_in)
            share_moved(p, &g->nodes.at[k]);
    bool changed = false;
    for (size_t k = 0; k < g->nodes.n; k++)
        changed |= coarsen(p, &g->nodes.at[k]);
    for (size_t k = 0; changed && k < g->nodes.n; k++)
        if (g->nodes.at[k].n_in)
            share_moved(p, &g->nodes.at[k]);
    for (uint32_t t = 0; t < g->tensors.n; t++)
        if (p->tensors[t].origin != QUANTIZE_FLOAT)
            estimate(p, t);
    return ST_OK;
}
