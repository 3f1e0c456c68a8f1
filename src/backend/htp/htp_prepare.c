/* SPDX-License-Identifier: Apache-2.0 */
/* The compiler for HTP: libQnnHtpPrepare.so, and the same in libQnnHtp.so for clients that copied it alone. */
#include "backend/htp/htp_backend.h"
#include "backend/htp/htp_cost.h"
#include "prepare/prepare.h"

enum {
    MAX_TILES = 64,      /* enough for 32 threads; joined for smaller teams, so a binary is the same everywhere */
    ORDER_STEPS = 200000, /* milliseconds */
    CONST_KB = 2097152,  /* what a device takes at most of one graph */
    PLAN_NODES = 200000, /* well under a second at optimization level 2 */
};

enum { MAX_PASSES = 32 };

/* The passes that all backends run, with float16 before constants are folded, masked softmax before attention is cut into
 * parts, and what a device refuses;
 * FOLD_RELU_ACTIVATION_INTO_CONV_OFF leaves one out. */
static void list_passes(bool fold_relu_off, struct pass ret[MAX_PASSES])
{
    size_t n = 0;
    for (const struct pass *p = prepare_default_passes; p->name && n < MAX_PASSES - 4; p++) {
        if (p->run == tile_rows) {
            ret[n++] = (struct pass){ "fp16", lower_fp16 };
            ret[n++] = (struct pass){ "fuse-mask", opt_fuse_mask };
        }
        if (p->run == tile_vtcm)
            ret[n++] = (struct pass){ "vtcm-least", tile_vtcm_least };
        if (p->run != opt_fuse_activation || !fold_relu_off)
            ret[n++] = *p;
    }
    ret[n] = (struct pass){ 0 };
}

/* The rows of operators that the graph names are those of the other library. */
static void adopt_rows(struct ir_graph *g)
{
    for (size_t i = 0; i < g->children.n; i++)
        adopt_rows(g->children.at[i]);
    for (size_t i = 0; i < g->nodes.n; i++)
        g->nodes.at[i].op = op_get(g->nodes.at[i].op->id);
}

/* The device as the options of the graph want it used. */
static struct cost_device device_of(const struct htp_prepare_args *a)
{
    enum { DEPTH = 32 /* of the matrix unit */ };
    struct cost_device device;

    htp_cost_device(a->target.soc_model, a->target.arch, a->vtcm_bytes, a->hvx_threads, &device);
    if (a->cfg.hmx_hz > 0 && a->cfg.core_hz > 0)
        device.matrix_macs = (uint32_t)((double)device.matrix_macs * a->cfg.hmx_hz / a->cfg.core_hz + 0.5);
    device.clamps_apart = a->cfg.fold_relu_off;
    device.activations_apart = !a->cfg.activation_fusion;
    device.monolithic_lstm = a->cfg.monolithic_lstm;
    device.least_depth = a->cfg.short_depth_off ? DEPTH : 0;
    device.slc_bytes = a->cfg.slc == HTP_SLC_ON ? htp_slc_bytes(a->target.soc_model) : 0;
    device.slc_percent = HTP_SLC_PERCENT;
    return device;
}

/* What saves more wins. */
static enum binary_storage storage_of(const struct htp_graph_cfg *cfg, uint32_t soc_model)
{
    if (cfg->dlbc_weights)
        return STORE_GROUPS;
    if (cfg->sparse_weights && htp_has_sparse_weights(soc_model))
        return STORE_SPARSE;
    return cfg->weights_packing ? STORE_NIBBLES : STORE_PLAIN;
}

static enum status run(const struct htp_prepare_args *a, struct ir_graph *g, struct binary_image *ret)
{
    struct pass passes[MAX_PASSES];
    struct cost_device device = device_of(a);
    bool serial = a->cfg.concurrency_given && !a->cfg.concurrency;
    struct prepare_target t = {
        .passes = passes,
        .tensor_align = HTP_ALIGN,
        .fp16 = a->cfg.fp16,
        .chains = prepare_default_chains, /* this host computes */
        .max_tiles = MAX_TILES,
        .vtcm_bytes = a->vtcm_bytes,
        .beside_bytes = PREPARE_BESIDE,
        .const_kb = CONST_KB,
        .order_steps = a->cfg.opt_level == 1 ? 0 : ORDER_STEPS,
        .device = &device,
        .refit_clamps = true, /* unless FOLD_RELU_ACTIVATION_INTO_CONV_OFF leaves the pass out */
        .plan_nodes = PLAN_NODES,
    };
    struct prepare_opts o = {
        .binary = a->target,
        .priority = a->priority,
        .opt_level = a->cfg.opt_level,
        .vtcm_mb = a->vtcm_mb,
        .hvx_threads = a->hvx_threads,
        .dlbc = a->cfg.dlbc,
        .cores = a->cfg.cores,
        .options = (device.slc_bytes ? HTP_GRAPH_SLC : 0) | (serial ? HTP_GRAPH_SERIAL : 0) |
                   (a->cfg.vtcm_max ? HTP_GRAPH_VTCM_MAX : 0),
        .store_as = storage_of(&a->cfg, a->target.soc_model),
        .abort = a->cancel ? &a->cancel->abort : NULL,
        .deadline_ns = a->cancel ? a->cancel->deadline_ns : 0,
    };
    list_passes(a->cfg.fold_relu_off, passes);
    adopt_rows(g);
    return prepare(&t, &o, g, ret);
}

__attribute__((visibility("default"))) const struct htp_prepare_link openqnn_htp_prepare = {
    .version = HTP_PREPARE_VERSION,
    .build_id = htp_build_id,
    .explain = status_text,
    .prepare = run,
};
