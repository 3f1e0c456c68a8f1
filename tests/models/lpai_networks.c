/* SPDX-License-Identifier: Apache-2.0 */
/* Fixed-point networks on libQnnLpai.so: the same bits as on libQnnCpu.so, in a plan that is proven to be the smallest.
 *
 *     lpai_networks LIBQNNCPU LIBQNNLPAI MODELS_DIR
 *
 * Prints one line per network: scratch with inputs and outputs in it, its lower bound, persistent memory. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <QNN/LPAI/QnnLpaiGraph.h>

#include "binary/binary.h"
#include "model_run.h"

enum { STEPS = 4, ALIGN = 64, SKIP = 77 };

static const char *const networks[] = {
    "mlperf-tiny/ad_autoencoder_int8", "mlperf-tiny/ic_resnet8_int8",  "mlperf-tiny/kws_dscnn_int8",   "mlperf-tiny/vww_mobilenetv1_int8",
    "tflm/hello_world_int8",           "tflm/micro_speech_int8",       "tflm/mnist_lstm_int8",         "tflm/person_detect_int8",
    "vision/mobilenet_v1_0.25_128_u8", "vision/mobilenet_v2_1.0_224_int8_ptq", "wakeword/alexa_v2_stream_int8",
};

static uint32_t ask(struct compose *c, uint32_t option)
{
    uint32_t size = 0;
    QnnLpaiGraph_CustomProperty_t custom = {option, &size};
    QnnGraph_Property_t p = {.option = QNN_GRAPH_PROPERTY_OPTION_CUSTOM, .customProperty = &custom};
    QnnGraph_Property_t *list[] = {&p, NULL};
    return c->q.graphGetProperty(c->graph, list) == QNN_SUCCESS ? size : UINT32_MAX;
}

static void *give(struct compose *c, uint32_t option, uint32_t size)
{
    QnnLpaiGraph_Mem_t mem = {QNN_LPAI_MEM_TYPE_DDR, size, size ? aligned_alloc(ALIGN, size) : NULL};
    QnnLpaiGraph_CustomConfig_t custom = {option, &mem};
    QnnGraph_Config_t config = {.option = QNN_GRAPH_CONFIG_OPTION_CUSTOM, .customConfig = &custom};
    const QnnGraph_Config_t *list[] = {&config, NULL};
    if (mem.addr)
        memset(mem.addr, 0xA5, size);
    return c->q.graphSetConfig(c->graph, list) == QNN_SUCCESS ? mem.addr : NULL;
}

/* LPAI wants buffers that are aligned. */
static void align_buffers(struct model_run *m)
{
    for (size_t i = 0; i < m->g->tensors.n; i++) {
        if (!m->data[i])
            continue;
        size_t bytes = desc_bytes(&m->g->tensors.at[i].desc);
        void *p = aligned_alloc(ALIGN, (bytes + ALIGN - 1) / ALIGN * ALIGN);
        if (!p)
            abort();
        memcpy(p, m->data[i], bytes);
        free(m->data[i]);
        m->data[i] = p;
    }
}

static bool is_state(const struct model_run *m, uint32_t tensor)
{
    for (size_t i = 0; i < m->report.io.n; i++)
        if (m->report.io.at[i].state && ir_find_tensor(m->g, m->report.io.at[i].state) == tensor)
            return true;
    return false;
}

static void fill_inputs(struct model_run *m, uint32_t seed)
{
    for (uint32_t i = 0; i < m->g->tensors.n; i++) {
        if (m->g->tensors.at[i].role != IR_INPUT || is_state(m, i))
            continue;
        for (uint64_t k = 0; k < desc_bytes(&m->g->tensors.at[i].desc); k++) {
            seed = seed * 1664525u + 1013904223u;
            ((uint8_t *)m->data[i])[k] = (uint8_t)(seed >> 24);
        }
    }
}

static bool same_outputs(const struct model_run *a, const struct model_run *b)
{
    for (uint32_t i = 0; i < a->g->tensors.n; i++)
        if (a->g->tensors.at[i].role == IR_OUTPUT && memcmp(a->data[i], b->data[i], desc_bytes(&a->g->tensors.at[i].desc)))
            return false;
    return true;
}

/* What the plan says of itself. */
static bool report(const char *name, struct compose *c, uint32_t scratch, uint32_t persistent)
{
    uint64_t size = 0, written = 0;
    struct binary b;
    if (c->q.contextGetBinarySize(c->context, &size) != QNN_SUCCESS)
        return false;
    void *data = aligned_alloc(4096, (size + 4095) / 4096 * 4096);
    bool ok = data && c->q.contextGetBinary(c->context, data, size, &written) == QNN_SUCCESS && binary_open(data, size, &b) == ST_OK;
    if (ok) {
        const struct binary_graph_info *i = &b.graphs[0].info;
        printf("%-40s scratch %8u  lower bound %8llu  %s  persistent %u\n", name, scratch, (unsigned long long)i->live_bytes,
               i->plan_optimal ? "proven optimal" : "NOT PROVEN", persistent);
        ok = scratch == i->scratch_bytes && persistent == i->persistent_bytes && i->plan_optimal;
        binary_close(&b);
    }
    free(data);
    return ok;
}

static const char *compare(struct model_run *cpu, struct model_run *lpai)
{
    for (uint32_t step = 0; step < STEPS; step++) {
        fill_inputs(cpu, step + 1);
        fill_inputs(lpai, step + 1);
        if (!model_step(cpu))
            return cpu->error;
        if (!model_step(lpai))
            return lpai->error;
        if (!same_outputs(cpu, lpai))
            return "the outputs differ";
    }
    return NULL;
}

static const char *run_on(struct model_run *cpu, struct model_run *lpai, const char *name)
{
    struct compose *c = lpai->on;
    uint32_t scratch = ask(c, QNN_LPAI_GRAPH_GET_PROP_SCRATCH_MEM_SIZE), persistent = ask(c, QNN_LPAI_GRAPH_GET_PROP_PERSISTENT_MEM_SIZE);
    align_buffers(lpai);
    void *s = give(c, QNN_LPAI_GRAPH_SET_CFG_SCRATCH_MEM, scratch), *p = give(c, QNN_LPAI_GRAPH_SET_CFG_PERSISTENT_MEM, persistent);
    const char *wrong = c->q.graphFinalize(c->graph, NULL, NULL) != QNN_SUCCESS ? "it cannot be finalized with its pools" : compare(cpu, lpai);
    if (!report(name, c, scratch, persistent) && !wrong)
        wrong = "the plan is not proven optimal, or the sizes are not its own";
    compose_drop(c);
    free(s);
    free(p);
    return wrong;
}

static bool network(struct compose *on_cpu, struct compose *on_lpai, const char *dir, const char *name)
{
    char path[4096];
    struct model_run cpu, lpai;
    snprintf(path, sizeof(path), "%s/%s.tflite", dir, name);
    bool opened = model_open(&cpu, on_cpu, path, NULL);
    const char *wrong = opened ? NULL : cpu.error;
    opened = model_open(&lpai, on_lpai, path, NULL);
    if (!wrong && !opened)
        wrong = lpai.error;
    if (!wrong)
        wrong = run_on(&cpu, &lpai, name);
    if (wrong)
        printf("%s: %s\n", name, wrong);
    model_close(&cpu);
    model_close(&lpai);
    return !wrong;
}

int main(int argc, char **argv)
{
    struct compose cpu, lpai;
    int failed = 0;
    if (argc != 4)
        return fprintf(stderr, "usage: lpai_networks LIBQNNCPU LIBQNNLPAI MODELS_DIR\n"), 2;
    if (access(argv[3], R_OK))
        return printf("SKIP: there are no models in %s\n", argv[3]), SKIP;
    bool opened = compose_open(&cpu, argv[1]), opened2 = compose_open(&lpai, argv[2]);
    if (!opened || !opened2)
        return fprintf(stderr, "%s\n", opened ? lpai.error : cpu.error), 1;
    for (size_t i = 0; i < sizeof(networks) / sizeof(networks[0]); i++)
        failed += !network(&cpu, &lpai, argv[3], networks[i]);
    compose_close(&cpu);
    compose_close(&lpai);
    printf("%zu networks, %d failed\n", sizeof(networks) / sizeof(networks[0]), failed);
    return failed != 0;
}
