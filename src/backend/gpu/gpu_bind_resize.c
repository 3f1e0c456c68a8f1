/* SPDX-License-Identifier: Apache-2.0 */
/* Binding of cubic and antialiased resizing; nearest and linear are in gpu_bind_window.c. */
#include "backend/gpu/gpu_kernels.h"
#include "backend/gpu/gpu_launch.h"

enum { MODE_CUBIC = 2 };

static bool is_cubic(const struct op_call *c)
{
    return c->op->id == OP_Resize && op_int(c, "interpolation_mode", 0) == MODE_CUBIC;
}

static bool is_smooth(const struct op_call *c)
{
    return c->op->id == OP_ResizeBilinear && op_int(c, "antialias", 0);
}

enum status gpu_bind_resize_any(const struct op_call *c, struct gpu_work *w)
{
    if (!is_cubic(c) && !is_smooth(c))
        return gpu_bind_resize(c, w);
    struct gpu_launch l = { .kernel = is_cubic(c) ? K_RESIZE_CUBIC : K_RESIZE_SMOOTH,
                            GPU_ARGS(smooth),
                            .n_operands = 2,
                            .operand = { 0, (uint8_t)c->n_in },
                            .items = desc_count(c->out[0]) };
    const struct tensor_desc *x = c->in[0], *y = c->out[0];
    struct gpu_smooth *a = &l.args.smooth;
    if (x->rank < 3 || x->rank > 5)
        return gpu_refuse(c, "rank %u; 3 to 5 are supported", x->rank);
    *a = (struct gpu_smooth){
        .n = (int)l.items, .channels = (int)x->dims[x->rank - 1], .in = { 1, 1, 1 }, .out = { 1, 1, 1 }, .first = 5 - x->rank
    };
    for (int d = a->first; d < 3; d++) {
        a->in[d] = (int)x->dims[1 + d - a->first];
        a->out[d] = (int)y->dims[1 + d - a->first];
    }
    if (is_cubic(c)) {
        a->coord = (int)op_int(c, "transformation_mode", 0);
        a->exclude_outside = (int)op_int(c, "exclude_outside", 0);
        a->cubic = op_has(c, "cubic_coeff") ? (float)op_real(c, "cubic_coeff", 0) : -0.75f;
    } else {
        a->coord = op_int(c, "align_corners", 0)        ? COORD_ALIGN_CORNERS
                   : op_int(c, "half_pixel_centers", 0) ? COORD_HALF_PIXEL
                                                        : COORD_ASYMMETRIC;
    }
    TRY(gpu_type(c, 0, T_FLOAT, &a->x_type));
    TRY(gpu_type(c, c->n_in, T_FLOAT, &a->y_type));
    return gpu_add(c, w, &l);
}
