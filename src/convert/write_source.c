/* SPDX-License-Identifier: Apache-2.0 */
/* model.cpp: C++ that composes the graph through a backend's interface table.
 *
 * The file needs nothing but the public headers. It starts with a small composer (the same text for every model), then lists
 * tensors and nodes in the order of the graph, so that a reader can follow the network from top to bottom. Constants come
 * from the archive that qnn-model-lib-generator embeds. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "convert/write.h"

/* ---- the graph -------------------------------------------------------------------------------------------------------- */

static void put_string(FILE *f, const char *s)
{
    fputc('"', f);
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;
        if (c == '"' || c == '\\')
            fprintf(f, "\\%c", c);
        else if (c < 32 || c > 126)
            fprintf(f, "\\%03o", c);
        else
            fputc(c, f);
    }
    fputc('"', f);
}

/* A float that reads back with the same bits. */
static void put_float(FILE *f, double v)
{
    char text[64];
    if (!isfinite(v)) {
        fputs(v > 0 ? "__builtin_inff()" : v < 0 ? "-__builtin_inff()" : "__builtin_nanf(\"\")", f);
        return;
    }
    snprintf(text, sizeof text, "%.9g", v);
    fprintf(f, "%s%sf", text, strpbrk(text, ".e") ? "" : ".0");
}

static void put_dims(FILE *f, const uint32_t *dims, uint32_t rank)
{
    fputc('{', f);
    for (uint32_t i = 0; i < rank; i++)
        fprintf(f, "%s%u", i ? ", " : "", dims[i]);
    fputc('}', f);
}

static void put_pairs(FILE *f, const struct quant *q)
{
    fputc('{', f);
    for (uint32_t i = 0; i < q->n; i++) {
        fputs(i ? ", {" : "{", f);
        put_float(f, q->scales[i]);
        fprintf(f, ", %d}", q->offsets ? q->offsets[i] : 0);
    }
    fputc('}', f);
}

static unsigned block_scale(const struct quant *q, uint64_t i)
{
    const uint16_t *words = q->block_scales;
    const uint8_t *bytes = q->block_scales;

    return q->block_scale_storage == 16 ? words[i] : bytes[i];
}

/* LPBQ: scales of channels, then the factors of their blocks. */
static void put_expansion(FILE *f, const struct quant *q)
{
    fprintf(f, "c.expansion(%d, ", q->axis);
    put_pairs(f, q);
    fprintf(f, ", %u, %u, %u, {", q->blocks_per_axis, q->block_scale_bits, q->block_scale_storage);
    for (uint64_t i = 0; i < (uint64_t)q->n * q->blocks_per_axis; i++)
        fprintf(f, "%s%u", i ? ", " : "", block_scale(q, i));
    fputs("})", f);
}

/* Text of scales is an order of magnitude longer than the scales, and a compiler has to read it. */
static bool in_words(const struct quant *q)
{
    enum { MOST = 1 << 20 };
    bool plain = q->kind == Q_NONE || q->kind == Q_TENSOR || q->kind == Q_AXIS;
    return !q->mapping && (plain || ((q->kind == Q_BLOCK || q->kind == Q_EXPANSION) && !q->bits && q->n < MOST));
}

static enum status put_quant(FILE *f, const struct ir_tensor *t)
{
    const struct quant *q = &t->desc.q;
    RETURN_IF(
        !in_words(q), ST_UNSUPPORTED_TENSOR,
        "tensor \"%s\" has an encoding of kind %u with %u scales, which model sources cannot carry; write a DLC instead",
        t->name, q->kind, q->n);
    if (q->kind == Q_BLOCK) {
        fputs("c.block(", f);
        put_dims(f, q->block, t->desc.rank);
        fputs(", ", f);
        put_pairs(f, q);
        fputc(')', f);
    } else if (q->kind == Q_EXPANSION) {
        put_expansion(f, q);
    } else if (q->kind == Q_NONE || q->definition == 2) {
        fputs("none()", f);
    } else if (q->kind == Q_TENSOR) {
        fprintf(f, q->bits ? "bw_scale_offset(%u, " : "scale_offset(", q->bits);
        put_float(f, q->scale);
        fprintf(f, ", %d)", q->offset);
    } else if (!q->bits) {
        fprintf(f, "c.per_axis(%d, ", q->axis);
        put_pairs(f, q);
        fputc(')', f);
    } else {
        fprintf(f, "c.bw_per_axis(%u, %d, {", q->bits, q->axis);
        for (uint32_t i = 0; i < q->n; i++) {
            fputs(i ? ", " : "", f);
            put_float(f, q->scales[i]);
        }
        fputs("}, {", f);
        for (uint32_t i = 0; i < q->n; i++)
            fprintf(f, "%s%d", i ? ", " : "", q->offsets ? q->offsets[i] : 0);
        fputs("})", f);
    }
    return ST_OK;
}

static enum status put_tensor(FILE *f, const struct ir_tensor *t)
{
    static const char *const types[] = { "APP_WRITE", "APP_READ", "APP_READWRITE", "NATIVE", "STATIC" };
    if (t->role == IR_ABSENT)
        return ST_OK;
    fputs("    c.tensor(", f);
    put_string(f, t->name);
    fprintf(f, ", QNN_TENSOR_TYPE_%s, %s, ", types[write_tensor_type(t)], convert_dtype_macro(t->desc.type));
    TRY(put_quant(f, t));
    fputs(", ", f);
    put_dims(f, t->desc.dims, t->desc.rank);
    if (write_archived(t))
        fprintf(f, ", DATA(%s)", t->name);
    fputs(");\n", f);
    return ST_OK;
}

/* Elements of parameters, as C++ literals. */
static void put_elements(FILE *f, const struct op_value *v)
{
    for (uint32_t i = 0; i < v->count; i++) {
        fputs(i ? ", " : "", f);
        const char *at = (const char *)v->data + i * (dtype_bits(v->type) / 8);
        if (v->type == DT_F32) {
            float x;
            memcpy(&x, at, sizeof x);
            put_float(f, x);
        } else {
            int64_t x = 0;
            memcpy(&x, at, dtype_bits(v->type) / 8);
            unsigned shift = 64 - dtype_bits(v->type);
            fprintf(f, "%" PRId64, dtype_is_signed(v->type) ? (int64_t)((uint64_t)x << shift) >> shift : x);
        }
    }
}

static const char *element_name(enum dtype t)
{
    static const char *const names[DT_COUNT] = {
        [DT_I8] = "int8_t",    [DT_I16] = "int16_t",  [DT_I32] = "int32_t",  [DT_I64] = "int64_t", [DT_U8] = "uint8_t",
        [DT_U16] = "uint16_t", [DT_U32] = "uint32_t", [DT_U64] = "uint64_t", [DT_F32] = "float",   [DT_B8] = "uint8_t",
    };
    return names[t];
}

static const char *scalar_field(enum dtype t)
{
    static const char *const names[DT_COUNT] = {
        [DT_I8] = "int8Value",   [DT_I16] = "int16Value",  [DT_I32] = "int32Value",  [DT_I64] = "int64Value",
        [DT_U8] = "uint8Value",  [DT_U16] = "uint16Value", [DT_U32] = "uint32Value", [DT_U64] = "uint64Value",
        [DT_F32] = "floatValue", [DT_B8] = "bool8Value",
    };
    return names[t];
}

static enum status put_param(FILE *f, const struct ir_node *n, uint32_t i)
{
    const struct op_value *v = &n->params[i];
    const char *name = n->op->params[i].name;
    RETURN_IF(!element_name(v->type), ST_UNSUPPORTED_TENSOR,
              "node \"%s\": parameter \"%s\" has type %s, which model sources cannot carry", n->name, name,
              dtype_name(v->type));
    if (!v->rank) {
        fprintf(f, "    Qnn_Scalar_t %s = QNN_SCALAR_INIT;\n    %s.dataType = %s;\n    %s.%s = ", name, name,
                convert_dtype_macro(v->type), name, scalar_field(v->type));
        put_elements(f, v);
        fprintf(f, ";\n    params.push_back(c.scalar(\"%s\", %s));\n", name, name);
        return ST_OK;
    }
    fprintf(f, "    static const %s %s[] = {", element_name(v->type), name);
    put_elements(f, v);
    fprintf(f, "};\n    params.push_back(c.array(\"%s\", \"%s_%s\", %s, ", name, n->name, name,
            convert_dtype_macro(v->type));
    put_dims(f, v->dims, v->rank);
    fprintf(f, ", bytes(%s, %u)));\n", name, v->count);
    return ST_OK;
}

static void put_names(FILE *f, const struct ir_graph *g, const uint32_t *list, uint32_t n)
{
    fputc('{', f);
    for (uint32_t i = 0; i < n; i++) {
        fputs(i ? ", " : "", f);
        put_string(f, list[i] == IR_NONE || g->tensors.at[list[i]].role == IR_ABSENT ? "" : g->tensors.at[list[i]].name);
    }
    fputc('}', f);
}

/* One function per node keeps the compiler's time proportional to the size of the model. */
static enum status put_node(FILE *f, const struct ir_graph *g, uint32_t k)
{
    const struct ir_node *n = &g->nodes.at[k];
    fprintf(f, "void node_%u(Composer &c)\n{\n", k);
    for (uint32_t i = 0; i < n->n_out; i++)
        TRY(put_tensor(f, &g->tensors.at[n->out[i]]));
    fputs("    std::vector<Qnn_Param_t> params;\n", f);
    for (uint32_t i = 0; i < op_param_count(n->op); i++)
        if (n->params[i].data)
            TRY(put_param(f, n, i));
    fputs("    c.node(", f);
    put_string(f, n->name);
    fprintf(f, ", \"%s\", std::move(params), ", n->op->name);
    put_names(f, g, n->in, n->n_in);
    fputs(", ", f);
    put_names(f, g, n->out, n->n_out);
    fputs(");\n}\n\n", f);
    return ST_OK;
}

static bool produced(const struct ir_tensor *t)
{
    return t->role == IR_NATIVE || t->role == IR_OUTPUT;
}

static enum status put_inputs(FILE *f, const struct ir_graph *g)
{
    fputs("/* Inputs and constants. */\nvoid inputs(Composer &c)\n{\n    (void)c;\n", f);
    for (size_t i = 0; i < g->tensors.n; i++)
        if (!produced(&g->tensors.at[i]))
            TRY(put_tensor(f, &g->tensors.at[i]));
    fputs("}\n\n", f);
    return ST_OK;
}

/* The functions that clients look for, QnnModel_… or named after the file. */
static enum status put_ending(const struct convert_write *w, FILE *f)
{
    static const char usual[] = "QnnModel_";
    const char *slash = strrchr(w->prefix, '/');
    struct arena a;
    arena_init(&a);
    const char *name = w->own_names ? convert_name(&a, slash ? slash + 1 : w->prefix) : "QnnModel";
    for (const char *p = write_ending, *next; name && p; p = next) {
        next = strstr(p, usual);
        fprintf(f, "%.*s", next ? (int)(next - p) : (int)strlen(p), p);
        if (next) {
            fprintf(f, "%s_", name);
            next += sizeof(usual) - 1;
        }
    }
    arena_finish(&a);
    RETURN_IF(!name, ST_NO_MEMORY, "no memory for the name of the model");
    return ST_OK;
}

enum status write_source(const struct ir_graph *g, const struct convert_write *w, FILE *f)
{
    if (w->copyright)
        fprintf(f, "/* %s */\n", w->copyright);
    fputs("/* A converted model: compile it with qnn-model-lib-generator. */\n", f);
    fputs(write_composer, f);
    fputs("const char graph_name[] = ", f);
    put_string(f, g->name);
    fputs(";\n\n}  // namespace\n\nextern \"C\" {\n", f);
    for (size_t i = 0; i < g->tensors.n; i++)
        if (write_archived(&g->tensors.at[i]))
            fprintf(f, "extern const uint8_t _binary_obj_binary_%s_raw_start[], _binary_obj_binary_%s_raw_end[];\n",
                    g->tensors.at[i].name, g->tensors.at[i].name);
    fputs("}\n#define DATA(name) Bytes{_binary_obj_binary_##name##_raw_start, "
          "_binary_obj_binary_##name##_raw_end}\n\nnamespace {\n\n",
          f);
    TRY(put_inputs(f, g));
    for (uint32_t k = 0; k < g->nodes.n; k++)
        TRY(put_node(f, g, k));
    fputs("void compose(Composer &c)\n{\n    inputs(c);\n", f);
    for (uint32_t k = 0; k < g->nodes.n; k++)
        fprintf(f, "    node_%u(c);\n", k);
    fputs("}\n\n", f);
    return put_ending(w, f);
}
