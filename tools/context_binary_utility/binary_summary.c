/* SPDX-License-Identifier: Apache-2.0 */
/* The description of a context binary for people, and the memory its graphs need. What the System API does not carry, the
 * plan of scratch memory above all, is read from the file itself. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "QNN/QnnTypes.h"
#include "analysis/estimate.h"
#include "base/str.h"
#include "binary/binary.h"
#include "common/tensor_text.h"
#include "context_binary_utility/binary_report.h"
#include "memory_map/memory_map.h"

static const char *backend_name(uint32_t id)
{
    static const char *const names[] = { "none", "reference", "saver", "CPU", "GPU", "DSP", "HTP",
                                         "HTA",  "HTP MCP",   "IR",    "",    "",    "LPAI" };
    return id < sizeof(names) / sizeof(names[0]) ? names[id] : "unknown";
}

static void print_tensors(const char *title, const Qnn_Tensor_t *t, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        struct str text;
        str_init(&text);
        tensor_describe(&t[i], &text);
        printf("    %-7s %s\n", i ? "" : title, str_text(&text));
        str_finish(&text);
    }
}

static void print_row(const char *name, uint64_t bytes, const char *note)
{
    char buf[32];
    printf("    %-12s %12" PRIu64 " bytes  %10s%s%s\n", name, bytes, map_human(bytes, buf, sizeof(buf)),
           note[0] ? "   " : "", note);
}

enum { MOST_EXPENSIVE = 5 };

/* The address space of a session of the HTP: what a context takes of it decides how many fit. */
#define SESSION_BYTES 4026531840.0

/* The name of a SoC that the cost model knows, or NULL. */
static const char *soc_name(uint32_t soc_model)
{
    for (const struct estimate_soc *soc = estimate_socs; soc->name; soc++) {
        if (soc->soc_model == soc_model)
            return soc->name;
    }
    return NULL;
}

static void print_time(const struct binary_graph *g, const struct estimate_device *soc)
{
    const uint32_t mhz = estimate_clock_mhz(soc);

    if (mhz)
        printf("  time (estimated, docs/cost.md says how well)\n    %12.1f  us at %u MHz\n", (double)g->info.cycles / mhz,
               mhz);
}

/* What a session is charged for, as far as the file says: itself, and memory of each graph. Tables of the session, and
 * buffers that the application registers, come on top, so the figures are a least and a most. */
static void print_forecast(const struct binary *b, size_t size)
{
    double bytes = (double)size;
    char text[32];

    for (uint32_t i = 0; i < b->n_graphs; i++) {
        const struct binary_graph_info *g = &b->graphs[i].info;
        bytes += (double)(g->scratch_bytes + g->persistent_bytes + g->spill_fill_bytes + g->io_bytes);
    }
    printf("of the 3.75 GiB of addresses of an HTP session: at least %s", map_human((uint64_t)bytes, text, sizeof(text)));
    if (bytes <= SESSION_BYTES)
        printf("; at most %.0f such contexts fit into one\n", floor(SESSION_BYTES / bytes));
    else
        printf("; it does not fit: enable fewer graphs, or switch graphs (docs/contexts.md)\n");
}

/* The operators with the most estimated cycles, most first. */
static void print_expensive(const struct binary_graph *g)
{
    uint32_t shown[MOST_EXPENSIVE], n = 0;
    for (; n < MOST_EXPENSIVE && n < g->n_nodes; n++) {
        uint32_t best = BINARY_NONE;
        for (uint32_t k = 0; k < g->n_nodes; k++) {
            bool seen = false;
            for (uint32_t i = 0; i < n; i++)
                seen |= shown[i] == k;
            best = !seen && (best == BINARY_NONE || g->nodes[k].cycles > g->nodes[best].cycles) ? k : best;
        }
        shown[n] = best;
        printf("    %12" PRIu64 "  %4.1f%%  %s (%s)\n", g->nodes[best].cycles,
               100.0 * (double)g->nodes[best].cycles / (double)g->info.cycles, g->nodes[best].name, g->nodes[best].op->name);
    }
}

/* What a device would move between DRAM and VTCM, tile by tile. */
static void print_dma(const struct binary_graph *g)
{
    struct binary_moves m;
    uint64_t largest = 0;
    binary_graph_moves(g, &m);
    for (uint32_t k = 0; k < g->n_nodes; k++)
        largest = g->nodes[k].tile.bytes > largest ? g->nodes[k].tile.bytes : largest;
    printf("  DMA of a device, by one execution; the largest tile takes %" PRIu64 " bytes of VTCM\n", largest);
    printf("    %-12s %12" PRIu64 "\n    %-12s %12" PRIu64 " in    %12" PRIu64 " out\n    %-12s %12" PRIu64
           " in    %12" PRIu64 " out\n",
           "weights", m.weights, "I/O", m.inputs, m.outputs, "spill-fill", m.fill, m.spill);
}

/* Masked softmaxes whose mask is a condition: the compiler made them of several operators. */
static uint32_t count_masks(const struct binary_graph *g)
{
    uint32_t count = 0;

    for (uint32_t k = 0; k < g->n_nodes; k++) {
        const struct binary_node *n = &g->nodes[k];
        count += n->op->id == OP_MaskedSoftmax && g->tensors[n->in[1]].desc.type == DT_B8;
    }
    return count;
}

static void print_work(const struct binary_graph *g, const struct estimate_device *soc)
{
    static const struct {
        int place;
        const char *name;
    } pools[] = { { PLACE_SCRATCH, "scratch" }, { PLACE_PERSISTENT, "persistent" }, { PLACE_CONST, "constants" },
                  { PLACE_IO, "I/O" },          { PLACE_LINES, "in chains" },       { PLACE_VTCM, "VTCM" },
                  { PLACE_SPILL, "spill-fill" } };
    const struct binary_graph_info *i = &g->info;
    struct binary_traffic t;
    printf("  work\n    %u nodes (%u before optimization), %u commands in %u steps, %" PRIu64 " multiply-adds\n", g->n_nodes,
           i->n_source_nodes, g->n_commands, g->n_steps, i->macs);
    if (g->n_chains)
        printf("    %u chains: operators that hand lines to each other instead of tensors\n", g->n_chains);
    const uint32_t masks = count_masks(g);
    if (masks)
        printf("    %u masked softmax%s, recognised in Select, ReduceMin, Add and Softmax\n", masks, masks == 1 ? "" : "es");
    printf("  bytes moved by one execution\n");
    binary_graph_traffic(g, &t);
    for (size_t k = 0; k < sizeof(pools) / sizeof(pools[0]); k++)
        if (pools[k].place <= PLACE_LINES || i->vtcm_bytes)
            printf("    %-12s %12" PRIu64 " read  %12" PRIu64 " written\n", pools[k].name, t.read[pools[k].place],
                   t.written[pools[k].place]);
    if (i->vtcm_bytes)
        print_dma(g);
    if (i->cycles) {
        print_time(g, soc);
        printf("  cycles (estimated)\n    %12" PRIu64 "  in all; most of them in\n", i->cycles);
        print_expensive(g);
    }
}

/* Constants that the file has in fewer bytes than memory. */
static void print_stored(const struct binary_graph *g)
{
    static const char *const names[STORE_COUNT] = { "plain", "two per byte", "sparse", "compressed" };
    uint64_t plain = 0, all = 0;

    for (uint32_t i = 0; i < g->n_tensors; i++) {
        const struct binary_tensor *t = &g->tensors[i];
        if (t->place != PLACE_CONST || t->storage == STORE_PLAIN)
            continue;
        uint64_t stored = binary_stored_bytes(t->storage, g->constants + t->offset, t->bytes);
        if (!plain)
            printf("  constants in fewer bytes\n");
        printf("    %12" PRIu64 " of %12" PRIu64 "  %5.1f%%  %s (%s)\n", stored, t->bytes,
               100.0 * (double)stored / (double)t->bytes, t->name, names[t->storage]);
        plain += t->bytes;
        all += stored;
    }
    if (plain)
        printf("    %12" PRIu64 " of %12" PRIu64 "  %5.1f%%  together\n", all, plain, 100.0 * (double)all / (double)plain);
}

static void print_memory(const struct binary_graph *g, const struct estimate_device *soc)
{
    const struct binary_graph_info *i = &g->info;
    char note[128] = "";
    uint64_t sum = 0;
    for (uint32_t t = 0; t < g->n_tensors; t++)
        sum += g->tensors[t].place == PLACE_SCRATCH ? g->tensors[t].bytes : 0;
    for (uint32_t c = 0; c < g->n_commands; c++) { /* every tile has a workspace */
        uint32_t chain = g->chain_of ? g->chain_of[g->commands[c].node] : BINARY_NONE;
        sum += chain == BINARY_NONE ? g->nodes[g->commands[c].node].work_bytes : g->chains[chain].work_bytes;
    }
    if (i->scratch_bytes) {
        double over = i->live_bytes ? 100.0 * (double)(i->scratch_bytes - i->live_bytes) / (double)i->live_bytes : 0;
        snprintf(note, sizeof(note),
                 i->scratch_bytes == i->live_bytes ? "exactly the lower bound" : "%.1f%% above the lower bound%s", over,
                 i->plan_optimal ? ", proven optimal" : "");
    }
    printf("  memory\n");
    print_row("scratch", i->scratch_bytes, note);
    print_row("lower bound", i->live_bytes, "live at once at the busiest step");
    if (i->order_bytes)
        print_row("any order", i->order_bytes, "no order of the operators needs less");
    print_row("no reuse", sum, "if no tensor or workspace shared memory with another");
    if (i->vtcm_bytes) {
        print_row("VTCM", i->vtcm_bytes, "");
        print_row("in use", i->vtcm_used, "of VTCM");
        print_row("spill-fill", i->spill_fill_bytes, "what does not fit into VTCM");
    }
    print_row("persistent", i->persistent_bytes, "");
    print_row("constants", i->const_bytes, "");
    print_row("I/O", i->io_bytes, "in buffers of the application");
    print_stored(g);
    print_work(g, soc);
}

static const struct binary_graph *find_graph(const struct binary *b, const char *name)
{
    for (uint32_t i = 0; i < b->n_graphs; i++) {
        if (str_eq(b->graphs[i].info.name, name))
            return &b->graphs[i];
    }
    return NULL;
}

void report_summary(const QnnSystemContext_BinaryInfo_t *info, const char *path, const void *data, size_t size)
{
    QnnSystemContext_BinaryInfoV3_t c = report_common(info);
    struct binary b;
    char buf[32];
    bool ours = binary_open(data, size, &b) == ST_OK;
    const struct estimate_device soc = { .soc_model = c.socModel, .arch = ours ? b.target.arch : 0 };
    printf("%s: %zu bytes (%s)\n", path, size, map_human(size, buf, sizeof(buf)));
    printf("backend %s (id %u), build %s, core API %u.%u.%u, backend API %u.%u.%u", backend_name(c.backendId), c.backendId,
           c.buildId ? c.buildId : "", c.coreApiVersion.major, c.coreApiVersion.minor, c.coreApiVersion.patch,
           c.backendApiVersion.major, c.backendApiVersion.minor, c.backendApiVersion.patch);
    const char *name = soc_name(c.socModel);
    if (c.socModel)
        printf(", SoC model %u", c.socModel);
    if (name)
        printf(" (%s, v%u)", name, soc.arch);
    printf("\n%u graph%s\n", c.numGraphs, c.numGraphs == 1 ? "" : "s");
    if (ours && c.socModel)
        print_forecast(&b, size);
    print_tensors("context", c.contextTensors, c.numContextTensors);
    for (uint32_t i = 0; i < c.numGraphs; i++) {
        const QnnSystemContext_GraphInfoV1_t *g = &c.graphs[i].graphInfoV1;
        const struct binary_graph *plan = ours ? find_graph(&b, g->graphName) : NULL;
        printf("\ngraph %u \"%s\"\n", i, g->graphName);
        print_tensors("input", g->graphInputs, g->numGraphInputs);
        print_tensors("output", g->graphOutputs, g->numGraphOutputs);
        if (plan)
            print_memory(plan, &soc);
    }
    if (ours)
        binary_close(&b);
}
