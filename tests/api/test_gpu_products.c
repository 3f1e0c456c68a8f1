/* SPDX-License-Identifier: Apache-2.0 */
/* Products of libQnnGpu.so in every way that there is to compute them, on whatever device there is: OPENQNN_GPU_PRODUCTS
 * names one, which is looked at when a graph is finalized. Sizes lie around those of blocks and tiles. */
#include <stdlib.h>

#include "gpu_kit.h"

#define SUMS 2e-5f
#define D(...) (uint32_t)COUNT(((uint32_t[]){ __VA_ARGS__ })), (uint32_t[]){ __VA_ARGS__ }

/* The last ones take the compilers of CPUs long and are the same text with other numbers: they are left out unless the
 * program is given an argument. */
static const char *const ways[] = { "blocks_16", "blocks_8", "blocks_4", "tiles_32", "tiles_16", "tiles_64", "tiles_128" };
enum { USUAL_WAYS = 5 };
static size_t n_ways = USUAL_WAYS;

/* batch, size of the image, channels per group, groups, kernel, stride, dilation */
static const struct {
    uint32_t batch, size, in, out, groups, kernel, stride, dilation;
} convs[] = {
    { 1, 12, 16, 70, 1, 3, 1, 1 },  /* several tiles of columns; lines of the input joined */
    { 2, 9, 3, 33, 1, 5, 2, 1 },    /* three channels: no four of them lie together */
    { 1, 7, 8, 12, 3, 3, 1, 2 },    /* groups and dilation: every tap by itself */
    { 1, 13, 20, 130, 1, 1, 1, 1 }, /* one pixel: plain rows */
    { 3, 6, 5, 7, 1, 1, 2, 1 },     /* one pixel, but not every one */
};

static void run_convs(void)
{
    for (size_t i = 0; i < COUNT(convs); i++) {
        uint32_t g = convs[i].groups, k = convs[i].kernel, pad = k / 2 * convs[i].dilation, size = convs[i].size;
        uint32_t out = (size + 2 * pad - (k - 1) * convs[i].dilation - 1) / convs[i].stride + 1;
        struct kit_case c = { .type = "Conv2d", .ni = 3, .no = 1 };
        c.in[0] = kit_float(-1, 1, D(convs[i].batch, size, size, convs[i].in * g));
        c.in[1] = kit_float(-1, 1, D(k, k, convs[i].in, convs[i].out * g));
        c.in[2] = kit_float(-1, 1, D(convs[i].out * g));
        c.out[0] = kit_float(0, 0, D(convs[i].batch, out, out, convs[i].out * g));
        c.in[1].is_static = c.in[2].is_static = true;
        kit_list(&c, "stride", 'u', 1, 2, 1, (int32_t[]){ (int32_t)convs[i].stride, (int32_t)convs[i].stride });
        kit_list(&c, "dilation", 'u', 1, 2, 1, (int32_t[]){ (int32_t)convs[i].dilation, (int32_t)convs[i].dilation });
        kit_list(&c, "pad_amount", 'u', 2, 2, 2, (int32_t[]){ (int32_t)pad, (int32_t)pad, (int32_t)pad, (int32_t)pad });
        kit_u32(&c, "group", (int32_t)g);
        kit_compare(&c, SUMS);
    }
}

static void run_connected(void)
{
    static const uint32_t sizes[][3] = { { 1, 200, 1001 }, { 9, 64, 40 }, { 140, 33, 129 } }; /* rows, depth, columns */
    for (size_t i = 0; i < COUNT(sizes); i++)
        for (int is_static = 0; is_static < 2; is_static++) {
            struct kit_case c = { .type = "FullyConnected", .ni = 2, .no = 1 };
            c.in[0] = kit_float(-1, 1, D(sizes[i][0], sizes[i][1]));
            c.in[1] = kit_float(-1, 1, D(sizes[i][2], sizes[i][1]));
            c.in[1].is_static = is_static;
            c.out[0] = kit_float(0, 0, D(sizes[i][0], sizes[i][2]));
            kit_compare(&c, SUMS);
        }
}

static void run_matmuls(void)
{
    for (uint32_t i = 0; i < 8; i++) {
        bool tx = i & 1, ty = i & 2, is_static = i & 4;
        uint32_t rows = 37, depth = 68, cols = 50, batch = is_static ? 1 : 3;
        struct kit_case c = { .type = "MatMul", .ni = 2, .no = 1 };
        c.in[0] = kit_float(-1, 1, D(3, tx ? depth : rows, tx ? rows : depth));
        c.in[1] = is_static ? kit_float(-1, 1, D(ty ? cols : depth, ty ? depth : cols))
                            : kit_float(-1, 1, D(batch, ty ? cols : depth, ty ? depth : cols));
        c.in[1].is_static = is_static;
        c.out[0] = kit_float(0, 0, D(3, rows, cols));
        kit_bool(&c, "transpose_in0", tx);
        kit_bool(&c, "transpose_in1", ty);
        kit_compare(&c, SUMS);
    }
}

static void test_ways(void **state)
{
    (void)state;
    for (size_t i = 0; i < n_ways; i++) {
        setenv("OPENQNN_GPU_PRODUCTS", ways[i], 1);
        run_convs();
        run_connected();
        run_matmuls();
        print_message("%s: as on the CPU\n", ways[i]);
    }
    unsetenv("OPENQNN_GPU_PRODUCTS");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_ways) };
    (void)argv;
    n_ways = argc > 1 ? COUNT(ways) : USUAL_WAYS;
    kit_need_device();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
