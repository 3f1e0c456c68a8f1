/* SPDX-License-Identifier: Apache-2.0 */
/* What libQnnGpu.so keeps for later: device binaries in context binaries and in the kernel repository, hints. Each is used
 * when it fits and ignored when it does not; results are the same with and without. */
#include <QNN/GPU/QnnGpuContext.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gpu_shim_kit.h"

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <CL/cl_ext.h>

static char folder[64];
static const char repository[] = "gpukernelcache.qti.aisw";

static int setup(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/gpu_cache_XXXXXX");
    shim->reset();
    return !mkdtemp(folder) || q.backendCreate(NULL, NULL, &env.backend) != QNN_SUCCESS;
}

static const char *in_folder(const char *name)
{
    static char path[320];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void empty_folder(void)
{
    DIR *d = opendir(folder);
    for (struct dirent *e; d && (e = readdir(d));)
        unlink(in_folder(e->d_name));
    if (d)
        closedir(d);
}

static int teardown(void **state)
{
    (void)state;
    empty_folder();
    rmdir(folder);
    return q.backendFree(env.backend) != QNN_SUCCESS;
}

/* ---- contexts --------------------------------------------------------------------------------------------------------- */

static Qnn_ErrorHandle_t context_with(const QnnGpuContext_CustomConfig_t *options, uint32_t n, Qnn_ContextHandle_t *ret)
{
    QnnContext_Config_t configs[4];
    const QnnContext_Config_t *list[5] = { NULL };
    for (uint32_t i = 0; i < n; i++) {
        configs[i] = (QnnContext_Config_t){ .option = QNN_CONTEXT_CONFIG_OPTION_CUSTOM,
                                            .customConfig = (QnnContext_CustomConfig_t)&options[i] };
        list[i] = &configs[i];
    }
    return q.contextCreate(env.backend, NULL, list, ret);
}

/* One program is enough to see what is kept. */
static void make_net(Qnn_ContextHandle_t c, struct net *n)
{
    OK(net_affine(c, "net", 2.0f, 0.5f, n));
    OK(q.graphFinalize(n->graph, NULL, NULL));
}

static void run_net(Qnn_ContextHandle_t c, const struct net *n)
{
    float x[AFFINE_N], y[AFFINE_N], want[AFFINE_N];
    struct net loaded = *n;
    if (!loaded.graph)
        OK(q.graphRetrieve(c, "net", &loaded.graph));
    for (int i = 0; i < AFFINE_N; i++)
        want[i] = (x[i] = (float)i - 3) * 2.0f + 0.5f;
    OK(net_run(&loaded, x, y, AFFINE_N, AFFINE_N));
    floats_are(y, want, AFFINE_N, 0);
}

/* A context's whole life with the repository; true: something was compiled from text. */
static bool compiles(bool fresh)
{
    const QnnGpuContext_CustomConfig_t options[] = {
        { .option = QNN_GPU_CONTEXT_CONFIG_OPTION_KERNEL_REPO_DIR, .kernelRepoDir = folder },
        { .option = QNN_GPU_CONTEXT_CONFIG_OPTION_INVALIDATE_KERNEL_REPO, .invalidateKernelRepo = fresh },
    };
    Qnn_ContextHandle_t c;
    struct net n;
    uint32_t before = shim->count("clCreateProgramWithSource");
    hush(true);
    OK(context_with(options, 2, &c));
    make_net(c, &n);
    run_net(c, &n);
    OK(q.contextFree(c, NULL));
    hush(false);
    return shim->count("clCreateProgramWithSource") > before;
}

static void change_file(const char *path, long at, int flip)
{
    FILE *f = fopen(path, "r+b");
    assert_non_null(f);
    fseek(f, at, SEEK_SET);
    int v = fgetc(f);
    fseek(f, at, SEEK_SET);
    fputc(v ^ flip, f);
    fclose(f);
}

/* ---- the repository --------------------------------------------------------------------------------------------------- */

static void test_repository(void **state)
{
    (void)state;
    struct stat s;
    assert_true(compiles(false));
    assert_int_equal(stat(in_folder(repository), &s), 0);
    assert_false(compiles(false));
    assert_true(compiles(true)); /* invalidated */
    assert_false(compiles(false));
    shim->driver("another driver"); /* its binaries join those of the first one */
    assert_true(compiles(false));
    assert_false(compiles(false));
    shim->driver(NULL);
    assert_false(compiles(false));
    /* Nothing but the one file is left behind. */
    DIR *d = opendir(folder);
    int files = 0;
    for (struct dirent *e; (e = readdir(d));)
        files += e->d_name[0] != '.';
    closedir(d);
    assert_int_equal(files, 1);
}

static void test_damaged_repository(void **state)
{
    (void)state;
    static const long places[] = { 0, 8, 12, 16, 60, 200 };
    struct stat s;
    assert_true(compiles(false));
    for (size_t i = 0; i < COUNT(places); i++) {
        change_file(in_folder(repository), places[i], 0x41);
        assert_true(compiles(false));
        assert_false(compiles(false)); /* it was written again */
    }
    static const off_t sizes[] = { 0, 39, 100 };
    for (size_t i = 0; i < COUNT(sizes); i++) {
        assert_int_equal(truncate(in_folder(repository), sizes[i]), 0);
        assert_true(compiles(false));
        assert_false(compiles(false));
    }
    /* A folder in its place: nothing can be kept, and nothing fails. */
    unlink(in_folder(repository));
    mkdir(in_folder(repository), 0700);
    assert_true(compiles(false));
    assert_int_equal(stat(in_folder(repository), &s), 0);
    rmdir(in_folder(repository));
}

static void test_refused_folder(void **state)
{
    (void)state;
    const QnnGpuContext_CustomConfig_t o = { .option = QNN_GPU_CONTEXT_CONFIG_OPTION_KERNEL_REPO_DIR,
                                             .kernelRepoDir = "/nonexistent/folder" };
    Qnn_ContextHandle_t c;
    hush(true);
    Qnn_ErrorHandle_t e = context_with(&o, 1, &c);
    hush(false);
    assert_int_not_equal(CODE(e), QNN_SUCCESS);
    assert_non_null(strstr(explain(e), "no folder"));
}

static void test_refused_bytes(void **state)
{
    (void)state;
    assert_true(compiles(false));
    shim->refuse("clCreateProgramWithBinary", 0, CL_INVALID_BINARY, true);
    assert_true(compiles(false));
    shim->reset();
    setenv("OPENQNN_GPU_BINARIES", "off", 1);
    assert_true(compiles(false));
    assert_int_equal(shim->count("clCreateProgramWithBinary"), 0);
    unsetenv("OPENQNN_GPU_BINARIES");
}

/* ---- context binaries ------------------------------------------------------------------------------------------------- */

static void *save(Qnn_ContextHandle_t c, uint64_t *size)
{
    uint64_t written = 0;
    OK(q.contextGetBinarySize(c, size));
    void *bytes = malloc(*size);
    OK(q.contextGetBinary(c, bytes, *size, &written));
    assert_int_equal(written, *size);
    return bytes;
}

/* The value of a top-level event; -1: there is none. */
static int64_t event_value(Qnn_ProfileHandle_t p, const char *name)
{
    uint32_t n;
    const struct event *e = profile_events(p, &n);
    for (uint32_t i = 0; i < n; i++)
        if (e[i].depth == 0 && strcmp(e[i].data.identifier, name) == 0)
            return (int64_t)e[i].data.value;
    return -1;
}

/* The profile of the call says the same. */
static bool loading_compiles(const void *bytes, uint64_t size, const struct net *n)
{
    Qnn_ContextHandle_t c;
    Qnn_ProfileHandle_t p;
    uint32_t before = shim->count("clCreateProgramWithSource");
    hush(true);
    OK(q.profileCreate(env.backend, QNN_PROFILE_LEVEL_BASIC, &p));
    OK(q.contextCreateFromBinary(env.backend, NULL, NULL, bytes, size, &c, p));
    assert_int_equal(event_value(p, "Programs compiled"), shim->count("clCreateProgramWithSource") - before);
    assert_int_equal(event_value(p, "Programs from device binaries"), shim->count("clCreateProgramWithSource") == before);
    assert_true(event_value(p, "Program build time") >= 0);
    OK(q.profileFree(p));
    run_net(c, n);
    OK(q.contextFree(c, NULL));
    hush(false);
    return shim->count("clCreateProgramWithSource") > before;
}

static void test_context_binary(void **state)
{
    (void)state;
    Qnn_ContextHandle_t c;
    struct net n;
    uint64_t size;
    OK(q.contextCreate(env.backend, NULL, NULL, &c));
    make_net(c, &n);
    setenv("OPENQNN_GPU_BINARIES", "off", 1);
    void *bytes = save(c, &size);
    assert_int_equal(shim->count("clGetProgramInfo"), 0);
    free(bytes);
    uint64_t small = size;
    unsetenv("OPENQNN_GPU_BINARIES");
    bytes = save(c, &size);
    assert_true(size > small);
    OK(q.contextFree(c, NULL));
    n.graph = NULL;
    assert_false(loading_compiles(bytes, size, &n));
    shim->driver("another driver");
    assert_true(loading_compiles(bytes, size, &n));
    shim->driver(NULL);
    shim->refuse("clCreateProgramWithBinary", 0, CL_INVALID_BINARY, true);
    assert_true(loading_compiles(bytes, size, &n));
    shim->reset();
    assert_false(loading_compiles(bytes, size, &n));
    free(bytes);
}

/* ---- hints ------------------------------------------------------------------------------------------------------------ */

static void expect_hints(uint64_t priority, uint64_t throttle)
{
    assert_int_equal(shim->queue_property(CL_QUEUE_PRIORITY_KHR), priority);
    assert_int_equal(shim->queue_property(CL_QUEUE_THROTTLE_KHR), throttle);
}

static void test_hints(void **state)
{
    (void)state;
    QnnGpuContext_CustomConfig_t hint = { .option = QNN_GPU_CONTEXT_CONFIG_OPTION_PERF_HINT,
                                          .perfHint = QNN_GPU_CONTEXT_PERF_HINT_LOW };
    Qnn_ContextHandle_t c, again;
    struct net n;
    uint64_t size;
    shim->extensions("cl_khr_priority_hints cl_khr_throttle_hints");
    OK(q.contextCreate(env.backend, NULL, NULL, &c));
    expect_hints(CL_QUEUE_PRIORITY_MED_KHR, CL_QUEUE_THROTTLE_HIGH_KHR); /* the defaults */
    OK(q.contextFree(c, NULL));
    OK(context_with(&hint, 1, &c));
    expect_hints(CL_QUEUE_PRIORITY_MED_KHR, CL_QUEUE_THROTTLE_LOW_KHR);
    make_net(c, &n);
    void *bytes = save(c, &size);
    /* Given later: for runs from now on. */
    hint.perfHint = QNN_GPU_CONTEXT_PERF_HINT_NORMAL;
    QnnContext_Config_t changes[] = { { .option = QNN_CONTEXT_CONFIG_OPTION_CUSTOM, .customConfig = &hint },
                                      { .option = QNN_CONTEXT_CONFIG_OPTION_PRIORITY, .priority = QNN_PRIORITY_HIGH } };
    OK(q.contextSetConfig(c, (const QnnContext_Config_t *[]){ &changes[0], &changes[1], NULL }));
    expect_hints(CL_QUEUE_PRIORITY_HIGH_KHR, CL_QUEUE_THROTTLE_MED_KHR);
    run_net(c, &n);
    /* The binary has the hint of the context that was saved; the client's own goes before it. */
    n.graph = NULL;
    OK(q.contextCreateFromBinary(env.backend, NULL, NULL, bytes, size, &again, NULL));
    expect_hints(CL_QUEUE_PRIORITY_MED_KHR, CL_QUEUE_THROTTLE_LOW_KHR);
    run_net(again, &n);
    OK(q.contextFree(again, NULL));
    OK(q.contextCreateFromBinary(env.backend, NULL, (const QnnContext_Config_t *[]){ &changes[0], NULL }, bytes, size,
                                 &again, NULL));
    expect_hints(CL_QUEUE_PRIORITY_MED_KHR, CL_QUEUE_THROTTLE_MED_KHR);
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_repository, setup, teardown),
        cmocka_unit_test_setup_teardown(test_damaged_repository, setup, teardown),
        cmocka_unit_test_setup_teardown(test_refused_folder, setup, teardown),
        cmocka_unit_test_setup_teardown(test_refused_bytes, setup, teardown),
        cmocka_unit_test_setup_teardown(test_context_binary, setup, teardown),
        cmocka_unit_test_setup_teardown(test_hints, setup, teardown),
    };
    shim_open();
    return cmocka_run_group_tests(tests, NULL, shim_nothing_left);
}
