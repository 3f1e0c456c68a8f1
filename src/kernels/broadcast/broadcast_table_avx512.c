/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes beside a constant number, as a table, with VBMI. */
#include "kernels/broadcast/broadcast.h"
#include "kernels/byte_table_avx512.h"

VBMI void broadcast_table_avx512(const struct kernel_call *call, struct range tile)
{
    const struct broadcast_args *a = call->args;
    uint64_t at = tile.begin * a->unit, end = tile.end * a->unit;
    end = end < a->total ? end : a->total;
    if (at < end)
        byte_table_run(a->table, (const uint8_t *)call->data[a->varies] + at, (uint8_t *)call->data[a->n_in] + at, end - at);
}
