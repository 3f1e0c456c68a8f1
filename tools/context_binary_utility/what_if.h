/* SPDX-License-Identifier: Apache-2.0 */
/* The model compiled for other SoCs, sizes of VTCM and with more search: what a plan made for them would take. */
#ifndef TOOLS_CONTEXT_BINARY_UTILITY_WHAT_IF_H
#define TOOLS_CONTEXT_BINARY_UTILITY_WHAT_IF_H

#include <stdint.h>

#include "base/status.h"

struct what_if {
    const char *dlc, *backend, *system_library; /* backend NULL: libQnnHtp.so by name; system_library NULL: beside it */
    uint32_t soc_model;                         /* of the binary */
};

/* A graph on a target. */
struct what_if_row {
    const char *soc;
    uint32_t soc_model, vtcm_mb, level; /* 0: no setting */
    const char *refused;                /* why the target does not take the model: the rest is not there; NULL: it does */
    const char *graph;
    uint64_t cycles, vtcm_bytes, spill_bytes;
    double time_us;
};
typedef void what_if_each(void *arg, const struct what_if_row *row);

/* Fails when the model cannot be compiled for the SoC of the binary. */
enum status what_if_compile(const struct what_if *w, what_if_each *each, void *arg);

#endif
