/* SPDX-License-Identifier: Apache-2.0 */
/* Binding of Concat, Pack, Split, UnPack, Pad, BatchToSpace and SpaceToBatch. */
#include "kernels/families.h"
#include "kernels/move/move.h"

#define KERNEL KERNEL_VARIANT
static const struct kernel_variant join_variants[] = {
#include "kernels/move/join.def"
    {0},
};
static const struct kernel_variant pad_variants[] = {
#include "kernels/move/pad.def"
    {0},
};
static const struct kernel_variant block_variants[] = {
#include "kernels/move/block.def"
    {0},
};
#undef KERNEL

/* A row of the whole is everything from the axis on. */
static enum status join_bind(const struct op_call *c, void *args, struct kernel_bound *ret,
                             const struct kernel_variant **variants)
{
    struct join_args *a = args;
    enum op_id id = c->op->id;
    bool split = id == OP_Split || id == OP_UnPack;
    const struct tensor_desc *whole = split ? c->in[0] : c->out[0];
    uint32_t axis = op_axis(c, "axis", 0, whole->rank);
    *a = (struct join_args){.split = split, .pieces = split ? c->n_out : c->n_in, .n_in = c->n_in, .rows = 1, .row = 1};
    RETURN_IF(a->pieces > KERNEL_MAX_OPERANDS, ST_NOT_SUPPORTED, "%s \"%s\": %u tensors; at most %u", c->op->name,
              c->node ? c->node : "", a->pieces, KERNEL_MAX_OPERANDS);
    for (uint32_t d = 0; d < whole->rank; d++) {
        a->rows *= d < axis ? whole->dims[d] : 1;
        a->row *= d < axis ? 1 : whole->dims[d];
    }
    uint64_t at = 0;
    for (uint32_t i = 0; i < a->pieces; i++) {
        const struct tensor_desc *piece = split ? c->out[i] : c->in[i];
        TRY(mover_init(&a->mover[i], split ? whole : piece, split ? piece : whole, c));
        a->at[i] = at;
        a->n[i] = a->rows ? desc_count(piece) / a->rows : 0;
        at += a->n[i];
    }
    kernel_units(ret, a->rows * a->pieces, a->row / (a->pieces ? a->pieces : 1));
    mover_serial(&a->mover[0], ret);
    struct op_lines lines;
    if (c->by_lines && op_by_lines(c) && desc_lines(c->out[0], &lines)) {
        a->together = lines.elements / a->row;
        ret->extent = lines.n;
        ret->grain = 1;
        ret->by_lines = true;
    }
    *variants = join_variants;
    return ST_OK;
}

static enum status pad_bind(const struct op_call *c, void *args, struct kernel_bound *ret,
                            const struct kernel_variant **variants)
{
    struct pad_args *a = args;
    const struct tensor_desc *x = c->in[0];
    *a = (struct pad_args){.scheme = (enum pad_scheme)op_int(c, "scheme", 0), .rank = 1, .inner = 1, .rows = 1};
    TRY(mover_init(&a->mover, x, c->out[0], c));
    if (op_has(c, "pad_constant_value"))
        TRY(mover_constant(&a->mover, x, c->out[0], c, op_real(c, "pad_constant_value", 0)));
    a->dims[0] = a->out[0] = 1;
    for (uint32_t d = 0; d < x->rank; d++) {
        a->dims[d] = x->dims[d];
        a->before[d] = (uint32_t)op_int(c, "pad_amount", 2 * d);
        a->out[d] = c->out[0]->dims[d];
        a->rank = a->out[d] != a->dims[d] || d == 0 ? d + 1 : a->rank;
    }
    for (uint32_t d = a->rank; d < x->rank; d++)
        a->inner *= x->dims[d];
    for (uint32_t d = 0; d + 1 < a->rank; d++)
        a->rows *= a->out[d];
    kernel_units(ret, a->rows, a->out[a->rank - 1] * a->inner);
    mover_serial(&a->mover, ret);
    *variants = pad_variants;
    return ST_OK;
}

static enum status block_bind(const struct op_call *c, void *args, struct kernel_bound *ret,
                              const struct kernel_variant **variants)
{
    struct block_args *a = args;
    const char *edges = c->op->id == OP_SpaceToBatch ? "pad_amount" : "crops";
    *a = (struct block_args){.to_batch = c->op->id == OP_SpaceToBatch};
    TRY(mover_init(&a->mover, c->in[0], c->out[0], c));
    for (uint32_t d = 0; d < 4; d++) {
        a->in[d] = c->in[0]->dims[d];
        a->out[d] = c->out[0]->dims[d];
    }
    for (uint32_t k = 0; k < 2; k++) {
        a->block[k] = (uint32_t)op_int(c, "block_size", k);
        a->before[k] = (uint32_t)op_int(c, edges, 2 * k);
    }
    kernel_units(ret, (uint64_t)a->out[0] * a->out[1] * a->out[2], a->in[3]);
    mover_serial(&a->mover, ret);
    *variants = block_variants;
    return ST_OK;
}

const struct kernel_family family_join = {
    .name = "join",
    .args_size = sizeof(struct join_args),
    .bind = join_bind,
};

const struct kernel_family family_pad = {
    .name = "pad",
    .args_size = sizeof(struct pad_args),
    .bind = pad_bind,
};

const struct kernel_family family_block = {
    .name = "block",
    .args_size = sizeof(struct block_args),
    .bind = block_bind,
};
