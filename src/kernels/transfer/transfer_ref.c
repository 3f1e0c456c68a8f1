/* SPDX-License-Identifier: Apache-2.0 */
/* DramToTcm and TcmToDram. */
#include <string.h>

#include "kernels/transfer/transfer.h"

void transfer_ref(const struct kernel_call *call, struct range tile)
{
    const struct transfer_args *a = call->args;
    uint64_t from = (uint64_t)tile.begin * TRANSFER_UNIT, to = (uint64_t)tile.end * TRANSFER_UNIT;
    to = to < a->bytes ? to : a->bytes;
    if (from < to)
        memcpy((uint8_t *)call->data[1] + from, (const uint8_t *)call->data[0] + from, to - from);
}
