/* SPDX-License-Identifier: Apache-2.0 */
/* Listens to a sound file frame by frame and says when the wake word was heard: what an always-on device does all day.
 *
 *     listen libQnnLpai.so libQnnSystem.so wake_word.bin sound.wav
 *
 * All memory that the network uses is ours: the binary, scratch, the state of the Gru in persistent memory, inputs and
 * outputs. */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <QNN/LPAI/QnnLpaiBackend.h>
#include <QNN/LPAI/QnnLpaiGraph.h>
#include <QNN/QnnInterface.h>
#include <QNN/System/QnnSystemInterface.h>

#include "features.h"

/* An alarm: so many frames in a row above one half; then that many frames of silence. Probabilities are in steps
 * of 1/256. */
enum { ALARM = 128, NEED = 4, REST = 40 };

#define MUST(call)                                                                  \
    do {                                                                            \
        Qnn_ErrorHandle_t error_ = (call);                                          \
        if (error_ != QNN_SUCCESS) {                                                \
            fprintf(stderr, "%s: error %llu\n", #call, (unsigned long long)error_); \
            exit(1);                                                                \
        }                                                                           \
    } while (0)

static QNN_INTERFACE_VER_TYPE qnn;
static QNN_SYSTEM_INTERFACE_VER_TYPE sys;
static QnnLpaiBackend_BufferAlignmentReq_t align;

/* ---- files and libraries --------------------------------------------------------------------------------------------- */

static void fail(const char *what, const char *why)
{
    fprintf(stderr, "%s: %s\n", what, why);
    exit(1);
}

static void *symbol(const char *library, const char *name)
{
    void *l = dlopen(library, RTLD_NOW | RTLD_LOCAL), *s = l ? dlsym(l, name) : NULL;
    if (!s)
        fail(library, dlerror());
    return s;
}

static void open_libraries(const char *backend, const char *system)
{
    const QnnInterface_t **b = NULL;
    const QnnSystemInterface_t **s = NULL;
    uint32_t n = 0;
    Qnn_ErrorHandle_t (*get)(const QnnInterface_t ***, uint32_t *);
    Qnn_ErrorHandle_t (*get_system)(const QnnSystemInterface_t ***, uint32_t *);
    *(void **)&get = symbol(backend, "QnnInterface_getProviders");
    *(void **)&get_system = symbol(system, "QnnSystemInterface_getProviders");
    MUST(get(&b, &n));
    MUST(get_system(&s, &n));
    qnn = b[0]->QNN_INTERFACE_VER_NAME;
    sys = s[0]->QNN_SYSTEM_INTERFACE_VER_NAME;
}

static void *aligned(uint64_t bytes)
{
    uint64_t up = (bytes + align.sizeAlignment - 1) / align.sizeAlignment * align.sizeAlignment;
    void *p = aligned_alloc(align.startAddrAlignment, up ? up : align.sizeAlignment);
    if (!p)
        fail("memory", "not enough");
    return memset(p, 0, up);
}

static uint8_t *read_file(const char *path, uint64_t *size)
{
    FILE *f = fopen(path, "rb");
    if (!f || fseek(f, 0, SEEK_END) || (*size = (uint64_t)ftell(f), fseek(f, 0, SEEK_SET)))
        fail(path, "cannot be read");
    uint8_t *data = aligned(*size);
    if (fread(data, 1, *size, f) != *size)
        fail(path, "could not be read");
    fclose(f);
    return data;
}

static uint32_t little(const uint8_t *p, int bytes)
{
    uint32_t v = 0;
    while (bytes--)
        v = v << 8 | p[bytes];
    return v;
}

/* 16-bit samples of a mono WAV file at 16 kHz. */
static int16_t *read_wav(const char *path, uint64_t *n)
{
    uint64_t size, at = 12;
    uint8_t *f = read_file(path, &size);
    bool fits = false;
    if (size < 12 || memcmp(f, "RIFF", 4) || memcmp(f + 8, "WAVE", 4))
        fail(path, "is not a WAV file");
    while (at + 8 <= size && memcmp(f + at, "data", 4)) {
        uint32_t bytes = little(f + at + 4, 4);
        if (!memcmp(f + at, "fmt ", 4) && bytes >= 16 && at + 24 <= size)
            fits = little(f + at + 8, 2) == 1 && little(f + at + 10, 2) == 1 && little(f + at + 12, 4) == FEATURE_RATE &&
                   little(f + at + 22, 2) == 16;
        at += 8 + (uint64_t)bytes + bytes % 2;
    }
    if (!fits || at + 8 > size)
        fail(path, "has another form than 16-bit mono at 16,000 Hz");
    *n = little(f + at + 4, 4);
    *n = (*n < size - at - 8 ? *n : size - at - 8) / 2;
    memmove(f, f + at + 8, *n * 2);
    return (int16_t *)f;
}

/* ---- the recommended order: alignment, sizes, memory, finalize -------------------------------------------------------- */

static void ask_alignment(Qnn_BackendHandle_t backend)
{
    QnnLpaiBackend_CustomProperty_t custom = { QNN_LPAI_BACKEND_GET_PROP_ALIGNMENT_REQ, &align };
    QnnBackend_Property_t property = { .option = QNN_BACKEND_PROPERTY_OPTION_CUSTOM };
    property.customProperty = &custom;
    QnnBackend_Property_t *list[2] = { &property, NULL };
    MUST(qnn.backendGetProperty(backend, list));
}

static void give_memory(Qnn_GraphHandle_t graph, const char *what, uint32_t size_option, uint32_t memory_option)
{
    uint32_t size = 0;
    QnnLpaiGraph_CustomProperty_t ask = { size_option, &size };
    QnnGraph_Property_t property = { .option = QNN_GRAPH_PROPERTY_OPTION_CUSTOM };
    property.customProperty = &ask;
    QnnGraph_Property_t *properties[2] = { &property, NULL };
    MUST(qnn.graphGetProperty(graph, properties));
    QnnLpaiGraph_Mem_t memory = { QNN_LPAI_MEM_TYPE_DDR, size, aligned(size) };
    QnnLpaiGraph_CustomConfig_t custom = { memory_option, &memory };
    QnnGraph_Config_t config = { .option = QNN_GRAPH_CONFIG_OPTION_CUSTOM };
    config.customConfig = &custom;
    const QnnGraph_Config_t *configs[2] = { &config, NULL };
    MUST(qnn.graphSetConfig(graph, configs));
    printf("%s memory: %u bytes\n", what, size);
}

static Qnn_Tensor_t *tensor_named(Qnn_Tensor_t *list, uint32_t n, const char *name)
{
    for (uint32_t i = 0; i < n; i++)
        if (!strcmp(list[i].v1.name, name))
            return &list[i];
    fail(name, "is not a tensor of this network");
    return NULL;
}

static uint8_t *give_buffer(Qnn_Tensor_t *t, uint32_t bytes)
{
    t->v1.memType = QNN_TENSORMEMTYPE_RAW;
    t->v1.clientBuf = (Qnn_ClientBuffer_t){ aligned(bytes), bytes };
    return t->v1.clientBuf.data;
}

/* ---- listening -------------------------------------------------------------------------------------------------------- */

static void listen(Qnn_GraphHandle_t graph, QnnSystemContext_GraphInfoV1_t *g, const int16_t *samples, uint64_t n)
{
    static struct features features;
    int run = 0, rest = 0, alarms = 0;
    uint8_t *x = give_buffer(tensor_named(g->graphInputs, g->numGraphInputs, "x"), FEATURE_BANDS);
    uint8_t *reset = give_buffer(tensor_named(g->graphInputs, g->numGraphInputs, "reset"), 1);
    uint8_t *probability = give_buffer(tensor_named(g->graphOutputs, g->numGraphOutputs, "probability"), 1);
    features_init(&features);
    *reset = 1; /* a new sound; from the second frame on the network goes on from where it was */
    for (uint64_t at = 0; at + FEATURE_WINDOW <= n; at += FEATURE_HOP) {
        features_of(&features, samples + at, x);
        MUST(qnn.graphExecute(graph, g->graphInputs, g->numGraphInputs, g->graphOutputs, g->numGraphOutputs, NULL, NULL));
        *reset = 0;
        rest--;
        run = *probability > ALARM ? run + 1 : 0;
        if (run >= NEED && rest <= 0) {
            printf("%6.2f s: hello! (%.0f %%)\n", (double)(at + FEATURE_WINDOW) / FEATURE_RATE, *probability / 2.56);
            fflush(stdout);
            rest = REST;
            alarms++;
        }
    }
    printf("%.2f s heard, %d wake words\n", (double)n / FEATURE_RATE, alarms);
    free(x);
    free(reset);
    free(probability);
}

int main(int argc, char **argv)
{
    if (argc != 5) {
        fprintf(stderr, "usage: listen libQnnLpai.so libQnnSystem.so wake_word.bin sound.wav\n");
        return 2;
    }
    Qnn_BackendHandle_t backend;
    Qnn_ContextHandle_t context;
    Qnn_GraphHandle_t graph;
    QnnSystemContext_Handle_t reader;
    const QnnSystemContext_BinaryInfo_t *info = NULL;
    Qnn_ContextBinarySize_t info_size = 0;
    uint64_t size, n;
    open_libraries(argv[1], argv[2]);
    MUST(qnn.backendCreate(NULL, NULL, &backend));
    ask_alignment(backend);
    uint8_t *binary = read_file(argv[3], &size);
    int16_t *samples = read_wav(argv[4], &n);
    MUST(sys.systemContextCreate(&reader));
    MUST(sys.systemContextGetBinaryInfo(reader, binary, size, &info, &info_size));
    QnnContext_Config_t persistent = { .option = QNN_CONTEXT_CONFIG_PERSISTENT_BINARY };
    persistent.isPersistentBinary = 1;
    const QnnContext_Config_t *configs[2] = { &persistent, NULL };
    MUST(qnn.contextCreateFromBinary(backend, NULL, configs, binary, size, &context, NULL));
    MUST(qnn.graphRetrieve(context, "wake_word", &graph));
    give_memory(graph, "scratch", QNN_LPAI_GRAPH_GET_PROP_SCRATCH_MEM_SIZE, QNN_LPAI_GRAPH_SET_CFG_SCRATCH_MEM);
    give_memory(graph, "persistent", QNN_LPAI_GRAPH_GET_PROP_PERSISTENT_MEM_SIZE, QNN_LPAI_GRAPH_SET_CFG_PERSISTENT_MEM);
    MUST(qnn.graphFinalize(graph, NULL, NULL));
    listen(graph, &info->contextBinaryInfoV1.graphs[0].graphInfoV1, samples, n);
    MUST(qnn.contextFree(context, NULL));
    MUST(qnn.backendFree(backend));
    MUST(sys.systemContextFree(reader));
    free(binary);
    free(samples);
    return 0;
}
