/* SPDX-License-Identifier: Apache-2.0 */
/* make bench: libQnnGpu.so on the OpenCL device that there is, against what plain OpenCL kernels reach on it in the same
 * run.
 *
 *     bench_gpu LIB_DIR JSONL_FILE [--only PART_OF_NAME] [--seconds PER_ROW]
 *
 * Matrix products, convolutions and whole networks in float32 and float16, batch 1 and 32 (4 on CPUs). Inputs and outputs
 * are OpenCL buffers that the library was given, so that nothing is copied from or to the host; a row is one
 * QnnGraph_execute with its wait. */
#include <QNN/GPU/QnnGpuMem.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "bench_client.h"
#include "bench_gpu_limits.h"
#include "bench_lines.h"
#include "net_qnn.h"

enum { MIN_RUNS = 3, MAX_RUNS = 500 };

static struct gpu_bench gpu;
static const char *only = "";
static double seconds = 0.7;

/* A single layer: rows of a matrix product, or a square image. */
struct layer_case {
    const char *name;
    uint32_t batch, size, in, out, kernel, stride;
    bool depthwise;
};

static const struct layer_case layers[] = {
    { "gemm 256", 256, 0, 256, 256, 0, 0, false },
    { "gemm 1024", 1024, 0, 1024, 1024, 0, 0, false },
    { "gemm 2048", 2048, 0, 2048, 2048, 0, 0, false },
    { "gemm 1 2048 1000", 1, 0, 2048, 1000, 0, 0, false },
    { "gemm 32 2048 1000", 32, 0, 2048, 1000, 0, 0, false },
    { "conv 7x7 s2 224 3-64", 1, 224, 3, 64, 7, 2, false },
    { "conv 1x1 56 64-256", 1, 56, 64, 256, 1, 1, false },
    { "conv 3x3 56 64-64", 1, 56, 64, 64, 3, 1, false },
    { "conv 3x3 28 128-128", 1, 28, 128, 128, 3, 1, false },
    { "conv 3x3 14 256-256", 1, 14, 256, 256, 3, 1, false },
    { "conv 3x3 7 512-512", 1, 7, 512, 512, 3, 1, false },
    { "conv 1x1 7 512-2048", 1, 7, 512, 2048, 1, 1, false },
    { "depthwise 3x3 112 96", 1, 112, 96, 96, 3, 1, true },
    { "depthwise 3x3 14 576", 1, 14, 576, 576, 3, 1, true },
};

struct runnable {
    struct net_builder b;
    struct session s;
    Qnn_Tensor_t in, out;
    Qnn_MemHandle_t mems[2];
    cl_mem buffers[2];
};

static Qnn_MemHandle_t register_buffer(const struct runnable *r, const Qnn_Tensor_t *t, cl_mem m)
{
    QnnGpu_MemInfoCustom_t info = QNN_GPU_MEM_INFO_CUSTOM_INIT;
    Qnn_MemDescriptor_t d = QNN_MEM_DESCRIPTOR_INIT;
    Qnn_MemHandle_t ret = NULL;
    info.memType = QNN_GPU_MEM_OPENCL;
    info.buffer = m;
    d.memShape.numDim = t->v1.rank;
    d.memShape.dimSize = t->v1.dimensions;
    d.dataType = t->v1.dataType;
    d.memType = QNN_MEM_TYPE_CUSTOM;
    d.customInfo = &info;
    CHECK(qnn.memRegister(r->s.context, &d, 1, &ret));
    return ret;
}

static size_t bytes_of(const struct layer *l, enum net_type t)
{
    return (size_t)layer_count(l) * (t == NET_F16 ? 2 : 4);
}

static void *inputs(size_t bytes, enum net_type type)
{
    static const uint16_t halves[] = { 0xc000, 0xbc00, 0xb800, 0x3400, 0x3800, 0x3c00, 0x4000 };
    void *data = malloc(bytes);
    for (size_t i = 0; data && type == NET_F32 && i < bytes / 4; i++)
        ((float *)data)[i] = (float)(i * 37 % 255) / 64.0f - 2.0f;
    for (size_t i = 0; data && type == NET_F16 && i < bytes / 2; i++)
        ((uint16_t *)data)[i] = halves[i * 5 % 7];
    if (!data)
        client_check(QNN_COMMON_ERROR_MEM_ALLOC, "inputs");
    return data;
}

static void use_buffer(struct runnable *r, int which, const struct layer *l, Qnn_Tensor_t *t, enum net_type type)
{
    void *data = inputs(bytes_of(l, type), type);
    r->buffers[which] = gpu_bench_buffer(&gpu, bytes_of(l, type), data);
    free(data);
    r->mems[which] = register_buffer(r, t, r->buffers[which]);
    t->v1.memType = QNN_TENSORMEMTYPE_MEMHANDLE;
    t->v1.memHandle = r->mems[which];
}

static uint64_t runnable_open(struct runnable *r, const struct net *net, enum net_type type)
{
    *r = (struct runnable){ .b = { .net = net, .type = type, .seed = 1 } };
    session_open(&r->s, 1);
    CHECK(qnn.graphCreate(r->s.context, "bench", NULL, &r->b.graph));
    net_build(&r->b);
    uint64_t t0 = clock_ns();
    CHECK(qnn.graphFinalize(r->b.graph, NULL, NULL));
    uint64_t took = clock_ns() - t0;
    r->in = r->b.tensors[0];
    r->out = r->b.tensors[net->n - 1];
    use_buffer(r, 0, &net->layers[0], &r->in, type);
    use_buffer(r, 1, &net->layers[net->n - 1], &r->out, type);
    return took;
}

static void runnable_close(struct runnable *r)
{
    CHECK(qnn.memDeRegister(r->mems, 2));
    session_close(&r->s);
    for (int i = 0; i < 2; i++)
        GPU_CALL(&gpu, clReleaseMemObject)(r->buffers[i]);
    net_builder_finish(&r->b);
}

static void run(struct runnable *r)
{
    CHECK(qnn.graphExecute(r->b.graph, &r->in, 1, &r->out, 1, NULL, NULL));
}

static struct timing time_runs(struct runnable *r)
{
    uint64_t ns[MAX_RUNS], begin;
    unsigned n = 0;
    run(r); /* device code is made when it is first used */
    run(r);
    begin = clock_ns();
    while (n < MAX_RUNS && (n < MIN_RUNS || (double)(clock_ns() - begin) < seconds * 1e9)) {
        uint64_t t0 = clock_ns();
        run(r);
        ns[n++] = clock_ns() - t0;
    }
    return timing_summary(ns, n);
}

static void bench(const char *name, const char *kind, const struct net *net, enum net_type type)
{
    static struct runnable r;
    char whole[64];
    snprintf(whole, sizeof whole, "%s b%u %s", name, net->batch, net_type_names[type]);
    if (!strstr(whole, only))
        return;
    uint64_t finalize = runnable_open(&r, net, type);
    struct timing t = time_runs(&r);
    runnable_close(&r);
    double gflops = 2e-6 * net_macs(net) / to_ms(t.best), share = gflops / gpu.gflops;
    printf("%-24s %-4s %5u %10.3f %10.3f %10.1f %7.1f %10.1f\n", name, net_type_names[type], net->batch, to_ms(t.best),
           to_ms(t.median), gflops, 100 * share, to_ms(finalize));
    lines_add("{\"kind\":\"%s\",\"peer\":\"openqnn\",\"lib\":\"gpu\",\"device\":\"%s\",\"name\":\"%s\",\"type\":\"%s\","
              "\"batch\":%u,\"best_ms\":%.4f,\"median_ms\":%.4f,"
              "\"runs\":%llu,\"gflops\":%.2f,\"share\":%.4f,\"finalize_ms\":%.1f}",
              kind, gpu.name, name, net_type_names[type], net->batch, to_ms(t.best), to_ms(t.median),
              (unsigned long long)t.runs, gflops, share, to_ms(finalize));
}

static void bench_layer(const struct layer_case *c, uint32_t batch, enum net_type type)
{
    static struct net net;
    net = (struct net){ .batch = batch };
    if (c->size) {
        uint32_t x = net_input(&net, 4, (uint32_t[]){ batch, c->size, c->size, c->in }, true);
        net_conv(&net, x,
                 (struct conv){
                     .out = c->out, .kernel = c->kernel, .stride = c->stride, .depthwise = c->depthwise, .act = RELU });
    } else {
        net.batch = c->batch;
        uint32_t x = net_input(&net, 2, (uint32_t[]){ c->batch, c->in }, false);
        net_dense(&net, x, c->out, LINEAR);
    }
    bench(c->name, "gpu_layer", &net, type);
}

static void bench_network(const char *name, uint32_t batch, enum net_type type)
{
    static struct net net;
    for (int i = 0; net_list[i].name; i++)
        if (!strcmp(net_list[i].name, name)) {
            net_make(&net, net_list[i].build, batch);
            bench(name, "gpu_model", &net, type);
        }
}

static void bench_all(void)
{
    static const char *const networks[] = { "resnet50", "mobilenet_v2", "transformer_128" };
    static const enum net_type types[] = { NET_F32, NET_F16 };
    printf("%-24s %-4s %5s %10s %10s %10s %7s %10s\n", "", "type", "batch", "best ms", "median ms", "GFLOP/s", "share %",
           "finalize");
    for (int t = 0; t < 2; t++)
        for (size_t i = 0; i < sizeof layers / sizeof layers[0]; i++) {
            bench_layer(&layers[i], 1, types[t]);
            if (layers[i].size && !gpu.cpu)
                bench_layer(&layers[i], 32, types[t]);
        }
    for (int t = 0; t < 2; t++)
        for (size_t i = 0; i < sizeof networks / sizeof networks[0]; i++)
            for (uint32_t batch = 1; batch <= (gpu.cpu ? 4 : 32); batch += gpu.cpu ? 3 : 31)
                bench_network(networks[i], batch, types[t]);
}

int main(int argc, char **argv)
{
    if (argc < 3 || argc % 2 == 0) {
        fprintf(stderr, "usage: bench_gpu LIB_DIR JSONL_FILE [--only PART_OF_NAME] [--seconds PER_ROW]\n");
        return 2;
    }
    for (int i = 3; i < argc; i += 2) {
        only = strcmp(argv[i], "--only") ? only : argv[i + 1];
        seconds = strcmp(argv[i], "--seconds") ? seconds : atof(argv[i + 1]);
    }
    lines_open(argv[2], "w");
    if (gpu_bench_open(&gpu)) {
        gpu_bench_limits(&gpu);
        printf("%s, driver %s: %.1f GFLOP/s of float32 multiply-adds, %.1f GB/s copied (read and written)\n\n", gpu.name,
               gpu.driver, gpu.gflops, gpu.copy_gbs);
        lines_add("{\"kind\":\"gpu_limits\",\"device\":\"%s\",\"driver\":\"%s\",\"gflops\":%.1f,\"copy_gbs\":%.2f}",
                  gpu.name, gpu.driver, gpu.gflops, gpu.copy_gbs);
        client_open(argv[1], "libQnnGpu.so");
        bench_all();
        gpu_bench_close(&gpu);
    }
    lines_close();
    return 0;
}
