/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of products on CPUs: a work item is a group of its own and computes ROWS rows and two vectors of columns, whose sums stay in registers. There is
 * no local memory and no barrier. One of the blocks_*.cl stands in front of this and says how wide vectors are.
 *
 * The right operand of `blocks` lies in panels of GPU_PANEL columns (gpu_pack.c), so that every step reads the next vectors of it. */
#define COLS (2 * VEC)
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define V JOIN(float, VEC)
#define STAGE 64 /* products of one stage of blocks_any */
#define STRIP 4  /* blocks of rows that share one stage of the right operand */

#if STORAGE == 0
#define VLOAD(p) JOIN(vload, VEC)(0, (p))
#define VSTORE(v, p) JOIN(vstore, VEC)((v), 0, (p))
#else
#define VLOAD(p) JOIN(vload_half, VEC)(0, (p))
#define VSTORE(v, p) JOIN(JOIN(vstore_half, VEC), _rte)((v), 0, (p))
#endif

/* What is said of row r is said of every row, with r a constant: sums must be registers before a compiler thinks about loops. */
#if ROWS == 8
#define EACH_ROW(SAY) SAY(0) SAY(1) SAY(2) SAY(3) SAY(4) SAY(5) SAY(6) SAY(7)
#else
#define EACH_ROW(SAY) SAY(0) SAY(1) SAY(2) SAY(3) SAY(4) SAY(5)
#endif
#define CLEAR(r) sum[r][0] = sum[r][1] = (V)(0.0f);

/* ---- sums in registers ------------------------------------------------------------------------------------------------------------ */

/* Products of the left operand in memory, as it is stored. */
INLINE void multiply_lines(global const float *const at[ROWS], int n, global const float *w, V sum[ROWS][2])
{
#define MULTIPLY(r) left = (V)(at[r][k]), sum[r][0] = fma(left, w0, sum[r][0]), sum[r][1] = fma(left, w1, sum[r][1]);
    for (int k = 0; k < n; k++) {
        V w0 = JOIN(vload, VEC)(0, w + k * GPU_PANEL), w1 = JOIN(vload, VEC)(1, w + k * GPU_PANEL), left;
        EACH_ROW(MULTIPLY)
    }
#undef MULTIPLY
}

/* A line of `some` elements as floats. */
INLINE void stage(global const T *at, bool inside, int some, float left[VEC])
{
    JOIN(vstore, VEC)((V)(0.0f), 0, left);
    if (inside && some == VEC)
        JOIN(vstore, VEC)(VLOAD(at), 0, left);
    else if (inside)
        for (int k = 0; k < some; k++)
            left[k] = LOAD(at, k);
}

/* The same where rows may lie outside of the image, and for halfs: the left operand becomes floats first. */
INLINE void multiply_staged(global const T *const at[ROWS], const bool inside[ROWS], int n, global const T *w, V sum[ROWS][2])
{
#define STAGE_ROW(r) stage(at[r] + k0, inside[r], some, left[r]);
#define MULTIPLY(r) sum[r][0] = fma((V)(left[r][k]), w0, sum[r][0]), sum[r][1] = fma((V)(left[r][k]), w1, sum[r][1]);
    for (int k0 = 0; k0 < n; k0 += VEC) {
        float left[ROWS][VEC];
        int some = min(VEC, n - k0);
        EACH_ROW(STAGE_ROW)
        for (int k = 0; k < some; k++) {
            V w0 = VLOAD(w + (k0 + k) * GPU_PANEL), w1 = VLOAD(w + (k0 + k) * GPU_PANEL + VEC);
            EACH_ROW(MULTIPLY)
        }
    }
#undef MULTIPLY
#undef STAGE_ROW
}

INLINE void multiply(global const T *const at[ROWS], const bool inside[ROWS], int n, global const T *w, V sum[ROWS][2])
{
#if STORAGE == 0
#define ALL(r) && inside[r]
    if (true EACH_ROW(ALL)) {
        multiply_lines(at, n, w, sum);
        return;
    }
#undef ALL
#endif
    multiply_staged(at, inside, n, w, sum);
}

/* ---- what happens to a sum -------------------------------------------------------------------------------------------------------- */

/* A vector of columns from `col` on, of which `some` are there, goes to y[at]. */
INLINE void finish(const struct gpu_end *e, V v, int some, int col, int at, global const T *bias, global const T *more, global T *y)
{
    if (some >= VEC) {
        v += e->bias ? VLOAD(bias + col) : (V)(0.0f);
        v = v < (V)(e->lo) ? (V)(e->lo) : v;
        v = v > (V)(e->hi) ? (V)(e->hi) : v;
        if (e->more) {
            v += VLOAD(more + at);
            v = v < (V)(e->more_lo) ? (V)(e->more_lo) : v;
            v = v > (V)(e->more_hi) ? (V)(e->more_hi) : v;
        }
        VSTORE(v, y + at);
        return;
    }
    float line[VEC];
    JOIN(vstore, VEC)(v, 0, line);
    for (int c = 0; c < some; c++)
        STORE(y, at + c, ended(e, line[c], e->bias ? LOAD(bias, col + c) : 0.0f, e->more ? LOAD(more, at + c) : 0.0f));
}

kernel void blocks(struct gpu_conv a, global const T *x, global const T *w, global const T *bias, global const T *more, global T *y)
{
    int n_rows = (a.rows + ROWS - 1) / ROWS, n_cols = (a.cols + COLS - 1) / COLS, panels = (a.cols + GPU_PANEL - 1) / GPU_PANEL;
    int id = get_global_id(0), row0 = id % n_rows * ROWS, group = id / n_rows / n_cols, col0 = id / n_rows % n_cols * COLS;
    int at_y[ROWS], at_x[ROWS], image[ROWS];
    bool lines = a.dilation_w == 1 && a.group_in == a.in_c; /* taps beside each other are one line of the input */
    V sum[ROWS][2];
    if (group >= a.groups)
        return;
    /* A row too many is computed twice and stored once. */
#define FIND(r)                                                                                          \
    {                                                                                                    \
        int row = min(row0 + r, a.rows - 1);                                                             \
        at_y[r] = row / a.out_w % a.out_h * a.stride_h - a.pad_h;                                        \
        at_x[r] = row % a.out_w * a.stride_w - a.pad_w;                                                  \
        image[r] = row / a.out_w / a.out_h * a.in_h;                                                     \
        lines = lines && at_x[r] >= 0 && at_x[r] + a.k_w <= a.in_w;                                      \
    }
    EACH_ROW(FIND)
    EACH_ROW(CLEAR)
    w += (group * panels + col0 / GPU_PANEL) * a.depth * GPU_PANEL + col0 % GPU_PANEL;
    int taps = lines ? 1 : a.k_w, n = a.depth / a.k_h / taps;
    for (int ty = 0; ty < a.k_h; ty++)
        for (int tx = 0; tx < taps; tx++) {
            global const T *at[ROWS];
            bool inside[ROWS];
#define PLACE(r)                                                                                                              \
    {                                                                                                                         \
        int iy = at_y[r] + ty * a.dilation_h, ix = at_x[r] + tx * a.dilation_w;                                               \
        inside[r] = iy >= 0 && iy < a.in_h && ix >= 0 && ix < a.in_w;                                                         \
        at[r] = x + (inside[r] ? ((image[r] + iy) * a.in_w + ix) * a.in_c + group * a.group_in : 0);                          \
    }
#define ANY(r) || inside[r]
            EACH_ROW(PLACE)
            if (false EACH_ROW(ANY))
                multiply(at, inside, n, w, sum);
            w += n * GPU_PANEL;
        }
    int col = group * a.cols + col0;
#define END(r)                                                                                                                 \
    if (row0 + r < a.rows) {                                                                                                   \
        finish(&a.end, sum[r][0], a.cols - col0, col, (row0 + r) * a.out_c + col, bias, more, y);                              \
        finish(&a.end, sum[r][1], a.cols - col0 - VEC, col + VEC, (row0 + r) * a.out_c + col + VEC, bias, more, y);            \
    }
    EACH_ROW(END)
}

/* ---- operands that lie in any way ------------------------------------------------------------------------------------------------- */

/* STAGE products of the right operand's columns, as floats, zero where there is none. */
INLINE void stage_right(const struct gpu_matmul *a, global const T *w, int k0, int col0, float right[STAGE][COLS])
{
    int some = min(STAGE, a->depth - k0);
    for (int k = 0; k < some; k++)
        if (a->b_col == 1 && col0 + COLS <= a->cols) {
            JOIN(vstore, VEC)(VLOAD(w + (k0 + k) * a->b_k + col0), 0, right[k]);
            JOIN(vstore, VEC)(VLOAD(w + (k0 + k) * a->b_k + col0 + VEC), 1, right[k]);
        } else
            for (int c = 0; c < COLS; c++)
                right[k][c] = col0 + c < a->cols ? LOAD(w, (k0 + k) * a->b_k + (col0 + c) * a->b_col) : 0.0f;
}

/* Products of one stage for ROWS rows, whose sums so far are in memory. */
INLINE void multiply_stage(float left[ROWS][STAGE], float right[STAGE][COLS], int n, float sums[ROWS][COLS])
{
    V sum[ROWS][2];
#define FETCH(r) sum[r][0] = JOIN(vload, VEC)(0, sums[r]), sum[r][1] = JOIN(vload, VEC)(1, sums[r]);
#define MULTIPLY(r) sum[r][0] = fma((V)(left[r][k]), w0, sum[r][0]), sum[r][1] = fma((V)(left[r][k]), w1, sum[r][1]);
#define KEEP(r) JOIN(vstore, VEC)(sum[r][0], 0, sums[r]), JOIN(vstore, VEC)(sum[r][1], 1, sums[r]);
    EACH_ROW(FETCH)
    for (int k = 0; k < n; k++) {
        V w0 = JOIN(vload, VEC)(0, right[k]), w1 = JOIN(vload, VEC)(1, right[k]);
        EACH_ROW(MULTIPLY)
    }
    EACH_ROW(KEEP)
}

kernel void blocks_any(struct gpu_matmul a, global const T *x, global const T *w, global const T *bias, global const T *more, global T *y)
{
    int n_rows = (a.rows + ROWS * STRIP - 1) / (ROWS * STRIP), n_cols = (a.cols + COLS - 1) / COLS;
    int id = get_global_id(0), row0 = id % n_rows * ROWS * STRIP, col0 = id / n_rows % n_cols * COLS, slice = id / n_rows / n_cols;
    float sums[STRIP * ROWS][COLS], right[STAGE][COLS], left[ROWS][STAGE];
    if (slice >= a.slices)
        return;
    x += view_at(slice, a.rank, a.dims, a.a);
    w += view_at(slice, a.rank, a.dims, a.b);
    for (int r = 0; r < STRIP * ROWS; r++) {
        JOIN(vstore, VEC)((V)(0.0f), 0, sums[r]);
        JOIN(vstore, VEC)((V)(0.0f), 1, sums[r]);
    }
    for (int k0 = 0; k0 < a.depth; k0 += STAGE) {
        int some = min(STAGE, a.depth - k0);
        stage_right(&a, w, k0, col0, right);
        for (int s = 0; s < STRIP && row0 + s * ROWS < a.rows; s++) {
            for (int r = 0; r < ROWS; r++)
                for (int k = 0, row = min(row0 + s * ROWS + r, a.rows - 1); k < some; k++)
                    left[r][k] = LOAD(x, row * a.a_row + (k0 + k) * a.a_k);
            multiply_stage(left, right, some, &sums[s * ROWS]);
        }
    }
    for (int r = 0; r < STRIP * ROWS && row0 + r < a.rows; r++) {
        int at = (slice * a.rows + row0 + r) * a.cols + col0;
        finish(&a.end, JOIN(vload, VEC)(0, sums[r]), a.cols - col0, col0, at, bias, more, y);
        finish(&a.end, JOIN(vload, VEC)(1, sums[r]), a.cols - col0 - VEC, col0 + VEC, at + VEC, bias, more, y);
    }
}
