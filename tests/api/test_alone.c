/* SPDX-License-Identifier: Apache-2.0 */
/* A backend library that was copied alone: no compiler, stub or skel lies in its folder. Graphs are
 * finalized and run in a session process all the same. */
#include "api_test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

static char home[4096]; /* where all libraries are */
static char folder[] = "/tmp/openqnn-alone-XXXXXX";
static char copy[256];
static char note[2048]; /* the last warning */
static int session_pid;
static bool stubs_elsewhere;
static unsigned switched; /* lines about the path to the driver */

static void listen(const char *fmt, QnnLog_Level_t level, uint64_t timestamp, va_list args)
{
    char text[2048];
    int session = 0;
    (void)timestamp;
    vsnprintf(text, sizeof text, fmt, args);

    const char *at = strstr(text, "the context is on session ");
    if (at)
        sscanf(at, "the context is on session %d (process %d)", &session, &session_pid);
    bool driver = strstr(text, "user driver path") != NULL;
    switched += driver;
    if (level == QNN_LOG_LEVEL_WARN && !driver)
        snprintf(note, sizeof note, "%s", text);
}

static void copy_library(mode_t mode)
{
    static char block[1 << 16];
    char from[4096];
    snprintf(from, sizeof from, "%s/%s", getenv("OPENQNN_LIB_DIR"), lib_name());
    snprintf(copy, sizeof copy, "%s/%s", folder, lib_name());

    int in = open(from, O_RDONLY | O_CLOEXEC);
    int out = open(copy, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(in >= 0 && out >= 0);
    for (ssize_t n; (n = read(in, block, sizeof block)) > 0;)
        assert_int_equal(write(out, block, (size_t)n), n);
    assert_int_equal(fchmod(out, mode), 0);
    close(in);
    close(out);
}

/* What the process was started as: its arguments, each ended by a zero byte. */
static bool was_started_from(int pid, const char *path)
{
    char name[64];
    char line[8192] = "";
    snprintf(name, sizeof name, "/proc/%d/cmdline", pid);
    FILE *f = fopen(name, "re");
    assert_non_null(f);
    size_t n = fread(line, 1, sizeof line - 1, f);
    fclose(f);

    for (size_t at = 0; at < n; at += strlen(line + at) + 1)
        if (strcmp(line + at, path) == 0)
            return true;
    return false;
}

static void runs_in_a_session(void)
{
    Qnn_LogHandle_t log;
    Qnn_BackendHandle_t backend;
    Qnn_ContextHandle_t context;
    struct net n;
    float x[CONV_IN];
    float y[CONV_OUT] = { 0 };
    float wanted[CONV_OUT];
    session_pid = 0;
    switched = 0;
    note[0] = 0;

    lib_open();
    OK(q.logCreate(listen, QNN_LOG_LEVEL_INFO, &log));
    OK(q.backendCreate(log, NULL, &backend));
    OK(q.contextCreate(backend, NULL, NULL, &context));
    OK(net_conv(context, "net", &n));
    OK(q.graphFinalize(n.graph, NULL, NULL));

    memcpy(x, conv_in, sizeof x);
    OK(net_run(&n, x, y, CONV_IN, CONV_OUT));
    conv_expected(wanted);
    floats_are(y, wanted, CONV_OUT, 1e-5f);

    assert_true(session_pid > 1 && session_pid != getpid());
    assert_true(was_started_from(session_pid, copy));
    assert_int_equal(switched, lib_is_htp() && !stubs_elsewhere ? 2 : 0);

    OK(q.contextFree(context, NULL));
    OK(q.backendFree(backend));
    OK(q.logFree(log));
    lib_close();
}

static void test_alone(void **state)
{
    (void)state;
    unsetenv("ADSP_LIBRARY_PATH");
    runs_in_a_session();
}

/* Stub and compiler of a folder in LD_LIBRARY_PATH go before the parts inside; the session is started in the same way. */
static void test_library_path(void **state)
{
    (void)state;
    char path[2 * sizeof home];
    setenv("LD_LIBRARY_PATH", "/nowhere:relative", 1);
    runs_in_a_session();
    snprintf(path, sizeof path, "/nowhere:%s", home);
    setenv("LD_LIBRARY_PATH", path, 1);
    stubs_elsewhere = true;
    runs_in_a_session();
    stubs_elsewhere = false;

    /* A file of another product is not opened. */
    snprintf(path, sizeof path, "%s/other", folder);
    assert_int_equal(mkdir(path, 0700), 0);
    strcat(path, "/libQnnHtpV73Stub.so");
    FILE *f = fopen(path, "we");
    assert_non_null(f);
    fputs("of another product", f);
    fclose(f);
    char list[sizeof path];
    snprintf(list, sizeof list, "%s/other", folder);
    setenv("LD_LIBRARY_PATH", list, 1);
    runs_in_a_session();
    unlink(path);
    rmdir(list);
    unsetenv("LD_LIBRARY_PATH");
}

/* Copies of files often lose their x bit. */
static void test_without_x_bit(void **state)
{
    (void)state;
    assert_int_equal(chmod(copy, 0644), 0);
    runs_in_a_session();
    assert_int_equal(chmod(copy, 0755), 0);
}

static void test_nonsense_in_the_path(void **state)
{
    (void)state;
    setenv("ADSP_LIBRARY_PATH", "/nowhere;relative/../;;\001:?", 1);
    runs_in_a_session();
    unsetenv("ADSP_LIBRARY_PATH");
}

/* A skel of a device in ADSP_LIBRARY_PATH is named in a warning, and not started. */
static void test_skel_of_a_device(void **state)
{
    (void)state;
    static const unsigned char head[64] = { 0x7f, 'E', 'L', 'F', 1, 1, 1, [18] = 164 };
    static const int archs[] = { 68, 69, 73, 75, 79, 81, 85, 89 };
    char path[512];
    for (size_t i = 0; i < COUNT(archs); i++) {
        snprintf(path, sizeof path, "%s/libQnnHtpV%dSkel.so", folder, archs[i]);
        FILE *f = fopen(path, "we");
        assert_non_null(f);
        fwrite(head, 1, sizeof head, f);
        fclose(f);
    }

    setenv("ADSP_LIBRARY_PATH", folder, 1);
    runs_in_a_session();
    assert_non_null(strstr(note, "Skel.so"));
    unsetenv("ADSP_LIBRARY_PATH");

    for (size_t i = 0; i < COUNT(archs); i++) {
        snprintf(path, sizeof path, "%s/libQnnHtpV%dSkel.so", folder, archs[i]);
        unlink(path);
    }
}

/* A damaged library of that name is an error, not a reason to take the built-in part. */
static void test_damaged_compiler(void **state)
{
    (void)state;
    Qnn_BackendHandle_t backend;
    Qnn_ContextHandle_t context;
    struct net n;
    char path[512];
    snprintf(path, sizeof path, "%s/libQnnHtpPrepare.so", folder);
    FILE *f = fopen(path, "we");
    assert_non_null(f);
    fputs("no library", f);
    fclose(f);

    lib_open();
    OK(q.backendCreate(NULL, NULL, &backend));
    OK(q.contextCreate(backend, NULL, NULL, &context));
    OK(net_affine(context, "net", 2, 1, &n));
    Qnn_ErrorHandle_t e = q.graphFinalize(n.graph, NULL, NULL);
    assert_int_not_equal(e, QNN_SUCCESS);
    explanation_has(CODE(e), "libQnnHtpPrepare.so", __FILE__, __LINE__);

    OK(q.contextFree(context, NULL));
    OK(q.backendFree(backend));
    lib_close();
    unlink(path);
}

static int set_up(void **state)
{
    (void)state;
    snprintf(home, sizeof home, "%s", getenv("OPENQNN_LIB_DIR"));
    unsetenv("LD_LIBRARY_PATH");
    if (!mkdtemp(folder))
        return -1;
    copy_library(0755);
    return setenv("OPENQNN_LIB_DIR", folder, 1);
}

static int tear_down(void **state)
{
    (void)state;
    unlink(copy);
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_alone),
        cmocka_unit_test(test_library_path),
        cmocka_unit_test(test_without_x_bit),
        cmocka_unit_test(test_nonsense_in_the_path),
        cmocka_unit_test(test_skel_of_a_device),
        cmocka_unit_test(test_damaged_compiler),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
