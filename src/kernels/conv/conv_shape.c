/* SPDX-License-Identifier: Apache-2.0 */
/* The geometry of sums of products: from an operator's shapes and parameters to slices, rows, taps and strides. */
#include "kernels/conv/conv.h"
#include "kernels/kernel_util.h"

static uint32_t param_or_one(const struct op_call *c, const char *name, uint32_t at)
{
    return op_param_index(c->op, name) < 0 ? 1 : (uint32_t)op_int(c, name, at);
}

/* Spatial axis k of `spatial`, counted from depth; an operator of fewer dimensions has the first ones of size 1. */
static struct conv_axis spatial_axis(const struct op_call *c, uint32_t spatial, int k)
{
    if (k < 0)
        return (struct conv_axis){ 1, 1, 1, 1, 1, 0 };
    uint32_t at = (uint32_t)k;
    return (struct conv_axis){ .in = c->in[0]->dims[1 + at], .out = c->out[0]->dims[1 + at], .kernel = c->in[1]->dims[at],
                               .stride = (uint32_t)op_int(c, "stride", spatial > 1 ? at : 0),
                               .dilation = param_or_one(c, "dilation", spatial > 1 ? at : 0),
                               .pad = (uint32_t)op_int(c, "pad_amount", 2 * at) };
}

static bool axis_padded(const struct conv_axis *v)
{
    return v->pad > 0 || (uint64_t)(v->out - 1) * v->stride + (uint64_t)(v->kernel - 1) * v->dilation >= v->in;
}

/* Block scales differ along k, which the depthwise kernels do not know: such weights take the general way, a slice per
 * channel. */
static bool has_blocks(const struct op_call *c)
{
    const struct tensor_desc *w = c->in[1];
    return dtype_is_fixed(c->in[0]->type) && dtype_is_fixed(w->type) && (w->q.kind == Q_BLOCK || w->q.kind == Q_FLOAT_BLOCK);
}

static uint64_t describe_spatial(const struct op_call *c, struct conv_args *a, enum conv_kind kind)
{
    const struct tensor_desc *x = c->in[0], *w = c->in[1];
    int spatial = x->rank - 2;
    a->batch = x->dims[0];
    a->z = spatial_axis(c, (uint32_t)spatial, spatial - 3);
    a->y = spatial_axis(c, (uint32_t)spatial, spatial - 2);
    a->x = spatial_axis(c, (uint32_t)spatial, spatial - 1);
    a->ci = x->dims[x->rank - 1];
    a->co = c->out[0]->dims[c->out[0]->rank - 1];
    uint32_t group = kind == CONV_DEPTHWISE ? a->ci : (uint32_t)op_int(c, "group", 0);
    /* One input channel per group: each output channel has an input channel of its own, which is what depthwise means. */
    if (kind == CONV_WINDOW && group > 1 && a->ci == group)
        kind = CONV_DEPTHWISE;
    if (kind == CONV_DEPTHWISE && has_blocks(c))
        kind = CONV_WINDOW;
    a->kind = kind;
    a->taps = a->z.kernel * a->y.kernel * a->x.kernel;
    a->cig = a->ci / group;
    a->cog = a->co / group;
    a->slices = a->w_slices = group;
    a->w_out = 1;
    a->w_in = w->dims[w->rank - 1];
    a->w_tap = (uint64_t)w->dims[w->rank - 2] * a->w_in;
    a->w_slice = kind == CONV_TRANSPOSED ? (uint64_t)a->cig * a->cog : a->cog;
    a->w_enc.dim_in = w->rank - 2u;
    if (kind == CONV_DEPTHWISE) {
        a->multiplier = a->co / a->ci;
        a->slices = a->w_slices = 1;
        a->cig = 1;
        a->cog = a->co;
    }
    a->padded = kind == CONV_TRANSPOSED || axis_padded(&a->z) || axis_padded(&a->y) || axis_padded(&a->x);
    a->direct = kind == CONV_WINDOW && a->taps == 1 && !a->padded;
    return (uint64_t)a->batch * a->z.out * a->y.out * a->x.out;
}

static void describe_matrix(struct conv_args *a, uint32_t k, uint32_t n)
{
    a->kind = CONV_MATRIX;
    a->taps = 1;
    a->batch = a->slices = a->w_slices = 1;
    a->cig = k;
    a->ci = k;
    a->cog = a->co = n;
    a->x_row = k;
    a->x_k = 1;
}

static uint64_t describe_fully_connected(const struct op_call *c, struct conv_args *a)
{
    uint32_t m = c->in[1]->dims[0], n = c->in[1]->dims[1];
    describe_matrix(a, n, m);
    a->w_out = n;
    a->w_in = 1;
    a->w_enc.dim_in = 1;
    a->direct = true;
    return desc_count(c->in[0]) / n;
}

/* Matrices per step of each batch dimension of the output; 0 where the operand is broadcast. */
static uint64_t batch_strides(const struct tensor_desc *d, const struct tensor_desc *out, uint64_t *strides)
{
    uint64_t step = 1;
    for (uint32_t i = out->rank - 2u; i-- > 0;) {
        int32_t j = (int32_t)i + d->rank - out->rank;
        uint32_t dim = j < 0 ? 1 : d->dims[j];
        strides[i] = dim == 1 ? 0 : step;
        step *= dim;
    }
    return step;
}

static uint64_t describe_matmul(const struct op_call *c, struct conv_args *a, uint64_t *slices)
{
    const struct tensor_desc *x = c->in[0], *w = c->in[1], *out = c->out[0];
    bool tx = op_int(c, "transpose_in0", 0), tw = op_int(c, "transpose_in1", 0);
    uint32_t m = out->dims[out->rank - 2], n = out->dims[out->rank - 1], k = x->dims[x->rank - (tx ? 2 : 1)];
    uint64_t matrices = 1, w_matrices = 1;
    describe_matrix(a, k, n);
    a->n_batch = out->rank - 2u;
    for (uint32_t i = 0; i < a->n_batch; i++) {
        a->batch_dims[i] = out->dims[i];
        matrices *= out->dims[i];
    }
    batch_strides(x, out, a->x_batch);
    w_matrices = batch_strides(w, out, a->w_batch);
    a->w_slices = (uint32_t)w_matrices; /* conv_shape refuses more weights than that holds */
    a->w_slice = (uint64_t)k * n;
    a->w_enc.dim_in = w->rank - (tw ? 1u : 2u);
    a->w_out = tw ? k : 1;
    a->w_in = tw ? 1 : n;
    a->x_row = tx ? 1 : k;
    a->x_k = tx ? m : 1;
    a->direct = !tx;
    /* One matrix for all batches: the batches of x are just more rows. */
    if (w_matrices == 1 && !tx && desc_count(x) == matrices * m * k) {
        a->n_batch = 0;
        return matrices * m;
    }
    *slices = matrices;
    return m;
}

enum status conv_shape(const struct op_call *c, struct conv_args *a)
{
    const struct tensor_desc *w = c->in[1];
    uint64_t rows = 0, slices = 0;
    a->multiplier = 1;
    switch (c->op->id) {
    case OP_FullyConnected: rows = describe_fully_connected(c, a); break;
    case OP_BytesMatMul:
    case OP_MatMul: rows = describe_matmul(c, a, &slices); break;
    case OP_DepthWiseConv1d:
    case OP_DepthWiseConv2d: rows = describe_spatial(c, a, CONV_DEPTHWISE); break;
    case OP_TransposeConv1d:
    case OP_TransposeConv2d:
    case OP_TransposeConv3d: rows = describe_spatial(c, a, CONV_TRANSPOSED); break;
    default: rows = describe_spatial(c, a, CONV_WINDOW); break;
    }
    uint32_t dim_in = a->w_enc.dim_in;
    encoding_init(&a->w_enc, w);
    a->w_enc.dim_in = dim_in;
    if (!slices)
        slices = a->slices;
    RETURN_IF(rows * slices > INT32_MAX || desc_count(w) > INT32_MAX, ST_NOT_SUPPORTED,
              "%s \"%s\": %llu output positions and %llu weights; at most %d of each are supported; "
              "cut it into smaller ones",
              c->op->name,
              c->node ? c->node : "", (unsigned long long)(rows * slices), (unsigned long long)desc_count(w), INT32_MAX);
    a->rows = (uint32_t)rows;
    a->slices = (uint32_t)slices;
    return ST_OK;
}
