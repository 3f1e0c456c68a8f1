/* SPDX-License-Identifier: Apache-2.0 */
/* New values for tensors of a graph that is kept: the client's updates, after which it is prepared once more. */
#include <string.h>

#include "ir/ir.h"

bool ir_updateable(const struct ir_graph *g)
{
    for (size_t i = 0; i < g->tensors.n; i++)
        if (g->tensors.at[i].updateable)
            return true;
    for (size_t i = 0; i < g->children.n; i++)
        if (ir_updateable(g->children.at[i]))
            return true;
    return false;
}

bool ir_set_value(struct ir_graph *g, uint32_t client_id, const void *data, const struct quant *q)
{
    bool found = false;
    for (size_t i = 0; i < g->tensors.n; i++) {
        struct ir_tensor *t = &g->tensors.at[i];
        if (t->client_id != client_id)
            continue;
        found = true;
        if (data && t->data && t->data != data)
            memcpy((void *)(uintptr_t)t->data, data, desc_bytes(&t->desc));
        if (q)
            t->desc.q = *q;
    }
    for (size_t i = 0; i < g->children.n; i++)
        found |= ir_set_value(g->children.at[i], client_id, data, q);
    return found;
}
