/* SPDX-License-Identifier: Apache-2.0 */
/* Binding of Resize, ResizeBilinear and ResizeNearestNeighbor. */
#include "kernels/families.h"
#include "kernels/resize/resize.h"

#define KERNEL KERNEL_VARIANT
static const struct kernel_variant resize_variants[] = {
#include "kernels/resize/resize.def"
    {0},
};
#undef KERNEL

static void read_modes(const struct op_call *c, struct resize_args *a)
{
    if (c->op->id == OP_Resize) {
        a->kind = (enum resize_kind)op_int(c, "interpolation_mode", 0);
        a->coord = (enum resize_coord)op_int(c, "transformation_mode", 0);
        a->round = (enum resize_round)op_int(c, "nearest_mode", 0);
        a->exclude_outside = op_int(c, "exclude_outside", 0);
        a->cubic = op_has(c, "cubic_coeff") ? (float)op_real(c, "cubic_coeff", 0) : -0.75f;
        return;
    }
    bool corners = op_int(c, "align_corners", 0), half = op_int(c, "half_pixel_centers", 0);
    a->kind = c->op->id == OP_ResizeBilinear ? RESIZE_LINEAR : RESIZE_NEAREST;
    if (a->kind == RESIZE_LINEAR) {
        a->kind = op_int(c, "antialias", 0) ? RESIZE_SMOOTH : RESIZE_LINEAR;
        a->coord = corners ? COORD_ALIGN_CORNERS : half ? COORD_HALF_PIXEL : COORD_ASYMMETRIC;
    } else {
        a->coord = corners ? COORD_ALIGN_CORNERS : half ? COORD_CENTER : COORD_ASYMMETRIC;
        a->round = corners ? ROUND_PREFER_CEIL : ROUND_FLOOR;
    }
}

static enum status resize_bind(const struct op_call *c, void *args, struct kernel_bound *ret,
                               const struct kernel_variant **variants)
{
    struct resize_args *a = args;
    const struct tensor_desc *x = c->in[0], *y = c->out[0];
    *a = (struct resize_args){.batch = x->dims[0], .channels = x->dims[x->rank - 1], .in = {1, 1, 1}, .out = {1, 1, 1}};
    RETURN_IF(x->rank < 3 || x->rank > 5, ST_NOT_SUPPORTED,
              "%s \"%s\": rank %u has no kernel; 3 to 5 (one to three resized dimensions) have", c->op->name,
              c->node ? c->node : "", x->rank);
    read_modes(c, a);
    a->first = 5u - x->rank;
    for (uint32_t d = a->first; d < 3; d++) {
        a->in[d] = x->dims[1 + d - a->first];
        a->out[d] = y->dims[1 + d - a->first];
    }
    kernel_units(ret, (uint64_t)a->batch * a->out[0] * a->out[1],
                 (uint64_t)a->out[2] * a->channels * (a->kind == RESIZE_NEAREST ? 1 : 8));
    if (a->kind == RESIZE_NEAREST) {
        TRY(mover_init(&a->mover, x, y, c));
        mover_serial(&a->mover, ret);
    } else {
        TRY(codec_init(&a->src, x, c));
        TRY(codec_init_out(&a->dst, y, c));
    }
    *variants = resize_variants;
    return ST_OK;
}

const struct kernel_family family_resize = {
    .name = "resize",
    .args_size = sizeof(struct resize_args),
    .bind = resize_bind,
};
