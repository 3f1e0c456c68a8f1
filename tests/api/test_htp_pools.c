/* SPDX-License-Identifier: Apache-2.0 */
/* Pools and reductions whose windows are larger than fast memory: accepted on devices of 8 and of 2 MiB of it, with the bits
 * of libQnnCpu.so. */
#include "api_test.h"

#include <stdlib.h>
#include <string.h>

#include <QNN/HTP/QnnHtpDevice.h>
#include <QNN/HTP/QnnHtpGraph.h>

enum { TYPES = 5, SM8550 = 43, SM8850 = 87, QCM6490 = 35, MIB = 1 << 20 };

static const struct {
    Qnn_DataType_t type;
    uint32_t bytes;
} types[TYPES] = {
    { QNN_DATATYPE_UFIXED_POINT_8, 1 }, { QNN_DATATYPE_SFIXED_POINT_8, 1 }, { QNN_DATATYPE_UFIXED_POINT_16, 2 },
    { QNN_DATATYPE_FLOAT_16, 2 },       { QNN_DATATYPE_FLOAT_32, 4 },
};

struct pool {
    const char *op;
    uint32_t in[4], window[2], stride[2], pad[4], out[4];
    bool count_pad, rescale;
    unsigned types; /* bit per type */
};

enum { U8 = 1, S8 = 2, U16 = 4, F16 = 8, F32 = 16, ALL = 31 };

#define MAX QNN_OP_POOL_MAX_2D
#define AVG QNN_OP_POOL_AVG_2D
#define L2 QNN_OP_L2_POOL_2D

static const struct pool pools[] = {
    /* Everything at once. */
    { MAX, { 1, 384, 576, 64 }, { 384, 576 }, { 1, 1 }, { 0 }, { 1, 1, 1, 64 }, .types = U8 | U16 | F16 },
    { AVG, { 1, 384, 576, 64 }, { 384, 576 }, { 1, 1 }, { 0 }, { 1, 1, 1, 64 }, .types = S8 | U16 | F16, .rescale = true },
    { MAX, { 1, 1024, 1024, 8 }, { 1024, 1024 }, { 1, 1 }, { 0 }, { 1, 1, 1, 8 }, .types = U8 | F16, .rescale = true },
    { AVG, { 1, 1024, 1024, 8 }, { 1024, 1024 }, { 1024, 1024 }, { 0 }, { 1, 1, 1, 8 }, .types = U8 | U16 | F32 },
    { L2, { 1, 600, 700, 5 }, { 600, 700 }, { 1, 1 }, { 0 }, { 1, 1, 1, 5 }, .types = U8 | U16 | F32 },
    { MAX, { 3, 290, 310, 33 }, { 290, 310 }, { 1, 1 }, { 0 }, { 3, 1, 1, 33 }, .types = S8 | F16 },

    /* One line, and one column, longer than fast memory is for 8 lines of them. */
    { MAX, { 1, 2, 150000, 32 }, { 2, 150000 }, { 1, 1 }, { 0 }, { 1, 1, 1, 32 }, .types = U8 },
    { AVG, { 1, 150000, 2, 32 }, { 150000, 2 }, { 1, 1 }, { 0 }, { 1, 1, 1, 32 }, .types = U8 },

    /* Several results, with overlaps, gaps and padding. */
    { MAX, { 1, 400, 410, 32 }, { 300, 300 }, { 50, 60 }, { 0 }, { 1, 3, 2, 32 }, .types = ALL },
    { AVG, { 1, 400, 410, 32 }, { 300, 300 }, { 50, 60 }, { 0 }, { 1, 3, 2, 32 }, .types = U8 | U16 | F16 },
    { AVG, { 1, 310, 320, 3 }, { 300, 300 }, { 9, 7 }, { 20, 30, 10, 50 }, { 1, 7, 12, 3 }, .types = U8 | S8 | F32 },
    { AVG, { 1, 310, 320, 3 }, { 300, 300 }, { 9, 7 }, { 20, 30, 10, 50 }, { 1, 7, 12, 3 }, true, .types = U8 | U16 | F32 },
    { MAX, { 1, 310, 320, 3 }, { 300, 300 }, { 9, 7 }, { 20, 30, 10, 50 }, { 1, 7, 12, 3 }, .types = U8 | U16 | F16 },
    { MAX, { 1, 1210, 1210, 4 }, { 300, 300 }, { 303, 303 }, { 0 }, { 1, 4, 4, 4 }, .types = U8 | F32 },
    { AVG, { 1, 901, 902, 8 }, { 301, 3 }, { 300, 3 }, { 0 }, { 1, 3, 300, 8 }, .types = U8 },

    /* Reductions see everything, too. */
    { QNN_OP_REDUCE_MAX, { 1, 384, 576, 64 }, .out = { 1, 1, 1, 64 }, .types = U8 | F16 },
    { QNN_OP_REDUCE_MEAN, { 1, 384, 576, 64 }, .out = { 1, 1, 1, 64 }, .types = U8 | F16 },
    { QNN_OP_REDUCE_MEAN, { 1, 1024, 1024, 8 }, .out = { 1, 1, 1, 8 }, .types = U8 | U16, .rescale = true },
    { QNN_OP_REDUCE_SUM, { 1, 1024, 1024, 8 }, .out = { 1, 1, 1, 8 }, .types = F32 },
};

static uint64_t count_of(const uint32_t dims[4])
{
    return (uint64_t)dims[0] * dims[1] * dims[2] * dims[3];
}

/* ---- one pool on one library ------------------------------------------------------------------------------------------ */

struct tensors {
    Qnn_Tensor_t x, y;
};

static Qnn_Tensor_t tensor_of(const char *name, Qnn_TensorType_t kind, unsigned type, const uint32_t dims[4], float scale)
{
    Qnn_Tensor_t t = tensor_make(QNN_TENSOR_VERSION_1, name, kind, types[type].type, 4, dims);
    const bool fixed = types[type].type != QNN_DATATYPE_FLOAT_16 && types[type].type != QNN_DATATYPE_FLOAT_32;

    if (!fixed)
        return t;

    const int32_t offset = types[type].type == QNN_DATATYPE_UFIXED_POINT_8    ? -128
                           : types[type].type == QNN_DATATYPE_UFIXED_POINT_16 ? -32768
                                                                              : 0;
    return tensor_quant(t, scale, offset);
}

static struct op op_of(Qnn_GraphHandle_t g, const struct pool *p, struct tensors *t)
{
    static const uint32_t two[] = { 2 };
    static const uint32_t edges[] = { 2, 2 };
    static const uint32_t sides[] = { 1, 2 };
    struct op o = { .name = "pool", .type = p->op, .ni = 1, .no = 1 };
    const bool reduction = p->window[0] == 0;

    o.in[0] = t->x;
    o.out[0] = t->y;
    if (reduction) {
        o.p[o.np++] = param_u32s(g, QNN_OP_REDUCE_MAX_PARAM_AXES, 1, two, sides);
        o.p[o.np++] = param_bool(QNN_OP_REDUCE_MAX_PARAM_KEEP_DIMS, true);
        return o;
    }

    o.p[o.np++] = param_u32s(g, QNN_OP_POOL_MAX_2D_PARAM_FILTER_SIZE, 1, two, p->window);
    o.p[o.np++] = param_u32s(g, QNN_OP_POOL_MAX_2D_PARAM_STRIDE, 1, two, p->stride);
    o.p[o.np++] = param_u32s(g, QNN_OP_POOL_MAX_2D_PARAM_PAD_AMOUNT, 2, edges, p->pad);
    if (p->count_pad)
        o.p[o.np++] = param_bool(QNN_OP_POOL_AVG_2D_PARAM_COUNT_PAD_FOR_EDGES, true);
    return o;
}

static Qnn_GraphHandle_t graph_of(Qnn_ContextHandle_t context, uint32_t vtcm_bytes)
{
    QnnHtpGraph_CustomConfig_t size = { .option = QNN_HTP_GRAPH_CONFIG_OPTION_VTCM_SIZE_IN_MB,
                                        .vtcmSizeInMB = vtcm_bytes / MIB };

    if (vtcm_bytes % MIB) {
        size.option = QNN_HTP_GRAPH_CONFIG_OPTION_VTCM_SIZE_IN_BYTES;
        size.vtcmSizeInBytes = vtcm_bytes;
    }

    QnnGraph_Config_t custom = { .option = QNN_GRAPH_CONFIG_OPTION_CUSTOM, .customConfig = &size };
    const QnnGraph_Config_t *configs[] = { lib_is_htp() ? &custom : NULL, NULL };
    Qnn_GraphHandle_t g;

    OK(q.graphCreate(context, "pools", configs, &g));
    return g;
}

static void run(Qnn_ContextHandle_t context, uint32_t vtcm_bytes, const struct pool *p, unsigned type, void *x, void *y)
{
    const bool fixed = type < 3;
    const float scale = type == 2 ? 1.0f / 32768 : 1.0f / 128;
    struct tensors t = { tensor_of("x", QNN_TENSOR_TYPE_APP_WRITE, type, p->in, scale),
                         tensor_of("y", QNN_TENSOR_TYPE_APP_READ, type, p->out, p->rescale && fixed ? scale / 3 : scale) };
    const Qnn_GraphHandle_t g = graph_of(context, vtcm_bytes);

    OK(q.tensorCreateGraphTensor(g, &t.x));
    OK(q.tensorCreateGraphTensor(g, &t.y));
    struct op o = op_of(g, p, &t);
    OK(op_add(g, &o));
    OK(q.graphFinalize(g, NULL, NULL));

    t.x = tensor_data(t.x, x, (uint32_t)(count_of(p->in) * types[type].bytes));
    t.y = tensor_data(t.y, y, (uint32_t)(count_of(p->out) * types[type].bytes));
    OK(q.graphExecute(g, &t.x, 1, &t.y, 1, NULL, NULL));
}

/* ---- libraries -------------------------------------------------------------------------------------------------------- */

/* Values with both signs, without order; floats are small, none of them NaN or infinite. */
static void fill(void *to, uint64_t n, unsigned type)
{
    uint64_t seed = 88172645463325252u;

    for (uint64_t i = 0; i < n; i++) {
        seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
        if (types[type].bytes == 1)
            ((uint8_t *)to)[i] = (uint8_t)(seed >> 11);
        else if (types[type].type == QNN_DATATYPE_FLOAT_16)
            ((uint16_t *)to)[i] = (uint16_t)((seed >> 11 & 0x83ff) | 0x3000);
        else if (types[type].bytes == 2)
            ((uint16_t *)to)[i] = (uint16_t)(seed >> 11);
        else
            ((float *)to)[i] = (float)(int32_t)(seed >> 20) * 0x1p-31f;
    }
}

struct done {
    const struct pool *pool;
    unsigned type;
    void *want;
};
static struct done list[COUNT(pools) * TYPES];
static unsigned n_done;

static void *input_of(const struct pool *p, unsigned type)
{
    void *x = malloc(count_of(p->in) * types[type].bytes);
    assert_non_null(x);
    fill(x, count_of(p->in), type);
    return x;
}

/* What libQnnCpu.so says. */
static void make_answers(void)
{
    const char *name = getenv("OPENQNN_TEST_LIB");
    char *kept = strdup(name ? name : "libQnnHtp.so");

    setenv("OPENQNN_TEST_LIB", "libQnnCpu.so", 1);
    lib_open();
    for (unsigned i = 0; i < COUNT(pools); i++)
        for (unsigned type = 0; type < TYPES; type++) {
            const struct pool *p = &pools[i];
            if (!(p->types >> type & 1))
                continue;

            void *x = input_of(p, type);
            struct done *d = &list[n_done++];
            *d = (struct done){ p, type, malloc(count_of(p->out) * types[type].bytes) };
            env_setup(NULL);
            run(env.context, 0, p, type, x, d->want);
            env_teardown(NULL);
            free(x);
        }
    lib_close();
    setenv("OPENQNN_TEST_LIB", kept, 1);
    free(kept);
}

static Qnn_DeviceHandle_t device_of(uint32_t soc)
{
    QnnHtpDevice_CustomConfig_t model = { .option = QNN_HTP_DEVICE_CONFIG_OPTION_SOC, .socModel = soc };
    QnnDevice_Config_t config = { .option = QNN_DEVICE_CONFIG_OPTION_CUSTOM, .customConfig = &model };
    const QnnDevice_Config_t *configs[] = { &config, NULL };
    Qnn_DeviceHandle_t ret;

    OK(q.deviceCreate(NULL, configs, &ret));
    return ret;
}

static void compare_on(uint32_t soc, uint32_t vtcm_bytes)
{
    Qnn_DeviceHandle_t device = device_of(soc);

    for (unsigned i = 0; i < n_done; i++) {
        const struct done *d = &list[i];
        const size_t bytes = count_of(d->pool->out) * types[d->type].bytes;
        Qnn_ContextHandle_t context;
        void *x = input_of(d->pool, d->type);
        void *y = calloc(1, bytes);

        if (soc == QCM6490 && types[d->type].type == QNN_DATATYPE_FLOAT_16) {
            free(x), free(y); /* v68 has no float16 */
            continue;
        }
        OK(q.contextCreate(env.backend, device, NULL, &context));
        run(context, vtcm_bytes, d->pool, d->type, x, y);
        OK(q.contextFree(context, NULL));
        if (memcmp(y, d->want, bytes) != 0)
            fail_msg("%s, case %u: other bits than libQnnCpu.so", d->pool->op, i);
        free(x), free(y);
    }
    OK(q.deviceFree(device));
}

static void test_8_mib(void **state)
{
    (void)state;
    compare_on(SM8550, 8 * MIB);
}

static void test_2_mib(void **state)
{
    (void)state;
    compare_on(QCM6490, 2 * MIB);
}

static void test_a_quarter_mib(void **state)
{
    (void)state;
    compare_on(SM8850, MIB / 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_8_mib, env_setup, env_teardown),
        cmocka_unit_test_setup_teardown(test_2_mib, env_setup, env_teardown),
        cmocka_unit_test_setup_teardown(test_a_quarter_mib, env_setup, env_teardown),
    };

    make_answers();
    lib_open();
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    lib_close();
    for (unsigned i = 0; i < n_done; i++)
        free(list[i].want);
    return failed;
}
