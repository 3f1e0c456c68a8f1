/* SPDX-License-Identifier: Apache-2.0 */
/* If. */
#include <string.h>

#include "kernels/branch/branch.h"

void branch_ref(const struct kernel_call *call, struct range tile)
{
    const struct branch_args *a = call->args;
    bool yes = *(const uint8_t *)call->data[0] != 0;
    uint64_t from = (uint64_t)tile.begin * BRANCH_UNIT, to = (uint64_t)tile.end * BRANCH_UNIT;
    for (uint32_t i = 0; i < a->n_out; i++) {
        const uint8_t *src = call->data[1 + (yes ? 0 : a->n_out) + i];
        uint64_t end = to < a->bytes[i] ? to : a->bytes[i];
        if (from < end)
            memcpy((uint8_t *)call->data[1 + 2 * a->n_out + i] + from, src + from, end - from);
    }
}
