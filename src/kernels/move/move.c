/* SPDX-License-Identifier: Apache-2.0 */
/* Binding of data movement that is a view of the input: which stride each output dimension has. */
#include "kernels/families.h"
#include "kernels/move/move.h"

/* Copies whose rows are columns of the input, enough of them for a block, or all of a few (move_turn_avx2.c). */
static bool turns(const void *args)
{
    const struct move_args *a = args;
    const struct view *v = &a->view;
    const uint32_t d = v->rank - 1, bytes = a->mover.bytes;
    if (v->rank < 2 || !a->mover.copy || (bytes != 1 && bytes != 2 && bytes != 4) || v->strides[d - 1] != 1 ||
        v->strides[d] < 2)
        return false;
    return v->dims[d - 1] >= 16 / bytes || v->strides[d] == v->dims[d - 1];
}

#define KERNEL KERNEL_VARIANT
static const struct kernel_variant move_variants[] = {
#include "kernels/move/move.def"
    {0},
};
#undef KERNEL

enum { MODE_CRD = 1 };

static enum status view_flat(const struct op_call *c, struct move_args *a)
{
    const struct tensor_desc *x = c->in[0];
    uint64_t strides[MAX_RANK] = {0};
    desc_strides(x, strides);
    for (uint32_t d = 0; d < x->rank; d++)
        view_add(&a->view, x->dims[d], (int64_t)strides[d]);
    return ST_OK;
}

static enum status view_transpose(const struct op_call *c, struct move_args *a)
{
    uint64_t strides[MAX_RANK] = {0};
    desc_strides(c->in[0], strides);
    for (uint32_t d = 0; d < c->in[0]->rank; d++) {
        uint32_t from = op_axis(c, "perm", d, c->in[0]->rank);
        view_add(&a->view, c->in[0]->dims[from], (int64_t)strides[from]);
    }
    return ST_OK;
}

static enum status view_slice(const struct op_call *c, struct move_args *a)
{
    struct op_slice s[OP_SLICE_MAX];
    uint64_t strides[MAX_RANK] = {0};
    uint32_t n = 0;
    TRY(op_slice(c, s, &n));
    desc_strides(c->in[0], strides);
    for (uint32_t i = 0; i < n; i++) {
        int64_t stride = s[i].axis < 0 ? 0 : (int64_t)strides[s[i].axis];
        a->first += s[i].begin * stride;
        if (!s[i].shrink)
            view_add(&a->view, s[i].count, s[i].stride * stride);
    }
    return ST_OK;
}

static enum status view_tile(const struct op_call *c, struct move_args *a)
{
    uint64_t strides[MAX_RANK] = {0};
    desc_strides(c->in[0], strides);
    for (uint32_t d = 0; d < c->in[0]->rank; d++) {
        view_add(&a->view, (uint32_t)op_int(c, "multiples", d), 0);
        view_add(&a->view, c->in[0]->dims[d], (int64_t)strides[d]);
    }
    return ST_OK;
}

/* [b, h, w, (bh, bw, d)] or, CRD, [b, h, w, (d, bh, bw)] to [b, h, bh, w, bw, d] */
static enum status view_depth_to_space(const struct op_call *c, struct move_args *a)
{
    const uint32_t *x = c->in[0]->dims;
    uint32_t bh = (uint32_t)op_int(c, "block_size", 0), bw = (uint32_t)op_int(c, "block_size", 1), d = x[3] / (bh * bw);
    bool crd = op_int(c, "mode", 0) == MODE_CRD;
    int64_t pixel = x[3], row = pixel * x[2];
    view_add(&a->view, x[0], row * x[1]);
    view_add(&a->view, x[1], row);
    view_add(&a->view, bh, crd ? bw : (int64_t)bw * d);
    view_add(&a->view, x[2], pixel);
    view_add(&a->view, bw, crd ? 1 : d);
    view_add(&a->view, d, crd ? (int64_t)bh * bw : 1);
    return ST_OK;
}

/* [b, h, bh, w, bw, d] to [b, h, w, (bh, bw, d)] or, CRD, [b, h, w, (d, bh, bw)] */
static enum status view_space_to_depth(const struct op_call *c, struct move_args *a)
{
    const uint32_t *x = c->in[0]->dims;
    uint32_t bh = (uint32_t)op_int(c, "block_size", 0), bw = (uint32_t)op_int(c, "block_size", 1), d = x[3];
    int64_t pixel = d, row = pixel * x[2];
    bool crd = op_int(c, "mode", 0) == MODE_CRD;
    view_add(&a->view, x[0], row * x[1]);
    view_add(&a->view, x[1] / bh, row * bh);
    view_add(&a->view, x[2] / bw, pixel * bw);
    if (crd)
        view_add(&a->view, d, 1);
    view_add(&a->view, bh, row);
    view_add(&a->view, bw, pixel);
    if (!crd)
        view_add(&a->view, d, 1);
    return ST_OK;
}

/* Channel i * groups + g comes from g * (n / groups) + i. */
static enum status view_shuffle(const struct op_call *c, struct move_args *a)
{
    const struct tensor_desc *x = c->in[0];
    uint32_t axis = op_axis(c, "axis", 0, x->rank), groups = (uint32_t)op_int(c, "num_groups", 0);
    uint64_t strides[MAX_RANK] = {0};
    desc_strides(x, strides);
    for (uint32_t d = 0; d < x->rank; d++) {
        uint32_t each = x->dims[d] / (d == axis ? groups : 1);
        view_add(&a->view, each, (int64_t)strides[d]);
        if (d == axis)
            view_add(&a->view, groups, (int64_t)strides[d] * each);
    }
    return ST_OK;
}

static const struct {
    uint16_t op;
    enum status (*view)(const struct op_call *c, struct move_args *a);
} rows[] = {
    {OP_Reshape, view_flat},
    {OP_Squeeze, view_flat},
    {OP_ExpandDims, view_flat},
    {OP_Transpose, view_transpose},
    {OP_StridedSlice, view_slice},
    {OP_Tile, view_tile},
    {OP_DepthToSpace, view_depth_to_space},
    {OP_SpaceToDepth, view_space_to_depth},
    {OP_ChannelShuffle, view_shuffle},
};

static enum status move_bind(const struct op_call *c, void *args, struct kernel_bound *ret,
                             const struct kernel_variant **variants)
{
    struct move_args *a = args;
    *a = (struct move_args){.n_in = c->n_in, .total = desc_count(c->out[0]), .unit = 4096};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (rows[i].op == c->op->id)
            TRY(rows[i].view(c, a));
    RETURN_IF(view_count(&a->view) != a->total, ST_INVALID_OP, "%s \"%s\": %llu elements would go to an output of %llu",
              c->op->name, c->node ? c->node : "", (unsigned long long)view_count(&a->view), (unsigned long long)a->total);
    view_finish(&a->view);
    TRY(mover_init(&a->mover, c->in[0], c->out[0], c));
    kernel_units(ret, (a->total + a->unit - 1) / a->unit, a->unit);
    ret->grain = 8;
    struct op_lines lines;
    if (c->by_lines && a->mover.copy && op_by_lines(c) && desc_lines(c->out[0], &lines)) {
        a->unit = lines.elements;
        ret->extent = lines.n;
        ret->grain = 1;
        ret->by_lines = true;
    }
    *variants = move_variants;
    return ST_OK;
}

const struct kernel_family family_move = {
    .name = "move",
    .args_size = sizeof(struct move_args),
    .bind = move_bind,
};
