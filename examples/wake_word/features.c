/* SPDX-License-Identifier: Apache-2.0 */
#include "features.h"

#include <math.h>

static double mel_to_hertz(double mel)
{
    return 700 * (pow(10, mel / 2595) - 1);
}

static double hertz_to_mel(double hertz)
{
    return 2595 * log10(1 + hertz / 700);
}

/* Triangles between 100 and 7000 Hz, equally far apart on the mel scale. */
static void init_filters(struct features *f)
{
    const double low = hertz_to_mel(100), step = (hertz_to_mel(7000) - low) / (FEATURE_BANDS + 1);
    for (int b = 0; b < FEATURE_BANDS; b++) {
        double from = mel_to_hertz(low + b * step), top = mel_to_hertz(low + (b + 1) * step),
               to = mel_to_hertz(low + (b + 2) * step);
        for (int i = 0; i < FEATURE_BINS; i++) {
            double hertz = (double)i * FEATURE_RATE / FEATURE_WINDOW;
            f->filter[b][i] = (float)fmax(0, fmin((hertz - from) / (top - from), (to - hertz) / (to - top)));
        }
    }
}

void features_init(struct features *f)
{
    const double turn = 2 * 3.14159265358979323846;
    for (int i = 0; i < FEATURE_WINDOW; i++)
        f->window[i] = (float)(0.5 - 0.5 * cos(turn * i / FEATURE_WINDOW));
    for (int k = 0; k < FEATURE_WINDOW / 2; k++) {
        f->twiddle[2 * k] = (float)cos(turn * k / FEATURE_WINDOW);
        f->twiddle[2 * k + 1] = (float)-sin(turn * k / FEATURE_WINDOW);
    }
    init_filters(f);
}

/* Radix 2, in place; input in bit-reversed order. */
static void transform(const struct features *f, float *re, float *im)
{
    for (int half = 1; half < FEATURE_WINDOW; half *= 2)
        for (int start = 0; start < FEATURE_WINDOW; start += 2 * half)
            for (int k = 0; k < half; k++) {
                const float *w = &f->twiddle[2 * k * (FEATURE_WINDOW / 2 / half)];
                int a = start + k, b = a + half;
                float br = re[b] * w[0] - im[b] * w[1], bi = re[b] * w[1] + im[b] * w[0];
                re[b] = re[a] - br, im[b] = im[a] - bi;
                re[a] += br, im[a] += bi;
            }
}

static int reversed(int i)
{
    int r = 0;
    for (int bit = 1; bit < FEATURE_WINDOW; bit *= 2, i >>= 1)
        r = 2 * r | (i & 1);
    return r;
}

void features_of(const struct features *f, const int16_t *samples, uint8_t *out)
{
    float re[FEATURE_WINDOW], im[FEATURE_WINDOW] = { 0 };
    for (int i = 0; i < FEATURE_WINDOW; i++)
        re[reversed(i)] = (float)samples[i] / 32768 * f->window[i];
    transform(f, re, im);
    for (int b = 0; b < FEATURE_BANDS; b++) {
        float energy = 0;
        for (int i = 0; i < FEATURE_BINS; i++)
            energy += f->filter[b][i] * (re[i] * re[i] + im[i] * im[i]);
        float steps = rintf((log2f(energy + 1e-4f) + 14) * 8);
        out[b] = (uint8_t)fminf(fmaxf(steps, 0), 255);
    }
}
