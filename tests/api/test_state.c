/* SPDX-License-Identifier: Apache-2.0 */
/* State between executions, in all libraries: streams give the bits of whole sequences, a reset is a new beginning, on LPAI
 * all of it lives in the client's persistent memory and nowhere else, and a buffer that waits for frames ends executions
 * early. */
#include <stdlib.h>
#include <string.h>

#include "stream_kit.h"
#include "test_scale.h"

enum { TIME = 40, BYTES = 2 };

static void frame_of(uint8_t *x, uint32_t bits, uint32_t seed)
{
    kit_fill(x, STREAM_IN * bits / 8, seed * 2654435761u + 1);
}

/* The recurrent layers over all frames at once, without state, on the CPU. */
static void whole(uint32_t bits, uint32_t time, uint8_t *y)
{
    uint8_t x[TIME * STREAM_IN * BYTES];
    struct stream s;
    stream_open_layers(&s, KIT_CPU, bits, time, false);
    for (uint32_t t = 0; t < time; t++)
        frame_of(x + t * STREAM_IN * bits / 8, bits, t);
    OK(stream_run(&s, x, false, y));
    uint8_t again[TIME * STREAM_OUT * BYTES];
    OK(stream_run(&s, x, false, again)); /* nothing is remembered */
    assert_memory_equal(again, y, time * STREAM_OUT * bits / 8);
    stream_close(&s);
}

static void stream_equals_whole(enum kit_lib lib, uint32_t bits)
{
    static _Alignas(64) uint8_t want[TIME * STREAM_OUT * BYTES], x[64], y[64];
    uint32_t step = STREAM_OUT * bits / 8;
    struct stream s;
    whole(bits, TIME, want);
    stream_open_layers(&s, lib, bits, 1, true);
    for (int pass = 0; pass < 3; pass++) /* the first begins by itself, the others by a reset */
        for (uint32_t t = 0; t < TIME; t++) {
            frame_of(x, bits, t);
            OK(stream_run(&s, x, pass && t == 0, y));
            assert_memory_equal(y, want + t * step, step);
        }
    stream_close(&s);
}

static void test_stream_is_whole(void **state)
{
    (void)state;
    for (int lib = KIT_CPU; lib < KIT_LIBS; lib++)
        for (uint32_t bits = 8; bits <= 16; bits += 8)
            stream_equals_whole((enum kit_lib)lib, bits);
}

/* Frame after frame on LPAI beside the CPU; scratch is replaced now and then, and nothing that the state needs is in it. */
static void long_stream(uint32_t bits, bool high, uint32_t frames)
{
    static _Alignas(64) uint8_t x[64], y[64], want[64];
    struct stream lpai, cpu;
    stream_open(&lpai, KIT_LPAI, bits, high);
    stream_open(&cpu, KIT_CPU, bits, high);
    struct guarded other = guarded_new(lpai.scratch.bytes, high);
    for (uint32_t i = 0; i < frames; i++) {
        bool reset = i % 997 == 996;
        frame_of(x, bits, i);
        OK(stream_run(&cpu, x, reset, want));
        OK(stream_run(&lpai, x, reset, y));
        assert_memory_equal(y, want, STREAM_OUT * bits / 8);
        if (i % 100 == 99) {
            struct guarded *now = i / 100 % 2 ? &lpai.scratch : &other, *before = i / 100 % 2 ? &other : &lpai.scratch;
            OK(kit_pool(lpai.graph, QNN_LPAI_GRAPH_SET_CFG_SCRATCH_MEM, now->data, (uint32_t)now->bytes));
            memset(before->data, 0xA5, before->bytes);
        }
    }
    stream_close(&lpai);
    stream_close(&cpu);
    guarded_free(&other);
}

static void test_long_stream(void **state)
{
    (void)state;
    long_stream(8, true, test_scale(10000));
    long_stream(8, false, test_scale(1000));
    long_stream(16, true, test_scale(1000));
}

/* The pool holds the states and nothing else: what the layers and the buffer remember, each at a multiple of 64. */
static void test_persistent_size(void **state)
{
    (void)state;
    struct stream s;
    stream_open(&s, KIT_LPAI, 8, true);
    uint32_t buffer = 16 + (STREAM_WINDOW - 1) * STREAM_IN, gru = 16 + STREAM_OUT, lstm = 16 + 2 * STREAM_OUT;
    assert_true(buffer <= 64 && gru <= 64);
    assert_int_equal(s.persistent.bytes, (64 + 64 + lstm + 63) / 64 * 64);
    stream_close(&s);
    stream_open_layers(&s, KIT_LPAI, 8, 3, false);
    assert_int_equal(s.persistent.bytes, 0); /* the stateless form needs none */
    stream_close(&s);
}

/* A reset in the middle, a fresh graph, and on LPAI a client that zeroes the memory: all begin at the beginning. */
static void test_reset(void **state)
{
    (void)state;
    static _Alignas(64) uint8_t x[64], first[64], y[64];
    for (int lib = KIT_CPU; lib < KIT_LIBS; lib++) {
        struct stream s, other;
        stream_open(&s, (enum kit_lib)lib, 8, true);
        stream_open(&other, (enum kit_lib)lib, 8, false); /* a second graph has a state of its own */
        frame_of(x, 8, 5);
        OK(stream_run(&s, x, false, first));
        OK(stream_run(&s, x, false, y));
        assert_memory_not_equal(y, first, STREAM_OUT);
        OK(stream_run(&other, x, false, y));
        assert_memory_equal(y, first, STREAM_OUT);
        OK(stream_run(&s, x, true, y));
        assert_memory_equal(y, first, STREAM_OUT);
        OK(stream_run(&s, x, false, y));
        assert_memory_not_equal(y, first, STREAM_OUT);
        if (lib == KIT_LPAI) {
            memset(s.persistent.data, 0, s.persistent.bytes);
            OK(stream_run(&s, x, false, y));
            assert_memory_equal(y, first, STREAM_OUT);
            /* Whatever else is written there makes no sense, but does no harm. */
            for (uint32_t i = 0; i < 50; i++) {
                kit_fill(s.persistent.data, (uint32_t)s.persistent.bytes, i);
                OK(stream_run(&s, x, false, y));
            }
        }
        stream_close(&s);
        stream_close(&other);
    }
}

/* A binary holds the graph, not what it has seen. */
static void test_binary(void **state)
{
    (void)state;
    static _Alignas(64) uint8_t x[64], first[64], y[64];
    struct stream s;
    stream_open(&s, KIT_CPU, 8, true);
    frame_of(x, 8, 1);
    OK(stream_run(&s, x, false, first));
    struct kit_binary b = kit_save(s.context);
    OK(q.contextFree(s.context, NULL));
    OK(q.contextCreateFromBinary(s.backend, NULL, NULL, b.data, b.size, &s.context, NULL));
    OK(q.graphRetrieve(s.context, "stream", &s.graph));
    OK(stream_run(&s, x, false, y));
    assert_memory_equal(y, first, STREAM_OUT);
    stream_close(&s);
    free(b.data);
}

/* x -> Buffer BLOCKING of 3 -> y; x -> Relu -> z beside it, added later. */
static void early(enum kit_lib lib)
{
    static _Alignas(64) uint8_t x[64], y[64], z[64];
    const uint32_t one[] = { 1, 1, STREAM_IN }, three[] = { 1, 3, STREAM_IN };
    struct stream s = { .lib = lib };
    kit_use(lib);
    assert_int_equal(q.propertyHasCapability(QNN_PROPERTY_GRAPH_SUPPORT_EARLY_TERMINATION), QNN_PROPERTY_SUPPORTED);
    OK(kit_backend(0, QNN_LPAI_BACKEND_TARGET_X86, &s.backend));
    OK(q.contextCreate(s.backend, NULL, NULL, &s.context));
    OK(q.graphCreate(s.context, "early", NULL, &s.graph));
    Qnn_Tensor_t tx = stream_tensor(s.graph, "x", QNN_TENSOR_TYPE_APP_WRITE, 8, 3, one),
                 tw = stream_tensor(s.graph, "w", QNN_TENSOR_TYPE_NATIVE, 8, 3, three),
                 ty = stream_tensor(s.graph, "y", QNN_TENSOR_TYPE_APP_READ, 8, 3, three),
                 tz = stream_tensor(s.graph, "z", QNN_TENSOR_TYPE_APP_READ, 8, 3, one);
    OK(stream_buffer(s.graph, "window", 3, QNN_OP_BUFFER_MODE_BLOCKING, &tx, NULL, &tw));
    struct op a = { .name = "behind", .type = "Relu", .ni = 1, .in = { tw }, .no = 1, .out = { ty } },
              b = { .name = "beside", .type = "Relu", .ni = 1, .in = { tx }, .no = 1, .out = { tz } };
    OK(op_add(s.graph, &a));
    OK(op_add(s.graph, &b));
    OK(q.graphFinalize(s.graph, NULL, NULL));
    if (lib == KIT_LPAI)
        stream_pools(s.graph, true, &s.scratch, &s.persistent);
    for (uint32_t i = 0; i < 6; i++) {
        memset(x, (int)(200 + i), STREAM_IN);
        memset(y, 0x5C, sizeof y);
        memset(z, 0x5C, sizeof z);
        Qnn_Tensor_t in = tensor_data(tx, x, STREAM_IN),
                     out[2] = { tensor_data(ty, y, 3 * STREAM_IN), tensor_data(tz, z, STREAM_IN) };
        out[0].v2.isProduced = out[1].v2.isProduced = 7;
        Qnn_ErrorHandle_t e = q.graphExecute(s.graph, &in, 1, out, 2, NULL, NULL);
        if (i < 2)
            FAILS_SAYING(QNN_GRAPH_ERROR_EARLY_TERMINATION, "window", e);
        else
            OK(e);
        assert_int_equal(out[0].v2.isProduced, i >= 2);
        assert_int_equal(out[1].v2.isProduced, 1);
        for (uint32_t k = 0; k < 3 * STREAM_IN; k++)
            assert_int_equal(y[k], i < 2 ? 0x5C : 200 + i - 2 + k / STREAM_IN);
        for (uint32_t k = 0; k < STREAM_IN; k++)
            assert_int_equal(z[k], 200 + i);
    }
    stream_close(&s);
}

static void test_early_end(void **state)
{
    (void)state;
    for (int lib = KIT_CPU; lib < KIT_LIBS; lib++)
        early((enum kit_lib)lib);
}

static void test_refused(void **state)
{
    (void)state;
    static uint8_t flags[3] = { 1, 0, 0 };
    Qnn_BackendHandle_t b;
    kit_use(KIT_CPU);
    OK(q.backendCreate(NULL, NULL, &b));
    Qnn_Tensor_t x = TENSOR2("x", APP_WRITE, FLOAT_32, 2, 1, 4), y = TENSOR2("y", APP_READ, FLOAT_32, 2, 6, 4);
    x.v2.isDynamicDimensions = y.v2.isDynamicDimensions = flags;
    struct op o = { .name = "buffer", .type = "Buffer", .np = 2, .ni = 1, .in = { x }, .no = 1, .out = { y } };
    o.p[0] = param_u32("buffer_size", 6);
    o.p[1] = param_u32("buffer_dim", 1);
    FAILS_SAYING(QNN_OP_PACKAGE_ERROR_VALIDATION_FAILURE, "dynamic", op_validate(b, &o));
    struct op g = { .name = "gru", .type = "Gru", .ni = 15, .in = { x }, .no = 2, .np = 1,
                    .out = { TENSOR2("o", APP_READ, FLOAT_32, 2, 1, 3), TENSOR2("h", APP_READ, FLOAT_32, 1, 2, 3) } };
    g.p[0] = param_bool("time_major", false);
    for (uint32_t i = 1; i < 7; i++)
        g.in[i] = i < 4 ? TENSOR("w", APP_WRITE, FLOAT_32, 3, 4) : TENSOR("w", APP_WRITE, FLOAT_32, 3, 3);
    for (uint32_t i = 7; i < 14; i++)
        g.in[i] = tensor_absent();
    g.in[14] = TENSOR("reset", APP_WRITE, BOOL_8, 1);
    g.out[0].v2.isDynamicDimensions = flags;
    FAILS_SAYING(QNN_OP_PACKAGE_ERROR_VALIDATION_FAILURE, "dynamic batch", op_validate(b, &g));
    g.in[14] = TENSOR("reset", APP_WRITE, BOOL_8, 2);
    FAILS_SAYING(QNN_OP_PACKAGE_ERROR_VALIDATION_FAILURE, "reset", op_validate(b, &g));
    OK(q.backendFree(b));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stream_is_whole), cmocka_unit_test(test_long_stream), cmocka_unit_test(test_persistent_size),
        cmocka_unit_test(test_reset),           cmocka_unit_test(test_binary),      cmocka_unit_test(test_early_end),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
