/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of products on GPUs. A group computes a tile of TILE_M rows and TILE_N columns, each work item ITEM_M by ITEM_N of it in registers:
 *
 *     read a step of both operands from global memory    (the next one, while this one is multiplied)
 *     multiply what is in local memory
 *     put the next step into the other half of local memory, barrier
 *
 * Barriers stand in loops that all work items of a group run equally often. With several TEAMS, each takes every TEAMS-th step, and their sums are added at the end.
 * One of the tiles_*.cl stands in front of this. */
#if defined(__x86_64__) || defined(__aarch64__)
#define UNROLL 1                                 /* tests run this on CPUs, whose compilers take long otherwise */
#else
#define UNROLL STEP
#endif
#define QUADS (STEP / 4)                         /* four products of a row are read at once */
#define ITEMS_N (TILE_N / ITEM_N)
#define TEAM (TILE_M / ITEM_M * ITEMS_N)         /* work items of a team */
#define LEFT_LINE (TILE_M + 4)                   /* neighbours in a column of the left operand are in different banks */
#define PART_M (TILE_M / (ITEM_M / 4))           /* a work item's rows come in fours, this far apart; so do its columns */
#define PART_N (TILE_N / (ITEM_N / 4))
#define READS_M (TILE_M * QUADS / TEAM)          /* fours that a work item reads per step */
#define READS_N (STEP * TILE_N / 4 / TEAM)

/* One step of a team in local memory; the left operand lies by columns. */
/* add_teams uses the same memory: TEAMS / 2 times what a team computes fits into TEAMS of these. */
struct tile {
    float4 left[2][STEP * LEFT_LINE / 4]; /* fours, so that they lie where fours can be read */
    float4 right[2][STEP * TILE_N / 4];
};

/* Four elements that lie at a multiple of four. */
INLINE float4 load_four(global const T *p)
{
#if STORAGE == 0
    return *(global const float4 *)p;
#else
    uint2 bits = *(global const uint2 *)p;
    return vload_half4(0, (const half *)&bits);
#endif
}

INLINE void store_four(global T *p, float4 v)
{
#if STORAGE == 0
    *(global float4 *)p = v;
#else
    uint2 bits;
    vstore_half4_rte(v, 0, (half *)&bits);
    *(global uint2 *)p = bits;
#endif
}

/* ---- a step ------------------------------------------------------------------------------------------------------------------------ */

INLINE void put(local float *left, local float *right, int item, const float4 m[READS_M], const float4 n[READS_N])
{
    #pragma unroll
    for (int j = 0; j < READS_M; j++) {
        local float *to = left + item % QUADS * 4 * LEFT_LINE + item / QUADS + j * (TEAM / QUADS);
        to[0] = m[j].x;
        to[LEFT_LINE] = m[j].y;
        to[2 * LEFT_LINE] = m[j].z;
        to[3 * LEFT_LINE] = m[j].w;
    }
    #pragma unroll
    for (int j = 0; j < READS_N; j++) {
        int q = item + j * TEAM, panel = q / (GPU_PANEL / 4 * STEP), k = q / (GPU_PANEL / 4) % STEP, c = q % (GPU_PANEL / 4) * 4;
        *(local float4 *)(right + k * TILE_N + panel * GPU_PANEL + c) = n[j];
    }
}

INLINE void multiply(local const float *left, local const float *right, int row, int col, float4 sum[ITEM_M][ITEM_N / 4])
{
    #pragma unroll UNROLL
    for (int k = 0; k < STEP; k++) {
        float4 m[ITEM_M / 4], n[ITEM_N / 4];
        #pragma unroll
        for (int i = 0; i < ITEM_M / 4; i++)
            m[i] = *(local const float4 *)(left + k * LEFT_LINE + row + i * PART_M);
        #pragma unroll
        for (int j = 0; j < ITEM_N / 4; j++)
            n[j] = *(local const float4 *)(right + k * TILE_N + col + j * PART_N);
        #pragma unroll
        for (int i = 0; i < ITEM_M / 4; i++)
            #pragma unroll
            for (int j = 0; j < ITEM_N / 4; j++) {
                sum[4 * i][j] = fma((float4)(m[i].x), n[j], sum[4 * i][j]);
                sum[4 * i + 1][j] = fma((float4)(m[i].y), n[j], sum[4 * i + 1][j]);
                sum[4 * i + 2][j] = fma((float4)(m[i].z), n[j], sum[4 * i + 2][j]);
                sum[4 * i + 3][j] = fma((float4)(m[i].w), n[j], sum[4 * i + 3][j]);
            }
    }
}

/* ---- the end ----------------------------------------------------------------------------------------------------------------------- */

/* The sums of all teams in those of the first: half of them hand theirs to the others until one is left. Nobody reads the steps any more: the last thing before this
 * was a barrier. */
INLINE void add_teams(local float4 *room, int team, int item, float4 sum[ITEM_M][ITEM_N / 4])
{
    for (int stay = TEAMS / 2; stay > 0; stay /= 2) {
        #pragma unroll
        for (int i = 0; i < ITEM_M * ITEM_N / 4; i++)
            if (team >= stay && team < 2 * stay)
                room[((team - stay) * ITEM_M * ITEM_N / 4 + i) * TEAM + item] = sum[i / (ITEM_N / 4)][i % (ITEM_N / 4)];
        barrier(CLK_LOCAL_MEM_FENCE);
        #pragma unroll
        for (int i = 0; i < ITEM_M * ITEM_N / 4; i++)
            if (team < stay)
                sum[i / (ITEM_N / 4)][i % (ITEM_N / 4)] += room[(team * ITEM_M * ITEM_N / 4 + i) * TEAM + item];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

/* Four columns from `col` on, of which `some` are there, go to y[at]. */
INLINE void finish(const struct gpu_end *e, float4 v, int some, bool aligned, int col, int at, global const T *bias, global const T *more, global T *y)
{
    if (aligned && some >= 4) {
        v += e->bias ? load_four(bias + col) : (float4)(0.0f);
        v = v < (float4)(e->lo) ? (float4)(e->lo) : v;
        v = v > (float4)(e->hi) ? (float4)(e->hi) : v;
        if (e->more) {
            v += load_four(more + at);
            v = v < (float4)(e->more_lo) ? (float4)(e->more_lo) : v;
            v = v > (float4)(e->more_hi) ? (float4)(e->more_hi) : v;
        }
        store_four(y + at, v);
        return;
    }
    float line[4] = {v.x, v.y, v.z, v.w};
    #pragma unroll
    for (int c = 0; c < 4; c++)
        if (c < some)
            STORE(y, at + c, ended(e, line[c], e->bias ? LOAD(bias, col + c) : 0.0f, e->more ? LOAD(more, at + c) : 0.0f));
}

/* ---- packed weights ---------------------------------------------------------------------------------------------------------------- */

/* Where the left operand of a convolution is. Taps beside each other are one line of the input where they can be, otherwise every tap is a line. */
struct place {
    int at_y[READS_M], at_x[READS_M], image[READS_M]; /* the window of each row that this work item reads */
    int line, taps;                                    /* elements of a line, lines of a filter's row */
    int tap, rest;                                     /* the line and the element in it that are read next */
};

INLINE void place_begin(const struct gpu_conv *a, int row0, int item, int k, struct place *p)
{
    bool joined = a->dilation_w == 1 && a->group_in == a->in_c;
    p->line = joined ? a->k_w * a->in_c : a->group_in;
    p->taps = joined ? 1 : a->k_w;
    p->tap = k / p->line;
    p->rest = k % p->line;
    #pragma unroll
    for (int j = 0; j < READS_M; j++) {
        int r = row0 + item / QUADS + j * (TEAM / QUADS);
        p->at_y[j] = r < a->rows ? r / a->out_w % a->out_h * a->stride_h - a->pad_h : -1 - a->k_h * a->dilation_h; /* outside, whatever the tap */
        p->at_x[j] = r % a->out_w * a->stride_w - a->pad_w;
        p->image[j] = r / a->out_w / a->out_h * a->in_h;
    }
}

INLINE void place_next(struct place *p)
{
    p->rest += STEP * TEAMS;
    while (p->rest >= p->line) {
        p->rest -= p->line;
        p->tap++;
    }
}

/* Where element `rest` of line `tap` is for row j; -1: outside. */
INLINE int place_at(const struct gpu_conv *a, const struct place *p, int j, int tap, int rest, int channel0)
{
    int ty = p->taps == 1 ? tap : tap / p->taps, tx = p->taps == 1 ? 0 : tap - ty * p->taps;
    int iy = p->at_y[j] + ty * a->dilation_h;
    int x = p->taps == 1 ? p->at_x[j] * a->in_c + rest : (p->at_x[j] + tx * a->dilation_w) * a->in_c;
    bool inside = ty < a->k_h && iy >= 0 && iy < a->in_h && x >= 0 && x < a->in_w * a->in_c;
    return inside ? (p->image[j] + iy) * a->in_w * a->in_c + x + (p->taps == 1 ? 0 : channel0 + rest) : -1;
}

INLINE float4 read_left(const struct gpu_conv *a, const struct place *p, int j, int channel0, bool wide, global const T *x)
{
    float four[4];
    if (wide) {
        int at = place_at(a, p, j, p->tap, p->rest, channel0);
        return at >= 0 ? load_four(x + at) : (float4)(0.0f);
    }
    #pragma unroll
    for (int e = 0; e < 4; e++) {
        int rest = p->rest + e, tap = p->tap;
        while (rest >= p->line) {
            rest -= p->line;
            tap++;
        }
        int at = place_at(a, p, j, tap, rest, channel0);
        four[e] = at >= 0 ? LOAD(x, at) : 0.0f;
    }
    return (float4)(four[0], four[1], four[2], four[3]);
}

kernel __attribute__((reqd_work_group_size(TEAM * TEAMS, 1, 1)))
void tiles(struct gpu_conv a, global const T *x, global const T *w, global const T *bias, global const T *more, global T *y)
{
    local struct tile shared[TEAMS];
    int n_cols = (a.cols + TILE_N - 1) / TILE_N, n_rows = (a.rows + TILE_M - 1) / TILE_M, panels = (a.cols + GPU_PANEL - 1) / GPU_PANEL;
    int id = get_group_id(0), row0 = id / n_cols % n_rows * TILE_M, col0 = id % n_cols * TILE_N, group = id / n_cols / n_rows;
    int team = get_local_id(0) / TEAM, item = get_local_id(0) % TEAM, row = item / ITEMS_N * 4, col = item % ITEMS_N * 4;
    int steps = (a.depth + STEP * TEAMS - 1) / (STEP * TEAMS), panel0 = group * panels + col0 / GPU_PANEL, last = group * panels + panels;
    bool wide = a.group_in % 4 == 0 && a.in_c % 4 == 0;
    struct place p;
    float4 sum[ITEM_M][ITEM_N / 4], m[READS_M], n[READS_N];
    local struct tile *mine = &shared[team];
    place_begin(&a, row0, item, team * STEP + item % QUADS * 4, &p);
    #pragma unroll
    for (int i = 0; i < ITEM_M; i++)
        #pragma unroll
        for (int j = 0; j < ITEM_N / 4; j++)
            sum[i][j] = (float4)(0.0f);
    for (int s = 0; s <= steps; s++) {
        int k0 = (s * TEAMS + team) * STEP;
        if (s < steps) {
            #pragma unroll
            for (int j = 0; j < READS_M; j++)
                m[j] = read_left(&a, &p, j, group * a.group_in, wide, x);
            #pragma unroll
            for (int j = 0; j < READS_N; j++) {
                int q = item + j * TEAM, panel = panel0 + q / (GPU_PANEL / 4 * STEP), k = k0 + q / (GPU_PANEL / 4) % STEP;
                n[j] = panel < last && k < a.depth ? load_four(w + (panel * a.depth + k) * GPU_PANEL + q % (GPU_PANEL / 4) * 4) : (float4)(0.0f);
            }
            place_next(&p);
        }
        if (s > 0)
            multiply((local const float *)mine->left[(s - 1) & 1], (local const float *)mine->right[(s - 1) & 1], row, col, sum);
        if (s < steps)
            put((local float *)mine->left[s & 1], (local float *)mine->right[s & 1], item, m, n);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    add_teams((local float4 *)shared, team, item, sum);
    if (team > 0)
        return;
    bool aligned = a.out_c % 4 == 0 && group * a.cols % 4 == 0;
    #pragma unroll
    for (int i = 0; i < ITEM_M; i++) {
        int r = row0 + row + i / 4 * PART_M + i % 4;
        #pragma unroll
        for (int j = 0; j < ITEM_N / 4; j++) {
            int c = col0 + col + j * PART_N, channel = group * a.cols + c;
            if (r < a.rows)
                finish(&a.end, sum[i][j], a.cols - c, aligned, channel, r * a.out_c + channel, bias, more, y);
        }
    }
}

/* ---- operands that lie in any way -------------------------------------------------------------------------------------------------- */

/* Four elements `step` apart, of which `some` are there. */
INLINE float4 read_any(global const T *p, int at, int step, int some, bool aligned)
{
    if (aligned && step == 1 && some >= 4)
        return load_four(p + at);
    return (float4)(some > 0 ? LOAD(p, at) : 0.0f, some > 1 ? LOAD(p, at + step) : 0.0f, some > 2 ? LOAD(p, at + 2 * step) : 0.0f,
                    some > 3 ? LOAD(p, at + 3 * step) : 0.0f);
}

kernel __attribute__((reqd_work_group_size(TEAM * TEAMS, 1, 1)))
void tiles_any(struct gpu_matmul a, global const T *x, global const T *w, global const T *bias, global const T *more, global T *y)
{
    local struct tile shared[TEAMS];
    int n_cols = (a.cols + TILE_N - 1) / TILE_N, n_rows = (a.rows + TILE_M - 1) / TILE_M;
    int id = get_group_id(0), row0 = id / n_cols % n_rows * TILE_M, col0 = id % n_cols * TILE_N, slice = id / n_cols / n_rows;
    int team = get_local_id(0) / TEAM, item = get_local_id(0) % TEAM, row = item / ITEMS_N * 4, col = item % ITEMS_N * 4;
    int steps = (a.depth + STEP * TEAMS - 1) / (STEP * TEAMS);
    int at_a = view_at(slice, a.rank, a.dims, a.a), at_b = view_at(slice, a.rank, a.dims, a.b);
    bool wide_a = at_a % 4 == 0 && a.a_row % 4 == 0, wide_b = at_b % 4 == 0 && a.b_k % 4 == 0;
    float4 sum[ITEM_M][ITEM_N / 4], m[READS_M], n[READS_N];
    local struct tile *mine = &shared[team];
    #pragma unroll
    for (int i = 0; i < ITEM_M; i++)
        #pragma unroll
        for (int j = 0; j < ITEM_N / 4; j++)
            sum[i][j] = (float4)(0.0f);
    for (int s = 0; s <= steps; s++) {
        int k0 = (s * TEAMS + team) * STEP;
        if (s < steps) {
            int k = k0 + item % QUADS * 4;
            #pragma unroll
            for (int j = 0; j < READS_M; j++) {
                int r = row0 + item / QUADS + j * (TEAM / QUADS);
                m[j] = read_any(x, at_a + r * a.a_row + k * a.a_k, a.a_k, r < a.rows ? a.depth - k : 0, wide_a);
            }
            #pragma unroll
            for (int j = 0; j < READS_N; j++) {
                int q = item + j * TEAM, kn = k0 + q / (GPU_PANEL / 4) % STEP, c = col0 + q / (GPU_PANEL / 4 * STEP) * GPU_PANEL + q % (GPU_PANEL / 4) * 4;
                n[j] = read_any(w, at_b + kn * a.b_k + c * a.b_col, a.b_col, kn < a.depth ? a.cols - c : 0, wide_b);
            }
        }
        if (s > 0)
            multiply((local const float *)mine->left[(s - 1) & 1], (local const float *)mine->right[(s - 1) & 1], row, col, sum);
        if (s < steps)
            put((local float *)mine->left[s & 1], (local float *)mine->right[s & 1], item, m, n);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    add_teams((local float4 *)shared, team, item, sum);
    if (team > 0)
        return;
    #pragma unroll
    for (int i = 0; i < ITEM_M; i++) {
        int r = row0 + row + i / 4 * PART_M + i % 4;
        #pragma unroll
        for (int j = 0; j < ITEM_N / 4; j++) {
            int c = col0 + col + j * PART_N;
            if (r < a.rows)
                finish(&a.end, sum[i][j], a.cols - c, a.cols % 4 == 0, c, (slice * a.rows + r) * a.cols + c, bias, more, y);
        }
    }
}
