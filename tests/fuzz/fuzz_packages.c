/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: op packages. An input says how a package answers (fuzz_package.c), under which strings it is registered, and
 * which nodes of it a graph has. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "fuzz_api.h"
#include "fuzz_package.h"

enum { ELEMENTS = 8 };

static const char *const texts[] = {
    "pack",     "pack.two", "qti.aisw",    "",
    "Relu",     "Twice",    "pack::Twice", "a name that is longer than most names are, and longer than that",
    "\xff\xfe", "%s%n",     "a:b"
};
static const char *const paths[] = { NULL, "", "/", "/dev/null", "/nonexistent.so", "libm.so.6", ".", "a:b", "%s" };
static const char *const symbols[] = { NULL, "", "fuzz_answers_none", "fuzz provider", "%n" };
static const char *const targets[] = { "CPU", NULL, "", "cpu", "HTP", "\xff", "X86" };
static const uint64_t results[] = { 0, 1, 6000, 6001, UINT32_MAX, UINT64_MAX, 1 << 16, 1000 };

static struct fuzz_answers *package_answers(void)
{
    static struct fuzz_answers *ret;

    if (!ret) {
        void *handle = dlopen(FUZZ_PACKAGE, RTLD_NOW | RTLD_LOCAL);
        fuzz_answers_fn *f = NULL;
        if (handle)
            *(void **)&f = dlsym(handle, "fuzz_answers");
        if (!f) {
            fprintf(stderr, "cannot open %s\n", FUZZ_PACKAGE);
            exit(2);
        }
        ret = f();
    }
    return ret;
}

static void draw_answers(struct fuzz_bytes *b, struct fuzz_answers *a)
{
    uint8_t odd = fuzz_u8(b);

    memset(a, 0, sizeof(*a));
    a->major = odd & 1 ? 2 : 1;
    a->minor = a->major == 1 ? 4 : 0;
    a->package = "pack";
    a->names[0] = "Twice";
    a->n_names = 1;
    for (int left = fuzz_below(b, 5); left > 0; left--)
        switch (fuzz_below(b, 12)) {
        case 0: a->major = fuzz_u8(b), a->minor = fuzz_u8(b); break;
        case 1: a->holes = fuzz_u8(b); break;
        case 2: a->package = fuzz_one_in(b, 8) ? NULL : FUZZ_ONE_OF(b, texts); break;
        case 3: a->names[fuzz_below(b, ANSWER_NAMES)] = fuzz_one_in(b, 8) ? NULL : FUZZ_ONE_OF(b, texts); break;
        case 4: a->n_names = fuzz_below(b, ANSWER_NAMES + 1); break;
        case 5: a->no_info = true; break;
        case 6: a->no_names = true; break;
        case 7: a->no_version = true; break;
        case 8: a->no_impl = true; break;
        case 9: a->no_function = true; break;
        default: a->result[fuzz_below(b, ANSWERS)] = FUZZ_ONE_OF(b, results); break;
        }
}

static Qnn_Tensor_t tensor(const char *name, Qnn_TensorType_t type, struct fuzz_bytes *b)
{
    static uint32_t dims[] = { ELEMENTS };
    Qnn_Tensor_t t = { .version = QNN_TENSOR_VERSION_1, .v1 = QNN_TENSOR_V1_INIT };

    t.v1.name = name;
    t.v1.type = type;
    t.v1.dataType = fuzz_one_in(b, 8) ? QNN_DATATYPE_UFIXED_POINT_8 : QNN_DATATYPE_FLOAT_32;
    t.v1.rank = 1;
    t.v1.dimensions = dims;
    return t;
}

static void use_node(struct fuzz_library *l, struct fuzz_bytes *b, Qnn_BackendHandle_t backend, const char *package,
                     const char *type)
{
    Qnn_ContextHandle_t context = NULL;
    Qnn_GraphHandle_t graph = NULL;
    Qnn_Tensor_t x = tensor("x", QNN_TENSOR_TYPE_APP_WRITE, b);
    Qnn_Tensor_t y = tensor("y", QNN_TENSOR_TYPE_APP_READ, b);
    Qnn_OpConfig_t op = QNN_OPCONFIG_INIT;

    if (!fuzz_done(l, l->q.contextCreate(backend, NULL, NULL, &context)))
        return;
    if (fuzz_done(l, l->q.graphCreate(context, "g", NULL, &graph)) &&
        fuzz_done(l, l->q.tensorCreateGraphTensor(graph, &x)) && fuzz_done(l, l->q.tensorCreateGraphTensor(graph, &y))) {
        op.v1 = (Qnn_OpConfigV1_t){ "node", package, type, 0, NULL, 1, &x, 1, &y };
        (void)fuzz_done(l, l->q.backendValidateOpConfig(backend, op));
        if (fuzz_done(l, l->q.graphAddNode(graph, op)) && fuzz_done(l, l->q.graphFinalize(graph, NULL, NULL)))
            fuzz_execute(l, b, graph, &x, 1, &y, 1);
    }
    require(l->q.contextFree(context, NULL) == QNN_SUCCESS);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_bytes b = fuzz_bytes_of(data, size);
    struct fuzz_library *l = fuzz_library("libQnnCpu.so");
    struct fuzz_answers *answers = package_answers();
    const QnnBackend_OperationName_t *known = NULL;
    Qnn_BackendHandle_t backend = NULL;
    uint32_t n = 0;

    draw_answers(&b, answers);
    require(l->q.backendCreate(l->log, NULL, &backend) == QNN_SUCCESS);
    for (int left = 1 + (int)fuzz_below(&b, 3); left > 0; left--) {
        const char *path = fuzz_one_in(&b, 8) ? FUZZ_ONE_OF(&b, paths) : FUZZ_PACKAGE;
        const char *symbol = fuzz_one_in(&b, 8) ? FUZZ_ONE_OF(&b, symbols) : "fuzz_provider";
        (void)fuzz_done(l, l->q.backendRegisterOpPackage(backend, path, symbol, FUZZ_ONE_OF(&b, targets)));
    }
    require(l->q.backendGetSupportedOperations(backend, &n, &known) == QNN_SUCCESS && n > 0);
    const char *package = fuzz_one_in(&b, 4) ? FUZZ_ONE_OF(&b, texts) : "pack";
    use_node(l, &b, backend, package, fuzz_one_in(&b, 4) ? FUZZ_ONE_OF(&b, texts) : "Twice");
    (void)fuzz_done(l, l->q.backendFree(backend));
    fuzz_blocks_free();
    return 0;
}
