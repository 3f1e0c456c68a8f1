/* SPDX-License-Identifier: Apache-2.0 */
/* Estimates by events and what moves through a fast memory, worked out by hand from docs/cost.md. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "cost_made.h"

/* Moving costs next to nothing unless a test says otherwise, so that one thing at a time is seen. */
static const struct cost_device device = {
    .clock_mhz = 1000,
    .matrix_macs = 1024,
    .vector_units = 2,
    .vector_percent = 400,
    .vtcm_rate = 1 << 30,
    .dram_mb_s = 1 << 30,
    .launch = { 700, 30 },
    .vtcm_bytes = 1 << 20,
};

static struct cost_work work_at(const struct cost_device *d, const struct made *m, uint32_t node)
{
    struct cost_tensor *tensors = mem_array(struct cost_tensor, m->g->n_tensors);
    struct cost_work w;
    assert_non_null(tensors);
    cost_list_tensors(m->g, tensors);
    cost_work(d, m->g, node, tensors, &w);
    mem_free(tensors);
    return w;
}

static struct cost_work work_of(const char *text)
{
    struct made m = made_of(text, NULL, NULL);
    struct cost_work w = work_at(&device, &m, 0);
    unmake(&m);
    return w;
}

/* 40 rows become 64, 20 deep becomes 32, 33 columns become 64; 16 bits take two or four times as long, floats four times. */
static void products_are_padded(void **state)
{
    (void)state;
    static const struct {
        const char *a, *b;
        uint32_t times;
    } cases[] = {
        { "uq8", "sq8", 1 }, { "uq16", "sq8", 2 }, { "uq16", "sq16", 4 }, { "f16", "f16", 4 }, { "f32", "f32", 4 }
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[512];
        const char *q = i < 3 ? " scale=0.5 offset=0" : "";
        snprintf(text, sizeof text,
                 "graph \"g\" { in %%x : %s[40,20]%s\n in %%w : %s[20,33]%s\n out %%y : %s[40,33]%s\n %%y = MatMul \"m\" "
                 "(%%x, %%w)\n }\n",
                 cases[i].a, q, cases[i].b, q, cases[i].a, q);
        struct cost_work w = work_of(text);
        assert_int_equal(w.matrix, 64 * 32 * 64 / 1024 * cases[i].times);
        assert_true(w.vector > 0); /* operands of the client change their layout */
    }
}

/* 12,800 bytes are 100 vectors of 4 cycles on 2 units; a division takes 40 times as long. */
static void vectors_by_operator(void **state)
{
    (void)state;
    const char *form = "graph \"g\" { in %%a : uq8[128,100] scale=0.5 offset=0\n in %%b : uq8[128,100] scale=0.5 offset=0\n"
                       "out %%y : uq8[128,100] scale=0.5 offset=0\n %%y = %s \"n\" (%%a, %%b)\n }\n";
    char text[512];
    snprintf(text, sizeof text, form, "ElementWiseAdd");
    assert_int_equal(work_of(text).vector, 100 * 4 / 2);
    snprintf(text, sizeof text, form, "ElementWiseDivide");
    assert_int_equal(work_of(text).vector, 100 * 4 * 40 / 2);
}

/* A difference and a quotient of floats need no new encoding; a device that is slow at floats is so at all of them. */
static void floats_have_their_own_vectors(void **state)
{
    (void)state;
    static const struct {
        const char *op;
        uint32_t additions; /* that it takes the time of */
    } cases[] = { { "ElementWiseAdd", 1 }, { "ElementWiseSubtract", 1 }, { "ElementWiseDivide", 3 } };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[512];
        struct cost_device slow = device;
        slow.float_percent = 150;
        snprintf(text, sizeof text,
                 "graph \"g\" { in %%a : f16[64,100]\n in %%b : f16[64,100]\n out %%y : f16[64,100]\n %%y = %s \"n\" (%%a, "
                 "%%b)\n }\n",
                 cases[i].op);
        uint64_t wide = 100 * 4 / 2 * 14 / 10; /* elements of two bytes take longer, vector by vector */
        assert_int_equal(work_of(text).vector, wide * cases[i].additions);
        struct made m = made_of(text, NULL, NULL);
        assert_int_equal(work_at(&slow, &m, 0).vector, wide * cases[i].additions * 3 / 2);
        unmake(&m);
    }
}

/* Two convolutions of an image of 3 channels, 40 x 24: it comes from the client's memory without padding, and only the first
 * one lays it out in tiles, 40 x 24 x 32 bytes by 2.7 additions each. */
static void images_of_the_client(void **state)
{
    (void)state;
    const char *text =
        "graph \"g\" { in %x : uq8[1,40,24,3] scale=0.5 offset=0\n const %w : sq8[1,1,3,1] scale=0.5 offset=0 = (1,2,3)\n"
        " tmp %a : uq8[1,40,24,1] scale=0.5 offset=0\n tmp %b : uq8[1,40,24,1] scale=0.5 offset=0\n"
        " out %y : uq8[1,40,24,1] scale=0.5 offset=0\n"
        " %a = Conv2d \"a\" (%x, %w) { stride=u32[2](1,1), pad_amount=u32[2,2](0,0,0,0) }\n"
        " %b = Conv2d \"b\" (%x, %w) { stride=u32[2](1,1), pad_amount=u32[2,2](0,0,0,0) }\n"
        " %y = ElementWiseAdd \"y\" (%a, %b)\n }\n";
    struct made m = made_in(text, &device);
    struct binary_moves moves;
    binary_node_moves(m.g, 0, &moves);
    assert_int_equal(moves.inputs, 40 * 24 * 3);
    assert_int_equal(work_at(&device, &m, 0).vector, 40 * 24 * 32 / 128 * 4 * 27 / 10 / 2);
    assert_int_equal(work_at(&device, &m, 1).vector, 0);
    unmake(&m);
}

/* Of a table only the rows that are looked up come from DRAM; what comes more than once makes it no more than the table. */
static void rows_come_alone(void **state)
{
    (void)state;
    enum { TABLE = 8, WIDTH = 4 };
    static const uint32_t rows[] = { 3, 300 };
    for (int i = 0; i < 2; i++) {
        char text[1024];
        struct binary_moves moves;
        snprintf(text, sizeof text,
                 "graph \"g\" { in %%i : i32[%u]\n const %%t : uq8[8,4] scale=0.5 offset=0 = (1,2,3,4,1,2,3,4,1,2,3,4,"
                 "1,2,3,4,1,2,3,4,1,2,3,4,1,2,3,4,1,2,3,4)\n out %%y : uq8[%u,4] scale=0.5 offset=0\n"
                 " %%y = Gather \"y\" (%%t, %%i) { axis=i32(0) }\n }\n",
                 rows[i], rows[i]);
        struct made m = made_in(text, &device);
        binary_node_moves(m.g, 0, &moves);
        assert_int_equal(moves.weights, (rows[i] < TABLE ? rows[i] : TABLE) * WIDTH);
        assert_int_equal(moves.inputs, 4 * rows[i]);
        unmake(&m);
    }
}

/* Vectors of an operator on 40 x 24 places, with a constant of one or three values; another one stands behind it, so that
 * its result is none of the client's. */
static uint64_t first_vector(uint32_t channels, const char *op, const char *second)
{
    char text[1024], other[256] = "";
    if (second)
        snprintf(other, sizeof other, " const %%b : uq8[%d] scale=0.5 offset=0 = (%s)\n", second[1] ? 3 : 1, second);
    snprintf(text, sizeof text,
             "graph \"g\" { in %%x : uq8[1,40,24,%u] scale=0.5 offset=0\n tmp %%a : uq8[1,40,24,%u] scale=0.5 offset=0\n"
             " out %%y : uq8[1,40,24,%u] scale=0.5 offset=0\n%s"
             " %%a = %s \"a\" (%%x%s)\n %%y = Sigmoid \"y\" (%%a)\n }\n",
             channels, channels, channels, other, op, second ? ", %b" : "");
    struct made m = made_in(text, &device);
    struct cost_work w = work_at(&device, &m, 0);
    unmake(&m);
    return w.vector;
}

enum { PLACES = 40 * 24, VECTORS = PLACES * 32 / 128 };

/* 20 channels lie in 32, and vectors go over all of them; only for the client there is no padding. */
static void vectors_go_over_padding(void **state)
{
    (void)state;
    assert_int_equal(first_vector(32, "Tanh", NULL), VECTORS * 4 * 38 / 10 / 2);
    assert_int_equal(first_vector(20, "Tanh", NULL), VECTORS * 4 * 38 / 10 / 2);
    struct cost_work w =
        work_of("graph \"g\" { in %x : uq8[1,40,24,20] scale=0.5 offset=0\n out %y : uq8[1,40,24,20] scale=0.5 "
                "offset=0\n %y = Tanh \"n\" (%x)\n }\n");
    assert_int_equal(w.vector, PLACES * 20 / 128 * 4 * 38 / 10 / 2);
}

/* Vectors of a Transpose of 40 x 32 x 32 bytes that the client does not see. */
static uint64_t transposed(const char *dims, const char *perm)
{
    char text[1024];
    snprintf(text, sizeof text,
             "graph \"g\" { in %%x : uq8[1,40,32,32] scale=0.5 offset=0\n tmp %%a : uq8[%s] scale=0.5 offset=0\n"
             " out %%y : uq8[%s] scale=0.5 offset=0\n %%a = Transpose \"a\" (%%x) { perm=u32[4](%s) }\n"
             " %%y = Sigmoid \"y\" (%%a)\n }\n",
             dims, dims, perm);
    struct made m = made_in(text, &device);
    struct cost_work w = work_at(&device, &m, 0);
    unmake(&m);
    return w.vector;
}

/* A Transpose that keeps what stands side by side moves it; where other elements come to stand there, it takes each. */
static void transposes_that_turn_elements(void **state)
{
    (void)state;
    uint64_t moved = transposed("1,32,40,32", "0,2,1,3"), turned = transposed("1,40,32,32", "0,1,3,2");
    assert_in_range(turned * 26, moved * 140 - 140, moved * 140 + 140);
    assert_int_equal(transposed("1,40,32,32", "0,1,2,3"), moved);
}

/* Blocks of pixels of few channels take each element, as a Transpose that turns does; the client's have no padding. */
static void blocks_of_few_channels(void **state)
{
    (void)state;
    static const char form[] = "graph \"g\" { in %%x : uq8[1,16,16,%u] scale=0.5 offset=0\n"
                               " out %%y : uq8[1,32,32,%u] scale=0.5 offset=0\n"
                               " %%y = DepthToSpace \"y\" (%%x) { block_size=u32[2](2,2) }\n }\n";
    char text[512];
    snprintf(text, sizeof text, form, 128, 32);
    assert_int_equal(work_of(text).vector, 32 * 32 * 32 / 128 * 4 * 26 / 10 / 2 + 1);
    snprintf(text, sizeof text, form, 16, 4);
    assert_int_equal(work_of(text).vector, 32 * 32 * 4 / 128 * 4 * 14 / 2);
}

/* Softmax of 16 bits: 0.75 additions for each of its eight steps, and vectors of two bytes. */
static void softmax_of_each_width(void **state)
{
    (void)state;
    assert_int_equal(
        work_of("graph \"g\" { in %x : uq8[128,64] scale=0.5 offset=0\n out %y : uq8[128,64] scale=0.5 offset=0\n"
                " %y = Softmax \"y\" (%x)\n }\n")
            .vector,
        64 * 8 * 4 * 115 / 100 / 2 + 1);
    assert_int_equal(
        work_of("graph \"g\" { in %x : uq16[64,64] scale=0.5 offset=0\n out %y : uq16[64,64] scale=0.5 offset=0\n"
                " %y = Softmax \"y\" (%x)\n }\n")
            .vector,
        64 * 8 * 4 * (75 * 14 / 10) / 100 / 2 + 1);
}

/* A window along one line is computed as one over an image, of whose tiles one line of eight is used; so are vectors over
 * what it reads or makes. Products without a window have no such padding. */
static void windows_along_one_line(void **state)
{
    (void)state;
    for (int tall = 0; tall < 2; tall++) {
        char text[1024];
        snprintf(text, sizeof text,
                 "graph \"g\" { in %%x : uq8[1,1,64,32] scale=0.5 offset=0\n tmp %%a : uq8[1,1,64,32] scale=0.5 offset=0\n"
                 " tmp %%b : uq8[1,1,64,32] scale=0.5 offset=0\n out %%y : uq8[1,1,64,32] scale=0.5 offset=0\n"
                 " in %%w : sq8[1,%d,32,32] scale=0.5 offset=0\n %%a = Tanh \"a\" (%%x)\n"
                 " %%b = Conv2d \"b\" (%%a, %%w) { stride=u32[2](1,1), pad_amount=u32[2,2](0,0,%d,%d) }\n"
                 " %%y = Tanh \"y\" (%%b)\n }\n",
                 tall ? 3 : 1, tall, tall);
        struct made m = made_in(text, &device);
        struct cost_work before = work_at(&device, &m, 0), product = work_at(&device, &m, 1);
        assert_int_equal(product.matrix, 64 * 32 * 32 / 1024 * (tall ? 8 * 3 : 1));
        assert_int_equal(before.vector, (64 * 32 / 128 * 4 * 38 * (tall ? 8 : 1) + 19) / 20); /* 3.8 additions, on 2 units */
        unmake(&m);
    }
}

/* Steps of a recurrent operator wait for each other: a sequence that is twice as long takes twice as long, and many
 * sequences side by side take no longer than one until they fill the rows of the matrix unit. */
static struct cost_work lstm(const struct cost_device *d, uint32_t sequences, uint32_t steps, uint64_t *cycles)
{
    char text[2048];
    snprintf(text, sizeof text,
             "graph \"g\" { in %%x : f16[%u,%u,32]\n in %%w : f16[64,32]\n in %%r : f16[64,64]\n"
             " in %%b : f16[64]\n out %%y : f16[%u,%u,64]\n out %%c : f16[%u,64]\n out %%h : f16[%u,64]\n"
             " %%y, %%c, %%h = Lstm \"l\" (%%x, %%w, %%w, %%w, %%r, %%r, %%r, %%b, %%b, %%b)\n }\n",
             sequences, steps, sequences, steps, sequences, sequences);
    struct made m = made_in(text, d);
    struct cost_work w = work_at(d, &m, 0);
    *cycles = m.g->info.cycles;
    unmake(&m);
    return w;
}

static void steps_wait_for_each_other(void **state)
{
    (void)state;
    uint64_t cycles, twice;
    uint64_t one = lstm(&device, 1, 1, &cycles).matrix, two = lstm(&device, 1, 2, &cycles).matrix,
             four = lstm(&device, 1, 4, &cycles).matrix;
    assert_int_equal(two - one, one + device.launch[0] + device.launch[1]);
    assert_int_equal(four - two, 2 * (two - one));
    assert_int_equal(lstm(&device, 32, 4, &cycles).matrix, four);
    assert_true(lstm(&device, 33, 4, &cycles).matrix > four);
    struct cost_device slow = device;
    slow.dram_mb_s = 1000; /* a byte per cycle: 4 gates of 64 x 64 floats come with every step */
    lstm(&slow, 1, 16, &cycles);
    lstm(&slow, 1, 32, &twice);
    assert_in_range(twice - cycles, 16 * 4 * 64 * 64 * 2, 18 * 4 * 64 * 64 * 2);
}

/* A constant is taken away like an addition and divided by like a product. One number per channel of an image takes 6.3
 * additions, whatever is done with it; one for all, or for as many channels as tiles have, does not. */
static void constants_are_part_of_the_encoding(void **state)
{
    (void)state;
    assert_int_equal(first_vector(32, "ElementWiseSubtract", "3"), VECTORS * 4 / 2);
    assert_int_equal(first_vector(32, "ElementWiseDivide", "3"), VECTORS * 4 * 4 / 2);
    assert_int_equal(first_vector(3, "ElementWiseSubtract", "3"), VECTORS * 4 / 2);
    assert_int_equal(first_vector(3, "ElementWiseSubtract", "3,4,5"), VECTORS * 4 * 63 / 10 / 2);
    assert_int_equal(first_vector(3, "ElementWiseDivide", "3,4,5"), VECTORS * 4 * 63 / 10 / 2);
}

/* A sum and the Relu behind it are one operator, which does not keep the sum; another reader of the sum keeps them apart. */
static void sums_are_clamped_on_the_way(void **state)
{
    (void)state;
    static const char form[] =
        "graph \"g\" { in %%x : uq8[1,64,64,32] scale=0.5 offset=0\n tmp %%a : uq8[1,64,64,32] scale=0.5 offset=0\n"
        " tmp %%b : uq8[1,64,64,32] scale=0.5 offset=0\n tmp %%c : uq8[1,64,64,32] scale=0.5 offset=0\n"
        " out %%y : uq8[1,64,64,32] scale=0.5 offset=0\n %%a = Sigmoid \"a\" (%%x)\n %%b = ElementWiseAdd \"b\" (%%a, %%a)\n"
        " %%c = Relu \"c\" (%%b)\n %%y = ElementWiseMultiply \"y\" (%%c, %%%s)\n }\n";
    for (int i = 0; i < 2; i++) {
        char text[1024];
        snprintf(text, sizeof text, form, i ? "b" : "a");
        struct made m = made_in(text, &device);
        for (uint32_t k = 0; k < m.g->n_nodes; k++)
            if (m.g->nodes[k].op->id == OP_Relu)
                assert_int_equal(m.g->nodes[k].resources & RESOURCE_VECTOR, i ? RESOURCE_VECTOR : 0);
        unmake(&m);
    }
}

static const char chain[] =
    "graph \"g\" { in %x : uq8[1,64,64,32] scale=0.5 offset=0\n tmp %a : uq8[1,64,64,32] scale=0.5 offset=0\n"
    " tmp %b : uq8[1,64,64,32] scale=0.5 offset=0\n tmp %c : uq8[1,64,64,32] scale=0.5 offset=0\n out %y : uq8[1,64,64,32] "
    "scale=0.5 offset=0\n"
    " %a = Relu \"a\" (%x)\n %b = Sigmoid \"b\" (%a)\n %c = Tanh \"c\" (%b)\n %y = ElementWiseAdd \"y\" (%c, %a)\n }\n";
enum { TENSOR = 64 * 64 * 32 };

/* Less room never makes a graph faster, nor does slower memory; the cycles of operators are those of the graph. */
static void less_is_slower(void **state)
{
    (void)state;
    uint64_t before = 0;
    for (uint32_t share = 16; share > 0; share /= 2) {
        struct cost_device d = device;
        d.dram_mb_s = 10000;
        d.vtcm_bytes = share * TENSOR / 2;
        struct made m = made_in(chain, &d);
        uint64_t sum = 0;
        for (uint32_t k = 0; k < m.g->n_nodes; k++)
            sum += m.g->nodes[k].cycles;
        assert_int_equal(sum, m.g->info.cycles);
        assert_true(m.g->info.cycles + m.g->info.cycles / 64 >= before); /* smaller boxes hand over a little earlier */
        before = m.g->info.cycles;
        unmake(&m);
    }
}

/* Matrix and vector work that does not wait for each other takes the time of the longer one; without room for both, one
 * waits. */
static void units_work_side_by_side(void **state)
{
    (void)state;
    const char *product = " in %p : uq8[512,512] scale=0.5 offset=0\n in %q : sq8[512,512] scale=0.5 offset=0\n out %r : "
                          "uq8[512,512] scale=0.5 offset=0\n"
                          " %r = MatMul \"r\" (%p, %q)\n";
    const char *vector =
        " in %x : uq8[512,512] scale=0.5 offset=0\n out %y : uq8[512,512] scale=0.5 offset=0\n %y = Sigmoid \"y\" (%x)\n";
    char text[1024];
    uint64_t cycles[4];
    for (int i = 0; i < 4; i++) {
        struct cost_device d = device;
        d.launch[0] = 300000; /* so that the product needs long, although its operands also pass the vector units */
        d.vtcm_bytes = i < 3 ? 16 << 20 : 1 << 20; /* room for the operands of both */
        snprintf(text, sizeof text, "graph \"g\" {%s%s}\n", i != 1 ? product : "", i != 0 ? vector : "");
        struct made m = made_of(text, NULL, &d);
        cycles[i] = m.g->info.cycles;
        unmake(&m);
    }
    assert_true(cycles[1] > 1000 && cycles[1] < 300000);
    assert_int_equal(cycles[2], cycles[0]);
    assert_int_equal(cycles[3], cycles[0] + cycles[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_are_padded),
        cmocka_unit_test(vectors_by_operator),
        cmocka_unit_test(floats_have_their_own_vectors),
        cmocka_unit_test(images_of_the_client),
        cmocka_unit_test(rows_come_alone),
        cmocka_unit_test(vectors_go_over_padding),
        cmocka_unit_test(transposes_that_turn_elements),
        cmocka_unit_test(blocks_of_few_channels),
        cmocka_unit_test(softmax_of_each_width),
        cmocka_unit_test(windows_along_one_line),
        cmocka_unit_test(steps_wait_for_each_other),
        cmocka_unit_test(constants_are_part_of_the_encoding),
        cmocka_unit_test(sums_are_clamped_on_the_way),
        cmocka_unit_test(less_is_slower),
        cmocka_unit_test(units_work_side_by_side),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
