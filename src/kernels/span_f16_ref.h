/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of f16 for span_body.h, in plain C. */
#ifndef KERNELS_SPAN_F16_REF_H
#define KERNELS_SPAN_F16_REF_H

#include "kernels/kernel_util.h"

static inline void f16_row_load(const uint16_t *p, uint32_t n, float *dst)
{
    for (uint32_t i = 0; i < n; i++)
        dst[i] = ku_f16_to_f32(p[i]);
}

static inline void f16_row_store(uint16_t *p, uint32_t n, const float *src)
{
    for (uint32_t i = 0; i < n; i++)
        p[i] = ku_f32_to_f16(src[i]);
}

#endif
