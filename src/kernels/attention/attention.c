/* SPDX-License-Identifier: Apache-2.0 */
/* Binding of GroupQueryAttention. */
#include <math.h>

#include "kernels/attention/attention.h"
#include "kernels/families.h"

#define KERNEL KERNEL_VARIANT
static const struct kernel_variant attention_variants[] = {
#include "kernels/attention/attention.def"
    {0},
};
#undef KERNEL

static enum status read_operands(const struct op_call *c, struct attention_args *a)
{
    for (uint32_t i = 0; i < c->n_in && i < GQA_INPUTS; i++)
        if (c->in[i]) {
            a->given |= 1u << i;
            TRY(codec_init(&a->in[i], c->in[i], c));
        }
    for (uint32_t i = 0; i < c->n_out && i < GQA_OUTPUTS; i++)
        if (c->out[i]) {
            a->wanted |= 1u << i;
            TRY(codec_init_out(&a->out[i], c->out[i], c));
        }
    return ST_OK;
}

static enum status attention_bind(const struct op_call *c, void *args, struct kernel_bound *ret,
                                  const struct kernel_variant **variants)
{
    struct attention_args *a = args;
    const struct tensor_desc *q = c->in[GQA_QUERY];
    *a = (struct attention_args){.batch = q->dims[0], .sequence = q->dims[1], .heads = (uint32_t)op_int(c, "num_heads", 0),
                                 .kv_heads = (uint32_t)op_int(c, "kv_num_heads", 0), .n_in = c->n_in};
    TRY(read_operands(c, a));
    a->packed = !(a->given >> GQA_KEY & 1);
    a->size = (uint32_t)(q->dims[2] / (a->heads + (a->packed ? 2 * (uint64_t)a->kv_heads : 0)));
    a->past = a->given >> GQA_PAST_KEY & 1 ? c->in[GQA_PAST_KEY]->dims[2] : 0;
    a->present = a->wanted >> GQA_PRESENT_KEY & 1 ? c->out[GQA_PRESENT_KEY]->dims[2] : 0;
    a->scale = op_has(c, "scale") && op_real(c, "scale", 0) != 0.0 ? (float)op_real(c, "scale", 0)
                                                                   : (float)(1.0 / sqrt((double)a->size));
    a->seqlens = a->given >> GQA_SEQLENS & 1 ? c->in[GQA_SEQLENS]->type : DT_NONE;
    a->positions = a->given >> GQA_POSITIONS & 1 ? c->in[GQA_POSITIONS]->type : DT_NONE;
    if (op_int(c, "do_rotary", 0)) {
        a->table = c->in[GQA_COS]->dims[0];
        a->turned = 2 * c->in[GQA_COS]->dims[1];
    }
    uint64_t keys = (uint64_t)a->past + a->sequence;
    kernel_units(ret, (uint64_t)a->batch * a->kv_heads, 2 * keys * a->sequence * a->size * (a->heads / a->kv_heads));
    ret->work_bytes = (2 * keys * a->size + keys + 3 * (uint64_t)a->size) * sizeof(float);
    *variants = attention_variants;
    return ST_OK;
}

const struct kernel_family family_attention = {
    .name = "attention",
    .args_size = sizeof(struct attention_args),
    .bind = attention_bind,
};
