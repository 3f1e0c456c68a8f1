/* SPDX-License-Identifier: Apache-2.0 */
/* From sound to what the network hears: 24 logarithms of band energies for every 20 ms. The same numbers as features() of
 * speech.py. */
#ifndef FEATURES_H
#define FEATURES_H

#include <stdint.h>

enum {
    FEATURE_RATE = 16000,
    FEATURE_WINDOW = 512,
    FEATURE_HOP = 320,
    FEATURE_BANDS = 24,
    FEATURE_BINS = FEATURE_WINDOW / 2 + 1
};

struct features {
    float window[FEATURE_WINDOW];
    float twiddle[FEATURE_WINDOW]; /* cos and sin of k / WINDOW turns, k < WINDOW / 2 */
    float filter[FEATURE_BANDS][FEATURE_BINS];
};

void features_init(struct features *f);
/* samples: FEATURE_WINDOW of them. out: FEATURE_BANDS bytes. */
void features_of(const struct features *f, const int16_t *samples, uint8_t *out);

#endif
