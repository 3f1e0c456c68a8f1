/* SPDX-License-Identifier: Apache-2.0 */
/* Resizing of [batch, (depth, height,) width, channels]: docs/numerics.md section 8. */
#ifndef KERNELS_RESIZE_RESIZE_H
#define KERNELS_RESIZE_RESIZE_H

#include "kernels/kernels.h"
#include "kernels/mover.h"

enum resize_kind {
    RESIZE_NEAREST,
    RESIZE_LINEAR,
    RESIZE_CUBIC,
    RESIZE_SMOOTH
}; /* Resize's interpolation_mode; linear with antialias */

/* Resize's transformation_mode; then what ResizeNearestNeighbor does with half_pixel_centers. */
enum resize_coord { COORD_HALF_PIXEL, COORD_PYTORCH_HALF_PIXEL, COORD_ALIGN_CORNERS, COORD_ASYMMETRIC, COORD_CENTER };

enum resize_round { ROUND_PREFER_FLOOR, ROUND_PREFER_CEIL, ROUND_FLOOR, ROUND_CEIL }; /* Resize's nearest_mode */

struct resize_args {
    enum resize_kind kind;
    enum resize_coord coord;
    enum resize_round round;
    bool exclude_outside;
    float cubic;
    uint32_t first;          /* dimensions first … 2 are resized; the others are 1 */
    uint32_t batch, channels;
    uint32_t in[3], out[3];
    struct codec src, dst;   /* linear, cubic */
    struct mover mover;      /* nearest */
};

kernel_fn resize_ref, resize_avx2, resize_avx512;

#endif
