/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz_api.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "api/translate.h"

enum { LIBRARIES = 6, BLOCKS = 1024, TENSORS = 64, MAX_BYTES = 1 << 18 };

static struct {
    const char *name;
    struct fuzz_library library;
} opened[LIBRARIES];

static void *blocks[BLOCKS];
static unsigned n_blocks;

void require(bool ok)
{
    if (!ok)
        abort();
}

static void swallow(const char *fmt, QnnLog_Level_t level, uint64_t timestamp, va_list args)
{
    (void)fmt, (void)level, (void)timestamp, (void)args;
}

static void *open_named(const char *name, const char *symbol)
{
    const char *folder = getenv("OPENQNN_LIB_DIR");
    char path[4096];

    setenv("OPENQNN_SESSION", "inproc", 1);
    setenv("OPENQNN_THREADS", "1", 0);
    snprintf(path, sizeof(path), "%s/%s", folder ? folder : FUZZ_LIB_DIR, name);
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void *ret = handle ? dlsym(handle, symbol) : NULL;
    if (!ret) {
        fprintf(stderr, "cannot open %s: %s\n", path, dlerror());
        exit(2);
    }
    return ret;
}

static void start(struct fuzz_library *l, const char *name)
{
    Qnn_ErrorHandle_t (*providers)(const QnnInterface_t ***, uint32_t *) = open_named(name, "QnnInterface_getProviders");
    const QnnInterface_t **list = NULL;
    uint32_t n = 0;

    require(providers(&list, &n) == QNN_SUCCESS && n > 0);
    l->provider = list[0];
    l->q = list[0]->QNN_INTERFACE_VER_NAME;
    require(l->q.logCreate(swallow, QNN_LOG_LEVEL_ERROR, &l->log) == QNN_SUCCESS);
    require(l->q.backendCreate(l->log, NULL, &l->backend) == QNN_SUCCESS);
}

struct fuzz_library *fuzz_library(const char *name)
{
    unsigned i = 0;

    while (opened[i].name && strcmp(opened[i].name, name) != 0)
        require(++i < LIBRARIES);
    if (!opened[i].name) {
        start(&opened[i].library, name);
        opened[i].name = name;
    }
    return &opened[i].library;
}

QNN_SYSTEM_INTERFACE_VER_TYPE *fuzz_system(void)
{
    static QNN_SYSTEM_INTERFACE_VER_TYPE table;
    const QnnSystemInterface_t **list = NULL;
    uint32_t n = 0;

    if (!table.systemContextCreate) {
        Qnn_ErrorHandle_t (*providers)(const QnnSystemInterface_t ***, uint32_t *) =
            open_named("libQnnSystem.so", "QnnSystemInterface_getProviders");
        require(providers(&list, &n) == QNN_SUCCESS && n > 0);
        table = list[0]->QNN_SYSTEM_INTERFACE_VER_NAME;
    }
    return &table;
}

bool fuzz_done(const struct fuzz_library *l, Qnn_ErrorHandle_t e)
{
    const char *text = NULL;

    if (e == QNN_SUCCESS)
        return true;
    require(l->q.errorGetVerboseMessage(e, &text) == QNN_SUCCESS && text && text[0]);
    l->q.errorFreeVerboseMessage(text);
    return false;
}

void *fuzz_block(size_t bytes)
{
    void *p = calloc(1, bytes ? bytes : 1);

    require(p && n_blocks < BLOCKS);
    blocks[n_blocks++] = p;
    return p;
}

void fuzz_blocks_free(void)
{
    while (n_blocks > 0)
        free(blocks[--n_blocks]);
}

uint64_t fuzz_tensor_bytes(const Qnn_Tensor_t *t, struct tensor_desc *ret)
{
    *ret = (struct tensor_desc){ .type = dtype_from_client(t->v1.dataType), .rank = (uint8_t)t->v1.rank };
    if (ret->type == DT_NONE || t->v1.rank > MAX_RANK)
        return UINT64_MAX;

    uint64_t count = 1;
    for (uint32_t i = 0; i < t->v1.rank; i++) {
        ret->dims[i] = t->v1.dimensions[i];
        if (__builtin_mul_overflow(count, ret->dims[i], &count) || count > MAX_BYTES)
            return UINT64_MAX;
    }
    return dtype_bytes(ret->type, count);
}

static bool bind(struct fuzz_bytes *b, const Qnn_Tensor_t *list, uint32_t n, bool fill, Qnn_Tensor_t *ret)
{
    for (uint32_t i = 0; i < n; i++) {
        struct tensor_desc d;
        uint64_t bytes = fuzz_tensor_bytes(&list[i], &d);

        if (bytes > 4 * MAX_BYTES)
            return false;
        ret[i] = list[i];
        ret[i].v1.memType = QNN_TENSORMEMTYPE_RAW;
        ret[i].v1.clientBuf = (Qnn_ClientBuffer_t){ fuzz_block(bytes), (uint32_t)bytes };
        if (fill)
            fuzz_fill(b, &d, ret[i].v1.clientBuf.data);
    }
    return true;
}

void fuzz_execute(struct fuzz_library *l, struct fuzz_bytes *b, Qnn_GraphHandle_t graph, const Qnn_Tensor_t *in,
                  uint32_t n_in, const Qnn_Tensor_t *out, uint32_t n_out)
{
    Qnn_Tensor_t given[TENSORS];
    Qnn_Tensor_t results[TENSORS];

    if (n_in > TENSORS || n_out > TENSORS || !bind(b, in, n_in, true, given) || !bind(b, out, n_out, false, results))
        return;
    for (int run = 0; run < 2; run++) /* the second one finds memory and state as the first one left them */
        fuzz_done(l, l->q.graphExecute(graph, given, n_in, results, n_out, NULL, NULL));
}
