/* SPDX-License-Identifier: Apache-2.0 */
/* Stft: the transform of docs/numerics.md section 14, several frames side by side in lanes, so that each lane takes the same
 * steps whatever a vector holds. Included by signal_body.h.
 *
 * Transforms of `len` values, one for each start r < stride = n / len, become transforms of p * len, p a prime: element k of
 * transform r lies at k * stride + r, behind it the lanes. Input of a step is (k * p + j) * (stride / p) + r for its parts
 * j, output (k + q * len) * (stride / p) + r. */

/* Real and imaginary parts, each n elements by a->lanes. */
struct stft_numbers {
    double *re, *im;
};

/* Lengths 2 * len from len; `m`: numbers that are treated alike. */
static void join_pairs(const struct stft_args *a, struct stft_numbers x, struct stft_numbers y, uint32_t len,
                       uint32_t stride)
{
    const uint64_t m = (uint64_t)stride * a->lanes;
    for (uint64_t k = 0; k < len; k++) {
        const double c = a->turns[2 * k * stride], s = a->turns[2 * k * stride + 1];
        const double *restrict ar = x.re + 2 * k * m, *restrict ai = x.im + 2 * k * m, *restrict br = ar + m,
                               *restrict bi = ai + m;
        double *restrict pr = y.re + k * m, *restrict pi = y.im + k * m, *restrict qr = pr + len * m,
                         *restrict qi = pi + len * m;
        for (uint64_t i = 0; i < m; i++) {
            double tr = br[i] * c + bi[i] * s, ti = bi[i] * c - br[i] * s;
            pr[i] = ar[i] + tr;
            pi[i] = ai[i] + ti;
            qr[i] = ar[i] - tr;
            qi[i] = ai[i] - ti;
        }
    }
}

/* y += x times a turn; the first one is only copied. */
static void add_turned(double *restrict yr, double *restrict yi, const double *restrict xr, const double *restrict xi,
                       const double *turn, uint64_t m)
{
    const double c = turn[0], s = turn[1];
    for (uint64_t i = 0; i < m; i++) {
        yr[i] += xr[i] * c + xi[i] * s;
        yi[i] += xi[i] * c - xr[i] * s;
    }
}

static void turn_part(double *xr, double *xi, const double *turn, uint64_t m)
{
    const double c = turn[0], s = turn[1];
    for (uint64_t i = 0; i < m; i++) {
        double re = xr[i] * c + xi[i] * s, im = xi[i] * c - xr[i] * s;
        xr[i] = re;
        xi[i] = im;
    }
}

/* Lengths p * len from len, any p; x is used up. */
static void join_parts(const struct stft_args *a, struct stft_numbers x, struct stft_numbers y, uint32_t len,
                       uint32_t stride, uint32_t p)
{
    const uint64_t m = (uint64_t)stride * a->lanes;
    for (uint64_t k = 0; k < len; k++) {
        double *xr = x.re + k * p * m, *xi = x.im + k * p * m;
        for (uint64_t j = 1; j < p; j++)
            turn_part(xr + j * m, xi + j * m, a->turns + 2 * (j * k * stride), m);
        for (uint64_t q = 0; q < p; q++) {
            double *yr = y.re + (k + q * len) * m, *yi = y.im + (k + q * len) * m;
            memcpy(yr, xr, m * sizeof(double));
            memcpy(yi, xi, m * sizeof(double));
            for (uint64_t j = 1; j < p; j++)
                add_turned(yr, yi, xr + j * m, xi + j * m, a->turns + 2 * (j * q % p * (a->length / p)), m);
        }
    }
}

/* Sums of all lengths, from the largest prime to the smallest; returns where they are. */
static struct stft_numbers transform(const struct stft_args *a, struct stft_numbers x, struct stft_numbers y)
{
    uint32_t len = 1, stride = a->length;
    for (uint32_t i = 0; i < a->n_primes; i++) {
        const uint32_t p = a->primes[i];
        stride /= p;
        if (p == 2)
            join_pairs(a, x, y, len, stride);
        else
            join_parts(a, x, y, len, stride, p);
        len *= p;
        struct stft_numbers t = x;
        x = y;
        y = t;
    }
    return x;
}

/* One lane. The imaginary part is zero, but nothing about a frame with an infinity is finite. */
static void load_frame(const struct kernel_call *call, const struct stft_args *a, uint64_t unit, const double *window,
                       float *v, struct stft_numbers x)
{
    const uint32_t n = a->length;
    load_row(&a->src, call->data[0], unit / a->frames * a->samples + unit % a->frames * a->step, n, v);
    for (uint64_t i = 0; i < n; i++) {
        const double y = a->windowed ? (double)v[i] * window[i] : (double)v[i];
        x.re[i * a->lanes] = y;
        x.im[i * a->lanes] = y - y;
    }
}

void K(stft)(const struct kernel_call *call, struct range tile)
{
    struct stft_args own = *(const struct stft_args *)call->args;
    const struct stft_args *a = &own;
    const uint64_t n = a->length, all = n * a->lanes;
    double *work = call->work, *window = work + 4 * all;
    float *v = (float *)(window + n);
    if (!own.turns) {
        stft_turns((double *)(v + 2 * n), a->length);
        own.turns = (double *)(v + 2 * n);
    }
    if (a->windowed) {
        load_row(&a->window, call->data[1], 0, a->length, v);
        for (uint64_t i = 0; i < n; i++)
            window[i] = (double)v[i];
    }
    for (uint64_t unit = tile.begin; unit < tile.end; unit += a->lanes) {
        const uint64_t left = tile.end - unit, some = left < a->lanes ? left : a->lanes;
        struct stft_numbers x = { work, work + all }, y = { work + 2 * all, work + 3 * all };
        memset(work, 0, 2 * all * sizeof(double));
        for (uint64_t i = 0; i < some; i++)
            load_frame(call, a, unit + i, window, v, (struct stft_numbers){ x.re + i, x.im + i });
        x = transform(a, x, y);
        for (uint64_t i = 0; i < some; i++) {
            for (uint64_t k = 0; k < a->bins; k++) {
                v[2 * k] = (float)x.re[k * a->lanes + i];
                v[2 * k + 1] = (float)x.im[k * a->lanes + i];
            }
            K(span_store)(&a->dst, call->data[a->n_in], (int64_t)((unit + i) * a->bins * 2), 1, 2 * a->bins, v);
        }
    }
}
