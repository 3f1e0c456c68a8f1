/* SPDX-License-Identifier: Apache-2.0 */
/* Networks for estimates: real graphs whose weights are all zero. */
#ifndef BENCH_COST_GRAPH_H
#define BENCH_COST_GRAPH_H

#include "ir/ir.h"

enum cost_type { COST_FLOAT, COST_W8A8, COST_W8A16, COST_TYPES };

struct cost_graph {
    enum cost_type type;
    struct ir_graph *g;
    uint32_t n;          /* names so far */
    const void *zeros;   /* all weights */
};

/* One activation: its tensor and what is needed to go on. */
struct cost_act {
    uint32_t t, h, w, c;
    uint32_t frames; /* of a video, in five dimensions; 0: an image in four */
};

/* Fills g->g, to be freed with ir_graph_free; what goes wrong ends the program. */
void cost_graph_start(struct cost_graph *g, const char *name, enum cost_type type);
struct cost_act cost_input(struct cost_graph *g, uint32_t h, uint32_t w, uint32_t c);
struct cost_act cost_constant(struct cost_graph *g, uint32_t h, uint32_t w, uint32_t c);
void cost_output(struct cost_graph *g, struct cost_act x); /* the last thing that is done with it */
struct cost_act cost_conv(struct cost_graph *g, struct cost_act x, uint32_t out, uint32_t kernel, uint32_t stride,
                          uint32_t groups);
struct cost_act cost_conv_wide(struct cost_graph *g, struct cost_act x, uint32_t out, const uint32_t kernel[2],
                               uint32_t stride); /* height and width of the kernel */
struct cost_act cost_dilated(struct cost_graph *g, struct cost_act x, uint32_t out, uint32_t kernel, uint32_t dilation);
struct cost_act cost_depthwise(struct cost_graph *g, struct cost_act x, uint32_t kernel, uint32_t stride);
struct cost_act cost_dilated_depthwise(struct cost_graph *g, struct cost_act x, uint32_t kernel, uint32_t dilation);
struct cost_act cost_video(struct cost_graph *g, uint32_t frames, uint32_t h, uint32_t w, uint32_t c); /* an input */
/* kernel: frames, height and width; as many frames come out. */
struct cost_act cost_conv3d(struct cost_graph *g, struct cost_act x, uint32_t out, const uint32_t kernel[3],
                            uint32_t stride);
struct cost_act cost_up_conv(struct cost_graph *g, struct cost_act x, uint32_t out); /* 2 x 2, stride 2 */
/* A sequence that becomes `stride` times as long; kernel - stride is even. */
struct cost_act cost_up_sequence(struct cost_graph *g, struct cost_act x, uint32_t out, uint32_t kernel, uint32_t stride);
/* kernel 0: all of the image. */
struct cost_act cost_pool(struct cost_graph *g, struct cost_act x, const char *op, uint32_t kernel, uint32_t stride);
struct cost_act cost_pool_lines(struct cost_graph *g, struct cost_act x, const char *op, uint32_t lines); /* to one each */
/* Element-wise, or over the last dimension. */
struct cost_act cost_unary(struct cost_graph *g, struct cost_act x, const char *op);
struct cost_act cost_binary(struct cost_graph *g, struct cost_act x, struct cost_act y, const char *op);
struct cost_act cost_reduce(struct cost_graph *g, struct cost_act x, const char *op); /* channels to one */
struct cost_act cost_lstm(struct cost_graph *g, struct cost_act x, uint32_t out);     /* along the width */
struct cost_act cost_sum_lines(struct cost_graph *g, struct cost_act x, uint32_t n);  /* of n lines, to one each */
struct cost_act cost_running_sum(struct cost_graph *g, struct cost_act x);            /* along the width */
struct cost_act cost_silu(struct cost_graph *g, struct cost_act x);
struct cost_act cost_concat(struct cost_graph *g, const struct cost_act *x, uint32_t n); /* channels */
struct cost_act cost_rows(struct cost_graph *g, const struct cost_act *x, uint32_t n);   /* tokens: one behind the other */
struct cost_act cost_part(struct cost_graph *g, struct cost_act x, uint32_t first, uint32_t channels); /* a slice */
struct cost_act cost_tokens(struct cost_graph *g, struct cost_act x, uint32_t first, uint32_t n); /* some rows */
struct cost_act cost_lengthened(struct cost_graph *g, struct cost_act x, uint32_t before, uint32_t after); /* by zeros */
struct cost_act cost_look_up(struct cost_graph *g, struct cost_act x, uint32_t n); /* n rows, by numbers that come in */
struct cost_act cost_pick(struct cost_graph *g, struct cost_act x,
                          uint32_t channels); /* of every row, others than of the next */
/* Pixels at places of x, which has `images` images one above the other; places has two channels. */
struct cost_act cost_sample(struct cost_graph *g, struct cost_act x, struct cost_act places, uint32_t images);
struct cost_act cost_dense(struct cost_graph *g, struct cost_act x, uint32_t out);
/* Per image row: h matrices of w x c. */
struct cost_act cost_matmul(struct cost_graph *g, struct cost_act x, struct cost_act y, bool transposed);
struct cost_act cost_view(struct cost_graph *g, struct cost_act x, uint32_t h, uint32_t w, uint32_t c);    /* Reshape */
struct cost_act cost_swap(struct cost_graph *g, struct cost_act x); /* Transpose of height and width */
struct cost_act cost_turn(struct cost_graph *g, struct cost_act x); /* of width and channels */
struct cost_act cost_resize(struct cost_graph *g, struct cost_act x, const char *op, uint32_t h, uint32_t w);
/* DepthToSpace, SpaceToDepth. */
struct cost_act cost_blocks(struct cost_graph *g, struct cost_act x, const char *op, uint32_t size);

/* 4 stages of residual blocks: 1 x 1 to `inner`, 3 x 3 in groups, 1 x 1 to four times 64 … 512 (cost_nets.c). */
struct cost_act cost_residual(struct cost_graph *g, struct cost_act image, const uint32_t blocks[4], uint32_t inner,
                              uint32_t groups);

/* The same behind a stem, with windows of 1 x 1 and 3 x 3, that are further apart instead of smaller images from stage
 * `dilated` on (cost_nets_pixels.c). */
struct cost_act cost_residual_dilated(struct cost_graph *g, struct cost_act x, const uint32_t blocks[4], uint32_t dilated);

/* cost_nets_cells.c: networks that came after the rules */
void cost_diffusion_step(struct cost_graph *g);
void cost_hand_landmarks(struct cost_graph *g);
void cost_nasnet(struct cost_graph *g);
void cost_yolov3_tiny(struct cost_graph *g);

/* cost_nets_faces.c: faces and hands */
void cost_face_attributes(struct cost_graph *g);
void cost_face_det_lite(struct cost_graph *g);
void cost_face_landmarks(struct cost_graph *g);
void cost_gestures(struct cost_graph *g);
void cost_palms(struct cost_graph *g);

/* cost_nets_light.c: light networks for cameras, and a large detector */
void cost_gear_guard(struct cost_graph *g);
void cost_selfie(struct cost_graph *g);
void cost_sinet(struct cost_graph *g);
void cost_yolor(struct cost_graph *g);

/* cost_nets_windows.c: attention in windows, and answers from codes */
void cost_mobile_sam(struct cost_graph *g);
void cost_mobile_sam_decoder(struct cost_graph *g);
void cost_sam2_decoder(struct cost_graph *g);
void cost_sam2_encoder(struct cost_graph *g);
void cost_zipformer_joiner(struct cost_graph *g);

/* cost_nets_more.c */
void cost_aotgan(struct cost_graph *g);
void cost_craft(struct cost_graph *g);
void cost_depth_anything(struct cost_graph *g);
void cost_detr50(struct cost_graph *g);
void cost_detr101(struct cost_graph *g);
void cost_efficientformer(struct cost_graph *g);
void cost_hrnet_w32(struct cost_graph *g);
void cost_vgg_boxes(struct cost_graph *g);
void cost_video_mae(struct cost_graph *g);
void cost_yolov5m(struct cost_graph *g);
void cost_yolov7_tiny(struct cost_graph *g);

/* cost_nets_pixels.c: large images */
void cost_bisenet(struct cost_graph *g);
void cost_blaze_face(struct cost_graph *g);
void cost_ddrnet23_slim(struct cost_graph *g);
void cost_deeplab_xception(struct cost_graph *g);
void cost_ffnet54s(struct cost_graph *g);
void cost_ffnet78s(struct cost_graph *g);
void cost_mc3_18(struct cost_graph *g);
void cost_pspnet(struct cost_graph *g);
void cost_vae_decoder(struct cost_graph *g);
void cost_xlsr(struct cost_graph *g);

/* cost_nets_tokens.c: attention, and steps of decoders */
void cost_act_policy(struct cost_graph *g);
void cost_conditional_detr(struct cost_graph *g);
void cost_detr50_dc5(struct cost_graph *g);
void cost_efficientvit_b2(struct cost_graph *g);
void cost_opus_decoder(struct cost_graph *g);
void cost_trocr_decoder(struct cost_graph *g);
void cost_whisper_tiny_decoder(struct cost_graph *g);
void cost_whisper_small_decoder(struct cost_graph *g);
void cost_whisper_large_decoder(struct cost_graph *g);
void cost_yolov11n(struct cost_graph *g);

/* cost_nets_tracks.c: objects in videos, in images, and around a car */
void cost_centerpoint(struct cost_graph *g);
void cost_hrnet_w48_ocr(struct cost_graph *g);
void cost_rtmdet(struct cost_graph *g);
void cost_track_key(struct cost_graph *g);
void cost_track_key_kept(struct cost_graph *g);
void cost_track_segment(struct cost_graph *g);
void cost_track_value(struct cost_graph *g);

/* cost_nets_views.c: around a car, how far away, words from sound in steps */
void cost_bert(struct cost_graph *g);
void cost_depth_anything_v3(struct cost_graph *g);
void cost_gkt(struct cost_graph *g);
void cost_internimage(struct cost_graph *g);
void cost_zipformer_decoder(struct cost_graph *g);
void cost_zipformer_encoder(struct cost_graph *g);

/* cost_nets_voices.c: speech from text, and text from images of it */
void cost_text_recognizer(struct cost_graph *g);
void cost_voice_encoder(struct cost_graph *g);
void cost_voice_flow(struct cost_graph *g);
void cost_voice_samples(struct cost_graph *g);
void cost_spelling_decoder(struct cost_graph *g);
void cost_spelling_encoder(struct cost_graph *g);

/* What a network was used for: numbers were fitted on it, its errors were looked at when rules were made, or it was built
 * and estimated before any of its errors was known. */
enum cost_use { COST_FITTED, COST_SEEN, COST_BLIND, COST_USES };

/* The networks of the list that are rebuilt; NULL name ends it. */
struct cost_net {
    const char *model, *component; /* as the list has them; component NULL: any */
    const char *family;            /* networks that resemble each other */
    enum cost_use use;
    void (*build)(struct cost_graph *g);
};
extern const struct cost_net cost_nets[];

#endif
