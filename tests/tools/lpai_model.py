# SPDX-License-Identifier: Apache-2.0
"""A fixed-point model library for the tests of the LPAI tools: y = relu(x0) + x1 + ... over N elements, with any number of inputs; or the last frames of
x0 when it has a window."""

import json
import os

import support

LPAI = os.path.join(support.LIB, "libQnnLpai.so")
EXTENSION = os.path.join(support.BIN, "libQnnLpaiNetRunExtensions.so")

SOURCE = r"""
#include "QnnModelLib.h"
#include "QnnOpDef.h"

static uint32_t dims[] = {1, @N@}, y_dims[] = {@WINDOW@, @N@};
static Qnn_Tensor_t tensor(const char *name, Qnn_TensorType_t type)
{
    Qnn_Tensor_t t = QNN_TENSOR_INIT;
    t.v1.name = name;
    t.v1.type = type;
    t.v1.dataType = QNN_DATATYPE_UFIXED_POINT_8;
    t.v1.rank = 2;
    t.v1.dimensions = type == QNN_TENSOR_TYPE_APP_READ ? y_dims : dims;
    t.v1.quantizeParams.encodingDefinition = QNN_DEFINITION_DEFINED;
    t.v1.quantizeParams.quantizationEncoding = QNN_QUANTIZATION_ENCODING_SCALE_OFFSET;
    t.v1.quantizeParams.scaleOffsetEncoding = (Qnn_ScaleOffset_t){0.5f, -10};
    return t;
}

static int node(QNN_INTERFACE_VER_TYPE *api, Qnn_GraphHandle_t g, const char *name, const char *type, uint32_t n, Qnn_Tensor_t *in, Qnn_Tensor_t *out)
{
    Qnn_OpConfig_t op = QNN_OPCONFIG_INIT;
    op.v1.name = name;
    op.v1.packageName = QNN_OP_PACKAGE_NAME_QTI_AISW;
    op.v1.typeName = type;
    op.v1.numOfInputs = n;
    op.v1.inputTensors = in;
    op.v1.numOfOutputs = 1;
    op.v1.outputTensors = out;
    Qnn_Param_t params[2] = {{.paramType = QNN_PARAMTYPE_SCALAR, .name = QNN_OP_BUFFER_PARAM_BUFFER_SIZE},
                             {.paramType = QNN_PARAMTYPE_SCALAR, .name = QNN_OP_BUFFER_PARAM_BUFFER_DIM}};
    params[0].scalarParam = (Qnn_Scalar_t){.dataType = QNN_DATATYPE_UINT_32, .uint32Value = @WINDOW@};
    params[1].scalarParam = (Qnn_Scalar_t){.dataType = QNN_DATATYPE_UINT_32, .uint32Value = 0};
    op.v1.params = params;
    op.v1.numOfParams = @WINDOW@ > 1 ? 2 : 0;
    return api->graphAddNode(g, op) != 0;
}

static const char *const names[] = {@NAMES@};
enum { INPUTS = sizeof names / sizeof names[0] };
static const char *const sums[] = {@SUMS@};
static Qnn_Tensor_t inputs[INPUTS], output;
static GraphInfo_t graph;
static GraphInfo_t *list[] = {&graph};

ModelError_t QnnModel_composeGraphs(Qnn_BackendHandle_t backend, QNN_INTERFACE_VER_TYPE api, Qnn_ContextHandle_t context, const GraphConfigInfo_t **configs,
                                    const uint32_t n_configs, GraphInfoPtr_t **infos, uint32_t *n, bool debug, QnnLog_Callback_t log, QnnLog_Level_t level)
{
    (void)backend, (void)configs, (void)n_configs, (void)debug, (void)log, (void)level;
    Qnn_GraphHandle_t g;
    if (api.graphCreate(context, "net", NULL, &g)) return MODEL_GRAPH_ERROR;
    for (int i = 0; i < INPUTS; i++) {
        inputs[i] = tensor(names[i], QNN_TENSOR_TYPE_APP_WRITE);
        if (api.tensorCreateGraphTensor(g, &inputs[i])) return MODEL_TENSOR_ERROR;
    }
    Qnn_Tensor_t pair[2];
    output = tensor("y", QNN_TENSOR_TYPE_APP_READ);
    if (api.tensorCreateGraphTensor(g, &output)) return MODEL_TENSOR_ERROR;
    pair[0] = INPUTS == 1 ? output : tensor("relu_out", QNN_TENSOR_TYPE_NATIVE);
    if (INPUTS > 1 && api.tensorCreateGraphTensor(g, &pair[0])) return MODEL_TENSOR_ERROR;
    if (node(&api, g, "first", @WINDOW@ > 1 ? QNN_OP_BUFFER : QNN_OP_RELU, 1, inputs, pair)) return MODEL_NODES_ERROR;
    for (int i = 1; i < INPUTS; i++) {
        pair[1] = inputs[i];
        Qnn_Tensor_t sum = i == INPUTS - 1 ? output : tensor(sums[i], QNN_TENSOR_TYPE_NATIVE);
        if (i < INPUTS - 1 && api.tensorCreateGraphTensor(g, &sum)) return MODEL_TENSOR_ERROR;
        if (node(&api, g, sums[i], QNN_OP_ELEMENT_WISE_ADD, 2, pair, &sum)) return MODEL_NODES_ERROR;
        pair[0] = sum;
    }
    graph = (GraphInfo_t){g, (char *)"net", inputs, INPUTS, &output, 1};
    *infos = list;
    *n = 1;
    return MODEL_NO_ERROR;
}

ModelError_t QnnModel_freeGraphsInfo(GraphInfoPtr_t **infos, uint32_t n)
{
    (void)n;
    *infos = 0;
    return MODEL_NO_ERROR;
}
"""


class LpaiTest(support.ToolTest):
    """Builds models and configuration files, and runs the tools with the LPAI backend."""

    def model(self, inputs=1, elements=100, window=1):
        names = ", ".join('"x%d"' % i for i in range(inputs))
        sums = ", ".join('"sum%d"' % i for i in range(inputs))
        text = SOURCE.replace("@N@", str(elements)).replace("@NAMES@", names).replace("@SUMS@", sums).replace("@WINDOW@", str(window))
        self.succeeds("qnn-model-lib-generator", "-c", self.write("net.c", text), "-l", "net", "-o", "libs")
        return self.path("libs", "x86_64-linux-clang", "libnet.so")

    def inputs(self, inputs=1, elements=100):
        """Native files of every input, and what y must be (real = (q - 10) / 2)."""
        data = [bytes((i * 7 + k) % 23 for k in range(elements)) for i in range(inputs)]
        for i, values in enumerate(data):
            self.write("x%d.raw" % i, values)
        self.write("list.txt", " ".join("x%d.raw" % i for i in range(inputs)) + "\n")
        want = []
        for k in range(elements):
            q = max(data[0][k], 10)
            for i in range(1, inputs):
                q = min(255, max(0, q + data[i][k] - 10))
            want.append(q)
        return bytes(want)

    def config(self, params, name="lpai", persistent=None, extension=EXTENSION):
        """A configuration file of the tools and one of the backend; params is JSON text or a dictionary."""
        self.write(name + ".conf", params if isinstance(params, str) else json.dumps(params))
        top = {"backend_extensions": {"shared_library_path": extension, "config_file_path": name + ".conf"}}
        if persistent is not None:
            top["context_configs"] = {"is_persistent_binary": persistent}
        self.write(name + ".json", json.dumps(top))
        return name + ".json"

    def generate(self, model, *args):
        self.succeeds("qnn-context-binary-generator", "--backend", LPAI, "--model", model, "--binary_file", "net", "--output_dir", "bin", *args)
        return "bin/net.bin"

    def run_args(self, *args):
        return ("qnn-net-run", "--backend", LPAI, "--input_list", "list.txt", "--output_dir", "out", "--use_native_input_files",
                "--use_native_output_files") + args

    def result(self, folder="out", number=0):
        return self.read(folder, "Result_%d" % number, "y.raw")
