/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers in files and numbers in tensors: every class of element both ways, against values worked out by hand. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../unit/unit.h"
#include "common/tensor_data.h"
#include "common/tensor_text.h"

static uint32_t dims[] = { 2, 3 };

static Qnn_Tensor_t make(Qnn_DataType_t type)
{
    Qnn_Tensor_t t = QNN_TENSOR_INIT;
    t.v1.name = "t";
    t.v1.dataType = type;
    t.v1.rank = 2;
    t.v1.dimensions = dims;
    return t;
}

static void encode(Qnn_Tensor_t *t, float scale, int32_t offset)
{
    t->v1.quantizeParams.encodingDefinition = QNN_DEFINITION_DEFINED;
    t->v1.quantizeParams.quantizationEncoding = QNN_QUANTIZATION_ENCODING_SCALE_OFFSET;
    t->v1.quantizeParams.scaleOffsetEncoding = (Qnn_ScaleOffset_t){ scale, offset };
}

/* Floats to native bytes, and those back to floats. */
static void round_trip(const Qnn_Tensor_t *t, const float *in, const void *want, const float *back)
{
    uint8_t native[64] = { 0 };
    float out[6];
    uint64_t elements, bytes;
    assert_int_equal(tensor_convertible(t), ST_OK);
    assert_int_equal(tensor_sizes(t, &elements, &bytes), ST_OK);
    assert_int_equal(elements, 6);
    tensor_from_float(t, in, 0, 6, native);
    assert_memory_equal(native, want, bytes);
    tensor_to_float(t, native, 0, 6, out);
    assert_memory_equal(out, back, sizeof(out));
}

static void test_fixed(void **state)
{
    (void)state;
    Qnn_Tensor_t t = make(QNN_DATATYPE_UFIXED_POINT_8);
    encode(&t, 0.5f, -10);
    round_trip(&t, (float[]){ 0, 0.5f, -5, -7, 0.25f, 1000 }, (uint8_t[]){ 10, 11, 0, 0, 10, 255 },
               (float[]){ 0, 0.5f, -5, -5, 0, 122.5f }); /* 0.25 is half a step: to even */
    t = make(QNN_DATATYPE_SFIXED_POINT_16);
    encode(&t, 0.25f, 0);
    round_trip(&t, (float[]){ 1, -1, 8191.75f, 9e9f, -9e9f, 0.375f }, (int16_t[]){ 4, -4, 32767, 32767, -32768, 2 },
               (float[]){ 1, -1, 8191.75f, 8191.75f, -8192, 0.5f });
}

static void test_axis(void **state)
{
    (void)state;
    Qnn_ScaleOffset_t pairs[] = { { 1, 0 }, { 2, 0 }, { 4, -1 } };
    Qnn_Tensor_t t = make(QNN_DATATYPE_SFIXED_POINT_8);
    t.v1.quantizeParams = (Qnn_QuantizeParams_t){ QNN_DEFINITION_DEFINED,
                                                  QNN_QUANTIZATION_ENCODING_AXIS_SCALE_OFFSET,
                                                  { .axisScaleOffsetEncoding = { 1, 3, pairs } } };
    round_trip(&t, (float[]){ 8, 8, 8, -8, -8, -8 }, (int8_t[]){ 8, 4, 3, -8, -4, -1 }, (float[]){ 8, 8, 8, -8, -8, -8 });
    float first_axis[] = { 1, 2 };
    t.v1.quantizeParams = (Qnn_QuantizeParams_t){ QNN_DEFINITION_DEFINED,
                                                  QNN_QUANTIZATION_ENCODING_BW_AXIS_SCALE_OFFSET,
                                                  { .bwAxisScaleOffsetEncoding = { 4, 0, 2, first_axis, NULL } } };
    round_trip(&t, (float[]){ 7, 8, -9, 14, 18, -20 }, (int8_t[]){ 7, 7, -8, 7, 7, -8 }, (float[]){ 7, 7, -8, 14, 14, -16 });
}

static void test_packed(void **state)
{
    (void)state;
    Qnn_Tensor_t t = make(QNN_DATATYPE_SFIXED_POINT_4);
    encode(&t, 1, 0);
    round_trip(&t, (float[]){ 1, -1, 7, 8, -8, -9 }, (uint8_t[]){ 0xf1, 0x77, 0x88 }, (float[]){ 1, -1, 7, 7, -8, -8 });
}

static void test_plain(void **state)
{
    (void)state;
    Qnn_Tensor_t t = make(QNN_DATATYPE_INT_32);
    round_trip(&t, (float[]){ 1.9f, -1.9f, 3e9f, -3e9f, 0, 16777216 },
               (int32_t[]){ 1, -1, INT32_MAX, INT32_MIN, 0, 16777216 },
               (float[]){ 1, -1, 2147483648.0f, -2147483648.0f, 0, 16777216 });
    t = make(QNN_DATATYPE_BOOL_8);
    round_trip(&t, (float[]){ 0, 1, -2, 0.1f, 0, 5 }, (uint8_t[]){ 0, 1, 1, 1, 0, 1 }, (float[]){ 0, 1, 1, 1, 0, 1 });
    t = make(QNN_DATATYPE_UINT_8);
    round_trip(&t, (float[]){ 0, 255, 256, -1, 7.9f, NAN }, (uint8_t[]){ 0, 255, 255, 0, 7, 0 },
               (float[]){ 0, 255, 255, 0, 7, 0 });
}

static void test_half(void **state)
{
    (void)state;
    Qnn_Tensor_t t = make(QNN_DATATYPE_FLOAT_16);
    /* 2049 is between 2048 and 2050: to even. 2^-25 is half the smallest number: to zero. */
    round_trip(&t, (float[]){ 1, -2.5f, 2049, 0x1p-24f, 0x1p-25f, 70000 },
               (uint16_t[]){ 0x3c00, 0xc100, 0x6800, 0x0001, 0x0000, 0x7c00 },
               (float[]){ 1, -2.5f, 2048, 0x1p-24f, 0, INFINITY });
    t = make(QNN_DATATYPE_BFLOAT_16);
    round_trip(&t, (float[]){ 1, -1, 1.00390625f, 0, 3, 0.5f }, (uint16_t[]){ 0x3f80, 0xbf80, 0x3f80, 0, 0x4040, 0x3f00 },
               (float[]){ 1, -1, 1, 0, 3, 0.5f });
}

static void test_refused(void **state)
{
    (void)state;
    Qnn_Tensor_t t = make(QNN_DATATYPE_UFIXED_POINT_8);
    encode(&t, 0, 0);
    assert_int_equal(tensor_convertible(&t), ST_INVALID_TENSOR);
    t.v1.quantizeParams.quantizationEncoding = QNN_QUANTIZATION_ENCODING_AXIS_SCALE_OFFSET;
    t.v1.quantizeParams.axisScaleOffsetEncoding = (Qnn_AxisScaleOffset_t){ 0, 0, NULL };
    assert_int_equal(tensor_convertible(&t), ST_INVALID_TENSOR);
    t.v1.quantizeParams.quantizationEncoding = QNN_QUANTIZATION_ENCODING_VECTOR;
    assert_int_equal(tensor_convertible(&t), ST_UNSUPPORTED_TENSOR);
    t = make((Qnn_DataType_t)0x9999);
    uint64_t elements, bytes;
    assert_int_equal(tensor_sizes(&t, &elements, &bytes), ST_UNSUPPORTED_TENSOR);
    uint32_t huge[] = { UINT32_MAX, UINT32_MAX };
    t = make(QNN_DATATYPE_FLOAT_32);
    t.v1.dimensions = huge;
    assert_int_equal(tensor_sizes(&t, &elements, &bytes), ST_INVALID_TENSOR);
}

/* Converters join the names of what they fuse. */
static void test_file_names(void **state)
{
    (void)state;
    static char longest[221], longer[400], other[400];
    const char *const names[] = { "a/b:0", longest, longer, other };
    char made[4][256];
    memset(longest, 'x', sizeof longest - 1);
    memset(longer, 'x', sizeof longer - 1);
    memcpy(other, longer, sizeof other);
    other[398] = 'y';
    for (int i = 0; i < 4; i++) {
        struct str s;
        str_init(&s);
        tensor_file_name(names[i], &s);
        assert_true(strlen(str_text(&s)) <= 220);
        snprintf(made[i], sizeof made[i], "%s", str_text(&s));
        str_finish(&s);
    }
    assert_string_equal(made[0], "a_b_0");
    assert_string_equal(made[1], longest);
    assert_int_equal(strncmp(made[2], longest, 203), 0);
    assert_string_not_equal(made[2], made[3]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fixed),      cmocka_unit_test(test_axis), cmocka_unit_test(test_packed),
        cmocka_unit_test(test_plain),      cmocka_unit_test(test_half), cmocka_unit_test(test_refused),
        cmocka_unit_test(test_file_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
