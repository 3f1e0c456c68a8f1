/* SPDX-License-Identifier: Apache-2.0 */
/* Binding of data movement that is a view of input and output: which strides each dimension has on both sides. */
#include "backend/gpu/gpu_launch.h"

enum { MODE_CRD = 1 };

struct move {
    struct gpu_view view; /* strides 0: input, 1: output */
    int64_t from, to;
    uint32_t in, out;     /* ports */
};

static enum status add_copy(const struct op_call *c, struct gpu_work *w, struct move *m)
{
    struct gpu_launch l = { .kernel = K_COPY,
                            GPU_ARGS(copy),
                            .n_operands = 2,
                            .operand = { (uint8_t)m->in, (uint8_t)(c->n_in + m->out) },
                            .view = c->op->flags & OP_VIEW,
                            .items = 1 };
    struct gpu_copy *a = &l.args.copy;
    if (c->in[m->in]->type != c->out[m->out]->type)
        return gpu_refuse(c, "%s to %s; both must be the same: put a Cast between", dtype_name(c->in[m->in]->type),
                          dtype_name(c->out[m->out]->type));
    TRY(gpu_bits_storage(c, c->in[m->in], &l.storage));
    for (uint32_t i = 0; i < m->view.n; i++)
        l.items *= m->view.at[i].size;
    TRY(gpu_view_end(c, &m->view, &a->rank, a->dims, (int *const[4]){ a->in, a->out }));
    a->n = (int)l.items;
    a->from = (int)m->from;
    a->to = (int)m->to;
    return gpu_add(c, w, &l);
}

/* A dimension, outermost first, of a view whose output is dense: output strides follow at the end. */
static void add(struct move *m, uint32_t size, int64_t stride)
{
    gpu_view_add(&m->view, size, stride, 0, 0);
}

static enum status add_dense(const struct op_call *c, struct gpu_work *w, struct move *m)
{
    int64_t step = 1;
    for (uint32_t i = m->view.n; i-- > 0;) {
        m->view.at[i].strides[1] = step;
        step *= m->view.at[i].size;
    }
    return add_copy(c, w, m);
}

enum status gpu_bind_view(const struct op_call *c, struct gpu_work *w)
{
    struct move m = { 0 };
    add(&m, (uint32_t)desc_count(c->in[0]), 1);
    return add_dense(c, w, &m);
}

enum status gpu_bind_transpose(const struct op_call *c, struct gpu_work *w)
{
    struct move m = { 0 };
    uint64_t strides[MAX_RANK] = { 0 };
    desc_strides(c->in[0], strides);
    for (uint32_t d = 0; d < c->in[0]->rank; d++) {
        uint32_t from = op_axis(c, "perm", d, c->in[0]->rank);
        add(&m, c->in[0]->dims[from], (int64_t)strides[from]);
    }
    return add_dense(c, w, &m);
}

enum status gpu_bind_slice(const struct op_call *c, struct gpu_work *w)
{
    struct op_slice s[OP_SLICE_MAX];
    struct move m = { 0 };
    uint64_t strides[MAX_RANK] = { 0 };
    uint32_t n = 0;
    TRY(op_slice(c, s, &n));
    desc_strides(c->in[0], strides);
    for (uint32_t i = 0; i < n; i++) {
        int64_t stride = s[i].axis < 0 ? 0 : (int64_t)strides[s[i].axis];
        m.from += s[i].begin * stride;
        if (!s[i].shrink)
            add(&m, s[i].count, s[i].stride * stride);
    }
    return add_dense(c, w, &m);
}

enum status gpu_bind_tile(const struct op_call *c, struct gpu_work *w)
{
    struct move m = { 0 };
    uint64_t strides[MAX_RANK] = { 0 };
    desc_strides(c->in[0], strides);
    for (uint32_t d = 0; d < c->in[0]->rank; d++) {
        add(&m, (uint32_t)op_int(c, "multiples", d), 0);
        add(&m, c->in[0]->dims[d], (int64_t)strides[d]);
    }
    return add_dense(c, w, &m);
}

/* [b, h, w, (bh, bw, d)] or, CRD, [b, h, w, (d, bh, bw)] to [b, h, bh, w, bw, d] */
enum status gpu_bind_depth_to_space(const struct op_call *c, struct gpu_work *w)
{
    const uint32_t *x = c->in[0]->dims;
    uint32_t bh = (uint32_t)op_int(c, "block_size", 0), bw = (uint32_t)op_int(c, "block_size", 1), d = x[3] / (bh * bw);
    bool crd = op_int(c, "mode", 0) == MODE_CRD;
    int64_t pixel = x[3], row = pixel * x[2];
    struct move m = { 0 };
    add(&m, x[0], row * x[1]);
    add(&m, x[1], row);
    add(&m, bh, crd ? bw : (int64_t)bw * d);
    add(&m, x[2], pixel);
    add(&m, bw, crd ? 1 : d);
    add(&m, d, crd ? (int64_t)bh * bw : 1);
    return add_dense(c, w, &m);
}

/* [b, h, bh, w, bw, d] to [b, h, w, (bh, bw, d)] or, CRD, [b, h, w, (d, bh, bw)] */
enum status gpu_bind_space_to_depth(const struct op_call *c, struct gpu_work *w)
{
    const uint32_t *x = c->in[0]->dims;
    uint32_t bh = (uint32_t)op_int(c, "block_size", 0), bw = (uint32_t)op_int(c, "block_size", 1), d = x[3];
    int64_t pixel = d, row = pixel * x[2];
    bool crd = op_int(c, "mode", 0) == MODE_CRD;
    struct move m = { 0 };
    add(&m, x[0], row * x[1]);
    add(&m, x[1] / bh, row * bh);
    add(&m, x[2] / bw, pixel * bw);
    add(&m, crd ? d : 1, 1);
    add(&m, bh, row);
    add(&m, bw, pixel);
    add(&m, crd ? 1 : d, 1);
    return add_dense(c, w, &m);
}

/* Channel i * groups + g comes from g * (n / groups) + i. */
enum status gpu_bind_shuffle(const struct op_call *c, struct gpu_work *w)
{
    const struct tensor_desc *x = c->in[0];
    uint32_t axis = op_axis(c, "axis", 0, x->rank), groups = (uint32_t)op_int(c, "num_groups", 0);
    struct move m = { 0 };
    uint64_t strides[MAX_RANK] = { 0 };
    desc_strides(x, strides);
    for (uint32_t d = 0; d < x->rank; d++) {
        uint32_t each = x->dims[d] / (d == axis ? groups : 1);
        add(&m, each, (int64_t)strides[d]);
        add(&m, d == axis ? groups : 1, (int64_t)strides[d] * each);
    }
    return add_dense(c, w, &m);
}

/* Three of four channels, in either order. */
enum status gpu_bind_argb(const struct op_call *c, struct gpu_work *w)
{
    bool reverse = op_int(c, "reverse_output", 0);
    struct move m = { .from = (op_int(c, "input_order", 0) == 0 ? 1 : 0) + (reverse ? 2 : 0) };
    add(&m, (uint32_t)(desc_count(c->in[0]) / 4), 4);
    add(&m, 3, reverse ? -1 : 1);
    return add_dense(c, w, &m);
}

/* ---- several inputs or outputs: parts of one long tensor along an axis ------------------------------------------------ */

struct parts {
    uint32_t axis;   /* of the long tensor */
    bool joined;     /* the output is the long one */
    bool flat;       /* parts lack the axis: Pack, UnPack */
};

static enum status copy_parts(const struct op_call *c, struct gpu_work *w, const struct parts *p)
{
    const struct tensor_desc *whole = p->joined ? c->out[0] : c->in[0];
    uint64_t strides[MAX_RANK] = { 0 }, at = 0, inner;
    desc_strides(whole, strides);
    inner = strides[p->axis];
    for (uint32_t k = 0; k < (p->joined ? c->n_in : c->n_out); k++) {
        const struct tensor_desc *part = p->joined ? c->in[k] : c->out[k];
        struct move m = { .in = p->joined ? k : 0, .out = p->joined ? 0 : k };
        uint64_t each = (p->flat ? 1 : part->dims[p->axis]) * inner, outer = desc_count(part) / each;
        uint64_t long_step = inner * whole->dims[p->axis];
        gpu_view_add(&m.view, (uint32_t)outer, (int64_t)(p->joined ? each : long_step),
                     (int64_t)(p->joined ? long_step : each), 0);
        gpu_view_add(&m.view, (uint32_t)each, 1, 1, 0);
        *(p->joined ? &m.to : &m.from) = (int64_t)at;
        at += each;
        TRY(add_copy(c, w, &m));
    }
    return ST_OK;
}

enum status gpu_bind_concat(const struct op_call *c, struct gpu_work *w)
{
    return copy_parts(c, w, &(struct parts){ op_axis(c, "axis", 0, c->out[0]->rank), true, false });
}

enum status gpu_bind_split(const struct op_call *c, struct gpu_work *w)
{
    return copy_parts(c, w, &(struct parts){ op_axis(c, "axis", 0, c->in[0]->rank), false, false });
}

enum status gpu_bind_pack(const struct op_call *c, struct gpu_work *w)
{
    return copy_parts(c, w, &(struct parts){ op_axis(c, "axis", 0, c->out[0]->rank), true, true });
}

enum status gpu_bind_unpack(const struct op_call *c, struct gpu_work *w)
{
    return copy_parts(c, w, &(struct parts){ op_axis(c, "axis", 0, c->in[0]->rank), false, true });
}
