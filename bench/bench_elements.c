/* SPDX-License-Identifier: Apache-2.0 */
/* make bench: operators that are not products, alone in a graph on libQnnCpu.so, one thread.
 *
 *     bench_elements LIB_DIR JSONL_FILE [OPERATOR]
 *
 * Time per element of the result, and bytes of operands per second against those of a copy of memory: what is near that is
 * limited by memory, the rest by arithmetic. Most of these fit into a cache, so they can also be faster. */
#include <stdio.h>
#include <string.h>

#include "bench_peaks.h"
#include "bench_run.h"

static void alone(struct net *n, uint32_t rank, const uint32_t *dims, enum layer_kind kind)
{
    net_same(n, net_input(n, rank, dims, false), kind);
}

static void softmax(struct net *n) { alone(n, 3, (uint32_t[]){ 12, 512, 512 }, LAYER_SOFTMAX); }
static void softmax_1000(struct net *n) { alone(n, 2, (uint32_t[]){ 1, 1000 }, LAYER_SOFTMAX); }
static void layer_norm(struct net *n) { alone(n, 2, (uint32_t[]){ 512, 768 }, LAYER_NORM); }
static void gelu(struct net *n) { alone(n, 2, (uint32_t[]){ 512, 3072 }, LAYER_GELU); }
static void relu(struct net *n) { alone(n, 2, (uint32_t[]){ 512, 3072 }, LAYER_RELU); }

static uint32_t image(struct net *n, uint32_t size, uint32_t channels)
{
    return net_input(n, 4, (uint32_t[]){ 1, size, size, channels }, true);
}

static void add(struct net *n)
{
    uint32_t x = image(n, 56, 256);
    net_add(n, x, x, LINEAR);
}

static void pool_max(struct net *n) { net_pool(n, image(n, 112, 64), LAYER_POOL_MAX, 3, 2, 1); }
static void pool_all(struct net *n) { net_global_pool(n, image(n, 7, 2048)); }

static void transpose(struct net *n)
{
    uint32_t x = net_input(n, 4, (uint32_t[]){ 1, 512, 12, 64 }, false);
    net_transpose(n, x, (uint32_t[]){ 0, 2, 1, 3 });
}

static void transpose_last(struct net *n)
{
    uint32_t x = net_input(n, 3, (uint32_t[]){ 12, 512, 64 }, false);
    net_transpose(n, x, (uint32_t[]){ 0, 2, 1 });
}

static const struct net_entry ops[] = {
    { "softmax_512", softmax },
    { "softmax_1000", softmax_1000 },
    { "layer_norm_768", layer_norm },
    { "gelu", gelu },
    { "relu", relu },
    { "add_56x56x256", add },
    { "pool_max_3x3", pool_max },
    { "pool_avg_7x7", pool_all },
    { "transpose_heads", transpose },
    { "transpose_last", transpose_last },
};

static void bench_op(const struct net_entry *e, enum net_type type)
{
    struct product p = product_make(e->name, e->build, type, NULL);
    struct runnable r;
    runnable_open(&r, &p, 1, 1);
    double ns = (double)timing_of(runnable_run, &r, 0.1).own;
    uint64_t in = r.in.v1.clientBuf.dataSize, out = r.out.v1.clientBuf.dataSize;
    uint32_t size = type == NET_INT8 ? 1 : type == NET_F32 ? 4 : 2;
    double rate = (double)(in + out) / ns, copy = peak_of(PEAK_COPY, ISA_REF, 1);
    printf("%-16s %-6s %10.2f us %8.3f ns/element %8.1f GB/s %6.0f %%\n", e->name, net_type_names[type], ns * 1e-3,
           ns * size / (double)out, rate, 100 * rate / copy);
    lines_add("{\"kind\":\"element\",\"name\":\"%s\",\"type\":\"%s\",\"us\":%.3f,\"ns_per_element\":%.4f,\"gb_per_s\":%.2f,"
              "\"copy_gb_per_s\":%.2f}",
              e->name, net_type_names[type], ns * 1e-3, ns * size / (double)out, rate, copy);
    runnable_close(&r);
    product_free(&p);
}

int main(int argc, char **argv)
{
    if (argc != 3 && argc != 4) {
        fprintf(stderr, "usage: bench_elements LIB_DIR JSONL_FILE [OPERATOR]\n");
        return 2;
    }
    lines_open(argv[2], "w");
    client_open(argv[1], "libQnnCpu.so");
    printf("operator, one thread; operands per second against a copy in memory\n\n");
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        for (int t = 0; t < NET_TYPES; t++)
            if (argc == 3 || !strcmp(argv[3], ops[i].name))
                bench_op(&ops[i], (enum net_type)t);
    lines_close();
    return 0;
}
