/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz_use.h"

#include <math.h>
#include <stdio.h>

#include "../passes/ops_cases.h"
#include "api/translate.h"

enum { MAX_BLOCKS = 64, MAX_CONSTANT = 1 << 16, MAX_CHANGES = 8 };

static const uint32_t sizes[] = { 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 64, 1, 2 };
static const uint32_t wild[] = { 0, 1 << 16, 1 << 20, 1u << 31, INT32_MAX, UINT32_MAX, 65537, 1 << 24 };
static const uint32_t odd_scales[] = { 0,          1,          0x7f7fffff, 0x00800000, 0x3f800000,
                                       0x3c23d70a, 0xbf800000, 0x7fc00000, 0x7f800000 };
static const int32_t odd_offsets[] = { 0, -128, 128, INT32_MIN, INT32_MAX, -255, -65535, 1 };
static const uint32_t values[] = { 0, 1, 2, 3, 4, 5, 7, 8, 255, 65535, INT32_MAX, 1u << 31, UINT32_MAX, UINT32_MAX - 1 };

uint32_t fuzz_use_count(void)
{
    return sizeof(ops_cases) / sizeof(ops_cases[0]);
}

void fuzz_use_take(struct fuzz_use *u, uint32_t which)
{
    (void)text_call(&u->text, ops_cases[which].op, ops_cases[which].in, ops_cases[which].params, ops_cases[which].out);
}

/* ---- changes --------------------------------------------------------------------------------- */

static struct tensor_desc *any_tensor(struct fuzz_use *u, struct fuzz_bytes *b)
{
    uint32_t n = u->text.call.n_in;

    return n && !fuzz_one_in(b, 8) ? &u->text.desc[0][fuzz_below(b, n)] : &u->text.desc[1][0];
}

static void change_size(struct fuzz_use *u, struct fuzz_bytes *b)
{
    struct tensor_desc *d = any_tensor(u, b);
    uint32_t at = fuzz_below(b, MAX_RANK);

    if (d->rank == 0)
        return;
    d->dims[at % d->rank] = fuzz_one_in(b, 32) ? FUZZ_ONE_OF(b, wild) : FUZZ_ONE_OF(b, sizes);
    if (fuzz_one_in(b, 16))
        d->dynamic ^= (uint8_t)(1u << at % d->rank);
}

/* The same change in every tensor that had this size: what belongs together often stays so. */
static void change_sizes(struct fuzz_use *u, struct fuzz_bytes *b)
{
    struct tensor_desc *d = any_tensor(u, b);
    uint32_t from = d->rank ? d->dims[fuzz_below(b, d->rank)] : 1;
    uint32_t to = fuzz_one_in(b, 32) ? FUZZ_ONE_OF(b, wild) : FUZZ_ONE_OF(b, sizes);

    for (int side = 0; side < 2; side++)
        for (uint32_t i = 0; i < (side ? u->text.call.n_out : u->text.call.n_in); i++)
            for (uint32_t k = 0; k < u->text.desc[side][i].rank; k++)
                if (u->text.desc[side][i].dims[k] == from)
                    u->text.desc[side][i].dims[k] = to;
}

static void change_rank(struct fuzz_use *u, struct fuzz_bytes *b)
{
    struct tensor_desc *d = any_tensor(u, b);
    uint8_t rank = (uint8_t)fuzz_below(b, MAX_RANK + 1);

    for (uint32_t i = d->rank; i < rank; i++)
        d->dims[i] = FUZZ_ONE_OF(b, sizes);
    d->rank = rank;
}

static void set_type(struct tensor_desc *d, enum dtype t)
{
    d->type = t;
    d->q = (struct quant){ .kind = Q_NONE };
    if (dtype_is_fixed(t))
        d->q = (struct quant){ .kind = Q_TENSOR, .definition = 1, .scale = 0.5f };
}

static void change_type(struct fuzz_use *u, struct fuzz_bytes *b)
{
    enum dtype from = any_tensor(u, b)->type;
    enum dtype to = (enum dtype)(1 + fuzz_below(b, DT_COUNT - 1));

    for (int side = 0; side < 2; side++)
        for (uint32_t i = 0; i < (side ? u->text.call.n_out : u->text.call.n_in); i++)
            if (u->text.desc[side][i].type == from)
                set_type(&u->text.desc[side][i], to);
}

static void change_one_type(struct fuzz_use *u, struct fuzz_bytes *b)
{
    set_type(any_tensor(u, b), (enum dtype)(1 + fuzz_below(b, DT_COUNT - 1)));
}

static void change_encoding(struct fuzz_use *u, struct fuzz_bytes *b)
{
    struct tensor_desc *d = any_tensor(u, b);
    uint32_t bits = FUZZ_ONE_OF(b, odd_scales);
    uint32_t n;

    memcpy(&d->q.scale, &bits, sizeof(bits));
    d->q.offset = FUZZ_ONE_OF(b, odd_offsets);
    d->q.kind = (uint8_t)fuzz_below(b, Q_EXPANSION);
    d->q.definition = (uint8_t)fuzz_below(b, 3);
    if (fuzz_one_in(b, 8))
        d->q.bits = (uint8_t)(1 + fuzz_below(b, 8));
    if (d->q.kind != Q_AXIS && d->q.kind != Q_BLOCK)
        return;

    d->q.axis = d->rank ? (int32_t)fuzz_below(b, d->rank) : 0;
    n = d->rank ? d->dims[d->q.axis] : 1;
    d->q.n = n < 1024 ? n : 1024;
    d->q.scales = text_scales;
    d->q.offsets = fuzz_one_in(b, 2) ? text_offsets : NULL;
}

static void change_value(struct fuzz_use *u, struct fuzz_bytes *b)
{
    uint32_t n = op_param_count(u->text.call.op);
    struct op_value *v = n ? &u->text.bound[fuzz_below(b, n)] : NULL;
    uint32_t value = FUZZ_ONE_OF(b, values);
    uint32_t at = fuzz_u8(b);

    if (!v || !v->data || v->count == 0)
        return;
    if (v->type == DT_F32)
        memcpy(&value, &odd_scales[at % (sizeof(odd_scales) / 4)], sizeof(value));
    uint32_t width = dtype_bits(v->type) / 8;
    at %= v->count;
    if (width >= 1 && (at + 1) * width <= sizeof(u->text.data[0]))
        memcpy((uint8_t *)v->data + at * width, &value, width < 4 ? width : 4);
}

static void drop_value(struct fuzz_use *u, struct fuzz_bytes *b)
{
    uint32_t n = op_param_count(u->text.call.op);

    if (n)
        u->text.bound[fuzz_below(b, n)].data = NULL;
}

static void drop_input(struct fuzz_use *u, struct fuzz_bytes *b)
{
    struct op_call *c = &u->text.call;

    if (c->n_in < 2)
        return;
    if (fuzz_one_in(b, 2))
        u->text.list[0][fuzz_below(b, c->n_in)] = NULL;
    else
        c->n_in--;
}

static void repeat_input(struct fuzz_use *u, struct fuzz_bytes *b)
{
    uint32_t n = u->text.call.n_in;

    if (n == 0 || n >= TEXT_TENSORS)
        return;
    u->text.desc[0][n] = u->text.desc[0][fuzz_below(b, n)];
    u->text.list[0][n] = &u->text.desc[0][n];
    u->text.call.n_in++;
}

static void (*const changes[])(struct fuzz_use *, struct fuzz_bytes *) = {
    change_size,  change_sizes, change_sizes,    change_rank, change_type, change_one_type,
    change_value, change_value, change_encoding, drop_value,  drop_input,  repeat_input,
};

void fuzz_use_change(struct fuzz_use *u, struct fuzz_bytes *b)
{
    uint32_t n = fuzz_one_in(b, 8) ? MAX_CHANGES : fuzz_below(b, 4); /* few, so that most still make sense */
    bool own = fuzz_one_in(b, 8);                                    /* outputs as the table has them */

    for (uint32_t i = 0; i < n; i++)
        FUZZ_ONE_OF(b, changes)(u, b);

    struct op_call asked = u->text.call;
    asked.out = NULL;
    if (own || op_infer(&asked, u->want) != ST_OK) {
        asked = u->text.call;
        if (own || op_infer(&asked, u->want) != ST_OK)
            return;
    }
    for (uint32_t i = 0; i < u->text.call.n_out && i < MAX_PORTS; i++) {
        struct tensor_desc *d = &u->text.desc[1][i];
        d->rank = u->want[i].rank;
        memcpy(d->dims, u->want[i].dims, sizeof(d->dims));
        if (u->want[i].type != DT_NONE && u->want[i].type != d->type)
            set_type(d, u->want[i].type);
    }
}

/* ---- the client's view ----------------------------------------------------------------------- */

/* No struct has the number of blocks. They are chosen here, for the sizes that the tensor has in the end:
 * all of it, or its last dimension element by element. */
static Qnn_BlockEncoding_t blocks(const struct tensor_desc *d)
{
    uint32_t last = d->rank ? d->dims[d->rank - 1] : 1;
    bool single = d->q.definition != 1 && last <= MAX_BLOCKS;
    Qnn_BlockEncoding_t ret = { fuzz_block(sizeof(d->dims)), fuzz_block(MAX_BLOCKS * sizeof(Qnn_ScaleOffset_t)) };

    for (uint32_t i = 0; i < d->rank; i++)
        ret.blockSize[i] = single && i + 1 == d->rank ? 1 : d->dims[i];
    for (uint32_t i = 0; i < MAX_BLOCKS; i++)
        ret.scaleOffset[i] = (Qnn_ScaleOffset_t){ i ? 0.25f : d->q.scale, d->q.offset };
    return ret;
}

static Qnn_QuantizeParams_t encoding(const struct tensor_desc *d)
{
    Qnn_QuantizeParams_t p = QNN_QUANTIZE_PARAMS_INIT;
    const struct quant *q = &d->q;

    if (q->kind == Q_NONE)
        return p;
    p.encodingDefinition = q->definition == 1 ? QNN_DEFINITION_DEFINED : QNN_DEFINITION_IMPL_GENERATED;
    if (q->kind == Q_TENSOR) {
        p.quantizationEncoding = QNN_QUANTIZATION_ENCODING_SCALE_OFFSET;
        p.scaleOffsetEncoding = (Qnn_ScaleOffset_t){ q->scale, q->offset };
        if (q->bits) {
            p.quantizationEncoding = QNN_QUANTIZATION_ENCODING_BW_SCALE_OFFSET;
            p.bwScaleOffsetEncoding = (Qnn_BwScaleOffset_t){ q->bits, q->scale, q->offset };
        }
        return p;
    }

    Qnn_ScaleOffset_t *list = fuzz_block(q->n * sizeof(*list));
    for (uint32_t i = 0; i < q->n; i++)
        list[i] = (Qnn_ScaleOffset_t){ i == 1 ? q->scale : 0.25f, q->offsets ? q->offset : 0 };
    if (q->kind == Q_AXIS) {
        p.quantizationEncoding = QNN_QUANTIZATION_ENCODING_AXIS_SCALE_OFFSET;
        p.axisScaleOffsetEncoding = (Qnn_AxisScaleOffset_t){ q->axis, q->n, list };
        return p;
    }
    p.quantizationEncoding = QNN_QUANTIZATION_ENCODING_BLOCK;
    p.blockEncoding = blocks(d);
    return p;
}

static Qnn_Tensor_t tensor(const struct tensor_desc *d, const char *prefix, uint32_t number, Qnn_TensorType_t type)
{
    Qnn_Tensor_t t = { .version = d->dynamic ? QNN_TENSOR_VERSION_2 : QNN_TENSOR_VERSION_1 };
    char *name = fuzz_block(16);
    uint32_t *dims = fuzz_block(sizeof(d->dims));

    t.v2 = (Qnn_TensorV2_t)QNN_TENSOR_V2_INIT;
    snprintf(name, 16, "%s%u", prefix, number);
    memcpy(dims, d->dims, sizeof(d->dims));
    t.v1.name = name;
    t.v1.type = type;
    t.v1.dataType = dtype_to_client(d->type);
    t.v1.rank = d->rank;
    t.v1.dimensions = dims;
    t.v1.quantizeParams = encoding(d);
    if (d->dynamic) {
        uint8_t *flags = fuzz_block(MAX_RANK);
        for (uint32_t i = 0; i < MAX_RANK; i++)
            flags[i] = d->dynamic >> i & 1;
        t.v2.isDynamicDimensions = flags;
    }
    return t;
}

static bool constant(struct fuzz_bytes *b, const struct tensor_desc *d, Qnn_Tensor_t *t)
{
    struct tensor_desc plain;
    uint64_t bytes = fuzz_tensor_bytes(t, &plain);

    if (bytes > MAX_CONSTANT)
        return false;
    t->v1.clientBuf = (Qnn_ClientBuffer_t){ fuzz_block(bytes), (uint32_t)bytes };
    fuzz_fill(b, d, t->v1.clientBuf.data);
    return true;
}

static bool input(struct fuzz_use *u, struct fuzz_bytes *b, uint32_t i)
{
    const struct tensor_desc *d = u->text.list[0][i];
    const struct op_port *port = op_in_port(u->text.call.op, i);
    bool fixed = port && port->flags & (PORT_STATIC | PORT_AXIS);

    if (!d) {
        u->in[i] = (Qnn_Tensor_t){ .version = QNN_TENSOR_VERSION_1, .v1 = QNN_TENSOR_V1_INIT };
        u->in[i].v1.type = QNN_TENSOR_TYPE_NULL;
        u->in[i].v1.name = "";
        return true;
    }
    if (fuzz_one_in(b, 8))
        fixed = !fixed;
    u->in[i] = tensor(d, "x", i, fixed ? QNN_TENSOR_TYPE_STATIC : QNN_TENSOR_TYPE_APP_WRITE);
    return !fixed || constant(b, d, &u->in[i]);
}

static uint32_t parameters(struct fuzz_use *u)
{
    const struct op_def *op = u->text.call.op;
    uint32_t n = 0;

    for (uint32_t i = 0; i < op_param_count(op) && n < USE_PARAMS; i++) {
        const struct op_value *v = &u->text.bound[i];
        if (!v->data)
            continue;
        Qnn_Param_t p = QNN_PARAM_INIT;
        p.name = op->params[i].name;
        if (v->rank == 0 && v->type != DT_STR) {
            p.paramType = QNN_PARAMTYPE_SCALAR;
            p.scalarParam.dataType = dtype_to_client(v->type);
            memcpy(&p.scalarParam.uint64Value, v->data, dtype_bits(v->type) / 8);
        } else {
            struct tensor_desc d = { .type = v->type, .rank = v->rank };
            uint64_t bytes = dtype_bytes(v->type, v->count);
            memcpy(d.dims, v->dims, sizeof(d.dims));
            p.paramType = QNN_PARAMTYPE_TENSOR;
            p.tensorParam = tensor(&d, "p", i, QNN_TENSOR_TYPE_STATIC);
            p.tensorParam.v1.clientBuf = (Qnn_ClientBuffer_t){ fuzz_block(bytes), (uint32_t)bytes };
            memcpy(p.tensorParam.v1.clientBuf.data, v->data, bytes);
        }
        u->params[n++] = p;
    }
    return n;
}

bool fuzz_use_translate(struct fuzz_use *u, struct fuzz_bytes *b)
{
    const struct op_call *c = &u->text.call;

    for (uint32_t i = 0; i < c->n_in; i++)
        if (!input(u, b, i))
            return false;
    for (uint32_t i = 0; i < c->n_out; i++)
        u->out[i] = tensor(&u->text.desc[1][i], "y", i, QNN_TENSOR_TYPE_APP_READ);
    u->config = (Qnn_OpConfig_t)QNN_OPCONFIG_INIT;
    u->config.v1 = (Qnn_OpConfigV1_t){ .name = "node",
                                       .packageName = "qti.aisw",
                                       .typeName = c->op->name,
                                       .numOfParams = parameters(u),
                                       .params = u->params,
                                       .numOfInputs = c->n_in,
                                       .inputTensors = u->in,
                                       .numOfOutputs = c->n_out,
                                       .outputTensors = u->out };
    return true;
}

bool fuzz_use_add(struct fuzz_use *u, struct fuzz_library *l, Qnn_GraphHandle_t graph)
{
    u->n_data = u->n_results = 0;
    for (uint32_t i = 0; i < u->config.v1.numOfParams; i++)
        if (u->params[i].paramType == QNN_PARAMTYPE_TENSOR &&
            !fuzz_done(l, l->q.tensorCreateGraphTensor(graph, &u->params[i].tensorParam)))
            return false;
    for (uint32_t i = 0; i < u->config.v1.numOfInputs; i++) {
        if (u->in[i].v1.type == QNN_TENSOR_TYPE_NULL)
            continue;
        if (!fuzz_done(l, l->q.tensorCreateGraphTensor(graph, &u->in[i])))
            return false;
        if (u->in[i].v1.type == QNN_TENSOR_TYPE_APP_WRITE)
            u->given[u->n_data++] = u->in[i];
    }
    for (uint32_t i = 0; i < u->config.v1.numOfOutputs; i++) {
        if (!fuzz_done(l, l->q.tensorCreateGraphTensor(graph, &u->out[i])))
            return false;
        u->results[u->n_results++] = u->out[i];
    }
    return fuzz_done(l, l->q.graphAddNode(graph, u->config));
}
