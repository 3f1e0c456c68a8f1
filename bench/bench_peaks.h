/* SPDX-License-Identifier: Apache-2.0 */
/* What this machine can do at best, measured in the same run as the rest: shares of peaks compare with these. */
#ifndef BENCH_PEAKS_H
#define BENCH_PEAKS_H

#include <stdbool.h>

#include "base/cpu.h"

/* PEAK_BYTES: as PEAK_INT8, of ordinary bytes in place of zeros. */
enum peak_kind { PEAK_INT8, PEAK_BYTES, PEAK_INT16, PEAK_F32, PEAK_F16, PEAK_READ, PEAK_COPY, PEAK_KINDS };

/* Giga-operations per second (a multiplication and an addition are two) of the arithmetic that kernels of this level use;
 * memory: GB/s. 0 where the CPU has no such instructions. Measured when first asked for, then remembered. */
double peak_of(enum peak_kind kind, enum isa level, unsigned threads);
const char *peak_name(enum peak_kind kind, enum isa level); /* NULL: no such peak */

#endif
