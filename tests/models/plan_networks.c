/* SPDX-License-Identifier: Apache-2.0 */
/* The memory plans of whole networks: as small as any order of their operators allows.
 *
 *     plan_networks MODELS_DIR [--tsv]
 *
 * Every network is converted and prepared twice for memory as LPAI has it (inputs and outputs in scratch), in the order it
 * was given and in the order that plan_order chooses. Printed: operators, scratch; the lower bound of all orders; scratch in
 * the order given; what the plain method needs there (largest tensor first, nothing in place); persistent memory;
 * milliseconds of prepare without and with the choice of an order. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "model_run.h"
#include "prepare/plan.h"
#include "prepare/prepare.h"

enum { ALIGN = 64, SKIP = 77 };

static const char *const networks[] = {
    "dtln/model_1.onnx",
    "dtln/model_2.onnx",
    "dtln/model_quant_1.tflite",
    "dtln/model_quant_2.tflite",
    "litert/rope.tflite",
    "mlperf-tiny/ad_autoencoder_float.tflite",
    "mlperf-tiny/ad_autoencoder_int8.tflite",
    "mlperf-tiny/ic_resnet8_float.tflite",
    "mlperf-tiny/ic_resnet8_int8.tflite",
    "mlperf-tiny/kws_dscnn_float_hybrid.tflite",
    "mlperf-tiny/kws_dscnn_int8.tflite",
    "mlperf-tiny/vww_mobilenetv1_float.tflite",
    "mlperf-tiny/vww_mobilenetv1_int8.tflite",
    "onnx-light/light_resnet50.onnx",
    "onnx-light/light_squeezenet.onnx",
    "onnx/mnist.onnx",
    "onnx/qdq_multi_consumer_8bit.onnx",
    "silero/silero_vad_16k_static.onnx",
    "tflm/hello_world_int8.tflite",
    "tflm/micro_speech_int8.tflite",
    "tflm/mnist_lstm_int8.tflite",
    "tflm/person_detect_int8.tflite",
    "vision/mobilenet_v1_0.25_128_u8.tflite",
    "vision/mobilenet_v2_1.0_224_int8_ptq.tflite",
    "wakeword/alexa_v2_stream_int8.tflite",
};

struct planned {
    struct binary_image im;
    struct binary b;
    double ms;
};

static bool plan(const struct ir_graph *g, uint64_t order_steps, struct planned *ret)
{
    struct prepare_target t = { .passes = prepare_default_passes,
                                .tensor_align = ALIGN,
                                .io_in_scratch = true,
                                .work_budget = 1,
                                .max_tiles = 1,
                                .order_steps = order_steps,
                                .plan_nodes = 2000000 };
    struct prepare_opts o = { .opt_level = 2 };
    struct ir_graph *copy = NULL;
    if (ir_clone(g, &copy) != ST_OK)
        return false;
    uint64_t start = clock_ns();
    bool ok = prepare(&t, &o, copy, &ret->im) == ST_OK;
    ret->ms = (double)(clock_ns() - start) * 1e-6;
    ir_graph_free(copy);
    return ok && binary_open(ret->im.data, ret->im.size, &ret->b) == ST_OK;
}

static void unplan(struct planned *p)
{
    binary_close(&p->b);
    binary_image_free(&p->im);
}

static bool known(const struct plan_buf *b, size_t n, const struct plan_buf *x)
{
    for (size_t i = 0; i < n; i++)
        if (b[i].fixed == x->fixed && b[i].first == x->first && b[i].last == x->last)
            return true;
    return false;
}

/* Each tensor with its own lifetime and nothing in place, largest first. Views of one memory are one: same place,
 * same time. */
static uint64_t plain_greedy(const struct binary_graph *g)
{
    struct plan_buf *b = calloc(g->n_tensors + g->n_nodes, sizeof(*b));
    size_t n = 0;
    for (uint32_t i = 0; b && i < g->n_tensors; i++) {
        const struct binary_tensor *t = &g->tensors[i];
        struct plan_buf x = { .size = (t->bytes + ALIGN - 1) / ALIGN * ALIGN,
                              .align = ALIGN,
                              .first = t->first,
                              .last = t->last,
                              .fixed = t->offset };
        if (t->place == PLACE_SCRATCH && !known(b, n, &x))
            b[n++] = x;
    }
    for (size_t i = 0; i < n; i++)
        b[i].fixed = PLAN_ANY;
    for (uint32_t k = 0; b && k < g->n_nodes; k++)
        b[n++] =
            (struct plan_buf){ .size = g->nodes[k].work_bytes, .align = ALIGN, .first = k, .last = k, .fixed = PLAN_ANY };
    uint64_t total = b ? plan_greedy_by_size(b, n) : 0;
    free(b);
    return total;
}

static bool report(const char *name, const struct planned *given, const struct planned *chosen, bool tsv)
{
    const struct binary_graph *g = &chosen->b.graphs[0];
    const struct binary_graph_info *i = &g->info;
    uint64_t as_given = given->b.graphs[0].info.scratch_bytes, greedy = plain_greedy(&given->b.graphs[0]);
    printf(tsv ? "%s\t%u\t%llu\t%llu\t%llu\t%llu\t%llu\t%.1f\t%.1f\n"
               : "%-44s %4u operators  scratch %9llu  bound %9llu  given %9llu  greedy %9llu  "
                 "persistent %llu  %.1f ms %.1f ms\n",
           name, g->n_nodes, (unsigned long long)i->scratch_bytes, (unsigned long long)i->order_bytes,
           (unsigned long long)as_given, (unsigned long long)greedy, (unsigned long long)i->persistent_bytes, given->ms,
           chosen->ms);
    if (i->scratch_bytes != i->order_bytes)
        printf("%s: %llu bytes of scratch; the bound of all orders is %llu\n", name, (unsigned long long)i->scratch_bytes,
               (unsigned long long)i->order_bytes);
    return i->scratch_bytes == i->order_bytes && i->scratch_bytes <= as_given;
}

static bool network(const char *dir, const char *name, bool tsv)
{
    char path[4096];
    struct convert_report r;
    struct ir_graph *g = NULL;
    struct planned given = { 0 }, chosen = { 0 };
    size_t size = 0;
    snprintf(path, sizeof(path), "%s/%s", dir, name);
    void *file = read_whole_file(path, &size);
    convert_report_init(&r);
    bool ok = file && (strstr(name, ".onnx") ? convert_onnx(file, size, NULL, &(struct convert_opts){ 0 }, &r, &g)
                                             : convert_tflite(file, size, &(struct convert_opts){ 0 }, &r, &g)) == ST_OK;
    ok = ok && plan(g, 0, &given) && plan(g, 20000000, &chosen);
    if (!ok)
        printf("%s: %s\n", name, file ? status_text() : "cannot be read");
    else
        ok = report(name, &given, &chosen, tsv);
    unplan(&given);
    unplan(&chosen);
    ir_graph_free(g);
    convert_report_finish(&r);
    free(file);
    return ok;
}

int main(int argc, char **argv)
{
    int failed = 0;
    if (argc < 2)
        return fprintf(stderr, "usage: plan_networks MODELS_DIR [--tsv]\n"), 2;
    if (access(argv[1], R_OK))
        return printf("SKIP: there are no models in %s\n", argv[1]), SKIP;
    for (size_t i = 0; i < sizeof(networks) / sizeof(networks[0]); i++)
        failed += !network(argv[1], networks[i], argc > 2 && !strcmp(argv[2], "--tsv"));
    return failed != 0;
}
