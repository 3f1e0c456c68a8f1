/* SPDX-License-Identifier: Apache-2.0 */
// A QNN client in C++17: the same journey as ../client_c with owners for handles, a residual network, and a binary that goes
// through a file.
//
//     client_cpp path/to/libQnnCpu.so path/to/libQnnSystem.so
//
//     image uq8[1,16,16,4] -> conv a -> relu -> conv b -> (+ relu) -> average pool -> fully connected -> softmax uq8[1,5]
#include <dlfcn.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "QnnInterface.h"
#include "QnnOpDef.h"
#include "System/QnnSystemInterface.h"

namespace
{

constexpr uint32_t kSize = 16, kChannels = 4, kClasses = 5;

class Library
{
  public:
    explicit Library(const char *path) : handle_(dlopen(path, RTLD_NOW | RTLD_LOCAL), dlclose)
    {
        if (!handle_)
            throw std::runtime_error(dlerror());
    }
    template <typename Function> Function symbol(const char *name) const
    {
        auto found = reinterpret_cast<Function>(dlsym(handle_.get(), name));
        if (!found)
            throw std::runtime_error(std::string(name) + " is missing");
        return found;
    }

  private:
    std::unique_ptr<void, int (*)(void *)> handle_;
};

// A backend library, its table, and one backend handle.
class Backend
{
  public:
    explicit Backend(const char *path) : library_(path)
    {
        const QnnInterface_t **list = nullptr;
        uint32_t n = 0;
        auto get = library_.symbol<decltype(&QnnInterface_getProviders)>("QnnInterface_getProviders");
        if (get(&list, &n) != QNN_SUCCESS || n == 0)
            throw std::runtime_error("no provider");
        const Qnn_Version_t v = list[0]->apiVersion.coreApiVersion;
        if (v.major != QNN_API_VERSION_MAJOR || v.minor < QNN_API_VERSION_MINOR)
            throw std::runtime_error("the backend is older than these headers");
        api = list[0]->QNN_INTERFACE_VER_NAME;
        check(api.backendCreate(nullptr, nullptr, &handle), "backendCreate");
    }
    ~Backend()
    {
        api.backendFree(handle);
    }
    Backend(const Backend &) = delete;
    Backend &operator=(const Backend &) = delete;

    void check(Qnn_ErrorHandle_t error, const std::string &what) const
    {
        if (error == QNN_SUCCESS)
            return;
        const char *text = nullptr;
        std::string why;
        if (api.errorGetVerboseMessage(error, &text) == QNN_SUCCESS && text) {
            why = text;
            api.errorFreeVerboseMessage(text);
        }
        throw std::runtime_error(what + ": error " + std::to_string(QNN_GET_ERROR_CODE(error)) + " " + why);
    }

  private:
    Library library_;

  public:
    QNN_INTERFACE_VER_TYPE api{};
    Qnn_BackendHandle_t handle = nullptr;
};

// A context that is freed with its owner.
class Context
{
  public:
    explicit Context(const Backend &b) : backend_(b)
    {
        b.check(b.api.contextCreate(b.handle, nullptr, nullptr, &handle), "contextCreate");
    }
    Context(const Backend &b, const std::vector<char> &binary) : backend_(b)
    {
        b.check(b.api.contextCreateFromBinary(b.handle, nullptr, nullptr, binary.data(), binary.size(), &handle, nullptr),
                "contextCreateFromBinary");
    }
    ~Context()
    {
        backend_.api.contextFree(handle, nullptr);
    }
    Context(const Context &) = delete;
    Context &operator=(const Context &) = delete;

    std::vector<char> binary() const
    {
        Qnn_ContextBinarySize_t size = 0, written = 0;
        backend_.check(backend_.api.contextGetBinarySize(handle, &size), "contextGetBinarySize");
        std::vector<char> data(size);
        backend_.check(backend_.api.contextGetBinary(handle, data.data(), size, &written), "contextGetBinary");
        data.resize(written);
        return data;
    }

  private:
    const Backend &backend_;

  public:
    Qnn_ContextHandle_t handle = nullptr;
};

// Builds one graph. Tensors live in a list that does not move: op configurations hold copies of the structs, which point
// into it.
class GraphBuilder
{
  public:
    GraphBuilder(const Backend &b, const Context &context, const char *name) : backend_(b)
    {
        b.check(b.api.graphCreate(context.handle, name, nullptr, &graph), "graphCreate");
    }

    Qnn_Tensor_t activation(const char *name, Qnn_TensorType_t type, std::vector<uint32_t> dims, float scale, int32_t offset)
    {
        Qnn_Tensor_t t = make(name, type, QNN_DATATYPE_UFIXED_POINT_8, std::move(dims));
        encode(t, scale, offset);
        return create(t);
    }

    Qnn_Tensor_t weights(const char *name, std::vector<uint32_t> dims, float scale, uint32_t seed)
    {
        size_t n = 1;
        for (uint32_t d : dims)
            n *= d;
        std::vector<int8_t> data(n);
        for (int8_t &w : data)
            w = static_cast<int8_t>((seed = seed * 1664525u + 1013904223u) >> 24);
        Qnn_Tensor_t t = make(name, QNN_TENSOR_TYPE_STATIC, QNN_DATATYPE_SFIXED_POINT_8, std::move(dims));
        encode(t, scale, 0);
        t = create_static(t, data.data(), data.size()); // the data is copied by the call
        t.v1.clientBuf = { nullptr, 0 };
        return t;
    }

    Qnn_Param_t table(const char *param, const std::string &tensor, std::vector<uint32_t> values)
    {
        Qnn_Param_t p = QNN_PARAM_INIT;
        names_.push_back(std::make_unique<std::string>(tensor));
        p.paramType = QNN_PARAMTYPE_TENSOR;
        p.name = param;
        std::vector<uint32_t> dims = values.size() == 2 ? std::vector<uint32_t>{ 2 } : std::vector<uint32_t>{ 2, 2 };
        Qnn_Tensor_t t = make(names_.back()->c_str(), QNN_TENSOR_TYPE_STATIC, QNN_DATATYPE_UINT_32, std::move(dims));
        values_.push_back(std::make_unique<std::vector<uint32_t>>(std::move(values))); // read again when the node is added
        p.tensorParam = create_static(t, values_.back()->data(), values_.back()->size() * sizeof(uint32_t));
        return p;
    }

    void node(const char *name, const char *type, std::vector<Qnn_Tensor_t> in, Qnn_Tensor_t out,
              std::vector<Qnn_Param_t> params = {})
    {
        Qnn_OpConfig_t op = QNN_OPCONFIG_INIT;
        op.v1 = { name,          QNN_OP_PACKAGE_NAME_QTI_AISW,     type,      static_cast<uint32_t>(params.size()),
                  params.data(), static_cast<uint32_t>(in.size()), in.data(), 1,
                  &out };
        backend_.check(backend_.api.backendValidateOpConfig(backend_.handle, op), name);
        backend_.check(backend_.api.graphAddNode(graph, op), name);
    }

    void finalize()
    {
        backend_.check(backend_.api.graphFinalize(graph, nullptr, nullptr), "graphFinalize");
    }

  private:
    Qnn_Tensor_t make(const char *name, Qnn_TensorType_t type, Qnn_DataType_t data_type, std::vector<uint32_t> dims)
    {
        Qnn_Tensor_t t = QNN_TENSOR_INIT;
        dims_.push_back(std::make_unique<std::vector<uint32_t>>(std::move(dims)));
        t.v1.name = name;
        t.v1.type = type;
        t.v1.dataType = data_type;
        t.v1.rank = static_cast<uint32_t>(dims_.back()->size());
        t.v1.dimensions = dims_.back()->data();
        t.v1.memType = QNN_TENSORMEMTYPE_RAW;
        return t;
    }
    static void encode(Qnn_Tensor_t &t, float scale, int32_t offset)
    {
        t.v1.quantizeParams.encodingDefinition = QNN_DEFINITION_DEFINED;
        t.v1.quantizeParams.quantizationEncoding = QNN_QUANTIZATION_ENCODING_SCALE_OFFSET;
        t.v1.quantizeParams.scaleOffsetEncoding = { scale, offset };
    }
    Qnn_Tensor_t create(Qnn_Tensor_t t)
    {
        backend_.check(backend_.api.tensorCreateGraphTensor(graph, &t), t.v1.name);
        return t;
    }
    Qnn_Tensor_t create_static(Qnn_Tensor_t t, void *data, size_t size)
    {
        t.v1.clientBuf = { data, static_cast<uint32_t>(size) };
        return create(t);
    }

    const Backend &backend_;
    std::vector<std::unique_ptr<std::vector<uint32_t>>> dims_, values_;
    std::vector<std::unique_ptr<std::string>> names_;

  public:
    Qnn_GraphHandle_t graph = nullptr;
};

Qnn_GraphHandle_t compose(const Backend &backend, const Context &context)
{
    GraphBuilder g(backend, context, "residual");
    const std::vector<uint32_t> full = { 1, kSize, kSize, kChannels };
    auto conv_params = [&g](const std::string &name) {
        return std::vector<Qnn_Param_t>{ g.table(QNN_OP_CONV_2D_PARAM_STRIDE, name + "_stride", { 1, 1 }),
                                         g.table(QNN_OP_CONV_2D_PARAM_PAD_AMOUNT, name + "_pad", { 1, 1, 1, 1 }) };
    };
    Qnn_Tensor_t image = g.activation("image", QNN_TENSOR_TYPE_APP_WRITE, full, 1.0f / 255, 0);
    Qnn_Tensor_t a = g.activation("a", QNN_TENSOR_TYPE_NATIVE, full, 0.02f, -120);
    Qnn_Tensor_t r = g.activation("r", QNN_TENSOR_TYPE_NATIVE, full, 0.01f, 0);
    Qnn_Tensor_t b = g.activation("b", QNN_TENSOR_TYPE_NATIVE, full, 0.03f, -128);
    Qnn_Tensor_t sum = g.activation("sum", QNN_TENSOR_TYPE_NATIVE, full, 0.04f, -100);
    Qnn_Tensor_t mean = g.activation("mean", QNN_TENSOR_TYPE_NATIVE, { 1, 1, 1, kChannels }, 0.02f, -100);
    Qnn_Tensor_t logits = g.activation("logits", QNN_TENSOR_TYPE_NATIVE, { 1, kClasses }, 0.02f, -128);
    Qnn_Tensor_t scores = g.activation("scores", QNN_TENSOR_TYPE_APP_READ, { 1, kClasses }, 1.0f / 256, 0);

    g.node("conv_a", QNN_OP_CONV_2D, { image, g.weights("weight_a", { 3, 3, kChannels, kChannels }, 0.002f, 1) }, a,
           conv_params("conv_a"));
    g.node("relu", QNN_OP_RELU, { a }, r);
    g.node("conv_b", QNN_OP_CONV_2D, { r, g.weights("weight_b", { 3, 3, kChannels, kChannels }, 0.002f, 2) }, b,
           conv_params("conv_b"));
    g.node("add", QNN_OP_ELEMENT_WISE_ADD, { b, r }, sum);
    g.node("pool", QNN_OP_POOL_AVG_2D, { sum }, mean,
           { g.table(QNN_OP_POOL_AVG_2D_PARAM_FILTER_SIZE, "pool_size", { kSize, kSize }),
             g.table(QNN_OP_POOL_AVG_2D_PARAM_STRIDE, "pool_stride", { kSize, kSize }),
             g.table(QNN_OP_POOL_AVG_2D_PARAM_PAD_AMOUNT, "pool_pad", { 0, 0, 0, 0 }) });
    g.node("fc", QNN_OP_FULLY_CONNECTED, { mean, g.weights("weight_fc", { kClasses, kChannels }, 0.02f, 3) }, logits);
    g.node("softmax", QNN_OP_SOFTMAX, { logits }, scores);
    g.finalize();
    return g.graph;
}

using Scores = std::array<uint8_t, kClasses>;

Scores execute(const Backend &backend, Qnn_GraphHandle_t graph, const QnnSystemContext_GraphInfoV1_t &info)
{
    std::vector<uint8_t> image(kSize * kSize * kChannels);
    for (size_t i = 0; i < image.size(); i++)
        image[i] = static_cast<uint8_t>(i * 73 % 251);
    Scores scores{};
    Qnn_Tensor_t in = info.graphInputs[0], out = info.graphOutputs[0];
    in.v1.memType = out.v1.memType = QNN_TENSORMEMTYPE_RAW;
    in.v1.clientBuf = { image.data(), static_cast<uint32_t>(image.size()) };
    out.v1.clientBuf = { scores.data(), static_cast<uint32_t>(scores.size()) };
    backend.check(backend.api.graphExecute(graph, &in, 1, &out, 1, nullptr, nullptr), "graphExecute");
    return scores;
}

// What a binary says about its first graph; the description lives as long as the reader.
class Reader
{
  public:
    Reader(const char *path, std::vector<char> &binary) : library_(path)
    {
        const QnnSystemInterface_t **list = nullptr;
        const QnnSystemContext_BinaryInfo_t *info = nullptr;
        Qnn_ContextBinarySize_t size = 0;
        uint32_t n = 0;
        auto get = library_.symbol<decltype(&QnnSystemInterface_getProviders)>("QnnSystemInterface_getProviders");
        if (get(&list, &n) != QNN_SUCCESS || n == 0)
            throw std::runtime_error("no provider in the system library");
        api_ = list[0]->QNN_SYSTEM_INTERFACE_VER_NAME;
        if (api_.systemContextCreate(&handle_) != QNN_SUCCESS ||
            api_.systemContextGetBinaryInfo(handle_, binary.data(), binary.size(), &info, &size) != QNN_SUCCESS)
            throw std::runtime_error("the binary cannot be described");
        const bool third = info->version == QNN_SYSTEM_CONTEXT_BINARY_INFO_VERSION_3;
        graph = (third ? info->contextBinaryInfoV3.graphs : info->contextBinaryInfoV1.graphs)->graphInfoV1;
    }
    ~Reader()
    {
        api_.systemContextFree(handle_);
    }
    Reader(const Reader &) = delete;
    Reader &operator=(const Reader &) = delete;

  private:
    Library library_;
    QNN_SYSTEM_INTERFACE_VER_TYPE api_{};
    QnnSystemContext_Handle_t handle_ = nullptr;

  public:
    QnnSystemContext_GraphInfoV1_t graph{};
};

// Through a file, as an application would ship it.
std::vector<char> through_file(const std::vector<char> &data, const char *path)
{
    std::ofstream(path, std::ios::binary).write(data.data(), static_cast<std::streamsize>(data.size()));
    std::ifstream in(path, std::ios::binary);
    std::vector<char> back{ std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>() };
    std::remove(path);
    return back;
}

void print(const char *title, const Scores &s)
{
    std::printf("%-9s", title);
    for (uint8_t v : s)
        std::printf(" %3u", v);
    std::printf("\n");
}

int run(const char *backend_path, const char *system_path)
{
    Backend backend(backend_path);
    std::vector<char> binary;
    Scores first, second;
    {
        Context context(backend);
        Qnn_GraphHandle_t graph = compose(backend, context);
        binary = context.binary();
        first = execute(backend, graph, Reader(system_path, binary).graph);
    }
    std::vector<char> loaded = through_file(binary, "client_cpp_context.bin");
    {
        Context context(backend, loaded);
        Reader reader(system_path, loaded);
        Qnn_GraphHandle_t graph = nullptr;
        backend.check(backend.api.graphRetrieve(context.handle, reader.graph.graphName, &graph), "graphRetrieve");
        second = execute(backend, graph, reader.graph);
    }
    print("composed", first);
    print("loaded", second);
    std::printf("context binary of %zu bytes; %s\n", binary.size(), first == second ? "same bits" : "DIFFERENT");
    return first == second ? 0 : 1;
}

} // namespace

int main(int argc, char **argv)
{
    if (argc != 3) {
        std::fprintf(stderr, "usage: %s path/to/libQnnCpu.so path/to/libQnnSystem.so\n", argv[0]);
        return 2;
    }
    try {
        return run(argv[1], argv[2]);
    } catch (const std::exception &e) {
        std::fprintf(stderr, "%s\n", e.what());
        return 1;
    }
}
