/* SPDX-License-Identifier: Apache-2.0 */
/* What fuzz targets do with a graph that a parser accepted: it verifies and prints, its operators bind or say why not, and
 * when it is small it is prepared, opened and run. */
#ifndef TESTS_FUZZ_RUN_H
#define TESTS_FUZZ_RUN_H

#include <stdbool.h>

#include "binary/binary.h"
#include "ir/ir.h"

void require(bool ok); /* aborts */

void check_graph(const struct ir_graph *g);
/* Large graphs are bound only; changes `g`, as the compiler does. Every tensor lies in a block of its own size, so that a
 * sanitizer sees each byte too many. */
void compile_and_run(struct ir_graph *g);
/* Binds every operator, whatever its size: no tensor is needed for that. */
void bind_binary_graph(const struct binary_graph *g);
/* Loads a graph of a binary and runs it twice; a refusal is explained. */
void run_binary_graph(const struct binary_graph *g);

#endif
