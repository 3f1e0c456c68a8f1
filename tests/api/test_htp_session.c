/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions of libQnnHtp.so: where contexts are placed, what a dead session does to them, and that one copy of the library is
 * allowed. */
#include "api_test.h"

#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <QNN/HTP/QnnHtpContext.h>
#include <QNN/HTP/QnnHtpDevice.h>

/* ---- what the log tells ----------------------------------------------------------------------------------------------- */

static struct {
    int session, pid; /* of the context placed last */
    unsigned placed, warned;
    char domain[64];
} told;

static void listen(const char *fmt, QnnLog_Level_t level, uint64_t timestamp, va_list args)
{
    char text[2048];
    int session, pid;
    (void)timestamp;
    vsnprintf(text, sizeof text, fmt, args);
    const char *at = strstr(text, "the context is on session ");
    if (at && sscanf(at, "the context is on session %d (process %d)", &session, &pid) == 2) {
        told.session = session;
        told.pid = pid;
        told.placed++;
        const char *domain = strstr(text, "its process domain is ");
        sscanf(domain ? domain : "", "its process domain is %63[^;]", told.domain);
    }
    told.warned += level == QNN_LOG_LEVEL_WARN && strstr(text, "died") != NULL;
}

static Qnn_LogHandle_t listener;
static Qnn_BackendHandle_t backend;

static int setup(void **state)
{
    (void)state;
    lib_open();
    memset(&told, 0, sizeof told);
    return q.logCreate(listen, QNN_LOG_LEVEL_INFO, &listener) != QNN_SUCCESS ||
           q.backendCreate(listener, NULL, &backend) != QNN_SUCCESS;
}

static int teardown(void **state)
{
    (void)state;
    Qnn_ErrorHandle_t e = q.backendFree(backend);
    q.logFree(listener);
    lib_close();
    unsetenv("OPENQNN_SESSION_BYTES");
    return e != QNN_SUCCESS;
}

/* Children of this process that are not reaped. */
static unsigned children(void)
{
    unsigned n = 0;
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    FILE *f = fopen(path, "re");
    int pid;
    while (f && fscanf(f, "%d", &pid) == 1)
        n++;
    if (f)
        fclose(f);
    return n;
}

static struct net new_net(Qnn_ContextHandle_t *c)
{
    struct net n;
    OK(q.contextCreate(backend, NULL, NULL, c));
    OK(net_affine(*c, "net", 2, 1, &n));
    OK(q.graphFinalize(n.graph, NULL, NULL));
    return n;
}

static Qnn_ErrorHandle_t run(const struct net *n)
{
    float x[AFFINE_N], y[AFFINE_N] = { 0 };
    for (int i = 0; i < AFFINE_N; i++)
        x[i] = (float)i;
    Qnn_ErrorHandle_t e = net_run(n, x, y, AFFINE_N, AFFINE_N);
    for (int i = 0; i < AFFINE_N && e == QNN_SUCCESS; i++)
        assert_true(y[i] == 2 * x[i] + 1);
    return e;
}

/* ---- restart ---------------------------------------------------------------------------------------------------------- */

#define LOST QNN_COMMON_ERROR_SYSTEM_COMMUNICATION

static void test_restart(void **state)
{
    (void)state;
    Qnn_ContextHandle_t c, other;
    Qnn_ProfileHandle_t profile;
    Qnn_GraphHandle_t g;
    Qnn_MemHandle_t mem, again;
    struct net n = new_net(&c), fresh;
    uint32_t dims[1] = { AFFINE_N };
    int fd = memfd_create("io", MFD_CLOEXEC);
    assert_int_equal(ftruncate(fd, 4096), 0);
    Qnn_MemDescriptor_t d = {
        .memShape = { 1, dims, NULL }, .dataType = QNN_DATATYPE_FLOAT_32, .memType = QNN_MEM_TYPE_ION, .ionInfo = { fd }
    };
    OK(q.memRegister(c, &d, 1, &mem));
    OK(q.profileCreate(backend, QNN_PROFILE_LEVEL_BASIC, &profile));
    OK(run(&n));
    int pid = told.pid;
    assert_true(pid > 1);
    assert_int_equal(kill(pid, SIGKILL), 0);
    FAILS(LOST, run(&n));
    FAILS(LOST, run(&n)); /* and every later call on what was there */
    FAILS(LOST, q.graphCreate(c, "another", NULL, &g));
    FAILS(LOST, q.graphRetrieve(c, "net", &g));
    FAILS(LOST, q.memRegister(c, &d, 1, &again));
    assert_int_equal(told.warned, 1);
    OK(q.memDeRegister(&mem, 1));
    OK(q.contextFree(c, NULL));
    fresh = new_net(&other); /* backend, log and profile are what they were */
    assert_int_not_equal(told.pid, pid);
    OK(q.memRegister(other, &d, 1, &mem));
    OK(run(&fresh));
    OK(q.profileFree(profile));
    OK(q.contextFree(other, NULL));
    assert_int_equal(children(), 0);
    close(fd);
}

/* The new session is there while contexts of the old one still wait to be freed. */
static void test_restart_beside_stale_contexts(void **state)
{
    (void)state;
    Qnn_ContextHandle_t old[3], c;
    struct net n[3], fresh;
    for (int i = 0; i < 3; i++)
        n[i] = new_net(&old[i]);
    kill(told.pid, SIGKILL);
    FAILS(LOST, run(&n[1]));
    fresh = new_net(&c);
    OK(run(&fresh));
    for (int i = 0; i < 3; i++)
        FAILS(LOST, run(&n[i]));
    for (int i = 0; i < 3; i++)
        OK(q.contextFree(old[i], NULL));
    OK(run(&fresh));
    OK(q.contextFree(c, NULL));
    assert_int_equal(children(), 0);
}

static void *kill_soon(void *pid)
{
    kill(*(int *)pid, SIGKILL);
    return NULL;
}

/* Killed somewhere in the middle of calls, many times: every call ends, with success or with the code, and
 * recovery works. */
static void test_killed_in_flight(void **state)
{
    (void)state;
    for (int round = 0; round < 20; round++) {
        Qnn_ContextHandle_t c;
        struct net n = new_net(&c);
        int pid = told.pid;
        pthread_t killer;
        uint32_t code = QNN_SUCCESS;
        assert_int_equal(pthread_create(&killer, NULL, kill_soon, &pid), 0);
        while (code == QNN_SUCCESS)
            code = CODE(run(&n));
        assert_int_equal(code, LOST);
        pthread_join(killer, NULL);
        OK(q.contextFree(c, NULL));
    }
    assert_int_equal(children(), 0);
}

/* A client's whole way with that many executions, up to the first call that fails. */
static Qnn_ErrorHandle_t script(int fd, int runs)
{
    static char bytes[65536];
    uint32_t dims[1] = { AFFINE_N };
    Qnn_MemDescriptor_t d = {
        .memShape = { 1, dims, NULL }, .dataType = QNN_DATATYPE_FLOAT_32, .memType = QNN_MEM_TYPE_ION, .ionInfo = { fd }
    };
    Qnn_ContextHandle_t c, loaded = NULL;
    Qnn_MemHandle_t mem = NULL;
    Qnn_ErrorHandle_t e;
    struct net n;
    uint64_t size;
    OK(q.contextCreate(backend, NULL, NULL, &c));
    OK(net_affine(c, "net", 2, 1, &n));
    e = q.graphFinalize(n.graph, NULL, NULL);
    for (int i = 0; i < runs && e == QNN_SUCCESS; i++)
        e = run(&n);
    if (e == QNN_SUCCESS)
        e = q.memRegister(c, &d, 1, &mem);
    if (e == QNN_SUCCESS)
        e = q.contextGetBinary(c, bytes, sizeof bytes, &size);
    if (e == QNN_SUCCESS)
        e = q.contextCreateFromBinary(backend, NULL, NULL, bytes, size, &loaded, NULL);
    if (e == QNN_SUCCESS)
        e = run(&n);
    if (mem)
        OK(q.memDeRegister(&mem, 1));
    if (loaded)
        OK(q.contextFree(loaded, NULL));
    OK(q.contextFree(c, NULL));
    return e;
}

/* The session dies after its n-th message: the client gets the documented code, frees what it has, and the same way works
 * again at once. True: the way had that many messages. */
static bool killed_after(int fd, int n, int runs)
{
    char fault[32];
    snprintf(fault, sizeof fault, "kill@%d", n);
    setenv("OPENQNN_FAULT", fault, 1);
    uint32_t code = CODE(script(fd, runs));
    unsetenv("OPENQNN_FAULT");
    if (code != QNN_SUCCESS && code != LOST && code != QNN_COMMON_ERROR_SYSTEM_COMMUNICATION_FATAL)
        fail_msg("killed after message %d of %d executions: code %u", n, runs, code);
    OK(script(fd, 1));
    return code != QNN_SUCCESS;
}

static void test_killed_after_every_message(void **state)
{
    (void)state;
    enum { EACH = 30, LAST = 500, SHORT = 4 };
    int fd = memfd_create("io", MFD_CLOEXEC);
    unsigned died = 0;
    assert_int_equal(ftruncate(fd, 4096), 0);
    for (int n = 1; n <= EACH; n++) /* every call of a short way, and what lies behind its end */
        died += killed_after(fd, n, SHORT);
    assert_true(died >= 8);
    for (int n = EACH; n <= LAST; n += 1 + n / 8) /* further and further into a long one */
        assert_true(killed_after(fd, n, LAST));
    assert_true(killed_after(fd, LAST, LAST));
    assert_int_equal(children(), 0);
    close(fd);
}

/* No other session can be started. */
static void test_fatal(void **state)
{
    (void)state;
    Qnn_ContextHandle_t c;
    struct net n = new_net(&c);
    setenv("OPENQNN_FAULT", "refuse_open@1", 1);
    kill(told.pid, SIGKILL);
    FAILS(QNN_COMMON_ERROR_SYSTEM_COMMUNICATION_FATAL, run(&n));
    unsetenv("OPENQNN_FAULT");
    FAILS(QNN_COMMON_ERROR_SYSTEM_COMMUNICATION_FATAL, run(&n));
    OK(q.contextFree(c, NULL));
    n = new_net(&c);
    OK(run(&n));
    OK(q.contextFree(c, NULL));
}

/* ---- placing ---------------------------------------------------------------------------------------------------------- */

/* A context whose graph has two live tensors in the session's memory, together `mib` large; inputs and outputs are promised
 * to be registered, so nothing else is reserved. The memory is never touched. */
static Qnn_ErrorHandle_t sized(uint32_t mib, const QnnContext_Config_t **config, Qnn_ContextHandle_t *c)
{
    Qnn_GraphHandle_t g;
    uint32_t n = mib << 18; /* floats of half of it, as bytes / 2 */
    Qnn_Tensor_t x = TENSOR("x", APP_WRITE, FLOAT_32, 1), y = TENSOR("y", APP_READ, FLOAT_32, 1),
                 a = TENSOR("a", NATIVE, FLOAT_32, n);
    TV(x).memType = TV(y).memType = QNN_TENSORMEMTYPE_MEMHANDLE;
    TV(x).memHandle = TV(y).memHandle = NULL;
    OK(q.contextCreate(backend, NULL, config, c));
    OK(q.graphCreate(*c, "large", NULL, &g));
    Qnn_Tensor_t *all[] = { &x, &y, &a };
    for (unsigned i = 0; i < COUNT(all); i++)
        OK(q.tensorCreateGraphTensor(g, all[i]));
    static const uint32_t multiples_dims[1] = { 1 }, axes_dims[1] = { 1 }, axis[1] = { 0 };
    uint32_t multiples[1] = { n };
    struct op tile = { "tile", "Tile", NULL, 1, 1, 1, { param_u32s(g, "multiples", 1, multiples_dims, multiples) },
                       { x },  { a } };
    struct op sum = {
        "sum", "ReduceMax", NULL, 2, 1, 1, { param_u32s(g, "axes", 1, axes_dims, axis), param_bool("keep_dims", true) },
        { a }, { y }
    };
    OK(op_add(g, &tile));
    OK(op_add(g, &sum));
    return q.graphFinalize(g, NULL, NULL);
}

/* Five models of 1.5, 1.5, 1, 1 and 0.25 GB: sessions 0, 0, 1, 1, 0. */
static void test_five_models(void **state)
{
    (void)state;
    static const struct {
        uint32_t mib;
        int session;
    } models[5] = { { 1536, 0 }, { 1536, 0 }, { 1024, 1 }, { 1024, 1 }, { 250, 0 } };
    Qnn_ContextHandle_t c[5];
    for (int i = 0; i < 5; i++) {
        OK(sized(models[i].mib, NULL, &c[i]));
        assert_int_equal(told.placed, i + 1);
        assert_int_equal(told.session, models[i].session);
    }
    assert_int_equal(children(), 2);
    for (int i = 0; i < 5; i++)
        OK(q.contextFree(c[i], NULL));
    assert_int_equal(children(), 0);
}

static void test_no_session_left(void **state)
{
    (void)state;
    Qnn_ContextHandle_t c[5];
    for (int i = 0; i < 4; i++) {
        OK(sized(3000, NULL, &c[i]));
        assert_int_equal(told.session, i);
    }
    FAILS_SAYING(QNN_COMMON_ERROR_MEM_ALLOC, "does not fit into any session", sized(3000, NULL, &c[4]));
    OK(q.contextFree(c[2], NULL));
    OK(q.contextFree(c[4], NULL));
    OK(sized(3000, NULL, &c[4]));
    assert_int_equal(told.session, 2);
}

/* A context of its own addresses cannot be larger than a session, and says so. */
static void test_too_large(void **state)
{
    (void)state;
    Qnn_ContextHandle_t c;
    FAILS(QNN_COMMON_ERROR_MEM_ALLOC, sized(3900, NULL, &c));
    OK(sized(3700, NULL, &c));
    assert_int_equal(told.session, 0);
}

/* With the option, room for inputs and outputs is looked for before the model is placed. */
static void test_io_estimation(void **state)
{
    (void)state;
    static char bytes[1 << 20];
    uint64_t size;
    Qnn_ContextHandle_t c, full, with, without;
    Qnn_GraphHandle_t g;
    QnnHtpContext_CustomConfig_t htp = { .option = QNN_HTP_CONTEXT_CONFIG_OPTION_IO_MEM_ESTIMATION,
                                         .ioMemEstimation = true };
    QnnContext_Config_t custom = { .option = QNN_CONTEXT_CONFIG_OPTION_CUSTOM, .customConfig = &htp };
    const QnnContext_Config_t *config[] = { &custom, NULL };
    Qnn_Tensor_t x = TENSOR("x", APP_WRITE, FLOAT_32, 64 << 20), y = TENSOR("y", APP_READ, FLOAT_32, 64 << 20);
    TV(x).memType = TV(y).memType = QNN_TENSORMEMTYPE_MEMHANDLE;
    TV(x).memHandle = TV(y).memHandle = NULL;
    OK(q.contextCreate(backend, NULL, NULL, &c));
    OK(q.graphCreate(c, "io", NULL, &g));
    OK(q.tensorCreateGraphTensor(g, &x));
    OK(q.tensorCreateGraphTensor(g, &y));
    struct op relu = { "relu", "Relu", NULL, 0, 1, 1, { QNN_PARAM_INIT }, { x }, { y } };
    OK(op_add(g, &relu));
    OK(q.graphFinalize(g, NULL, NULL));
    OK(q.contextGetBinary(c, bytes, sizeof bytes, &size));
    OK(q.contextFree(c, NULL));
    OK(sized(3600, NULL, &full));
    OK(q.contextCreateFromBinary(backend, NULL, NULL, bytes, size, &without, NULL));
    assert_int_equal(told.session, 0);
    OK(q.contextCreateFromBinary(backend, NULL, config, bytes, size, &with, NULL));
    assert_int_equal(told.session, 1);
}

/* ---- libraries -------------------------------------------------------------------------------------------------------- */

static void copy_file(const char *from, const char *to)
{
    static char buffer[1 << 16];
    size_t n;
    FILE *in = fopen(from, "re"), *out = fopen(to, "we");
    assert_non_null(in);
    assert_non_null(out);
    while ((n = fread(buffer, 1, sizeof buffer, in)) > 0)
        assert_int_equal(fwrite(buffer, 1, n, out), n);
    fclose(in);
    fclose(out);
}

#define LOADING QNN_COMMON_ERROR_LOADING_BINARIES

static void test_two_copies(void **state)
{
    (void)state;
    char folder[] = "/tmp/qnn-copy-XXXXXX", from[4096], to[4096];
    Qnn_ContextHandle_t c, c2;
    Qnn_DeviceHandle_t d;
    Qnn_GraphHandle_t g;
    OK(q.contextCreate(backend, NULL, NULL, &c));
    assert_non_null(mkdtemp(folder));
    snprintf(from, sizeof from, "%s/libQnnHtp.so", getenv("OPENQNN_LIB_DIR"));
    snprintf(to, sizeof to, "%s/libQnnHtp.so", folder);
    copy_file(from, to);
    void *other = dlopen(to, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(other);
    struct op relu = { "relu",
                       "Relu",
                       NULL,
                       0,
                       1,
                       1,
                       { QNN_PARAM_INIT },
                       { TENSOR("x", NATIVE, FLOAT_32, 4) },
                       { TENSOR("y", NATIVE, FLOAT_32, 4) } };
    FAILS_SAYING(LOADING, folder, q.contextCreate(backend, NULL, NULL, &c2));
    FAILS(LOADING, q.deviceCreate(NULL, NULL, &d));
    FAILS(LOADING, q.graphCreate(c, "g", NULL, &g));
    FAILS(LOADING, op_validate(backend, &relu));
    FAILS(LOADING, q.backendRegisterOpPackage(backend, "libX.so", "provider", NULL));
    dlclose(other);
    OK(op_validate(backend, &relu));
    OK(q.graphCreate(c, "g", NULL, &g));
    unlink(to);
    rmdir(folder);
}

/* What the session's process was started from. */
static void assert_started_from(const char *program)
{
    char path[64], line[4096] = "";
    snprintf(path, sizeof path, "/proc/%d/cmdline", told.pid);
    FILE *f = fopen(path, "re");
    assert_non_null(f);
    size_t n = fread(line, 1, sizeof line - 1, f);
    fclose(f);

    const char *last = line; /* the loader may stand before it */
    for (const char *at = line; at < line + n; at += strlen(at) + 1)
        last = at;
    assert_string_equal(last, program);
}

/* The library alone in a folder is its own session; a skel along ADSP_LIBRARY_PATH goes before it. */
static void test_search_order(void **state)
{
    char folder[] = "/tmp/qnn-alone-XXXXXX", from[4200], skel[4200], to[4096], home[4096];
    Qnn_ContextHandle_t c;
    teardown(state);
    snprintf(home, sizeof home, "%s", getenv("OPENQNN_LIB_DIR"));
    assert_non_null(mkdtemp(folder));
    snprintf(from, sizeof from, "%s/libQnnHtp.so", home);
    snprintf(to, sizeof to, "%s/libQnnHtp.so", folder);
    snprintf(skel, sizeof skel, "%s/libQnnHtpV73Skel.so", home);
    copy_file(from, to);

    setenv("OPENQNN_LIB_DIR", folder, 1);
    assert_int_equal(setup(state), 0);
    struct net n = new_net(&c);
    OK(run(&n));
    assert_started_from(to);
    OK(q.contextFree(c, NULL));

    setenv("ADSP_LIBRARY_PATH", home, 1);
    n = new_net(&c);
    OK(run(&n));
    assert_started_from(skel);
    OK(q.contextFree(c, NULL));

    unsetenv("ADSP_LIBRARY_PATH");
    setenv("OPENQNN_LIB_DIR", home, 1);
    unlink(to);
    rmdir(folder);
}

/* ---- process domains -------------------------------------------------------------------------------------------------- */

/* A device with these flags, 1 SIGNEDPD and 2 SECUREPD. */
static Qnn_DeviceHandle_t device_of(unsigned flags)
{
    QnnHtpDevice_CustomConfig_t htp[2] = { { .option = QNN_HTP_DEVICE_CONFIG_OPTION_SIGNEDPD },
                                           { .option = QNN_HTP_DEVICE_CONFIG_OPTION_SECUREPD } };
    QnnDevice_Config_t c[2];
    const QnnDevice_Config_t *list[3] = { &c[0], &c[1], NULL };
    Qnn_DeviceHandle_t device = NULL;

    htp[0].useSignedProcessDomain.useSignedProcessDomain = flags & 1;
    htp[1].useSecureProcessDomain.useSecureProcessDomain = flags >> 1;
    for (int i = 0; i < 2; i++)
        c[i] = (QnnDevice_Config_t){ .option = QNN_DEVICE_CONFIG_OPTION_CUSTOM, .customConfig = &htp[i] };
    OK(q.deviceCreate(listener, list, &device));
    return device;
}

/* Contexts of one domain share a session, those of another have theirs; when one dies the others live on. */
static void test_process_domains(void **state)
{
    (void)state;
    static const char *const names[] = { "unsigned", "signed", "unsigned and secure", "signed and secure" };
    enum { DOMAINS = 4 };
    Qnn_ContextHandle_t contexts[2 * DOMAINS];
    struct net nets[2 * DOMAINS];
    Qnn_DeviceHandle_t devices[DOMAINS];
    int pids[DOMAINS];

    for (unsigned i = 0; i < 2 * DOMAINS; i++) {
        unsigned domain = i % DOMAINS;
        if (i < DOMAINS)
            devices[i] = device_of(i);
        OK(q.contextCreate(backend, devices[domain], NULL, &contexts[i]));
        OK(net_affine(contexts[i], "net", 2, 1, &nets[i]));
        OK(q.graphFinalize(nets[i].graph, NULL, NULL));
        assert_string_equal(told.domain, names[domain]);
        assert_int_equal(told.session, domain);
        if (i < DOMAINS)
            pids[i] = told.pid;
        assert_int_equal(told.pid, pids[domain]);
        for (unsigned k = 0; k < domain; k++)
            assert_int_not_equal(told.pid, pids[k]);
    }
    kill(pids[1], SIGKILL);
    for (unsigned i = 0; i < 2 * DOMAINS; i++) {
        Qnn_ErrorHandle_t e = run(&nets[i]);
        assert_true(i % DOMAINS == 1 ? CODE(e) == LOST : e == QNN_SUCCESS);
        OK(q.contextFree(contexts[i], NULL));
    }
    for (unsigned i = 0; i < DOMAINS; i++)
        OK(q.deviceFree(devices[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        TEST(test_restart),
        TEST(test_restart_beside_stale_contexts),
        TEST(test_killed_in_flight),
        TEST(test_killed_after_every_message),
        TEST(test_fatal),
        TEST(test_five_models),
        TEST(test_no_session_left),
        TEST(test_too_large),
        TEST(test_io_estimation),
        TEST(test_two_copies),
        TEST(test_search_order),
        TEST(test_process_domains),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
