/* SPDX-License-Identifier: Apache-2.0 */
/* The estimate of docs/cost.md, made again for a graph of a context binary: for another device, or for another graph that
 * differs from it in a few operators. The one file of the tools that knows the cost model. */
#ifndef TOOLS_ANALYSIS_ESTIMATE_H
#define TOOLS_ANALYSIS_ESTIMATE_H

#include "binary/binary.h"

/* Operations of a node with those on the padding of tiles. */
uint64_t estimate_padded_macs(const struct binary_graph *g, uint32_t node);

/* A device, and the options of a graph that a binary does not say. */
struct estimate_device {
    uint32_t soc_model, arch;
    uint32_t vtcm_mb; /* 0: the window of the graph */
    bool clamps_apart, activations_apart, short_on_vectors;
};

/* Cycles of the graph; nodes: those of the graph, or a copy whose cycles are filled. */
enum status estimate_graph(const struct estimate_device *d, const struct binary_graph *g, struct binary_node *nodes,
                           uint64_t *ret_cycles);
uint32_t estimate_clock_mhz(const struct estimate_device *d);
/* Products of 8-bit numbers per cycle, and DRAM bytes in the time of one cycle. */
uint32_t estimate_peak_macs(const struct estimate_device *d);
double estimate_dram_rate(const struct estimate_device *d);

/* SoCs that the cost model has rates for, fitted to published latencies (docs/cost.md); the last one has no name. */
struct estimate_soc {
    uint32_t soc_model, arch;
    const char *name;
};
extern const struct estimate_soc estimate_socs[];

#endif
