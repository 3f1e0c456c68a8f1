/* SPDX-License-Identifier: Apache-2.0 */
/* The context binary as text, for people. */
#include <inttypes.h>
#include <string.h>

#include "binary/binary_format.h"

static const char *const place_names[PLACE_COUNT] = {
    [PLACE_NONE] = "none",       [PLACE_CONST] = "const", [PLACE_SCRATCH] = "scratch",
    [PLACE_PERSISTENT] = "persistent", [PLACE_IO] = "io",    [PLACE_LINES] = "lines",
    [PLACE_VTCM] = "vtcm",       [PLACE_SPILL] = "spill",
};
static const char *const io_names[4] = { "", " input", " output", " in/out" };

static void dump_sections(const struct binary *b, struct str *out)
{
    struct bin_header h;
    memcpy(&h, b->map, sizeof(h));
    str_addf(out, "context binary version %u, %zu bytes, %u sections, %u graphs\n", h.version, b->size, h.n_sections,
             h.n_graphs);
    str_addf(out, "target: backend %u, SoC %u, arch %u, core API %u.%u.%u, backend API %u.%u.%u, build %s\n", h.backend_id,
             h.soc_model, h.arch, h.core_version[0], h.core_version[1], h.core_version[2], h.backend_version[0],
             h.backend_version[1], h.backend_version[2], b->target.build_id);
    if (b->oem)
        str_addf(out, "oem: %s\n", b->oem);
    if (b->own_bytes)
        str_addf(out, "of the backend: %llu bytes\n", (unsigned long long)b->own_bytes);
    str_add(out, "\n  section       number      offset        bytes  crc32\n");
    for (uint32_t i = 0; i < h.n_sections; i++) {
        struct bin_section s;
        memcpy(&s, (const uint8_t *)b->map + sizeof(h) + (size_t)i * sizeof(s), sizeof(s));
        str_addf(out, "  %-12s  %6u  %10" PRIu64 "  %11" PRIu64 "  %08x\n", bin_section_name(s.kind), s.index, s.offset,
                 s.size, s.crc);
    }
}

static void dump_tensors(const struct binary_graph *g, struct str *out)
{
    char text[DESC_TEXT_MAX];
    str_add(out,
            "\n  tensor                          type and shape            place           offset        bytes  steps\n");
    for (uint32_t i = 0; i < g->n_tensors; i++) {
        const struct binary_tensor *t = &g->tensors[i];
        str_addf(out, "  %5u %-24s  %-24s  %-10s  %10" PRIu64 "  %11" PRIu64 "  %u-%u%s%s\n", i, t->name,
                 desc_text(&t->desc, text), place_names[t->place], t->offset, t->bytes, t->first, t->last, io_names[t->io],
                 t->optional ? " optional" : "");
    }
}

static void dump_list(const char *what, const uint32_t *items, uint32_t n, struct str *out)
{
    str_addf(out, " %s(", what);
    for (uint32_t i = 0; i < n; i++) {
        if (items[i] == BINARY_NONE)
            str_addf(out, "%s-", i ? "," : "");
        else
            str_addf(out, "%s%u", i ? "," : "", items[i]);
    }
    str_add(out, ")");
}

static void dump_nodes(const struct binary_graph *g, struct str *out)
{
    str_add(out, "\n  node\n");
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const struct binary_node *n = &g->nodes[i];
        str_addf(out, "  %5u %-24s  %-16s", i, n->name, n->op->name);
        dump_list("in", n->in, n->n_in, out);
        dump_list("out", n->out, n->n_out, out);
        if (n->n_aux)
            dump_list("aux", n->aux, n->n_aux, out);
        if (n->work_bytes)
            str_addf(out, " work %" PRIu64 " at %" PRIu64, n->work_bytes, n->work_offset);
        for (uint32_t k = 0; k < n->n_guards; k++)
            str_addf(out, "%s%s%u%s", k ? "," : " when(", n->guards[2 * k + 1] ? "" : "!", n->guards[2 * k],
                     k + 1 == n->n_guards ? ")" : "");
        if (n->state_bytes)
            str_addf(out, " state %" PRIu64 " at %" PRIu64, n->state_bytes, n->state_offset);
        str_addf(out, " macs %" PRIu64, n->macs);
        if (n->cycles)
            str_addf(out, " cycles %" PRIu64, n->cycles);
        if (n->resources)
            str_addf(out, " on%s%s%s", n->resources & RESOURCE_MATRIX ? " HMX" : "",
                     n->resources & RESOURCE_VECTOR ? " HVX" : "", n->resources & RESOURCE_DMA ? " DMA" : "");
        str_add(out, "\n");
    }
}

static void dump_chains(const struct binary_graph *g, struct str *out)
{
    if (g->n_chains)
        str_add(out, "\n  chain   nodes            lines  at a time   workspace        offset\n");
    for (uint32_t i = 0; i < g->n_chains; i++) {
        const struct binary_chain *c = &g->chains[i];
        str_addf(out, "  %5u  %6u-%-6u  %8u  %9u  %10" PRIu64 "  %12" PRIu64 "\n", i, c->first, c->first + c->n - 1,
                 c->lines, c->height, c->work_bytes, c->work_offset);
    }
}

static void dump_commands(const struct binary_graph *g, struct str *out)
{
    str_add(out, "\n  command    step    node       begin         end\n");
    for (uint32_t i = 0; i < g->n_commands; i++) {
        const struct binary_command *c = &g->commands[i];
        str_addf(out, "  %7u  %6u  %6u  %10u  ", i, c->step, c->node, c->begin);
        if (c->end == UINT32_MAX)
            str_add(out, "       all\n");
        else
            str_addf(out, "%10u\n", c->end);
    }
}

void binary_dump(const struct binary *b, struct str *out)
{
    dump_sections(b, out);
    for (uint32_t i = 0; i < b->n_graphs; i++) {
        const struct binary_graph *g = &b->graphs[i];
        str_addf(out,
                 "\ngraph %u \"%s\": %u inputs, %u outputs, %u tensors, %u nodes (%u added by the client), %u commands in "
                 "%u steps\n",
                 i, g->info.name, g->info.n_inputs, g->info.n_outputs, g->n_tensors, g->n_nodes, g->info.n_source_nodes,
                 g->n_commands, g->n_steps);
        str_addf(out,
                 "memory: scratch %" PRIu64 " (lower bound %" PRIu64 "%s), persistent %" PRIu64 ", constants %" PRIu64
                 ", I/O %" PRIu64 "\n",
                 g->info.scratch_bytes, g->info.live_bytes, g->info.plan_optimal ? ", plan proven optimal" : "",
                 g->info.persistent_bytes, g->constant_bytes, g->info.io_bytes);
        struct binary_transfers moved;
        binary_transfers(g, &moved);
        if (g->info.vtcm_bytes)
            str_addf(out,
                     "fast memory: %" PRIu64 " of %" PRIu64 ", spill-fill buffer %" PRIu64 "; per execution %" PRIu64
                     " bytes spilled, %" PRIu64 " filled, %" PRIu64 " streamed\n",
                     g->info.vtcm_used, g->info.vtcm_bytes, g->info.spill_fill_bytes, moved.spilled, moved.filled,
                     moved.read + moved.written);
        dump_tensors(g, out);
        dump_nodes(g, out);
        dump_chains(g, out);
        dump_commands(g, out);
    }
}
