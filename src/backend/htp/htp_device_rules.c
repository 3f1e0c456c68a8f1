/* SPDX-License-Identifier: Apache-2.0 */
/* table: what devices refuse, and what public pages do not promise. One row per rule; each has a graph that breaks it and one
 * that does not in tests/passes/test_device_check.c, and its line in docs/device-check.md.
 *
 * Refused is what a current page, or the thread of a public project that has run into it, states of the device. A limit that only the public
 * edition 2.13 of the operator pages states makes unsure: later editions may have lifted it. */
#include "backend/htp/htp_device_check.h"
#include "backend/htp/htp_options.h"

#include <math.h>
#include <stdio.h>

#define SUPPLEMENT "public HTP operator definition supplement, edition 2.13"
#define GUIDE "the vendor's HTP guide"

const char *const device_verdicts[] = { "fine", "unsure", "refused" };

enum { ARCH_FLOAT = 73, ARCH_WEIGHTS16 = 73, ARCH_SHARING = 73, MOST_RANK = 5, MOST_TOP_K = 64 };

/* ---- what nodes are --------------------------------------------------------------------------------------------------- */

static enum op_id op_of(const struct device_case *k)
{
    return k->view.call.op->id;
}

static const struct tensor_desc *input(const struct device_case *k, uint32_t i)
{
    return i < k->view.call.n_in ? k->view.call.in[i] : NULL;
}

static const struct tensor_desc *output(const struct device_case *k, uint32_t i)
{
    return i < k->view.call.n_out ? k->view.call.out[i] : NULL;
}

static bool is_float(const struct tensor_desc *d)
{
    return d && dtype_is_float(d->type);
}

static bool is_fixed16(const struct tensor_desc *d)
{
    return d && (d->type == DT_UQ16 || d->type == DT_SQ16);
}

static bool is_constant(const struct device_case *k, uint32_t i)
{
    if (!k->g)
        return k->view.call.in_data && i < k->view.call.n_in && k->view.call.in_data[i];
    uint32_t t = i < k->node->n_in ? k->node->in[i] : IR_NONE;
    return t != IR_NONE && k->g->tensors.at[t].role == IR_CONST;
}

static bool is_product(enum op_id op)
{
    return op == OP_Conv2d || op == OP_DepthWiseConv2d || op == OP_TransposeConv2d || op == OP_FullyConnected ||
           op == OP_MatMul;
}

static const char *tensor_name(const struct device_case *k, bool out, uint32_t i)
{
    if (!k->g)
        return "";
    uint32_t t = out ? k->node->out[i] : k->node->in[i];
    const char *name = t == IR_NONE ? NULL : k->g->tensors.at[t].name;
    return name ? name : "";
}

/* Two tensors of the node as the detail; always true. */
static bool tell_pair(struct device_case *k, const char *between)
{
    char a[DESC_TEXT_MAX], b[DESC_TEXT_MAX];

    snprintf(k->detail, sizeof(k->detail), "%.80s %s %.80s", desc_text(input(k, 0), a), between,
             desc_text(input(k, 1), b));
    return true;
}

static bool tell_tensor(struct device_case *k, bool out, uint32_t i)
{
    char text[DESC_TEXT_MAX];
    const struct tensor_desc *d = out ? output(k, i) : input(k, i);
    const char *name = tensor_name(k, out, i);
    const char *quote = name[0] ? "\"" : "";

    snprintf(k->detail, sizeof(k->detail), "%s %u %s%.120s%s%sis %s", out ? "output" : "input", i, quote, name, quote,
             name[0] ? " " : "", desc_text(d, text));
    return true;
}

/* ---- the device ------------------------------------------------------------------------------------------------------- */

static bool has_no_htp(struct device_case *k)
{
    snprintf(k->detail, sizeof(k->detail), "%s has an older DSP", k->soc->name);
    return !k->soc->has_htp;
}

static bool has_no_arch(struct device_case *k)
{
    snprintf(k->detail, sizeof(k->detail), "rules of architectures were not asked for %s", k->soc->name);
    return k->soc->has_htp && !k->soc->arch;
}

static bool wants_vtcm(struct device_case *k)
{
    snprintf(k->detail, sizeof(k->detail), "%u MB are asked for; the SoC has %u", k->asked->vtcm_mb, k->soc->vtcm_mb);
    return k->soc->has_htp && k->asked->vtcm_mb > k->soc->vtcm_mb;
}

static bool wants_sharing(struct device_case *k)
{
    snprintf(k->detail, sizeof(k->detail), "weight_sharing_enabled is set; the SoC is v%u", k->soc->arch);
    return k->asked->weight_sharing;
}

static bool wants_newer(struct device_case *k)
{
    for (size_t i = 0; i < htp_graph_options.n && k->soc->arch; i++) {
        const struct htp_option *option = &htp_graph_options.rows[i];
        snprintf(k->detail, sizeof(k->detail), "graph option %s needs v%u; the SoC is v%u", option->name, option->arch,
                 k->soc->arch);
        if (k->asked->options >> i & 1 && k->soc->arch < option->arch)
            return true;
    }
    return false;
}

/* ---- types ------------------------------------------------------------------------------------------------------------ */

/* Conversions stand at the edge of quantized graphs; the quantized column of the public table has floats for the others. */
static bool takes_float_anywhere(enum op_id op)
{
    return op == OP_Quantize || op == OP_Dequantize || op == OP_Convert || op == OP_Cast || op == OP_NonMaxSuppression ||
           op == OP_MultiClassNms || op == OP_ImageProjectionTransform || op == OP_Reshape || op == OP_Transpose;
}

static bool computes_float(struct device_case *k)
{
    if (takes_float_anywhere(op_of(k)))
        return false;
    for (uint32_t i = 0; i < k->view.call.n_out; i++)
        if (is_float(output(k, i)))
            return tell_tensor(k, true, i);
    return is_float(input(k, 0)) && tell_tensor(k, false, 0);
}

static bool mixes_types(const struct device_case *k)
{
    const struct tensor_desc *a = input(k, 0), *b = input(k, 1);

    if (!is_product(op_of(k)) || !a || !b)
        return false;
    return (is_float(a) && dtype_is_fixed(b->type)) || (dtype_is_fixed(a->type) && is_float(b));
}

/* There is a kernel for signed numbers since SDK 2.44. */
static bool has_unsigned_side(const struct device_case *k)
{
    const struct tensor_desc *fixed = is_float(input(k, 0)) ? input(k, 1) : input(k, 0);
    return op_of(k) == OP_MatMul && !dtype_is_signed(fixed->type);
}

static bool mixes_unsigned(struct device_case *k)
{
    return mixes_types(k) && has_unsigned_side(k) && tell_pair(k, "x");
}

static bool mixes_others(struct device_case *k)
{
    return mixes_types(k) && !has_unsigned_side(k) && tell_pair(k, "x");
}

static bool has_high_rank(struct device_case *k)
{
    if (op_of(k) == OP_ScatterNd)
        return false;
    for (uint32_t i = 0; i < k->view.call.n_out; i++)
        if (output(k, i) && output(k, i)->rank > MOST_RANK)
            return tell_tensor(k, true, i);
    for (uint32_t i = 0; i < k->view.call.n_in; i++)
        if (input(k, i) && input(k, i)->rank > MOST_RANK)
            return tell_tensor(k, false, i);
    return false;
}

static size_t add_desc(struct device_case *k, size_t at, const char *before, const struct tensor_desc *d)
{
    char text[DESC_TEXT_MAX];

    if (!d || at >= sizeof(k->detail))
        return at;
    return at + (size_t)snprintf(k->detail + at, sizeof(k->detail) - at, "%s%s", before, desc_text(d, text));
}

/* The first inputs and the first output are those that the table has types for. */
static bool is_silent(struct device_case *k)
{
    enum { TABLE_INPUTS = 3 };
    size_t at = 0;

    if (op_of(k) == OP_NONE || op_backend_fact(OP_BACKEND_HTP, &k->view.call) == OP_FACT_LISTED)
        return false;
    k->detail[0] = '\0';
    for (uint32_t i = 0; i < TABLE_INPUTS; i++)
        at = add_desc(k, at, at ? ", " : "", input(k, i));
    add_desc(k, at, " to ", output(k, 0));
    return true;
}

/* ---- 16-bit weights --------------------------------------------------------------------------------------------------- */

static enum weights16 weights16(const struct device_case *k, int32_t *most)
{
    return k->g ? htp_weights16(k->g, k->node, most) : WEIGHTS16_NONE;
}

static bool has_weights16(struct device_case *k)
{
    int32_t most;
    return is_product(op_of(k)) && is_constant(k, 1) && weights16(k, &most) != WEIGHTS16_NONE;
}

static bool convolves_weights16(struct device_case *k)
{
    return op_of(k) == OP_Conv2d && has_weights16(k) && tell_pair(k, "with weights");
}

static bool multiplies_weights16(struct device_case *k)
{
    return op_of(k) != OP_Conv2d && has_weights16(k) && tell_pair(k, "with weights");
}

static bool has_weights16_elsewhere(struct device_case *k)
{
    int32_t most;
    return weights16(k, &most) == WEIGHTS16_OPERATOR && tell_pair(k, "with weights");
}

static bool has_weights16_beyond(struct device_case *k)
{
    int32_t most;

    if (weights16(k, &most) != WEIGHTS16_RANGE)
        return false;
    snprintf(k->detail, sizeof(k->detail), "weights \"%.120s\" go up to 0x%X", tensor_name(k, false, 1), (unsigned)most);
    return true;
}

/* ---- op packages ------------------------------------------------------------------------------------------------------ */

static bool is_of_package(struct device_case *k)
{
    snprintf(k->detail, sizeof(k->detail), "an operator of an op package");
    return op_of(k) == OP_NONE;
}

/* ---- parameters and encodings ----------------------------------------------------------------------------------------- */

static bool has_inner_axis(struct device_case *k)
{
    const struct tensor_desc *x = input(k, 0);
    enum op_id op = op_of(k);

    if ((op != OP_Softmax && op != OP_LogSoftmax) || !x || !x->rank)
        return false;
    uint32_t axis = op_axis(&k->view.call, "axis", 0, x->rank);
    snprintf(k->detail, sizeof(k->detail), "axis %u of rank %u", axis, x->rank);
    return axis != x->rank - 1u;
}

static bool has_other_axes(struct device_case *k)
{
    const struct tensor_desc *x = input(k, 0);

    if (op_of(k) != OP_LayerNorm || !x || !x->rank)
        return false;
    uint32_t n = op_count(&k->view.call, "axes");
    uint32_t axis = n ? op_axis(&k->view.call, "axes", 0, x->rank) : 0;
    snprintf(k->detail, sizeof(k->detail), "%u axes from %u on, of rank %u", n, axis, x->rank);
    return n != 1 || axis != x->rank - 1u;
}

static bool has_large_k(struct device_case *k)
{
    const struct tensor_desc *x = input(k, 0);

    if (op_of(k) != OP_TopK || !x || x->type != DT_UQ16)
        return false;
    int64_t wanted = op_int(&k->view.call, "k", 0);
    snprintf(k->detail, sizeof(k->detail), "k is %lld for uq16", (long long)wanted);
    return wanted > MOST_TOP_K;
}

static bool changes_encoding(struct device_case *k)
{
    enum op_id op = op_of(k);
    const struct tensor_desc *x = input(k, 0), *y = output(k, 0);

    if ((op != OP_Gather && op != OP_GatherElements && op != OP_GatherNd && op != OP_TopK) || !x || !y)
        return false;
    snprintf(k->detail, sizeof(k->detail), "input has scale %g, offset %d; output has %g, %d", (double)x->q.scale,
             (int)x->q.offset, (double)y->q.scale, (int)y->q.offset);
    return dtype_is_fixed(x->type) && x->q.kind == Q_TENSOR && y->q.kind == Q_TENSOR && !quant_same(&x->q, &y->q);
}

static bool has_other_encoding(struct device_case *k)
{
    enum op_id op = op_of(k);
    const struct tensor_desc *y = output(k, 0);

    if ((op != OP_Sigmoid && op != OP_Tanh) || !is_fixed16(y) || y->q.kind != Q_TENSOR)
        return false;
    bool halves = op == OP_Tanh || y->type == DT_SQ16;
    double scale = halves ? 1.0 / 32768 : 1.0 / 65536;
    int32_t offset = op == OP_Tanh && y->type == DT_UQ16 ? -32768 : 0;
    snprintf(k->detail, sizeof(k->detail), "output has scale %.9g, offset %d; named are 1/%d, %d", (double)y->q.scale,
             (int)y->q.offset, halves ? 32768 : 65536, (int)offset);
    return fabs(y->q.scale - scale) > scale * 1e-5 || y->q.offset != offset;
}

static bool rounds_up(struct device_case *k)
{
    enum op_id op = op_of(k);

    if (op != OP_PoolAvg2d && op != OP_PoolMax2d && op != OP_PoolAvg3d && op != OP_PoolMax3d)
        return false;
    snprintf(k->detail, sizeof(k->detail), "rounding_mode is %d (CEIL)", (int)op_int(&k->view.call, "rounding_mode", 0));
    return op_int(&k->view.call, "rounding_mode", 0) != 0;
}

static bool dilates_strided(struct device_case *k)
{
    const struct op_call *c = &k->view.call;

    if (op_of(k) != OP_DepthWiseConv2d)
        return false;
    int dilation[2] = { (int)op_int(c, "dilation", 0), (int)op_int(c, "dilation", 1) };
    int stride[2] = { (int)op_int(c, "stride", 0), (int)op_int(c, "stride", 1) };
    snprintf(k->detail, sizeof(k->detail), "dilation [%d,%d] with stride [%d,%d]", dilation[0], dilation[1], stride[0],
             stride[1]);
    return (dilation[0] > 1 || dilation[1] > 1) && (stride[0] > 1 || stride[1] > 1);
}

static bool has_uneven_weights(struct device_case *k)
{
    const struct tensor_desc *w = input(k, 1);
    bool uneven = false;

    if (!is_product(op_of(k)) || !w || w->q.kind != Q_AXIS || !dtype_is_fixed(w->type))
        return false;
    for (uint32_t i = 0; i < w->q.n; i++)
        uneven |= quant_offset(&w->q, i) != 0;
    return (uneven || !dtype_is_signed(w->type)) && tell_tensor(k, false, 1);
}

/* ---- the table -------------------------------------------------------------------------------------------------------- */

/* clang-format off */
const struct device_rule device_rules[] = {
    { "no-htp", "the SoC", "SoCs before v68", DEVICE_REFUSED, 0, false, "public list of SoCs",
      "use the CPU or GPU backend there", has_no_htp, true },
    { "arch-unknown", "the SoC", "SoCs of unknown architecture", DEVICE_UNSURE, 0, false, "choice of ours: no public table says the architecture",
      "look the architecture up and check a SoC that has it", has_no_arch, true },
    { "vtcm", "options vtcm_mb and VTCM_SIZE_IN_BYTES", "where the SoC has less", DEVICE_REFUSED, 0, false, GUIDE ": at most what the SoC has",
      "ask for that at most, or for 0: all", wants_vtcm, true },
    { "option-arch", "graph options", "before the option's architecture", DEVICE_REFUSED, 0, false, GUIDE ": docs/htp-options.md has the architectures",
      "leave the option out for these SoCs", wants_newer, true },
    { "weight-sharing", "option weight_sharing_enabled", "before v73", DEVICE_REFUSED, ARCH_SHARING, false, GUIDE ": v73 and later",
      "prepare a context without it for these SoCs", wants_sharing, true },

    { "float", "types of the node", "before v73", DEVICE_REFUSED, ARCH_FLOAT, false, "github.com/microsoft/onnxruntime/issues/21848",
      "quantize the model, or the operator", computes_float, false },
    { "mixed-unsigned", "types of MatMul: float and unsigned fixed point", "all", DEVICE_REFUSED, 0, false, "github.com/qualcomm/aimet/issues/4090, with SDK 2.41 to 2.44",
      "insert Quantize or Dequantize, so that both sides have one type", mixes_unsigned, false },
    { "mixed-types", "types of other products: float and fixed point", "all", DEVICE_UNSURE, 0, false, "github.com/qualcomm/aimet/issues/4090: signed 8 bits since SDK 2.44; the operators' version history has more since 2.49",
      "use a new SDK, or give both sides one type", mixes_others, false },
    { "weights16-arch", "16-bit weights beside 16-bit activations, Conv2d", "before v73", DEVICE_REFUSED, ARCH_WEIGHTS16, false, "github.com/microsoft/onnxruntime/issues/21848",
      "use 8-bit weights", convolves_weights16, false },
    { "weights16-soc", "16-bit weights beside 16-bit activations, other products", "before v73", DEVICE_UNSURE, ARCH_WEIGHTS16, false, GUIDE ": on selected SoCs; the architecture is a choice of ours, that of Conv2d",
      "use 8-bit weights", multiplies_weights16, false },
    { "weights16-operator", "16-bit weights beside 16-bit activations", "all", DEVICE_REFUSED, 0, false, GUIDE ": list of seven operators",
      "use 8-bit weights", has_weights16_elsewhere, false },
    { "weights16-range", "values of 16-bit weights", "all", DEVICE_REFUSED, 0, false, GUIDE ": -0x8000 to 0x7F7F",
      "quantize with --restrict_quantization_steps \"-0x8000 0x7F7F\"", has_weights16_beyond, false },
    { "rank", "ranks of tensors", "all", DEVICE_REFUSED, 0, false, "github.com/microsoft/onnxruntime/pull/26296",
      "reshape to rank 5 or less", has_high_rank, false },

    { "softmax-axis", "axis of Softmax and LogSoftmax", "all", DEVICE_UNSURE, 0, false, SUPPLEMENT ": the last axis",
      "transpose, so that the axis is the last one", has_inner_axis, false },
    { "layernorm-axes", "axes of LayerNorm", "all", DEVICE_UNSURE, 0, false, SUPPLEMENT ": the last axis",
      "transpose or reshape, so that the last axis is normalized", has_other_axes, false },
    { "topk-k", "k of TopK with 16 bits", "all", DEVICE_UNSURE, 0, false, SUPPLEMENT ": at most 64",
      "take 8 bits, or a smaller k", has_large_k, false },
    { "same-encoding", "encodings of Gather, GatherElements, GatherNd, TopK", "all", DEVICE_UNSURE, 0, false, SUPPLEMENT ": equal ones",
      "give the output the encoding of the input", changes_encoding, false },
    { "fixed-encoding", "16-bit outputs of Sigmoid and Tanh", "all", DEVICE_UNSURE, 0, false, SUPPLEMENT ": one encoding per type",
      "give the output the encoding that is named", has_other_encoding, false },
    { "pool-rounding", "rounding_mode of pools", "all", DEVICE_UNSURE, 0, false, SUPPLEMENT ": FLOOR",
      "pad the input, and round down", rounds_up, false },
    { "depthwise-dilation", "dilation of DepthWiseConv2d", "all", DEVICE_UNSURE, 0, false, SUPPLEMENT ": with stride 1",
      "use a stride of 1 where the filter is dilated", dilates_strided, false },
    { "channel-weights", "weights with an encoding per channel", "all", DEVICE_UNSURE, 0, false, SUPPLEMENT ": signed and symmetric",
      "quantize the weights symmetrically", has_uneven_weights, false },
    { "op-package", "operators of op packages", "all", DEVICE_UNSURE, 0, false, "choice of ours: the package that runs on the device decides",
      "build the package for the device and validate it there", is_of_package, false },
    { "public-table", "operator, types and ranks", "all", DEVICE_UNSURE, 0, true, "public table of supported operations and " SUPPLEMENT,
      "look the operator up in the edition of the SDK that is used; docs/ops.md shows what the table has", is_silent, false },
    { 0 },
};
/* clang-format on */
