/* SPDX-License-Identifier: Apache-2.0 */
/* Attention's mask, added in front of the softmax, goes into it:
 *
 *     %a = Add(%scores, %mask); %y = Softmax(%a)   ->   %y = MaskedSoftmax(%scores, %mask)
 *
 * The numbers are the same. The gain is in fixed point: scores and mask keep encodings of their own, while their sum, with
 * entries like -10000, has none that serves the scores. Which of the two is the mask shows in its shape, or in being a
 * constant or an input. A constant behind a layer is no mask but the layer's bias, as classifiers have it: fold_batchnorm.c
 * makes it one, so that it is added before anything is rounded. */
#include "convert/fuse.h"

static bool is_last_axis(const struct fuse *f, const struct ir_node *n)
{
    struct ir_call v;
    ir_call(f->g, n, &v);
    return op_axis(&v.call, "axis", 0, v.in[0]->rank) == v.in[0]->rank - 1u && op_real(&v.call, "beta", 0) == 1.0;
}

/* One value per output of a layer with weights. */
static bool is_bias(struct fuse *f, const struct ir_tensor *m, uint32_t x)
{
    const struct ir_node *layer = fuse_maker(f, x);
    const struct tensor_desc *d = &f->g->tensors.at[x].desc;
    return m->role == IR_CONST && layer && layer->n_in >= 2 && f->g->tensors.at[layer->in[1]].role == IR_CONST &&
           (layer->op->id == OP_FullyConnected || layer->op->id == OP_MatMul) &&
           desc_count(&m->desc) == d->dims[d->rank - 1];
}

static bool is_mask(struct fuse *f, uint32_t mask, uint32_t x)
{
    const struct ir_tensor *m = &f->g->tensors.at[mask], *s = &f->g->tensors.at[x];
    if (is_bias(f, m, x))
        return false;
    if (desc_count(&m->desc) < desc_count(&s->desc))
        return true;
    return (m->role == IR_CONST || m->role == IR_INPUT) && s->role == IR_NATIVE;
}

enum status fuse_softmax(struct fuse *f, uint32_t k, bool *done)
{
    const struct ir_node *n = &f->g->nodes.at[k];
    if (n->op->id != OP_Softmax || f->g->tensors.at[n->in[0]].desc.rank == 0 || !is_last_axis(f, n))
        return ST_OK;
    const struct ir_node *add = fuse_maker(f, n->in[0]);
    if (!add || add->op->id != OP_ElementWiseAdd || fuse_reader(f, n->in[0]) != n)
        return ST_OK;
    fuse_mark(f, add);
    for (uint32_t i = 0; i < 2 && !*done; i++) {
        uint32_t in[2] = {add->in[i], add->in[1 - i]};
        if (is_mask(f, in[1], in[0]) && f->g->tensors.at[in[0]].role != IR_CONST)
            return fuse_replace(f, n, "MaskedSoftmax", in, 2, NULL, done);
    }
    return ST_OK;
}
