/* SPDX-License-Identifier: Apache-2.0 */
/* Buffer: the output from what is kept and the new frame, then what the next execution needs, then how much of it there is.
 *
 *     room   places that hold something, 1 after the first execution, … | from byte 16 on the places that are kept, [outer, room, inner]        */
#define KEPT_AT 16

/* Places that hold something before the new frame; *fresh: they are padding. */
int filled(const struct gpu_buffer *a, global const void *reset, global const int *room, bool *fresh)
{
    *fresh = !room[1] || (a->has_reset && number_at(a->reset_type, reset, 0) != 0.0f);
    int begin = a->padding > a->room ? a->padding - a->stride : a->padding;
    return *fresh ? begin : room[0];
}

kernel void buffer_output(struct gpu_buffer a, global const T *x, global const void *reset, global T *y, global int *room)
{
    int i = get_global_id(0);
    if (i >= a.n)
        return;
    bool fresh;
    int fill = filled(&a, reset, room, &fresh), there = fill + a.frame, first = a.right ? a.size - there : 0;
    int inner = i % a.inner, place = i / a.inner % a.size - first, outer = i / a.inner / a.size;
    global const T *kept = (global const T *)((global const char *)room + KEPT_AT);
    T v = (T)0;
    if (place >= 0 && place < fill)
        v = fresh ? (T)0 : kept[(outer * a.room + place) * a.inner + inner];
    else if (place >= fill && place < there)
        v = x[(outer * a.frame + place - fill) * a.inner + inner];
    y[i] = v;
}

kernel void buffer_keep(struct gpu_buffer a, global const T *x, global const void *reset, global const T *y, global int *room)
{
    int i = get_global_id(0);
    if (i >= a.outer * a.room * a.inner)
        return;
    bool fresh;
    int fill = filled(&a, reset, room, &fresh), there = fill + a.frame;
    int inner = i % a.inner, place = i / a.inner % a.room, outer = i / a.inner / a.room;
    global T *kept = (global T *)((global char *)room + KEPT_AT);
    if (there >= a.size) {
        if (place < a.size - a.stride)
            kept[i] = y[(outer * a.size + place + a.stride) * a.inner + inner];
    } else if (place >= fill && place < there) {
        kept[i] = x[(outer * a.frame + place - fill) * a.inner + inner];
    } else if (place < fill && fresh) {
        kept[i] = (T)0;
    }
}

kernel void buffer_count(struct gpu_buffer a, global const void *reset, global int *room)
{
    bool fresh;
    if (get_global_id(0))
        return;
    int there = filled(&a, reset, room, &fresh) + a.frame;
    room[0] = there < a.size ? there : a.size - a.stride;
    room[1] = 1;
}
