/* SPDX-License-Identifier: Apache-2.0 */
/* Networks of the published list of latencies, layer by layer, in the shapes of their papers. */
#include "cost_parts.h"

#define NET(name) static void name(struct cost_graph *g)

static void classify(struct cost_graph *g, act x, uint32_t hidden)
{
    if (hidden)
        x = cost_conv(g, x, hidden, 1, 1, 1);
    x = cost_pool(g, x, "PoolAvg2d", 0, 1);
    cost_output(g, cost_dense(g, x, 1000));
}

/* ---- residual networks ------------------------------------------------------------------------------------------------ */

act cost_residual(struct cost_graph *g, act image, const uint32_t blocks[4], uint32_t inner, uint32_t groups)
{
    act x = cost_pool(g, cost_conv(g, image, 64, 7, 2, 1), "PoolMax2d", 3, 2);
    for (uint32_t stage = 0; stage < 4; stage++)
        for (uint32_t k = 0; k < blocks[stage]; k++) {
            uint32_t stride = !k && stage ? 2 : 1, out = 256u << stage;
            act t = cost_conv(g, x, inner << stage, 1, 1, 1);
            t = cost_conv(g, t, inner << stage, 3, stride, groups);
            t = cost_conv(g, t, out, 1, 1, 1);
            x = k ? x : cost_conv(g, x, out, 1, stride, 1);
            x = cost_unary(g, cost_binary(g, t, x, "ElementWiseAdd"), "Relu"); /* only products do it on the way */
        }
    return x;
}

static void residual(struct cost_graph *g, const uint32_t blocks[4], uint32_t inner, uint32_t groups)
{
    classify(g, cost_residual(g, part_image(g, 224, 224), blocks, inner, groups), 0);
}

static const uint32_t blocks50[] = { 3, 4, 6, 3 }, blocks101[] = { 3, 4, 23, 3 };
NET(resnet50) { residual(g, blocks50, 64, 1); }
NET(wide_resnet50) { residual(g, blocks50, 128, 1); }
NET(resnext50) { residual(g, blocks50, 128, 32); }
NET(resnext101) { residual(g, blocks101, 256, 32); }

/* ---- small networks --------------------------------------------------------------------------------------------------- */

NET(mobilenet_v2)
{
    static const struct {
        uint32_t expand, out, repeat, stride;
    } stages[] = { { 1, 16, 1, 1 }, { 6, 24, 2, 2 },  { 6, 32, 3, 2 }, { 6, 64, 4, 2 },
                   { 6, 96, 3, 1 }, { 6, 160, 3, 2 }, { 6, 320, 1, 1 } };
    act x = cost_conv(g, part_image(g, 224, 224), 32, 3, 2, 1);
    for (uint32_t s = 0; s < 7; s++)
        for (uint32_t k = 0; k < stages[s].repeat; k++) {
            act t = stages[s].expand > 1 ? cost_conv(g, x, x.c * stages[s].expand, 1, 1, 1) : x;
            t = cost_depthwise(g, t, 3, k ? 1 : stages[s].stride);
            t = cost_conv(g, t, stages[s].out, 1, 1, 1);
            x = k ? cost_binary(g, x, t, "ElementWiseAdd") : t;
        }
    classify(g, x, 1280);
}

NET(squeezenet)
{
    static const uint32_t fires[8][2] = { { 16, 64 },  { 16, 64 },  { 32, 128 }, { 32, 128 },
                                          { 48, 192 }, { 48, 192 }, { 64, 256 }, { 64, 256 } };
    act x = cost_conv(g, part_image(g, 224, 224), 64, 3, 2, 1);
    for (uint32_t i = 0; i < 8; i++) {
        x = i == 0 || i == 2 || i == 4 ? cost_pool(g, x, "PoolMax2d", 3, 2) : x;
        act s = cost_conv(g, x, fires[i][0], 1, 1, 1);
        act both[] = { cost_conv(g, s, fires[i][1], 1, 1, 1), cost_conv(g, s, fires[i][1], 3, 1, 1) };
        x = cost_concat(g, both, 2);
    }
    x = cost_conv(g, x, 1000, 1, 1, 1);
    cost_output(g, cost_pool(g, x, "PoolAvg2d", 0, 1));
}

static act shuffle(struct cost_graph *g, act a, act b)
{
    act both[] = { a, b };
    return cost_unary(g, cost_concat(g, both, 2), "ChannelShuffle");
}

/* Width 0.5. */
NET(shufflenet_v2)
{
    static const uint32_t stages[3][2] = { { 48, 4 }, { 96, 8 }, { 192, 4 } };
    act x = cost_conv(g, part_image(g, 224, 224), 24, 3, 2, 1);
    x = cost_pool(g, x, "PoolMax2d", 3, 2);
    for (uint32_t s = 0; s < 3; s++)
        for (uint32_t k = 0; k < stages[s][1]; k++) {
            uint32_t half = stages[s][0] / 2, stride = k ? 1 : 2;
            act a = k ? cost_part(g, x, 0, half) : cost_conv(g, cost_depthwise(g, x, 3, 2), half, 1, 1, 1);
            act b = k ? cost_part(g, x, half, half) : x;
            b = cost_conv(g, cost_depthwise(g, cost_conv(g, b, half, 1, 1, 1), 3, stride), half, 1, 1, 1);
            x = shuffle(g, a, b);
        }
    classify(g, x, 1024);
}

/* ---- EfficientNet at 224 x 224, the size that the list's classifiers are exported in ---------------------------------- */

struct mb {
    uint32_t expand, out, repeat, stride, kernel, se; /* se: 0 the expansion and the filter are one 3 x 3 convolution */
};

static act squeeze(struct cost_graph *g, act t, uint32_t inner)
{
    act s = cost_pool(g, t, "PoolAvg2d", 0, 1);
    s = cost_conv(g, cost_silu(g, cost_conv(g, s, inner, 1, 1, 1)), t.c, 1, 1, 1);
    return cost_binary(g, t, cost_unary(g, s, "Sigmoid"), "ElementWiseMultiply");
}

static act mb_block(struct cost_graph *g, act x, const struct mb *m, uint32_t stride)
{
    act t = x;
    if (!m->se) {
        t = cost_silu(g, cost_conv(g, t, m->expand > 1 ? x.c * m->expand : m->out, 3, stride, 1));
        t = m->expand > 1 ? cost_conv(g, t, m->out, 1, 1, 1) : t;
    } else {
        t = m->expand > 1 ? cost_silu(g, cost_conv(g, t, x.c * m->expand, 1, 1, 1)) : t;
        t = cost_silu(g, cost_depthwise(g, t, m->kernel, stride));
        t = cost_conv(g, squeeze(g, t, x.c / 4), m->out, 1, 1, 1);
    }
    return stride == 1 && x.c == m->out ? cost_binary(g, x, t, "ElementWiseAdd") : t;
}

static void efficientnet(struct cost_graph *g, uint32_t size, uint32_t first, const struct mb *stages, uint32_t n,
                         uint32_t head)
{
    act x = cost_silu(g, cost_conv(g, part_image(g, size, size), first, 3, 2, 1));
    for (uint32_t s = 0; s < n; s++)
        for (uint32_t k = 0; k < stages[s].repeat; k++)
            x = mb_block(g, x, &stages[s], k ? 1 : stages[s].stride);
    classify(g, x, head);
}

NET(efficientnet_v2_s)
{
    static const struct mb s[] = { { 1, 24, 2, 1, 3, 0 },  { 4, 48, 4, 2, 3, 0 },  { 4, 64, 4, 2, 3, 0 },
                                   { 4, 128, 6, 2, 3, 1 }, { 6, 160, 9, 1, 3, 1 }, { 6, 256, 15, 2, 3, 1 } };
    efficientnet(g, 224, 24, s, 6, 1280);
}

NET(efficientnet_b4)
{
    static const struct mb s[] = { { 1, 24, 2, 1, 3, 1 },  { 6, 32, 4, 2, 3, 1 },  { 6, 56, 4, 2, 5, 1 },
                                   { 6, 112, 6, 2, 3, 1 }, { 6, 160, 6, 1, 5, 1 }, { 6, 272, 8, 2, 5, 1 },
                                   { 6, 448, 2, 1, 3, 1 } };
    efficientnet(g, 224, 48, s, 7, 1792);
}

/* ---- U-Net, 640 x 1280 ------------------------------------------------------------------------------------------------ */

static act twice(struct cost_graph *g, act x, uint32_t out)
{
    return cost_conv(g, cost_conv(g, x, out, 3, 1, 1), out, 3, 1, 1);
}

NET(unet)
{
    act down[4], x = cost_input(g, 640, 1280, 3);
    for (uint32_t i = 0; i < 4; i++) {
        down[i] = twice(g, x, 64u << i);
        x = cost_pool(g, down[i], "PoolMax2d", 2, 2);
    }
    x = twice(g, x, 1024);
    for (uint32_t i = 4; i-- > 0;) {
        act both[] = { down[i], cost_up_conv(g, x, 64u << i) };
        x = twice(g, cost_concat(g, both, 2), 64u << i);
    }
    cost_output(g, cost_conv(g, x, 2, 1, 1, 1));
}

/* ---- transformers ----------------------------------------------------------------------------------------------------- */

struct former {
    uint32_t tokens, width, heads, layers, inner;
    bool add_bias; /* on the scores */
};

/* Rows of all heads to rows of each, and back. */
static act heads_of(struct cost_graph *g, act x, const struct former *f)
{
    return cost_swap(g, cost_view(g, x, f->tokens, f->heads, f->width / f->heads));
}

static act attention(struct cost_graph *g, act x, const struct former *f)
{
    act q = heads_of(g, cost_dense(g, x, f->width), f);
    act k = heads_of(g, cost_dense(g, x, f->width), f);
    act v = heads_of(g, cost_dense(g, x, f->width), f);
    act s = cost_matmul(g, q, k, true);
    s = f->add_bias ? cost_binary(g, s, cost_constant(g, 1, f->tokens, f->tokens), "ElementWiseAdd") : s;
    s = cost_matmul(g, cost_unary(g, s, "Softmax"), v, false);
    return cost_dense(g, cost_view(g, cost_swap(g, s), 1, f->tokens, f->width), f->width);
}

static act transformer(struct cost_graph *g, act x, const struct former *f)
{
    for (uint32_t i = 0; i < f->layers; i++) {
        x = cost_binary(g, x, attention(g, cost_unary(g, x, "LayerNorm"), f), "ElementWiseAdd");
        act t = cost_unary(g, cost_dense(g, cost_unary(g, x, "LayerNorm"), f->inner), "Gelu");
        x = cost_binary(g, x, cost_dense(g, t, f->width), "ElementWiseAdd");
    }
    return x;
}

/* As its export script has it: products are 1 x 1 convolutions, and every head is computed by itself. */
static act heads_alone(struct cost_graph *g, act x, const struct former *f)
{
    act heads[32];
    uint32_t each = f->width / f->heads;
    for (uint32_t i = 0; i < f->heads; i++) {
        act q = cost_conv(g, x, each, 1, 1, 1), k = cost_conv(g, x, each, 1, 1, 1), v = cost_conv(g, x, each, 1, 1, 1);
        heads[i] = cost_matmul(g, cost_unary(g, cost_matmul(g, q, k, true), "Softmax"), v, false);
    }
    return cost_conv(g, cost_concat(g, heads, f->heads), f->width, 1, 1, 1);
}

static void whisper(struct cost_graph *g, uint32_t mels, const struct former *f)
{
    act x = cost_unary(g, cost_conv(g, cost_input(g, 1, 3000, mels), f->width, 3, 1, 1), "Gelu");
    x = cost_unary(g, cost_conv(g, x, f->width, 3, 2, 1), "Gelu");
    for (uint32_t i = 0; i < f->layers; i++) {
        x = part_add(g, x, heads_alone(g, part_norm(g, x), f));
        act t = cost_unary(g, cost_conv(g, part_norm(g, x), f->inner, 1, 1, 1), "Gelu");
        x = part_add(g, x, cost_conv(g, t, f->width, 1, 1, 1));
    }
    cost_output(g, part_norm(g, x));
}

NET(whisper_tiny) { whisper(g, 80, &(struct former){ 1500, 384, 6, 4, 1536, false }); }
NET(whisper_small) { whisper(g, 80, &(struct former){ 1500, 768, 12, 12, 3072, false }); }
NET(whisper_large) { whisper(g, 128, &(struct former){ 1500, 1280, 20, 32, 5120, false }); }

/* Token embeddings come in, scores of all words go out. */
static void language(struct cost_graph *g, const struct former *f, uint32_t words)
{
    act x = transformer(g, cost_input(g, 1, f->tokens, f->width), f);
    cost_output(g, cost_dense(g, x, words));
}

NET(distilbert) { language(g, &(struct former){ 384, 768, 12, 6, 3072, true }, 30522); }
NET(albert) { language(g, &(struct former){ 384, 768, 12, 12, 3072, true }, 30000); }

NET(beit)
{
    act x = cost_conv(g, part_image(g, 224, 224), 768, 16, 16, 1);
    act both[] = { cost_constant(g, 1, 1, 768), cost_view(g, x, 1, 196, 768) };
    x = transformer(g, cost_rows(g, both, 2), &(struct former){ 197, 768, 12, 12, 3072, true });
    cost_output(g, cost_dense(g, x, 1000));
}

/* The encoders of translation, of text for images, and of images for text. */
static void encoder(struct cost_graph *g, const struct former *f)
{
    cost_output(g, cost_unary(g, transformer(g, cost_input(g, 1, f->tokens, f->width), f), "LayerNorm"));
}

NET(opus_mt) { encoder(g, &(struct former){ 256, 512, 8, 6, 2048, true }); }
NET(clip_text) { encoder(g, &(struct former){ 77, 768, 12, 12, 3072, true }); }
NET(trocr) { encoder(g, &(struct former){ 578, 384, 6, 12, 1536, false }); }

const struct cost_net cost_nets[] = {
    { "resnet50", NULL, "residual", COST_FITTED, resnet50 },
    { "mobilenet_v2", NULL, "small", COST_FITTED, mobilenet_v2 },
    { "wideresnet50", NULL, "residual", COST_FITTED, wide_resnet50 },
    { "squeezenet1_1", NULL, "small", COST_FITTED, squeezenet },
    { "unet_segmentation", NULL, "scenes", COST_FITTED, unet },
    { "distil_bert_base_uncased_hf", NULL, "text", COST_FITTED, distilbert },
    { "whisper_tiny", "HfWhisperEncoder", "whisper", COST_FITTED, whisper_tiny },
    { "efficientnet_b4", NULL, "efficient", COST_FITTED, efficientnet_b4 },
    { "resnext50", NULL, "residual", COST_FITTED, resnext50 },
    { "resnext101", NULL, "residual", COST_FITTED, resnext101 },
    { "shufflenet_v2", NULL, "small", COST_FITTED, shufflenet_v2 },
    { "efficientnet_v2_s", NULL, "efficient", COST_FITTED, efficientnet_v2_s },
    { "albert_base_v2_hf", NULL, "text", COST_FITTED, albert },
    { "beit", NULL, "vision", COST_FITTED, beit },
    { "whisper_small", "HfWhisperEncoder", "whisper", COST_FITTED, whisper_small },
    { "whisper_large_v3_turbo", "HfWhisperEncoder", "whisper", COST_FITTED, whisper_large },
    { "opus_mt_en_es", "OpusMTEncoder", "translation", COST_FITTED, opus_mt },
    { "stable_diffusion_v1_5", "text_encoder", "diffusion", COST_FITTED, clip_text },
    { "trocr", "TrOCREncoder", "vision", COST_FITTED, trocr },
    { "aotgan", NULL, "painting", COST_FITTED, cost_aotgan },
    { "deepbox", "VGG3DDetection", "vgg", COST_FITTED, cost_vgg_boxes },
    { "depth_anything", NULL, "vision", COST_FITTED, cost_depth_anything },
    { "detr_resnet50", NULL, "detr", COST_FITTED, cost_detr50 },
    { "detr_resnet101", NULL, "detr", COST_FITTED, cost_detr101 },
    { "easyocr", "EasyOCRDetector", "vgg", COST_FITTED, cost_craft },
    { "efficientformer", NULL, "efficient", COST_FITTED, cost_efficientformer },
    { "hrnet_pose", NULL, "pose", COST_FITTED, cost_hrnet_w32 },
    { "video_mae", NULL, "vision", COST_SEEN, cost_video_mae },
    { "yolov5", NULL, "yolo", COST_FITTED, cost_yolov5m },
    { "yolov7", NULL, "yolo", COST_FITTED, cost_yolov7_tiny },
    { "act", NULL, "detr", COST_FITTED, cost_act_policy },
    { "bisenet", NULL, "scenes", COST_FITTED, cost_bisenet },
    { "conditional_detr_resnet50", NULL, "detr", COST_FITTED, cost_conditional_detr },
    { "ddrnet23_slim", NULL, "scenes", COST_SEEN, cost_ddrnet23_slim },
    { "deeplab_xception", NULL, "scenes", COST_FITTED, cost_deeplab_xception },
    { "detr_resnet50_dc5", NULL, "detr", COST_FITTED, cost_detr50_dc5 },
    { "efficientvit_b2_cls", NULL, "efficient", COST_FITTED, cost_efficientvit_b2 },
    { "ffnet_54s", NULL, "scenes", COST_FITTED, cost_ffnet54s },
    { "ffnet_78s", NULL, "scenes", COST_FITTED, cost_ffnet78s },
    { "mediapipe_face", "FaceDetector", "mediapipe", COST_FITTED, cost_blaze_face },
    { "opus_mt_en_es", "OpusMTDecoder", "decoder", COST_FITTED, cost_opus_decoder },
    { "pspnet", NULL, "scenes", COST_SEEN, cost_pspnet },
    { "resnet_mixed", NULL, "video", COST_FITTED, cost_mc3_18 },
    { "stable_diffusion_v1_5", "vae", "diffusion", COST_FITTED, cost_vae_decoder },
    { "trocr", "TrOCRDecoder", "decoder", COST_FITTED, cost_trocr_decoder },
    { "whisper_large_v3_turbo", "HfWhisperDecoder", "decoder", COST_FITTED, cost_whisper_large_decoder },
    { "whisper_small", "HfWhisperDecoder", "decoder", COST_FITTED, cost_whisper_small_decoder },
    { "whisper_tiny", "HfWhisperDecoder", "decoder", COST_FITTED, cost_whisper_tiny_decoder },
    { "xlsr", NULL, "painting", COST_FITTED, cost_xlsr },
    { "yolov11_det", NULL, "yolo", COST_FITTED, cost_yolov11n },
    { "face_attrib_net", NULL, "residual", COST_FITTED, cost_face_attributes },
    { "face_det_lite", NULL, "faces", COST_FITTED, cost_face_det_lite },
    { "gear_guard_net", NULL, "yolo", COST_FITTED, cost_gear_guard },
    { "mediapipe_face", "FaceLandmarkDetector", "mediapipe", COST_FITTED, cost_face_landmarks },
    { "mediapipe_hand_gesture", "CannedGestureClassifier", "mediapipe", COST_FITTED, cost_gestures },
    { "mediapipe_hand_gesture", "PalmDetector", "mediapipe", COST_FITTED, cost_palms },
    { "mediapipe_selfie", NULL, "mediapipe", COST_FITTED, cost_selfie },
    { "mobilesam", "MobileSAMEncoder", "sam", COST_FITTED, cost_mobile_sam },
    { "sam2", "SAM2Encoder", "sam", COST_FITTED, cost_sam2_encoder },
    { "sinet", NULL, "portraits", COST_SEEN, cost_sinet },
    { "yolor", NULL, "yolo", COST_FITTED, cost_yolor },
    { "zipformer", "ZipformerJoiner", "speech", COST_FITTED, cost_zipformer_joiner },
    { "deepbox", "Yolo2DDetection", "yolo", COST_FITTED, cost_yolov3_tiny },
    { "mediapipe_hand_gesture", "HandLandmarkDetector", "mediapipe", COST_FITTED, cost_hand_landmarks },
    { "mobilesam", "MobileSAMDecoder", "sam", COST_FITTED, cost_mobile_sam_decoder },
    { "nasnet", NULL, "search", COST_FITTED, cost_nasnet },
    { "sam2", "SAM2Decoder", "sam", COST_FITTED, cost_sam2_decoder },
    { "stable_diffusion_v1_5", "unet", "diffusion", COST_FITTED, cost_diffusion_step },
    { "centerpoint", NULL, "tracks", COST_SEEN, cost_centerpoint },
    { "easyocr", "EasyOCRRecognizer", "recurrent", COST_FITTED, cost_text_recognizer },
    { "hrnet_w48_ocr", NULL, "pose", COST_SEEN, cost_hrnet_w48_ocr },
    { "melotts_en", "Decoder_EN", "voices", COST_SEEN, cost_voice_samples },
    { "melotts_en", "Encoder_EN", "voices", COST_FITTED, cost_voice_encoder },
    { "melotts_en", "Flow_EN", "voices", COST_SEEN, cost_voice_flow },
    { "melotts_en", "T5Decoder_EN", "voices", COST_FITTED, cost_spelling_decoder },
    { "melotts_en", "T5Encoder_EN", "voices", COST_FITTED, cost_spelling_encoder },
    { "rtmdet", NULL, "yolo", COST_FITTED, cost_rtmdet },
    { "track_anything", "TrackAnythingEncodeKeyWithShrinkage", "tracks", COST_FITTED, cost_track_key },
    { "track_anything", "TrackAnythingEncodeKeyWithoutShrinkage", "tracks", COST_FITTED, cost_track_key_kept },
    { "track_anything", "TrackAnythingEncodeValue", "tracks", COST_FITTED, cost_track_value },
    { "track_anything", "TrackAnythingSegment", "tracks", COST_FITTED, cost_track_segment },
    { "depth_anything_v2", NULL, "vision", COST_FITTED, cost_depth_anything },
    { "depth_anything_v3", NULL, "vision", COST_FITTED, cost_depth_anything_v3 },
    { "gkt", NULL, "tracks", COST_FITTED, cost_gkt },
    { "internimage", NULL, "efficient", COST_FITTED, cost_internimage },
    { "melotts_en", "BertWrapper_EN", "text", COST_FITTED, cost_bert },
    { "opus_mt_es_en", "OpusMTDecoder", "decoder", COST_FITTED, cost_opus_decoder },
    { "opus_mt_es_en", "OpusMTEncoder", "translation", COST_FITTED, opus_mt },
    { "opus_mt_zh_en", "OpusMTDecoder", "decoder", COST_FITTED, cost_opus_decoder },
    { "opus_mt_zh_en", "OpusMTEncoder", "translation", COST_FITTED, opus_mt },
    { "zipformer", "ZipformerDecoder", "speech", COST_FITTED, cost_zipformer_decoder },
    { "zipformer", "ZipformerEncoder", "speech", COST_FITTED, cost_zipformer_encoder },
    { 0 },
};
