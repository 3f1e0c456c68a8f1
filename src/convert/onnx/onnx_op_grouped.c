/* SPDX-License-Identifier: Apache-2.0 */
/* GroupQueryAttention of domain com.microsoft, as ONNX Runtime GenAI exports it: QNN's operator of the same name
 * takes the same tensors in another order. What that operator does not have (windows, caps, biases) is refused by name. */
#include <string.h>

#include "convert/onnx/onnx.h"

/* Inputs of the source, and of QNN's operator. */
enum { QUERY, KEY, VALUE, PAST_KEY, PAST_VALUE, SEQLENS, TOTAL, COSINE, SINE, POSITIONS, BIAS, SINK };
enum { QNN_INPUTS = 10 };
enum { OUT, PRESENT_KEY, PRESENT_VALUE, SCORES, OUTPUTS };

static const uint8_t source_of[QNN_INPUTS] = { QUERY,    SEQLENS,    TOTAL,  KEY,  VALUE,
                                               PAST_KEY, PAST_VALUE, COSINE, SINE, POSITIONS };

/* Attributes that change the result, with the value that QNN's operator has. */
static const struct plain {
    const char *name;
    int64_t value;
} plain[] = {
    { "local_window_size", -1 }, { "rotary_interleaved", 0 }, { "smooth_softmax", 0 },
    { "qk_output", 0 },          { "kv_cache_bit_width", 0 },
};

static const char *const quantized[] = { "k_quant_type", "v_quant_type" };

static enum status check_form(struct onnx_cx *cx, const struct onnx_node *n)
{
    const float cap = onnx_attr_float(cx, n, "softcap", 0);

    REFUSE_WHEN(strcmp(n->domain, "com.microsoft") != 0, "only the operator of domain com.microsoft is known, not of \"%s\"",
                n->domain);
    for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++) {
        const int64_t value = onnx_attr_int(cx, n, plain[i].name, plain[i].value);
        REFUSE_WHEN(value != plain[i].value, "\"%s\" is %lld; QNN's GroupQueryAttention has %lld only", plain[i].name,
                    (long long)value, (long long)plain[i].value);
    }
    for (size_t i = 0; i < sizeof(quantized) / sizeof(quantized[0]); i++) {
        const char *type = onnx_attr_text(cx, n, quantized[i], "NONE");
        REFUSE_WHEN(strcmp(type, "NONE") != 0, "\"%s\" is \"%s\"; caches of floats (NONE) are expected", quantized[i], type);
    }
    REFUSE_WHEN(cap != 0, "\"softcap\" is %g; QNN's GroupQueryAttention has none, so 0 is expected", (double)cap);
    REFUSE_WHEN(onnx_has(n, BIAS), "input %d (\"attention_bias\") is given; QNN's GroupQueryAttention has none", BIAS);
    REFUSE_WHEN(onnx_has(n, SINK), "input %d (\"head_sink\") is given; QNN's GroupQueryAttention has none", SINK);
    REFUSE_WHEN(onnx_wants(n, SCORES), "output %d (\"output_qk\") is wanted; QNN's GroupQueryAttention has none", SCORES);
    return ST_OK;
}

static bool is_index(uint32_t i)
{
    return i == SEQLENS || i == TOTAL || i == POSITIONS;
}

static enum status operands(struct onnx_cx *cx, const struct onnx_node *n, uint32_t in[QNN_INPUTS])
{
    for (uint32_t i = 0; i < QNN_INPUTS; i++) {
        const uint32_t from = source_of[i];
        TRY(onnx_in_tensor_opt(cx, n, from, &in[i]));
        if (in[i] != IR_NONE && is_index(from))
            TRY(onnx_cast(cx, "index", in[i], DT_I32, &in[i]));
        if (in[i] != IR_NONE && from == SEQLENS) {
            const uint32_t count = (uint32_t)desc_count(build_desc(B, in[i])); /* [batch] or [batch, 1] */
            TRY(build_reshape(B, onnx_name(cx, "lengths"), in[i], 1, &count, &in[i]));
        }
    }
    return ST_OK;
}

/* How many positions the present caches have: those of the past ones, or more where the whole is known to be longer. Without
 * a known whole, a past cache without room is taken to grow by the sequence. */
static enum status present_positions(struct onnx_cx *cx, const struct onnx_node *n, uint32_t sequence, uint32_t *ret)
{
    struct onnx_value *past, *total;
    int64_t *known;
    uint32_t count;

    TRY(onnx_in_opt(cx, n, PAST_KEY, &past));
    TRY(onnx_in_opt(cx, n, TOTAL, &total));
    const uint32_t there = past && past->rank == 4 ? past->dims[2] : 0;
    *ret = there + sequence;
    if (!total || !onnx_is_const(total))
        return ST_OK;

    TRY(onnx_ints(cx, total, "total_sequence_length", &known, &count));
    REFUSE_WHEN(count != 1 || known[0] < 1 || known[0] > INT32_MAX,
                "input %d (\"total_sequence_length\") is not one positive number", TOTAL);
    *ret = known[0] > there ? (uint32_t)known[0] : there;
    return ST_OK;
}

static enum status convert_grouped(struct onnx_cx *cx, const struct onnx_node *n)
{
    const int64_t heads = onnx_attr_int(cx, n, "num_heads", 0);
    const int64_t kv_heads = onnx_attr_int(cx, n, "kv_num_heads", 0);
    const float scale = onnx_attr_float(cx, n, "scale", 0);
    struct tensor_desc out[OUTPUTS - 1] = { { .type = DT_NONE } };
    struct onnx_value *query;
    uint32_t in[QNN_INPUTS], made[OUTPUTS - 1], positions;

    TRY(check_form(cx, n));
    TRY(onnx_in(cx, n, QUERY, &query));
    RETURN_IF(query->rank != 3, ST_INVALID_OP, "input 0 (\"query\") has rank %u; [batch, sequence, values] is expected",
              query->rank);
    RETURN_IF(heads < 1 || kv_heads < 1, ST_INVALID_OP, "\"num_heads\" is %lld and \"kv_num_heads\" is %lld",
              (long long)heads, (long long)kv_heads);
    TRY(present_positions(cx, n, query->dims[1], &positions));
    TRY(operands(cx, n, in));

    const bool packed = !onnx_has(n, KEY);
    const uint64_t rows = (uint64_t)heads + (packed ? 2 * (uint64_t)kv_heads : 0);
    for (uint32_t i = PRESENT_KEY; i <= PRESENT_VALUE; i++)
        out[i] = (struct tensor_desc){ .type = DT_NONE,
                                       .rank = 4,
                                       .dims = { query->dims[0], (uint32_t)kv_heads, positions,
                                                 (uint32_t)(query->dims[2] / rows) } };
    TRY(build_node(B,
                   &(struct build_spec){ .op = "GroupQueryAttention",
                                         .name = cx->label,
                                         .in = in,
                                         .n_in = QNN_INPUTS,
                                         .n_out = OUTPUTS - 1,
                                         .out = out,
                                         .params = { BUILD_U32("num_heads", heads), BUILD_U32("kv_num_heads", kv_heads),
                                                     BUILD_B8("do_rotary", onnx_attr_int(cx, n, "do_rotary", 0)),
                                                     BUILD_F32(scale != 0 ? "scale" : "", scale) } },
                   made));
    for (uint32_t i = 0; i < OUTPUTS - 1; i++)
        TRY(onnx_out(cx, n, i, made[i], NULL));
    return ST_OK;
}

const struct onnx_row onnx_rows_grouped[] = {
    { "GroupQueryAttention", 0, convert_grouped, NULL },
    { 0 },
};
