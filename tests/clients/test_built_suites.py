#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/suites/run on clients that their own build has built: which tests it finds in a build folder, how each is
started, what counts as passed, and what it refuses. The builds here are small programs that count executions as the
libraries do."""

import os
import stat
import subprocess
import sys
import tempfile

SUITES = os.path.join(os.environ["OPENQNN_SOURCE_DIR"], "scripts/suites")
COUNT = """count() { printf '%s\\tlibQnnHtp.so\\tend\\tfinalized=1\\tloaded=0\\texecuted=%s\\tfailed=0\\n' $$ "$1" >> "$OPENQNN_COUNTS"; }
"""
# Runs each test that it knows and whose name begins with the first argument, as MNN's program does.
MNN = "#!/bin/sh\n" + COUNT + """
: 'op/abs\0op/absent_grad\0op/bad\0op/none\0op/crash\0speed/x\0model/y\0'
right=0 wrong=0
for test in op/abs op/absent_grad op/bad op/crash; do
    case $test in $1*) ;; *) continue ;; esac
    case ,$MNN_TEST_SKIP, in *,$test,*) continue ;; esac
    [ "$2 $3 $4" = '5 1 1' ] || exit 3
    count 2
    case $test in op/bad) wrong=1 ;; op/crash) kill -SEGV $$ ;; *) right=$((right + 1)) ;; esac
done
echo "TEST_CASE={\\"name\\":\\"Unit Test \\",\\"failed\\":$wrong,\\"passed\\":$right}"
exit $wrong
"""
# Compares models; its exit status says nothing.
MNN_MODELS = "#!/bin/sh\n" + COUNT + """
[ "$2 $4" = '5 1' ] || exit 3
count 1
case $1 in
*good.mnn) printf 'Correct ! Run second pass\nCorrect for 0, name=y\nCorrect !\n' ;;
*wrong.mnn) printf 'Correct for 0, name=x\n1: 2 != 1\n1 [y] Op outputs y is error\n' ;;
*silent.mnn) echo 'Correct !' ;;
*absent.mnn) printf "Correct for 0, name=x\nCan't compare tensor: y\nCorrect !\n" ;;
esac
"""
MNN_SOURCE = """
MNNTestSuiteRegister(AbsTest, "op/abs");
    MNNTestSuiteRegister( GradTest , "op/absent_grad" );
// MNNTestSuiteRegister(OldTest, "op/old");
MNNTestSuiteRegister(BadTest, "op/bad");
MNNTestSuiteRegister(NoneTest, "op/none");
MNNTestSuiteRegister(CrashTest, "op/crash");
MNNTestSuiteRegister(ElsewhereTest, "op/elsewhere");
MNNTestSuiteRegister(SpeedTest, "speed/x");
MNNTestSuiteRegister(ModelTest, "model/y");
"""
MNN_TABLE = ["op/abs\tpassed\tlibQnnHtp.so:2", "op/absent_grad\tpassed\tlibQnnHtp.so:2", "op/bad\tfailed\tlibQnnHtp.so:2",
             "op/crash\tfailed\tlibQnnHtp.so:2", "op/none\tfailed\t-"]

GTEST = "#!/bin/sh\n" + COUNT + """
case $1 in
--gtest_list_tests) printf '%s' '{names}' ;;
--gtest_filter=*) [ "$(basename "$PWD")" = {folder} ] && count 1 && echo '[       OK ] it' ;;
esac
"""


def write(path, text, executable=False):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    if executable:
        os.chmod(path, stat.S_IRWXU)


def gtest(path, folder, names):
    write(path, GTEST.replace("{names}", names).replace("{folder}", folder), executable=True)


def run(client, built, sdk, *arguments, **more):
    """Without what the caller's environment has to say about clients."""
    bare = {k: v for k, v in os.environ.items() if k not in ("SUITE_SRC", "SUITE_BUILD", "SUITE_MODELS", "QNN_SDK_ROOT")}
    return subprocess.run([sys.executable, os.path.join(SUITES, "run"), client, "--built", built, "--sdk", sdk, *arguments],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False, env={**bare, **more})


def table_of(client, built, sdk, *arguments):
    with tempfile.NamedTemporaryFile() as file:
        done = run(client, built, sdk, "--tsv", file.name, *arguments)
        with open(file.name, encoding="utf-8") as table:
            return done, ["\t".join(line.split("\t")[:3]) for line in table.read().splitlines()[1:]]


def check_mnn(folder, sdk):
    built = os.path.join(folder, "mnn")
    write(os.path.join(folder, "source/test/op/Tests.cpp"), MNN_SOURCE)
    write(os.path.join(built, "CMakeCache.txt"), f"CMAKE_HOME_DIRECTORY:INTERNAL={folder}/source\n")
    write(os.path.join(built, "run_test.out"), MNN, executable=True)

    unit = ("--device", "unit-high")
    done, table = table_of("mnn", built, sdk, *unit)
    assert done.returncode == 1 and table == MNN_TABLE, (done, table)
    assert run("mnn", built, sdk, *unit, "--match", "op/abs").returncode == 0
    assert run("mnn", built, sdk, *unit, "--match", "nothing").returncode == 2
    assert run("mnn", built, sdk, "--device", "unit-low", "--match", "op/abs").returncode == 1


def check_mnn_models(folder, sdk):
    built, models = os.path.join(folder, "mnn"), os.path.join(folder, "models")
    for name in ("good", "sub/wrong", "silent", "absent"):
        write(os.path.join(models, name + ".mnn"), "")

    done = run("mnn", built, sdk, SUITE_MODELS=models)
    assert done.returncode == 1 and "has no backendTest.out" in done.stderr, done
    write(os.path.join(built, "backendTest.out"), MNN_MODELS, executable=True)
    done = run("mnn", built, sdk)
    assert done.returncode == 1 and "SUITE_MODELS" in done.stderr, done

    done = run("mnn", built, sdk, SUITE_MODELS=models)
    results = [line.split() for line in done.stdout.splitlines()[1:5]]
    assert done.returncode == 1, done
    assert results == [["failed", "1", "absent"], ["passed", "1", "good"], ["failed", "1", "silent"], ["failed", "1", "sub/wrong"]], results


def check_litert(folder, sdk):
    built = os.path.join(folder, "litert")
    gtest(os.path.join(built, "vendors/qualcomm/core/tensor_pool_test"), "litert", "Pool.\n  Grows\n")
    gtest(os.path.join(built, "elsewhere/builder_test"), "litert", "Pad.\n  Edges\n  Zeros/0  # GetParam() = 1\n")
    gtest(os.path.join(built, "vendors/mediatek/neuron_test"), "litert", "Neuron.\n  Runs\n")
    gtest(os.path.join(built, "vendors/qualcomm/a_test.runfiles/hidden_test"), "litert", "Hidden.\n  Runs\n")
    write(os.path.join(built, "vendors/qualcomm/source_test.cc"), "int main;\n", executable=True)

    done, table = table_of("litert", built, sdk)
    names = [line.split("\t")[0] for line in table]
    assert names == ["builder_test: Pad.Edges", "builder_test: Pad.Zeros/0", "tensor_pool_test: Pool.Grows"], (names, done)
    assert done.returncode == 0, done
    done = run("litert", os.path.join(folder, "source"), sdk)
    assert done.returncode == 1 and "no test program" in done.stderr, done


def check_onnxruntime(folder, sdk):
    """The test programs read files of the folder in which they lie."""
    built = os.path.join(folder, "ort")
    gtest(os.path.join(built, "Release/onnxruntime_provider_test"), "Release",
          "QnnHTPBackendTests.\n  Add\nQnnCPUBackendTests.\n  Add\nCudaTests.\n  Add\n")

    done, table = table_of("onnxruntime", built, sdk)
    assert done.returncode == 0 and len(table) == 2 and all(line.split("\t")[1] == "passed" for line in table), (done, table)
    done, table = table_of("onnxruntime", built, sdk, "--device", "cpu")
    assert table == ["QnnCPUBackendTests.Add\tpassed\tlibQnnHtp.so:1"], (done, table)
    done = run("onnxruntime", os.path.join(folder, "litert"), sdk)
    assert done.returncode == 1 and "onnxruntime_provider_test" in done.stderr, done


def check_executorch(folder, sdk):
    """Its tests want PyTorch; here a program stands for Python and says how it was started."""
    built = os.path.join(folder, "venv")
    write(os.path.join(built, "bin/python"), '#!/bin/sh\nprintf "%s\\n" "$QNN_SDK_ROOT" "$@"; exit 7\n', executable=True)

    done = run("executorch", built, sdk, "--device", "gpu", "--match", "add", "--first", "3", "--limit", "9", "--tsv", "t", "--list")
    assert done.returncode == 7, done
    root, script, *arguments = done.stdout.splitlines()
    given = dict(zip(arguments[0:-1:2], arguments[1::2]))
    assert root == sdk and script == os.path.join(SUITES, "executorch_suite.py") and arguments[-1] == "--list", done
    wanted = {"--backend": "gpu", "--match": "add", "--count": "3", "--limit": "9", "--tsv": "t"}
    assert wanted.items() <= given.items(), given
    assert "--count" not in run("executorch", built, sdk).stdout


def check_refusals(folder, sdk):
    for client, arguments, wanted in (("mnn", ("--source", folder), "SUITE_BUILD"), ("mnn", ("--out", folder), "SUITE_BUILD"),
                                      ("ggml-qnn", (), "SUITE_SRC"), ("mnn", ("--device", "dsp"), "unit-high")):
        done = run(client, os.path.join(folder, "mnn"), sdk, *arguments)
        assert done.returncode == 1 and wanted in done.stderr, (client, arguments, done)
    done = run("mnn", folder, sdk)
    assert done.returncode == 1 and "has no CMakeCache.txt" in done.stderr, done


def main():
    with tempfile.TemporaryDirectory() as folder:
        sdk = os.path.join(folder, "sdk")
        write(os.path.join(sdk, "lib/x86_64-linux-clang/libQnnHtp.so"), "")
        check_mnn(folder, sdk)
        check_mnn_models(folder, sdk)
        check_litert(folder, sdk)
        check_onnxruntime(folder, sdk)
        check_executorch(folder, sdk)
        check_refusals(folder, sdk)


if __name__ == "__main__":
    main()
