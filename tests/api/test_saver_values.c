/* SPDX-License-Identifier: Apache-2.0 */
/* libQnnSaver.so: every value that a client hands over is in the recording. A recording is repeated on the other libraries,
 * whose results must be those of the same calls made directly; and on libQnnSaver.so itself, which must write the same
 * recording again.
 *
 *     test_saver_values COMPILER INCLUDE_FOLDER */
#include <dlfcn.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "saver_kit.h"

enum { ROWS = 4, COLUMNS = 8, ELEMENTS = ROWS * COLUMNS, CODES = 512 };

/* ---- the calls of a test, made on whatever library is open ------------------------------------------------------------ */

struct outcome {
    uint64_t codes[CODES];
    unsigned n;
    float out[64][ELEMENTS]; /* of executions */
    unsigned runs;
};

static Qnn_ErrorHandle_t noted(struct outcome *o, Qnn_ErrorHandle_t e)
{
    assert_true(o->n < CODES);
    o->codes[o->n++] = CODE(e);
    return e;
}

typedef void play_fn(struct outcome *o);

/* Records what `play` does; repeats it on each library, and compares with the library itself. */
static void same_everywhere(const char *below, play_fn *play)
{
    static struct outcome recorded, direct;
    recorded = (struct outcome){ 0 };
    void *lib = open_saver();
    OK(record_to(below, 0));
    play(&recorded);
    dlclose(lib);
    if (!compile(below))
        skip();
    for (size_t k = 0; k < COUNT(replay_libraries); k++) {
        lib = open_table(replay_libraries[k]);
        direct = (struct outcome){ 0 };
        hush(true);
        play(&direct);
        hush(false);
        dlclose(lib);
        assert_int_equal(direct.n, recorded.n);
        replay(below, replay_libraries[k]);
        char path[128];
        snprintf(path, sizeof path, "%s/results", below);
        char *text = text_of(path), *line = strtok(text, "\n");
        unsigned n = 0, run = 0;
        for (; line; line = strtok(NULL, "\n")) {
            char name[128];
            unsigned number;
            unsigned long long code;
            float got[ELEMENTS];
            if (sscanf(line, "%u %127s %llu", &number, name, &code) != 3)
                continue;
            if (n < direct.n && code != direct.codes[n])
                fail_msg("%s: %s: call %u gives %llu when repeated, %llu directly", replay_libraries[k], name, number, code,
                         (unsigned long long)direct.codes[n]);
            n++;
            if (strcmp(name, "QnnGraph_execute") != 0)
                continue;
            if (code == QNN_SUCCESS) {
                snprintf(path, sizeof path, "%s/execute_%u_0.raw", below, number);
                assert_int_equal(read_file(path, got, sizeof got), sizeof got);
                assert_memory_equal(got, direct.out[run], sizeof got);
            }
            run++;
        }
        free(text);
        assert_int_equal(n, direct.n);
    }
}

/* The recording, repeated on the recorder, is recorded as itself. */
static void same_again(const char *below)
{
    char command[3 * PATH_MAX], folder[PATH_MAX];
    snprintf(folder, sizeof folder, "%s", path_of(below));
    snprintf(command, sizeof command, "cd %s && ./replay %s/libQnnSaver.so . > again 2>&1", folder,
             getenv("OPENQNN_LIB_DIR"));
    assert_in_range(system(command), 0, 1 << 8);
    snprintf(command, sizeof command,
             "cd %s && cmp saver_output.c saver_output/saver_output.c && "
             "cmp params.bin saver_output/params.bin",
             folder);
    assert_int_equal(system(command), 0);
}

/* ---- encodings -------------------------------------------------------------------------------------------------------- */

static Qnn_ScaleOffset_t scale_offsets[ELEMENTS];
static Qnn_FloatScaleOffset_t float_scale_offsets[ELEMENTS];
static float scales[ELEMENTS];
static int32_t offsets[ELEMENTS];
static uint8_t scales8[ELEMENTS];
static uint16_t scales16[ELEMENTS];
static int8_t weights[ELEMENTS];
static uint32_t block[] = { 1, 4 };

static void fill(void)
{
    for (int i = 0; i < ELEMENTS; i++) {
        scales[i] = 0.01f + 0.003f * (float)i;
        offsets[i] = i % 2 ? 0 : -3;
        scale_offsets[i] = (Qnn_ScaleOffset_t){ scales[i], offsets[i] };
        float_scale_offsets[i] = (Qnn_FloatScaleOffset_t){ scales[i], 0.5f * (float)(i % 3) };
        scales8[i] = (uint8_t)(1 + i % 15);
        scales16[i] = (uint16_t)(1 + i % 15);
        weights[i] = (int8_t)(i % 15 - 7);
    }
}

/* One encoding of each kind, and its variants. */
static Qnn_QuantizeParams_t encoding_of(unsigned i)
{
    static Qnn_BlockwiseExpansion_t expansion[2];
    static Qnn_BwBlockwiseExpansionMapped_t mapped_expansion[2];
    static Qnn_VectorEncoding_t vector = { { 8, 0, ROWS, scales, offsets }, 2, 4, 2, 1, 4 };
    static Qnn_BwAxisScaleOffsetMapped_t mapped_axis = { 8,    0,      QNN_QUANTIZATION_ENCODING_MAPPING_ASYMMETRIC_PLUS_ONE,
                                                         ROWS, scales, NULL };
    static Qnn_BwBlockMapped_t mapped_block = { 8, QNN_QUANTIZATION_ENCODING_MAPPING_LINEAR_SYMMETRIC_EXCLUDE_ZERO, block,
                                                scale_offsets };
    static Qnn_MicroscalingEncoding_t micro[] = {
        { QNN_FLOAT_ENCODING_MXFP8_E4M3, 2, block, 8, QNN_DATATYPE_UFIXED_POINT_8, { scales8 } },
        { QNN_FLOAT_ENCODING_MXFP4_E2M1, 2, block, 8, QNN_DATATYPE_FLOAT_32, { (uint8_t *)scales } }
    };
    static Qnn_QuantizeParams_t element = { QNN_DEFINITION_DEFINED,
                                            QNN_QUANTIZATION_ENCODING_SCALE_OFFSET,
                                            { { 0.5f, -1 } } };
    static Qnn_QuantizeParams_t *elements[] = { &element, &element };
    static Qnn_ArrayOf_t array;
    Qnn_QuantizeParams_t p = { .encodingDefinition = QNN_DEFINITION_DEFINED };
    for (int wide = 0; wide < 2; wide++) {
        expansion[wide] = (Qnn_BlockwiseExpansion_t){ 0,
                                                      scale_offsets,
                                                      2,
                                                      4,
                                                      wide ? QNN_BLOCKWISE_EXPANSION_BITWIDTH_SCALE_STORAGE_16
                                                           : QNN_BLOCKWISE_EXPANSION_BITWIDTH_SCALE_STORAGE_8,
                                                      { scales8 } };
        if (wide)
            expansion[wide].blocksScale16 = scales16;
        mapped_expansion[wide] = (Qnn_BwBlockwiseExpansionMapped_t){ 8,
                                                                     QNN_QUANTIZATION_ENCODING_MAPPING_STANDARD_SYMMETRIC,
                                                                     0,
                                                                     scale_offsets,
                                                                     2,
                                                                     4,
                                                                     expansion[wide].blockScaleStorageType,
                                                                     { scales8 } };
        if (wide)
            mapped_expansion[wide].blocksScale16 = scales16;
    }
    array = (Qnn_ArrayOf_t){ .quantizationEncoding = QNN_QUANTIZATION_ENCODING_SCALE_OFFSET,
                             .numElements = 2,
                             .vectorElements = elements };
    static const Qnn_QuantizationEncoding_t kinds[] = { 0, 1, 2, 3, 3, 4, 5, 5, 6, 7, 8, 9, 10, 10, 11, 12, 12, 13 };
    if (i >= COUNT(kinds)) {
        p.quantizationEncoding = QNN_QUANTIZATION_ENCODING_UNDEFINED;
        return p;
    }
    p.quantizationEncoding = kinds[i];
    switch (i) {
    case 0: p.scaleOffsetEncoding = (Qnn_ScaleOffset_t){ 0.1f, -7 }; break;
    case 1: p.axisScaleOffsetEncoding = (Qnn_AxisScaleOffset_t){ 1, COLUMNS, scale_offsets }; break;
    case 2: p.bwScaleOffsetEncoding = (Qnn_BwScaleOffset_t){ 4, 0.3f, 0 }; break;
    case 3: p.bwAxisScaleOffsetEncoding = (Qnn_BwAxisScaleOffset_t){ 4, 0, ROWS, scales, offsets }; break;
    case 4: p.bwAxisScaleOffsetEncoding = (Qnn_BwAxisScaleOffset_t){ 4, 0, ROWS, scales, NULL }; break;
    case 5: p.blockEncoding = (Qnn_BlockEncoding_t){ block, scale_offsets }; break;
    case 6:
    case 7: p.blockwiseExpansion = &expansion[i - 6]; break;
    case 8: p.vectorEncoding = &vector; break;
    case 9: p.floatBlockEncoding = (Qnn_FloatBlockEncoding_t){ block, float_scale_offsets }; break;
    case 10: p.bwAxisScaleOffsetMappedEncoding = &mapped_axis; break;
    case 11: p.bwBlockMappedEncoding = &mapped_block; break;
    case 12:
    case 13: p.bwBlockwiseExpansionMappedEncoding = &mapped_expansion[i - 12]; break;
    case 14: p.bwFloatBlockEncoding = (Qnn_BwFloatBlockEncoding_t){ 4, block, float_scale_offsets }; break;
    case 15:
    case 16: p.microScalingEncoding = &micro[i - 15]; break;
    default: p.arrayOfEncoding = &array;
    }
    return p;
}

/* Weights with each encoding, of both versions of tensors, read through Dequantize. */
static void play_encodings(struct outcome *o)
{
    Qnn_BackendHandle_t b;
    Qnn_ContextHandle_t c;
    noted(o, q.backendCreate(NULL, NULL, &b));
    noted(o, q.contextCreate(b, NULL, NULL, &c));
    for (unsigned i = 0; i < 2 * 19; i++) {
        Qnn_GraphHandle_t g;
        noted(o, q.graphCreate(c, keep_name("graph %u", i), NULL, &g));
        Qnn_Tensor_t w =
            i % 2 ? TENSOR2("w", STATIC, SFIXED_POINT_8, ROWS, COLUMNS) : TENSOR("w", STATIC, SFIXED_POINT_8, ROWS, COLUMNS);
        w = WITH(w, weights);
        TV(w).quantizeParams = encoding_of(i / 2);
        Qnn_Tensor_t y = TENSOR("y", APP_READ, FLOAT_32, ROWS, COLUMNS);
        noted(o, q.tensorCreateGraphTensor(g, &w));
        noted(o, q.tensorCreateGraphTensor(g, &y));
        struct op op = { .name = "real", .type = QNN_OP_DEQUANTIZE, .ni = 1, .in = { w }, .no = 1, .out = { y } };
        noted(o, op_validate(b, &op));
        noted(o, op_add(g, &op));
        noted(o, q.graphFinalize(g, NULL, NULL));
        y = tensor_data(y, o->out[o->runs], sizeof o->out[0]);
        noted(o, q.graphExecute(g, NULL, 0, &y, 1, NULL, NULL));
        o->runs++;
    }
    noted(o, q.contextFree(c, NULL));
    noted(o, q.backendFree(b));
}

static void test_encodings(void **state)
{
    (void)state;
    fill();
    same_everywhere("encodings", play_encodings);
    same_again("encodings");
}

/* Scales whose number is a lie are not looked for. */
static void test_lies(void **state)
{
    (void)state;
    Qnn_BackendHandle_t b;
    Qnn_ContextHandle_t c;
    Qnn_GraphHandle_t g;
    void *lib = open_saver();
    OK(record_to("lies", 0));
    OK(q.backendCreate(NULL, NULL, &b));
    OK(q.contextCreate(b, NULL, NULL, &c));
    OK(q.graphCreate(c, "g", NULL, &g));
    Qnn_Tensor_t w = WITH(TENSOR("w", STATIC, SFIXED_POINT_8, ROWS, COLUMNS), weights);
    hush(true);
    TV(w).quantizeParams = encoding_of(1);
    TV(w).quantizeParams.axisScaleOffsetEncoding.numScaleOffsets = 1u << 24;
    FAILS_SAYING(QNN_TENSOR_ERROR_INVALID_TENSOR_PARAM, "16777216", q.tensorCreateGraphTensor(g, &w));
    TV(w).quantizeParams = encoding_of(6);
    TV(w).quantizeParams.blockwiseExpansion->numBlocksPerAxis = 1u << 30;
    FAILS(QNN_TENSOR_ERROR_INVALID_TENSOR_PARAM, q.tensorCreateGraphTensor(g, &w));
    hush(false);
    OK(q.backendFree(b));
    dlclose(lib);
}

/* ---- numbers, names, packages ----------------------------------------------------------------------------------------- */

static void play_params(struct outcome *o)
{
    static const Qnn_Scalar_t odd[] = {
        { QNN_DATATYPE_FLOAT_32, { NAN } },
        { QNN_DATATYPE_FLOAT_32, { -INFINITY } },
        { QNN_DATATYPE_FLOAT_32, { 1e-45f } },
        { QNN_DATATYPE_FLOAT_64, { .doubleValue = 0.1 } },
        { QNN_DATATYPE_INT_64, { .int64Value = INT64_MIN } },
        { QNN_DATATYPE_UINT_64, { .uint64Value = UINT64_MAX } },
        { QNN_DATATYPE_INT_32, { .int32Value = INT32_MIN } },
        { QNN_DATATYPE_UINT_32, { .uint32Value = UINT32_MAX } },
        { QNN_DATATYPE_INT_16, { .int16Value = -2 } },
        { QNN_DATATYPE_INT_8, { .int8Value = -128 } },
        { QNN_DATATYPE_BOOL_8, { .bool8Value = 1 } },
        { QNN_DATATYPE_STRING, { .stringValue = "a \"b\"\\ \n?\?/ \xc3\xa9" } },
    };
    Qnn_BackendHandle_t b;
    Qnn_ContextHandle_t c;
    Qnn_GraphHandle_t g;
    noted(o, q.backendCreate(NULL, NULL, &b));
    noted(o, q.backendRegisterOpPackage(b, "/no/such \"folder\"/libPackage.so", "packageProvider", "CPU"));
    noted(o, q.backendRegisterOpPackage(b, "libOther.so", "otherProvider", NULL));
    noted(o, q.contextCreate(b, NULL, NULL, &c));
    noted(o, q.graphCreate(c, "g", NULL, &g));
    Qnn_Tensor_t x = TENSOR("x \t\x7f", APP_WRITE, FLOAT_32, 1, ELEMENTS), y = TENSOR2("", APP_READ, FLOAT_32, 1, ELEMENTS);
    noted(o, q.tensorCreateGraphTensor(g, &x));
    noted(o, q.tensorCreateGraphTensor(g, &y));
    for (unsigned i = 0; i < COUNT(odd); i++) {
        Qnn_Param_t p = { .paramType = QNN_PARAMTYPE_SCALAR, .name = "alpha", .scalarParam = odd[i] };
        struct op own = { .name = keep_name("node %u", i),
                          .type = "Mine",
                          .package = "my.package",
                          .np = 1,
                          .p = { p },
                          .ni = 1,
                          .in = { x },
                          .no = 1,
                          .out = { y } };
        noted(o, op_add(g, &own));
        struct op elu = own;
        elu.type = QNN_OP_ELU;
        elu.package = NULL;
        noted(o, op_validate(b, &elu));
    }
    noted(o, q.contextFree(c, NULL));
    noted(o, q.backendFree(b));
}

static void test_params(void **state)
{
    (void)state;
    same_everywhere("params", play_params);
    same_again("params");
    char *text = text_of("params/saver_output.c");
    assert_non_null(strstr(text, "q.backendRegisterOpPackage(backends[1], \"/no/such \\\"folder\\\"/libPackage.so\", "
                                 "\"packageProvider\", \"CPU\")"));
    assert_non_null(strstr(text, "\"otherProvider\", NULL)"));
    assert_non_null(strstr(text, ".packageName = \"my.package\", .typeName = \"Mine\""));
    free(text);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_encodings), cmocka_unit_test(test_lies),
                                        cmocka_unit_test(test_params) };
    if (saver_kit_begin(argc, argv))
        return 1;
    return cmocka_run_group_tests(tests, NULL, saver_kit_end);
}
