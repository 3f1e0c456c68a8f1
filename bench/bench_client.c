/* SPDX-License-Identifier: Apache-2.0 */
/* Libraries and sessions for the benchmarks. */
#include "bench_client.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

QNN_INTERFACE_VER_TYPE qnn;

static _Noreturn void give_up(const char *what, const char *why)
{
    fprintf(stderr, "bench: %s: %s\n", what, why);
    exit(1);
}

void client_open(const char *folder, const char *library)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, library);
    void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!lib)
        give_up(path, dlerror());
    Qnn_ErrorHandle_t (*get)(const QnnInterface_t ***, uint32_t *) = dlsym(lib, "QnnInterface_getProviders");
    const QnnInterface_t **list = NULL;
    uint32_t n = 0;
    if (!get || get(&list, &n) != QNN_SUCCESS || !n)
        give_up(path, "it gives no interface provider");
    qnn = list[0]->QNN_INTERFACE_VER_NAME;
}

void client_check(Qnn_ErrorHandle_t e, const char *call)
{
    const char *why = NULL;
    if (e == QNN_SUCCESS)
        return;
    qnn.errorGetVerboseMessage(e, &why);
    give_up(call, why ? why : "failed");
}

/* ---- sessions --------------------------------------------------------------------------------------------------------- */

static void set_threads(unsigned threads)
{
    char text[16];
    snprintf(text, sizeof text, "%u", threads);
    setenv("OPENQNN_THREADS", text, 1);
}

void session_open(struct session *s, unsigned threads)
{
    set_threads(threads);
    CHECK(qnn.backendCreate(NULL, NULL, &s->backend));
    CHECK(qnn.contextCreate(s->backend, NULL, NULL, &s->context));
}

void session_load(struct session *s, unsigned threads, const void *binary, uint64_t size, bool persistent)
{
    QnnContext_Config_t c = QNN_CONTEXT_CONFIG_INIT;
    const QnnContext_Config_t *configs[] = { &c, NULL };
    c.option = QNN_CONTEXT_CONFIG_PERSISTENT_BINARY;
    c.isPersistentBinary = 1;
    set_threads(threads);
    if (!s->backend)
        CHECK(qnn.backendCreate(NULL, NULL, &s->backend));
    CHECK(qnn.contextCreateFromBinary(s->backend, NULL, persistent ? configs : NULL, binary, size, &s->context, NULL));
}

void session_close(struct session *s)
{
    CHECK(qnn.contextFree(s->context, NULL));
    CHECK(qnn.backendFree(s->backend));
    *s = (struct session){ NULL, NULL };
}
