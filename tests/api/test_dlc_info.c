/* SPDX-License-Identifier: Apache-2.0 */
/* What libQnnSystem.so tells about a DLC, one fact per call, through the slots that newer clients have. A file with two
 * graphs and two context binaries is asked for everything; answers are compared with the text that the graphs were made
 * from, and with what QnnSystemContext_getMetadata says about the binaries. */
#include "api_test.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zip.h>

#include <QNN/System/QnnSystemInterface.h>

#include "convert/convert.h"
#include "dlc_slots.h"

enum {
    HANDLE = QNN_SYSTEM_DLC_ERROR_INVALID_HANDLE,
    ARGUMENT = QNN_SYSTEM_DLC_ERROR_INVALID_ARGUMENT,
    UNSUPPORTED = QNN_SYSTEM_DLC_ERROR_UNSUPPORTED_FEATURE,
};

static void *slots[DLC_SLOTS_END];
static QNN_SYSTEM_INTERFACE_VER_TYPE sys;
static void *system_library;
static char file[] = "/tmp/test_dlc_info_XXXXXX.dlc";
static void *binaries[2]; /* of libQnnCpu.so and libQnnLpai.so: their descriptions have versions 3 and 1 */
static uint64_t binary_sizes[2];

#define FACT(slot, handle, answer) ((fact_fn *)slots[slot])(handle, answer)
#define PART(slot, handle, index, answer) ((part_fn *)slots[slot])(handle, index, answer)

/* ---- the file --------------------------------------------------------------------------------------------------------- */

static const char soft_text[] =
    "graph \"soft\" { in %x : f32[2,3] const %k : f32[3] = (1,2,-1) tmp %t : f32[2,3] out %y : f32[2,3]\n"
    "%t = ElementWiseMultiply \"mul\" (%x, %k) %y = Softmax \"s\" (%t) { axis=u32(1), beta=f32(0.5) } }";
static const char many_text[] =
    "graph \"many\" { in %a : uq8[2] scale=0.5 offset=-3 in %b : sq8[2,4] quant=2 axis=1 scales=(1,2,3,4) "
    "offsets=(0,-1,2,3)\n"
    "in %c : sq8[2] scale=2 offset=1 bits=4 in %d : sq8[2,2] quant=2 axis=0 bits=4 scales=(0.25,8)\n"
    "in %e : f32[3] out %y : f32[3] %y = Relu \"r\" (%e) }";

static void make_binary(const char *library, void **bytes, uint64_t *size)
{
    void *lib = lib_dlopen(library, RTLD_NOW | RTLD_LOCAL);
    Qnn_ErrorHandle_t (*get)(const QnnInterface_t ***, uint32_t *) = dlsym(lib, "QnnInterface_getProviders");
    const QnnInterface_t **list;
    uint32_t n;
    Qnn_BackendHandle_t b;
    Qnn_ContextHandle_t c;
    Qnn_GraphHandle_t g;
    OK(get(&list, &n));
    q = list[0]->QNN_INTERFACE_VER_NAME;
    OK(q.backendCreate(NULL, NULL, &b));
    OK(q.contextCreate(b, NULL, NULL, &c));
    OK(q.graphCreate(c, "in binary", NULL, &g));
    Qnn_Tensor_t x = tensor_quant(TENSOR("x", APP_WRITE, UFIXED_POINT_8, 1, 8), 0.5f, -7);
    Qnn_Tensor_t y = tensor_quant(TENSOR("y", APP_READ, UFIXED_POINT_8, 1, 8), 0.5f, -7);
    OK(q.tensorCreateGraphTensor(g, &x));
    OK(q.tensorCreateGraphTensor(g, &y));
    OK(op_add(g, &(struct op){ .name = "r", .type = QNN_OP_RELU, .ni = 1, .in = { x }, .no = 1, .out = { y } }));
    OK(q.graphFinalize(g, NULL, NULL));
    OK(q.contextGetBinarySize(c, size));
    *bytes = malloc(*size);
    assert_non_null(*bytes);
    OK(q.contextGetBinary(c, *bytes, *size, size));
    OK(q.contextFree(c, NULL));
    OK(q.backendFree(b));
    dlclose(lib);
}

static void write_file(void)
{
    static const char *const texts[] = { soft_text, many_text };
    struct ir_graph *g[2] = { 0 };
    for (int i = 0; i < 2; i++)
        if (ir_parse(texts[i], strlen(texts[i]), &g[i]) != ST_OK)
            fail_msg("%s", status_text());
    struct convert_write w = { .prefix = "unused", .path = file };
    if (convert_write_dlc((const struct ir_graph *const *)g, 2, &w) != ST_OK)
        fail_msg("%s", status_text());
    ir_graph_free(g[0]);
    ir_graph_free(g[1]);
    zip_t *z = zip_open(file, 0, NULL);
    assert_non_null(z);
    for (int i = 0; i < 2; i++) {
        zip_source_t *s = zip_source_buffer(z, binaries[i], binary_sizes[i], 0);
        assert_true(zip_file_add(z, i ? "lpai.bin" : "cpu.bin", s, 0) >= 0);
    }
    assert_int_equal(zip_close(z), 0);
}

static int setup(void **state)
{
    (void)state;
    int fd = mkstemps(file, 4);
    if (fd < 0)
        return -1;
    close(fd);
    make_binary("libQnnCpu.so", &binaries[0], &binary_sizes[0]);
    make_binary("libQnnLpai.so", &binaries[1], &binary_sizes[1]);
    write_file();
    system_library = lib_dlopen("libQnnSystem.so", RTLD_NOW | RTLD_LOCAL);
    Qnn_ErrorHandle_t (*get)(const QnnSystemInterface_t ***, uint32_t *) =
        dlsym(system_library, "QnnSystemInterface_getProviders");
    const QnnSystemInterface_t **list;
    uint32_t n;
    if (!get || get(&list, &n) != QNN_SUCCESS)
        return -1;
    sys = list[0]->QNN_SYSTEM_INTERFACE_VER_NAME;
    memcpy(slots, &list[0]->QNN_SYSTEM_INTERFACE_VER_NAME, sizeof slots);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    free(binaries[0]);
    free(binaries[1]);
    dlclose(system_library);
    return unlink(file);
}

static QnnSystemDlc_Handle_t open_file(void)
{
    QnnSystemDlc_Handle_t d = NULL;
    OK(sys.systemDlcCreateFromFile(NULL, file, &d));
    return d;
}

static void *handle_of(QnnSystemDlc_Handle_t d, enum dlc_slot slot, uint32_t index)
{
    void **list = NULL;
    uint32_t n = 0;
    OK(((handles_fn *)slots[slot])(d, &list, &n));
    assert_int_equal(n, 2);
    return list[index];
}

static uint32_t number(enum dlc_slot slot, void *handle)
{
    uint32_t n = 0xabcdef;
    OK(FACT(slot, handle, &n));
    return n;
}

static void says(enum dlc_slot slot, void *handle, const char *wanted)
{
    const char *text = NULL;
    OK(FACT(slot, handle, &text));
    assert_string_equal(text, wanted);
}

/* ---- tests ------------------------------------------------------------------------------------------------------------ */

/* A tensor, told in pieces, is the one of the struct. */
static void same_tensor(void *handle, const Qnn_Tensor_t *t)
{
    uint32_t dims[8];
    void *e = NULL, *again = NULL;
    says(TENSOR_NAME, handle, TV(*t).name);
    assert_int_equal(number(TENSOR_ID, handle), TV(*t).id);
    assert_int_equal(number(TENSOR_TYPE, handle), TV(*t).type);
    assert_int_equal(number(TENSOR_FORMAT, handle), TV(*t).dataFormat);
    assert_int_equal(number(TENSOR_DATA_TYPE, handle), TV(*t).dataType);
    assert_int_equal(number(TENSOR_RANK, handle), TV(*t).rank);
    OK(FACT(TENSOR_DIMENSIONS, handle, dims));
    assert_memory_equal(dims, TV(*t).dimensions, TV(*t).rank * sizeof *dims);
    OK(FACT(TENSOR_ENCODING, handle, &e));
    OK(FACT(TENSOR_ENCODING, handle, &again));
    assert_ptr_equal(e, again);
    assert_int_equal(number(ENCODING_DEFINED, e), TV(*t).quantizeParams.encodingDefinition);
    assert_int_equal(number(ENCODING_KIND, e), TV(*t).quantizeParams.quantizationEncoding);
}

/* As newer headers have it. */
struct graph_struct {
    uint32_t version;
    QnnSystemContext_GraphInfoV1_t v1;
};

static void test_graphs(void **state)
{
    (void)state;
    QnnSystemDlc_Handle_t d = open_file();
    void *soft = handle_of(d, GRAPH_HANDLES, 0), *many = handle_of(d, GRAPH_HANDLES, 1), *t = NULL;
    const struct graph_struct *all = NULL;
    says(GRAPH_NAME, soft, "soft");
    says(GRAPH_NAME, many, "many");
    assert_int_equal(number(GRAPH_INPUTS, soft), 1);
    assert_int_equal(number(GRAPH_OUTPUTS, soft), 1);
    assert_int_equal(number(GRAPH_INPUTS, many), 5);
    assert_ptr_equal(handle_of(d, GRAPH_HANDLES, 0), soft);
    OK(FACT(GRAPH_ALL, many, &all));
    assert_int_equal(all->version, 1);
    assert_string_equal(all->v1.graphName, "many");
    assert_int_equal(all->v1.numGraphInputs, 5);
    for (uint32_t i = 0; i < 5; i++) {
        OK(PART(GRAPH_INPUT, many, i, &t));
        same_tensor(t, &all->v1.graphInputs[i]);
        assert_int_equal(number(TENSOR_TYPE, t), QNN_TENSOR_TYPE_APP_WRITE);
    }
    OK(PART(GRAPH_OUTPUT, many, 0, &t));
    same_tensor(t, &all->v1.graphOutputs[0]);
    OK(PART(GRAPH_OUTPUT, soft, 0, &t));
    says(TENSOR_NAME, t, "y");
    assert_int_equal(number(TENSOR_DATA_TYPE, t), QNN_DATATYPE_FLOAT_32);
    assert_int_equal(number(TENSOR_RANK, t), 2);
    hush(true);
    FAILS(ARGUMENT, PART(GRAPH_OUTPUT, soft, 1, &t));
    FAILS(ARGUMENT, PART(GRAPH_INPUT, soft, UINT32_MAX, &t));
    hush(false);
    OK(sys.systemDlcFree(d));
}

static void *encoding_of(QnnSystemDlc_Handle_t d, uint32_t input)
{
    void *t = NULL, *e = NULL;
    OK(PART(GRAPH_INPUT, handle_of(d, GRAPH_HANDLES, 1), input, &t));
    OK(FACT(TENSOR_ENCODING, t, &e));
    return e;
}

static void test_encodings(void **state)
{
    (void)state;
    QnnSystemDlc_Handle_t d = open_file();
    void *whole = encoding_of(d, 0), *axis = encoding_of(d, 1), *bw = encoding_of(d, 2), *bw_axis = encoding_of(d, 3);
    float f = 0;
    int32_t n = 0;
    OK(FACT(SCALE, whole, &f));
    OK(FACT(OFFSET, whole, &n));
    assert_true(f == 0.5f && n == -3);
    OK(FACT(AXIS_AXIS, axis, &n));
    assert_int_equal(n, 1);
    assert_int_equal(number(AXIS_COUNT, axis), 4);
    static const int32_t offsets[] = { 0, -1, 2, 3 };
    for (uint32_t i = 0; i < 4; i++) {
        OK(PART(AXIS_SCALE, axis, i, &f));
        OK(PART(AXIS_OFFSET, axis, i, &n));
        assert_true(f == (float)(i + 1) && n == offsets[i]);
    }
    OK(FACT(BW_SCALE, bw, &f));
    OK(FACT(BW_OFFSET, bw, &n));
    assert_true(f == 2 && n == 1 && number(BW_BITS, bw) == 4);
    assert_int_equal(number(BW_AXIS_BITS, bw_axis), 4);
    assert_int_equal(number(BW_AXIS_COUNT, bw_axis), 2);
    OK(FACT(BW_AXIS_AXIS, bw_axis, &n));
    assert_int_equal(n, 0);
    OK(PART(BW_AXIS_SCALE, bw_axis, 1, &f));
    OK(PART(BW_AXIS_OFFSET, bw_axis, 1, &n));
    assert_true(f == 8 && n == 0);
    hush(true); /* of another encoding, or beyond its end */
    FAILS(ARGUMENT, FACT(SCALE, axis, &f));
    FAILS(ARGUMENT, FACT(BW_BITS, whole, &n));
    FAILS(ARGUMENT, FACT(AXIS_COUNT, bw_axis, &n));
    FAILS(ARGUMENT, PART(BW_AXIS_SCALE, axis, 0, &f));
    FAILS(ARGUMENT, PART(AXIS_SCALE, axis, 4, &f));
    FAILS(ARGUMENT, PART(BW_AXIS_OFFSET, bw_axis, 2, &n));
    FAILS(ARGUMENT, FACT(SCALE, encoding_of(d, 4), &f));
    hush(false);
    OK(sys.systemDlcFree(d));
}

static void same_version(enum dlc_slot slot, void *handle, Qnn_Version_t v)
{
    uint32_t got[3] = { 77, 77, 77 };
    OK(((version_fn *)slots[slot])(handle, &got[0], &got[1], &got[2]));
    assert_true(got[0] == v.major && got[1] == v.minor && got[2] == v.patch);
}

static void same_graph(void *handle, const QnnSystemContext_GraphInfo_t *g)
{
    void *t = NULL;
    says(IN_NAME, handle, "in binary");
    assert_int_equal(number(IN_INPUTS, handle), 1);
    assert_int_equal(number(IN_OUTPUTS, handle), 1);
    OK(PART(IN_INPUT, handle, 0, &t));
    same_tensor(t, &g->graphInfoV1.graphInputs[0]);
    OK(PART(IN_OUTPUT, handle, 0, &t));
    same_tensor(t, &g->graphInfoV1.graphOutputs[0]);
    hush(true);
    FAILS(ARGUMENT, PART(IN_INPUT, handle, 1, &t));
    FAILS(ARGUMENT, PART(IN_UPDATEABLE, handle, 0, &t));
    uint32_t n;
    if (g->version == QNN_SYSTEM_CONTEXT_GRAPH_INFO_VERSION_1) {
        FAILS(UNSUPPORTED, FACT(IN_END, handle, &n));
        FAILS(UNSUPPORTED, FACT(IN_UPDATEABLES, handle, &n));
    } else {
        assert_int_equal(number(IN_UPDATEABLES, handle), g->graphInfoV3.numUpdateableTensors);
        assert_int_equal(number(IN_BLOB_SIZE, handle), g->graphInfoV3.graphBlobInfoSize);
        assert_int_equal(number(IN_START, handle), g->graphInfoV3.startOpIndex);
        assert_int_equal(number(IN_END, handle), g->graphInfoV3.endOpIndex);
        void *blob = &n;
        OK(FACT(IN_BLOB, handle, &blob));
        assert_ptr_equal(blob, NULL);
    }
    hush(false);
}

static void test_binaries(void **state)
{
    (void)state;
    QnnSystemDlc_Handle_t d = open_file();
    QnnSystemContext_Handle_t reader;
    OK(sys.systemContextCreate(&reader));
    for (uint32_t i = 0; i < 2; i++) {
        const QnnSystemContext_BinaryInfo_t *wanted = NULL, *all = NULL;
        void *b = handle_of(d, BINARY_HANDLES, i), *g = NULL, *none = NULL;
        uint64_t size = 0;
        OK(sys.systemContextGetMetaData(reader, binaries[i], binary_sizes[i], &wanted));
        bool old = wanted->version == QNN_SYSTEM_CONTEXT_BINARY_INFO_VERSION_1;
        const QnnSystemContext_BinaryInfoV1_t *v1 = &wanted->contextBinaryInfoV1;
        const QnnSystemContext_BinaryInfoV3_t *v3 = &wanted->contextBinaryInfoV3;
        assert_int_equal(old, i);
        OK(FACT(BINARY_ALL, b, &all));
        assert_int_equal(all->version, wanted->version);
        assert_int_equal(number(BINARY_BACKEND, b), v1->backendId);
        says(BINARY_BUILD, b, v1->buildId);
        says(BINARY_SOC, b, v1->socVersion);
        same_version(CORE_VERSION, b, v1->coreApiVersion);
        same_version(BACKEND_VERSION, b, v1->backendApiVersion);
        same_version(BLOB_VERSION, b, old ? v1->contextBlobVersion : v3->contextBlobVersion);
        OK(FACT(BINARY_SIZE, b, &size));
        assert_int_equal(size, binary_sizes[i]);
        assert_int_equal(number(BINARY_TENSORS, b), 0);
        assert_int_equal(number(BINARY_GRAPHS, b), 1);
        OK(PART(BINARY_GRAPH, b, 0, &g));
        same_graph(g, old ? &all->contextBinaryInfoV1.graphs[0] : &all->contextBinaryInfoV3.graphs[0]);
        hush(true);
        FAILS(ARGUMENT, PART(BINARY_TENSOR, b, 0, &none));
        FAILS(ARGUMENT, PART(BINARY_GRAPH, b, 1, &none));
        uint32_t n = 0;
        if (old) {
            assert_int_equal(number(HARDWARE_SIZE, b), v1->hwInfoBlobSize);
            OK(FACT(HARDWARE, b, &none));
            same_version(HARDWARE_VERSION, b, v1->hwInfoBlobVersion);
            FAILS(UNSUPPORTED, FACT(SOC_MODEL, b, &n));
        } else {
            FAILS(UNSUPPORTED, FACT(HARDWARE_SIZE, b, &n));
            FAILS(UNSUPPORTED, ((version_fn *)slots[HARDWARE_VERSION])(b, &n, &n, &n));
            assert_int_equal(number(SOC_MODEL, b), v3->socModel);
            assert_int_equal(number(METADATA_SIZE, b), v3->contextMetadataSize);
            OK(FACT(METADATA, b, &none));
        }
        hush(false);
    }
    OK(sys.systemContextFree(reader));
    OK(sys.systemDlcFree(d));
}

/* Every slot: no handle, one of another kind, nowhere to put the answer, one that has ended. */
static void test_misuse(void **state)
{
    (void)state;
    QnnSystemDlc_Handle_t d = open_file();
    void *g = handle_of(d, GRAPH_HANDLES, 0), *t = NULL, *room[4] = { 0 };
    OK(PART(GRAPH_INPUT, g, 0, &t));
    hush(true);
    for (int s = GRAPH_HANDLES; s < DLC_SLOTS_END; s++) {
        typedef Qnn_ErrorHandle_t any_fn(void *, void *, void *, void *);
        any_fn *call = (any_fn *)slots[s];
        FAILS(HANDLE, call(NULL, room, room, room));
        FAILS(HANDLE, call((void *)0x1234, room, room, room));
        bool of_graph = s >= GRAPH_ALL && s <= GRAPH_OUTPUT && s != BINARY_ALL;
        if (!of_graph)
            FAILS(HANDLE, call(g, room, room, room));
        if (s < TENSOR_NAME || s > TENSOR_ENCODING)
            FAILS(HANDLE, call(t, room, room, room));
    }
    FAILS(ARGUMENT, ((handles_fn *)slots[GRAPH_HANDLES])(d, NULL, (uint32_t *)room));
    FAILS(ARGUMENT, ((handles_fn *)slots[BINARY_HANDLES])(d, (void ***)room, NULL));
    FAILS(ARGUMENT, FACT(GRAPH_NAME, g, NULL));
    FAILS(ARGUMENT, FACT(TENSOR_DIMENSIONS, t, NULL));
    FAILS(ARGUMENT, PART(GRAPH_INPUT, g, 0, NULL));
    QnnSystemDlc_RecordHandle_t r = NULL;
    uint64_t size = 0;
    OK(sys.systemDlcGetRecordByName(d, "model", &r));
    OK(sys.systemDlcGetRecordDataSize(r, &size));
    OK(((range_fn *)slots[FREE_RANGE])(r, 0, size));
    FAILS(ARGUMENT, ((range_fn *)slots[FREE_RANGE])(r, 0, 0));
    FAILS(ARGUMENT, ((range_fn *)slots[FREE_RANGE])(r, 1, size));
    FAILS(ARGUMENT, ((range_fn *)slots[FREE_RANGE])(r, UINT64_MAX, 2));
    OK(sys.systemDlcFree(d));
    FAILS(HANDLE, FACT(GRAPH_NAME, g, room));
    FAILS(HANDLE, FACT(TENSOR_NAME, t, room));
    hush(false);
}

/* A container without a model has nothing to tell. */
static void test_empty(void **state)
{
    (void)state;
    QnnSystemDlc_Handle_t d = NULL;
    void **list = (void **)&d;
    uint32_t n = 7;
    OK(sys.systemDlcCreateWithDestinationDir(NULL, NULL, &d));
    OK(((handles_fn *)slots[GRAPH_HANDLES])(d, &list, &n));
    assert_true(!list && n == 0);
    n = 7;
    OK(((handles_fn *)slots[BINARY_HANDLES])(d, &list, &n));
    assert_true(!list && n == 0);
    OK(sys.systemDlcFree(d));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_graphs), cmocka_unit_test(test_encodings),
                                        cmocka_unit_test(test_binaries), cmocka_unit_test(test_misuse),
                                        cmocka_unit_test(test_empty) };
    return cmocka_run_group_tests(tests, setup, teardown);
}
