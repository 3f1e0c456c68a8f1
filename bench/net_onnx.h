/* SPDX-License-Identifier: Apache-2.0 */
/* A list of layers as an ONNX file, channels second. */
#ifndef BENCH_NET_ONNX_H
#define BENCH_NET_ONNX_H

#include <stdbool.h>
#include <stdio.h>

#include "net.h"

/* quantized: 8 bits as exporters write them, a pair of QuantizeLinear and DequantizeLinear behind every operator, weights
 * and biases behind a DequantizeLinear with a scale per channel; otherwise f32. false: there is no such form of one of its
 * layers. */
bool net_write_onnx(const struct net *n, bool quantized, FILE *to);

#endif
