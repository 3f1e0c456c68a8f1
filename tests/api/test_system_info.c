/* SPDX-License-Identifier: Apache-2.0 */
/* What libQnnSystem.so says about context binaries. The binaries are made here, so every field has a known value. */
#include "system_lib.h"

#include <malloc.h>
#include <string.h>

#include "QNN/HTP/QnnHtpSystemContext.h"
#include "binary/binary.h"
#include "test_scale.h"

enum { CPU = 3, GPU = 4, HTP = 6, LPAI = 12, LPAI_ISLAND = 16 };

static const QnnSystemInterface_ImplementationV1_12_t *sys;

/* ---- a binary whose every fact is known ------------------------------------------------------------------------------- */

static const float axis_scales[3] = { 0.25f, 0.5f, 2.0f };
static const int8_t weights[12] = { 1, -2, 3, -4, 5, -6, 7, -8, 9, -10, 11, -12 };

static struct binary_tensor constant(const char *name, enum dtype type, uint32_t n)
{
    struct binary_tensor t = { .name = name, .desc = { .type = type, .rank = 1, .dims = { n } }, .place = PLACE_CONST };
    t.bytes = desc_bytes(&t.desc);
    t.client_type = QNN_TENSOR_TYPE_STATIC;
    return t;
}

static struct binary_image make_graph(uint32_t backend, const char *name)
{
    const struct quant q = { .kind = Q_TENSOR, .definition = 1, .scale = 0.5f, .offset = -3 };
    const struct quant qw = { .kind = Q_AXIS, .definition = 1, .axis = 1, .n = 3, .scales = axis_scales };
    const struct binary_tensor tensors[] = {
        { .name = "in",
          .desc = { .type = DT_UQ8, .rank = 4, .dims = { 1, 2, 3, 4 }, .q = q },
          .place = PLACE_IO,
          .io = 1,
          .client_id = 7,
          .client_type = QNN_TENSOR_TYPE_APP_WRITE,
          .offset = 0,
          .bytes = 24 },
        { .name = "out",
          .desc = { .type = DT_UQ8, .rank = 4, .dims = { 1, 2, 3, 4 }, .q = q },
          .place = PLACE_IO,
          .io = 2,
          .client_id = 9,
          .client_type = QNN_TENSOR_TYPE_APP_READ,
          .offset = 2,
          .bytes = 24 },
        { .name = "w",
          .desc = { .type = DT_SQ8, .rank = 2, .dims = { 4, 3 }, .q = qw },
          .place = PLACE_CONST,
          .updateable = 1,
          .client_id = 8,
          .client_type = QNN_TENSOR_TYPE_UPDATEABLE_STATIC,
          .bytes = 12 },
        { .name = "extra",
          .desc = { .type = DT_F32, .rank = 2, .dims = { 2, 5 }, .dynamic = 2 },
          .place = PLACE_IO,
          .io = 1,
          .client_id = 10,
          .client_type = QNN_TENSOR_TYPE_APP_WRITE,
          .offset = 1,
          .bytes = 40 },
        constant("k", DT_F32, 3),
        constant("own", DT_I8, 1),
    };
    const void *data[COUNT(tensors)] = { NULL, NULL, weights, NULL, axis_scales, name };
    const uint32_t in = 0, out = 1;
    const struct binary_node node = { .name = "relu", .op = op_find("Relu"), .n_in = 1, .n_out = 1, .in = &in, .out = &out,
                                      .post = OP_POST_NONE };
    const struct binary_command command = { .node = 0, .begin = 0, .end = UINT32_MAX, .step = 0 };
    const struct binary_source source = {
        .info = { .name = name,
                  .n_inputs = 2,
                  .n_outputs = 1,
                  .scratch_bytes = 4096,
                  .persistent_bytes = 64,
                  .scratch_align = 64,
                  .io_bytes = 88,
                  .const_bytes = 12 + sizeof axis_scales + 1,
                  .opt_level = 3,
                  .vtcm_mb = 8,
                  .hvx_threads = 4,
                  .dlbc = 1,
                  .spill_fill_bytes = 123456,
                  .n_source_nodes = 5 },
        .n_tensors = COUNT(tensors),
        .n_nodes = 1,
        .n_commands = 1,
        .tensors = tensors,
        .data = data,
        .nodes = &node,
        .commands = &command,
    };
    const struct binary_target target = { .backend_id = backend, .soc_model = 57, .arch = 73, .core_version = { 2, 37, 1 },
                                          .backend_version = { 5, 48, 2 }, .build_id = "v9.9.9.test" };
    struct binary_image im = { .data = NULL };
    if (binary_write(&target, &source, &im) != ST_OK)
        fail_msg("%s", status_text());
    return im;
}

/* ---- expectations ----------------------------------------------------------------------------------------------------- */

static void check_quantized(const Qnn_Tensor_t *t, uint32_t id, const char *name, Qnn_TensorType_t type)
{
    assert_int_equal(t->version, QNN_TENSOR_VERSION_1);
    assert_int_equal(t->v1.id, id);
    assert_string_equal(t->v1.name, name);
    assert_int_equal(t->v1.type, type);
    assert_int_equal(t->v1.dataFormat, 0);
    assert_int_equal(t->v1.dataType, QNN_DATATYPE_UFIXED_POINT_8);
    assert_int_equal(t->v1.rank, 4);
    assert_memory_equal(t->v1.dimensions, ((uint32_t[]){ 1, 2, 3, 4 }), 16);
    assert_int_equal(t->v1.memType, QNN_TENSORMEMTYPE_RAW);
    assert_null(t->v1.clientBuf.data);
    assert_int_equal(t->v1.quantizeParams.encodingDefinition, QNN_DEFINITION_DEFINED);
    assert_int_equal(t->v1.quantizeParams.quantizationEncoding, QNN_QUANTIZATION_ENCODING_SCALE_OFFSET);
    assert_true(t->v1.quantizeParams.scaleOffsetEncoding.scale == 0.5f);
    assert_int_equal(t->v1.quantizeParams.scaleOffsetEncoding.offset, -3);
}

static void check_io(const QnnSystemContext_GraphInfoV1_t *g, const char *name)
{
    assert_string_equal(g->graphName, name);
    assert_int_equal(g->numGraphInputs, 2);
    assert_int_equal(g->numGraphOutputs, 1);
    check_quantized(&g->graphInputs[0], 7, "in", QNN_TENSOR_TYPE_APP_WRITE);
    check_quantized(&g->graphOutputs[0], 9, "out", QNN_TENSOR_TYPE_APP_READ);
    const Qnn_Tensor_t *extra = &g->graphInputs[1];
    assert_int_equal(extra->version, QNN_TENSOR_VERSION_2); /* only version 2 can say "dynamic" */
    assert_string_equal(extra->v2.name, "extra");
    assert_int_equal(extra->v2.dataType, QNN_DATATYPE_FLOAT_32);
    assert_memory_equal(extra->v2.dimensions, ((uint32_t[]){ 2, 5 }), 8);
    assert_memory_equal(extra->v2.isDynamicDimensions, ((uint8_t[]){ 0, 1 }), 2);
    assert_int_equal(extra->v2.quantizeParams.encodingDefinition, QNN_DEFINITION_UNDEFINED);
}

static void check_graph_v3(const QnnSystemContext_GraphInfo_t *g, const char *name)
{
    assert_int_equal(g->version, QNN_SYSTEM_CONTEXT_GRAPH_INFO_VERSION_3);
    check_io(&g->graphInfoV1, name);
    const QnnSystemContext_GraphInfoV3_t *v = &g->graphInfoV3;
    assert_int_equal(v->startOpIndex, 0);
    assert_int_equal(v->endOpIndex, 4);
    assert_int_equal(v->numUpdateableTensors, 1);
    const Qnn_TensorV1_t *w = &v->updateableTensors[0].v1;
    assert_string_equal(w->name, "w");
    assert_int_equal(w->id, 8);
    assert_int_equal(w->type, QNN_TENSOR_TYPE_UPDATEABLE_STATIC);
    assert_int_equal(w->quantizeParams.quantizationEncoding, QNN_QUANTIZATION_ENCODING_AXIS_SCALE_OFFSET);
    assert_int_equal(w->quantizeParams.axisScaleOffsetEncoding.axis, 1);
    assert_int_equal(w->quantizeParams.axisScaleOffsetEncoding.numScaleOffsets, 3);
    for (int i = 0; i < 3; i++)
        assert_true(w->quantizeParams.axisScaleOffsetEncoding.scaleOffset[i].scale == axis_scales[i]);
}

static void check_htp_blob(const QnnSystemContext_GraphInfoV3_t *g, uint64_t consts, uint64_t shared)
{
    const QnnHtpSystemContext_GraphBlobInfo_t *blob = g->graphBlobInfo;
    assert_non_null(blob);
    assert_int_equal(blob->version, QNN_SYSTEM_CONTEXT_HTP_GRAPH_INFO_BLOB_VERSION_V1);
    assert_int_equal(blob->contextBinaryGraphBlobInfoV1.spillFillBufferSize, 123456);
    assert_int_equal(blob->contextBinaryGraphBlobInfoV1.vtcmSize, 8);
    assert_int_equal(blob->contextBinaryGraphBlobInfoV1.optimizationLevel, 3);
    assert_int_equal(blob->contextBinaryGraphBlobInfoV1.htpDlbc, 1);
    assert_int_equal(blob->contextBinaryGraphBlobInfoV1.numHvxThreads, 4);
    const QnnHtpSystemContext_GraphBlobInfoV2_t *more = (const void *)(blob + 1);
    assert_int_equal(g->graphBlobInfoSize, sizeof(*blob) + sizeof(*more));
    assert_int_equal(more->version, QNN_SYSTEM_CONTEXT_HTP_GRAPH_INFO_BLOB_VERSION_V2);
    assert_int_equal(more->ioTensorSize, 88);
    assert_int_equal(more->constSize, consts);
    assert_int_equal(more->sharedWeightsSize, shared);
    assert_int_equal(more->ddrTensorSize, 4096 + 64);
    assert_true(more->opDataSize > 0);
}

static void check_v3(const QnnSystemContext_BinaryInfo_t *info, uint32_t backend, uint64_t size)
{
    assert_int_equal(info->version, QNN_SYSTEM_CONTEXT_BINARY_INFO_VERSION_3);
    const QnnSystemContext_BinaryInfoV3_t *v = &info->contextBinaryInfoV3;
    assert_int_equal(v->backendId, backend);
    assert_string_equal(v->buildId, "v9.9.9.test");
    assert_memory_equal(&v->coreApiVersion, ((uint32_t[]){ 2, 37, 1 }), 12);
    assert_memory_equal(&v->backendApiVersion, ((uint32_t[]){ 5, 48, 2 }), 12);
    assert_non_null(v->socVersion);
    assert_int_equal(v->contextBlobSize, size);
    assert_int_equal(v->contextBlobVersion.major, 1);
    assert_int_equal(v->numContextTensors, 0);
    assert_int_equal(v->socModel, 57);
    assert_int_equal(v->contextMetadataSize != 0, backend == HTP);
    if (backend == HTP) {
        const QnnHtpSystemContext_ContextBlobInfo_t *blob = v->contextMetadata;
        assert_int_equal(blob->version, QNN_SYSTEM_CONTEXT_HTP_CONTEXT_INFO_BLOB_VERSION_V1);
        assert_int_equal(blob->contextBinaryContextBlobInfoV1.dspArch, 73);
    }
}

static void check_v1(const QnnSystemContext_BinaryInfo_t *info, uint32_t backend, uint64_t size)
{
    assert_int_equal(info->version, QNN_SYSTEM_CONTEXT_BINARY_INFO_VERSION_1);
    const QnnSystemContext_BinaryInfoV1_t *v = &info->contextBinaryInfoV1;
    assert_int_equal(v->backendId, backend);
    assert_string_equal(v->buildId, "v9.9.9.test");
    assert_memory_equal(&v->coreApiVersion, ((uint32_t[]){ 2, 37, 1 }), 12);
    assert_memory_equal(&v->backendApiVersion, ((uint32_t[]){ 5, 48, 2 }), 12);
    assert_non_null(v->socVersion);
    assert_int_equal(v->hwInfoBlobSize, 0);
    assert_null(v->hwInfoBlob);
    assert_int_equal(v->contextBlobSize, size);
    assert_int_equal(v->numContextTensors, 0);
    assert_int_equal(v->numGraphs, 1);
    assert_int_equal(v->graphs[0].version, QNN_SYSTEM_CONTEXT_GRAPH_INFO_VERSION_1);
    check_io(&v->graphs[0].graphInfoV1, "g");
}

/* ---- tests ------------------------------------------------------------------------------------------------------------ */

/* Both questions, and the answers are read only after the client's buffer is overwritten and freed. */
static void ask(uint32_t backend, const QnnSystemContext_BinaryInfo_t *ret[2], QnnSystemContext_Handle_t h, uint64_t *size)
{
    struct binary_image im = make_graph(backend, "g");
    Qnn_ContextBinarySize_t info_size = 0;
    *size = im.size;
    assert_int_equal(sys->systemContextGetBinaryInfo(h, im.data, im.size, &ret[0], &info_size), QNN_SUCCESS);
    assert_true(info_size >= sizeof(*ret[0]));
    assert_int_equal(sys->systemContextGetMetaData(h, im.data, im.size, &ret[1]), QNN_SUCCESS);
    memset(im.data, 0x5a, im.size);
    binary_image_free(&im);
}

static void versions_by_backend(void **state)
{
    (void)state;
    static const uint32_t backends[] = { CPU, GPU, HTP, LPAI, LPAI_ISLAND };
    QnnSystemContext_Handle_t h;
    assert_int_equal(sys->systemContextCreate(&h), QNN_SUCCESS);
    const QnnSystemContext_BinaryInfo_t *info[COUNT(backends)][2];
    uint64_t size[COUNT(backends)];
    for (size_t i = 0; i < COUNT(backends); i++)
        ask(backends[i], info[i], h, &size[i]);
    /* All answers of the handle are still there. */
    for (size_t i = 0; i < 2 * COUNT(backends); i++) {
        const QnnSystemContext_BinaryInfo_t *b = info[i / 2][i % 2];
        if (backends[i / 2] >= LPAI) {
            check_v1(b, backends[i / 2], size[i / 2]);
            continue;
        }
        check_v3(b, backends[i / 2], size[i / 2]);
        assert_int_equal(b->contextBinaryInfoV3.numGraphs, 1);
        const QnnSystemContext_GraphInfo_t *g = &b->contextBinaryInfoV3.graphs[0];
        check_graph_v3(g, "g");
        if (backends[i / 2] == HTP) {
            check_htp_blob(&g->graphInfoV3, 25, 0);
        } else {
            assert_null(g->graphInfoV3.graphBlobInfo);
            assert_int_equal(g->graphInfoV3.graphBlobInfoSize, 0);
        }
    }
    assert_int_equal(sys->systemContextFree(h), QNN_SUCCESS);
}

static void several_graphs(void **state)
{
    (void)state;
    struct binary_image one = make_graph(HTP, "first"), two = make_graph(HTP, "second"), both;
    struct binary a, b;
    assert_int_equal(binary_open(one.data, one.size, &a), ST_OK);
    assert_int_equal(binary_open(two.data, two.size, &b), ST_OK);
    assert_int_equal(binary_merge((const struct binary *const[]){ &a, &b }, 2, NULL, &both), ST_OK);
    binary_close(&a);
    binary_close(&b);
    QnnSystemContext_Handle_t h;
    const QnnSystemContext_BinaryInfo_t *info;
    assert_int_equal(sys->systemContextCreate(&h), QNN_SUCCESS);
    assert_int_equal(sys->systemContextGetMetaData(h, both.data, both.size, &info), QNN_SUCCESS);
    check_v3(info, HTP, both.size);
    assert_int_equal(info->contextBinaryInfoV3.numGraphs, 2);
    const QnnSystemContext_GraphInfo_t *g = info->contextBinaryInfoV3.graphs;
    check_graph_v3(&g[0], "first");
    check_graph_v3(&g[1], "second");
    check_htp_blob(&g[0].graphInfoV3, 13, 12); /* the merge stores equal weights once, unless they can change */
    check_htp_blob(&g[1].graphInfoV3, 13, 12);
    assert_int_equal(sys->systemContextFree(h), QNN_SUCCESS);
    binary_image_free(&one);
    binary_image_free(&two);
    binary_image_free(&both);
}

/* Cut off anywhere or damaged anywhere: an error or a whole answer, never a crash. */
static void damaged(void **state)
{
    (void)state;
    struct binary_image im = make_graph(CPU, "g");
    QnnSystemContext_Handle_t h;
    assert_int_equal(sys->systemContextCreate(&h), QNN_SUCCESS);
    const QnnSystemContext_BinaryInfo_t *const mark = (const void *)&im;
    for (size_t n = 1; n < im.size; n += 1 + n / 16) {
        uint8_t *part = malloc(n); /* of its own, so that a sanitizer sees reads behind the end */
        assert_non_null(part);
        memcpy(part, im.data, n);
        const QnnSystemContext_BinaryInfo_t *info = mark;
        assert_int_equal(sys->systemContextGetMetaData(h, part, n, &info), QNN_SYSTEM_CONTEXT_ERROR_MALFORMED_BINARY);
        assert_ptr_equal(info, mark);
        free(part);
    }
    static const char *const others[] = { "\x7f" "ELF\2\1\1", "PK\3\4 a zip", "random text", "OQNB" };
    for (size_t i = 0; i < COUNT(others); i++) {
        const QnnSystemContext_BinaryInfo_t *info = mark;
        assert_int_equal(sys->systemContextGetMetaData(h, others[i], strlen(others[i]), &info),
                         QNN_SYSTEM_CONTEXT_ERROR_MALFORMED_BINARY);
    }
    unsigned bad = 0, n = test_scale(200);
    for (unsigned i = 0; i < n; i++) {
        size_t at = (size_t)i * 2654435761u % (im.size < 2048 ? im.size : 2048);
        ((uint8_t *)im.data)[at] ^= 0x40;
        const QnnSystemContext_BinaryInfo_t *info;
        Qnn_ErrorHandle_t e = sys->systemContextGetMetaData(h, im.data, im.size, &info);
        assert_true(e == QNN_SUCCESS || e == QNN_SYSTEM_CONTEXT_ERROR_MALFORMED_BINARY);
        bad += e != QNN_SUCCESS;
        ((uint8_t *)im.data)[at] ^= 0x40;
    }
    assert_true(bad > 0);
    assert_int_equal(sys->systemContextFree(h), QNN_SUCCESS);
    binary_image_free(&im);
}

/* At an odd address, with bytes behind the end of the file. */
static void any_alignment(void **state)
{
    (void)state;
    struct binary_image im = make_graph(HTP, "g");
    uint8_t *copy = malloc(im.size + 8);
    assert_non_null(copy);
    QnnSystemContext_Handle_t h;
    assert_int_equal(sys->systemContextCreate(&h), QNN_SUCCESS);
    for (unsigned shift = 1; shift < 8; shift++) {
        memcpy(copy + shift, im.data, im.size);
        const QnnSystemContext_BinaryInfo_t *info;
        assert_int_equal(sys->systemContextGetMetaData(h, copy + shift, im.size, &info), QNN_SUCCESS);
        check_graph_v3(&info->contextBinaryInfoV3.graphs[0], "g");
    }
    free(copy);
    assert_int_equal(sys->systemContextFree(h), QNN_SUCCESS);
    binary_image_free(&im);
}

static void wrong_arguments(void **state)
{
    (void)state;
    struct binary_image im = make_graph(CPU, "g");
    const QnnSystemContext_BinaryInfo_t *info;
    Qnn_ContextBinarySize_t size;
    QnnSystemContext_Handle_t h, log;
    assert_int_equal(sys->systemContextCreate(NULL), QNN_SYSTEM_CONTEXT_ERROR_INVALID_ARGUMENT);
    assert_int_equal(sys->systemContextCreate(&h), QNN_SUCCESS);
    assert_int_equal(sys->systemContextGetBinaryInfo(h, NULL, im.size, &info, &size),
                     QNN_SYSTEM_CONTEXT_ERROR_INVALID_ARGUMENT);
    assert_int_equal(sys->systemContextGetBinaryInfo(h, im.data, 0, &info, &size),
                     QNN_SYSTEM_CONTEXT_ERROR_INVALID_ARGUMENT);
    assert_int_equal(sys->systemContextGetBinaryInfo(h, im.data, im.size, NULL, &size),
                     QNN_SYSTEM_CONTEXT_ERROR_INVALID_ARGUMENT);
    assert_int_equal(sys->systemContextGetBinaryInfo(h, im.data, im.size, &info, NULL),
                     QNN_SYSTEM_CONTEXT_ERROR_INVALID_ARGUMENT);
    assert_int_equal(sys->systemContextGetMetaData(h, NULL, im.size, &info), QNN_SYSTEM_CONTEXT_ERROR_INVALID_ARGUMENT);
    assert_int_equal(sys->systemContextGetMetaData(h, im.data, 0, &info), QNN_SYSTEM_CONTEXT_ERROR_INVALID_ARGUMENT);
    assert_int_equal(sys->systemContextGetMetaData(h, im.data, im.size, NULL), QNN_SYSTEM_CONTEXT_ERROR_INVALID_ARGUMENT);
    assert_int_equal(sys->systemContextFree(h), QNN_SUCCESS);
    assert_int_equal(sys->systemLogCreate(NULL, QNN_LOG_LEVEL_ERROR, &log), QNN_SUCCESS);
    QnnSystemContext_Handle_t wrong[COUNT(not_handles) + 2] = { h, log }; /* freed, of another kind */
    memcpy(wrong + 2, not_handles, sizeof(not_handles));
    for (size_t i = 0; i < COUNT(wrong); i++) {
        assert_int_equal(sys->systemContextGetBinaryInfo(wrong[i], im.data, im.size, &info, &size),
                         QNN_SYSTEM_CONTEXT_ERROR_INVALID_HANDLE);
        assert_int_equal(sys->systemContextGetMetaData(wrong[i], im.data, im.size, &info),
                         QNN_SYSTEM_CONTEXT_ERROR_INVALID_HANDLE);
        assert_int_equal(sys->systemContextFree(wrong[i]), QNN_SYSTEM_CONTEXT_ERROR_INVALID_HANDLE);
    }
    assert_int_equal(sys->systemLogFree(log), QNN_SUCCESS);
    binary_image_free(&im);
}

static void one_cycle(const struct binary_image *im)
{
    QnnSystemContext_Handle_t h;
    const QnnSystemContext_BinaryInfo_t *info;
    Qnn_ContextBinarySize_t size;
    assert_int_equal(sys->systemContextCreate(&h), QNN_SUCCESS);
    assert_int_equal(sys->systemContextGetBinaryInfo(h, im->data, im->size, &info, &size), QNN_SUCCESS);
    assert_int_equal(sys->systemContextGetMetaData(h, im->data, im->size, &info), QNN_SUCCESS);
    assert_int_equal(sys->systemContextFree(h), QNN_SUCCESS);
}

/* Under a sanitizer mallinfo2 shows nothing; there the leak check of the sanitizer looks. */
static void no_memory_left_behind(void **state)
{
    (void)state;
    struct binary_image im = make_graph(HTP, "g");
    for (unsigned i = 0; i < 20; i++)
        one_cycle(&im); /* what is allocated once, and what malloc keeps for itself */
    size_t before = mallinfo2().uordblks;
    for (unsigned i = 0; i < 1000; i++)
        one_cycle(&im);
    assert_int_equal(mallinfo2().uordblks, before);
    binary_image_free(&im);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(versions_by_backend),
        cmocka_unit_test(several_graphs),
        cmocka_unit_test(damaged),
        cmocka_unit_test(any_alignment),
        cmocka_unit_test(wrong_arguments),
        cmocka_unit_test(no_memory_left_behind),
    };
    void *lib = system_open();
    sys = &system_provider(lib)->QNN_SYSTEM_INTERFACE_VER_NAME;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    dlclose(lib);
    return failed;
}
