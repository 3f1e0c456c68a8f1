/* SPDX-License-Identifier: Apache-2.0 */
/* DramToTcm and TcmToDram: bytes from one memory to the other, whatever they mean. */
#ifndef KERNELS_TRANSFER_TRANSFER_H
#define KERNELS_TRANSFER_TRANSFER_H

#include "kernels/kernels.h"

enum { TRANSFER_UNIT = 16384 /* bytes that are one unit of work */ };

struct transfer_args {
    uint64_t bytes;
};

kernel_fn transfer_ref;

#endif
