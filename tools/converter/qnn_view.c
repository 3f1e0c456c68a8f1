/* SPDX-License-Identifier: Apache-2.0 */
/* See qnn_view.h. */
#include "converter/qnn_view.h"

#include <string.h>

static enum status view_pairs(const struct quant *q, struct arena *a, Qnn_ScaleOffset_t **ret)
{
    *ret = arena_array(a, Qnn_ScaleOffset_t, q->n);
    RETURN_IF(!*ret, ST_NO_MEMORY, "no memory for %u scales", q->n);
    for (uint32_t i = 0; i < q->n; i++)
        (*ret)[i] = (Qnn_ScaleOffset_t){ q->scales[i], q->offsets ? q->offsets[i] : 0 };
    return ST_OK;
}

static enum status view_blocks(const char *name, const struct tensor_desc *d, struct arena *a, Qnn_QuantizeParams_t *ret)
{
    const struct quant *q = &d->q;
    Qnn_ScaleOffset_t *list;
    RETURN_IF(q->kind != Q_BLOCK && q->kind != Q_EXPANSION, ST_UNSUPPORTED_TENSOR,
              "tensor \"%s\" has an encoding that cannot be run from here", name);
    TRY(view_pairs(q, a, &list));
    if (q->kind == Q_BLOCK) {
        ret->quantizationEncoding = QNN_QUANTIZATION_ENCODING_BLOCK;
        ret->blockEncoding = (Qnn_BlockEncoding_t){ (uint32_t *)q->block, list };
        return ST_OK;
    }
    Qnn_BlockwiseExpansion_t *e = arena_new(a, Qnn_BlockwiseExpansion_t);
    RETURN_IF(!e, ST_NO_MEMORY, "no memory for the encoding of \"%s\"", name);
    bool wide = q->block_scale_storage == 16;
    *e = (Qnn_BlockwiseExpansion_t){ .axis = q->axis,
                                     .scaleOffsets = list,
                                     .numBlocksPerAxis = q->blocks_per_axis,
                                     .blockScaleBitwidth = q->block_scale_bits,
                                     .blockScaleStorageType = wide ? QNN_BLOCKWISE_EXPANSION_BITWIDTH_SCALE_STORAGE_16
                                                                   : QNN_BLOCKWISE_EXPANSION_BITWIDTH_SCALE_STORAGE_8,
                                     .blocksScale8 = (uint8_t *)q->block_scales };
    ret->quantizationEncoding = QNN_QUANTIZATION_ENCODING_BLOCKWISE_EXPANSION;
    ret->blockwiseExpansion = e;
    return ST_OK;
}

static enum status view_quant(const char *name, const struct tensor_desc *d, struct arena *a, Qnn_QuantizeParams_t *ret)
{
    const struct quant *q = &d->q;
    *ret = (Qnn_QuantizeParams_t)QNN_QUANTIZE_PARAMS_INIT;
    if (q->kind == Q_NONE || q->definition == 2)
        return ST_OK;
    ret->encodingDefinition = QNN_DEFINITION_DEFINED;
    if (q->kind == Q_TENSOR) {
        ret->quantizationEncoding =
            q->bits ? QNN_QUANTIZATION_ENCODING_BW_SCALE_OFFSET : QNN_QUANTIZATION_ENCODING_SCALE_OFFSET;
        if (q->bits)
            ret->bwScaleOffsetEncoding = (Qnn_BwScaleOffset_t){ q->bits, q->scale, q->offset };
        else
            ret->scaleOffsetEncoding = (Qnn_ScaleOffset_t){ q->scale, q->offset };
        return ST_OK;
    }
    if (q->kind != Q_AXIS)
        return view_blocks(name, d, a, ret);
    if (q->bits) {
        ret->quantizationEncoding = QNN_QUANTIZATION_ENCODING_BW_AXIS_SCALE_OFFSET;
        ret->bwAxisScaleOffsetEncoding =
            (Qnn_BwAxisScaleOffset_t){ q->bits, q->axis, q->n, (float *)q->scales, (int32_t *)q->offsets };
        return ST_OK;
    }
    Qnn_ScaleOffset_t *list;
    TRY(view_pairs(q, a, &list));
    ret->quantizationEncoding = QNN_QUANTIZATION_ENCODING_AXIS_SCALE_OFFSET;
    ret->axisScaleOffsetEncoding = (Qnn_AxisScaleOffset_t){ q->axis, q->n, list };
    return ST_OK;
}

enum status qnn_view_tensor(const char *name, const struct tensor_desc *d, Qnn_TensorType_t type, struct arena *a,
                            Qnn_Tensor_t *ret)
{
    *ret = (Qnn_Tensor_t)QNN_TENSOR_INIT;
    ret->v1.name = name;
    ret->v1.type = type;
    ret->v1.dataFormat = d->format;
    ret->v1.dataType = (Qnn_DataType_t)convert_dtype_number(d->type);
    ret->v1.rank = d->rank;
    ret->v1.dimensions = d->rank ? (uint32_t *)d->dims : NULL;
    ret->v1.memType = QNN_TENSORMEMTYPE_RAW;
    return view_quant(name, d, a, &ret->v1.quantizeParams);
}

Qnn_Tensor_t qnn_view_absent(void)
{
    Qnn_Tensor_t t = QNN_TENSOR_INIT;
    t.v1.name = "";
    t.v1.type = QNN_TENSOR_TYPE_NULL;
    return t;
}

static void view_scalar(const struct op_value *v, Qnn_Scalar_t *ret)
{
    *ret = (Qnn_Scalar_t)QNN_SCALAR_INIT;
    ret->dataType = (Qnn_DataType_t)convert_dtype_number(v->type);
    if (v->type == DT_STR)
        ret->stringValue = v->data;
    else
        memcpy(&ret->floatValue, v->data, dtype_bytes(v->type, 1)); /* all members begin at the same place */
}

static enum status view_array(const char *node, const char *name, const struct op_value *v, struct arena *a,
                              Qnn_Tensor_t *ret)
{
    struct tensor_desc *d = arena_new(a, struct tensor_desc);
    const char *full = arena_printf(a, "%s_%s", node, name);
    RETURN_IF(!d || !full, ST_NO_MEMORY, "no memory for parameter \"%s\"", name);
    d->type = v->type;
    d->rank = v->rank;
    memcpy(d->dims, v->dims, sizeof(d->dims));
    TRY(qnn_view_tensor(full, d, QNN_TENSOR_TYPE_STATIC, a, ret));
    ret->v1.clientBuf = (Qnn_ClientBuffer_t){ (void *)v->data, (uint32_t)dtype_bytes(v->type, v->count) };
    return ST_OK;
}

enum status qnn_view_params(const struct op_def *op, const char *node, const struct op_value *values, struct arena *a,
                            Qnn_Param_t **ret, uint32_t *ret_n)
{
    uint32_t count = op_param_count(op), n = 0;
    Qnn_Param_t *p = arena_array(a, Qnn_Param_t, count);
    RETURN_IF(!p, ST_NO_MEMORY, "no memory for %u parameters", count);
    for (uint32_t i = 0; values && i < count; i++) {
        if (!values[i].data)
            continue;
        p[n].name = op->params[i].name;
        p[n].paramType = values[i].rank ? QNN_PARAMTYPE_TENSOR : QNN_PARAMTYPE_SCALAR;
        if (values[i].rank)
            TRY(view_array(node, op->params[i].name, &values[i], a, &p[n].tensorParam));
        else
            view_scalar(&values[i], &p[n].scalarParam);
        n++;
    }
    *ret = p;
    *ret_n = n;
    return ST_OK;
}
