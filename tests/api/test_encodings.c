/* SPDX-License-Identifier: Apache-2.0 */
/* Encodings beyond one scale per tensor: announced as properties, taken at a graph's input, and told by libQnnSystem.so from
 * the context binary as they were given, bit width and mapping included. */
#include <stdlib.h>
#include <string.h>

#include "QNN/QnnProperty.h"
#include "api/api_test.h"
#include "system_lib.h"

enum { ROWS = 2, COLUMNS = 4, VALUES = ROWS * COLUMNS };

static uint32_t block_size[] = { 1, 2 };
static float scales[] = { 0.5f, 0.25f };
static int32_t offsets[] = { 1, -2 };
static Qnn_ScaleOffset_t rows[] = { { 0.5f, 0 }, { 0.25f, 0 } },
                         blocks[] = { { 0.5f, 1 }, { 0.25f, -1 }, { 2, 0 }, { 4, 3 } };
static Qnn_FloatScaleOffset_t float_blocks[] = { { 0.5f, 0.25f }, { 0.25f, -1 }, { 2, 0 }, { 4, 3.5f } };
static uint8_t block_scales[] = { 1, 2, 3, 15 };

static Qnn_BwAxisScaleOffsetMapped_t axis_mapped = {
    4, 0, QNN_QUANTIZATION_ENCODING_MAPPING_LINEAR_SYMMETRIC_EXCLUDE_ZERO, ROWS, scales, NULL
};
static Qnn_BwBlockMapped_t block_mapped = { 4, QNN_QUANTIZATION_ENCODING_MAPPING_ASYMMETRIC_PLUS_ONE, block_size, blocks };
static Qnn_BlockwiseExpansion_t expansion = {
    0, rows, 2, 4, QNN_BLOCKWISE_EXPANSION_BITWIDTH_SCALE_STORAGE_8, { block_scales }
};
static Qnn_BwBlockwiseExpansionMapped_t expansion_mapped = {
    4,
    QNN_QUANTIZATION_ENCODING_MAPPING_LINEAR_SYMMETRIC_EXCLUDE_ZERO,
    0,
    rows,
    2,
    4,
    QNN_BLOCKWISE_EXPANSION_BITWIDTH_SCALE_STORAGE_8,
    { block_scales },
};

#define GIVEN(kind, ...) { QNN_DEFINITION_DEFINED, QNN_QUANTIZATION_ENCODING_##kind, { __VA_ARGS__ } }
static const Qnn_QuantizeParams_t given[] = {
    GIVEN(AXIS_SCALE_OFFSET, .axisScaleOffsetEncoding = { 0, ROWS, rows }),
    GIVEN(BW_AXIS_SCALE_OFFSET, .bwAxisScaleOffsetEncoding = { 4, 0, ROWS, scales, offsets }),
    GIVEN(BW_AXIS_SCALE_OFFSET_MAPPED, .bwAxisScaleOffsetMappedEncoding = &axis_mapped),
    GIVEN(BLOCK, .blockEncoding = { block_size, blocks }),
    GIVEN(BW_BLOCK_MAPPED, .bwBlockMappedEncoding = &block_mapped),
    GIVEN(FLOAT_BLOCK, .floatBlockEncoding = { block_size, float_blocks }),
    GIVEN(BW_FLOAT_BLOCK, .bwFloatBlockEncoding = { 4, block_size, float_blocks }),
    GIVEN(BLOCKWISE_EXPANSION, .blockwiseExpansion = &expansion),
    GIVEN(BW_BLOCKWISE_EXPANSION_MAPPED, .bwBlockwiseExpansionMappedEncoding = &expansion_mapped),
};

static void same_blocks(const uint32_t *size, const void *pairs, const void *want)
{
    assert_memory_equal(size, block_size, sizeof block_size);
    assert_memory_equal(pairs, want, sizeof blocks);
}

static void same_expansion(const Qnn_BlockwiseExpansion_t *e)
{
    assert_int_equal(e->axis, 0);
    assert_memory_equal(e->scaleOffsets, rows, sizeof rows);
    assert_int_equal(e->numBlocksPerAxis, 2);
    assert_int_equal(e->blockScaleBitwidth, 4);
    assert_int_equal(e->blockScaleStorageType, QNN_BLOCKWISE_EXPANSION_BITWIDTH_SCALE_STORAGE_8);
    assert_memory_equal(e->blocksScale8, block_scales, sizeof block_scales);
}

static void same_axis_mapped(const Qnn_BwAxisScaleOffsetMapped_t *m)
{
    assert_int_equal(m->bitwidth, 4);
    assert_int_equal(m->mapping, axis_mapped.mapping);
    assert_int_equal(m->axis, 0);
    assert_int_equal(m->numElements, ROWS);
    assert_memory_equal(m->scales, scales, sizeof scales);
}

static void same_bw_axis(const Qnn_BwAxisScaleOffset_t *e)
{
    assert_int_equal(e->bitwidth, 4);
    assert_int_equal(e->axis, 0);
    assert_int_equal(e->numElements, ROWS);
    assert_memory_equal(e->scales, scales, sizeof scales);
    assert_memory_equal(e->offsets, offsets, sizeof offsets);
}

static void same_encoding(const Qnn_QuantizeParams_t *p)
{
    const Qnn_BwBlockwiseExpansionMapped_t *e = p->bwBlockwiseExpansionMappedEncoding;
    switch (p->quantizationEncoding) {
    case QNN_QUANTIZATION_ENCODING_AXIS_SCALE_OFFSET:
        assert_int_equal(p->axisScaleOffsetEncoding.numScaleOffsets, ROWS);
        assert_memory_equal(p->axisScaleOffsetEncoding.scaleOffset, rows, sizeof rows);
        return;
    case QNN_QUANTIZATION_ENCODING_BW_AXIS_SCALE_OFFSET:
        same_bw_axis(&p->bwAxisScaleOffsetEncoding);
        return;
    case QNN_QUANTIZATION_ENCODING_BW_AXIS_SCALE_OFFSET_MAPPED:
        same_axis_mapped(p->bwAxisScaleOffsetMappedEncoding);
        return;
    case QNN_QUANTIZATION_ENCODING_BLOCK:
        same_blocks(p->blockEncoding.blockSize, p->blockEncoding.scaleOffset, blocks);
        return;
    case QNN_QUANTIZATION_ENCODING_BW_BLOCK_MAPPED:
        assert_int_equal(p->bwBlockMappedEncoding->bitwidth, 4);
        assert_int_equal(p->bwBlockMappedEncoding->mapping, block_mapped.mapping);
        same_blocks(p->bwBlockMappedEncoding->blockSize, p->bwBlockMappedEncoding->scaleOffset, blocks);
        return;
    case QNN_QUANTIZATION_ENCODING_FLOAT_BLOCK:
        same_blocks(p->floatBlockEncoding.blockSize, p->floatBlockEncoding.floatScaleOffset, float_blocks);
        return;
    case QNN_QUANTIZATION_ENCODING_BW_FLOAT_BLOCK:
        assert_int_equal(p->bwFloatBlockEncoding.bitwidth, 4);
        same_blocks(p->bwFloatBlockEncoding.blockSize, p->bwFloatBlockEncoding.floatScaleOffset, float_blocks);
        return;
    case QNN_QUANTIZATION_ENCODING_BLOCKWISE_EXPANSION:
        same_expansion(p->blockwiseExpansion);
        return;
    case QNN_QUANTIZATION_ENCODING_BW_BLOCKWISE_EXPANSION_MAPPED:
        assert_int_equal(e->bitwidth, 4);
        assert_int_equal(e->mapping, expansion_mapped.mapping);
        same_expansion(&(Qnn_BlockwiseExpansion_t){ e->axis,
                                                    e->scaleOffsets,
                                                    e->numBlocksPerAxis,
                                                    e->blockScaleBitwidth,
                                                    e->blockScaleStorageType,
                                                    { e->blocksScale8 } });
        return;
    default:
        fail_msg("encoding %u", (unsigned)p->quantizationEncoding);
    }
}

static void build(Qnn_ContextHandle_t c, const Qnn_QuantizeParams_t *p)
{
    Qnn_GraphHandle_t g;
    OK(q.graphCreate(c, "g", NULL, &g));
    Qnn_Tensor_t x = TENSOR2("x", APP_WRITE, SFIXED_POINT_8, ROWS, COLUMNS),
                 y = TENSOR2("y", APP_READ, FLOAT_32, ROWS, COLUMNS);
    TV(x).quantizeParams = *p;
    OK(q.tensorCreateGraphTensor(g, &x));
    OK(q.tensorCreateGraphTensor(g, &y));
    struct op o = { .name = "real", .type = "Dequantize", .ni = 1, .in = { x }, .no = 1, .out = { y } };
    OK(op_validate(env.backend, &o));
    OK(op_add(g, &o));
    OK(q.graphFinalize(g, NULL, NULL));
}

static const Qnn_Tensor_t *first_input(const QnnSystemContext_BinaryInfo_t *info)
{
    const QnnSystemContext_GraphInfo_t *g =
        info->version == QNN_SYSTEM_CONTEXT_BINARY_INFO_VERSION_1   ? info->contextBinaryInfoV1.graphs
        : info->version == QNN_SYSTEM_CONTEXT_BINARY_INFO_VERSION_2 ? info->contextBinaryInfoV2.graphs
                                                                    : info->contextBinaryInfoV3.graphs;
    return &g->graphInfoV1.graphInputs[0];
}

static void told_as_given(void **state)
{
    (void)state;
    void *lib = system_open();
    const QnnSystemInterface_ImplementationV1_12_t *sys = &system_provider(lib)->QNN_SYSTEM_INTERFACE_VER_NAME;
    for (size_t i = 0; i < COUNT(given); i++) {
        Qnn_ContextHandle_t c;
        Qnn_ContextBinarySize_t room = 0, n = 0;
        OK(q.contextCreate(env.backend, NULL, NULL, &c));
        build(c, &given[i]);
        OK(q.contextGetBinarySize(c, &room));
        void *bytes = malloc(room);
        OK(q.contextGetBinary(c, bytes, room, &n));
        QnnSystemContext_Handle_t h;
        const QnnSystemContext_BinaryInfo_t *info;
        Qnn_ContextBinarySize_t info_size;
        OK(sys->systemContextCreate(&h));
        OK(sys->systemContextGetBinaryInfo(h, bytes, n, &info, &info_size));
        const Qnn_QuantizeParams_t *p = &TV(*first_input(info)).quantizeParams;
        assert_int_equal(p->encodingDefinition, QNN_DEFINITION_DEFINED);
        assert_int_equal(p->quantizationEncoding, given[i].quantizationEncoding);
        same_encoding(p);
        OK(sys->systemContextFree(h));
        OK(q.contextFree(c, NULL));
        free(bytes);
    }
    dlclose(lib);
}

static void announced(void **state)
{
    (void)state;
    static const QnnProperty_Key_t keys[] = {
        QNN_PROPERTY_TENSOR_SUPPORT_QUANTIZATION_ENCODING_AXIS_SCALE_OFFSET,
        QNN_PROPERTY_TENSOR_SUPPORT_QUANTIZATION_ENCODING_BW_AXIS_SCALE_OFFSET,
        QNN_PROPERTY_TENSOR_SUPPORT_QUANTIZATION_ENCODING_BLOCK,
        QNN_PROPERTY_TENSOR_SUPPORT_QUANTIZATION_ENCODING_BLOCKWISE_EXPANSION,
        QNN_PROPERTY_TENSOR_SUPPORT_QUANTIZATION_ENCODING_FLOAT_BLOCK,
        QNN_PROPERTY_TENSOR_SUPPORT_QUANTIZATION_ENCODING_BW_AXIS_SCALE_OFFSET_MAPPED,
        QNN_PROPERTY_TENSOR_SUPPORT_QUANTIZATION_ENCODING_BW_BLOCK_SCALE_OFFSET_MAPPED,
        QNN_PROPERTY_TENSOR_SUPPORT_QUANTIZATION_ENCODING_BW_BLOCKWISE_EXPANSION_MAPPED,
        QNN_PROPERTY_TENSOR_SUPPORT_QUANTIZATION_ENCODING_BW_FLOAT_BLOCK,
    };
    for (size_t i = 0; i < COUNT(keys); i++)
        assert_int_equal(q.propertyHasCapability(keys[i]), QNN_PROPERTY_SUPPORTED);
}

/* One scale per column; the columns become rows. */
static void channels_move(void **state)
{
    (void)state;
    static Qnn_ScaleOffset_t columns[COLUMNS] = { { 1, 0 }, { 0.5f, 1 }, { 0.25f, -2 }, { 1000, 3 } };
    Qnn_GraphHandle_t g;
    OK(q.graphCreate(env.context, "g", NULL, &g));
    Qnn_Tensor_t x = TENSOR2("x", APP_WRITE, SFIXED_POINT_8, ROWS, COLUMNS),
                 t = TENSOR2("t", NATIVE, SFIXED_POINT_8, COLUMNS, ROWS);
    Qnn_Tensor_t y = TENSOR2("y", APP_READ, FLOAT_32, COLUMNS, ROWS);
    TV(x).quantizeParams =
        (Qnn_QuantizeParams_t)GIVEN(AXIS_SCALE_OFFSET, .axisScaleOffsetEncoding = { 1, COLUMNS, columns });
    TV(t).quantizeParams =
        (Qnn_QuantizeParams_t)GIVEN(AXIS_SCALE_OFFSET, .axisScaleOffsetEncoding = { 0, COLUMNS, columns });
    OK(q.tensorCreateGraphTensor(g, &x));
    OK(q.tensorCreateGraphTensor(g, &t));
    OK(q.tensorCreateGraphTensor(g, &y));
    const uint32_t two = 2, perm[] = { 1, 0 };
    struct op turn = { .name = "turn", .type = "Transpose", .ni = 1, .in = { x }, .no = 1, .out = { t }, .np = 1,
                       .p = { param_u32s(g, "perm", 1, &two, perm) } };
    struct op real = { .name = "real", .type = "Dequantize", .ni = 1, .in = { t }, .no = 1, .out = { y } };
    OK(op_add(g, &turn));
    OK(op_add(g, &real));
    OK(q.graphFinalize(g, NULL, NULL));
    int8_t in[VALUES] = { 1, -2, 3, -4, 5, -6, 127, -128 };
    float out[VALUES];
    Qnn_Tensor_t a = WITH(x, in), b = WITH(y, out);
    OK(q.graphExecute(g, &a, 1, &b, 1, NULL, NULL));
    for (int r = 0; r < ROWS; r++)
        for (int k = 0; k < COLUMNS; k++)
            assert_true(out[k * ROWS + r] == (float)(in[r * COLUMNS + k] + columns[k].offset) * columns[k].scale);
}

/* Widths, mappings and counts that would look good if only their low bits were read, or that are longer than the tensor:
 * refused, and nothing behind them is read. */
static void refused(void **state)
{
    (void)state;
    static const uint32_t lies[] = { 256 + 4, 1u << 24, UINT32_MAX };
    Qnn_GraphHandle_t g;
    OK(q.graphCreate(env.context, "g", NULL, &g));
    for (size_t i = 0; i < COUNT(lies); i++) {
        Qnn_BlockwiseExpansion_t many = expansion;
        Qnn_BwBlockMapped_t mapped = block_mapped;
        Qnn_BwAxisScaleOffsetMapped_t wide = axis_mapped;
        many.numBlocksPerAxis = lies[i];
        mapped.mapping = (Qnn_QuantizationEncodingMapping_t)lies[i];
        wide.bitwidth = lies[i];
        const Qnn_QuantizeParams_t bad[] = {
            GIVEN(BW_SCALE_OFFSET, .bwScaleOffsetEncoding = { lies[i], 1, 0 }),
            GIVEN(BW_AXIS_SCALE_OFFSET, .bwAxisScaleOffsetEncoding = { lies[i], 0, ROWS, scales, offsets }),
            GIVEN(BW_AXIS_SCALE_OFFSET, .bwAxisScaleOffsetEncoding = { 4, 0, lies[i], scales, offsets }),
            GIVEN(AXIS_SCALE_OFFSET, .axisScaleOffsetEncoding = { 0, lies[i], rows }),
            GIVEN(BW_FLOAT_BLOCK, .bwFloatBlockEncoding = { lies[i], block_size, float_blocks }),
            GIVEN(BLOCKWISE_EXPANSION, .blockwiseExpansion = &many),
            GIVEN(BW_BLOCK_MAPPED, .bwBlockMappedEncoding = &mapped),
            GIVEN(BW_AXIS_SCALE_OFFSET_MAPPED, .bwAxisScaleOffsetMappedEncoding = &wide),
        };
        for (size_t k = 0; k < COUNT(bad); k++) {
            Qnn_Tensor_t x = TENSOR2("x", APP_WRITE, SFIXED_POINT_8, ROWS, COLUMNS);
            TV(x).quantizeParams = bad[k];
            FAILS_SAYING(QNN_TENSOR_ERROR_INVALID_TENSOR_PARAM, keep_name("%u", lies[i]), q.tensorCreateGraphTensor(g, &x));
        }
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(announced, env_setup, env_teardown),
        cmocka_unit_test_setup_teardown(told_as_given, env_setup, env_teardown),
        cmocka_unit_test_setup_teardown(channels_move, env_setup, env_teardown),
        cmocka_unit_test_setup_teardown(refused, env_setup, env_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
