/* SPDX-License-Identifier: Apache-2.0 */
/* The description of a context binary for people, and the memory its graphs need. What the System API does not carry, the plan of
 * scratch memory above all, is read from the file itself. */
#include <inttypes.h>
#include <stdio.h>

#include "QNN/QnnTypes.h"
#include "base/str.h"
#include "binary/binary.h"
#include "common/tensor_text.h"
#include "context_binary_utility/binary_report.h"

static const char *backend_name(uint32_t id)
{
    static const char *const names[] = { "none", "reference", "saver", "CPU", "GPU", "DSP", "HTP",
                                         "HTA",  "HTP MCP",   "IR",    "",    "",    "LPAI" };
    return id < sizeof(names) / sizeof(names[0]) ? names[id] : "unknown";
}

static const char *human(uint64_t bytes, char *buf, size_t size)
{
    if (bytes < 10240)
        snprintf(buf, size, "%" PRIu64 " B", bytes);
    else if (bytes < 10u << 20)
        snprintf(buf, size, "%.1f KiB", (double)bytes / 1024);
    else
        snprintf(buf, size, "%.1f MiB", (double)bytes / (1 << 20));
    return buf;
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
    printf("    %-12s %12" PRIu64 " bytes  %10s%s%s\n", name, bytes, human(bytes, buf, sizeof(buf)), note[0] ? "   " : "",
           note);
}

static void print_memory(const struct binary_graph *g)
{
    const struct binary_graph_info *i = &g->info;
    char note[128] = "";
    uint64_t sum = 0;
    for (uint32_t t = 0; t < g->n_tensors; t++)
        sum += g->tensors[t].place == PLACE_SCRATCH ? g->tensors[t].bytes : 0;
    for (uint32_t c = 0; c < g->n_commands; c++) /* every tile has a workspace */
        sum += g->nodes[g->commands[c].node].work_bytes;
    if (i->scratch_bytes) {
        double over = i->live_bytes ? 100.0 * (double)(i->scratch_bytes - i->live_bytes) / (double)i->live_bytes : 0;
        snprintf(note, sizeof(note),
                 i->scratch_bytes == i->live_bytes ? "exactly the lower bound" : "%.1f%% above the lower bound%s", over,
                 i->plan_optimal ? ", proven optimal" : "");
    }
    printf("  memory\n");
    print_row("scratch", i->scratch_bytes, note);
    print_row("lower bound", i->live_bytes, "live at once at the busiest step");
    print_row("no reuse", sum, "if no tensor or workspace shared memory with another");
    print_row("persistent", i->persistent_bytes, "");
    print_row("constants", i->const_bytes, "");
    print_row("I/O", i->io_bytes, "in buffers of the application");
    printf("  work\n    %u nodes (%u before optimization), %u commands in %u steps, %" PRIu64 " multiply-adds\n", g->n_nodes,
           i->n_source_nodes, g->n_commands, g->n_steps, i->macs);
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
    printf("%s: %zu bytes (%s)\n", path, size, human(size, buf, sizeof(buf)));
    printf("backend %s (id %u), build %s, core API %u.%u.%u, backend API %u.%u.%u", backend_name(c.backendId), c.backendId,
           c.buildId ? c.buildId : "", c.coreApiVersion.major, c.coreApiVersion.minor, c.coreApiVersion.patch,
           c.backendApiVersion.major, c.backendApiVersion.minor, c.backendApiVersion.patch);
    if (c.socModel)
        printf(", SoC model %u", c.socModel);
    printf("\n%u graph%s\n", c.numGraphs, c.numGraphs == 1 ? "" : "s");
    print_tensors("context", c.contextTensors, c.numContextTensors);
    for (uint32_t i = 0; i < c.numGraphs; i++) {
        const QnnSystemContext_GraphInfoV1_t *g = &c.graphs[i].graphInfoV1;
        const struct binary_graph *plan = ours ? find_graph(&b, g->graphName) : NULL;
        printf("\ngraph %u \"%s\"\n", i, g->graphName);
        print_tensors("input", g->graphInputs, g->numGraphInputs);
        print_tensors("output", g->graphOutputs, g->numGraphOutputs);
        if (plan)
            print_memory(plan);
    }
    if (ours)
        binary_close(&b);
}
