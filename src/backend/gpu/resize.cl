/* SPDX-License-Identifier: Apache-2.0 */
/* Resizing with more than two taps along a dimension: cubic, and linear with antialias. One output element per work item. */

float source_of(const struct gpu_smooth *a, int d, int i)
{
    float n_in = (float)a->in[d], n_out = (float)a->out[d], r = n_in / n_out, x = (float)i;
    switch (a->coord) {
    case COORD_HALF_PIXEL: return (x + 0.5f) * r - 0.5f;
    case COORD_PYTORCH_HALF_PIXEL: return a->out[d] > 1 ? (x + 0.5f) * r - 0.5f : 0.0f;
    case COORD_ALIGN_CORNERS: return a->out[d] > 1 ? x * (n_in - 1.0f) / (n_out - 1.0f) : 0.0f;
    default: return x * r;
    }
}

int inside(float x, int size)
{
    return x > 0.0f ? (x < (float)(size - 1) ? (int)x : size - 1) : 0;
}

/* The four taps of a cubic. */
struct cubic {
    int at[4], n;
    float weight[4];
};

void make_cubic(const struct gpu_smooth *a, int d, int i, struct cubic *s)
{
    s->n = 1;
    s->at[0] = 0;
    s->weight[0] = 1.0f;
    if (d < a->first)
        return;
    float x = source_of(a, d, i), lo = floor(x), t = x - lo, c = a->cubic, u = 1.0f - t, sum = 0.0f;
    s->n = 4;
    s->weight[0] = ((c * (t + 1.0f) - 5.0f * c) * (t + 1.0f) + 8.0f * c) * (t + 1.0f) - 4.0f * c;
    s->weight[1] = ((c + 2.0f) * t - (c + 3.0f)) * t * t + 1.0f;
    s->weight[2] = ((c + 2.0f) * u - (c + 3.0f)) * u * u + 1.0f;
    s->weight[3] = ((c * (u + 1.0f) - 5.0f * c) * (u + 1.0f) + 8.0f * c) * (u + 1.0f) - 4.0f * c;
    for (int k = 0; k < 4; k++) {
        float p = lo - 1.0f + (float)k;
        s->at[k] = inside(p, a->in[d]);
        if (a->exclude_outside && (p < 0.0f || p > (float)(a->in[d] - 1)))
            s->weight[k] = 0.0f;
        sum += s->weight[k];
    }
    for (int k = 0; a->exclude_outside && k < 4; k++)
        s->weight[k] = s->weight[k] / sum;
}

kernel void resize_cubic(struct gpu_smooth a, global const void *x, global void *y)
{
    int i = get_global_id(0);
    if (i >= a.n)
        return;
    int rest = i / a.channels, c = i % a.channels;
    struct cubic s[3];
    for (int d = 2; d >= 0; d--) {
        make_cubic(&a, d, rest % a.out[d], &s[d]);
        rest /= a.out[d];
    }
    float v = 0.0f;
    for (int p = 0; p < s[0].n; p++) {
        float plane = 0.0f;
        for (int q = 0; q < s[1].n; q++) {
            float line = 0.0f;
            int at = ((rest * a.in[0] + s[0].at[p]) * a.in[1] + s[1].at[q]) * a.in[2];
            for (int r = 0; r < s[2].n; r++)
                line += s[2].weight[r] * read_real(a.x_type, x, (at + s[2].at[r]) * a.channels + c);
            plane += s[1].weight[q] * line;
        }
        v += s[0].weight[p] * plane;
    }
    write_real(a.y_type, y, i, v);
}

/* A triangle as wide as the step between output pixels. */
struct triangle {
    int first, n;
    float centre, width, sum;
};

float triangle_weight(const struct triangle *t, int k)
{
    float w = 1.0f - fabs((float)(t->first + k) - t->centre) / t->width;
    return w > 0.0f ? w : 0.0f;
}

void make_triangle(const struct gpu_smooth *a, int d, int i, struct triangle *t)
{
    float n_in = (float)a->in[d], n_out = (float)a->out[d];
    float step = a->coord != COORD_ALIGN_CORNERS ? n_in / n_out : a->out[d] > 1 ? (n_in - 1.0f) / (n_out - 1.0f) : 1.0f;
    t->centre = source_of(a, d, i);
    t->width = step > 1.0f ? step : 1.0f;
    t->first = inside(ceil(t->centre - t->width), a->in[d]);
    t->n = inside(floor(t->centre + t->width), a->in[d]) - t->first + 1;
    t->sum = 0.0f;
    for (int k = 0; k < t->n; k++)
        t->sum += triangle_weight(t, k);
}

kernel void resize_smooth(struct gpu_smooth a, global const void *x, global void *y)
{
    int i = get_global_id(0);
    if (i >= a.n)
        return;
    int c = i % a.channels, ox = i / a.channels % a.out[2], oy = i / a.channels / a.out[2] % a.out[1], image = i / a.channels / a.out[2] / a.out[1];
    struct triangle v, u;
    make_triangle(&a, 1, oy, &v);
    make_triangle(&a, 2, ox, &u);
    float sum = 0.0f;
    for (int p = 0; p < v.n; p++) {
        float line = 0.0f;
        int at = (image * a.in[1] + v.first + p) * a.in[2] + u.first;
        for (int q = 0; q < u.n; q++)
            line += triangle_weight(&u, q) / u.sum * read_real(a.x_type, x, (at + q) * a.channels + c);
        sum += triangle_weight(&v, p) / v.sum * line;
    }
    write_real(a.y_type, y, i, sum);
}
