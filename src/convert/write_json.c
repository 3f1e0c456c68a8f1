/* SPDX-License-Identifier: Apache-2.0 */
/* model_net.json: the graph without its constants, for viewers. Keys are those that existing readers look for,
 * "coverter_command" and its corrected form included. Enumerations are numbers. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "convert/write.h"

static void put_chars(FILE *f, const char *s, size_t n)
{
    fputc('"', f);
    for (const char *end = s + n; s < end; s++) {
        unsigned char c = (unsigned char)*s;
        if (c == '"' || c == '\\')
            fprintf(f, "\\%c", c);
        else if (c < 32)
            fprintf(f, "\\u%04x", c);
        else
            fputc(c, f);
    }
    fputc('"', f);
}

static void put_string(FILE *f, const char *s)
{
    put_chars(f, s, s ? strlen(s) : 0);
}

/* JSON has no infinities. */
static void put_real(FILE *f, double v)
{
    if (isfinite(v))
        fprintf(f, "%.9g", v);
    else
        fputs(v > 0 ? "3.40282347e+38" : v < 0 ? "-3.40282347e+38" : "0", f);
}

static void put_quant(FILE *f, const struct tensor_desc *d)
{
    const struct quant *q = &d->q;
    if (q->kind == Q_NONE || q->definition == 2) {
        fputs("{\"definition\": 2147483647, \"encoding\": 2147483647, \"scale_offset\": {\"offset\": 0, \"scale\": 0.0}}",
              f);
        return;
    }
    if (q->kind == Q_TENSOR) {
        fprintf(f, "{\"definition\": %u, \"encoding\": %u, \"scale_offset\": {", q->definition, q->bits ? 2u : 0u);
        if (q->bits)
            fprintf(f, "\"bitwidth\": %u, ", q->bits);
        fprintf(f, "\"offset\": %d, \"scale\": ", q->offset);
        put_real(f, q->scale);
        fputs("}}", f);
        return;
    }
    if (q->kind !=
        Q_AXIS) { /* viewers know no more than the two above: the number of the encoding, and what the first block has */
        static const uint8_t numbers[QUANT_KIND_COUNT] = {
            [Q_BLOCK] = 4, [Q_EXPANSION] = 5, [Q_VECTOR] = 6, [Q_FLOAT_BLOCK] = 7
        };
        fprintf(f, "{\"definition\": %u, \"encoding\": %u, \"scale_offset\": {\"offset\": %d, \"scale\": ", q->definition,
                numbers[q->kind], q->offsets ? q->offsets[0] : 0);
        put_real(f, q->n ? q->scales[0] : 0);
        fputs("}}", f);
        return;
    }
    fprintf(f, "{\"definition\": %u, \"encoding\": %u, \"axis_scale_offset\": {", q->definition, q->bits ? 3u : 1u);
    if (q->bits)
        fprintf(f, "\"bitwidth\": %u, ", q->bits);
    fprintf(f, "\"axis\": %d, \"num_scale_offsets\": %u, \"scale_offsets\": [", q->axis, q->n);
    for (uint32_t i = 0; i < q->n; i++) {
        fputs(i ? ", {\"scale\": " : "{\"scale\": ", f);
        put_real(f, q->scales[i]);
        fprintf(f, ", \"offset\": %d}", q->offsets ? q->offsets[i] : 0);
    }
    fputs("]}}", f);
}

static void put_dims(FILE *f, const char *key, const uint32_t *dims, uint32_t rank)
{
    fprintf(f, "\"%s\": [", key);
    for (uint32_t i = 0; i < rank; i++)
        fprintf(f, "%s%u", i ? ", " : "", dims[i]);
    fputs("]", f);
}

static void put_tensor(FILE *f, const struct ir_tensor *t, uint32_t id)
{
    put_string(f, t->name);
    fprintf(f, ": {\"id\": %u, \"type\": %u, \"dataFormat\": %u, \"data_type\": %u, \"quant_params\": ", id,
            write_tensor_type(t), t->desc.format, convert_dtype_number(t->desc.type));
    put_quant(f, &t->desc);
    fputs(", ", f);
    put_dims(f, "dims", t->desc.dims, t->desc.rank); /* viewers look for this, older readers for the next two */
    fputs(", ", f);
    put_dims(f, "current_dims", t->desc.dims, t->desc.rank);
    fputs(", ", f);
    put_dims(f, "max_dims", t->desc.dims, t->desc.rank);
    if (t->role == IR_CONST)
        fprintf(f, ", \"params_count\": %" PRIu64, desc_count(&t->desc));
    fputs("}", f);
}

static double value_at(const struct op_value *v, uint32_t i)
{
    const void *p = v->data;
    switch (v->type) {
    case DT_F32: return ((const float *)p)[i];
    case DT_F64: return ((const double *)p)[i];
    case DT_I8: case DT_SQ8: return ((const int8_t *)p)[i];
    case DT_I16: case DT_SQ16: return ((const int16_t *)p)[i];
    case DT_I32: case DT_SQ32: return ((const int32_t *)p)[i];
    case DT_I64: return (double)((const int64_t *)p)[i];
    case DT_U16: case DT_UQ16: return ((const uint16_t *)p)[i];
    case DT_U32: case DT_UQ32: return ((const uint32_t *)p)[i];
    case DT_U64: return (double)((const uint64_t *)p)[i];
    default: return ((const uint8_t *)p)[i];
    }
}

static void put_tensor_param(FILE *f, const struct ir_node *n, const char *name, const struct op_value *v)
{
    struct str s;
    str_init(&s);
    str_addf(&s, "%s_%s", n->name, name);
    struct ir_tensor t = { .name = str_text(&s),
                           .role = IR_CONST,
                           .desc = { .type = v->type, .rank = v->rank, .q = { .definition = 2 } } };
    memcpy(t.desc.dims, v->dims, sizeof t.desc.dims);
    put_string(f, name);
    fputs(": {", f);
    put_tensor(f, &t, 0);
    fseek(f, -1, SEEK_CUR); /* the data belongs inside the tensor's object */
    fputs(", \"data\": [", f);
    for (uint32_t i = 0; i < v->count; i++) {
        fputs(i ? ", " : "", f);
        put_real(f, value_at(v, i));
    }
    fputs("]}}", f);
    str_finish(&s);
}

static void put_params(FILE *f, const struct ir_node *n)
{
    const char *sep = "";
    fputs("\"tensor_params\": {", f);
    for (uint32_t i = 0; i < op_param_count(n->op); i++)
        if (n->params[i].data && n->params[i].rank) {
            fputs(sep, f);
            put_tensor_param(f, n, n->op->params[i].name, &n->params[i]);
            sep = ", ";
        }
    fputs("}, \"scalar_params\": {", f);
    sep = "";
    for (uint32_t i = 0; i < op_param_count(n->op); i++)
        if (n->params[i].data && !n->params[i].rank) {
            fputs(sep, f);
            put_string(f, n->op->params[i].name);
            fprintf(f, ": {\"%u\": ", convert_dtype_number(n->params[i].type));
            put_real(f, value_at(&n->params[i], 0));
            fputs("}", f);
            sep = ", ";
        }
    fputs("}", f);
}

static void put_names(FILE *f, const struct ir_graph *g, const char *key, const uint32_t *list, uint32_t n)
{
    const char *sep = "";
    fprintf(f, "\"%s\": [", key);
    for (uint32_t i = 0; i < n; i++) {
        if (list[i] == IR_NONE || g->tensors.at[list[i]].role == IR_ABSENT)
            continue;
        fputs(sep, f);
        put_string(f, g->tensors.at[list[i]].name);
        sep = ", ";
    }
    fputs("]", f);
}

/* Operators of the model: a key of ours, which other readers pass by. */
static void put_sources(FILE *f, const char *list)
{
    fputs(", \"source_ops\": [", f);
    for (const char *p = list, *sep = ""; p && *p; p += *p == '\n', sep = ", ") {
        size_t n = strcspn(p, "\n");
        fputs(sep, f);
        put_chars(f, p, n);
        p += n;
    }
    fputs("]", f);
}

static void put_node(FILE *f, const struct ir_graph *g, const struct ir_node *n)
{
    put_string(f, n->name);
    fputs(": {\"package\": \"qti.aisw\", \"type\": ", f);
    put_string(f, n->op->name);
    fputs(", ", f);
    put_params(f, n);
    fputs(", ", f);
    put_names(f, g, "input_names", n->in, n->n_in);
    fputs(", ", f);
    put_names(f, g, "output_names", n->out, n->n_out);
    put_sources(f, n->source);
    fputs(", \"macs_per_inference\": \"\"}", f);
}

static void put_op_types(FILE *f, const struct ir_graph *g)
{
    bool seen[OP_COUNT] = { false };
    const char *sep = "";
    fputs("\"op_types\": [", f);
    for (size_t k = 0; k < g->nodes.n; k++) {
        const struct op_def *op = g->nodes.at[k].op;
        if (seen[op->id])
            continue;
        seen[op->id] = true;
        fputs(sep, f);
        put_string(f, op->name);
        sep = ", ";
    }
    fputs("]", f);
}

enum status write_net_json(const struct ir_graph *g, const struct convert_report *r, const struct convert_write *w, FILE *f)
{
    const char *slash = strrchr(w->prefix, '/'), *base = slash ? slash + 1 : w->prefix;
    fprintf(f, "{\"model.cpp\": \"%s.cpp\", \"model.bin\": \"%s.bin\", \"coverter_command\": ", base, base);
    put_string(f, w->command ? w->command : "");
    fputs(", \"converter_command\": ", f);
    put_string(f, w->command ? w->command : "");
    fputs(", \"copyright_str\": ", f);
    put_string(f, w->copyright ? w->copyright : "");
    fputs(", ", f);
    put_op_types(f, g);
    fprintf(f,
            ", \"Total parameters\": \"%" PRIu64 "\", \"Total MACs per inference\": \"%" PRIu64
            "\",\n\"graph\": {\"tensors\": {\n",
            r ? r->params : 0, r ? r->macs : 0);
    const char *sep = "  ";
    for (uint32_t i = 0; i < g->tensors.n; i++) {
        if (g->tensors.at[i].role == IR_ABSENT)
            continue; /* viewers know no such tensor */
        fputs(sep, f);
        put_tensor(f, &g->tensors.at[i], i + 1);
        sep = ",\n  ";
    }
    fputs("},\n\"nodes\": {\n", f);
    for (size_t k = 0; k < g->nodes.n; k++) {
        fputs(k ? ",\n  " : "  ", f);
        put_node(f, g, &g->nodes.at[k]);
    }
    fputs("}}}\n", f);
    return ST_OK;
}
