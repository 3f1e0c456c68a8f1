/* SPDX-License-Identifier: Apache-2.0 */
/* libQnnSaver.so: a recording in several files, files that cannot grow any more, and what the client's log hears.
 *
 *     test_saver_files COMPILER INCLUDE_FOLDER */
#include <dlfcn.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "saver_kit.h"

/* ---- a recording in parts --------------------------------------------------------------------------------------------- */

static void go_on(const char *name, bool header, bool footer, const char *folder)
{
    QnnSaver_Config_t where = { .option = QNN_SAVER_CONFIG_OPTION_OUTPUT_DIRECTORY, .outputDirectory = folder };
    QnnSaver_Config_t files = { .option = QNN_SAVER_CONFIG_OPTION_FILE_CONFIG,
                                .fileConfig = { keep_name("%s.c", name), keep_name("%s.bin", name) } };
    QnnSaver_Config_t h = { .option = QNN_SAVER_CONFIG_WRITE_OUTPUT_HEADER, .writeOutputHeader = header };
    QnnSaver_Config_t f = { .option = QNN_SAVER_CONFIG_WRITE_OUTPUT_FOOTER, .writeOutputFooter = footer };
    const QnnSaver_Config_t *all[] = { &files, &h, &f, folder ? &where : NULL, NULL };
    OK(saver_initialize(all));
}

/* The first part has the beginning, the last the end; behind each other they are one program. */
static void test_parts(void **state)
{
    (void)state;
    Qnn_BackendHandle_t b;
    Qnn_ContextHandle_t c;
    struct net net;
    float x[CONV_IN], y[CONV_OUT + 1], wanted[CONV_OUT];
    char folder[PATH_MAX], command[2 * PATH_MAX];
    snprintf(folder, sizeof folder, "%s", path_of("parts"));
    void *lib = open_saver();
    go_on("first", true, false, folder);
    OK(q.backendCreate(NULL, NULL, &b));
    OK(q.contextCreate(b, NULL, NULL, &c));
    OK(net_conv(c, "net", &net));
    go_on("middle", false, false, NULL);
    OK(q.graphFinalize(net.graph, NULL, NULL));
    memcpy(x, conv_in, sizeof x);
    Qnn_Tensor_t in = WITH(net.x, x), out = tensor_data(net.y, y, sizeof wanted);
    OK(q.graphExecute(net.graph, &in, 1, &out, 1, NULL, NULL));
    go_on("last", false, true, NULL);
    OK(q.backendFree(b));
    dlclose(lib);
    char *text = text_of("parts/first.c");
    assert_null(strstr(text, "int main("));
    free(text);
    text = text_of("parts/middle.c");
    assert_null(strstr(text, "int main("));
    assert_null(strstr(text, "#include"));
    free(text);
    snprintf(command, sizeof command, "cd %s && cat first.c middle.c last.c > saver_output.c", folder);
    assert_int_equal(system(command), 0);
    if (!compile("parts"))
        skip();
    conv_expected(wanted);
    for (size_t k = 0; k < COUNT(replay_libraries); k++) {
        char name[64];
        assert_int_equal(replay("parts", replay_libraries[k]), 0);
        snprintf(name, sizeof name, "parts/execute_%u_0.raw", replayed_call("parts", "QnnGraph_execute", 0));
        assert_int_equal(read_file(name, y, sizeof y), sizeof wanted);
        floats_are(y, wanted, CONV_OUT, 1e-5f);
    }
}

/* ---- no room ---------------------------------------------------------------------------------------------------------- */

static void limit_files(rlim_t bytes)
{
    struct rlimit l;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &l), 0);
    l.rlim_cur = bytes < l.rlim_max ? bytes : l.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &l), 0);
}

/* A call that cannot be written is refused and was not made: the program goes on with the next one, and what it has compiles
 * at every size at which the file might end. */
static void test_full(void **state)
{
    (void)state;
    Qnn_BackendHandle_t b;
    Qnn_ContextHandle_t c[64];
    unsigned made = 0, refused = 0;
    void *lib = open_saver();
    OK(record_to("full", 0));
    OK(q.backendCreate(NULL, NULL, &b));
    char *text = text_of("full/saver_output.c");
    rlim_t size = strlen(text);
    free(text);
    hush(true);
    for (unsigned i = 0; i < COUNT(c); i++) {
        void *before = c[i] = (void *)0x1234;
        limit_files(size + 37 * i);
        Qnn_ErrorHandle_t e = q.contextCreate(b, NULL, NULL, &c[i]);
        limit_files(RLIM_INFINITY);
        if (e == QNN_SUCCESS) {
            made++;
            continue;
        }
        assert_int_equal(CODE(e), QNN_COMMON_ERROR_SYSTEM);
        explanation_has(CODE(e), "File too large", __FILE__, __LINE__);
        assert_ptr_equal(c[i], before);
        refused++;
    }
    hush(false);
    assert_true(made > 0 && refused > 0);
    OK(q.backendFree(b));
    dlclose(lib);
    text = text_of("full/saver_output.c");
    unsigned written = 0;
    for (char *p = text; (p = strstr(p, "q.contextCreate(")); p++)
        written++;
    assert_int_equal(written, made);
    free(text);
    if (!compile("full"))
        skip();
    assert_int_equal(replay("full", "libQnnCpu.so"), 0);
}

/* A recording that cannot begin leaves the former one. */
static void test_former(void **state)
{
    (void)state;
    Qnn_BackendHandle_t b;
    void *lib = open_saver();
    OK(record_to("former", 0));
    OK(q.backendCreate(NULL, NULL, &b));
    OK(q.backendFree(b));
    dlclose(lib);
    char *before = text_of("former/saver_output.c");
    assert_non_null(strstr(before, "q.backendCreate("));

    lib = open_saver();
    limit_files(64);
    hush(true);
    Qnn_ErrorHandle_t e = record_to("former", 0);
    if (e == QNN_SUCCESS)
        e = q.backendCreate(NULL, NULL, &b);
    hush(false);
    limit_files(RLIM_INFINITY);
    assert_int_not_equal(CODE(e), QNN_SUCCESS);
    dlclose(lib);

    char *after = text_of("former/saver_output.c");
    assert_string_equal(after, before);
    free(after);
    free(before);
}

/* Tensor data that does not fit; the same call is made again when there is room. */
static void test_full_data(void **state)
{
    (void)state;
    Qnn_BackendHandle_t b;
    Qnn_ContextHandle_t c;
    Qnn_GraphHandle_t g;
    static float data[1 << 14];
    void *lib = open_saver();
    OK(record_to("full_data", 0));
    OK(q.backendCreate(NULL, NULL, &b));
    OK(q.contextCreate(b, NULL, NULL, &c));
    OK(q.graphCreate(c, "g", NULL, &g));
    Qnn_Tensor_t t = WITH(TENSOR("t", STATIC, FLOAT_32, 1 << 14), data);
    hush(true);
    limit_files(1 << 15);
    Qnn_ErrorHandle_t e = q.tensorCreateGraphTensor(g, &t);
    limit_files(RLIM_INFINITY);
    hush(false);
    assert_int_equal(CODE(e), QNN_COMMON_ERROR_SYSTEM);
    assert_int_equal(TV(t).id, 0);
    OK(q.tensorCreateGraphTensor(g, &t));
    assert_int_equal(TV(t).id, 1);
    OK(q.backendFree(b));
    dlclose(lib);
    if (compile("full_data"))
        assert_int_equal(replay("full_data", "libQnnCpu.so"), 0);
}

/* ---- the client's log ------------------------------------------------------------------------------------------------- */

static char heard[1 << 14];
static Qnn_BackendHandle_t from_within;
static Qnn_ErrorHandle_t within;

static void listen(const char *fmt, QnnLog_Level_t level, uint64_t time, va_list ap)
{
    char text[1024];
    (void)time;
    vsnprintf(text, sizeof text, fmt, ap);
    size_t n = strlen(heard);
    snprintf(heard + n, sizeof heard - n, "%d %s\n", (int)level, text);
    if (from_within) {
        Qnn_ContextHandle_t c;
        within = q.contextCreate(from_within, NULL, NULL, &c);
    }
}

static void test_log(void **state)
{
    (void)state;
    Qnn_LogHandle_t log;
    Qnn_BackendHandle_t b;
    Qnn_ContextHandle_t c;
    Qnn_GraphHandle_t g;
    void *lib = open_saver();
    OK(record_to("log", 0));
    OK(q.logCreate(listen, QNN_LOG_LEVEL_INFO, &log));
    OK(q.backendCreate(log, NULL, &b));
    assert_non_null(strstr(heard, "3 calls are recorded in \""));
    heard[0] = 0;
    OK(q.contextCreate(b, NULL, NULL, &c));
    assert_string_equal(heard, "");
    FAILS(QNN_GRAPH_ERROR_INVALID_ARGUMENT, q.graphCreate(c, NULL, NULL, &g));
    assert_non_null(strstr(heard, "QnnGraph_create: graphName is NULL"));
    heard[0] = 0;
    OK(q.logSetLogLevel(log, QNN_LOG_LEVEL_DEBUG));
    heard[0] = 0;
    from_within = b; /* a call from there is refused, and does not wait for itself */
    OK(q.graphCreate(c, "g", NULL, &g));
    from_within = NULL;
    assert_non_null(strstr(heard, "QnnGraph_create"));
    heard[0] = 0;
    OK(q.backendFree(b));
    OK(q.logFree(log));
    heard[0] = 0;
    hush(true);
    FAILS(QNN_LOG_ERROR_INVALID_HANDLE, q.logSetLogLevel(log, QNN_LOG_LEVEL_INFO));
    FAILS(QNN_LOG_ERROR_INVALID_ARGUMENT, q.logCreate(listen, (QnnLog_Level_t)77, &log));
    hush(false);
    assert_string_equal(heard, "");
    dlclose(lib);
    if (compile("log"))
        assert_int_equal(replay("log", "libQnnCpu.so"), 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_parts), cmocka_unit_test(test_full),
                                        cmocka_unit_test(test_former), cmocka_unit_test(test_full_data),
                                        cmocka_unit_test(test_log) };
    if (saver_kit_begin(argc, argv))
        return 1;
    return cmocka_run_group_tests(tests, NULL, saver_kit_end);
}
