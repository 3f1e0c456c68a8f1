/* SPDX-License-Identifier: Apache-2.0 */
/* See lpai_memory.h. The TCM pool hands out the first gap that is large enough; with 32 buffers a sorted array is all it
 * needs. */
#include "lpai_extension/lpai_memory.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

enum { POOL_ALIGN = 4096 };

__attribute__((format(printf, 3, 4))) static void say(const struct lpai_memory *m, QnnLog_Level_t level, const char *fmt,
                                                      ...)
{
    char text[256];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    m->log(level, text);
}

void lpai_memory_init(struct lpai_memory *m, QnnLpaiMem_MemType_t type, void (*log)(QnnLog_Level_t level, const char *text))
{
    *m = (struct lpai_memory){ .type = type, .start_align = 1, .size_align = 1, .log = log };
}

void lpai_memory_finish(struct lpai_memory *m)
{
    mem_free(m->pool);
    m->pool = NULL;
    m->n = 0;
}

static size_t round_up(size_t n, size_t to)
{
    return (n + to - 1) / to * to;
}

/* ---- TCM ------------------------------------------------------------------------------------------------------------- */

static uint32_t bytes_used(const struct lpai_memory *m)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; i < m->n; i++)
        sum += m->used[i].bytes;
    return sum;
}

/* The pool is registered by the first allocation. */
static enum status register_pool(struct lpai_memory *m)
{
    if (m->pool)
        return ST_OK;
    m->pool = mem_alloc_aligned(POOL_ALIGN, round_up(LPAI_TCM_BYTES, POOL_ALIGN));
    RETURN_IF(!m->pool, ST_NO_MEMORY, "no memory to play the TCM pool of %d bytes", LPAI_TCM_BYTES);
    say(m, QNN_LOG_LEVEL_INFO, "TCM pool current size: %u max_size: %d", bytes_used(m), LPAI_TCM_BYTES);
    return ST_OK;
}

/* Index in used[] where a buffer of that size fits, and its offset. */
static bool find_gap(const struct lpai_memory *m, size_t bytes, uint32_t *index, uint32_t *offset)
{
    uint32_t at = 0;
    for (uint32_t i = 0; i <= m->n; i++) {
        uint32_t end = i < m->n ? m->used[i].offset : LPAI_TCM_BYTES;
        if (at <= end && end - at >= bytes) {
            *index = i;
            *offset = at;
            return true;
        }
        at = i < m->n ? (uint32_t)round_up(m->used[i].offset + m->used[i].bytes, m->start_align) : at;
    }
    return false;
}

static enum status take_tcm(struct lpai_memory *m, size_t bytes, void **ret)
{
    uint32_t index, offset;
    RETURN_IF(m->n == LPAI_TCM_BUFFERS, ST_NO_MEMORY,
              "the TCM pool has all of its %d buffers in use; one more is a fatal error of the system on a device: use "
              "fewer tensors, or set mem_type to "
              "\"ddr\"",
              LPAI_TCM_BUFFERS);
    RETURN_IF(!find_gap(m, bytes, &index, &offset), ST_NO_MEMORY,
              "the TCM pool has %u of %d bytes in use and no %zu in one piece; there is no fallback: make model or tensors "
              "smaller, or set mem_type to "
              "\"ddr\"",
              bytes_used(m), LPAI_TCM_BYTES, bytes);
    memmove(&m->used[index + 1], &m->used[index], (m->n - index) * sizeof(m->used[0]));
    m->used[index].offset = offset;
    m->used[index].bytes = (uint32_t)bytes;
    m->n++;
    *ret = m->pool + offset;
    memset(*ret, 0, bytes);
    return ST_OK;
}

static void *alloc_tcm(struct lpai_memory *m, size_t bytes)
{
    void *p = NULL;
    size_t size = bytes > LPAI_TCM_BYTES ? bytes : round_up(bytes ? bytes : 1, m->size_align);
    if (register_pool(m) != ST_OK || take_tcm(m, size, &p) != ST_OK) {
        say(m, QNN_LOG_LEVEL_ERROR, "TCM memory allocation failure: required size: %zu", size);
        return NULL;
    }
    say(m, QNN_LOG_LEVEL_INFO, "Allocate size %zu from tcm pool 0", size);
    return p;
}

static bool in_pool(const struct lpai_memory *m, const void *p)
{
    return m->pool && (const uint8_t *)p >= m->pool && (const uint8_t *)p < m->pool + LPAI_TCM_BYTES;
}

static void free_tcm(struct lpai_memory *m, const void *p)
{
    uint32_t offset = (uint32_t)((const uint8_t *)p - m->pool), i = 0;
    while (i < m->n && m->used[i].offset != offset)
        i++;
    if (i == m->n)
        return;
    m->n--;
    memmove(&m->used[i], &m->used[i + 1], (m->n - i) * sizeof(m->used[0]));
}

/* ---- both ------------------------------------------------------------------------------------------------------------ */

void *lpai_memory_alloc_ddr(struct lpai_memory *m, size_t bytes)
{
    size_t align = m->start_align > sizeof(void *) ? m->start_align : sizeof(void *);
    void *p = bytes < SIZE_MAX - m->size_align ? mem_alloc_aligned(align, round_up(bytes ? bytes : 1, m->size_align)) : NULL;
    if (!p)
        status_note(ST_NO_MEMORY, "no memory for %zu bytes", bytes);
    return p;
}

void *lpai_memory_alloc(struct lpai_memory *m, size_t bytes)
{
    if (m->type == QNN_LPAI_MEM_TYPE_DDR)
        return lpai_memory_alloc_ddr(m, bytes);
    if (m->type == QNN_LPAI_MEM_TYPE_TCM)
        return alloc_tcm(m, bytes);
    m->log(QNN_LOG_LEVEL_ERROR, "Memory type only supports DDR & TCM");
    status_note(ST_INVALID_CONFIG, "lpai_graph/execute/mem_type names no memory; set it to \"ddr\" or \"tcm\"");
    return NULL;
}

void lpai_memory_free(struct lpai_memory *m, void *memory)
{
    if (in_pool(m, memory))
        free_tcm(m, memory);
    else
        mem_free(memory);
}
