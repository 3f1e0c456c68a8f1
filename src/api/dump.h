/* SPDX-License-Identifier: Apache-2.0 */
/* OPENQNN_DUMP=FOLDER: inputs and outputs of the first executions of every graph as .npy files, for programs that cannot be
 * changed (private to api/).
 *
 *     FOLDER/LIBRARY-PROCESS/GRAPH/tensors.json          names, types, shapes and encodings
 *     FOLDER/LIBRARY-PROCESS/GRAPH/run_0001/in_00_NAME.npy, out_00_NAME.npy
 *
 * OPENQNN_DUMP_RUNS says how many executions of a graph (8 when it does not; 0: all). */
#ifndef API_DUMP_H
#define API_DUMP_H

#include <stdint.h>

struct graph_run;

/* Writes the inputs of a bound run. Returns its number, or 0 where it is not dumped. */
uint32_t dump_inputs(const struct graph_run *r);
void dump_outputs(const struct graph_run *r, uint32_t number);

#endif
