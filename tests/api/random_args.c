/* SPDX-License-Identifier: Apache-2.0 */
#include "random_args.h"

#include <math.h>
#include <string.h>

#define ONE_OF(d, array) ((array)[dice_draw((d), COUNT(array))])

static const uint32_t absurd[] = { 0, 1, 9, 64, 65, 4097, 1u << 20, INT32_MAX, 1u << 31, UINT32_MAX - 1, UINT32_MAX };
static const uint32_t lies[] = { 1u << 24, INT32_MAX, 1u << 31, UINT32_MAX - 1, UINT32_MAX };
static const uint32_t types[] = { 0x02,  0x04,  0x08,  0x16,  0x32,  0x64,     0x102,     0x104,     0x108,
                                  0x116, 0x132, 0x164, 0x204, 0x208, 0x216,    0x226,     0x232,     0x264,
                                  0x302, 0x304, 0x308, 0x316, 0x332, 0x402,    0x404,     0x408,     0x416,
                                  0x432, 0x508, 0x608, 0,     1,     0x332211, INT32_MAX, UINT32_MAX };
static const uint32_t usual_types[] = { QNN_DATATYPE_FLOAT_32, QNN_DATATYPE_UFIXED_POINT_8, QNN_DATATYPE_SFIXED_POINT_8,
                                        QNN_DATATYPE_INT_32, QNN_DATATYPE_UINT_32 };
static const char *const param_names[] = {
    "axis",      "axes",          "stride",    "pad_amount",  "dilation", "group",  "perm", "operation",        "epsilon",
    "multiples", "transpose_in0", "keep_dims", "filter_size", "ranges",   "scheme", "",     "no such parameter"
};

static const char *const tensor_names[] = { "t0", "t1", "t2", "t3", "t4", "t5", "t6", "t7", "t8",
                                            "t9", "ta", "tb", "tc", "td", "te", "tf", "tg", "" };

static uint32_t next_of_script(struct dice *d)
{
    d->left--;
    return *d->script++;
}

/* The script's bytes, as many as the number takes; then splitmix64. */
uint32_t dice_draw(struct dice *d, uint32_t below)
{
    if (d->left > 0) {
        uint32_t value = next_of_script(d);
        if (below > 256 && d->left > 0)
            value = value << 8 | next_of_script(d);
        return value % below;
    }

    uint64_t z = d->state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return (uint32_t)((z ^ z >> 31) % below);
}

bool dice_one_in(struct dice *d, uint32_t n)
{
    return dice_draw(d, n) == 0;
}

static void *somewhere(struct dice *d)
{
    return dice_one_in(d, 8) ? NULL : d->ground + 64 * dice_draw(d, GROUND_BYTES / 2 / 64);
}

static float random_scale(struct dice *d)
{
    static const float odd[] = { 0, -1, INFINITY, 1e-45f, 3e38f, 0.5f, 1 };
    return dice_one_in(d, 16) ? NAN : ONE_OF(d, odd);
}

/* Arrays that the struct has no count for: one entry per block of at most 4^5 elements, which the ground has room for. */
static Qnn_QuantizeParams_t random_encoding(struct dice *d)
{
    Qnn_QuantizeParams_t p = QNN_QUANTIZE_PARAMS_INIT;
    uint32_t count = dice_one_in(d, 4) ? ONE_OF(d, lies) : dice_draw(d, 5),
             bits = dice_one_in(d, 3) ? ONE_OF(d, absurd) : 4 + 4 * dice_draw(d, 2);
    int32_t axis = dice_one_in(d, 4) ? (int32_t)ONE_OF(d, absurd) : (int32_t)dice_draw(d, 4);
    void *list = somewhere(d), *more = somewhere(d);
    p.encodingDefinition = (Qnn_Definition_t)(dice_one_in(d, 8) ? dice_draw(d, 4) : QNN_DEFINITION_DEFINED);
    p.quantizationEncoding = (Qnn_QuantizationEncoding_t)dice_draw(d, 15);
    switch (p.quantizationEncoding) {
    case QNN_QUANTIZATION_ENCODING_SCALE_OFFSET:
        p.scaleOffsetEncoding = (Qnn_ScaleOffset_t){ random_scale(d), axis };
        break;
    case QNN_QUANTIZATION_ENCODING_AXIS_SCALE_OFFSET:
        p.axisScaleOffsetEncoding = (Qnn_AxisScaleOffset_t){ axis, count, list };
        break;
    case QNN_QUANTIZATION_ENCODING_BW_SCALE_OFFSET:
        p.bwScaleOffsetEncoding = (Qnn_BwScaleOffset_t){ bits, random_scale(d), axis };
        break;
    case QNN_QUANTIZATION_ENCODING_BW_AXIS_SCALE_OFFSET:
        p.bwAxisScaleOffsetEncoding = (Qnn_BwAxisScaleOffset_t){ bits, axis, count, list, more };
        break;
    case QNN_QUANTIZATION_ENCODING_BLOCK:
        p.blockEncoding = (Qnn_BlockEncoding_t){ list, more };
        break;
    case QNN_QUANTIZATION_ENCODING_BLOCKWISE_EXPANSION: {
        Qnn_BlockwiseExpansion_t e = {
            .axis = axis, .scaleOffsets = list, .numBlocksPerAxis = count, .blockScaleBitwidth = bits, .blocksScale8 = more
        };
        p.blockwiseExpansion = more ? memcpy(d->ground + GROUND_BYTES - sizeof e, &e, sizeof e) : NULL;
        break;
    }
    default:
        break;
    }
    return p;
}

Qnn_Tensor_t random_tensor(struct dice *d)
{
    static const Qnn_TensorType_t roles[] = { QNN_TENSOR_TYPE_APP_WRITE, QNN_TENSOR_TYPE_APP_READ, QNN_TENSOR_TYPE_NATIVE,
                                              QNN_TENSOR_TYPE_STATIC };
    static Qnn_TensorRetrieveRaw_t no_callbacks;
    uint32_t dims[8], rank = dice_draw(d, 6);
    bool wild = dice_one_in(d, 16); /* then nothing that is as long as the tensor has elements */
    for (uint32_t i = 0; i < COUNT(dims); i++)
        dims[i] = wild ? ONE_OF(d, absurd) : 1 + dice_draw(d, 4);
    uint32_t type = dice_one_in(d, 4) ? ONE_OF(d, types) : ONE_OF(d, usual_types);
    Qnn_Tensor_t t = tensor_make(dice_one_in(d, 2) ? QNN_TENSOR_VERSION_1 : QNN_TENSOR_VERSION_2, ONE_OF(d, tensor_names),
                                 ONE_OF(d, roles), (Qnn_DataType_t)type, rank, dims);
    if (!wild && dice_one_in(d, 2))
        TV(t).quantizeParams = random_encoding(d);
    if (TV(t).type == QNN_TENSOR_TYPE_STATIC || dice_one_in(d, 8))
        t = tensor_data(t, somewhere(d), !wild && dice_one_in(d, 4) ? ONE_OF(d, absurd) : 4 * (1 + dice_draw(d, 64)));
    switch (dice_draw(d, 24)) { /* wrong in one place */
    case 0: t.version = (Qnn_TensorVersion_t)ONE_OF(d, absurd); break;
    case 1: TV(t).name = NULL; break;
    case 2: TV(t).type = (Qnn_TensorType_t)(dice_one_in(d, 2) ? dice_draw(d, 15) : ONE_OF(d, absurd)); break;
    case 3: TV(t).rank = ONE_OF(d, lies); break;
    case 4: TV(t).dimensions = NULL; break;
    case 5: TV(t).memType = (Qnn_TensorMemType_t)(dice_one_in(d, 2) ? QNN_TENSORMEMTYPE_MEMHANDLE : INT32_MAX); break;
    case 6: TV(t).dataFormat = ONE_OF(d, absurd); break;
    case 7: TV(t).id = ONE_OF(d, absurd); break;
    case 8:
        if (t.version == QNN_TENSOR_VERSION_2)
            t.v2.isDynamicDimensions = d->ground;
        break;
    case 9:
        if (t.version == QNN_TENSOR_VERSION_2) {
            t.v2.memType = QNN_TENSORMEMTYPE_RETRIEVE_RAW;
            t.v2.retrieveRaw = dice_one_in(d, 2) ? NULL : &no_callbacks;
        }
        break;
    default: break;
    }
    return t;
}

void known_keep(struct known_tensor *k, Qnn_Tensor_t t)
{
    uint32_t rank = TV(t).rank;
    k->t = t;
    if (TV(t).dimensions && rank <= COUNT(k->dims)) {
        memcpy(k->dims, TV(t).dimensions, rank * sizeof *k->dims);
        TV(k->t).dimensions = k->dims;
    } else {
        TV(k->t).dimensions = NULL;
    }
}

Qnn_Tensor_t random_known(struct dice *d, const struct known_tensor *known, uint32_t n)
{
    return n && !dice_one_in(d, 8) ? known[dice_draw(d, n)].t : random_tensor(d);
}

static Qnn_Param_t random_param(struct dice *d, const struct known_tensor *known, uint32_t n_known)
{
    Qnn_Param_t p = QNN_PARAM_INIT;
    p.name = dice_one_in(d, 32) ? NULL : ONE_OF(d, param_names);
    p.paramType = dice_one_in(d, 16) ? (Qnn_ParamType_t)ONE_OF(d, absurd) : (Qnn_ParamType_t)dice_draw(d, 2);
    if (p.paramType == QNN_PARAMTYPE_TENSOR) {
        p.tensorParam = random_known(d, known, n_known);
        return p;
    }
    p.scalarParam.dataType = (Qnn_DataType_t)ONE_OF(d, types);
    p.scalarParam.uint64Value = 0;
    if (p.scalarParam.dataType == QNN_DATATYPE_STRING)
        p.scalarParam.stringValue = dice_one_in(d, 2) ? NULL : "text";
    else
        p.scalarParam.uint32Value = ONE_OF(d, absurd);
    return p;
}

void random_node(struct dice *d, const QnnBackend_OperationName_t *ops, uint32_t n_ops, const struct known_tensor *known,
                 uint32_t n_known, struct node_args *ret)
{
    Qnn_OpConfig_t c = QNN_OPCONFIG_INIT;
    for (uint32_t i = 0; i < ARG_TENSORS; i++) {
        ret->in[i] = random_known(d, known, n_known);
        ret->out[i] = random_known(d, known, n_known);
    }
    for (uint32_t i = 0; i < ARG_PARAMS; i++)
        ret->params[i] = random_param(d, known, n_known);
    c.v1 = (Qnn_OpConfigV1_t){
        .name = ONE_OF(d, tensor_names),
        .packageName = QNN_OP_PACKAGE_NAME_QTI_AISW,
        .typeName = n_ops ? ops[dice_draw(d, n_ops)].name : "Relu",
        .numOfParams = dice_draw(d, ARG_PARAMS + 1),
        .params = ret->params,
        .numOfInputs = 1 + dice_draw(d, 3),
        .inputTensors = ret->in,
        .numOfOutputs = 1,
        .outputTensors = ret->out,
    };
    switch (dice_draw(d, 24)) {
    case 0: c.version = (Qnn_OpConfigVersion_t)ONE_OF(d, absurd); break;
    case 1: c.v1.name = NULL; break;
    case 2: c.v1.packageName = dice_one_in(d, 2) ? NULL : "nowhere"; break;
    case 3: c.v1.typeName = dice_one_in(d, 2) ? NULL : "Nothing"; break;
    case 4: c.v1.params = NULL; break;
    case 5: c.v1.inputTensors = NULL; break;
    case 6: c.v1.outputTensors = NULL; break;
    case 7: c.v1.numOfInputs = ONE_OF(d, lies); break;
    case 8: c.v1.numOfOutputs = ONE_OF(d, lies); break;
    case 9: c.v1.numOfParams = ONE_OF(d, lies); break;
    case 10: c.v1.numOfInputs = dice_draw(d, ARG_TENSORS + 1); break;
    case 11: c.v1.numOfOutputs = dice_draw(d, ARG_TENSORS + 1); break;
    default: break;
    }
    ret->config = c;
}

QnnContext_Config_t random_context_config(struct dice *d)
{
    static const char *const names[] = { "g0", "g1", "", NULL };
    QnnContext_Config_t c = { .option = (QnnContext_ConfigOption_t)(dice_one_in(d, 16) ? ONE_OF(d, absurd)
                                                                                       : 1 + dice_draw(d, 11)) };
    if (c.option == QNN_CONTEXT_CONFIG_OPTION_CUSTOM || dice_one_in(d, 4))
        return c; /* all the rest is zero */
    switch (c.option) {
    case QNN_CONTEXT_CONFIG_OPTION_OEM_STRING: c.oemString = "oem"; break;
    case QNN_CONTEXT_CONFIG_ENABLE_GRAPHS: c.enableGraphs = names; break;
    case QNN_CONTEXT_CONFIG_GRAPH_RETENTION_ORDER: c.graphRetentionOrder = names; break;
    case QNN_CONTEXT_CONFIG_PERSISTENT_BINARY: break; /* the buffer does not stay */
    default: c.memoryLimitHint = dice_one_in(d, 2) ? dice_draw(d, 8) : ONE_OF(d, absurd); break;
    }
    return c;
}

QnnGraph_Config_t random_graph_config(struct dice *d, void *profile)
{
    QnnGraph_Config_t c = { .option =
                                (QnnGraph_ConfigOption_t)(dice_one_in(d, 16) ? ONE_OF(d, absurd) : 3 + dice_draw(d, 5)) };
    if (c.option == QNN_GRAPH_CONFIG_OPTION_PROFILE_HANDLE)
        c.profileHandle = profile;
    else if (c.option != QNN_GRAPH_CONFIG_OPTION_CUSTOM)
        c.numProfilingExecutions = dice_one_in(d, 2) ? dice_draw(d, 4) : ONE_OF(d, absurd);
    return c;
}

Qnn_MemDescriptor_t random_memory(struct dice *d, int fd)
{
    static uint32_t dims[][3] = {
        { 1, 8, 1 }, { 0, 1, 1 }, { UINT32_MAX, UINT32_MAX, UINT32_MAX }, { 1u << 31, 2, 1 }, { 4, 4, 4 }
    };
    Qnn_MemDescriptor_t m = { .memShape = { dice_draw(d, 4), ONE_OF(d, dims), NULL },
                              .dataType = QNN_DATATYPE_FLOAT_32,
                              .memType = QNN_MEM_TYPE_ION,
                              .ionInfo = { fd } };
    switch (dice_draw(d, 12)) {
    case 0: m.memShape.numDim = ONE_OF(d, lies); break;
    case 1: m.memShape.dimSize = NULL; break;
    case 2: m.dataType = (Qnn_DataType_t)ONE_OF(d, types); break;
    case 3: m.memType = (Qnn_MemType_t)(dice_one_in(d, 2) ? QNN_MEM_TYPE_UNDEFINED : QNN_MEM_TYPE_DMA_BUF); break;
    case 4: m.ionInfo.fd = (int32_t)ONE_OF(d, absurd); break;
    default: break;
    }
    return m;
}
