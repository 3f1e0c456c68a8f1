/* SPDX-License-Identifier: Apache-2.0 */
/* QnnContext_createFromBinaryWithCallback with DMA buffers: what is asked for, in which order, that the buffers themselves
 * are used and given back, and what is refused. Where sections lie is read from the file by its description
 * (docs/binary-format.md). */
#include "api_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <QNN/HTP/QnnHtpContext.h>
#include <QNN/HTP/QnnHtpDevice.h>

enum { GRAPHS = 3, ROWS = 64, WIDTH = 500 /* no whole pages */, PICKED = 2, PAGE = 4096, MOST = 16 };
enum { CONSTANTS = 11 };

static Qnn_BackendHandle_t backend;
static uint8_t *file;
static uint64_t file_bytes;
static uint32_t in_id[GRAPHS], out_id[GRAPHS];

/* ---- the file --------------------------------------------------------------------------------------------------------- */

static uint8_t byte_of(unsigned g, uint64_t i)
{
    return (uint8_t)(i * 31 + g * 101 + (i >> 8));
}

/* Graphs 0 and 1 pick from one table, graph 2 from another. */
static unsigned table_of(unsigned g)
{
    return g == 2;
}

static void add_graph(Qnn_ContextHandle_t c, unsigned g)
{
    static uint8_t table[ROWS * WIDTH];
    Qnn_GraphHandle_t graph;
    for (unsigned i = 0; i < sizeof table; i++)
        table[i] = byte_of(table_of(g), i);
    OK(q.graphCreate(c, keep_name("pick_%u", g), NULL, &graph));
    Qnn_Tensor_t data = WITH(tensor_quant(TENSOR(keep_name("t%u", g), STATIC, UFIXED_POINT_8, ROWS, WIDTH), 1, 0), table);
    Qnn_Tensor_t rows = TENSOR(keep_name("r%u", g), APP_WRITE, INT_32, PICKED);
    Qnn_Tensor_t out = tensor_quant(TENSOR(keep_name("y%u", g), APP_READ, UFIXED_POINT_8, PICKED, WIDTH), 1, 0);
    OK(q.tensorCreateGraphTensor(graph, &data));
    OK(q.tensorCreateGraphTensor(graph, &rows));
    OK(q.tensorCreateGraphTensor(graph, &out));
    in_id[g] = rows.v1.id;
    out_id[g] = out.v1.id;
    Qnn_Param_t axis = { .paramType = QNN_PARAMTYPE_SCALAR,
                         .name = "axis",
                         .scalarParam = { .dataType = QNN_DATATYPE_INT_32, .int32Value = 0 } };
    struct op o = {
        .name = "pick", .type = "Gather", .np = 1, .ni = 2, .no = 1, .p = { axis }, .in = { data, rows }, .out = { out }
    };
    OK(op_add(graph, &o));
    OK(q.graphFinalize(graph, NULL, NULL));
}

static const QnnContext_Config_t **one_custom(QnnHtpContext_CustomConfig_t *custom, QnnContext_Config_t *config,
                                              const QnnContext_Config_t *list[2])
{
    *config = (QnnContext_Config_t){ .option = QNN_CONTEXT_CONFIG_OPTION_CUSTOM, .customConfig = custom };
    list[0] = config;
    list[1] = NULL;
    return list;
}

static int group_setup(void **state)
{
    (void)state;
    Qnn_ContextHandle_t c;
    QnnHtpContext_CustomConfig_t sharing = { .option = QNN_HTP_CONTEXT_CONFIG_OPTION_WEIGHT_SHARING_ENABLED,
                                             .weightSharingEnabled = true };
    QnnContext_Config_t config;
    const QnnContext_Config_t *list[2];
    lib_open();
    OK(q.backendCreate(NULL, NULL, &backend));
    OK(q.contextCreate(backend, NULL, one_custom(&sharing, &config, list), &c));
    for (unsigned g = 0; g < GRAPHS; g++)
        add_graph(c, g);
    OK(q.contextGetBinarySize(c, &file_bytes));
    file = malloc(file_bytes);
    OK(q.contextGetBinary(c, file, file_bytes, &file_bytes));
    OK(q.contextFree(c, NULL));
    return 0;
}

static int group_teardown(void **state)
{
    (void)state;
    free(file);
    OK(q.backendFree(backend));
    lib_close();
    return 0;
}

/* Constant sections of the file, in the order of the file. */
static unsigned sections(Qnn_ContextBinaryDataRequest_t found[MOST])
{
    uint32_t n, kind;
    unsigned k = 0;
    memcpy(&n, file + 16, sizeof n);
    for (uint32_t i = 0; i < n; i++) {
        const uint8_t *record = file + 128 + 32 * (size_t)i;
        memcpy(&kind, record, sizeof kind);
        if (kind != CONSTANTS)
            continue;
        memcpy(&found[k].offset, record + 8, 8);
        memcpy(&found[k].size, record + 16, 8);
        k++;
    }
    return k;
}

/* ---- a client --------------------------------------------------------------------------------------------------------- */

struct asked {
    Qnn_ContextBinaryDataRequest_t request;
    int fd;
    uint8_t *at; /* our mapping */
    uint64_t bytes;
    bool released;
};

enum fault { NO_FAULT, FAILS_SECOND, NO_DESCRIPTOR, SAME_DESCRIPTOR, ODD_START, SMALL, SHORT_FILE, DAMAGED };

struct client {
    struct asked asked[MOST];
    unsigned n, n_released;
    enum fault fault;
    uint64_t start;            /* where in its buffers the bytes begin */
    Qnn_SignalHandle_t signal; /* triggered in the second request */
};

static Qnn_ErrorHandle_t provide(Qnn_ContextBinaryDataRequest_t req, Qnn_ContextBinaryDmaDataResponse_t *response,
                                 void *param)
{
    struct client *c = param;
    struct asked *a = &c->asked[c->n++];
    bool second = c->n == 2;
    assert_true(c->n <= MOST);
    *a = (struct asked){ .request = req, .fd = -1 };
    if (c->fault == FAILS_SECOND && second)
        return QNN_CONTEXT_ERROR_MEM_ALLOC;
    if (c->fault == NO_DESCRIPTOR && second)
        return QNN_SUCCESS;
    a->bytes = c->start + (req.size + PAGE - 1) / PAGE * PAGE;
    a->fd = c->fault == SAME_DESCRIPTOR && second ? c->asked[0].fd : memfd_create("dma", MFD_CLOEXEC);
    uint64_t there = c->fault == SHORT_FILE && second ? PAGE : a->bytes;
    assert_int_equal(ftruncate(a->fd, (off_t)there), 0);
    a->at = mmap(NULL, a->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, a->fd, 0);
    assert_true(a->at != MAP_FAILED);
    if (there == a->bytes) {
        memset(a->at, 0xEE, a->bytes);
        memcpy(a->at + c->start, file + req.offset, req.size);
    }
    if (c->fault == DAMAGED && second)
        a->at[c->start + req.size - 1] ^= 1;
    response->dmaBuffer.fd = a->fd;
    response->dmaBuffer.data = a->at;
    response->dataStartOffset = c->fault == ODD_START && second ? 64 : c->start;
    response->alignedSize = c->fault == SMALL && second ? req.size - 1 : a->bytes;
    if (c->signal && second)
        OK(q.signalTrigger(c->signal));
    return QNN_SUCCESS;
}

static Qnn_ErrorHandle_t take_back(Qnn_ContextBinaryDmaDataMem_t mem, void *param)
{
    struct client *c = param;
    for (unsigned i = 0; i < c->n; i++) {
        struct asked *a = &c->asked[i];
        if (a->fd != mem.dmaBuffer.fd || a->released)
            continue;
        assert_ptr_equal(mem.dmaBuffer.data, a->at);
        if (c->fault != SMALL)
            assert_int_equal(mem.memSize, a->bytes);
        a->released = true;
        munmap(a->at, a->bytes);
        if (c->fault != SAME_DESCRIPTOR)
            close(a->fd);
        c->n_released++;
        return QNN_SUCCESS;
    }
    fail_msg("descriptor %d was not given", mem.dmaBuffer.fd);
    return 1;
}

static Qnn_ContextBinaryCallback_t callback_of(struct client *c)
{
    return (Qnn_ContextBinaryCallback_t){ .type = QNN_CONTEXT_CALLBACK_DMA_BUFFER,
                                          .dmaBufferCallback = { QNN_CONTEXT_CALLBACK_DMA_BUFFER_VERSION_1,
                                                                 .v1 = { provide, take_back, c } } };
}

/* A buffer without constants is enough: they are the callbacks'. */
static void *without_constants(void)
{
    Qnn_ContextBinaryDataRequest_t all[MOST];
    uint8_t *copy = malloc(file_bytes);
    memcpy(copy, file, file_bytes);
    for (unsigned i = 0, n = sections(all); i < n; i++)
        memset(copy + all[i].offset, 0, all[i].size);
    return copy;
}

static Qnn_ErrorHandle_t create_on(Qnn_DeviceHandle_t device, struct client *client, const QnnContext_Config_t **config,
                                   Qnn_ContextHandle_t *ret)
{
    Qnn_ContextBinaryCallback_t callback = callback_of(client);
    void *copy = without_constants();
    Qnn_ErrorHandle_t e = q.contextCreateFromBinaryWithCallback(backend, device, config, &callback, copy, file_bytes, ret,
                                                                NULL, client->signal);
    memset(copy, 0xA5, file_bytes);
    memset(&callback, 0xA5, sizeof callback);
    free(copy);
    return e;
}

static Qnn_ErrorHandle_t create(struct client *client, const QnnContext_Config_t **config, Qnn_ContextHandle_t *ret)
{
    return create_on(NULL, client, config, ret);
}

static void pick(Qnn_ContextHandle_t c, unsigned g, uint8_t y[PICKED * WIDTH])
{
    int32_t rows[PICKED] = { 1, ROWS - 1 };
    Qnn_GraphHandle_t graph;
    OK(q.graphRetrieve(c, keep_name("pick_%u", g), &graph));
    Qnn_Tensor_t in = TENSOR(keep_name("r%u", g), APP_WRITE, INT_32, PICKED);
    Qnn_Tensor_t out = tensor_quant(TENSOR(keep_name("y%u", g), APP_READ, UFIXED_POINT_8, PICKED, WIDTH), 1, 0);
    in.v1.id = in_id[g];
    out.v1.id = out_id[g];
    in = WITH(in, rows);
    out = tensor_data(out, y, PICKED * WIDTH);
    OK(q.graphExecute(graph, &in, 1, &out, 1, NULL, NULL));
}

static void all_right(Qnn_ContextHandle_t c)
{
    uint8_t y[PICKED * WIDTH];
    for (unsigned g = 0; g < GRAPHS; g++) {
        pick(c, g, y);
        for (unsigned i = 0; i < WIDTH; i++) {
            assert_int_equal(y[i], byte_of(table_of(g), WIDTH + i));
            assert_int_equal(y[WIDTH + i], byte_of(table_of(g), (uint64_t)(ROWS - 1) * WIDTH + i));
        }
    }
}

/* ---- what is asked for ------------------------------------------------------------------------------------------------ */

static void test_sections(void **state)
{
    (void)state;
    Qnn_ContextBinaryDataRequest_t wanted[MOST];
    unsigned n = sections(wanted);
    assert_int_equal(n, 2); /* two graphs share one */
    for (uint64_t start = 0; start <= 2 * PAGE; start += 2 * PAGE) {
        struct client client = { .start = start };
        Qnn_ContextHandle_t c;
        OK(create(&client, NULL, &c));
        assert_int_equal(client.n, n);
        for (unsigned i = 0; i < n; i++) {
            assert_int_equal(client.asked[i].request.offset, wanted[i].offset);
            assert_int_equal(client.asked[i].request.size, wanted[i].size);
            assert_int_equal(client.asked[i].request.offset % PAGE, 0);
            assert_int_equal(client.asked[i].request.isBackendMappingNeeded, 1);
        }
        all_right(c);
        assert_int_equal(client.n_released, 0);
        OK(q.contextFree(c, NULL));
        assert_int_equal(client.n_released, n);
        assert_int_equal(client.n, n);
    }
}

/* What the graph reads are the client's buffers: a byte that changes there changes the result. */
static void test_not_copied(void **state)
{
    (void)state;
    struct client client = { 0 };
    Qnn_ContextHandle_t c;
    uint8_t y[PICKED * WIDTH];
    OK(create(&client, NULL, &c));
    struct asked *last = &client.asked[1];
    assert_true(last->request.size > PAGE);
    for (uint64_t i = 0; i < last->request.size / PAGE * PAGE; i++)
        last->at[i] ^= 0xFF;
    pick(c, 2, y);
    for (unsigned i = 0; i < WIDTH; i++)
        assert_int_equal(y[i], (uint8_t)~byte_of(1, WIDTH + i));
    OK(q.contextFree(c, NULL));
}

static void test_only_enabled(void **state)
{
    (void)state;
    static const char *const last[] = { "pick_2", NULL }, *const shared[] = { "pick_1", "pick_0", NULL };
    Qnn_ContextBinaryDataRequest_t wanted[MOST];
    sections(wanted);
    for (unsigned i = 0; i < 2; i++) {
        QnnContext_Config_t enable = { .option = QNN_CONTEXT_CONFIG_ENABLE_GRAPHS, .enableGraphs = i ? shared : last };
        const QnnContext_Config_t *config[] = { &enable, NULL };
        struct client client = { 0 };
        Qnn_ContextHandle_t c;
        uint8_t y[PICKED * WIDTH];
        OK(create(&client, config, &c));
        assert_int_equal(client.n, 1);
        assert_int_equal(client.asked[0].request.offset, wanted[!i].offset);
        pick(c, i ? 0 : 2, y);
        OK(q.contextFree(c, NULL));
        assert_int_equal(client.n_released, 1);
    }
}

/* ---- what goes wrong -------------------------------------------------------------------------------------------------- */

static void test_faults(void **state)
{
    (void)state;
    static const struct {
        enum fault fault;
        uint32_t code;
        const char *says;
        unsigned released;
    } cases[] = { { FAILS_SECOND, QNN_CONTEXT_ERROR_CREATE_FROM_BINARY, "dataProvide returned", 1 },
                  { NO_DESCRIPTOR, QNN_CONTEXT_ERROR_CREATE_FROM_BINARY, "descriptor -1", 1 },
                  { SAME_DESCRIPTOR, QNN_CONTEXT_ERROR_INVALID_ARGUMENT, "twice", 2 },
                  { ODD_START, QNN_CONTEXT_ERROR_INVALID_ARGUMENT, "offset 64", 2 },
                  { SMALL, QNN_CONTEXT_ERROR_INVALID_ARGUMENT, "asked for", 2 },
                  { SHORT_FILE, QNN_CONTEXT_ERROR_INVALID_ARGUMENT, "are needed", 2 },
                  { DAMAGED, QNN_CONTEXT_ERROR_CREATE_FROM_BINARY, "damaged", 2 } };
    for (unsigned i = 0; i < COUNT(cases); i++) {
        struct client client = { .fault = cases[i].fault };
        Qnn_ContextHandle_t c = NULL;
        FAILS_SAYING(cases[i].code, cases[i].says, create(&client, NULL, &c));
        assert_null(c);
        assert_int_equal(client.n, 2);
        assert_int_equal(client.n_released, cases[i].released);
        if (cases[i].fault == SAME_DESCRIPTOR)
            close(client.asked[0].fd);
    }
}

/* Between two parts: the third is not asked for, and all that came go back. */
static void test_signal(void **state)
{
    (void)state;
    struct client client = { 0 };
    Qnn_ContextHandle_t c = NULL;
    OK(q.signalCreate(backend, NULL, &client.signal));
    FAILS(QNN_CONTEXT_ERROR_ABORTED, create(&client, NULL, &c));
    assert_null(c);
    assert_int_equal(client.n, 2);
    assert_int_equal(client.n_released, 2);
    OK(q.signalFree(client.signal));
}

static void refused(const QnnContext_Config_t *one, const QnnContext_Config_t *two, const char *says)
{
    const QnnContext_Config_t *config[] = { one, two, NULL };
    struct client client = { 0 };
    Qnn_ContextHandle_t c = NULL;
    FAILS_SAYING(QNN_COMMON_ERROR_NOT_SUPPORTED, says, create(&client, config, &c));
    assert_null(c);
    assert_int_equal(client.n, 0);
}

static void test_excluded(void **state)
{
    (void)state;
    QnnHtpContext_CustomConfig_t share = { .option = QNN_HTP_CONTEXT_CONFIG_OPTION_SHARE_RESOURCES, .shareResources = true },
                                 udma = { .option = QNN_HTP_CONTEXT_CONFIG_OPTION_USE_EXTENDED_UDMA,
                                          .useExtendedUdma = true };
    QnnContext_Config_t defer = { .option = QNN_CONTEXT_CONFIG_OPTION_DEFER_GRAPH_INIT, .isGraphInitDeferred = 1 },
                        limit = { .option = QNN_CONTEXT_CONFIG_MEMORY_LIMIT_HINT, .memoryLimitHint = 1 },
                        stays = { .option = QNN_CONTEXT_CONFIG_PERSISTENT_BINARY, .isPersistentBinary = 1 },
                        custom[] = { { .option = QNN_CONTEXT_CONFIG_OPTION_CUSTOM, .customConfig = &share },
                                     { .option = QNN_CONTEXT_CONFIG_OPTION_CUSTOM, .customConfig = &udma } };
    refused(&defer, NULL, "DEFER_GRAPH_INIT");
    refused(&limit, &stays, "MEMORY_LIMIT_HINT");
    refused(&custom[0], NULL, "SHARE_RESOURCES");
    refused(&custom[1], NULL, "USE_EXTENDED_UDMA");

    QnnHtpDevice_CustomConfig_t pd;
    memset(&pd, 0, sizeof pd);
    pd.option = QNN_HTP_DEVICE_CONFIG_OPTION_SECUREPD;
    pd.useSecureProcessDomain.useSecureProcessDomain = true;
    QnnDevice_Config_t config = { .option = QNN_DEVICE_CONFIG_OPTION_CUSTOM, .customConfig = &pd };
    Qnn_DeviceHandle_t device;
    struct client client = { 0 };
    Qnn_ContextHandle_t c = NULL;
    OK(q.deviceCreate(NULL, (const QnnDevice_Config_t *[]){ &config, NULL }, &device));
    FAILS_SAYING(QNN_COMMON_ERROR_NOT_SUPPORTED, "SECUREPD", create_on(device, &client, NULL, &c));
    assert_int_equal(client.n, 0);
    OK(q.deviceFree(device));
}

static void test_arguments(void **state)
{
    (void)state;
    struct client client = { 0 };
    Qnn_ContextHandle_t c;
    Qnn_ContextBinaryCallback_t good = callback_of(&client), bad = good;
    bad.type = (Qnn_ContextBinaryCallbackType_t)3;
    FAILS(QNN_COMMON_ERROR_NOT_SUPPORTED,
          q.contextCreateFromBinaryWithCallback(backend, NULL, NULL, &bad, file, file_bytes, &c, NULL, NULL));
    bad = good;
    bad.dmaBufferCallback.version = (Qnn_ContextBinaryDmaBufferCallbackVersion_t)2;
    FAILS(QNN_COMMON_ERROR_NOT_SUPPORTED,
          q.contextCreateFromBinaryWithCallback(backend, NULL, NULL, &bad, file, file_bytes, &c, NULL, NULL));
    bad = good;
    bad.dmaBufferCallback.v1.dataRelease = NULL;
    FAILS(QNN_CONTEXT_ERROR_INVALID_ARGUMENT,
          q.contextCreateFromBinaryWithCallback(backend, NULL, NULL, &bad, file, file_bytes, &c, NULL, NULL));
    FAILS(QNN_CONTEXT_ERROR_INVALID_ARGUMENT,
          q.contextCreateFromBinaryWithCallback(backend, NULL, NULL, &good, NULL, file_bytes, &c, NULL, NULL));
    assert_int_equal(client.n, 0);
}

/* ---- lists ------------------------------------------------------------------------------------------------------------ */

struct told {
    Qnn_ContextHandle_t context;
    Qnn_ErrorHandle_t status;
};

static void on_notify(Qnn_ContextHandle_t context, Qnn_GraphHandle_t graph, const char *name,
                      QnnContext_createFromBinaryAsyncNotifyType_t type, void *param, Qnn_ErrorHandle_t status)
{
    struct told *t = param;
    (void)graph, (void)name;
    if (type == QNN_CONTEXT_NOTIFY_TYPE_CONTEXT_INIT)
        *t = (struct told){ context, status };
}

/* Each context of a list has callbacks of its own; the second one's fail. */
static void test_list(void **state)
{
    (void)state;
    enum { LISTED = 3 };
    struct client clients[LISTED] = { { .n = 0 }, { .fault = FAILS_SECOND }, { .n = 0 } };
    struct told told[LISTED];
    Qnn_ContextBinaryCallback_t callbacks[LISTED];
    void *copy = without_constants();
#define V2(i) { NULL, copy, file_bytes, NULL, on_notify, &told[i], (callbacks[i] = callback_of(&clients[i]), &callbacks[i]) }
    QnnContext_ParamsV2_t v2[LISTED] = { V2(0), V2(1), V2(2) };
    QnnContext_Params_t p[LISTED];
    const QnnContext_Params_t *all[LISTED + 1] = { &p[0], &p[1], &p[2], NULL };
    for (int i = 0; i < LISTED; i++) {
        p[i].version = QNN_CONTEXT_PARAMS_VERSION_2;
        p[i].v2 = &v2[i];
    }
    setenv("OPENQNN_LIST_WAIT", "1", 1);
    OK(q.contextCreateFromBinaryListAsync(backend, NULL, all, NULL, NULL));
    unsetenv("OPENQNN_LIST_WAIT");
    free(copy);
    FAILS(QNN_CONTEXT_ERROR_CREATE_FROM_BINARY, told[1].status);
    assert_int_equal(clients[1].n_released, 1);
    for (int i = 0; i < LISTED; i += 2) {
        OK(told[i].status);
        assert_int_equal(clients[i].n, 2);
        all_right(told[i].context);
        OK(q.contextFree(told[i].context, NULL));
        assert_int_equal(clients[i].n_released, 2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sections),  cmocka_unit_test(test_not_copied), cmocka_unit_test(test_only_enabled),
        cmocka_unit_test(test_faults),    cmocka_unit_test(test_signal),     cmocka_unit_test(test_excluded),
        cmocka_unit_test(test_arguments), cmocka_unit_test(test_list),
    };
    return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
