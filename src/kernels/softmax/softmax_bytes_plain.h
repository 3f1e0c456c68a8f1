/* SPDX-License-Identifier: Apache-2.0 */
/* Looking up the bytes of a run, one by one (softmax_bytes_body.h). */
#include "kernels/softmax/softmax.h"

static void tables_made(struct softmax_bytes *t)
{
    (void)t;
}

static float sum_of(const struct softmax_bytes *t, const uint8_t *x, uint32_t all, uint8_t flip)
{
    float lanes[16] = {0}, buf[SPAN];
    for (uint32_t at = 0, n; at < all; at += n) {
        n = all - at < SPAN ? all - at : SPAN;
        for (uint32_t i = 0; i < n; i++)
            buf[i] = t->e[x[at + i] ^ flip];
        K(span_lanes)(lanes, buf, n);
    }
    return span_lanes_end(lanes);
}

static void look_up(const uint8_t result[256], const uint8_t *x, uint32_t n, uint8_t flip, uint8_t *out)
{
    for (uint32_t i = 0; i < n; i++)
        out[i] = result[x[i] ^ flip];
}
