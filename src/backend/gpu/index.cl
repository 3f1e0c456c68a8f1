/* SPDX-License-Identifier: Apache-2.0 */
/* Values that are picked and placed by index; negative indices count from the end, ones outside read zero and place nothing. */

bool resolve(long *index, int size)
{
    *index += *index < 0 ? size : 0;
    return *index >= 0 && *index < size;
}

/* Element offset of a tuple of indices; -1: one of them is outside. */
int tuple_offset(const struct gpu_tuples *a, global const void *index, int tuple)
{
    int at = 0;
    for (int k = 0; k < a->depth; k++) {
        long i = read_whole(a->index_type, index, tuple * a->depth + k);
        if ((a->plain && i < 0) || !resolve(&i, a->dims[k]))
            return -1;
        at += (int)i * a->strides[k];
    }
    return at;
}

kernel void gather_nd(struct gpu_tuples a, global const T *x, global const void *index, global T *y)
{
    int i = get_global_id(0);
    if (i >= a.n)
        return;
    int tuple = i / a.slice, from = tuple_offset(&a, index, tuple);
    y[i] = from < 0 ? (T)0 : x[tuple / a.tuples * a.part + from + i % a.slice];
}

kernel void elements(struct gpu_elements a, global const T *x, global const void *index, global T *y)
{
    int i = get_global_id(0);
    if (i >= a.n)
        return;
    long at = read_whole(a.index_type, index, i);
    y[i] = resolve(&at, a.size) ? x[view_at(i, a.rank, a.dims, a.out) + (int)at * a.step] : (T)0;
}

kernel void one_hot(struct gpu_one_hot a, global const void *index, global T *y)
{
    int i = get_global_id(0);
    if (i >= a.n)
        return;
    int d = i / a.inner % a.depth;
    bool on = read_whole(a.index_type, index, i / a.inner / a.depth * a.inner + i % a.inner) == d;
    y[i] = (T)((ulong)(uint)(on ? a.on[0] : a.off[0]) | (ulong)(uint)(on ? a.on[1] : a.off[1]) << 32);
}

/* ---- scatter: what may meet in one place is done by one work item, in order ------------------------------------------------------ */

void scatter_one(int reduction, int type, global void *y, int to, int update_type, global const void *updates, int from)
{
    if (is_real(type)) {
        float v = read_real(update_type, updates, from), old = reduction ? read_real(type, y, to) : 0.0f;
        write_real(type, y, to, reduction == 0 ? v : reduction == 1 ? old + v : reduction == 2 ? old * v : old > v ? old : v);
        return;
    }
    long v = read_whole(update_type, updates, from), old = reduction ? read_whole(type, y, to) : 0;
    write_whole(type, y, to, reduction == 0 ? v : reduction == 1 ? old + v : reduction == 2 ? old * v : old > v ? old : v);
}

/* A line along the axis. */
kernel void scatter_elements(struct gpu_elements a, global const void *index, global const void *updates, global void *y)
{
    int i = get_global_id(0);
    if (i >= a.n)
        return;
    int to = view_at(i, a.rank, a.dims, a.out), from = view_at(i, a.rank, a.dims, a.in);
    for (int k = 0; k < a.count; k++, from += a.in_step) {
        long at = read_whole(a.index_type, index, from);
        if (resolve(&at, a.size))
            scatter_one(a.reduction, a.type, y, to + (int)at * a.step, a.update_type, updates, from);
    }
}

/* One value of the slices. */
kernel void scatter_nd(struct gpu_tuples a, global const void *index, global const void *updates, global void *y)
{
    int i = get_global_id(0);
    if (i >= a.n)
        return;
    for (int tuple = 0; tuple < a.tuples; tuple++) {
        int to = tuple_offset(&a, index, tuple);
        if (to >= 0)
            scatter_one(a.reduction, a.type, y, to + i, a.update_type, updates, tuple * a.slice + i);
    }
}

/* ---- places that hold something: one work item, since rows are found one after the other ------------------------------------------- */

bool place_used(const struct gpu_places *a, global const void *x, int place)
{
    for (int i = 0; i < a->row; i++) {
        bool zero = is_real(a->x_type) ? read_real(a->x_type, x, place * a->row + i) == 0.0f : read_whole(a->x_type, x, place * a->row + i) == 0;
        if (!zero)
            return true;
    }
    return false;
}

kernel void find_places(struct gpu_places a, global const void *x, global void *y)
{
    int row = 0;
    if (get_global_id(0))
        return;
    for (int p = 0; p < a.places && row < a.rows; p++) {
        if (!place_used(&a, x, p))
            continue;
        for (int d = a.depth - 1, rest = p; d >= 0; rest /= a.dims[d--])
            write_whole(a.y_type, y, row * a.depth + d, rest % a.dims[d]);
        row++;
    }
    for (int i = row * a.depth; i < a.rows * a.depth; i++)
        write_whole(a.y_type, y, i, -1);
}

kernel void find_values(struct gpu_places a, global const void *x, global void *y)
{
    int row = 0;
    if (get_global_id(0))
        return;
    for (int p = 0; p < a.places && row < a.rows; p++) {
        if (!place_used(&a, x, p))
            continue;
        for (int i = 0; i < a.row; i++)
            scatter_one(0, a.y_type, y, row * a.row + i, a.x_type, x, p * a.row + i);
        row++;
    }
    for (int i = row * a.row; i < a.rows * a.row; i++)
        if (is_real(a.y_type))
            write_real(a.y_type, y, i, 0.0f);
        else
            write_whole(a.y_type, y, i, 0);
}
