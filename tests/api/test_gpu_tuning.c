/* SPDX-License-Identifier: Apache-2.0 */
/* Tuning mode of libQnnGpu.so: kernels are tried once per device, what was found is kept in a folder and used again, and
 * results stay what they are. */
#include <QNN/GPU/QnnGpuBackend.h>
#include <dirent.h>
#include <string.h>
#include <unistd.h>

#include "gpu_shim_kit.h"

static char folder[64];
static int told; /* lines about progress */

static void listen(const char *fmt, QnnLog_Level_t level, uint64_t timestamp, va_list args)
{
    char text[1024];
    (void)level, (void)timestamp;
    vsnprintf(text, sizeof text, fmt, args);
    told += strstr(text, "GPU tuning: graph \"net\"") != NULL;
}

static int setup(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/gpu_tuning_XXXXXX");
    shim->reset();
    return !mkdtemp(folder);
}

/* The one file of the folder; its path. */
static const char *file(void)
{
    static char path[400];
    path[0] = 0;
    DIR *d = opendir(folder);
    for (struct dirent *e; d && (e = readdir(d));)
        if (e->d_name[0] != '.') {
            assert_true(path[0] == 0);
            snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        }
    if (d)
        closedir(d);
    return path;
}

static int teardown(void **state)
{
    (void)state;
    unlink(file());
    return rmdir(folder);
}

struct wish {
    bool tune, keep, fresh;
    int contexts;
};

/* The number of kernels that were started while networks were made ready. */
static uint32_t tried(struct wish w)
{
    const QnnGpuBackend_CustomConfig_t options[] = {
        { .option = QNN_GPU_BACKEND_CONFIG_OPTION_ENABLE_TUNING_MODE, .enableTuningMode = w.tune },
        { .option = QNN_GPU_BACKEND_CONFIG_OPTION_INVALIDATE_PERFORMANCE_CACHE, .invalidatePerformanceCache = w.fresh },
        { .option = QNN_GPU_BACKEND_CONFIG_OPTION_PERFORMANCE_CACHE_DIR, .performanceCacheDir = folder },
    };
    QnnBackend_Config_t configs[3];
    const QnnBackend_Config_t *list[4] = { NULL };
    for (int i = 0; i < (w.keep ? 3 : 2); i++) {
        configs[i] = (QnnBackend_Config_t){ .option = QNN_BACKEND_CONFIG_OPTION_CUSTOM,
                                            .customConfig = (QnnBackend_CustomConfig_t)(uintptr_t)&options[i] };
        list[i] = &configs[i];
    }
    Qnn_LogHandle_t log;
    Qnn_BackendHandle_t b;
    uint32_t n = 0;
    float y[CONV_OUT], want[CONV_OUT];
    conv_expected(want);
    OK(q.logCreate(listen, QNN_LOG_LEVEL_INFO, &log));
    OK(q.backendCreate(log, list, &b));
    for (int i = 0; i < w.contexts; i++) {
        Qnn_ContextHandle_t c;
        struct net net;
        OK(q.contextCreate(b, NULL, NULL, &c));
        OK(net_conv(c, "net", &net));
        uint32_t before = shim->count("clEnqueueNDRangeKernel");
        OK(q.graphFinalize(net.graph, NULL, NULL));
        n += shim->count("clEnqueueNDRangeKernel") - before;
        OK(net_run(&net, conv_in, y, CONV_IN, CONV_OUT));
        floats_are(y, want, CONV_OUT, 1e-5f);
        OK(q.contextFree(c, NULL));
    }
    OK(q.backendFree(b));
    OK(q.logFree(log));
    return n;
}

static void test_kept(void **state)
{
    (void)state;
    assert_int_equal(tried((struct wish){ .keep = true, .contexts = 1 }), 0); /* no tuning */
    assert_string_equal(file(), "");
    told = 0;
    assert_true(tried((struct wish){ .tune = true, .keep = true, .contexts = 1 }) > 10);
    assert_true(told > 0);
    assert_non_null(strstr(file(), "gpuperformancecache."));
    assert_int_equal(tried((struct wish){ .tune = true, .keep = true, .contexts = 2 }), 0);
    assert_int_equal(tried((struct wish){ .keep = true, .contexts = 1 }), 0);
    shim->driver("another driver");
    assert_true(tried((struct wish){ .tune = true, .keep = true, .contexts = 1 }) > 0);
    shim->driver(NULL);
    assert_int_equal(tried((struct wish){ .tune = true, .keep = true, .contexts = 1 }), 0);
}

static void test_invalidated(void **state)
{
    (void)state;
    uint32_t once = tried((struct wish){ .tune = true, .keep = true, .contexts = 1 });
    assert_true(once > 0);
    /* Once per backend, not once per context. */
    assert_int_equal(tried((struct wish){ .tune = true, .keep = true, .fresh = true, .contexts = 3 }), once);
}

static void test_not_kept(void **state)
{
    (void)state;
    uint32_t once = tried((struct wish){ .tune = true, .contexts = 1 });
    assert_int_equal(tried((struct wish){ .tune = true, .contexts = 1 }), once);
    assert_string_equal(file(), "");
}

static void test_damaged(void **state)
{
    (void)state;
    assert_true(tried((struct wish){ .tune = true, .keep = true, .contexts = 1 }) > 0);
    assert_int_equal(truncate(file(), 50), 0);
    assert_true(tried((struct wish){ .tune = true, .keep = true, .contexts = 1 }) > 0);
    assert_int_equal(tried((struct wish){ .tune = true, .keep = true, .contexts = 1 }), 0);
}

enum { FRAMES = 5 };

/* What a Buffer of three frames gives for five frames one after the other. */
static void stream(bool tune, float y[FRAMES][6])
{
    const QnnGpuBackend_CustomConfig_t o = { .option = QNN_GPU_BACKEND_CONFIG_OPTION_ENABLE_TUNING_MODE,
                                             .enableTuningMode = tune };
    QnnBackend_Config_t config = { .option = QNN_BACKEND_CONFIG_OPTION_CUSTOM,
                                   .customConfig = (QnnBackend_CustomConfig_t)(uintptr_t)&o };
    Qnn_BackendHandle_t b;
    Qnn_ContextHandle_t c;
    Qnn_GraphHandle_t g;
    OK(q.backendCreate(NULL, (const QnnBackend_Config_t *[]){ &config, NULL }, &b));
    OK(q.contextCreate(b, NULL, NULL, &c));
    OK(q.graphCreate(c, "stream", NULL, &g));
    Qnn_Tensor_t in = TENSOR("x", APP_WRITE, FLOAT_32, 1, 1, 2), out = TENSOR("y", APP_READ, FLOAT_32, 1, 3, 2);
    OK(q.tensorCreateGraphTensor(g, &in));
    OK(q.tensorCreateGraphTensor(g, &out));
    struct op buffer = { .name = "buffer", .type = "Buffer", .np = 3, .ni = 1, .no = 1, .in = { in }, .out = { out } };
    buffer.p[0] = param_u32("buffer_size", 3);
    buffer.p[1] = param_u32("buffer_dim", 1);
    buffer.p[2] = param_u32("mode", 1);
    OK(op_add(g, &buffer));
    OK(q.graphFinalize(g, NULL, NULL));
    for (int i = 0; i < FRAMES; i++) {
        float x[2] = { (float)i + 1, (float)i + 10 };
        Qnn_Tensor_t tx = WITH(in, x), ty = tensor_data(out, y[i], sizeof y[i]);
        OK(q.graphExecute(g, &tx, 1, &ty, 1, NULL, NULL));
    }
    OK(q.backendFree(b));
}

/* Trying kernels leaves no trace in what nodes keep. */
static void test_states(void **state)
{
    (void)state;
    float plain[FRAMES][6], tuned[FRAMES][6];
    stream(false, plain);
    stream(true, tuned);
    assert_memory_equal(plain, tuned, sizeof plain);
}

/* Ways that the device refuses are left out; all of them: the graph's own error. */
static void test_refused_ways(void **state)
{
    (void)state;
    shim->refuse("clEnqueueNDRangeKernel", 2, -54 /* CL_INVALID_WORK_GROUP_SIZE */, false);
    assert_true(tried((struct wish){ .tune = true, .contexts = 1 }) > 0);
    assert_true(shim->failed());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_kept, setup, teardown),
        cmocka_unit_test_setup_teardown(test_invalidated, setup, teardown),
        cmocka_unit_test_setup_teardown(test_not_kept, setup, teardown),
        cmocka_unit_test_setup_teardown(test_damaged, setup, teardown),
        cmocka_unit_test_setup_teardown(test_states, setup, teardown),
        cmocka_unit_test_setup_teardown(test_refused_ways, setup, teardown),
    };
    shim_open();
    return cmocka_run_group_tests(tests, NULL, shim_nothing_left);
}
