/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks that several networks of cost_nets*.c are made of. */
#ifndef BENCH_COST_PARTS_H
#define BENCH_COST_PARTS_H

#include "cost_graph.h"

typedef struct cost_act act;

/* A colour image whose mean and deviation the graph takes away, as most export scripts have it. */
act part_image(struct cost_graph *g, uint32_t h, uint32_t w);
act part_silu(struct cost_graph *g, act x, uint32_t out, uint32_t kernel, uint32_t stride); /* convolution, x * Sigmoid(x) */
act part_leaky(struct cost_graph *g, act x, uint32_t out, uint32_t kernel, uint32_t stride); /* with another activation */
act part_join(struct cost_graph *g, act a, act b);                                           /* channels */
act part_add(struct cost_graph *g, act a, act b);
act part_norm(struct cost_graph *g, act x);
act part_norm_silu(struct cost_graph *g, act x); /* of groups */
/* Scales of a detector: sides of boxes, which are means over 16 places, and scores of classes. */
void part_boxes(struct cost_graph *g, const act *sides, const act *scores, uint32_t n);
act part_prelu(struct cost_graph *g, act x);                  /* a slope per channel */
act part_double(struct cost_graph *g, act x, const char *op); /* twice as large by a resize */
act part_sppf(struct cost_graph *g, act x);                   /* three pools behind each other, all joined */
/* Two 3 x 3 convolutions and a way past them. */
act part_basic(struct cost_graph *g, act x, uint32_t out, uint32_t stride);
act part_basics(struct cost_graph *g, act x, uint32_t out, uint32_t stride, uint32_t n); /* the first has the stride */
void part_resnet18(struct cost_graph *g, act image, act stages[4]);
/* HRNet: four branches, each half as large as the one before and with twice its channels; op enlarges. */
void part_hrnet(struct cost_graph *g, act image, uint32_t width, const char *op, act x[4]);
/* Attention: rows of all heads in and out. */
act part_scores(struct cost_graph *g, act q, act k, act v, uint32_t heads);
act part_attend(struct cost_graph *g, act from, act to, uint32_t heads); /* with its four products */
act part_heads(struct cost_graph *g, act x, uint32_t heads);             /* rows of all heads to rows of each */
act part_feed(struct cost_graph *g, act x, uint32_t inner, const char *op);
/* How far everything is away, 518 x 518, from what four layers of a transformer make of 37 x 37 places. */
void part_depth(struct cost_graph *g, const act layers[4], uint32_t outs);
act part_vit(struct cost_graph *g, act x, uint32_t heads); /* a layer of a vision transformer */

#endif
