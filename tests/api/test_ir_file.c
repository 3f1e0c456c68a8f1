/* SPDX-License-Identifier: Apache-2.0 */
/* libQnnIr.so: a graph that is finalized there is a DLC file, which libQnnSystem.so composes on libQnnCpu.so with the same
 * results; paths as clients give them; what cannot be done with such a graph is refused. */
#include "api_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <QNN/IR/QnnIrGraph.h>

#include "system_lib.h"

static char folder[200], came_from[4096];
static void *system_library;
static QNN_SYSTEM_INTERFACE_VER_TYPE sys;

/* The tests work in a folder of their own: without a path files go to the working folder. */
static int setup(void **state)
{
    (void)state;
    const char *tmp = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/openqnn-ir-XXXXXX", tmp ? tmp : "/tmp");
    system_library = system_open();
    sys = system_provider(system_library)->QNN_SYSTEM_INTERFACE_VER_NAME;
    return !getcwd(came_from, sizeof came_from) || !mkdtemp(folder) || chdir(folder);
}

static int teardown(void **state)
{
    (void)state;
    dlclose(system_library);
    return chdir(came_from) || rmdir(folder);
}

static void use(const char *library)
{
    assert_int_equal(setenv("OPENQNN_TEST_LIB", library, 1), 0);
    assert_int_equal(env_setup(NULL), 0);
}

static void done(void)
{
    assert_int_equal(env_teardown(NULL), 0);
}

static Qnn_ErrorHandle_t set_path(Qnn_GraphHandle_t g, uint32_t option, uint32_t type, const char *path)
{
    QnnIrGraph_CustomConfig_t custom = { .option = (QnnIrGraph_ConfigOption_t)option };
    custom.serializationOption.serializationType = (QnnIrGraph_SerializationType_t)type;
    custom.serializationOption.outputPath = path;
    QnnGraph_Config_t config = { .option = QNN_GRAPH_CONFIG_OPTION_CUSTOM, .customConfig = &custom };
    return q.graphSetConfig(g, (const QnnGraph_Config_t *[]){ &config, NULL });
}
enum { SERIALIZATION = QNN_IR_GRAPH_CONFIG_OPTION_SERIALIZATION, FLAT = QNN_IR_GRAPH_SERIALIZATION_TYPE_FLAT_BUFFER };

static void write_net(const char *name, const char *path)
{
    struct net n;
    use("libQnnIr.so");
    OK(net_conv(env.context, name, &n));
    if (path)
        OK(set_path(n.graph, SERIALIZATION, FLAT, path));
    OK(q.graphFinalize(n.graph, NULL, NULL));
    done();
}

static void file_computes(const char *path)
{
    QnnSystemDlc_Handle_t d = NULL;
    QnnSystemContext_GraphInfo_t *graphs = NULL;
    uint32_t n = 0;
    float want[CONV_OUT], y[CONV_OUT];
    use("libQnnCpu.so");
    OK(sys.systemDlcCreateFromFile(NULL, path, &d));
    OK(sys.systemDlcComposeGraphs(d, NULL, 0, env.backend, env.context, *provider, QNN_SYSTEM_CONTEXT_GRAPH_INFO_VERSION_1,
                                  &graphs, &n));
    OK(sys.systemDlcFree(d));
    assert_int_equal(n, 1);
    struct net net = { .x = graphs[0].graphInfoV1.graphInputs[0], .y = graphs[0].graphInfoV1.graphOutputs[0] };
    OK(q.graphRetrieve(env.context, graphs[0].graphInfoV1.graphName, &net.graph));
    OK(q.graphFinalize(net.graph, NULL, NULL));
    OK(net_run(&net, conv_in, y, CONV_IN, CONV_OUT));
    conv_expected(want);
    floats_are(y, want, CONV_OUT, 1e-5f);
    free(graphs);
    done();
    assert_int_equal(unlink(path), 0);
}

static void files_have_the_graph(void **state)
{
    (void)state;
    write_net("plain", NULL);
    file_computes("plain.dlc");
    write_net("empty", "");
    file_computes("empty.dlc");
    write_net("named", "other.bin");
    file_computes("other.bin");
}

/* ONNX Runtime makes a folder of the path before it hands it over, and looks for a regular file afterwards. */
static void an_empty_folder_becomes_the_file(void **state)
{
    (void)state;
    assert_int_equal(mkdir("net.dlc", 0777), 0);
    write_net("net", "net.dlc");
    file_computes("net.dlc");
}

static void folders_get_the_file(void **state)
{
    (void)state;
    assert_int_equal(mkdir("empty", 0777), 0);
    write_net("net", "empty/");
    file_computes("empty/net.dlc");
    assert_int_equal(rmdir("empty"), 0);

    assert_int_equal(mkdir("full", 0777), 0);
    assert_int_equal(mkdir("full/other", 0777), 0);
    write_net("net", "full");
    file_computes("full/net.dlc");
    assert_int_equal(rmdir("full/other"), 0);
    assert_int_equal(rmdir("full"), 0);
}

static void written_graphs_do_not_run(void **state)
{
    (void)state;
    struct net n;
    float y[CONV_OUT];
    uint64_t size;
    use("libQnnIr.so");
    OK(net_conv(env.context, "net", &n));
    FAILS(QNN_GRAPH_ERROR_GRAPH_NOT_FINALIZED, net_run(&n, conv_in, y, CONV_IN, CONV_OUT));
    OK(q.graphFinalize(n.graph, NULL, NULL));
    FAILS_SAYING(QNN_GRAPH_ERROR_UNSUPPORTED_FEATURE, "written to a file", net_run(&n, conv_in, y, CONV_IN, CONV_OUT));
    FAILS_SAYING(QNN_GRAPH_ERROR_UNSUPPORTED_FEATURE, "written to a file", q.graphFinalize(n.graph, NULL, NULL));
    FAILS_SAYING(QNN_CONTEXT_ERROR_UNSUPPORTED_FEATURE, "written to a file", q.contextGetBinarySize(env.context, &size));
    done();
    assert_int_equal(unlink("net.dlc"), 0);
}

static void wrong_settings_are_refused(void **state)
{
    (void)state;
    struct net n;
    use("libQnnIr.so");
    OK(net_conv(env.context, "net", &n));
    FAILS_SAYING(QNN_GRAPH_ERROR_INVALID_ARGUMENT, "unknown option 7", set_path(n.graph, 7, FLAT, "x"));
    FAILS_SAYING(QNN_GRAPH_ERROR_INVALID_ARGUMENT, "serialization type 9", set_path(n.graph, SERIALIZATION, 9, "x"));
    OK(set_path(n.graph, SERIALIZATION, FLAT, "nowhere/net.dlc"));
    Qnn_ErrorHandle_t e = q.graphFinalize(n.graph, NULL, NULL);
    assert_int_not_equal(e, QNN_SUCCESS);
    assert_non_null(strstr(explain(e), "nowhere/net.dlc"));
    OK(set_path(n.graph, SERIALIZATION, FLAT, NULL)); /* and the graph is still what it was */
    OK(q.graphFinalize(n.graph, NULL, NULL));
    done();
    file_computes("net.dlc");
}

static void limit_files(rlim_t bytes)
{
    struct rlimit l;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &l), 0);
    l.rlim_cur = bytes < l.rlim_max ? bytes : l.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &l), 0);
}

/* A file that cannot be written whole is an error, leaves nothing behind, and can be written later. */
static void full_disks_are_errors(void **state)
{
    (void)state;
    struct net n;
    use("libQnnIr.so");
    OK(net_conv(env.context, "net", &n));
    limit_files(100);
    Qnn_ErrorHandle_t e = q.graphFinalize(n.graph, NULL, NULL);
    limit_files(RLIM_INFINITY);
    assert_int_not_equal(e, QNN_SUCCESS);
    assert_non_null(strstr(explain(e), "net.dlc"));
    assert_int_not_equal(access("net.dlc", F_OK), 0);
    OK(q.graphFinalize(n.graph, NULL, NULL));
    done();
    file_computes("net.dlc");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(full_disks_are_errors),      cmocka_unit_test(files_have_the_graph),
        cmocka_unit_test(an_empty_folder_becomes_the_file),
        cmocka_unit_test(folders_get_the_file),       cmocka_unit_test(written_graphs_do_not_run),
        cmocka_unit_test(wrong_settings_are_refused),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
