/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of bytes as tables, with VBMI. */
#include "kernels/byte_table_avx512.h"
#include "kernels/families.h"
#include "kernels/unary/unary.h"

VBMI void unary_bytes_avx512(const struct kernel_call *call, struct range tile)
{
    const struct unary_args *a = call->args;
    uint64_t at = tile.begin * a->unit, end = tile.end * a->unit;
    end = end < a->total ? end : a->total;
    if (at < end)
        byte_table_run(a->table, (const uint8_t *)call->data[0] + at, (uint8_t *)call->data[1] + at, end - at);
}
