/* SPDX-License-Identifier: Apache-2.0 */
/* Memory for models, inputs and outputs: DDR is the heap; TCM is a fixed pool that serves at most 32 buffers, never grows
 * and is never replaced by DDR. Scratch and persistent memory is DDR whatever the configuration says. */
#ifndef TOOLS_LPAI_EXTENSION_LPAI_MEMORY_H
#define TOOLS_LPAI_EXTENSION_LPAI_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include "QNN/LPAI/QnnLpaiMem.h"
#include "QNN/QnnLog.h"
#include "base/status.h"

enum { LPAI_TCM_BYTES = 2035712, LPAI_TCM_BUFFERS = 32 };

struct lpai_memory {
    QnnLpaiMem_MemType_t type;
    uint32_t start_align, size_align;                    /* powers of two */
    void (*log)(QnnLog_Level_t level, const char *text);
    uint8_t *pool; /* NULL until the first allocation registers it */
    uint32_t n;
    struct {
        uint32_t offset, bytes;
    } used[LPAI_TCM_BUFFERS]; /* by offset */
};

/* Both sizes come from the backend. */
void lpai_memory_init(struct lpai_memory *m, QnnLpaiMem_MemType_t type, void (*log)(QnnLog_Level_t level, const char *text));
void lpai_memory_finish(struct lpai_memory *m);

/* NULL after a failure, which is logged and explained. */
void *lpai_memory_alloc(struct lpai_memory *m, size_t bytes);
void *lpai_memory_alloc_ddr(struct lpai_memory *m, size_t bytes); /* for pools of graphs */
void lpai_memory_free(struct lpai_memory *m, void *memory);

#endif
