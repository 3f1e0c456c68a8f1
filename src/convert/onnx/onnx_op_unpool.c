/* SPDX-License-Identifier: Apache-2.0 */
/* Positions of what a max pool chose, and putting values back there. QNN's pools give no positions: every tap of the window
 * is a slice that replaces what was largest so far, and its position with it. */
#include <string.h>

#include "convert/onnx/onnx.h"

enum { TAPS_MAX = 256, POSITIONS_MAX = 1 << 22, UNPOOLED_MAX = 1 << 28 };

struct choice {
    struct onnx_value *v;
    struct onnx_window w;
    uint32_t out[3], taps, x; /* x: padded, channels last */
    bool columns;             /* storage_order 1: the first spatial dimension moves fastest */
};

static enum status begin(struct onnx_cx *cx, const struct onnx_node *n, struct choice *c)
{
    uint32_t pads[2 * MAX_RANK] = {0};
    uint64_t positions = 1;
    c->taps = 1;
    c->columns = onnx_attr_int(cx, n, "storage_order", 0);
    TRY(onnx_in(cx, n, 0, &c->v));
    TRY(onnx_window(cx, n, c->v, NULL, &c->w));
    TRY(onnx_in_last(cx, n, 0, &c->x));
    for (uint32_t k = 0; k < c->w.n; k++) {
        uint64_t span = (uint64_t)(c->w.kernel[k] - 1) * c->w.dilation[k] + 1, size = c->v->dims[2 + k],
                 padded = size + c->w.pads[2 * k] + c->w.pads[2 * k + 1];
        RETURN_IF(span > padded, ST_INVALID_OP, "the window is larger than the padded input");
        uint64_t room = padded - span, count = room / c->w.stride[k] + 1;
        if (c->w.ceil && room % c->w.stride[k] && count * c->w.stride[k] < size + c->w.pads[2 * k])
            count++;
        c->out[k] = (uint32_t)count;
        uint64_t reach = (count - 1) * c->w.stride[k] + span;
        pads[2 + 2 * k] = c->w.pads[2 * k];
        pads[3 + 2 * k] = reach > size + c->w.pads[2 * k] ? (uint32_t)(reach - size - c->w.pads[2 * k]) : 0;
        REFUSE_WHEN((positions *= count) > POSITIONS_MAX, "\"Indices\" of more than %d positions", POSITIONS_MAX);
        REFUSE_WHEN(c->w.kernel[k] > TAPS_MAX || (c->taps *= c->w.kernel[k]) > TAPS_MAX,
                    "\"Indices\" of a window of more than %d taps", TAPS_MAX);
    }
    enum dtype type = build_desc(B, c->x)->type;
    float lowest = dtype_is_float(type) ? (type == DT_F16 ? -65504.0f : -3.402823466e38f) : (float)dtype_min(type);
    return build_node(B,
                      &(struct build_spec){ .op = "Pad",
                                            .name = onnx_name(cx, "pad"),
                                            BUILD_IN(c->x),
                                            .params = { BUILD_U32("scheme", 0), BUILD_PAIRS("pad_amount", c->v->rank, pads),
                                                        BUILD_F32("pad_constant_value", lowest) } },
                      &c->x);
}

static uint32_t tap_at(const struct choice *c, uint32_t tap, uint32_t k)
{
    for (uint32_t i = c->w.n; --i > k;)
        tap /= c->w.kernel[i];
    return tap % c->w.kernel[k] * c->w.dilation[k];
}

static enum status tap_values(struct onnx_cx *cx, const struct choice *c, uint32_t tap, uint32_t *ret)
{
    const struct tensor_desc *d = build_desc(B, c->x);
    int32_t ranges[3 * MAX_RANK];
    for (uint32_t i = 0; i < d->rank; i++) {
        bool spatial = i >= 1 && i <= c->w.n;
        uint32_t at = spatial ? tap_at(c, tap, i - 1) : 0;
        ranges[3 * i] = (int32_t)at;
        ranges[3 * i + 1] = (int32_t)(spatial ? at + (c->out[i - 1] - 1) * c->w.stride[i - 1] + 1 : d->dims[i]);
        ranges[3 * i + 2] = (int32_t)(spatial ? c->w.stride[i - 1] : 1);
    }
    return build_node(B,
                      &(struct build_spec){ .op = "StridedSlice",
                                            .name = onnx_name(cx, "tap"),
                                            BUILD_IN(c->x),
                                            .params = { BUILD_RANGES("ranges", d->rank, ranges) } },
                      ret);
}

/* Where the tap lies inside one channel, for every position of the output: [1, spatial…, 1]. */
static enum status tap_positions(struct onnx_cx *cx, const struct choice *c, uint32_t tap, uint32_t *ret)
{
    struct tensor_desc d = {.type = DT_I32, .rank = c->v->rank, .dims = {1}};
    d.dims[c->v->rank - 1u] = 1;
    for (uint32_t k = 0; k < c->w.n; k++)
        d.dims[1 + k] = c->out[k];
    TRY(desc_check(&d, "positions"));
    TRY(onnx_charge(cx, "positions", desc_count(&d), 4));
    int32_t *at = arena_array(&cx->b.g->arena, int32_t, desc_count(&d));
    RETURN_IF(!at, ST_NO_MEMORY, "no memory for positions");
    for (uint64_t i = 0; i < desc_count(&d); i++) {
        uint64_t rest = i;
        int64_t p[3] = {0};
        int64_t sum = 0;
        for (uint32_t k = c->w.n; k-- > 0; rest /= c->out[k])
            p[k] = (int64_t)(rest % c->out[k]) * c->w.stride[k] + tap_at(c, tap, k) - c->w.pads[2 * k];
        for (uint32_t k = 0; k < c->w.n; k++) {
            uint32_t axis = c->columns ? c->w.n - 1 - k : k;
            sum = sum * c->v->dims[2 + axis] + p[axis];
        }
        at[i] = (int32_t)sum;
    }
    return build_const(B, onnx_name(cx, "positions"), &d, at, true, ret);
}

/* Behind the channels in front: [n, 1…, channels]. */
static enum status add_channels(struct onnx_cx *cx, const struct choice *c, uint32_t *t)
{
    struct tensor_desc d = {.type = DT_I32, .rank = c->v->rank, .dims = {c->v->dims[0], 1, 1, 1, 1}};
    uint64_t area = onnx_count(c->v) / ((uint64_t)c->v->dims[0] * c->v->dims[1]);
    d.dims[c->v->rank - 1u] = c->v->dims[1];
    TRY(desc_check(&d, "positions"));
    TRY(onnx_charge(cx, "positions", desc_count(&d), 4));
    int32_t *at = arena_array(&cx->b.g->arena, int32_t, desc_count(&d));
    uint32_t k;
    RETURN_IF(!at, ST_NO_MEMORY, "no memory for positions");
    for (uint64_t i = 0; i < desc_count(&d); i++)
        at[i] = (int32_t)(i * area);
    TRY(build_const(B, onnx_name(cx, "channels"), &d, at, true, &k));
    TRY(build_binary(B, "ElementWiseAdd", onnx_name(cx, "indices"), *t, k, t));
    return onnx_cast(cx, "index", *t, DT_I64, t);
}

enum status onnx_max_positions(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct choice c;
    uint32_t y = IR_NONE, at = IR_NONE, t, p, larger;
    TRY(begin(cx, n, &c));
    REFUSE_WHEN(onnx_count(c.v) > INT32_MAX, "\"Indices\" of an input of %llu elements",
                (unsigned long long)onnx_count(c.v));
    for (uint32_t tap = 0; tap < c.taps; tap++) {
        TRY(tap_values(cx, &c, tap, &t));
        TRY(tap_positions(cx, &c, tap, &p));
        if (y == IR_NONE) {
            y = t;
            at = p;
            continue;
        }
        TRY(build_binary(B, "ElementWiseGreater", onnx_name(cx, "larger"), t, y, &larger));
        TRY(build_binary(B, "ElementWiseMaximum", onnx_name(cx, "most"), t, y, &y));
        TRY(build_node(
            B, &(struct build_spec){ .op = "ElementWiseSelect", .name = onnx_name(cx, "where"), BUILD_IN(larger, p, at) },
            &at));
    }
    TRY(add_channels(cx, &c, &at));
    TRY(onnx_out_last(cx, n, 0, y));
    return onnx_out_last(cx, n, 1, at);
}

/* Zeros, with the values at their positions. A larger output has them in its first corner. */
static enum status convert_unpool(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct onnx_value *v, *i, *s;
    struct onnx_window w;
    uint32_t x, index, zeros, y, dims[MAX_RANK], flat[1], pads[2 * MAX_RANK] = {0}, k;
    int64_t *want = NULL;
    TRY(onnx_in(cx, n, 0, &v));
    TRY(onnx_in(cx, n, 1, &i));
    TRY(onnx_in_opt(cx, n, 2, &s));
    TRY(onnx_window(cx, n, v, NULL, &w));
    struct tensor_desc d = {.type = onnx_inner_type(v->type), .rank = 1};
    uint64_t total = (uint64_t)v->dims[0] * v->dims[1];
    REFUSE_WHEN(total > UNPOOLED_MAX, "the output has more than %d elements", UNPOOLED_MAX);
    memcpy(dims, v->dims, sizeof(dims));
    for (k = 0; k < w.n; k++) {
        int64_t size = ((int64_t)v->dims[2 + k] - 1) * w.stride[k] + w.kernel[k] - w.pads[2 * k] - w.pads[2 * k + 1];
        RETURN_IF(size < 1 || size > INT32_MAX, ST_INVALID_OP, "dimension %u of the output has %lld elements", 2 + k,
                  (long long)size);
        dims[2 + k] = (uint32_t)size;
        REFUSE_WHEN((total *= (uint64_t)size) > UNPOOLED_MAX, "the output has more than %d elements", UNPOOLED_MAX);
    }
    d.dims[0] = (uint32_t)total;
    TRY(onnx_charge(cx, "zeros", desc_bytes(&d), 1));
    void *none = arena_alloc(&cx->b.g->arena, desc_bytes(&d));
    RETURN_IF(!none, ST_NO_MEMORY, "no memory for zeros");
    TRY(build_const(B, onnx_name(cx, "zeros"), &d, none, true, &zeros));
    flat[0] = (uint32_t)onnx_count(v);
    TRY(onnx_tensor(cx, v, NULL, &x));
    TRY(onnx_tensor(cx, i, NULL, &index));
    TRY(build_reshape(B, onnx_name(cx, "values"), x, 1, flat, &x));
    TRY(build_reshape(B, onnx_name(cx, "indices"), index, 1, flat, &index));
    TRY(onnx_cast(cx, "index", index, DT_I32, &index));
    TRY(build_node(
        B,
        &(struct build_spec){
            .op = "ScatterElements", .name = cx->label, BUILD_IN(zeros, index, x), .params = { BUILD_U32("axis", 0) } },
        &y));
    TRY(build_reshape(B, onnx_name(cx, "shape"), y, v->rank, dims, &y));
    if (s) {
        TRY(onnx_ints(cx, s, "output_shape", &want, &k));
        RETURN_IF(k != v->rank, ST_INVALID_OP, "\"output_shape\" has %u entries for rank %u", k, v->rank);
        for (uint32_t j = 0; j < k; j++) {
            RETURN_IF(want[j] < dims[j] || want[j] > INT32_MAX, ST_NOT_SUPPORTED,
                      "\"output_shape\" has entry %lld; at least %u is supported", (long long)want[j], dims[j]);
            pads[2 * j + 1] = (uint32_t)want[j] - dims[j];
        }
        TRY(build_node(B,
                       &(struct build_spec){ .op = "Pad",
                                             .name = onnx_name(cx, "grown"),
                                             BUILD_IN(y),
                                             .params = { BUILD_U32("scheme", 0), BUILD_PAIRS("pad_amount", k, pads) } },
                       &y));
    }
    return onnx_out(cx, n, 0, y, NULL);
}

const struct onnx_row onnx_rows_unpool[] = {{"MaxUnpool", 0, convert_unpool, NULL}, {0}};
