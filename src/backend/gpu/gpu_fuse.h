/* SPDX-License-Identifier: Apache-2.0 */
/* Joining of launches, without a device. */
#ifndef BACKEND_GPU_GPU_FUSE_H
#define BACKEND_GPU_GPU_FUSE_H

#include "backend/gpu/gpu_launch.h"
#include "base/arena.h"
#include "binary/binary.h"

/* Launches of a loaded graph, operands known as tensors; `nodes` says which node each is of. Both lists become shorter. `a`
 * is for working memory. */
enum status gpu_fuse(const struct binary_graph *g, struct arena *a, struct gpu_work *w, uint32_t *nodes);

#endif
