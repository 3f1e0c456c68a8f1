/* SPDX-License-Identifier: Apache-2.0 */
/* Where two runs differ: the float results of this run, as they are computed, against the files of an earlier run, tensor by
 * tensor, worst first. With --debug in both runs (or binaries made with --enable_intermediate_outputs) every tensor between
 * nodes takes part, so that a quantized model shows where it loses. */
#ifndef TOOLS_NET_RUN_RESULT_COMPARE_H
#define TOOLS_NET_RUN_RESULT_COMPARE_H

#include <stdbool.h>

#include "net_run/graph_io.h"

struct compare_options {
    const char *folder; /* the other run's results of this graph */
    bool common;        /* tensors that only one run has are no failure */
    double min_sqnr;    /* decibel; NaN: no limit */
    double min_cosine;  /* NaN: no limit */
    double max_error;   /* NaN: no limit */
};

struct result_compare;

enum status result_compare_open(const struct compare_options *options, const struct graph_io *io,
                                struct result_compare **ret);

/* Takes results from graph_io (io_options.sink). */
struct result_sink *result_compare_sink(struct result_compare *compare);

/* Prints the table. Fails when a value is NaN or infinite on one side only, when tensors are missing or have another size,
 * and when a limit is not met. */
enum status result_compare_report(struct result_compare *compare);
void result_compare_free(struct result_compare *compare); /* NULL is taken */

#endif
