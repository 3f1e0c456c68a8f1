/* SPDX-License-Identifier: Apache-2.0 */
// Goes on with a context binary that is not the best one for the device while a better one is prepared in another thread,
// and changes over between two inferences. Without a usable binary it prepares a fast one first.
//
//     reprepare path/to/libQnnHtp.so model.bin              run on a device with the SoC SM8550
//     reprepare path/to/libQnnHtp.so model.bin --make 93    only write the binary, for SoC 93 (QCM6490)
#include <dlfcn.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <future>
#include <iterator>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "HTP/QnnHtpContext.h"
#include "HTP/QnnHtpDevice.h"
#include "HTP/QnnHtpGraph.h"
#include "QnnInterface.h"
#include "QnnOpDef.h"

namespace
{

constexpr uint32_t kSoc = 43, kValues = 64, kLayers = 4;
constexpr int kFast = 1, kBest = 3, kLater = 3 /* inferences after the change */;

QNN_INTERFACE_VER_TYPE qnn;
Qnn_BackendHandle_t backend;

void check(Qnn_ErrorHandle_t error, const char *what)
{
    const char *text = nullptr;
    if (error == QNN_SUCCESS)
        return;
    std::string why = qnn.errorGetVerboseMessage(error, &text) == QNN_SUCCESS && text ? text : "";
    throw std::runtime_error(std::string(what) + ": " + std::to_string(QNN_GET_ERROR_CODE(error)) + " " + why);
}

void open_library(const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        throw std::runtime_error(dlerror());
    auto get = reinterpret_cast<decltype(&QnnInterface_getProviders)>(dlsym(library, "QnnInterface_getProviders"));
    const QnnInterface_t **list = nullptr;
    uint32_t n = 0;
    if (!get || get(&list, &n) != QNN_SUCCESS || n == 0)
        throw std::runtime_error("no interface provider");
    qnn = list[0]->QNN_INTERFACE_VER_NAME;
    check(qnn.backendCreate(nullptr, nullptr, &backend), "backendCreate");
}

Qnn_DeviceHandle_t make_device(uint32_t soc)
{
    QnnHtpDevice_CustomConfig_t custom{};
    custom.option = QNN_HTP_DEVICE_CONFIG_OPTION_SOC;
    custom.socModel = soc;
    QnnDevice_Config_t config{};
    config.option = QNN_DEVICE_CONFIG_OPTION_CUSTOM;
    config.customConfig = &custom;
    const QnnDevice_Config_t *list[] = { &config, nullptr };
    Qnn_DeviceHandle_t device = nullptr;
    check(qnn.deviceCreate(nullptr, list, &device), "deviceCreate");
    return device;
}

// ---- files -------------------------------------------------------------------------------------------------------------

std::vector<char> read_file(const std::string &path)
{
    std::ifstream in(path, std::ios::binary);
    return { std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>() };
}

// Another start of the program finds the old file or the new one, never a part.
void write_file(const std::string &path, const std::vector<char> &bytes)
{
    std::string part = path + ".part";
    std::ofstream out(part, std::ios::binary);
    out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    out.close();
    if (!out || std::rename(part.c_str(), path.c_str()) != 0)
        throw std::runtime_error("cannot write " + path);
}

// ---- the network: four fully connected layers ---------------------------------------------------------------------------

Qnn_Tensor_t tensor(const char *name, Qnn_TensorType_t type, std::vector<uint32_t> &dims)
{
    Qnn_Tensor_t t = QNN_TENSOR_INIT;
    t.version = QNN_TENSOR_VERSION_1;
    t.v1.name = name;
    t.v1.type = type;
    t.v1.dataType = QNN_DATATYPE_UFIXED_POINT_8;
    t.v1.rank = static_cast<uint32_t>(dims.size());
    t.v1.dimensions = dims.data();
    t.v1.quantizeParams.encodingDefinition = QNN_DEFINITION_DEFINED;
    t.v1.quantizeParams.quantizationEncoding = QNN_QUANTIZATION_ENCODING_SCALE_OFFSET;
    t.v1.quantizeParams.scaleOffsetEncoding = { 0.02f, -128 };
    return t;
}

void compose(Qnn_GraphHandle_t graph)
{
    std::vector<uint32_t> shape{ 1, kValues }, square{ kValues, kValues };
    std::vector<uint8_t> data(kValues * kValues);
    Qnn_Tensor_t x = tensor("x", QNN_TENSOR_TYPE_APP_WRITE, shape);
    check(qnn.tensorCreateGraphTensor(graph, &x), "tensorCreateGraphTensor");
    for (uint32_t layer = 0; layer < kLayers; layer++) {
        bool last = layer + 1 == kLayers;
        std::string number = std::to_string(layer), w_name = "w" + number, y_name = last ? "y" : "t" + number;
        for (size_t i = 0; i < data.size(); i++)
            data[i] = static_cast<uint8_t>(128 + (i * 37 + layer * 11) % 17 - 8);
        Qnn_Tensor_t w = tensor(w_name.c_str(), QNN_TENSOR_TYPE_STATIC, square);
        w.v1.clientBuf = { data.data(), static_cast<uint32_t>(data.size()) };
        Qnn_Tensor_t y = tensor(y_name.c_str(), last ? QNN_TENSOR_TYPE_APP_READ : QNN_TENSOR_TYPE_NATIVE, shape);
        check(qnn.tensorCreateGraphTensor(graph, &w), "tensorCreateGraphTensor");
        check(qnn.tensorCreateGraphTensor(graph, &y), "tensorCreateGraphTensor");
        Qnn_Tensor_t in[] = { x, w }, out[] = { y };
        Qnn_OpConfig_t op = QNN_OPCONFIG_INIT;
        std::string name = "layer" + number;
        op.v1.name = name.c_str();
        op.v1.packageName = QNN_OP_PACKAGE_NAME_QTI_AISW;
        op.v1.typeName = QNN_OP_FULLY_CONNECTED;
        op.v1.numOfInputs = 2;
        op.v1.inputTensors = in;
        op.v1.numOfOutputs = 1;
        op.v1.outputTensors = out;
        check(qnn.graphAddNode(graph, op), "graphAddNode");
        x = y;
    }
}

std::array<uint8_t, kValues> infer(Qnn_ContextHandle_t context)
{
    std::vector<uint32_t> shape{ 1, kValues };
    std::array<uint8_t, kValues> x{}, y{};
    for (uint32_t i = 0; i < kValues; i++)
        x[i] = static_cast<uint8_t>(i * 4);
    Qnn_GraphHandle_t graph = nullptr;
    check(qnn.graphRetrieve(context, "model", &graph), "graphRetrieve");
    Qnn_Tensor_t in = tensor("x", QNN_TENSOR_TYPE_APP_WRITE, shape), out = tensor("y", QNN_TENSOR_TYPE_APP_READ, shape);
    in.v1.id = 1; // the first tensor that was created, and the last
    out.v1.id = 1 + 2 * kLayers;
    in.v1.clientBuf = { x.data(), kValues };
    out.v1.clientBuf = { y.data(), kValues };
    check(qnn.graphExecute(graph, &in, 1, &out, 1, nullptr, nullptr), "graphExecute");
    return y;
}

// ---- contexts ----------------------------------------------------------------------------------------------------------

// With all VTCM of the device; level: how long the compiler looks for something better. Empty path: not saved.
Qnn_ContextHandle_t prepare(Qnn_DeviceHandle_t device, int level, const std::string &path, bool only_prepare)
{
    QnnHtpContext_CustomConfig_t only{};
    only.option = QNN_HTP_CONTEXT_CONFIG_OPTION_PREPARE_ONLY;
    only.isPrepareOnly = only_prepare;
    QnnContext_Config_t context_config{};
    context_config.option = QNN_CONTEXT_CONFIG_OPTION_CUSTOM;
    context_config.customConfig = &only;
    const QnnContext_Config_t *context_list[] = { &context_config, nullptr };

    QnnHtpGraph_CustomConfig_t optimization{}, vtcm{};
    optimization.option = QNN_HTP_GRAPH_CONFIG_OPTION_OPTIMIZATION;
    optimization.optimizationOption = { QNN_HTP_GRAPH_OPTIMIZATION_TYPE_FINALIZE_OPTIMIZATION_FLAG,
                                        static_cast<float>(level) };
    vtcm.option = QNN_HTP_GRAPH_CONFIG_OPTION_VTCM_SIZE;
    vtcm.vtcmSizeInMB = QNN_HTP_GRAPH_CONFIG_OPTION_MAX;
    QnnGraph_Config_t configs[2]{};
    configs[0].option = configs[1].option = QNN_GRAPH_CONFIG_OPTION_CUSTOM;
    configs[0].customConfig = &optimization;
    configs[1].customConfig = &vtcm;
    const QnnGraph_Config_t *graph_list[] = { &configs[0], &configs[1], nullptr };

    Qnn_ContextHandle_t context = nullptr;
    Qnn_GraphHandle_t graph = nullptr;
    check(qnn.contextCreate(backend, device, context_list, &context), "contextCreate");
    check(qnn.graphCreate(context, "model", graph_list, &graph), "graphCreate");
    compose(graph);
    check(qnn.graphFinalize(graph, nullptr, nullptr), "graphFinalize");
    if (path.empty())
        return context;

    Qnn_ContextBinarySize_t size = 0;
    check(qnn.contextGetBinarySize(context, &size), "contextGetBinarySize");
    std::vector<char> bytes(size);
    check(qnn.contextGetBinary(context, bytes.data(), size, &size), "contextGetBinary");
    bytes.resize(size);
    write_file(path, bytes);
    return context;
}

Qnn_ErrorHandle_t load(Qnn_DeviceHandle_t device, const std::vector<char> &bytes, QnnContext_BinaryCompatibilityType_t type,
                       Qnn_ContextHandle_t *ret)
{
    QnnContext_Config_t config{};
    config.option = QNN_CONTEXT_CONFIG_BINARY_COMPATIBILITY;
    config.binaryCompatibilityType = type;
    const QnnContext_Config_t *list[] = { &config, nullptr };
    return qnn.contextCreateFromBinary(backend, device, list, bytes.data(), bytes.size(), ret, nullptr);
}

void run(const std::string &path)
{
    Qnn_DeviceHandle_t device = make_device(kSoc);
    Qnn_ContextHandle_t context = nullptr;
    std::future<Qnn_ContextHandle_t> better;
    std::vector<char> bytes = read_file(path);

    Qnn_ErrorHandle_t error = load(device, bytes, QNN_CONTEXT_BINARY_COMPATIBILITY_STRICT, &context);
    switch (QNN_GET_ERROR_CODE(error)) {
    case QNN_SUCCESS: std::puts("the binary is the best one for this device"); break;
    case QNN_CONTEXT_ERROR_BINARY_SUBOPTIMAL:
        std::puts("the binary is suboptimal: it is used until a better one is prepared");
        check(load(device, bytes, QNN_CONTEXT_BINARY_COMPATIBILITY_PERMISSIVE, &context), "contextCreateFromBinary");
        break;
    default: // damaged, missing, or for other hardware
        std::puts("the binary cannot be used: a fast one is prepared first");
        context = prepare(device, kFast, "", false);
    }
    if (error != QNN_SUCCESS)
        better = std::async(std::launch::async, prepare, device, kBest, path, false);

    const auto expected = infer(context);
    unsigned before = 1, after = 0;
    while (better.valid() || after < kLater) {
        bool ready = better.valid() && better.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
        if (ready) {
            Qnn_ContextHandle_t former = std::exchange(context, better.get());
            check(qnn.contextFree(former, nullptr), "contextFree");
            std::puts("changed over to the better one, and saved it");
        }
        if (infer(context) != expected)
            throw std::runtime_error("the results differ");
        (better.valid() ? before : after)++;
    }
    std::printf("%u inferences, then %u; all results are equal\n", before, after);
    check(qnn.contextFree(context, nullptr), "contextFree");
    check(qnn.deviceFree(device), "deviceFree");
}

} // namespace

int main(int argc, char **argv)
{
    bool make = argc == 5 && std::string(argv[3]) == "--make";
    if (argc != 3 && !make) {
        std::fprintf(stderr, "usage: reprepare LIBRARY FILE [--make SOC]\n");
        return 2;
    }
    try {
        open_library(argv[1]);
        if (make) {
            Qnn_DeviceHandle_t device = make_device(static_cast<uint32_t>(std::atoi(argv[4])));
            check(qnn.contextFree(prepare(device, kBest, argv[2], true), nullptr), "contextFree");
            check(qnn.deviceFree(device), "deviceFree");
        } else {
            run(argv[2]);
        }
        check(qnn.backendFree(backend), "backendFree");
    } catch (const std::exception &e) {
        std::fprintf(stderr, "reprepare: %s\n", e.what());
        return 1;
    }
    return 0;
}
