/* SPDX-License-Identifier: Apache-2.0 */
/* A graph as text; docs/internals/ir.md has the grammar. What is printed parses back to the same graph, except constants cut
 * short. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ir/ir.h"
#include "ir/ir_text.h"

static bool plain_name(const char *s)
{
    if (!*s)
        return false;
    for (; *s; s++)
        if (!isalnum((unsigned char)*s) && !strchr("_./:-", *s))
            return false;
    return true;
}

static void put_quoted(struct str *o, const char *s)
{
    str_add(o, "\"");
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;
        if (c == '"' || c == '\\')
            str_addf(o, "\\%c", c);
        else if (c < 32 || c == 127)
            str_addf(o, "\\x%02x", c);
        else
            str_addn(o, s, 1);
    }
    str_add(o, "\"");
}

static void put_tensor_name(struct str *o, const struct ir_graph *g, uint32_t t)
{
    if (t == IR_NONE) {
        str_add(o, "_");
        return;
    }
    str_add(o, "%");
    const char *name = g->tensors.at[t].name;
    if (plain_name(name))
        str_add(o, name);
    else
        put_quoted(o, name);
}

static void put_names(struct str *o, const struct ir_graph *g, const uint32_t *list, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        str_add(o, i ? ", " : "");
        put_tensor_name(o, g, list[i]);
    }
}

static void put_type(struct str *o, const struct tensor_desc *d)
{
    str_add(o, dtype_name(d->type));
    str_add(o, "[");
    for (unsigned i = 0; i < d->rank; i++)
        str_addf(o, "%s%s%u", i ? "," : "", d->dynamic >> i & 1 ? "?" : "", d->dims[i]);
    str_add(o, "]");
}

/* One element, printed so that reading it gives the same bits. */
static void put_element(struct str *o, enum dtype t, const void *data, uint64_t i)
{
    switch (t) {
    case DT_I8: case DT_SQ8: str_addf(o, "%d", ((const int8_t *)data)[i]); break;
    case DT_U8: case DT_UQ8: case DT_B8: str_addf(o, "%u", ((const uint8_t *)data)[i]); break;
    case DT_I16: case DT_SQ16: str_addf(o, "%d", ((const int16_t *)data)[i]); break;
    case DT_U16: case DT_UQ16: str_addf(o, "%u", ((const uint16_t *)data)[i]); break;
    case DT_I32: case DT_SQ32: str_addf(o, "%d", ((const int32_t *)data)[i]); break;
    case DT_U32: case DT_UQ32: str_addf(o, "%u", ((const uint32_t *)data)[i]); break;
    case DT_I64: str_addf(o, "%lld", (long long)((const int64_t *)data)[i]); break;
    case DT_U64: str_addf(o, "%llu", (unsigned long long)((const uint64_t *)data)[i]); break;
    case DT_F32: str_addf(o, "%.9g", (double)((const float *)data)[i]); break;
    case DT_F64: str_addf(o, "%.17g", ((const double *)data)[i]); break;
    default: str_add(o, "?"); break;
    }
}

static bool has_numbers(enum dtype t)
{
    return t != DT_F16 && t != DT_BF16 && dtype_bits(t) >= 8 && t != DT_STR && t != DT_NONE;
}

static void put_hex(struct str *o, const uint8_t *p, uint64_t n)
{
    str_add(o, "x\"");
    for (uint64_t i = 0; i < n; i++)
        str_addf(o, "%02x", p[i]);
    str_add(o, "\"");
}

static void put_values(struct str *o, enum dtype t, const void *data, uint64_t count)
{
    if (!has_numbers(t)) {
        put_hex(o, data, dtype_bytes(t, count));
        return;
    }
    str_add(o, "(");
    for (uint64_t i = 0; i < count; i++) {
        str_add(o, i ? "," : "");
        put_element(o, t, data, i);
    }
    str_add(o, ")");
}

static void put_list(struct str *o, const char *key, enum dtype t, const void *data, uint64_t n)
{
    if (!data)
        return;
    str_addf(o, " %s=", key);
    put_values(o, t, data, n);
}

static void put_quant(struct str *o, const struct tensor_desc *d)
{
    const struct quant *q = &d->q;
    if (q->kind == Q_NONE)
        return;
    if (q->kind == Q_TENSOR)
        str_addf(o, " scale=%.9g offset=%d", (double)q->scale, q->offset);
    else
        str_addf(o, " quant=%u axis=%d", q->kind, q->axis);
    if (q->bits)
        str_addf(o, " bits=%u", q->bits);
    if (q->mapping)
        str_addf(o, " mapping=%u", q->mapping);
    if (q->definition != 1)
        str_addf(o, " def=%u", q->definition);
    if (q->kind == Q_BLOCK || q->kind == Q_FLOAT_BLOCK)
        put_list(o, "block", DT_U32, q->block, d->rank);
    put_list(o, "scales", DT_F32, q->scales, q->n);
    put_list(o, "offsets", DT_I32, q->offsets, q->n);
    put_list(o, "foffsets", DT_F32, q->float_offsets, q->n);
    if (q->kind == Q_EXPANSION) {
        str_addf(o, " blocks=%u block_bits=%u", q->blocks_per_axis, q->block_scale_bits);
        put_list(o, q->block_scale_storage == 16 ? "block_scales16" : "block_scales8",
                 q->block_scale_storage == 16 ? DT_U16 : DT_U8, q->block_scales, (uint64_t)q->n * q->blocks_per_axis);
    }
}

/* FNV-1a of a constant that is too long to print. */
static uint64_t hash_bytes(const uint8_t *p, uint64_t n)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (uint64_t i = 0; i < n; i++)
        h = (h ^ p[i]) * 0x100000001b3u;
    return h;
}

static void put_data(struct str *o, const struct ir_tensor *t, size_t max_data)
{
    uint64_t bytes = t->raw_bytes ? t->raw_bytes : desc_bytes(&t->desc);
    if (t->role != IR_CONST || !t->data)
        return;
    str_add(o, " = ");
    if (bytes > max_data)
        str_addf(o, "<%llu bytes, hash %016llx>", (unsigned long long)bytes, (unsigned long long)hash_bytes(t->data, bytes));
    else if (t->raw_bytes)
        put_hex(o, t->data, bytes);
    else
        put_values(o, t->desc.type, t->data, desc_count(&t->desc));
}

static void put_tensor(struct str *o, const struct ir_graph *g, uint32_t i, size_t max_data)
{
    const struct ir_tensor *t = &g->tensors.at[i];
    str_addf(o, "%s ", ir_role_words[t->role]);
    put_tensor_name(o, g, i);
    str_add(o, " : ");
    put_type(o, &t->desc);
    put_quant(o, &t->desc);
    if (t->desc.format)
        str_addf(o, " format=%u", t->desc.format);
    if (t->client_id)
        str_addf(o, " id=%u", t->client_id);
    if (t->client_type)
        str_addf(o, " ctype=%u", t->client_type);
    str_add(o, t->optional ? " optional" : "");
    str_add(o, t->stripped ? " stripped" : "");
    str_add(o, t->updateable ? " updateable" : "");
    str_add(o, t->mem_handle ? " memhandle" : "");
    put_data(o, t, max_data);
    str_add(o, "\n");
}

static void put_params(struct str *o, const struct ir_node *n)
{
    const char *sep = " { ";
    for (uint32_t i = 0; i < op_param_count(n->op); i++) {
        const struct op_value *v = &n->params[i];
        if (!v->data)
            continue;
        if (v->type == DT_STR) {
            str_addf(o, "%s%s=", sep, n->op->params[i].name);
            put_quoted(o, v->data);
            sep = ", ";
            continue;
        }
        str_addf(o, "%s%s=%s", sep, n->op->params[i].name, dtype_name(v->type));
        for (unsigned k = 0; k < v->rank; k++)
            str_addf(o, "%s%u", k ? "," : "[", v->dims[k]);
        str_add(o, v->rank ? "]" : "");
        put_values(o, v->type, v->data, v->count);
        sep = ", ";
    }
    str_add(o, sep[0] == ',' ? " }" : "");
}

/* from "Conv:conv1", "Relu:relu1" */
static void put_sources(struct str *o, const char *list)
{
    struct str one;
    str_init(&one);
    for (const char *p = list, *sep = " from "; p && *p; p += *p == '\n', sep = ", ") {
        size_t n = strcspn(p, "\n");
        one.n = 0;
        str_addn(&one, p, n);
        str_add(o, sep);
        put_quoted(o, str_text(&one));
        p += n;
    }
    o->failed |= one.failed;
    str_finish(&one);
}

static void put_guards(struct str *o, const struct ir_graph *g, const struct ir_node *n)
{
    for (uint32_t i = 0; i < n->n_guards; i++) {
        str_add(o, i ? ", " : " when (");
        str_add(o, n->guards[i].value ? "" : "!");
        put_tensor_name(o, g, n->guards[i].tensor);
    }
    str_add(o, n->n_guards ? ")" : "");
}

static void put_node(struct str *o, const struct ir_graph *g, const struct ir_node *n)
{
    put_names(o, g, n->out, n->n_out);
    str_addf(o, " = %s ", n->op->name);
    put_quoted(o, n->name);
    str_add(o, " (");
    put_names(o, g, n->in, n->n_in);
    str_add(o, ")");
    put_params(o, n);
    if (n->n_aux) {
        str_add(o, " aux (");
        put_names(o, g, n->aux, n->n_aux);
        str_add(o, ")");
    }
    if (n->post.lo != -INFINITY || n->post.hi != INFINITY)
        str_addf(o, " clamp (%.9g,%.9g)", (double)n->post.lo, (double)n->post.hi);
    put_guards(o, g, n);
    put_sources(o, n->source);
    str_add(o, "\n");
}

static void put_graph(struct str *o, const struct ir_graph *g, size_t max_data, int indent)
{
    str_addf(o, "%*sgraph ", indent, "");
    put_quoted(o, g->name);
    str_add(o, " {\n");
    for (size_t i = 0; i < g->children.n; i++)
        put_graph(o, g->children.at[i], max_data, indent + 2);
    for (uint32_t i = 0; i < g->tensors.n; i++) {
        str_addf(o, "%*s", indent + 2, "");
        put_tensor(o, g, i, max_data);
    }
    for (uint32_t k = 0; k < g->nodes.n; k++) {
        if (g->nodes.at[k].dead)
            continue;
        str_addf(o, "%*s", indent + 2, "");
        put_node(o, g, &g->nodes.at[k]);
    }
    str_addf(o, "%*s}\n", indent, "");
}

void ir_print(const struct ir_graph *g, size_t max_data, struct str *o)
{
    put_graph(o, g, max_data, 0);
}
