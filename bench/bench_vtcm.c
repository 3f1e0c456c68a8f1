/* SPDX-License-Identifier: Apache-2.0 */
/* make bench: what levels of optimization and sizes of VTCM mean for prepare, for the plan and for speed here: libQnnHtp.so
 * in this process, one thread, int8.
 *
 *     bench_vtcm LIB_DIR JSONL_FILE [NETWORK]
 *
 * The SoC is SM8850 unless OPENQNN_SOC names another one: sizes in bytes need v81. Cycles are estimates of the cost
 * model for the device (docs/cost.md), times are measured on this host. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <QNN/HTP/QnnHtpGraph.h>

#include "bench_run.h"

static const uint32_t sizes[] = { 0, 2048, 1024, 512, 256 }; /* KiB; 0: as the device has it */

static struct product prepare(const struct net_entry *e, uint32_t level, uint32_t kib)
{
    QnnHtpGraph_CustomConfig_t custom[2] = { QNN_HTP_GRAPH_CUSTOM_CONFIG_INIT, QNN_HTP_GRAPH_CUSTOM_CONFIG_INIT };
    QnnGraph_Config_t c[2] = { QNN_GRAPH_CONFIG_INIT, QNN_GRAPH_CONFIG_INIT };
    const QnnGraph_Config_t *list[] = { &c[0], kib ? &c[1] : NULL, NULL };
    custom[0].option = QNN_HTP_GRAPH_CONFIG_OPTION_OPTIMIZATION;
    custom[0].optimizationOption.type = QNN_HTP_GRAPH_OPTIMIZATION_TYPE_FINALIZE_OPTIMIZATION_FLAG;
    custom[0].optimizationOption.floatValue = (float)level;
    custom[1].option = QNN_HTP_GRAPH_CONFIG_OPTION_VTCM_SIZE_IN_BYTES;
    custom[1].vtcmSizeInBytes = kib * 1024;
    for (int i = 0; i < 2; i++) {
        c[i].option = QNN_GRAPH_CONFIG_OPTION_CUSTOM;
        c[i].customConfig = &custom[i];
    }
    return product_make(e->name, e->build, NET_INT8, list);
}

static void bench_row(const struct net_entry *e, uint32_t level, uint32_t kib)
{
    struct product p = prepare(e, level, kib);
    const struct binary_graph_info *i = &p.graph->info;
    struct runnable r;
    runnable_open(&r, &p, 1, 1);
    struct timing t = timing_of(runnable_run, &r, 0.3);
    struct binary_moves m;
    binary_graph_moves(p.graph, &m);
    uint64_t dma = binary_moves_in(&m) + binary_moves_out(&m);
    printf("%-16s O%u %8.2f %10.1f %9.3f %9.3f %8.2f %10.2f %8.2f %8u %12.3f\n", e->name, level,
           (double)i->vtcm_bytes / 1048576, to_ms(p.finalize_ns), to_ms(t.best), to_ms(t.median),
           (double)i->vtcm_used / 1048576, (double)i->spill_fill_bytes / 1048576, (double)dma / 1048576, p.graph->n_commands,
           (double)i->cycles * 1e-6);
    lines_add("{\"kind\":\"vtcm\",\"name\":\"%s\",\"type\":\"int8\",\"level\":%u,\"vtcm_bytes\":%llu,\"prepare_ms\":%.3f,"
              "\"best_ms\":%.4f,\"vtcm_used\":%llu,"
              "\"spill_fill_bytes\":%llu,\"dma_bytes\":%llu,\"commands\":%u,\"estimated_cycles\":%llu}",
              e->name, level, (unsigned long long)i->vtcm_bytes, to_ms(p.finalize_ns), to_ms(t.best),
              (unsigned long long)i->vtcm_used, (unsigned long long)i->spill_fill_bytes, (unsigned long long)dma,
              p.graph->n_commands, (unsigned long long)i->cycles);
    runnable_close(&r);
    product_free(&p);
}

/* Without a name these are shown: images, and attention. */
static bool usual(const char *name)
{
    return !strcmp(name, "mobilenet_v2") || !strcmp(name, "resnet50") || !strcmp(name, "transformer_512");
}

int main(int argc, char **argv)
{
    if (argc != 3 && argc != 4) {
        fprintf(stderr, "usage: bench_vtcm LIB_DIR JSONL_FILE [NETWORK]\n");
        return 2;
    }
    setenv("OPENQNN_SESSION", "inproc", 1);
    setenv("OPENQNN_SOC", "SM8850", 0);
    lines_open(argv[2], "w");
    client_open(argv[1], "libQnnHtp.so");
    printf("%-16s %2s %8s %10s %9s %9s %8s %10s %8s %8s %12s\n", "network, int8", "", "VTCM MiB", "prepare ms", "best ms",
           "median", "used MiB", "spill MiB", "DMA MiB", "commands", "est. Mcycles");
    for (int n = 0; net_list[n].name; n++) {
        if (argc == 4 ? strcmp(argv[3], net_list[n].name) : !usual(net_list[n].name))
            continue;
        for (uint32_t level = 1; level <= 3; level++)
            bench_row(&net_list[n], level, 0);
        for (size_t i = 1; i < sizeof sizes / sizeof *sizes; i++)
            for (uint32_t level = 2; level <= 3; level++)
                bench_row(&net_list[n], level, sizes[i]);
    }
    lines_close();
    return 0;
}
