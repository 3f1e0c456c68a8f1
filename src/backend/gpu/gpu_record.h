/* SPDX-License-Identifier: Apache-2.0 */
/* Queue recording: all kernels of a graph as one command of the device (cl_khr_command_buffer). A recording keeps the
 * arguments that kernels had when it was made, so that it is good as long as the client's buffers stay the same. */
#ifndef BACKEND_GPU_GPU_RECORD_H
#define BACKEND_GPU_GPU_RECORD_H

#include "backend/gpu/gpu_backend.h"

/* Whether the next run of the graph shall use a recording: the device can, nobody forbade it, and the run is like the one
 * before. Makes one if there is none; a graph whose recording fails runs without from then on. */
bool gpu_record_ready(struct backend_graph *g);
/* Puts the recording into the queue of the graph's world. */
enum status gpu_record_enqueue(struct backend_graph *g);
/* Buffers or the queue have changed. */
void gpu_record_drop(struct backend_graph *g);

#endif
