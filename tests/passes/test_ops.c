/* SPDX-License-Identifier: Apache-2.0 */
/* ops/: the catalogue against the public operator list, and what the rules accept and refuse. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/named_list.h"
#include "opdef_list.h"
#include "ops_text.h"

#include "ops_cases.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static void every_public_operator_has_a_row(void **state)
{
    (void)state;
    assert_int_equal(COUNT(opdef_list), 161);
    assert_int_equal(OP_PUBLIC_END - 1, COUNT(opdef_list));
    for (size_t i = 0; i < COUNT(opdef_list); i++) {
        const struct op_def *op = op_find(opdef_list[i].op);
        assert_non_null(op);
        assert_string_equal(op->name, opdef_list[i].op);
        assert_ptr_equal(op_get(op->id), op);
        uint32_t n = 0;
        for (; n < COUNT(opdef_list[i].params) && opdef_list[i].params[n]; n++)
            if (op_param_index(op, opdef_list[i].params[n]) < 0)
                fail_msg("%s has no parameter %s", op->name, opdef_list[i].params[n]);
        assert_int_equal(op_param_count(op), n);
    }
    assert_null(op_find("Conv"));
    assert_null(op_find(""));
    assert_null(op_find(NULL));
    assert_null(op_find("zzz"));
    assert_null(op_find("DramToTcm")); /* only the compiler adds it */
    assert_int_equal(op_find_any("DramToTcm")->id, OP_DramToTcm);
    assert_int_equal(op_find_any("Relu")->id, OP_Relu);
    assert_null(op_find_any("zzz"));
}

static void check_ports(const struct op_def *op, const struct op_port *ports, uint32_t most)
{
    uint32_t n = op_port_count(ports);
    assert_in_range(n, 1, most);
    for (uint32_t i = 0; i < n; i++) {
        if (ports[i].types == 0)
            fail_msg("%s: port %s takes no type", op->name, ports[i].name);
        assert_false(ports[i].flags & PORT_VARIADIC && i + 1 < n);
        for (uint32_t k = 0; k < i; k++)
            assert_string_not_equal(ports[i].name, ports[k].name);
    }
}

static void rows_are_well_formed(void **state)
{
    (void)state;
    const char *before = "";
    for (unsigned id = OP_NONE + 1; id < OP_COUNT; id++) {
        const struct op_def *op = op_get((enum op_id)id);
        assert_int_equal(op->id, id);
        assert_true(strcmp(before, op->name) < 0 || id == OP_PUBLIC_END);
        before = op->name;
        check_ports(op, op->in, COUNT(op->in) - 1);
        check_ports(op, op->out, COUNT(op->out) - 1);
        for (uint32_t i = 0; i < op_param_count(op); i++) {
            const struct op_param *p = &op->params[i];
            if (p->required && p->dflt != DEFAULT_NONE)
                fail_msg("%s: %s is required and has a default", op->name, p->name);
            if (p->limit && p->dflt == DEFAULT_VALUE)
                assert_true(p->value < p->limit);
            assert_true(p->rank <= 2);
            for (uint32_t k = 0; k < p->rank; k++)
                assert_true(p->dims[k] != 0);
        }
    }
}

/* The largest public enumerator of an operator is the largest limit among its parameters. */
static void limits_cover_the_public_values(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(opdef_list); i++) {
        const struct op_def *op = op_find(opdef_list[i].op);
        uint32_t largest = 0;
        for (uint32_t k = 0; k < op_param_count(op); k++)
            largest = op->params[k].limit > largest ? op->params[k].limit : largest;
        /* linear_before_reset is a flag in a 32-bit parameter, so Gru's limits agree as well */
        if (opdef_list[i].largest && largest != opdef_list[i].largest + 1)
            fail_msg("%s: the largest limit is %u, the largest public value %u", op->name, largest, opdef_list[i].largest);
    }
}

static void cases_are_accepted_or_refused(void **state)
{
    (void)state;
    struct ops_text t;
    unsigned wrong = 0;
    for (size_t i = 0; i < COUNT(ops_cases); i++) {
        status_clear();
        enum status st = text_call(&t, ops_cases[i].op, ops_cases[i].in, ops_cases[i].params, ops_cases[i].out);
        if (st == ST_OK)
            st = op_check(&t.call);
        const char *want = ops_cases[i].refused;
        if (want ? st != ST_OK && strstr(status_text(), want) : st == ST_OK)
            continue;
        wrong++;
        print_error("case %zu: %s (%s) {%s} -> (%s)\n  expected: %s\n  got:      %s\n", i, ops_cases[i].op, ops_cases[i].in,
                    ops_cases[i].params, ops_cases[i].out, want ? want : "success", st == ST_OK ? "success" : status_text());
    }
    assert_int_equal(wrong, 0);
}

/* Without declared outputs the accepted cases infer exactly what the client would have declared. */
static void shapes_are_inferred(void **state)
{
    (void)state;
    static const char *const from_client[] = {"Reshape", "Squeeze", "FullyConnected", "Cast", "Convert", "Quantize"};
    struct ops_text t;
    struct tensor_desc want[MAX_PORTS];
    unsigned compared = 0;
    for (size_t i = 0; i < COUNT(ops_cases); i++) {
        bool skip = ops_cases[i].refused != NULL;
        for (size_t k = 0; k < COUNT(from_client); k++)
            skip |= !strcmp(from_client[k], ops_cases[i].op);
        if (skip)
            continue;
        assert_int_equal(text_call(&t, ops_cases[i].op, ops_cases[i].in, ops_cases[i].params, ops_cases[i].out), ST_OK);
        t.call.out = NULL;
        if (op_infer(&t.call, want) != ST_OK)
            continue; /* the output's size is the client's to say */
        for (uint32_t k = 0; k < t.call.n_out; k++) {
            if (want[k].rank != t.desc[1][k].rank)
                continue;
            assert_memory_equal(want[k].dims, t.desc[1][k].dims, want[k].rank * sizeof(want[k].dims[0]));
            compared++;
        }
    }
    assert_true(compared > 80);
}

/* Dynamic dimensions: the same call with smaller actual sizes gives the actual output. */
static void actual_sizes_are_inferred(void **state)
{
    (void)state;
    static const struct {
        const char *op, *in, *params, *out, *actual_in, *actual_out;
    } cases[] = {
        { "ElementWiseAdd", "f32[8?,4] f32[4]", "", "f32[8?,4]", "f32[3?,4] f32[4]", "f32[3?,4]" },
        { "Reshape", "f32[8?,4,2]", "", "f32[8?,8]", "f32[3?,4,2]", "f32[3?,8]" },
        { "Reshape", "f32[8?,6?,2]", "", "f32[48?,2]", "f32[3?,5?,2]", "f32[15?,2]" },
        { "Reshape", "f32[8?,6?,2]", "", "f32[8?,12?]", "f32[3?,5?,2]", "f32[3?,10?]" },
        { "MatMul", "f32[8?,4] f32[4,5]", "", "f32[8?,5]", "f32[2?,4] f32[4,5]", "f32[2?,5]" },
        { "FullyConnected", "f32[8?,4] f32[5,4]", "", "f32[8?,5]", "f32[2?,4] f32[5,4]", "f32[2?,5]" },
        { "Concat", "f32[8?,4] f32[2,4]", "axis=0", "f32[10?,4]", "f32[3?,4] f32[2,4]", "f32[5?,4]" },
        { "Conv2d", "f32[8?,4,4,1] f32[1,1,1,2]", "stride=1,1 pad_amount=0,0,0,0", "f32[8?,4,4,2]",
          "f32[1?,4,4,1] f32[1,1,1,2]", "f32[1?,4,4,2]" },
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct ops_text declared, actual;
        struct tensor_desc want[MAX_PORTS];
        char a[DESC_TEXT_MAX];
        assert_int_equal(text_call(&declared, cases[i].op, cases[i].in, cases[i].params, cases[i].out), ST_OK);
        assert_int_equal(op_check(&declared.call), ST_OK);
        assert_int_equal(text_call(&actual, cases[i].op, cases[i].actual_in, cases[i].params, cases[i].out), ST_OK);
        assert_int_equal(op_infer(&actual.call, want), ST_OK);
        assert_string_equal(desc_text(&want[0], a), cases[i].actual_out);
    }
}

static void slices_are_resolved(void **state)
{
    (void)state;
    struct ops_text t;
    struct op_slice s[OP_SLICE_MAX];
    uint32_t n;
    assert_int_equal(
        text_call(&t, "StridedSlice", "f32[10,8]", "ranges=9,-1,-4,0,0,1,2,100,3 new_axes_mask=2", "f32[3,1,2]"), ST_OK);
    assert_int_equal(op_slice(&t.call, s, &n), ST_OK);
    assert_int_equal(n, 3);
    assert_true(s[0].axis == 0 && s[0].begin == 9 && s[0].stride == -4 && s[0].count == 3);
    assert_true(s[1].axis == -1 && s[1].count == 1);
    assert_true(s[2].axis == 1 && s[2].begin == 2 && s[2].stride == 3 && s[2].count == 2);
}

static void parameters_have_defaults(void **state)
{
    (void)state;
    struct ops_text t;
    assert_int_equal(text_call(&t, "Softmax", "f32[2,3,4]", "", "f32[2,3,4]"), ST_OK);
    assert_false(op_has(&t.call, "axis"));
    assert_int_equal(op_int(&t.call, "axis", 0), 2);
    assert_true(op_real(&t.call, "beta", 0) == 1.0);
    assert_int_equal(
        text_call(&t, "Conv2d", "f32[1,8,8,3] f32[3,3,3,4]", "stride=1,2 pad_amount:i64=0,0,0,1", "f32[1,6,4,4]"), ST_OK);
    assert_int_equal(op_count(&t.call, "dilation"), 2);
    assert_int_equal(op_int(&t.call, "dilation", 1), 1);
    assert_int_equal(op_int(&t.call, "stride", 1), 2);
    assert_int_equal(op_int(&t.call, "pad_amount", 3), 1);
    assert_int_equal(text_call(&t, "Gather", "f32[5,6,7] i32[2]", "axis=-1", "f32[5,6,2]"), ST_OK);
    assert_int_equal(op_axis(&t.call, "axis", 0, 3), 2);
    t.call.params = NULL;
    assert_int_equal(op_count(&t.call, "axis"), 0);
}

static void types_know_themselves(void **state)
{
    (void)state;
    for (unsigned t = DT_NONE + 1; t < DT_COUNT; t++)
        assert_int_equal(dtype_from_name(dtype_name((enum dtype)t)), t);
    assert_int_equal(dtype_from_name("f80"), DT_NONE);
    assert_int_equal(dtype_min(DT_SQ4), -8);
    assert_int_equal(dtype_max(DT_SQ4), 7);
    assert_int_equal(dtype_max(DT_UQ16), 65535);
    assert_true(dtype_min(DT_I64) == INT64_MIN && dtype_max(DT_I64) == INT64_MAX);
    assert_int_equal(dtype_min(DT_SQ32), INT32_MIN);
    assert_int_equal(dtype_bytes(DT_UQ4, 5), 3);
    assert_int_equal(dtype_min(DT_SQ2), -2);
    assert_int_equal(dtype_max(DT_UQ2), 3);
    assert_int_equal(dtype_bytes(DT_I2, 5), 2);
    uint8_t packed[2] = {0xff, 0xff};
    packed_put(packed, 2, 5, 1);
    packed_put(packed, 2, 0, -2);
    assert_true(packed[0] == 0xfe && packed[1] == 0xf7);
    assert_int_equal(packed_get(packed, 2, true, 0), -2);
    assert_int_equal(packed_get(packed, 2, false, 5), 1);
    assert_int_equal(dtype_bytes(DT_F64, 5), 40);
    assert_int_equal(dtype_bits((enum dtype)200), 0);
}

static void descriptors_are_checked(void **state)
{
    (void)state;
    char text[DESC_TEXT_MAX];
    uint64_t strides[MAX_RANK];
    struct tensor_desc d;
    text_tensor("uq8[2,3,4?]", &d);
    assert_string_equal(desc_text(&d, text), "uq8[2,3,4?]");
    desc_strides(&d, strides);
    assert_true(strides[0] == 12 && strides[1] == 4 && strides[2] == 1);
    assert_int_equal(desc_check(&d, "t"), ST_OK);
    d.q.scale = 0;
    assert_int_equal(desc_check(&d, "t"), ST_INVALID_TENSOR);
    assert_non_null(strstr(status_text(), "scale 0 is 0"));
    d.type = DT_SQ32;
    assert_int_equal(desc_check(&d, "t"), ST_OK);
    d.q = (struct quant){.kind = Q_TENSOR, .scale = 1, .bits = 33};
    assert_int_equal(desc_check(&d, "t"), ST_INVALID_TENSOR);
    d.q = (struct quant){.kind = Q_AXIS, .axis = 3, .n = 4, .scales = text_scales};
    assert_int_equal(desc_check(&d, "t"), ST_INVALID_TENSOR);
    assert_non_null(strstr(status_text(), "along axis 3"));
    d.q.axis = 1;
    assert_int_equal(desc_check(&d, "t"), ST_INVALID_TENSOR);
    assert_non_null(strstr(status_text(), "has 4 scales; axis 1 has 3"));
    text_tensor("f32[2,0]", &d);
    assert_int_equal(desc_check(&d, "t"), ST_INVALID_TENSOR);
    assert_non_null(strstr(status_text(), "dimension 1 is 0"));
    text_tensor("f32[4294967295,4294967295]", &d);
    assert_int_equal(desc_check(&d, "t"), ST_INVALID_TENSOR);
    d.rank = 9;
    assert_int_equal(desc_check(&d, "t"), ST_UNSUPPORTED_TENSOR);
    d = (struct tensor_desc){ 0 };
    assert_int_equal(desc_check(&d, NULL), ST_INVALID_TENSOR);
}

static void encodings_are_checked(void **state)
{
    (void)state;
    struct tensor_desc d;
    static const struct {
        struct quant q;
        const char *text;
    } wrong[] = {
        { { .kind = QUANT_KIND_COUNT }, "unknown encoding" },
        { { .kind = Q_AXIS, .axis = 1, .n = 3 }, "no array of scales; 3 are expected" },
        { { .kind = Q_BLOCK, .n = 1, .scales = text_scales, .block = { 2, 2, 4 } }, "block size 2 of dimension 1" },
        { { .kind = Q_BLOCK, .n = 5, .scales = text_scales, .block = { 1, 3, 4 } }, "has 5 scales; its blocks need 2" },
        { { .kind = Q_FLOAT_BLOCK, .n = 1, .scales = text_scales }, "block size 0 of dimension 0" },
        { { .kind = Q_EXPANSION, .axis = 1, .n = 3, .scales = text_scales }, "without blocks" },
        { { .kind = Q_EXPANSION,
            .axis = 1,
            .n = 3,
            .scales = text_scales,
            .blocks_per_axis = 1,
            .block_scales = "abc",
            .block_scale_storage = 4 },
          "in 4 bits; 8 or 16" },
        { { .kind = Q_EXPANSION,
            .axis = 1,
            .n = 3,
            .scales = text_scales,
            .blocks_per_axis = 1,
            .block_scales = "abc",
            .block_scale_storage = 8,
            .block_scale_bits = 9 },
          "of 9 bits; 1 … 8" },
    };
    text_tensor("uq8[2,3,4]", &d);
    for (size_t i = 0; i < COUNT(wrong); i++) {
        d.q = wrong[i].q;
        assert_int_equal(desc_check(&d, "t"), ST_INVALID_TENSOR);
        if (!strstr(status_text(), wrong[i].text))
            fail_msg("\"%s\" is not in \"%s\"", wrong[i].text, status_text());
    }
}

static void encodings_compare(void **state)
{
    (void)state;
    struct quant a = {.kind = Q_TENSOR, .scale = 0.5f, .offset = -3}, b = a;
    assert_true(quant_same(&a, &b));
    b.offset = 0;
    assert_false(quant_same(&a, &b));
    float scales[2] = {1, 2};
    int32_t zero[2] = {0, 0};
    a = (struct quant){.kind = Q_AXIS, .axis = 1, .n = 2, .scales = scales};
    b = a;
    b.offsets = zero;
    assert_true(quant_same(&a, &b));
    assert_true(quant_scale(&a, 1) == 2 && quant_offset(&a, 1) == 0);
    a.bits = 4;
    assert_int_equal(quant_bits(&a, DT_SQ8), 4);
    assert_int_equal(quant_bits(&b, DT_SQ8), 8);
    assert_false(quant_same(&a, &b));
}

/* Anything may be missing from a call; none of it may crash. */
static void nothing_crashes_on_odd_calls(void **state)
{
    (void)state;
    static const char *const tensors[] = { "f32[]",        "f32[1]",        "uq8[4]!", "i32[2,3]", "b8[1,2,3,4,5,6,7,8]",
                                           "f32[1,2,2,4]", "sq8[3,3,4,4]/3" };
    for (unsigned id = OP_NONE + 1; id < OP_COUNT; id++) {
        const struct op_def *op = op_get((enum op_id)id);
        for (size_t k = 0; k < COUNT(tensors); k++) {
            for (uint32_t n = 0; n < 30; n++) {
                struct tensor_desc d, want[MAX_PORTS];
                const struct tensor_desc *list[32];
                uint32_t ones[64];
                struct op_value params[14];
                text_tensor(tensors[k], &d);
                for (uint32_t i = 0; i < 32; i++)
                    list[i] = &d;
                for (uint32_t i = 0; i < 64; i++)
                    ones[i] = n % 3;
                for (uint32_t i = 0; i < op_param_count(op); i++) {
                    const struct op_param *p = &op->params[i];
                    uint32_t count = p->rank == 0 ? 1 : p->dims[0] > 0 ? (uint32_t)p->dims[0] : d.rank ? d.rank : 1;
                    uint32_t inner = p->rank == 2 ? (uint32_t)p->dims[1] : 1;
                    params[i] = (struct op_value){.type = p->type == DT_F32 ? DT_F32 : DT_U32, .rank = p->rank,
                                                  .dims = {count, inner}, .count = count * inner, .data = ones};
                }
                struct op_call c = {
                    .op = op, .n_in = n, .n_out = 1 + n % 4, .in = list, .out = list, .params = n % 7 ? params : NULL
                };
                (void)op_check(&c);
                c.out = NULL;
                (void)op_infer(&c, want);
            }
        }
    }
}

static void refused_with(enum status st, const char *text)
{
    assert_int_not_equal(st, ST_OK);
    if (!strstr(status_text(), text))
        fail_msg("\"%s\" is not in \"%s\"", text, status_text());
}

/* What text_call cannot say: values without names, contents or shape, far too many of anything, outputs that nobody
 * declared. */
static void odd_values_are_refused(void **state)
{
    (void)state;
    struct ops_text t;
    struct op_value bound[16], value = {.type = DT_I32, .rank = 2, .dims = {0, 3}, .data = ""};
    const struct op_def *slice = op_find("StridedSlice");
    const char *name = "ranges";
    refused_with(op_params_bind(slice, "n", (const char *[]){NULL}, &value, 1, bound), "parameter 0 has no name");
    refused_with(op_params_bind(slice, "n", &name, &(struct op_value){.type = DT_I32}, 1, bound), "\"ranges\" has no data");
    assert_int_equal(text_call(&t, "StridedSlice", "f32[4]", "ranges=0,4,1", "f32[4]"), ST_OK);
    struct op_value *ranges = &t.bound[op_param_index(slice, name)], given = *ranges;
    *ranges = value;
    refused_with(op_check(&t.call), "is empty");
    *ranges = given;
    ranges->rank = 1;
    refused_with(op_check(&t.call), "has rank 1; 2 is expected");
    int32_t many[3 * (OP_SLICE_MAX + 1)] = {0};
    *ranges =
        (struct op_value){ .type = DT_I32, .rank = 2, .dims = { OP_SLICE_MAX + 1, 3 }, .count = COUNT(many), .data = many };
    refused_with(op_check(&t.call), "17 rows; at most 16");
    assert_int_equal(text_call(&t, "Concat", "f32[4]", "", "f32[4]"), ST_OK);
    const struct tensor_desc *list[MAX_PORTS + 1];
    for (size_t i = 0; i < COUNT(list); i++)
        list[i] = t.call.in[0];
    t.call.in = list;
    t.call.n_in = COUNT(list);
    refused_with(op_check(&t.call), "65 inputs are given; at most 64");
    struct tensor_desc want[MAX_PORTS];
    assert_int_equal(text_call(&t, "ResizeBilinear", "f32[1,4,4,3]", "", "f32[1,8,8,3]"), ST_OK);
    t.call.out = NULL;
    assert_int_not_equal(op_infer(&t.call, want), ST_OK); /* the size is the client's to say */
}

/* Public facts refuse, silence does not. Letters: listed, silent, refused, for CPU, HTP, LPAI and GPU. */
static void backends_take_what_no_fact_forbids(void **state)
{
    (void)state;
    static const struct {
        const char *op, *in, *params, *out, *facts, *why;
    } cases[] = {
        {"Relu", "f32[4]", "", "f32[4]", "LLRL", "LPAI computes in 8- and 16-bit fixed point only"},
        {"Relu", "uq8[4]", "", "uq8[4]", "LLLR", "computes in float only"},
        {"Relu", "sq16[4]", "", "sq16[4]", "SSLR", NULL},
        {"Relu", "uq8[1,1,1,1,1,4]", "", "uq8[1,1,1,1,1,4]", "LSLR", NULL},
        {"Relu", "f32[4?]", "", "f32[4?]", "LLRR", "no dynamic dimensions"},
        {"Relu", "uq8[4?]", "", "uq8[4?]", "LLRR", "planned for fixed ones"},
        {"Argmax", "f32[4,5]", "axis=1", "i32[4]", "LLRL", NULL},
        {"Argmax", "uq8[4,5]", "axis=1", "i32[4]", "LLLR", NULL},
        {"ElementWiseAdd", "i32[4] i32[4]", "", "i32[4]", "SLSL", NULL},
        {"ElementWiseAdd", "u8[4] u8[4]", "", "u8[4]", "SSSS", NULL},
        {"Dequantize", "uq8[4]", "", "f32[4]", "LLLL", NULL},
        {"Dequantize", "uq8[4]", "", "f16[4]", "LSRL", NULL},
        {"Pack", "uq8[4] uq8[4]", "axis=0", "uq8[2,4]", "LLRR", "known not to run on LPAI"},
        {"Conv2d", "uq8[1,8,8,3] sq8[3,3,3,16]/3 sq32[16]", "stride=1,1 pad_amount=1,1,1,1", "uq8[1,8,8,16]", "LLLR", NULL},
        {"Conv2d", "f32[1,8,8,3] sq4[3,3,3,16]/3", "stride=1,1 pad_amount=1,1,1,1", "f32[1,8,8,16]", "LSRL", NULL},
        {"Conv1d", "uq8[1,8,3] sq8[3,3,16]", "stride=1 pad_amount=1,1", "uq8[1,8,16]", "SSSR", NULL},
    };
    struct ops_text t;
    for (size_t i = 0; i < COUNT(cases); i++) {
        bool said = !cases[i].why;
        assert_int_equal(text_call(&t, cases[i].op, cases[i].in, cases[i].params, cases[i].out), ST_OK);
        assert_int_equal(op_check(&t.call), ST_OK);
        for (unsigned b = 0; b < OP_BACKEND_COUNT; b++) {
            char got = "LSR"[op_backend_fact((enum op_backend)b, &t.call)];
            if (got != cases[i].facts[b])
                fail_msg("%s (%s), backend %u: %c instead of %c", cases[i].op, cases[i].in, b, got, cases[i].facts[b]);
            enum status st = op_backend_takes((enum op_backend)b, &t.call);
            assert_int_equal(st, got == 'R' ? ST_NOT_SUPPORTED : ST_OK);
            said |= st != ST_OK && strstr(status_text(), cases[i].why ? cases[i].why : "") != NULL;
        }
        if (!said)
            fail_msg("%s (%s): nobody said \"%s\"", cases[i].op, cases[i].in, cases[i].why);
    }
    assert_false(op_backend_has(OP_BACKEND_LPAI, OP_UnPack));
    assert_true(op_backend_has(OP_BACKEND_HTP, OP_UnPack));
}

/* ---- op packages ------------------------------------------------------------------------------------------------------ */

/* A PackageOp with such parameters, two inputs and one output. */
static enum status check_package(const struct named_value *list, uint32_t n)
{
    static const struct tensor_desc d = { .type = DT_F32, .rank = 1, .dims = { 4 } };
    const struct tensor_desc *in[] = { &d, &d }, *out[] = { &d };
    uint8_t bytes[256];
    uint32_t size = named_list_size(list, n);
    assert_true(size <= sizeof bytes);
    named_list_pack(list, n, bytes);
    struct op_value params[] = { { .type = DT_STR, .count = 4, .data = "own" },
                                 { .type = DT_STR, .count = 4, .data = "Mix" },
                                 { .type = DT_U8, .rank = 1, .dims = { size }, .count = size, .data = bytes } };
    struct op_call c = { .op = op_find_any("PackageOp"), .n_in = 2, .n_out = 1, .in = in, .out = out, .params = params };
    return op_check(&c);
}

static void parameters_of_packages_are_checked(void **state)
{
    (void)state;
    static const float gain = 0.5f;
    const struct named_value good[] = { { "gain", DT_F32, false, sizeof gain, &gain },
                                        { "mode", DT_STR, false, 6, "hello" },
                                        { "table", DT_F32, true, 0, NULL } };
    const struct named_value wrong[] = { { "short", DT_F32, false, 2, &gain },     { "long", DT_I8, false, 4, &gain },
                                         { "endless", DT_STR, false, 5, "hello" }, { "empty", DT_STR, false, 0, "" },
                                         { "typeless", DT_NONE, false, 4, &gain }, { "unknown", DT_COUNT, true, 0, NULL } };
    const struct named_value three[] = { { "a", DT_F32, true, 0, NULL },
                                         { "b", DT_F32, true, 0, NULL },
                                         { "c", DT_F32, true, 0, NULL } };
    assert_null(op_find("PackageOp"));
    assert_int_equal(check_package(good, COUNT(good)), ST_OK);
    for (size_t i = 0; i < COUNT(wrong); i++)
        if (check_package(&wrong[i], 1) != ST_INVALID_OP || !strstr(status_text(), wrong[i].name))
            fail_msg("%s: %s", wrong[i].name, status_text());
    assert_int_equal(check_package(three, 2), ST_OK);
    assert_int_equal(check_package(three, 3), ST_INVALID_OP); /* more than there are inputs */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_public_operator_has_a_row),
        cmocka_unit_test(rows_are_well_formed),
        cmocka_unit_test(limits_cover_the_public_values),
        cmocka_unit_test(cases_are_accepted_or_refused),
        cmocka_unit_test(shapes_are_inferred),
        cmocka_unit_test(actual_sizes_are_inferred),
        cmocka_unit_test(slices_are_resolved),
        cmocka_unit_test(parameters_have_defaults),
        cmocka_unit_test(types_know_themselves),
        cmocka_unit_test(descriptors_are_checked),
        cmocka_unit_test(encodings_are_checked),
        cmocka_unit_test(encodings_compare),
        cmocka_unit_test(nothing_crashes_on_odd_calls),
        cmocka_unit_test(backends_take_what_no_fact_forbids),
        cmocka_unit_test(odd_values_are_refused),
        cmocka_unit_test(parameters_of_packages_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
