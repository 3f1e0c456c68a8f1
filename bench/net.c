/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of layers: shapes of results. */
#include "net.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct layer *add(struct net *n, enum layer_kind kind)
{
    if (n->n == NET_LAYERS) {
        fprintf(stderr, "bench: a network has more than %d layers\n", NET_LAYERS);
        exit(1);
    }
    struct layer *l = &n->layers[n->n++];
    *l = (struct layer){ .kind = kind, .group = 1 };
    return l;
}

static uint32_t number(const struct net *n)
{
    return n->n - 1;
}

static void set_image(struct layer *l, const struct net *n, uint32_t h, uint32_t w, uint32_t c)
{
    l->image = true;
    l->rank = 4;
    memcpy(l->dims, (uint32_t[]){ n->batch, h, w, c }, 4 * sizeof *l->dims);
}

static void set_dims(struct layer *l, uint32_t rank, const uint32_t *dims)
{
    l->rank = rank;
    memcpy(l->dims, dims, rank * sizeof *dims);
}

static void like(struct layer *l, const struct layer *x)
{
    set_dims(l, x->rank, x->dims);
    l->image = x->image;
}

uint32_t net_input(struct net *n, uint32_t rank, const uint32_t *dims, bool image)
{
    struct layer *l = add(n, LAYER_INPUT);
    set_dims(l, rank, dims);
    l->image = image;
    return number(n);
}

/* Padding that keeps the size, divided by the stride. */
static uint32_t same_padding(struct layer *l, int axis, uint32_t in, uint32_t kernel, uint32_t stride)
{
    uint32_t out = (in + stride - 1) / stride, need = (out - 1) * stride + kernel, total = need > in ? need - in : 0;
    l->kernel[axis] = kernel;
    l->stride[axis] = stride;
    l->pad[axis][0] = total / 2;
    l->pad[axis][1] = total - total / 2;
    return out;
}

uint32_t net_conv(struct net *n, uint32_t x, struct conv how)
{
    const uint32_t *in = n->layers[x].dims;
    struct layer *l = add(n, LAYER_CONV);
    l->in[0] = x;
    l->act = how.act;
    l->group = how.depthwise ? in[3] : 1;
    uint32_t h = same_padding(l, 0, in[1], how.kernel, how.stride);
    uint32_t w = same_padding(l, 1, in[2], how.wide ? how.wide : how.kernel, how.stride);
    set_image(l, n, h, w, how.out);
    return number(n);
}

static uint32_t pool(struct net *n, uint32_t x, enum layer_kind kind, const uint32_t kernel[2], uint32_t stride,
                     uint32_t pad)
{
    const uint32_t *in = n->layers[x].dims;
    struct layer *l = add(n, kind);
    l->in[0] = x;
    for (int i = 0; i < 2; i++) {
        l->kernel[i] = kernel[i];
        l->stride[i] = stride;
        l->pad[i][0] = l->pad[i][1] = pad;
    }
    set_image(l, n, (in[1] + 2 * pad - kernel[0]) / stride + 1, (in[2] + 2 * pad - kernel[1]) / stride + 1, in[3]);
    return number(n);
}

uint32_t net_pool(struct net *n, uint32_t x, enum layer_kind kind, uint32_t kernel, uint32_t stride, uint32_t pad)
{
    return pool(n, x, kind, (uint32_t[]){ kernel, kernel }, stride, pad);
}

uint32_t net_global_pool(struct net *n, uint32_t x)
{
    return pool(n, x, LAYER_POOL_AVG, n->layers[x].dims + 1, 1, 0);
}

uint32_t net_add(struct net *n, uint32_t a, uint32_t b, enum layer_act act)
{
    struct layer *l = add(n, LAYER_ADD);
    l->in[0] = a;
    l->in[1] = b;
    l->act = act;
    like(l, &n->layers[a]);
    return number(n);
}

uint32_t net_dense(struct net *n, uint32_t x, uint32_t out, enum layer_act act)
{
    const struct layer *in = &n->layers[x];
    struct layer *l = add(n, LAYER_DENSE);
    l->in[0] = x;
    l->act = act;
    set_dims(l, 2, (uint32_t[]){ in->image ? n->batch : in->dims[0], out });
    return number(n);
}

uint32_t net_matmul(struct net *n, uint32_t a, uint32_t b, bool transpose_b)
{
    struct layer *l = add(n, LAYER_MATMUL);
    l->in[0] = a;
    l->in[1] = b;
    l->transpose = transpose_b;
    like(l, &n->layers[a]);
    l->dims[l->rank - 1] = n->layers[b].dims[l->rank - (transpose_b ? 2 : 1)];
    return number(n);
}

uint32_t net_same(struct net *n, uint32_t x, enum layer_kind kind)
{
    struct layer *l = add(n, kind);
    l->in[0] = x;
    like(l, &n->layers[x]);
    return number(n);
}

uint32_t net_reshape(struct net *n, uint32_t x, uint32_t rank, const uint32_t *dims)
{
    struct layer *l = add(n, LAYER_RESHAPE);
    l->in[0] = x;
    set_dims(l, rank, dims);
    return number(n);
}

uint32_t net_transpose(struct net *n, uint32_t x, const uint32_t *perm)
{
    const struct layer *in = &n->layers[x];
    struct layer *l = add(n, LAYER_TRANSPOSE);
    l->in[0] = x;
    l->rank = in->rank;
    for (uint32_t i = 0; i < in->rank; i++)
        l->dims[i] = in->dims[l->perm[i] = perm[i]];
    return number(n);
}

uint32_t net_concat(struct net *n, uint32_t count, const uint32_t *parts)
{
    struct layer *l = add(n, LAYER_CONCAT);
    like(l, &n->layers[parts[0]]);
    l->n_in = count;
    l->dims[l->rank - 1] = 0;
    for (uint32_t i = 0; i < count; i++) {
        l->in[i] = parts[i];
        l->dims[l->rank - 1] += n->layers[parts[i]].dims[l->rank - 1];
    }
    return number(n);
}

/* [batch, time, input] to [batch, time, units]. */
uint32_t net_lstm(struct net *n, uint32_t x, uint32_t units, bool reverse)
{
    const uint32_t *in = n->layers[x].dims;
    struct layer *l = add(n, LAYER_LSTM);
    l->in[0] = x;
    l->reverse = reverse;
    set_dims(l, 3, (uint32_t[]){ in[0], in[1], units });
    return number(n);
}

uint64_t layer_count(const struct layer *l)
{
    uint64_t n = 1;
    for (uint32_t i = 0; i < l->rank; i++)
        n *= l->dims[i];
    return n;
}

uint32_t net_fan_in(const struct net *n, const struct layer *l)
{
    const struct layer *x = &n->layers[l->in[0]];
    switch (l->kind) {
    case LAYER_CONV:
        return l->kernel[0] * l->kernel[1] * x->dims[3] / l->group;
    case LAYER_DENSE:
        return (uint32_t)(layer_count(x) / l->dims[0]);
    case LAYER_MATMUL:
        return x->dims[x->rank - 1];
    case LAYER_LSTM:
        return 4 * (x->dims[2] + l->dims[2]);
    default:
        return 0;
    }
}

double net_macs(const struct net *n)
{
    double sum = 0;
    for (uint32_t i = 0; i < n->n; i++)
        sum += (double)layer_count(&n->layers[i]) * net_fan_in(n, &n->layers[i]);
    return sum;
}

void net_make(struct net *n, net_fn *build, uint32_t batch)
{
    n->n = 0;
    n->batch = batch;
    build(n);
}
