/* SPDX-License-Identifier: Apache-2.0 */
/* The rules. Each looks at all operators, changes a copy of the graph as its advice says, and has that estimated. */
#include <string.h>

#include "analysis/advise.h"

enum { DEPTH = 32 /* channels that a tile has */ };

/* ---- what operators are ----------------------------------------------------------------------------------------------- */

static const struct binary_tensor *input(const struct advisor *a, uint32_t k, uint32_t i)
{
    const struct binary_node *n = &a->g->nodes[k];
    return i < n->n_in && n->in[i] != BINARY_NONE ? &a->g->tensors[n->in[i]] : NULL;
}

static bool is_constant(const struct binary_tensor *t)
{
    return t && !t->io && (t->place == PLACE_CONST || t->place == PLACE_NONE);
}

static bool is_convolution(enum op_id op)
{
    return op == OP_Conv1d || op == OP_Conv2d || op == OP_Conv3d || op == OP_TransposeConv1d || op == OP_TransposeConv2d ||
           op == OP_TransposeConv3d;
}

static bool is_product(enum op_id op)
{
    return is_convolution(op) || op == OP_DepthWiseConv1d || op == OP_DepthWiseConv2d || op == OP_FullyConnected ||
           op == OP_MatMul;
}

/* Constant weights of a product; NULL: it has none. */
static const struct binary_tensor *weights_of(const struct advisor *a, uint32_t k)
{
    const struct binary_tensor *w = is_product(a->g->nodes[k].op->id) ? input(a, k, 1) : NULL;
    return is_constant(w) ? w : NULL;
}

static bool is_shown(const struct advisor *a, uint32_t k)
{
    return qhas_wanted(a->q, k);
}

static double share(const struct advisor *a, uint32_t k)
{
    return qhas_percent(a->g->nodes[k].cycles, a->base);
}

/* Cycles of the graph when operator k has nothing to compute. */
static uint64_t without_work(struct advisor *a, uint32_t k)
{
    if (!what_if_start(a))
        return UINT64_MAX;
    a->nodes[k].macs = 0;
    return what_if_cycles(a);
}

/* Node r reads its operator's own input in place of its result. */
static bool read_past(struct advisor *a, uint32_t k, uint32_t r)
{
    struct binary_node *n = &a->nodes[r];
    bool reads = false;

    for (uint32_t i = 0; i < n->n_in; i++)
        reads |= n->in[i] == a->g->nodes[k].out[0];
    if (!reads)
        return true;
    uint32_t *in = arena_dup(a->arena, n->in, n->n_in * sizeof *in);
    for (uint32_t i = 0; in && i < n->n_in; i++)
        if (in[i] == a->g->nodes[k].out[0])
            in[i] = a->g->nodes[k].in[0];
    n->in = in;
    return in != NULL;
}

/* Cycles of the graph when operator k is not there. */
static uint64_t without_op(struct advisor *a, uint32_t k)
{
    if (!what_if_start(a))
        return UINT64_MAX;
    for (uint32_t r = 0; r < a->g->n_nodes; r++)
        if (r != k && a->nodes[r].n_in && !read_past(a, k, r))
            return UINT64_MAX;
    a->nodes[k].macs = 0;
    a->nodes[k].n_in = 0;
    return what_if_cycles(a);
}

/* ---- operators that are better others --------------------------------------------------------------------------------- */

/* An operator that another one does the work of, with its first n_in inputs. */
struct swap {
    enum op_id from, to;
    uint32_t n_in;
    const char *reason;
};

/* What is taken away, or divided by, is made part of the encoding where it is a constant. */
static bool is_swapped(const struct advisor *a, const struct swap *swap, uint32_t k)
{
    if (a->g->nodes[k].op->id != swap->from || !is_shown(a, k))
        return false;
    return swap->from == OP_Prelu || (!is_constant(input(a, k, 0)) && !is_constant(input(a, k, 1)));
}

static void swap_node(struct advisor *a, const struct swap *swap, uint32_t k)
{
    a->nodes[k].op = op_get(swap->to);
    a->nodes[k].n_in = swap->n_in;
}

/* All of them at once: many small ones may be worth it where none is alone. */
struct together {
    uint32_t n;
    uint64_t spent, cycles; /* on them now; of the graph when all are swapped */
};

static bool swap_all(struct advisor *a, const struct swap *swap, struct together *ret)
{
    *ret = (struct together){ 0 };
    for (uint32_t k = 0; k < a->g->n_nodes; k++) {
        if (!is_swapped(a, swap, k))
            continue;
        if (!ret->n && !what_if_start(a))
            return false;
        swap_node(a, swap, k);
        ret->spent += a->g->nodes[k].cycles;
        ret->n++;
    }
    if (ret->n)
        ret->cycles = what_if_cycles(a);
    return ret->n > 0;
}

static void find_swaps(struct advisor *a, const struct advise_rule *rule, const struct swap *swap)
{
    struct together all;
    uint32_t told = 0;

    if (!swap_all(a, swap, &all))
        return;
    for (uint32_t k = 0; k < a->g->n_nodes; k++) {
        if (!is_swapped(a, swap, k) || !advise_worth(a, k) || !what_if_start(a))
            continue;
        swap_node(a, swap, k);
        advise_add(a, rule, k, what_if_cycles(a),
                   arena_printf(a->arena, "%s; %.1f %% of the time is spent here", swap->reason, share(a, k)));
        told++;
    }
    if (all.n > told)
        advise_add(a, rule, BINARY_NONE, all.cycles,
                   arena_printf(a->arena, "all %u operators %s together: %s; %.1f %% of the time is spent there", all.n,
                                op_get(swap->from)->name, swap->reason, qhas_percent(all.spent, a->base)));
}

static void find_division(struct advisor *a, const struct advise_rule *rule)
{
    static const struct swap swap = { OP_ElementWiseDivide, OP_ElementWiseMultiply, 2,
                                      "a quotient of two tensors takes several times as long as a product" };
    find_swaps(a, rule, &swap);
}

static void find_prelu(struct advisor *a, const struct advise_rule *rule)
{
    static const struct swap swap = { OP_Prelu, OP_Relu, 1,
                                      "PReLU is work of the vector units beside its convolution, a ReLU is done as "
                                      "results are stored" };
    find_swaps(a, rule, &swap);
}

static void find_subtraction(struct advisor *a, const struct advise_rule *rule)
{
    static const struct swap swap = { OP_ElementWiseSubtract, OP_ElementWiseAdd, 2,
                                      "a difference of two tensors takes several times as long as a sum (estimated as "
                                      "a sum, which takes no less than a convolution)" };
    find_swaps(a, rule, &swap);
}

/* A number for each of few channels, as images are normalized. */
static bool normalizes(const struct advisor *a, uint32_t k)
{
    enum { FEW = 16 };
    enum op_id op = a->g->nodes[k].op->id;
    bool kind = op == OP_ElementWiseAdd || op == OP_ElementWiseMultiply || op == OP_ElementWiseSubtract ||
                op == OP_ElementWiseDivide;
    const struct binary_tensor *x = input(a, k, 0), *by = input(a, k, 1);

    return kind && x && x->desc.rank == 4 && x->desc.dims[3] < FEW && is_constant(by) && desc_count(&by->desc) > 1;
}

static void find_normalization(struct advisor *a, const struct advise_rule *rule)
{
    for (uint32_t k = 0; k < a->g->n_nodes; k++)
        if (is_shown(a, k) && normalizes(a, k) && advise_worth(a, k))
            advise_add(a, rule, k, without_op(a, k),
                       arena_printf(a->arena,
                                    "%u channels with a number for each do not lie in vectors as tensors do; %.1f %% of "
                                    "the time is spent here",
                                    input(a, k, 0)->desc.dims[3], share(a, k)));
}

static void find_transpose(struct advisor *a, const struct advise_rule *rule)
{
    for (uint32_t k = 0; k < a->g->n_nodes; k++)
        if (a->g->nodes[k].op->id == OP_Transpose && is_shown(a, k) && share(a, k) >= 1)
            advise_add(a, rule, k, without_work(a, k),
                       arena_printf(a->arena,
                                    "elements are moved one by one when others are to stand side by side; %.1f %% of "
                                    "the time is spent here",
                                    share(a, k)));
}

/* ---- channels --------------------------------------------------------------------------------------------------------- */

static uint32_t last_dim(const struct binary_tensor *t)
{
    return t && t->desc.rank ? t->desc.dims[t->desc.rank - 1] : 0;
}

static void scale_macs(struct binary_node *n, uint32_t from, uint32_t to)
{
    n->macs = n->macs / from * to;
}

/* Fewer channels in a tensor: in the weights that make it, and in those that read it. */
static uint64_t with_channels(struct advisor *a, uint32_t k, uint32_t from, uint32_t to)
{
    uint32_t y = a->g->nodes[k].out[0];

    if (!what_if_start(a))
        return UINT64_MAX;
    struct tensor_desc *made = &a->tensors[y].desc, *weights = &a->tensors[a->nodes[k].in[1]].desc;
    made->dims[made->rank - 1] = to;
    weights->dims[weights->rank - 1] = to;
    scale_macs(&a->nodes[k], from, to);
    for (uint32_t r = 0; r < a->g->n_nodes; r++) {
        struct binary_node *n = &a->nodes[r];
        if (!n->n_in || n->in[0] != y)
            continue;
        scale_macs(n, from, to);
        if (is_convolution(n->op->id) && n->in[1] != BINARY_NONE && a->tensors[n->in[1]].desc.rank >= 2)
            a->tensors[n->in[1]].desc.dims[a->tensors[n->in[1]].desc.rank - 2] = to;
    }
    return what_if_cycles(a);
}

/* A few more channels than a multiple of 32. */
static void find_channels(struct advisor *a, const struct advise_rule *rule)
{
    enum { FEW_MORE = 8 };

    for (uint32_t k = 0; k < a->g->n_nodes; k++) {
        const struct binary_node *n = &a->g->nodes[k];
        const struct binary_tensor *w = weights_of(a, k);
        uint32_t channels = w && is_convolution(n->op->id) ? last_dim(w) : 0;
        uint32_t more = channels % DEPTH;

        if (channels < DEPTH || !more || more > FEW_MORE || !is_shown(a, k) || !advise_worth(a, k) ||
            a->g->tensors[n->out[0]].io)
            continue;
        advise_add(a, rule, k, with_channels(a, k, channels, channels - more),
                   arena_printf(a->arena, "%u channels are computed as %u: %.0f %% of the products are padding", channels,
                                channels - more + DEPTH, 100.0 * (DEPTH - more) / (channels - more + DEPTH)));
    }
}

/* ---- numbers ---------------------------------------------------------------------------------------------------------- */

static bool is_asymmetric(const struct tensor_desc *d)
{
    int32_t middle = dtype_is_signed(d->type) ? 0 : -(int32_t)(1u << (dtype_bits(d->type) - 1));

    if (!dtype_is_fixed(d->type) || dtype_bits(d->type) > 16)
        return false;
    if (!d->q.n)
        return d->q.offset != middle;
    for (uint32_t i = 0; d->q.offsets && i < d->q.n; i++)
        if (d->q.offsets[i] != middle)
            return true;
    return false;
}

static void find_asymmetric(struct advisor *a, const struct advise_rule *rule)
{
    for (uint32_t k = 0; k < a->g->n_nodes; k++) {
        const struct binary_tensor *w = weights_of(a, k);
        char text[DESC_TEXT_MAX];
        if (w && is_shown(a, k) && is_asymmetric(&w->desc))
            advise_add(a, rule, k, UINT64_MAX,
                       arena_printf(a->arena,
                                    "weights %s have an offset of %d; the device is most accurate with symmetric ones",
                                    desc_text(&w->desc, text), (int)w->desc.q.offset));
    }
}

/* The largest value of 16-bit weights, in the form that kernels have; INT32_MIN: they cannot be read. */
static int32_t largest_weight(const struct advisor *a, uint32_t k)
{
    const struct binary_node *n = &a->g->nodes[k];
    const struct binary_tensor *w = input(a, k, 1);
    int32_t most = INT32_MIN;

    if (w->place != PLACE_CONST && n->n_aux && n->aux[0] != BINARY_NONE)
        w = &a->g->tensors[n->aux[0]];
    if (w->place != PLACE_CONST || !a->g->constants || w->bytes < 2 || w->offset + w->bytes > a->g->constant_bytes)
        return most;
    for (uint64_t i = 0; i + 1 < w->bytes; i += 2) {
        int16_t value;
        memcpy(&value, a->g->constants + w->offset + i, sizeof value);
        most = value > most ? value : most;
    }
    return most;
}

static bool is_16_bits(const struct binary_tensor *t)
{
    return t && dtype_is_fixed(t->desc.type) && dtype_bits(t->desc.type) == 16;
}

static void find_16_bit_range(struct advisor *a, const struct advise_rule *rule)
{
    enum { MOST = 0x7F7F };

    for (uint32_t k = 0; k < a->g->n_nodes; k++) {
        const struct binary_tensor *w = weights_of(a, k);
        int32_t most = w && is_16_bits(w) && is_16_bits(input(a, k, 0)) && is_shown(a, k) ? largest_weight(a, k) : INT32_MIN;
        if (most > MOST)
            advise_add(a, rule, k, UINT64_MAX,
                       arena_printf(a->arena,
                                    "16-bit weights go up to 0x%X beside 16-bit activations; a device takes -0x8000 to "
                                    "0x7F7F",
                                    (unsigned)most));
    }
}

/* Cycles of the graph with weights of 8 bits and activations of so many. */
static uint64_t with_bits(struct advisor *a, unsigned bits)
{
    if (!what_if_start(a))
        return UINT64_MAX;
    for (uint32_t t = 0; t < a->g->n_tensors; t++)
        what_if_narrow(a, t, is_constant(&a->g->tensors[t]) ? 8 : bits);
    return what_if_cycles(a);
}

/* Products whose first input is wider than 8 bits. */
static uint32_t count_wide(const struct advisor *a, bool floats, uint32_t *products)
{
    uint32_t n = 0;

    *products = 0;
    for (uint32_t k = 0; k < a->g->n_nodes; k++) {
        const struct binary_tensor *x = is_product(a->g->nodes[k].op->id) ? input(a, k, 0) : NULL;
        *products += x != NULL;
        n += x && (floats ? dtype_is_float(x->desc.type) : is_16_bits(x));
    }
    return n;
}

/* Most of the products: floats are to become 16 bits or 8, 16 bits 8. */
static void find_width(struct advisor *a, const struct advise_rule *rule)
{
    uint32_t products, wide = count_wide(a, false, &products), floats = count_wide(a, true, &products);
    bool is_float = floats * 2 > products;
    uint64_t narrow;

    if (wide * 2 <= products && !is_float)
        return;
    uint64_t middle = is_float ? with_bits(a, 16) : a->base;
    narrow = with_bits(a, 8);
    if (is_float)
        advise_add(a, rule, BINARY_NONE, narrow,
                   arena_printf(a->arena,
                                "%u of %u products are of floats. 8 bits take least power and time, then 16 bits "
                                "with weights of 8 (%.0f %% of the cycles here)",
                                floats, products, qhas_percent(middle, a->base)));
    else
        advise_add(a, rule, BINARY_NONE, narrow,
                   arena_printf(a->arena, "%u of %u products have 16-bit activations", wide, products));
}

/* ---- memory ----------------------------------------------------------------------------------------------------------- */

/* Weights take longer to come than the product takes: half as many bits. */
static void find_weights(struct advisor *a, const struct advise_rule *rule)
{
    for (uint32_t k = 0; k < a->g->n_nodes; k++) {
        const struct binary_tensor *w = weights_of(a, k);
        unsigned bits = w ? dtype_bits(w->desc.type) : 0;
        const struct binary_moves *m = &a->model.nodes[k].moves;

        if (bits < 8 || !is_shown(a, k) || share(a, k) < 1 || strcmp(qhas_bound(&a->model, k), "DMA") != 0 ||
            m->weights * 2 < binary_moves_in(m) + binary_moves_out(m) || !what_if_start(a))
            continue;
        what_if_narrow(a, a->g->nodes[k].in[1], bits > 8 ? 8 : 4);
        advise_add(
            a, rule, k, what_if_cycles(a),
            arena_printf(a->arena, "%.0f KiB of weights take %llu cycles to come, products %llu", (double)m->weights / 1024,
                         (unsigned long long)a->model.nodes[k].busy[UNIT_FETCH],
                         (unsigned long long)(a->model.nodes[k].busy[UNIT_MATRIX] + a->model.nodes[k].busy[UNIT_VECTOR])));
    }
}

/* The graph as if all of it fitted: an upper bound of what a larger window, or another order, can save. */
static void find_spill(struct advisor *a, const struct advise_rule *rule)
{
    uint64_t bytes = 0;

    for (uint32_t k = 0; k < a->g->n_nodes; k++)
        bytes += a->model.nodes[k].moves.spill + a->model.nodes[k].moves.fill;
    if (!bytes || !what_if_start(a))
        return;
    for (uint32_t t = 0; t < a->g->n_tensors; t++)
        if (a->tensors[t].place == PLACE_SPILL)
            a->tensors[t].place = PLACE_VTCM;
    advise_add(a, rule, BINARY_NONE, what_if_cycles(a),
               arena_printf(a->arena,
                            "%.1f MiB go to the spill-fill buffer and come back, for lack of room in %.1f MiB of VTCM. "
                            "Estimated as the same plan with nothing spilled",
                            (double)bytes / (1 << 20), (double)a->g->info.vtcm_bytes / (1 << 20)));
}

/* ---- the table -------------------------------------------------------------------------------------------------------- */

#define GUIDE "the vendor's profiling guide, "
const struct advise_rule advise_rules[] = {
    { "div-to-mul", GUIDE "showcase model 2", GOAL_SPEED,
      "multiply by the reciprocal, computed where the divisor is made or before the model runs", find_division },
    { "sub-to-conv", GUIDE "showcase model 1", GOAL_SPEED,
      "negate weights and bias of the convolution that makes the second operand and add; or merge both branches and "
      "subtract "
      "with a 1x1 convolution whose weights are the identity and its negative",
      find_subtraction },
    { "prelu-to-relu", GUIDE "showcase model 3", GOAL_SPEED, "use ReLU and train again", find_prelu },
    { "channels", "the cost model: tiles have 32 channels", GOAL_SPEED,
      "take a multiple of 32 channels: the next lower one saves time, the next higher one costs nothing", find_channels },
    { "activation-width", "the vendor's recommendations: A8, then A16, then FP16", GOAL_SPEED,
      "quantize to 8 bits and look at the accuracy; keep 16 bits or floats only where it does not suffice, and try "
      "quantization aware training before",
      find_width },
    { "weight-bytes", "the cost model: DMA", GOAL_SPEED,
      "give these weights half as many bits (4 for 8, 8 for 16 or floats), or share them", find_weights },
    { "spill", "the cost model: DMA", GOAL_SPEED,
      "give the graph more VTCM (vtcm_mb), try O3, or make the largest tensors smaller", find_spill },
    { "normalize-outside", "the cost model: images that the graph normalizes", GOAL_SPEED,
      "make it part of the first convolution's weights and bias, or of the input's encoding", find_normalization },
    { "transpose", "the cost model: layouts", GOAL_SPEED,
      "keep channels last from the input on, so that no Transpose is needed", find_transpose },
    { "symmetric-weights", "the vendor's recommendations", GOAL_ACCURACY,
      "quantize weights symmetrically (--param_quantizer_schema symmetric), and activations asymmetrically",
      find_asymmetric },
    { "16-bit-weights", "the vendor's recommendations: A16W16", GOAL_DEVICE,
      "quantize with --restrict_quantization_steps \"-0x8000 0x7F7F\"", find_16_bit_range },
    { 0 },
};
