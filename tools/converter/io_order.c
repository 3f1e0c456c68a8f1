/* SPDX-License-Identifier: Apache-2.0 */
/* What the command line says about the order of an input's or output's values: layouts, and the channels of images.
 *
 *     in %image : f32[1,16,16,3]                               rgba, bgr
 *       -> in %image : f32[1,16,16,4];  %image_graph : f32[1,16,16,3] = Gather(%image, (2,1,0)) { axis=3 } */
#include <string.h>

#include "base/str.h"
#include "converter/custom_io.h"

/* ---- channels ----------------------------------------------------------------------------------------------------- */

/* Places of red, green and blue among the channels. */
static const struct color {
    const char *name;
    uint32_t channels;
    uint8_t place[3];
} colors[] = { { "rgb", 3, { 0, 1, 2 } },
               { "bgr", 3, { 2, 1, 0 } },
               { "rgba", 4, { 0, 1, 2 } },
               { "argb32", 4, { 1, 2, 3 } } };

static const struct color *find_color(const char *name)
{
    for (size_t i = 0; i < sizeof(colors) / sizeof(colors[0]); i++)
        if (str_eq(colors[i].name, name))
            return &colors[i];
    return NULL;
}

static enum status add_gather(struct ir_graph *g, const char *name, uint32_t from, uint32_t to, const int32_t index[3],
                              int32_t axis)
{
    const struct op_def *op = op_find("Gather");
    struct op_value params[14] = { 0 };
    struct ir_tensor t = { .name = name, .desc = { .type = DT_I32, .rank = 1, .dims = { 3 } }, .data = index };
    uint32_t in[2] = { from, IR_NONE }, at;
    TRY(ir_add_const(g, &t, false, &in[1]));
    params[op_param_index(op, "axis")] = (struct op_value){ .type = DT_I32, .count = 1, .data = &axis };
    struct ir_node n = { .name = name, .op = op, .n_in = 2, .n_out = 1, .in = in, .out = &to, .params = params };
    return ir_add_node(g, &n, &at);
}

enum status custom_io_color(struct ir_graph *g, uint32_t t, const char *from, const char *to, struct arena *a)
{
    const struct color *x = find_color(from), *y = find_color(to);
    const char *name = g->tensors.at[t].name;
    struct tensor_desc *d = &g->tensors.at[t].desc;
    RETURN_IF(!x || !y || y->channels != 3, ST_NOT_SUPPORTED,
              "input \"%s\": images of encoding %s for a model that expects %s are not supported; bgr, rgb, rgba and argb32 "
              "can be given, bgr and rgb expected",
              name, from, to);
    RETURN_IF(g->tensors.at[t].role != IR_INPUT || d->rank != 4 || d->dims[3] != 3, ST_INVALID_ARG,
              "\"%s\" is no image of three channels, so that its color encoding cannot be changed", name);
    if (x == y)
        return ST_OK;
    int32_t index[3];
    for (unsigned c = 0; c < 3; c++)
        index[y->place[c]] = x->place[c];
    uint32_t inner;
    TRY(custom_io_split(g, t, a, &inner));
    g->tensors.at[t].desc.dims[3] = x->channels;
    const char *node = arena_printf(a, "%s_color", name);
    RETURN_IF(!node, ST_NO_MEMORY, "no memory for a name");
    TRY(add_gather(g, node, t, inner, index, 3));
    custom_io_last_first(g);
    return ir_verify(g, "color encoding");
}

/* ---- all options -------------------------------------------------------------------------------------------------- */

static const struct convert_io *io_of(const struct convert_report *r, const char *name, bool output)
{
    for (size_t i = 0; i < r->io.n; i++)
        if (r->io.at[i].output == output && (str_eq(r->io.at[i].source_name, name) || str_eq(r->io.at[i].graph_name, name)))
            return &r->io.at[i];
    return NULL;
}

static const char *said_layout(const struct converter_words *w, const char *name)
{
    for (size_t i = 0; i < w->orders.n; i++)
        if (w->orders.at[i].kind == ORDER_SOURCE_OUTPUT && str_eq(w->orders.at[i].name, name))
            return w->orders.at[i].from;
    return "";
}

static enum status apply(const struct converter_words *w, const struct converter_order *o, const struct convert_report *r,
                         struct ir_graph *g, struct arena *a)
{
    bool output = o->kind == ORDER_OUTPUT || o->kind == ORDER_SOURCE_OUTPUT;
    const struct convert_io *io = io_of(r, o->name, output);
    uint32_t t = io ? ir_find_tensor(g, io->graph_name) : IR_NONE;
    RETURN_IF(t == IR_NONE, ST_NOT_FOUND, "the model has no %s \"%s\"", output ? "output" : "input", o->name);
    if (o->kind == ORDER_COLOR)
        return custom_io_color(g, t, o->from, o->to, a);
    if (o->kind == ORDER_SOURCE_OUTPUT)
        return ST_OK;
    const char *from = io->graph_layout[0] ? io->graph_layout : said_layout(w, o->name);
    RETURN_IF(!from[0], ST_INVALID_ARG, "the layout of \"%s\" in the graph is not known; %s says it", o->name,
              output ? "--source_model_output_layout" : "--source_model_input_layout");
    return str_eq(from, o->to) ? ST_OK : custom_io_layout(g, t, from, o->to, a);
}

enum status converter_orders(const struct converter_words *w, const struct convert_report *r, struct ir_graph *g,
                             struct arena *a)
{
    for (int pass = 0; pass < 2; pass++) /* colors first: they are those of channels-last images */
        for (size_t i = 0; i < w->orders.n; i++)
            if ((w->orders.at[i].kind == ORDER_COLOR) == (pass == 0))
                TRY(apply(w, &w->orders.at[i], r, g, a));
    return ST_OK;
}
