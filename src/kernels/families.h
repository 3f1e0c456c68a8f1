/* SPDX-License-Identifier: Apache-2.0 */
/* What the bind files of all families share. Private to kernels/. */
#ifndef KERNELS_FAMILIES_H
#define KERNELS_FAMILIES_H

#include "kernels/kernels.h"
#include "kernels/span.h"

/* A line of a <family>.def: level, function, test. */
#define KERNEL_VARIANT(level, fn, test) {#fn, ISA_##level, fn, test},

/* Parallel work of element-wise kernels: spans of the output. */
static inline void kernel_spans(struct kernel_bound *ret, uint64_t elements)
{
    uint64_t spans = (elements + SPAN - 1) / SPAN;
    ret->extent = spans < 1 ? 1 : spans > UINT32_MAX ? UINT32_MAX : (uint32_t)spans;
    ret->grain = 8;
    ret->macs = elements;
}

/* Lines that are worth a unit each: then threads get the lines that they get of products before and behind. Never more units
 * than there would be spans: binaries that were made for those run on. */
static inline bool kernel_suit_lines(const struct op_lines *lines)
{
    return lines->n >= 8 && lines->elements >= SPAN;
}

/* Element-wise kernels: a unit is `*unit` elements, SPAN or a line of the result. */
static inline void kernel_lines_or_spans(const struct op_call *c, struct kernel_bound *ret, uint64_t *unit)
{
    struct op_lines lines;
    kernel_spans(ret, desc_count(c->out[0]));
    *unit = SPAN;
    ret->run_units = 1;
    ret->run_elements = SPAN;
    if (!op_by_lines(c) || !desc_lines(c->out[0], &lines) || !(c->by_lines || kernel_suit_lines(&lines)))
        return;
    *unit = ret->run_elements = lines.elements;
    ret->grain = c->by_lines || lines.elements > SPAN * (uint64_t)ret->grain
                     ? 1
                     : (uint32_t)(SPAN * (uint64_t)ret->grain / lines.elements);
    ret->extent = lines.n;
    ret->by_lines = c->by_lines;
}

/* Kernels of `all` runs that may be asked for lines: how many runs a unit has, one or those of a line. */
static inline uint64_t kernel_line_runs(const struct op_call *c, uint64_t all, struct kernel_bound *ret)
{
    struct op_lines lines;
    if (!c->by_lines || !all || !op_by_lines(c) || !desc_lines(c->out[0], &lines) || all % lines.n)
        return 1;
    ret->extent = lines.n;
    ret->grain = 1;
    ret->by_lines = true;
    return all / lines.n;
}

/* Parallel work of kernels that go unit by unit (rows, runs, images), each of `cost` element operations. */
static inline void kernel_units(struct kernel_bound *ret, uint64_t units, uint64_t cost)
{
    uint64_t grain = cost ? 16384 / cost : 16384;
    ret->extent = units < 1 ? 1 : units > UINT32_MAX ? UINT32_MAX : (uint32_t)units;
    ret->grain = grain < 1 ? 1 : (uint32_t)grain;
    ret->macs = units * (cost ? cost : 1);
}

#endif
