/* SPDX-License-Identifier: Apache-2.0 */
/* Regions of interest: RoiAlign, RoiPooling, HeatMapMaxKeyPoint. docs/numerics.md section 12. */
#ifndef KERNELS_ROI_ROI_H
#define KERNELS_ROI_ROI_H

#include "kernels/kernels.h"
#include "kernels/span.h"

enum { ROI_MAX_SAMPLES = 1024 /* per bin and direction, so that a roi of any size ends */ };

struct roi_args {
    uint32_t batch, rois, channels;
    uint32_t in[2], out[2];     /* height, width */
    float ratio[2];             /* image size / feature map size */
    int32_t samples[2];         /* RoiAlign: per bin, 0: as many as the bin has pixels */
    bool aligned, allow_invalid;
    enum dtype index_type;
    struct codec src, dst, roi;
};

struct heat_map_args {
    uint32_t boxes, height, width, points;
    struct codec map, box, score, point;
};

kernel_fn roi_align_ref, roi_align_avx2, roi_align_avx512;
kernel_fn roi_pool_ref, roi_pool_avx2, roi_pool_avx512;
kernel_fn heat_map_ref, heat_map_avx2, heat_map_avx512;

#endif
