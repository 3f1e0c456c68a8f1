/* SPDX-License-Identifier: Apache-2.0 */
/* Layers of a graph as sums of products, and what they read when the graph runs: the mean of every value of a patch, and
 * some patches. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "convert/convert.h"

enum { MOST_SAMPLES = 2048, LEAST_SAMPLES = 64, SAMPLE_BYTES = 8 << 20 };
static const uint64_t most_products = 1000000000; /* of one pass over a layer's samples */

/* ---- finding ------------------------------------------------------------------------------------------------------ */

static bool is_layer(enum op_id op)
{
    return op == OP_Conv1d || op == OP_Conv2d || op == OP_DepthWiseConv1d || op == OP_DepthWiseConv2d ||
           op == OP_FullyConnected || op == OP_MatMul;
}

static void fill_window(const struct ir_call *v, uint32_t spatial, const struct tensor_desc *x, const struct tensor_desc *y,
                        const struct tensor_desc *w, struct quantize_layer *l)
{
    for (uint32_t d = 0; d < 2; d++)
        l->kernel[d] = l->stride[d] = l->dilation[d] = l->size[d] = l->result[d] = 1;
    for (uint32_t at = 2 - spatial; at < 2; at++) {
        uint32_t d = at + spatial - 2;

        l->kernel[at] = w->dims[d];
        l->size[at] = x->dims[d + 1];
        l->result[at] = y->dims[d + 1];
        l->stride[at] = (uint32_t)op_int(&v->call, "stride", d);
        l->dilation[at] = (uint32_t)op_int(&v->call, "dilation", d);
        l->pad[at] = (uint32_t)op_int(&v->call, "pad_amount", 2 * d);
    }
}

static bool fill_conv(const struct ir_call *v, struct quantize_layer *l)
{
    const struct tensor_desc *x = v->in[0], *w = v->in[1], *y = v->out[0];
    bool depthwise = v->call.op->id == OP_DepthWiseConv1d || v->call.op->id == OP_DepthWiseConv2d;
    uint32_t spatial = w->rank - 2u, groups = depthwise ? x->dims[x->rank - 1] : (uint32_t)op_int(&v->call, "group", 0);
    l->channels = x->dims[x->rank - 1];
    l->outs = w->dims[w->rank - 1];
    l->group_in = w->dims[w->rank - 2];
    fill_window(v, spatial, x, y, w, l);
    l->images = x->dims[0];
    if (!groups || l->outs % groups || l->group_in * groups != l->channels)
        return false;
    l->group_out = l->outs / groups;
    l->step_k = l->outs;
    l->step_o = 1;
    return true;
}

static bool fill_matrix(const struct ir_call *v, struct quantize_layer *l)
{
    const struct tensor_desc *x = v->in[0], *w = v->in[1];
    bool rows = v->call.op->id == OP_FullyConnected || op_int(&v->call, "transpose_in1", 0);
    if (w->rank != 2 || (v->call.op->id == OP_MatMul && op_int(&v->call, "transpose_in0", 0)))
        return false;
    l->outs = l->group_out = w->dims[!rows];
    l->channels = l->group_in = w->dims[rows];
    l->step_k = rows ? 1 : l->outs;
    l->step_o = rows ? l->channels : 1;
    for (uint32_t d = 0; d < 2; d++)
        l->kernel[d] = l->stride[d] = l->dilation[d] = l->size[d] = l->result[d] = 1;
    l->images = desc_count(x) / l->channels;
    return l->images * l->channels == desc_count(x);
}

static bool fill_layer(const struct ir_graph *g, uint32_t node, struct quantize_layer *l)
{
    const struct ir_node *n = &g->nodes.at[node];
    struct ir_call v;
    if (n->dead || !is_layer(n->op->id) || n->n_in < 2 || n->in[0] == IR_NONE || n->in[1] == IR_NONE)
        return false;
    const struct ir_tensor *w = &g->tensors.at[n->in[1]];
    if (w->role != IR_CONST || w->desc.type != DT_F32 || !w->data || !quantize_is_activation(&g->tensors.at[n->in[0]]))
        return false;
    ir_call(g, n, &v);
    bool matrix = n->op->id == OP_FullyConnected || n->op->id == OP_MatMul;
    *l = (struct quantize_layer){
        .node = node, .in = n->in[0], .weight = n->in[1], .bias = n->n_in > 2 ? n->in[2] : IR_NONE
    };
    if (!(matrix ? fill_matrix(&v, l) : fill_conv(&v, l)))
        return false;
    l->terms = l->kernel[0] * l->kernel[1] * l->group_in;
    l->patch = l->kernel[0] * l->kernel[1] * l->channels;
    return l->terms && l->outs && (uint64_t)l->terms * l->outs == desc_count(&w->desc);
}

enum status quantize_layers_find(const struct ir_graph *g, struct quantize_layers *ret)
{
    memset(ret, 0, sizeof(*ret));
    arena_init(&ret->arena);
    for (uint32_t k = 0; k < g->nodes.n; k++) {
        struct quantize_layer l, *slot;
        if (!fill_layer(g, k, &l))
            continue;
        slot = vec_push(&ret->list);
        if (!slot) {
            quantize_layers_finish(ret);
            return status_fail(ST_NO_MEMORY, "no memory for layers");
        }
        *slot = l;
    }
    return ST_OK;
}

void quantize_layers_finish(struct quantize_layers *l)
{
    vec_finish(&l->list);
    arena_finish(&l->arena);
}

/* ---- observing ---------------------------------------------------------------------------------------------------- */

static uint64_t positions(const struct quantize_layer *l)
{
    return l->images * l->result[0] * l->result[1];
}

/* As many as memory and time allow. */
static uint32_t sample_cap(const struct quantize_layer *l)
{
    uint64_t room = SAMPLE_BYTES / sizeof(float) / l->patch, work = most_products / ((uint64_t)l->outs * l->terms);
    uint64_t cap = room < work ? room : work;
    cap = cap < LEAST_SAMPLES ? LEAST_SAMPLES : cap > MOST_SAMPLES ? MOST_SAMPLES : cap;
    return cap < l->expected ? (uint32_t)cap : (uint32_t)l->expected;
}

enum status quantize_layers_prepare(struct quantize_layers *ls, uint64_t runs, bool samples)
{
    for (size_t i = 0; i < ls->list.n; i++) {
        struct quantize_layer *l = &ls->list.at[i];
        l->expected = positions(l) * runs;
        l->cap = samples ? sample_cap(l) : 0;
        l->sum = arena_array(&ls->arena, double, l->patch);
        l->samples = l->cap ? arena_array(&ls->arena, float, (size_t)l->cap * l->patch) : NULL;
        RETURN_IF(!l->sum || (l->cap && !l->samples), ST_NO_MEMORY, "no memory for %u samples of %u values", l->cap,
                  l->patch);
    }
    return ST_OK;
}

/* What the result at row y, column x reads of one image; padding is 0. */
static void read_patch(const struct quantize_layer *l, const float *image, uint32_t y, uint32_t x, float *to)
{
    size_t bytes = l->channels * sizeof(float);
    for (uint32_t i = 0; i < l->kernel[0]; i++)
        for (uint32_t k = 0; k < l->kernel[1]; k++, to += l->channels) {
            int64_t row = (int64_t)y * l->stride[0] + (int64_t)i * l->dilation[0] - l->pad[0];
            int64_t column = (int64_t)x * l->stride[1] + (int64_t)k * l->dilation[1] - l->pad[1];
            bool inside = row >= 0 && row < l->size[0] && column >= 0 && column < l->size[1];
            if (inside)
                memcpy(to, image + ((uint64_t)row * l->size[1] + (uint64_t)column) * l->channels, bytes);
            else
                memset(to, 0, bytes);
        }
}

/* Chosen by a hash of the position, so that samples do not fall into step with the rows of an image. */
static bool chosen(const struct quantize_layer *l)
{
    uint32_t hash = (uint32_t)l->seen * 2654435761u;
    hash = (hash ^ hash >> 15) * 2246822519u;
    return l->n_samples < l->cap && (double)(hash ^ hash >> 13) < 4294967296.0 * 1.1 * l->cap / (double)l->expected;
}

static void add_patch(struct quantize_layer *l, const float *patch)
{
    for (uint32_t i = 0; i < l->patch; i++)
        l->sum[i] += isfinite(patch[i]) ? patch[i] : 0;
    if (chosen(l))
        memcpy(l->samples + (size_t)l->n_samples++ * l->patch, patch, l->patch * sizeof(float));
    l->seen++;
}

void quantize_layer_observe(struct quantize_layer *l, const float *x)
{
    CLEANUP(mem_freep) float *patch = mem_array(float, l->patch);
    uint64_t image = (uint64_t)l->size[0] * l->size[1] * l->channels;
    for (uint64_t i = 0; patch && i < l->images; i++)
        for (uint32_t r = 0; r < l->result[0]; r++)
            for (uint32_t c = 0; c < l->result[1]; c++) {
                read_patch(l, x + i * image, r, c, patch);
                add_patch(l, patch);
            }
}
