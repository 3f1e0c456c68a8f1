/* SPDX-License-Identifier: Apache-2.0 */
/* The memory map as a page with a picture: steps to the right, addresses upwards, one rectangle per tensor; above it the
 * bytes in use in every step. The picture is SVG written here, so it is there without script, too; the script adds what the
 * mouse points at. Names come from the file and are escaped wherever they stand. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "memory_map/map_page.h"
#include "memory_map/memory_map.h"

enum {
    LEFT = 84, RIGHT = 20, TOP = 14, CURVE = 74, GAP = 16, PLOT = 440, BOTTOM = 40, /* pixels */
    LEAST_WIDTH = 1100, MOST_WIDTH = 16000, STEP_WIDTH = 13,
    COLOURS = 7, OTHERS = 7, /* operators with a colour of their own; the rest share one */
    MOST_OPS = 256,          /* kinds of operators that are told apart */
    LETTER = 7,              /* width of a letter in a rectangle */
};

struct picture {
    const struct memory_map *m;
    struct str *out;
    double width;               /* of the plot */
    uint64_t scratch;
    const char *ops[COLOURS];   /* operators in the order of the bytes they make */
    uint32_t n_ops;
};

/* ---- text ------------------------------------------------------------------------------------------------------------- */

static void put_escaped(struct str *out, const char *text, size_t most)
{
    for (size_t i = 0; i < most && text[i]; i++) {
        unsigned char c = (unsigned char)text[i];
        const char *as = c == '&'    ? "&amp;"
                         : c == '<'  ? "&lt;"
                         : c == '>'  ? "&gt;"
                         : c == '"'  ? "&quot;"
                         : c == '\'' ? "&#39;"
                                     : NULL;
        if (as)
            str_add(out, as);
        else
            str_addf(out, "%c", c < 32 || c == 127 ? ' ' : c);
    }
}

static void put_attribute(struct str *out, const char *name, const char *value)
{
    str_addf(out, " data-%s=\"", name);
    put_escaped(out, value, SIZE_MAX);
    str_add(out, "\"");
}

static void put_number(struct str *out, const char *name, uint64_t value)
{
    str_addf(out, " data-%s=\"%" PRIu64 "\"", name, value);
}

static void put_card(struct str *out, const char *label, const char *value, const char *note)
{
    str_addf(out, "<div class=card><small>%s</small><b>%s</b>%s%s%s</div>\n", label, value, note[0] ? "<i>" : "", note,
             note[0] ? "</i>" : "");
}

/* ---- colours ---------------------------------------------------------------------------------------------------------- */

static bool has_op(const struct picture *p, const char *op)
{
    for (uint32_t i = 0; i < p->n_ops; i++)
        if (!strcmp(p->ops[i], op))
            return true;
    return false;
}

/* The operators that make most bytes get the colours. */
static void choose_colours(struct picture *p)
{
    struct {
        const char *op;
        uint64_t bytes;
    } sums[MOST_OPS];
    uint32_t n = 0;
    for (uint32_t i = 0; i < p->m->n_items; i++) {
        const struct map_item *x = &p->m->items[i];
        uint32_t k = 0;
        while (k < n && strcmp(sums[k].op, x->op))
            k++;
        if (x->kind != MAP_TENSOR || k == MOST_OPS)
            continue;
        if (k == n) {
            sums[n].op = x->op;
            sums[n++].bytes = 0;
        }
        sums[k].bytes += x->bytes + 1; /* at least one, so that none is chosen twice */
    }
    while (p->n_ops < COLOURS && p->n_ops < n) {
        uint32_t best = 0;
        for (uint32_t k = 1; k < n; k++)
            best = sums[k].bytes > sums[best].bytes ? k : best;
        p->ops[p->n_ops++] = sums[best].op;
        sums[best].bytes = 0;
    }
}

static void put_class(const struct picture *p, const struct map_item *x)
{
    uint32_t colour = OTHERS;
    for (uint32_t i = 0; i < p->n_ops; i++)
        colour = !strcmp(p->ops[i], x->op) ? i : colour;
    if (x->kind == MAP_TENSOR)
        str_addf(p->out, "t c%u", colour);
    else
        str_addf(p->out, "t %s", map_kind_name(x->kind));
}

/* ---- the picture ------------------------------------------------------------------------------------------------------ */

static double at_step(const struct picture *p, double step)
{
    return LEFT + p->width * step / p->m->n_steps;
}

static double at_address(const struct picture *p, double address)
{
    return TOP + CURVE + GAP + PLOT * (1 - (p->scratch ? address / (double)p->scratch : 0));
}

static void put_address_axis(const struct picture *p)
{
    uint64_t tick = 64;
    char buf[32];
    while (p->scratch / tick > 8)
        tick *= 2;
    for (uint64_t i = 0; i <= p->scratch / tick; i++) { /* a file may say any size: sums could wrap */
        uint64_t a = i * tick;
        double y = at_address(p, (double)a);
        str_addf(p->out, "<line class=grid x1=%d x2=%.1f y1=%.1f y2=%.1f /><text x=%d y=%.1f text-anchor=end>%s</text>\n",
                 LEFT, LEFT + p->width, y, y, LEFT - 8, y + 4, a ? map_human(a, buf, sizeof(buf)) : "0");
    }
    str_addf(p->out, "<text x=14 y=%.1f transform=\"rotate(-90 14 %.1f)\" text-anchor=middle>address in %s</text>\n",
             TOP + CURVE + GAP + PLOT / 2.0, TOP + CURVE + GAP + PLOT / 2.0, p->m->pool);
}

static void put_step_axis(const struct picture *p)
{
    static const uint32_t nice[] = { 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 100000, 1000000 };
    double y = TOP + CURVE + GAP + PLOT;
    uint32_t k = 0;
    while (k + 1 < sizeof(nice) / sizeof(nice[0]) && p->width * nice[k] / p->m->n_steps < 34)
        k++;
    str_addf(p->out, "<line class=axis x1=%d x2=%.1f y1=%.1f y2=%.1f />\n", LEFT, LEFT + p->width, y, y);
    for (uint32_t s = 0; s < p->m->n_steps; s += nice[k])
        str_addf(p->out, "<text x=%.1f y=%.1f text-anchor=middle>%u</text>\n", at_step(p, s + 0.5), y + 16, s);
    str_addf(p->out, "<text x=%.1f y=%.1f text-anchor=middle>step (order in which operators run)</text>\n",
             LEFT + p->width / 2, y + 34);
}

static void put_curve(const struct picture *p)
{
    char buf[32];
    str_addf(p->out, "<text x=%d y=%d text-anchor=end>%s</text><text x=%d y=%d text-anchor=end>in use</text>\n", LEFT - 8,
             TOP + 10, map_human(p->scratch, buf, sizeof(buf)), LEFT - 8, TOP + CURVE);
    str_addf(p->out, "<line class=axis x1=%d x2=%.1f y1=%d y2=%d />\n", LEFT, LEFT + p->width, TOP + CURVE, TOP + CURVE);
    for (uint32_t s = 0; s < p->m->n_steps; s++) {
        const struct map_step *st = &p->m->steps[s];
        double h = p->scratch ? CURVE * (double)st->live / (double)p->scratch : 0, w = p->width / p->m->n_steps;
        str_addf(p->out, "<rect class=\"s%s\" x=%.2f y=%.2f width=%.2f height=%.2f", s == p->m->peak ? " peak" : "",
                 at_step(p, s), TOP + CURVE - h, w > 4 ? w - 1 : w, h);
        put_number(p->out, "s", s);
        put_number(p->out, "b", st->live);
        put_number(p->out, "c", st->cycles);
        put_attribute(p->out, "o", st->op ? st->op : "");
        put_attribute(p->out, "n", st->node ? st->node : "");
        str_add(p->out, " />\n");
    }
}

/* What of a label is shown where not all of it fits: without a first word that it shares with several others. */
static const char *cut_label(const struct memory_map *m, const struct map_item *x, size_t letters)
{
    enum { SEVERAL = 3 };
    size_t word = strcspn(x->label, "/_.:; ");
    uint32_t sharing = 0;

    if (strlen(x->label) <= letters || !x->label[word])
        return x->label;
    for (uint32_t i = 0; i < m->n_items && sharing < SEVERAL; i++)
        sharing += &m->items[i] != x && strncmp(m->items[i].label, x->label, word + 1) == 0;
    return sharing < SEVERAL ? x->label : x->label + word + 1;
}

/* Where one tensor is written over another, both are there in the same step: each gets half of it. */
static void put_item(const struct picture *p, const struct map_item *x)
{
    double x1 = at_step(p, x->in_place_of == BINARY_NONE ? x->first : x->first + 0.5),
           x2 = at_step(p, x->taken_by == BINARY_NONE ? x->last + 1 : x->last + 0.5);
    double y1 = at_address(p, (double)(x->offset + x->bytes)), h = at_address(p, (double)x->offset) - y1;
    size_t letters = x2 - x1 > 3 * LETTER ? (size_t)((x2 - x1 - 10) / LETTER) : 0;
    str_add(p->out, "<rect class=\"");
    put_class(p, x);
    str_addf(p->out, "\" rx=%d x=%.2f y=%.2f width=%.2f height=%.2f", h > 8 && x2 - x1 > 8 ? 3 : 0, x1, y1, x2 - x1,
             h > 1 ? h : 1);
    put_number(p->out, "f", x->first);
    put_number(p->out, "l", x->last);
    put_number(p->out, "a", x->offset);
    put_number(p->out, "b", x->bytes);
    put_attribute(p->out, "k", map_kind_name(x->kind));
    put_attribute(p->out, "o", x->op);
    put_attribute(p->out, "n", x->name);
    put_attribute(p->out, "h", x->label);
    put_attribute(p->out, "v", x->view_names);
    put_attribute(p->out, "p", x->in_place_of == BINARY_NONE ? "" : p->m->items[x->in_place_of].name);
    str_add(p->out, "><title>");
    put_escaped(p->out, x->name, SIZE_MAX);
    str_addf(p->out, ": %" PRIu64 " bytes at %" PRIu64 ", steps %u to %u</title></rect>\n", x->bytes, x->offset, x->first,
             x->last);
    if (h < 14 || letters < 3)
        return;
    str_addf(p->out, "<text class=name x=%.1f y=%.1f>", x1 + 5, y1 + (h < 20 ? h / 2 + 4 : 14));
    put_escaped(p->out, cut_label(p->m, x, letters), letters);
    str_add(p->out, "</text>\n");
}

static void put_marks(const struct picture *p)
{
    const struct binary_graph_info *i = &p->m->g->info;
    double y = at_address(p, (double)p->scratch), right = LEFT + p->width;
    char buf[32];
    str_addf(
        p->out,
        "<line class=total x1=%d x2=%.1f y1=%.1f y2=%.1f /><text class=mark x=%.1f y=%.1f text-anchor=end>%s %s</text>\n",
        LEFT, right, y, y, right, y - 4, p->m->pool, map_human(p->scratch, buf, sizeof(buf)));
    if (p->m->place == PLACE_SCRATCH && i->live_bytes && i->live_bytes < p->scratch) {
        y = at_address(p, (double)i->live_bytes);
        str_addf(p->out,
                 "<line class=bound x1=%d x2=%.1f y1=%.1f y2=%.1f /><text class=markb x=%.1f y=%.1f text-anchor=end>lower "
                 "bound</text>\n",
                 LEFT, right, y, y, right, y + 13);
    }
}

static void put_svg(struct picture *p)
{
    const struct memory_map *m = p->m;
    double least = LEAST_WIDTH - LEFT - RIGHT, wanted = (double)m->n_steps * STEP_WIDTH;
    p->width = wanted < least ? least : wanted > MOST_WIDTH ? MOST_WIDTH : wanted;
    int w = (int)(p->width + LEFT + RIGHT), h = TOP + CURVE + GAP + PLOT + BOTTOM;
    str_addf(p->out,
             "<div class=plot><svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" style=\"min-width:%dpx\" "
             "data-x=\"%d\" data-w=\"%.2f\" data-peak=\"%u\">\n",
             w, h, w, LEFT, p->width, m->peak);
    put_address_axis(p);
    put_step_axis(p);
    str_addf(p->out, "<rect class=peakband pointer-events=none x=%.2f y=%d width=%.2f height=%d />\n", at_step(p, m->peak),
             TOP, p->width / m->n_steps, CURVE + GAP + PLOT);
    put_curve(p);
    for (uint32_t i = 0; i < m->n_items; i++)
        put_item(p, &m->items[i]);
    put_marks(p);
    str_addf(p->out, "<line class=cursor y1=%d y2=%d x1=0 x2=0 />\n</svg></div>\n", TOP, TOP + CURVE + GAP + PLOT);
}

/* ---- around it -------------------------------------------------------------------------------------------------------- */

static void put_cards(const struct memory_map *m, struct str *out)
{
    const struct binary_graph_info *i = &m->g->info;
    char buf[32], note[96] = "";
    bool best = i->order_bytes && i->scratch_bytes == i->order_bytes;
    if (!best && i->live_bytes && i->scratch_bytes > i->live_bytes)
        snprintf(note, sizeof(note), "%.1f%% above the lower bound",
                 100.0 * (double)(i->scratch_bytes - i->live_bytes) / (double)i->live_bytes);
    put_card(out, "scratch", map_human(i->scratch_bytes, buf, sizeof(buf)),
             best                                ? "the least that any order needs"
             : i->scratch_bytes == i->live_bytes ? "exactly the lower bound"
             : i->plan_optimal                   ? "proven optimal"
                                                 : note);
    if (i->vtcm_bytes) {
        char of[32];
        snprintf(note, sizeof(note), "of %s", map_human(i->vtcm_bytes, of, sizeof(of)));
        put_card(out, "VTCM", map_human(i->vtcm_used, buf, sizeof(buf)), note);
        put_card(out, "spill-fill buffer", map_human(i->spill_fill_bytes, buf, sizeof(buf)), "");
    }
    put_card(out, "persistent", map_human(i->persistent_bytes, buf, sizeof(buf)), "");
    put_card(out, "constants", map_human(i->const_bytes, buf, sizeof(buf)), "");
    put_card(out, "inputs and outputs", map_human(i->io_bytes, buf, sizeof(buf)), "");
    snprintf(buf, sizeof(buf), "%u", m->g->n_nodes);
    put_card(out, "operators", buf, "");
    if (i->cycles) {
        snprintf(buf, sizeof(buf), "%" PRIu64, i->cycles);
        put_card(out, "cycles (estimated)", buf, "");
    }
}

static void put_pools(const struct memory_map *m, struct str *out)
{
    const struct binary_graph_info *i = &m->g->info;
    const struct {
        const char *name, *colour;
        uint64_t bytes;
    } pools[] = { { "scratch", "c0", i->scratch_bytes }, { "persistent", "c4", i->persistent_bytes },
                  { "constants", "c7", i->const_bytes }, { "inputs and outputs", "output", i->io_bytes },
                  { "VTCM", "c2", i->vtcm_used },        { "spill-fill buffer", "c5", i->spill_fill_bytes } };
    const int n = i->vtcm_bytes ? 6 : 4;
    char buf[32];
    str_add(out, "<div class=panel><div class=bar>");
    for (int k = 0; k < n; k++)
        if (pools[k].bytes)
            str_addf(out, "<div class=%s style=\"flex:%" PRIu64 "\" title=\"%s\"></div>", pools[k].colour, pools[k].bytes,
                     pools[k].name);
    str_add(out, "</div><div class=legend>");
    for (int k = 0; k < n; k++)
        str_addf(out, "<span><i class=%s></i>%s %s</span>", pools[k].colour, pools[k].name,
                 map_human(pools[k].bytes, buf, sizeof(buf)));
    str_add(out, "</div></div>\n");
}

static void put_legend(const struct picture *p)
{
    bool kinds[MAP_KINDS] = { false }, others = false;
    for (uint32_t i = 0; i < p->m->n_items; i++) {
        kinds[p->m->items[i].kind] = true;
        others |= p->m->items[i].kind == MAP_TENSOR && !has_op(p, p->m->items[i].op);
    }
    str_add(p->out, "<div class=legend>");
    for (uint32_t i = 0; i < p->n_ops; i++) {
        str_addf(p->out, "<span><i class=c%u></i>", i);
        put_escaped(p->out, p->ops[i], 60);
        str_add(p->out, "</span>");
    }
    if (others)
        str_addf(p->out, "<span><i class=c%d></i>other operators</span>", OTHERS);
    for (int k = MAP_INPUT; k < MAP_KINDS; k++)
        if (kinds[k])
            str_addf(p->out, "<span><i class=%s></i>%s</span>", map_kind_name((enum map_kind)k),
                     map_kind_name((enum map_kind)k));
    str_add(p->out, "<input placeholder=\"find a tensor\" aria-label=\"find a tensor\"></div>\n");
}

static void put_peak(const struct memory_map *m, struct str *out)
{
    char buf[32];
    str_addf(out, "<div class=panel><h2 class=at>Step %u: ", m->peak);
    put_escaped(out, m->steps[m->peak].op ? m->steps[m->peak].op : "", 60);
    str_add(out, " &quot;");
    put_escaped(out, m->steps[m->peak].node ? m->steps[m->peak].node : "", SIZE_MAX);
    str_addf(out,
             "&quot; (the peak), %s in use</h2><table><thead><tr><th class=n>bytes</th><th class=n>address</th><th "
             "class=n>steps</th><th>kind</th><th>made by</th>"
             "<th>name</th></tr></thead><tbody>\n",
             map_human(m->peak_bytes, buf, sizeof(buf)));
    for (uint32_t i = 0; i < m->n_items; i++) {
        const struct map_item *x = &m->items[i];
        if (!map_alive(x, m->peak))
            continue;
        str_addf(out,
                 "<tr><td class=n>%" PRIu64 "</td><td class=n>%" PRIu64 "</td><td class=n>%u&ndash;%u</td><td>%s</td><td>",
                 x->bytes, x->offset, x->first, x->last, map_kind_name(x->kind));
        put_escaped(out, x->op, 60);
        str_add(out, "</td><td>");
        put_escaped(out, x->name, SIZE_MAX);
        str_add(out, "</td></tr>\n");
    }
    str_add(out, "</tbody></table></div>\n");
}

static void put_state(struct str *out, const char *name, const char *op, uint64_t offset, uint64_t bytes)
{
    str_addf(out, "<tr><td class=n>%" PRIu64 "</td><td class=n>%" PRIu64 "</td><td>", bytes, offset);
    put_escaped(out, op, 60);
    str_add(out, "</td><td>");
    put_escaped(out, name, SIZE_MAX);
    str_add(out, "</td></tr>\n");
}

/* What survives between executions. */
static void put_states(const struct binary_graph *g, struct str *out)
{
    if (!g->info.persistent_bytes)
        return;
    str_add(out, "<div class=panel><h2>Persistent memory</h2><table><thead><tr><th class=n>bytes</th><th "
                 "class=n>address</th><th>state of</th><th>name</th></tr></thead>"
                 "<tbody class=states>\n");
    for (uint32_t k = 0; k < g->n_nodes; k++)
        if (g->nodes[k].state_bytes)
            put_state(out, g->nodes[k].name, g->nodes[k].op->name, g->nodes[k].state_offset, g->nodes[k].state_bytes);
    for (uint32_t i = 0; i < g->n_tensors; i++)
        if (g->tensors[i].place == PLACE_PERSISTENT)
            put_state(out, g->tensors[i].name, "", g->tensors[i].offset, g->tensors[i].bytes);
    str_add(out, "</tbody></table></div>\n");
}

static void put_graph(const struct memory_map *m, struct str *out)
{
    struct picture p = { .m = m, .out = out, .scratch = m->total };
    str_add(out, "<section><h2>");
    put_escaped(out, m->g->info.name, SIZE_MAX);
    str_add(out, "</h2><div class=cards>\n");
    put_cards(m, out);
    str_add(out, "</div>\n");
    put_pools(m, out);
    if (m->n_items) {
        choose_colours(&p);
        str_add(out, "<div class=panel><div class=read data-idle=\"Point at a step or a tensor; click to see all that is "
                     "alive.\">Point at a step or a tensor; click to "
                     "see all that is alive.</div>\n");
        put_svg(&p);
        put_legend(&p);
        str_add(out, "</div>\n");
        put_peak(m, out);
    }
    put_states(m->g, out);
    str_add(out, "</section>\n");
}

void map_html(const struct memory_map *const *maps, uint32_t n, const char *title, struct str *out)
{
    str_add(out, "<!doctype html>\n<html lang=en><head><meta charset=utf-8><meta name=viewport "
                 "content=\"width=device-width,initial-scale=1\">\n<title>Memory of ");
    put_escaped(out, title, SIZE_MAX);
    str_add(out, "</title>\n<style>\n");
    str_add(out, map_style);
    str_add(out, "</style></head><body>\n<header><h1>");
    put_escaped(out, title, SIZE_MAX);
    str_add(
        out,
        "</h1><span>which tensor lies where in memory, and when</span><button id=theme>light / dark</button></header>\n");
    for (uint32_t i = 0; i < n; i++)
        put_graph(maps[i], out);
    str_add(out, "<div id=tip></div>\n<script>\n");
    str_add(out, map_script);
    str_add(out, "</script></body></html>\n");
}
