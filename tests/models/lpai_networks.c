/* SPDX-License-Identifier: Apache-2.0 */
/* Fixed-point networks on libQnnLpai.so: the same bits as on libQnnCpu.so, in a plan that is proven to be the smallest, in
 * memory that ends where pages begin that nobody may touch.
 *
 *     lpai_networks LIBQNNCPU LIBQNNLPAI MODELS_DIR
 *
 * Prints one line per network: scratch with inputs and outputs in it, its lower bound, persistent memory. The layers of a
 * 16-bit network, one file each, are compared as well. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <QNN/LPAI/QnnLpaiGraph.h>

#include "binary/binary.h"
#include "model_run.h"

enum { STEPS = 4, ALIGN = 64, SKIP = 77 };

static const char *const networks[] = {
    "mlperf-tiny/ad_autoencoder_int8",
    "mlperf-tiny/ic_resnet8_int8",
    "mlperf-tiny/kws_dscnn_int8",
    "mlperf-tiny/vww_mobilenetv1_int8",
    "tflm/hello_world_int8",
    "tflm/micro_speech_int8",
    "tflm/mnist_lstm_int8",
    "tflm/person_detect_int8",
    "vision/mobilenet_v1_0.25_128_u8",
    "vision/mobilenet_v2_1.0_224_int8_ptq",
    "wakeword/alexa_v2_stream_int8",
};

static const char *const layers = "tflm-seanet-int16";

/* ---- memory between guard pages --------------------------------------------------------------------------------------- */

enum { MAX_GUARDED = 4096 };
static struct {
    uint8_t *map;
    size_t bytes;
} guarded[MAX_GUARDED];
static size_t n_guarded;

/* Ends at a guard page when its size allows that with the alignment, else begins after one. Poisoned. */
static void *guarded_alloc(size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), inner = (bytes + page - 1) / page * page;
    uint8_t *map = bytes && n_guarded < MAX_GUARDED
                       ? mmap(NULL, inner + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                       : MAP_FAILED;
    if (map == MAP_FAILED || mprotect(map + page, inner, PROT_READ | PROT_WRITE))
        return NULL;
    guarded[n_guarded].map = map;
    guarded[n_guarded++].bytes = inner + 2 * page;
    memset(map + page, 0xA5, inner);
    return map + page + (bytes % ALIGN ? 0 : inner - bytes);
}

static void guarded_free_all(void)
{
    while (n_guarded) {
        n_guarded--;
        munmap(guarded[n_guarded].map, guarded[n_guarded].bytes);
    }
}

/* ---- pools and buffers ------------------------------------------------------------------------------------------------ */

static uint32_t ask(struct compose *c, uint32_t option)
{
    uint32_t size = 0;
    QnnLpaiGraph_CustomProperty_t custom = {option, &size};
    QnnGraph_Property_t p = {.option = QNN_GRAPH_PROPERTY_OPTION_CUSTOM, .customProperty = &custom};
    QnnGraph_Property_t *list[] = {&p, NULL};
    return c->q.graphGetProperty(c->graph, list) == QNN_SUCCESS ? size : UINT32_MAX;
}

static void give(struct compose *c, uint32_t option, uint32_t size)
{
    QnnLpaiGraph_Mem_t mem = {QNN_LPAI_MEM_TYPE_DDR, size, guarded_alloc(size)};
    QnnLpaiGraph_CustomConfig_t custom = {option, &mem};
    QnnGraph_Config_t config = {.option = QNN_GRAPH_CONFIG_OPTION_CUSTOM, .customConfig = &custom};
    const QnnGraph_Config_t *list[] = {&config, NULL};
    c->q.graphSetConfig(c->graph, list); /* finalizing fails when this did */
}

/* LPAI wants buffers that are aligned; the model's own come back at the end. */
static void **guard_buffers(struct model_run *m)
{
    void **own = calloc(m->g->tensors.n + 1, sizeof(*own));
    for (size_t i = 0; own && i < m->g->tensors.n; i++) {
        size_t bytes = desc_bytes(&m->g->tensors.at[i].desc);
        void *p = m->data[i] ? guarded_alloc(bytes) : NULL;
        own[i] = m->data[i];
        if (!p)
            continue;
        memcpy(p, m->data[i], bytes);
        m->data[i] = p;
    }
    return own;
}

static void return_buffers(struct model_run *m, void **own)
{
    for (size_t i = 0; i < m->g->tensors.n; i++)
        m->data[i] = own[i];
    free(own);
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
static bool report(const char *name, struct compose *c, uint32_t scratch, uint32_t persistent, bool quiet)
{
    uint64_t size = 0, written = 0;
    struct binary b;
    if (c->q.contextGetBinarySize(c->context, &size) != QNN_SUCCESS)
        return false;
    void *data = aligned_alloc(4096, (size + 4095) / 4096 * 4096);
    bool ok = data && c->q.contextGetBinary(c->context, data, size, &written) == QNN_SUCCESS &&
              binary_open(data, size, &b) == ST_OK;
    if (ok) {
        const struct binary_graph_info *i = &b.graphs[0].info;
        if (!quiet)
            printf("%-40s scratch %8u  lower bound %8llu  %s  persistent %u\n", name, scratch,
                   (unsigned long long)i->live_bytes, i->plan_optimal ? "proven optimal" : "NOT PROVEN", persistent);
        ok = scratch - i->scratch_bytes < ALIGN && persistent - i->persistent_bytes < ALIGN && i->plan_optimal;
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

static const char *run_on(struct model_run *cpu, struct model_run *lpai, const char *name, bool quiet)
{
    struct compose *c = lpai->on;
    uint32_t scratch = ask(c, QNN_LPAI_GRAPH_GET_PROP_SCRATCH_MEM_SIZE),
             persistent = ask(c, QNN_LPAI_GRAPH_GET_PROP_PERSISTENT_MEM_SIZE);
    void **own = guard_buffers(lpai);
    if (!own)
        return "no memory";
    give(c, QNN_LPAI_GRAPH_SET_CFG_SCRATCH_MEM, scratch);
    give(c, QNN_LPAI_GRAPH_SET_CFG_PERSISTENT_MEM, persistent);
    const char *wrong = c->q.graphFinalize(c->graph, NULL, NULL) != QNN_SUCCESS ? "it cannot be finalized with its pools"
                                                                                : compare(cpu, lpai);
    if (!report(name, c, scratch, persistent, quiet) && !wrong)
        wrong = "the plan is not proven optimal, or the sizes are not its own";
    compose_drop(c);
    return_buffers(lpai, own);
    guarded_free_all();
    return wrong;
}

static bool network(struct compose *on_cpu, struct compose *on_lpai, const char *dir, const char *name, bool quiet)
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
        wrong = run_on(&cpu, &lpai, name, quiet);
    if (wrong)
        printf("%s: %s\n", name, wrong);
    model_close(&cpu);
    model_close(&lpai);
    return !wrong;
}

/* Every file of the folder. */
static unsigned layer_files(struct compose *cpu, struct compose *lpai, const char *dir, int *failed)
{
    char path[4096];
    unsigned n = 0;
    snprintf(path, sizeof(path), "%s/%s", dir, layers);
    DIR *d = opendir(path);
    for (struct dirent *e; d && (e = readdir(d));) {
        char *end = strstr(e->d_name, ".tflite");
        if (!end || end[7])
            continue;
        *end = '\0';
        snprintf(path, sizeof(path), "%s/%s", layers, e->d_name);
        *failed += !network(cpu, lpai, dir, path, true);
        n++;
    }
    if (d)
        closedir(d);
    return n;
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
        failed += !network(&cpu, &lpai, argv[3], networks[i], false);
    unsigned single = layer_files(&cpu, &lpai, argv[3], &failed);
    compose_close(&cpu);
    compose_close(&lpai);
    printf("%zu networks and %u layers of %s, %d failed\n", sizeof(networks) / sizeof(networks[0]), single, layers, failed);
    return failed != 0;
}
