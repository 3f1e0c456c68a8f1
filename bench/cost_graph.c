/* SPDX-License-Identifier: Apache-2.0 */
/* Builds graphs of shapes only. Sizes are those of the networks of cost_nets.c; a graph that is too large ends the program. */
#include "cost_graph.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

static uint32_t add_tensor(struct cost_graph *g, struct tensor_desc d, uint8_t place)
{
    assert(g->g.n_tensors < COST_MAX_TENSORS);
    uint32_t t = g->g.n_tensors++;
    g->tensors[t] = (struct binary_tensor){ .name = "", .desc = d, .place = place, .bytes = desc_bytes(&d), .offset = (uint64_t)t << 32 };
    return t;
}

static struct cost_act add_act(struct cost_graph *g, uint32_t h, uint32_t w, uint32_t c, uint8_t place)
{
    static const enum dtype types[COST_TYPES] = { [COST_FLOAT] = DT_F16, [COST_W8A8] = DT_UQ8, [COST_W8A16] = DT_UQ16 };
    struct tensor_desc d = { .type = types[g->type], .rank = 4, .dims = { 1, h, w, c } };
    return (struct cost_act){ add_tensor(g, d, place), h, w, c };
}

static uint32_t add_weights(struct cost_graph *g, uint32_t kh, uint32_t kw, uint32_t in, uint32_t out)
{
    struct tensor_desc d = { .type = g->type == COST_FLOAT ? DT_F16 : DT_SQ8, .rank = 4, .dims = { kh, kw, in, out } };
    return add_tensor(g, d, PLACE_CONST);
}

static struct cost_act add_node(struct cost_graph *g, const char *op, const uint32_t *in, uint32_t n_in, struct cost_act out, uint64_t macs)
{
    assert(g->g.n_nodes < COST_MAX_NODES && g->n_ports + n_in + 1 <= COST_MAX_PORTS);
    struct binary_node *n = &g->nodes[g->g.n_nodes++];
    uint32_t *ports = g->ports + g->n_ports;
    for (uint32_t i = 0; i < n_in; i++)
        ports[i] = in[i];
    ports[n_in] = out.t;
    *n = (struct binary_node){ .name = op, .op = op_find(op), .n_in = n_in, .n_out = 1, .in = ports, .out = ports + n_in, .macs = macs };
    if (!n->op) {
        fprintf(stderr, "no operator %s\n", op);
        exit(1);
    }
    g->n_ports += n_in + 1;
    return out;
}

static uint64_t count(struct cost_act x)
{
    return (uint64_t)x.h * x.w * x.c;
}

void cost_graph_start(struct cost_graph *g, enum cost_type type)
{
    g->type = type;
    g->n_ports = 0;
    g->g = (struct binary_graph){ .tensors = g->tensors, .nodes = g->nodes };
}

struct cost_act cost_input(struct cost_graph *g, uint32_t h, uint32_t w, uint32_t c)
{
    struct cost_act x = add_act(g, h, w, c, PLACE_IO);
    g->tensors[x.t].io = 1;
    return x;
}

void cost_output(struct cost_graph *g, struct cost_act x)
{
    g->tensors[x.t].io = 2;
    g->tensors[x.t].place = PLACE_IO;
}

static uint32_t sized(uint32_t n, uint32_t stride)
{
    return (n + stride - 1) / stride;
}

struct cost_act cost_conv(struct cost_graph *g, struct cost_act x, uint32_t out, uint32_t kernel, uint32_t stride, uint32_t groups)
{
    uint32_t kh = x.h == 1 ? 1 : kernel; /* one-dimensional ones lie along the width */
    uint32_t in[] = { x.t, add_weights(g, kh, kernel, x.c / groups, out) };
    struct cost_act y = add_act(g, sized(x.h, stride), sized(x.w, stride), out, PLACE_SCRATCH);
    return add_node(g, "Conv2d", in, 2, y, count(y) * kh * kernel * (x.c / groups));
}

struct cost_act cost_depthwise(struct cost_graph *g, struct cost_act x, uint32_t kernel, uint32_t stride)
{
    uint32_t in[] = { x.t, add_weights(g, kernel, kernel, 1, x.c) };
    struct cost_act y = add_act(g, sized(x.h, stride), sized(x.w, stride), x.c, PLACE_SCRATCH);
    return add_node(g, "DepthWiseConv2d", in, 2, y, count(y) * kernel * kernel);
}

struct cost_act cost_up_conv(struct cost_graph *g, struct cost_act x, uint32_t out)
{
    uint32_t in[] = { x.t, add_weights(g, 2, 2, x.c, out) };
    struct cost_act y = add_act(g, 2 * x.h, 2 * x.w, out, PLACE_SCRATCH);
    return add_node(g, "TransposeConv2d", in, 2, y, count(y) * x.c);
}

struct cost_act cost_pool(struct cost_graph *g, struct cost_act x, const char *op, uint32_t kernel, uint32_t stride)
{
    struct cost_act y = add_act(g, kernel == x.h ? 1 : sized(x.h, stride), kernel == x.h ? 1 : sized(x.w, stride), x.c, PLACE_SCRATCH);
    return add_node(g, op, &x.t, 1, y, kernel == x.h ? count(x) : count(y) * kernel * kernel);
}

struct cost_act cost_unary(struct cost_graph *g, struct cost_act x, const char *op, uint32_t per_element)
{
    return add_node(g, op, &x.t, 1, add_act(g, x.h, x.w, x.c, PLACE_SCRATCH), count(x) * per_element);
}

struct cost_act cost_binary(struct cost_graph *g, struct cost_act x, struct cost_act y, const char *op)
{
    uint32_t in[] = { x.t, y.t };
    return add_node(g, op, in, 2, add_act(g, x.h, x.w, x.c, PLACE_SCRATCH), count(x));
}

struct cost_act cost_concat(struct cost_graph *g, const struct cost_act *x, uint32_t n)
{
    uint32_t in[8], c = 0;
    assert(n <= 8);
    for (uint32_t i = 0; i < n; i++) {
        in[i] = x[i].t;
        c += x[i].c;
    }
    struct cost_act y = add_act(g, x->h, x->w, c, PLACE_SCRATCH);
    return add_node(g, "Concat", in, n, y, count(y));
}

struct cost_act cost_part(struct cost_graph *g, struct cost_act x, uint32_t channels)
{
    struct cost_act y = add_act(g, x.h, x.w, channels, PLACE_SCRATCH);
    return add_node(g, "StridedSlice", &x.t, 1, y, count(y));
}

struct cost_act cost_dense(struct cost_graph *g, struct cost_act x, uint32_t out)
{
    struct tensor_desc d = { .type = g->type == COST_FLOAT ? DT_F16 : DT_SQ8, .rank = 2, .dims = { out, x.c } };
    uint32_t in[] = { x.t, add_tensor(g, d, PLACE_CONST) };
    struct cost_act y = add_act(g, x.h, x.w, out, PLACE_SCRATCH);
    return add_node(g, "FullyConnected", in, 2, y, count(y) * x.c);
}

struct cost_act cost_matmul(struct cost_graph *g, struct cost_act x, struct cost_act y, bool transposed)
{
    uint32_t in[] = { x.t, y.t };
    struct cost_act z = add_act(g, x.h, x.w, transposed ? y.w : y.c, PLACE_SCRATCH);
    return add_node(g, "MatMul", in, 2, z, count(z) * x.c);
}

struct cost_act cost_shape(struct cost_graph *g, struct cost_act x, uint32_t h, uint32_t w, uint32_t c)
{
    struct cost_act y = add_act(g, h, w, c, PLACE_SCRATCH);
    return add_node(g, "Transpose", &x.t, 1, y, count(y));
}
