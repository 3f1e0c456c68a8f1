/* SPDX-License-Identifier: Apache-2.0 */
/* The products of the benchmarks' networks in oneDNN 2, each alone, in the layouts that it chooses itself.
 *
 *     OMP_NUM_THREADS=N peer_dnnl JSONL_FILE
 *
 * The sum of the best times of a network's products is what oneDNN would need without anything between them. Matrix products
 * of their own follow. */
#include <dnnl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench_lines.h"
#include "net.h"

static dnnl_engine_t engine;
static dnnl_stream_t stream;

static void check(dnnl_status_t st, const char *call)
{
    if (st == dnnl_success)
        return;
    fprintf(stderr, "peer_dnnl: %s: status %d\n", call, (int)st);
    exit(1);
}
#define CHECK(call) check((call), #call)

/* ---- one product ------------------------------------------------------------------------------------------------------ */

enum { ARGS = 4 };
static const int arg_names[ARGS] = { DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_BIAS, DNNL_ARG_DST };
static const dnnl_query_t arg_queries[ARGS] = { dnnl_query_src_md, dnnl_query_weights_md, dnnl_query_weights_md,
                                                dnnl_query_dst_md };
static const int arg_index[ARGS] = { 0, 0, 1, 0 };

struct product {
    dnnl_memory_desc_t md[ARGS];
    dnnl_primitive_t primitive;
    dnnl_exec_arg_t args[ARGS];
};

static void describe(struct product *p, int which, int rank, const dnnl_dims_t dims, dnnl_data_type_t type)
{
    dnnl_format_tag_t tag = which == 2 && rank == 1 ? dnnl_a : dnnl_format_tag_any;
    CHECK(dnnl_memory_desc_init_by_tag(&p->md[which], rank, dims, type, tag));
}

/* Scales per channel where it is fixed point, and the clamp behind it. */
static dnnl_primitive_attr_t attributes(bool quantized, uint32_t channels, int axis, bool relu)
{
    dnnl_primitive_attr_t a;
    dnnl_post_ops_t after;
    float *scales = malloc(channels * sizeof *scales);
    for (uint32_t i = 0; scales && i < channels; i++)
        scales[i] = 0.001f;
    CHECK(dnnl_primitive_attr_create(&a));
    if (quantized)
        CHECK(dnnl_primitive_attr_set_output_scales(a, channels, 1 << axis, scales));
    CHECK(dnnl_post_ops_create(&after));
    if (relu)
        CHECK(dnnl_post_ops_append_eltwise(after, 1.0f, dnnl_eltwise_relu, 0, 0));
    CHECK(dnnl_primitive_attr_set_post_ops(a, after));
    CHECK(dnnl_post_ops_destroy(after));
    free(scales);
    return a;
}

static void finish(struct product *p, const_dnnl_op_desc_t op, dnnl_primitive_attr_t attr)
{
    dnnl_primitive_desc_t pd;
    CHECK(dnnl_primitive_desc_create(&pd, op, attr, engine, NULL));
    for (int i = 0; i < ARGS; i++) {
        const dnnl_memory_desc_t *md = dnnl_primitive_desc_query_md(pd, arg_queries[i], arg_index[i]);
        void *data;
        p->args[i].arg = arg_names[i];
        CHECK(dnnl_memory_create(&p->args[i].memory, md, engine, DNNL_MEMORY_ALLOCATE));
        CHECK(dnnl_memory_get_data_handle(p->args[i].memory, &data));
        if (data)
            memset(data, 0, dnnl_memory_desc_get_size(md));
    }
    CHECK(dnnl_primitive_create(&p->primitive, pd));
    CHECK(dnnl_primitive_desc_destroy(pd));
    CHECK(dnnl_primitive_attr_destroy(attr));
}

static void conv(struct product *p, const struct net *n, const struct layer *l, bool quantized)
{
    const uint32_t *in = n->layers[l->in[0]].dims, g = l->group;
    dnnl_dims_t src = { in[0], in[3], in[1], in[2] }, dst = { l->dims[0], l->dims[3], l->dims[1], l->dims[2] },
                bias = { l->dims[3] };
    dnnl_dims_t one = { l->dims[3], in[3], l->kernel[0], l->kernel[1] };
    dnnl_dims_t grouped = { g, l->dims[3] / g, in[3] / g, l->kernel[0], l->kernel[1] };
    dnnl_dims_t stride = { l->stride[0], l->stride[1] }, none = { 0, 0 };
    dnnl_dims_t before = { l->pad[0][0], l->pad[1][0] }, after = { l->pad[0][1], l->pad[1][1] };
    dnnl_convolution_desc_t d;
    describe(p, 0, 4, src, quantized ? dnnl_u8 : dnnl_f32);
    describe(p, 1, g > 1 ? 5 : 4, g > 1 ? grouped : one, quantized ? dnnl_s8 : dnnl_f32);
    describe(p, 2, 1, bias, quantized ? dnnl_s32 : dnnl_f32);
    describe(p, 3, 4, dst, quantized ? dnnl_u8 : dnnl_f32);
    CHECK(dnnl_dilated_convolution_forward_desc_init(&d, dnnl_forward_inference, dnnl_convolution_direct, &p->md[0],
                                                     &p->md[1], &p->md[2], &p->md[3], stride, none, before, after));
    finish(p, &d, attributes(quantized, l->dims[3], 1, l->act != LINEAR));
}

/* batch x rows x inner by inner x columns */
static void matrix(struct product *p, const dnnl_dim_t size[4], bool quantized, bool relu)
{
    dnnl_dims_t src = { size[0], size[1], size[2] }, w = { size[0], size[2], size[3] }, b = { 1, 1, size[3] };
    dnnl_dims_t dst = { size[0], size[1], size[3] };
    dnnl_matmul_desc_t d;
    describe(p, 0, 3, src, quantized ? dnnl_u8 : dnnl_f32);
    describe(p, 1, 3, w, quantized ? dnnl_s8 : dnnl_f32);
    CHECK(dnnl_memory_desc_init_by_tag(&p->md[2], 3, b, quantized ? dnnl_s32 : dnnl_f32, dnnl_abc));
    describe(p, 3, 3, dst, quantized ? dnnl_u8 : dnnl_f32);
    CHECK(dnnl_matmul_desc_init(&d, &p->md[0], &p->md[1], &p->md[2], &p->md[3]));
    finish(p, &d, attributes(quantized, (uint32_t)size[3], 2, relu));
}

static void run(void *arg)
{
    struct product *p = arg;
    CHECK(dnnl_primitive_execute(p->primitive, stream, ARGS, p->args));
    CHECK(dnnl_stream_wait(stream));
}

static double best_ms(struct product *p, double seconds, unsigned threads)
{
    struct timing t = timing_of(run, p, seconds);
    for (int i = 0; i < ARGS; i++)
        CHECK(dnnl_memory_destroy(p->args[i].memory));
    CHECK(dnnl_primitive_destroy(p->primitive));
    return to_ms(threads == 1 ? t.own : t.best);
}

/* ---- networks --------------------------------------------------------------------------------------------------------- */

static bool make(struct product *p, const struct net *n, const struct layer *l, bool quantized)
{
    const struct layer *x = &n->layers[l->in[0]];
    if (l->kind == LAYER_CONV)
        conv(p, n, l, quantized);
    else if (l->kind == LAYER_DENSE)
        matrix(p, (dnnl_dim_t[]){ 1, l->dims[0], net_fan_in(n, l), l->dims[1] }, quantized, l->act != LINEAR);
    else if (l->kind == LAYER_MATMUL)
        matrix(p, (dnnl_dim_t[]){ x->dims[0] * x->dims[1], x->dims[2], x->dims[3], l->dims[3] }, quantized, false);
    else
        return false;
    return true;
}

static void bench_net(const struct net_entry *e, bool quantized, unsigned threads)
{
    static struct net n;
    double sum = 0;
    net_make(&n, e->build, 1);
    for (uint32_t i = 0; i < n.n; i++) {
        struct product p;
        if (n.layers[i].kind == LAYER_LSTM)
            return;
        if (make(&p, &n, &n.layers[i], quantized))
            sum += best_ms(&p, 0.02, threads);
    }
    const char *type = quantized ? "int8" : "f32";
    printf("%-16s %-6s %2u %9.3f\n", e->name, type, threads, sum);
    lines_add("{\"kind\":\"model\",\"peer\":\"onednn-%d.%d-products\",\"name\":\"%s\",\"type\":\"%s\",\"threads\":%u,"
              "\"batch\":1,\"best_ms\":%.4f,\"own_ms\":%.4f}",
              DNNL_VERSION_MAJOR, DNNL_VERSION_MINOR, e->name, type, threads, sum, sum);
}

static void bench_gemm(int n, bool quantized, unsigned threads)
{
    struct product p;
    const char *type = quantized ? "int8" : "f32";
    matrix(&p, (dnnl_dim_t[]){ 1, n, n, n }, quantized, false);
    double gops = 2e-6 * n * n * n / best_ms(&p, 0.1, threads);
    printf("gemm %-11d %-6s %2u %9.1f GOPS\n", n, type, threads, gops);
    lines_add(
        "{\"kind\":\"peer_kernel\",\"peer\":\"onednn\",\"name\":\"gemm %d\",\"type\":\"%s\",\"threads\":%u,\"gops\":%.2f}",
        n, type, threads, gops);
}

int main(int argc, char **argv)
{
    const char *text = getenv("OMP_NUM_THREADS");
    unsigned threads = text ? (unsigned)atoi(text) : 0;
    if (argc != 2 || !threads) {
        fprintf(stderr, "usage: OMP_NUM_THREADS=N peer_dnnl JSONL_FILE\n");
        return 2;
    }
    lines_open(argv[1], "w");
    CHECK(dnnl_engine_create(&engine, dnnl_cpu, 0));
    CHECK(dnnl_stream_create(&stream, engine, dnnl_stream_default_flags));
    printf("oneDNN %d.%d, products alone\n\n%-16s %-6s %2s %9s\n", DNNL_VERSION_MAJOR, DNNL_VERSION_MINOR, "network", "type",
           "th", "ms");
    for (int i = 0; net_list[i].name; i++)
        for (int quantized = 1; quantized >= 0; quantized--)
            bench_net(&net_list[i], quantized, threads);
    for (int n = 128; n <= 1024 && threads == 1; n *= 2)
        for (int quantized = 1; quantized >= 0; quantized--)
            bench_gemm(n, quantized, threads);
    lines_close();
    return 0;
}
