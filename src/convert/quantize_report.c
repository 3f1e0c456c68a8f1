/* SPDX-License-Identifier: Apache-2.0 */
/* What became of every tensor, and which operators stayed float and why. */
#include <math.h>
#include <string.h>

#include "convert/quantize_rewrite.h"

void quantize_report_init(struct quantize_report *r)
{
    memset(r, 0, sizeof(*r));
    arena_init(&r->arena);
}

void quantize_report_finish(struct quantize_report *r)
{
    vec_finish(&r->rows);
    vec_finish(&r->float_nodes);
    arena_finish(&r->arena);
}

enum status report_row(struct rewrite *w, const struct quantize_row *row)
{
    struct quantize_row r = *row;
    struct arena *a = &w->report->arena;
    r.name = arena_strdup(a, row->name);
    r.scales = row->scales ? arena_dup(a, row->scales, row->n * sizeof(float)) : NULL;
    r.offsets = row->offsets ? arena_dup(a, row->offsets, row->n * sizeof(int32_t)) : NULL;
    struct quantize_row *slot = r.name ? vec_push(&w->report->rows) : NULL;
    RETURN_IF(!slot, ST_NO_MEMORY, "no memory for the report");
    *slot = r;
    return ST_OK;
}

enum status report_float(struct rewrite *w, const struct ir_node *n, const char *why)
{
    const char **slot = vec_push(&w->report->float_nodes);
    RETURN_IF(!slot, ST_NO_MEMORY, "no memory for the report");
    *slot = arena_printf(&w->report->arena, "%s \"%s\": %s", n->op->name, n->name, why);
    RETURN_IF(!*slot, ST_NO_MEMORY, "no memory for the report");
    return ST_OK;
}

enum status report_activations(struct rewrite *w)
{
    const struct plan *p = &w->plan;
    for (uint32_t t = 0; t < p->g->tensors.n; t++) {
        const struct ir_tensor *from = &p->g->tensors.at[t];
        const struct plan_tensor *x = &p->tensors[t];
        struct quantize_row row = {
            .name = from->name, .type = from->desc.type, .n = 1, .min = x->min, .max = x->max, .sqnr = NAN
        };
        if (dtype_is_fixed(from->desc.type) && from->desc.q.kind == Q_TENSOR) {
            row.origin = QUANTIZE_MODEL;
            row.scales = &from->desc.q.scale;
            row.offsets = &from->desc.q.offset;
            row.constant = from->role == IR_CONST;
            row.min = row.max = NAN;
        } else if (!quantize_is_activation(from) || x->alias != IR_NONE) {
            continue;
        } else if (w->forms[t].fixed != IR_NONE) {
            row.type = x->e.type;
            row.origin = x->origin;
            row.scales = &x->e.scale;
            row.offsets = &x->e.offset;
            row.sqnr = x->sqnr;
        }
        TRY(report_row(w, &row));
    }
    return ST_OK;
}
