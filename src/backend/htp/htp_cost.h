/* SPDX-License-Identifier: Apache-2.0 */
/* What an HTP does per cycle, for estimates (docs/cost.md). Apart from htp_backend.h since only the compiler and
 * bench/cost_hub.c need it. */
#ifndef BACKEND_HTP_HTP_COST_H
#define BACKEND_HTP_HTP_COST_H

#include "prepare/prepare.h"

/* Bytes of the system level cache that its allocator keeps for spilled tensors; 0: the SoC has none for the HTP. */
uint64_t htp_slc_bytes(uint32_t soc_model);
enum { HTP_SLC_PERCENT = 200 /* its rate, of that of DRAM */ };

/* Whether it moves sparse weights without their zeros. */
bool htp_has_sparse_weights(uint32_t soc_model);

/* soc_model 0 or not in the table: a common SoC of the architecture; an architecture that is not known: SM8550. */
void htp_cost_device(uint32_t soc_model, uint32_t arch, uint64_t vtcm_bytes, uint32_t hvx_threads, struct cost_device *ret);

#endif
