/* SPDX-License-Identifier: Apache-2.0 */
/* Lifetimes for operators that run side by side (plan_beside.c). Private to prepare/. */
#ifndef PREPARE_PLAN_BESIDE_H
#define PREPARE_PLAN_BESIDE_H

#include "prepare/cx.h"

enum { PLAN_BESIDE = 31, PLAN_BESIDE_MASK = 0x7fffffff }; /* steps that exec looks ahead (EXEC_WINDOW), and so many bits */

/* last: per block, the last node that uses it; becomes the last one during which it should not be used for anything else, at
 * most `near` steps later. */
enum status plan_beside(struct prepare_cx *cx, const uint32_t *block_of, uint32_t n_blocks, uint32_t near, uint32_t *last);

#endif
