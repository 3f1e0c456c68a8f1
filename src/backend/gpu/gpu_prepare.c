/* SPDX-License-Identifier: Apache-2.0 */
/* Which operators run, and the compiler with this backend's limits. */
#include "backend/gpu/gpu_backend.h"
#include "prepare/prepare.h"

enum {
    TENSOR_ALIGN = 512,   /* parts of a buffer begin at multiples of this, or of more where the device wants it; load checks
                             the one at hand */
    ORDER_STEPS = 200000, /* milliseconds */
    PLAN_NODES = 200000,
};

static const struct pass passes[] = {
    { "dead", opt_dead },
    { "weights", lower_weights },
    { "fold", opt_fold },
    { "fuse-batchnorm", opt_fuse_batchnorm },
    { "fuse-activation", opt_fuse_activation },
    { "fp16", lower_fp16 },
    { "pack", lower_pack },
    { "order", plan_order },
    { "plan", plan_memory },
    { "emit", emit_commands },
    {},
};

/* disable_node_optimizations: nodes stay as the client made them. */
static const struct pass plain_passes[] = {
    { "weights", lower_weights },
    { "fp16", lower_fp16 },
    { "pack", lower_pack },
    { "order", plan_order },
    { "plan", plan_memory },
    { "emit", emit_commands },
    {},
};

/* The call as it is when lower_weights has been there. */
struct float_form {
    struct op_call call;
    struct tensor_desc decoded[MAX_PORTS];
    const struct tensor_desc *in[MAX_PORTS];
    const void *data[MAX_PORTS];
};

static void float_form(const struct op_call *c, struct float_form *ret)
{
    ret->call = *c;
    for (uint32_t i = 0; i < c->n_in; i++) {
        bool decoded = lower_decodes(c, i);
        ret->in[i] = decoded ? &ret->decoded[i] : c->in[i];
        ret->data[i] = decoded || !c->in_data ? NULL : c->in_data[i];
        if (!decoded)
            continue;
        ret->decoded[i] = *c->in[i];
        ret->decoded[i].type = c->out[0]->type;
        ret->decoded[i].q = (struct quant){};
    }
    ret->call.in = ret->in;
    ret->call.in_data = ret->data;
}

enum status gpu_supports(const struct op_call *c)
{
    struct gpu_work w = {};
    struct float_form f;
    float_form(c, &f);
    enum status st = gpu_bind(&f.call, &w);
    vec_finish(&w.launches);
    return st;
}

static bool can_run(const struct op_call *c)
{
    return gpu_supports(c) == ST_OK;
}

enum status gpu_prepare(struct backend_context *c, const struct backend_graph_cfg *cfg, struct ir_graph *g,
                        struct cancel *cancel, struct binary_image *ret)
{
    uint32_t align = c ? c->world->home->align : 0; /* nothing else depends on the device */
    const struct gpu_graph_cfg *own = cfg ? cfg->custom : NULL;
    uint32_t precision = own ? own->precision : GPU_PRECISION_USER;
    struct prepare_target t = {
        .passes = own && own->disable_nodes ? plain_passes : passes,
        .tensor_align = align > TENSOR_ALIGN ? align : TENSOR_ALIGN,
        .fp16 = precision == GPU_PRECISION_FP16 || precision == GPU_PRECISION_HYBRID,
        .fp32 = precision == GPU_PRECISION_FP32,
        .own_kernels = true,
        .aux = gpu_aux,
        .aux_fill = gpu_aux_fill,
        .max_tiles = 1,
        .no_sharing = own && own->disable_memory,
        .order_steps = own && own->disable_memory ? 0 : ORDER_STEPS,
        .plan_nodes = PLAN_NODES,
        .supports = can_run,
    };
    struct prepare_opts o = {
        .binary = gpu_target(),
        .priority = cfg ? cfg->priority : 0,
        .opt_level = cfg && cfg->opt_level ? cfg->opt_level : 2,
        .options =
            own ? (own->disable_recording ? GPU_GRAPH_NO_RECORDING : 0) | (own->disable_nodes ? GPU_GRAPH_NO_FUSION : 0) : 0,
        .abort = cancel ? &cancel->abort : NULL,
        .deadline_ns = cancel ? cancel->deadline_ns : 0,
    };
    return prepare(&t, &o, g, ret);
}
