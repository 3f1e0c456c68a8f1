/* SPDX-License-Identifier: Apache-2.0 */
/* Context binaries through the API: saved, loaded in every way there is, and refused when they are not whole. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "api_test.h"

struct saved {
    void *data; /* aligned like a mapped file */
    uint64_t size;
};

static struct saved saved; /* two graphs, "conv" and "affine" */
static struct net conv, affine;
static float conv_out[CONV_OUT], affine_out[AFFINE_N];
static const float affine_in[AFFINE_N] = { 1, -2, 3, -4, 5, -6, 7, -8 };

static void *page_alloc(uint64_t size)
{
    void *p = aligned_alloc(4096, (size + 4095) & ~(uint64_t)4095);
    assert_non_null(p);
    return p;
}

static int setup(void **state)
{
    int failed = env_setup(state);
    OK(net_conv(env.context, "conv", &conv));
    OK(net_affine(env.context, "affine", 2, 0.5f, &affine));
    OK(q.graphFinalize(conv.graph, NULL, NULL));
    OK(q.graphFinalize(affine.graph, NULL, NULL));
    OK(net_run(&conv, conv_in, conv_out, CONV_IN, CONV_OUT));
    OK(net_run(&affine, affine_in, affine_out, AFFINE_N, AFFINE_N));
    uint64_t written = 0;
    OK(q.contextGetBinarySize(env.context, &saved.size));
    saved.data = page_alloc(saved.size);
    OK(q.contextGetBinary(env.context, saved.data, saved.size, &written));
    assert_true(written > 0 && written <= saved.size);
    saved.size = written;
    return failed;
}

static int teardown(void **state)
{
    free(saved.data);
    return env_teardown(state);
}

/* The graph of that name in the context gives the same bits as the one that was saved. */
static void same_bits(Qnn_ContextHandle_t c)
{
    struct net n = conv;
    float y[CONV_OUT], z[AFFINE_N];
    memset(y, 0xFF, sizeof y);
    memset(z, 0xFF, sizeof z);
    OK(q.graphRetrieve(c, "conv", &n.graph));
    OK(net_run(&n, conv_in, y, CONV_IN, CONV_OUT));
    assert_memory_equal(y, conv_out, sizeof y);
    n = affine;
    OK(q.graphRetrieve(c, "affine", &n.graph));
    OK(net_run(&n, affine_in, z, AFFINE_N, AFFINE_N));
    assert_memory_equal(z, affine_out, sizeof z);
}

/* ---- saving ----------------------------------------------------------------------------------------------------------- */

static void test_same_twice(void **state)
{
    (void)state;
    uint64_t size = 0, written = 0;
    OK(q.contextGetBinarySize(env.context, &size));
    char *again = page_alloc(size);
    OK(q.contextGetBinary(env.context, again, size, &written));
    assert_int_equal(written, saved.size);
    assert_memory_equal(again, saved.data, written);
    FAILS(QNN_CONTEXT_ERROR_INVALID_ARGUMENT, q.contextGetBinary(env.context, again, written - 1, &size));
    FAILS(QNN_CONTEXT_ERROR_INVALID_ARGUMENT, q.contextGetBinary(env.context, NULL, written, &size));
    FAILS(QNN_CONTEXT_ERROR_INVALID_ARGUMENT, q.contextGetBinary(env.context, again, written, NULL));
    FAILS(QNN_CONTEXT_ERROR_INVALID_ARGUMENT, q.contextGetBinarySize(env.context, NULL));
    free(again);
}

static void test_not_finalized(void **state)
{
    (void)state;
    struct net open;
    uint64_t size;
    OK(net_affine(env.context, "still_open", 1, 1, &open));
    FAILS_SAYING(QNN_CONTEXT_ERROR_NOT_FINALIZED, "still_open", q.contextGetBinarySize(env.context, &size));
    FAILS(QNN_CONTEXT_ERROR_NOT_FINALIZED, q.contextGetBinary(env.context, saved.data, saved.size, &size));
    OK(q.graphFinalize(open.graph, NULL, NULL));
    OK(q.contextGetBinarySize(env.context, &size));
}

/* ---- loading ---------------------------------------------------------------------------------------------------------- */

static void test_load(void **state)
{
    (void)state;
    Qnn_ContextHandle_t c;
    char *copy = malloc(saved.size + 1); /* at an odd address, and gone after the call */
    memcpy(copy + 1, saved.data, saved.size);
    OK(q.contextValidateBinary(env.backend, NULL, NULL, copy + 1, saved.size));
    OK(q.contextCreateFromBinary(env.backend, NULL, NULL, copy + 1, saved.size, &c, NULL));
    memset(copy, 0xEE, saved.size + 1);
    free(copy);
    same_bits(c);
    same_bits(env.context);
    OK(q.contextFree(c, NULL));
}

static void test_loaded_context_is_closed(void **state)
{
    (void)state;
    Qnn_ContextHandle_t c;
    Qnn_GraphHandle_t g;
    OK(q.contextCreateFromBinary(env.backend, NULL, NULL, saved.data, saved.size, &c, NULL));
    FAILS(QNN_COMMON_ERROR_OPERATION_NOT_PERMITTED, q.graphCreate(c, "new", NULL, &g));
    OK(q.graphRetrieve(c, "conv", &g));
    Qnn_Tensor_t t = TENSOR("new", NATIVE, FLOAT_32, 4), w = TENSOR("new", APP_READWRITE, FLOAT_32, 4);
    FAILS(QNN_COMMON_ERROR_OPERATION_NOT_PERMITTED, q.tensorCreateGraphTensor(g, &t));
    FAILS(QNN_COMMON_ERROR_OPERATION_NOT_PERMITTED, q.tensorCreateContextTensor(c, &w));
    struct op o = { .name = "new", .type = "Relu", .ni = 1, .in = { conv.x }, .no = 1, .out = { conv.y } };
    FAILS(QNN_COMMON_ERROR_OPERATION_NOT_PERMITTED, op_add(g, &o));
    uint64_t size;
    FAILS(QNN_COMMON_ERROR_OPERATION_NOT_PERMITTED, q.contextGetBinarySize(c, &size));
    FAILS(QNN_COMMON_ERROR_OPERATION_NOT_PERMITTED, q.contextGetBinary(c, saved.data, saved.size, &size));
    assert_int_not_equal(CODE(q.graphFinalize(g, NULL, NULL)), QNN_SUCCESS); /* the property says it is not supported */
    same_bits(c);
    OK(q.contextFree(c, NULL));
}

static void test_persistent(void **state)
{
    (void)state;
    QnnContext_Config_t keep = { .option = QNN_CONTEXT_CONFIG_PERSISTENT_BINARY, .isPersistentBinary = 1 };
    const QnnContext_Config_t *config[] = { &keep, NULL };
    char *before = malloc(saved.size);
    memcpy(before, saved.data, saved.size);
    Qnn_ContextHandle_t c;
    OK(q.contextCreateFromBinary(env.backend, NULL, config, saved.data, saved.size, &c, NULL));
    same_bits(c);
    OK(q.contextFree(c, NULL));
    assert_memory_equal(before, saved.data, saved.size); /* used in place, never written */
    free(before);
}

static void test_enable_graphs(void **state)
{
    (void)state;
    static const char *const only[] = { "affine", NULL }, *const missing[] = { "affine", "nothing", NULL };
    QnnContext_Config_t enable = { .option = QNN_CONTEXT_CONFIG_ENABLE_GRAPHS, .enableGraphs = only };
    const QnnContext_Config_t *config[] = { &enable, NULL };
    Qnn_ContextHandle_t c;
    OK(q.contextCreateFromBinary(env.backend, NULL, config, saved.data, saved.size, &c, NULL));
    struct net n = affine;
    float y[CONV_OUT], z[AFFINE_N];
    OK(q.graphRetrieve(c, "affine", &n.graph));
    OK(net_run(&n, affine_in, z, AFFINE_N, AFFINE_N));
    assert_memory_equal(z, affine_out, sizeof z);
    n = conv;
    OK(q.graphRetrieve(c, "conv", &n.graph));
    FAILS_SAYING(QNN_GRAPH_ERROR_DISABLED, "conv", net_run(&n, conv_in, y, CONV_IN, CONV_OUT));
    OK(q.contextFree(c, NULL));
    enable.enableGraphs = missing;
    FAILS_SAYING(QNN_CONTEXT_ERROR_INVALID_CONFIG, "nothing",
                 q.contextCreateFromBinary(env.backend, NULL, config, saved.data, saved.size, &c, NULL));
}

static void test_deferred(void **state)
{
    (void)state;
    QnnContext_Config_t defer = { .option = QNN_CONTEXT_CONFIG_OPTION_DEFER_GRAPH_INIT, .isGraphInitDeferred = 1 };
    const QnnContext_Config_t *config[] = { &defer, NULL };
    Qnn_ContextHandle_t c;
    struct net n = conv;
    float y[CONV_OUT];
    OK(q.contextCreateFromBinary(env.backend, NULL, config, saved.data, saved.size, &c, NULL));
    OK(q.graphRetrieve(c, "conv", &n.graph));
    assert_int_not_equal(CODE(net_run(&n, conv_in, y, CONV_IN, CONV_OUT)), QNN_SUCCESS);
    OK(q.contextFinalize(c, NULL));
    same_bits(c);
    OK(q.contextFree(c, NULL));
}

static void test_with_signal(void **state)
{
    (void)state;
    QnnSignal_Config_t abort_config = { .option = QNN_SIGNAL_CONFIG_OPTION_ABORT };
    const QnnSignal_Config_t *config[] = { &abort_config, NULL };
    Qnn_SignalHandle_t s;
    Qnn_ContextHandle_t c;
    OK(q.signalCreate(env.backend, config, &s));
    OK(q.contextCreateFromBinaryWithSignal(env.backend, NULL, NULL, saved.data, saved.size, &c, NULL, s));
    same_bits(c);
    FAILS(QNN_SIGNAL_ERROR_SIGNAL_IDLE, q.signalTrigger(s)); /* the call is over */
    OK(q.signalFree(s));
    OK(q.contextFree(c, NULL));
}

static struct {
    unsigned provided, released;
    void *given;
} raw;

static Qnn_ErrorHandle_t provide(Qnn_ContextBinaryDataRequest_t req, Qnn_ContextBinaryRawDataResponse_t *r, void *param)
{
    const struct saved *s = param;
    if (req.offset + req.size > s->size)
        return 1;
    raw.provided++;
    raw.given = malloc(req.size + 64);
    memcpy((char *)raw.given + 64, (const char *)s->data + req.offset, req.size);
    *r = (Qnn_ContextBinaryRawDataResponse_t){ raw.given, 64, req.size };
    return QNN_SUCCESS;
}

static Qnn_ErrorHandle_t release(Qnn_ContextBinaryRawDataMem_t mem, void *param)
{
    (void)param;
    raw.released++;
    free(mem.memPtr);
    return QNN_SUCCESS;
}

static void test_with_callback(void **state)
{
    (void)state;
    memset(&raw, 0, sizeof raw);
    Qnn_ContextBinaryCallback_t cb = { .type = QNN_CONTEXT_CALLBACK_RAW_BUFFER };
    cb.rawBufferCallback.version = QNN_CONTEXT_CALLBACK_RAW_BUFFER_VERSION_1;
    cb.rawBufferCallback.v1 = (Qnn_ContextBinaryRawBufferCallbackV1_t){ provide, release, &saved };
    Qnn_ContextHandle_t c;
    OK(q.contextCreateFromBinaryWithCallback(env.backend, NULL, NULL, &cb, saved.data, saved.size, &c, NULL, NULL));
    same_bits(c);
    OK(q.contextFree(c, NULL));
    assert_true(raw.provided >= 1);
    assert_int_equal(raw.provided, raw.released);
    struct saved none = { NULL, 0 }; /* the provider refuses */
    cb.rawBufferCallback.v1.notifyParam = &none;
    assert_int_not_equal(
        CODE(q.contextCreateFromBinaryWithCallback(env.backend, NULL, NULL, &cb, saved.data, saved.size, &c, NULL, NULL)),
        QNN_SUCCESS);
}

/* ---- several at a time ------------------------------------------------------------------------------------------------ */

struct notified {
    pthread_mutex_t lock;
    pthread_cond_t change;
    unsigned contexts, graphs, named; /* named: notifications that came with a context */
    Qnn_ContextHandle_t context;
    Qnn_ErrorHandle_t status;
    bool other_thread;
    pthread_t caller;
};

static void on_notify(Qnn_ContextHandle_t context, Qnn_GraphHandle_t graph, const char *name,
                      QnnContext_createFromBinaryAsyncNotifyType_t type, void *param, Qnn_ErrorHandle_t status)
{
    struct notified *n = param;
    pthread_mutex_lock(&n->lock);
    n->other_thread = !pthread_equal(pthread_self(), n->caller);
    n->named += context != NULL;
    if (type == QNN_CONTEXT_NOTIFY_TYPE_CONTEXT_INIT) {
        n->contexts++;
        n->context = context;
        n->status = status;
    } else {
        n->graphs += graph && name && status == QNN_SUCCESS;
    }
    pthread_cond_signal(&n->change);
    pthread_mutex_unlock(&n->lock);
}

static void wait_for(struct notified *n)
{
    pthread_mutex_lock(&n->lock);
    while (!n->contexts)
        pthread_cond_wait(&n->change, &n->lock);
    pthread_mutex_unlock(&n->lock);
}

static void test_list_async(void **state)
{
    (void)state;
    struct notified n[3];
    char *bad = malloc(saved.size);
    memcpy(bad, saved.data, saved.size);
    memset(bad, 0, 16);
    for (int i = 0; i < 3; i++)
        n[i] = (struct notified){ .lock = PTHREAD_MUTEX_INITIALIZER,
                                  .change = PTHREAD_COND_INITIALIZER,
                                  .caller = pthread_self() };
    QnnContext_ParamsV2_t v2 = { NULL, saved.data, saved.size, NULL, on_notify, &n[1], NULL };
    QnnContext_Params_t p[3] = {
        { .version = QNN_CONTEXT_PARAMS_VERSION_1, .v1 = { NULL, saved.data, saved.size, NULL, on_notify, &n[0] } },
        { .version = QNN_CONTEXT_PARAMS_VERSION_2, .v2 = &v2 },
        { .version = QNN_CONTEXT_PARAMS_VERSION_1, .v1 = { NULL, bad, saved.size, NULL, on_notify, &n[2] } },
    };
    const QnnContext_Params_t *list[] = { &p[0], &p[1], &p[2], NULL };
    OK(q.contextCreateFromBinaryListAsync(env.backend, NULL, list, NULL, NULL));
    for (int i = 0; i < 3; i++)
        wait_for(&n[i]);
    for (int i = 0; i < 2; i++) {
        OK(n[i].status);
        assert_int_equal(n[i].graphs, 2);
        assert_int_equal(n[i].named, 1); /* clients take over a context whenever they see one */
        assert_true(n[i].other_thread);
        same_bits(n[i].context);
        OK(q.contextFree(n[i].context, NULL));
    }
    FAILS(QNN_CONTEXT_ERROR_CREATE_FROM_BINARY, n[2].status);
    const QnnContext_Params_t *none[] = { NULL };
    FAILS(QNN_CONTEXT_ERROR_INVALID_ARGUMENT, q.contextCreateFromBinaryListAsync(env.backend, NULL, none, NULL, NULL));
    FAILS(QNN_CONTEXT_ERROR_INVALID_ARGUMENT, q.contextCreateFromBinaryListAsync(env.backend, NULL, NULL, NULL, NULL));
    free(bad);
}

static void free_at_once(Qnn_ContextHandle_t context, Qnn_GraphHandle_t graph, const char *name,
                         QnnContext_createFromBinaryAsyncNotifyType_t type, void *param, Qnn_ErrorHandle_t status)
{
    _Atomic unsigned *freed = param;
    (void)graph, (void)name;
    if (type != QNN_CONTEXT_NOTIFY_TYPE_CONTEXT_INIT)
        return;
    FAILS(QNN_COMMON_ERROR_OPERATION_NOT_PERMITTED, q.backendFree(env.backend)); /* would wait for itself */
    *freed += status == QNN_SUCCESS && q.contextFree(context, NULL) == QNN_SUCCESS;
}

/* The context belongs to the client from its notification on. */
static void test_list_frees(void **state)
{
    (void)state;
    _Atomic unsigned freed = 0;
    QnnContext_Params_t p = { .version = QNN_CONTEXT_PARAMS_VERSION_1,
                              .v1 = { NULL, saved.data, saved.size, NULL, free_at_once, &freed } };
    const QnnContext_Params_t *list[] = { &p, &p, NULL };
    OK(q.contextCreateFromBinaryListAsync(env.backend, NULL, list, NULL, NULL));
    OK(q.backendFree(env.backend)); /* waits for both */
    assert_int_equal(freed, 2);
    OK(q.backendCreate(NULL, NULL, &env.backend));
}

/* ---- tensors of the context ------------------------------------------------------------------------------------------- */

static Qnn_ErrorHandle_t add_relu(Qnn_GraphHandle_t g, const char *name, Qnn_Tensor_t in, Qnn_Tensor_t out)
{
    struct op o = { .name = name, .type = "Relu", .ni = 1, .in = { in }, .no = 1, .out = { out } };
    return op_add(g, &o);
}

/* A tensor between two graphs keeps its id in the binary, and takes its data from one to the other after loading, too. */
static void test_context_tensor(void **state)
{
    (void)state;
    Qnn_ContextHandle_t c, loaded;
    Qnn_GraphHandle_t first, second;
    uint64_t size;
    OK(q.contextCreate(env.backend, NULL, NULL, &c));
    Qnn_Tensor_t rw = TENSOR("between", APP_READWRITE, FLOAT_32, 3), x = TENSOR("x", APP_WRITE, FLOAT_32, 3),
                 y = TENSOR("y", APP_READ, FLOAT_32, 3);
    OK(q.tensorCreateContextTensor(c, &rw));
    OK(q.graphCreate(c, "first", NULL, &first));
    OK(q.graphCreate(c, "second", NULL, &second));
    OK(q.tensorCreateGraphTensor(first, &x));
    OK(q.tensorCreateGraphTensor(second, &y));
    OK(add_relu(first, "one", x, rw));
    OK(add_relu(second, "two", rw, y));
    OK(q.graphFinalize(first, NULL, NULL));
    OK(q.graphFinalize(second, NULL, NULL));
    OK(q.contextGetBinarySize(c, &size));
    void *bytes = page_alloc(size);
    OK(q.contextGetBinary(c, bytes, size, &size));
    OK(q.contextCreateFromBinary(env.backend, NULL, NULL, bytes, size, &loaded, NULL));
    OK(q.graphRetrieve(loaded, "first", &first));
    OK(q.graphRetrieve(loaded, "second", &second));
    float in[3] = { -1, 2, -3 }, between[3], out[3];
    Qnn_Tensor_t tx = WITH(x, in), trw = WITH(rw, between), ty = WITH(y, out);
    OK(q.graphExecute(first, &tx, 1, &trw, 1, NULL, NULL));
    OK(q.graphExecute(second, &trw, 1, &ty, 1, NULL, NULL));
    floats_are(out, (float[]){ 0, 2, 0 }, 3, 0);
    free(bytes);
}

/* ---- damage ----------------------------------------------------------------------------------------------------------- */

static bool documented(uint32_t code)
{
    return code == QNN_CONTEXT_ERROR_CREATE_FROM_BINARY || code == QNN_CONTEXT_ERROR_BINARY_VERSION ||
           code == QNN_CONTEXT_ERROR_BINARY_CONFIGURATION;
}

static void test_truncated(void **state)
{
    (void)state;
    Qnn_ContextHandle_t c;
    for (uint64_t size = 1; size < saved.size; size += size < 256 ? 1 : saved.size / 97 + 1) {
        char *cut = malloc(size); /* exactly as long, so that a sanitizer sees a read beyond */
        memcpy(cut, saved.data, size);
        uint32_t code = CODE(q.contextCreateFromBinary(env.backend, NULL, NULL, cut, size, &c, NULL));
        if (!documented(code))
            fail_msg("%llu bytes of the binary give %u", (unsigned long long)size, code);
        assert_true(documented(CODE(q.contextValidateBinary(env.backend, NULL, NULL, cut, size))));
        free(cut);
    }
    FAILS(QNN_CONTEXT_ERROR_INVALID_ARGUMENT, q.contextCreateFromBinary(env.backend, NULL, NULL, NULL, 10, &c, NULL));
    FAILS(QNN_CONTEXT_ERROR_INVALID_ARGUMENT, q.contextCreateFromBinary(env.backend, NULL, NULL, saved.data, 0, &c, NULL));
    FAILS(QNN_CONTEXT_ERROR_INVALID_ARGUMENT,
          q.contextCreateFromBinary(env.backend, NULL, NULL, saved.data, saved.size, NULL, NULL));
}

/* validateBinary looks at every byte that matters, and so does createFromBinary: whatever it accepts computes the bits that
 * were saved. */
static void test_corrupted(void **state)
{
    (void)state;
    unsigned accepted = 0, flips = 0;
    char *bytes = malloc(saved.size);
    for (uint64_t at = 0; at < saved.size; at += at < 512 ? 1 : saved.size / 499 + 1, flips++) {
        memcpy(bytes, saved.data, saved.size);
        bytes[at] ^= (char)(1 << at % 8);
        Qnn_ContextHandle_t c = NULL;
        uint32_t code = CODE(q.contextCreateFromBinary(env.backend, NULL, NULL, bytes, saved.size, &c, NULL));
        if (code == QNN_SUCCESS) {
            accepted++;
            OK(q.contextValidateBinary(env.backend, NULL, NULL, bytes, saved.size));
            same_bits(c); /* the damage is where nothing is read */
            OK(q.contextFree(c, NULL));
        } else if (!documented(code)) {
            fail_msg("the binary with byte %llu changed gives %u: %s", (unsigned long long)at, code, explain(code));
        }
    }
    free(bytes);
    print_message("%u of %u damaged binaries were accepted (padding)\n", accepted, flips);
    char garbage[256];
    memset(garbage, 0x5A, sizeof garbage);
    Qnn_ContextHandle_t c;
    FAILS(QNN_CONTEXT_ERROR_CREATE_FROM_BINARY,
          q.contextCreateFromBinary(env.backend, NULL, NULL, garbage, sizeof garbage, &c, NULL));
}

/* Where the bytes of the convolution's bias are: they are in no other section. */
static char *find_constant(char *bytes, uint64_t size)
{
    char *found = memmem(bytes, size, conv_bias, sizeof conv_bias);
    assert_non_null(found);
    return found;
}

/* Changed weights are noticed before they are used, however the graph is loaded; a graph that is not loaded is not read. */
static void test_damaged_weights(void **state)
{
    (void)state;
    static const char *const only_affine[] = { "affine", NULL };
    QnnContext_Config_t keep = { .option = QNN_CONTEXT_CONFIG_PERSISTENT_BINARY, .isPersistentBinary = 1 };
    QnnContext_Config_t late = { .option = QNN_CONTEXT_CONFIG_OPTION_DEFER_GRAPH_INIT, .isGraphInitDeferred = 1 };
    QnnContext_Config_t some = { .option = QNN_CONTEXT_CONFIG_ENABLE_GRAPHS, .enableGraphs = only_affine };
    const QnnContext_Config_t *in_place[] = { &keep, NULL }, *deferred[] = { &late, NULL }, *enabled[] = { &some, NULL };
    Qnn_ContextHandle_t c = NULL;

    find_constant(saved.data, saved.size)[0] ^= 1;
    FAILS_SAYING(QNN_CONTEXT_ERROR_CREATE_FROM_BINARY, "damaged",
                 q.contextCreateFromBinary(env.backend, NULL, NULL, saved.data, saved.size, &c, NULL));
    FAILS_SAYING(QNN_CONTEXT_ERROR_CREATE_FROM_BINARY, "damaged",
                 q.contextCreateFromBinary(env.backend, NULL, in_place, saved.data, saved.size, &c, NULL));

    OK(q.contextCreateFromBinary(env.backend, NULL, deferred, saved.data, saved.size, &c, NULL));
    FAILS_SAYING(QNN_CONTEXT_ERROR_CREATE_FROM_BINARY, "damaged", q.contextFinalize(c, NULL));
    OK(q.contextFree(c, NULL));

    struct net n = affine;
    float z[AFFINE_N];
    OK(q.contextCreateFromBinary(env.backend, NULL, enabled, saved.data, saved.size, &c, NULL));
    OK(q.graphRetrieve(c, "affine", &n.graph));
    OK(net_run(&n, affine_in, z, AFFINE_N, AFFINE_N));
    assert_memory_equal(z, affine_out, sizeof z);
    OK(q.contextFree(c, NULL));
}

/* ---- the same binary in two contexts ---------------------------------------------------------------------------------- */

static void test_loads_twice(void **state)
{
    (void)state;
    Qnn_ContextHandle_t one, two;
    OK(q.contextCreateFromBinary(env.backend, NULL, NULL, saved.data, saved.size, &one, NULL));
    OK(q.contextCreateFromBinary(env.backend, NULL, NULL, saved.data, saved.size, &two, NULL));
    same_bits(one);
    same_bits(two);
    OK(q.contextFree(one, NULL));
    same_bits(two);
    OK(q.contextFree(two, NULL));
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        CASE(test_same_twice),
        CASE(test_not_finalized),
        CASE(test_load),
        CASE(test_loaded_context_is_closed),
        CASE(test_persistent),
        CASE(test_enable_graphs),
        CASE(test_deferred),
        CASE(test_with_signal),
        CASE(test_with_callback),
        CASE(test_list_async),
        CASE(test_list_frees),
        CASE(test_context_tensor),
        CASE(test_truncated),
        CASE(test_corrupted),
        CASE(test_damaged_weights),
        CASE(test_loads_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
