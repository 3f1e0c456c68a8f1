/* SPDX-License-Identifier: Apache-2.0 */
/* Where the time of a network goes: a detailed profile of some executions, summed by operator. With BENCH_NODES=N in the
 * environment also every node by itself, its best of N executions (20 at least). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench_ops.h"

enum { RUNS = 20 };

static unsigned runs_wanted(void)
{
    const char *n = getenv("BENCH_NODES");
    return n && atoi(n) > RUNS ? (unsigned)atoi(n) : RUNS;
}

static double *best_of_node; /* us */

struct share {
    const char *op;
    double us;
    unsigned nodes;
};

static int by_time(const void *a, const void *b)
{
    double x = ((const struct share *)a)->us, y = ((const struct share *)b)->us;
    return x < y ? 1 : x > y ? -1 : 0;
}

static struct share *share_of(struct share *s, size_t *n, const char *op)
{
    for (size_t i = 0; i < *n; i++)
        if (!strcmp(s[i].op, op))
            return &s[i];
    s[*n] = (struct share){ .op = op };
    return &s[(*n)++];
}

/* Events of nodes are called "name:OpId_<index> (us)". */
static void add_event(const struct binary_graph *g, struct share *s, size_t *n, QnnProfile_EventId_t event, bool first)
{
    QnnProfile_EventData_t data;
    CHECK(qnn.profileGetEventData(event, &data));
    const char *at = data.identifier ? strrchr(data.identifier, ':') : NULL;
    unsigned node;
    if (data.type != QNN_PROFILE_EVENTTYPE_NODE || !at || sscanf(at, ":OpId_%u", &node) != 1 || node >= g->n_nodes)
        return;
    struct share *to = share_of(s, n, g->nodes[node].op->name);
    to->us += (double)data.value;
    if (first || (double)data.value < best_of_node[node])
        best_of_node[node] = (double)data.value;
    to->nodes += first;
}

static void add_profile(Qnn_ProfileHandle_t profile, const struct binary_graph *g, struct share *s, size_t *n, bool first)
{
    const QnnProfile_EventId_t *events, *parts;
    uint32_t n_events, n_parts;
    CHECK(qnn.profileGetEvents(profile, &events, &n_events));
    for (uint32_t i = 0; i < n_events; i++) {
        CHECK(qnn.profileGetSubEvents(events[i], &parts, &n_parts));
        for (uint32_t j = 0; j < n_parts; j++)
            add_event(g, s, n, parts[j], first);
    }
}

static void print_nodes(const struct binary_graph *g)
{
    for (uint32_t i = 0; getenv("BENCH_NODES") && i < g->n_nodes; i++) {
        const struct binary_node *n = &g->nodes[i];
        const struct tensor_desc *out = &g->tensors[n->out[0]].desc;
        printf("      %8.0f us %9.1f GOPS  %-24s %s [", best_of_node[i],
               best_of_node[i] > 0 ? 2e-3 * (double)n->macs / best_of_node[i] : 0, n->name, n->op->name);
        for (uint32_t d = 0; d < out->rank; d++)
            printf("%s%u", d ? "," : "", out->dims[d]);
        putchar(']');
        if (g->chain_of && g->chain_of[i] != BINARY_NONE)
            printf(" in chain %u", g->chain_of[i]);
        putchar('\n');
    }
}

void bench_ops(Qnn_BackendHandle_t backend, Qnn_GraphHandle_t graph, const struct binary_graph *g, Qnn_Tensor_t *in,
               Qnn_Tensor_t *out)
{
    struct share *s = calloc(g->n_nodes, sizeof *s);
    size_t n = 0;
    const unsigned runs = runs_wanted();
    double all = 0;
    best_of_node = calloc(g->n_nodes, sizeof *best_of_node);
    if (!s || !best_of_node)
        client_check(QNN_COMMON_ERROR_MEM_ALLOC, "shares");
    for (unsigned i = 0; i < runs; i++) {
        Qnn_ProfileHandle_t profile;
        CHECK(qnn.profileCreate(backend, QNN_PROFILE_LEVEL_DETAILED, &profile));
        CHECK(qnn.graphExecute(graph, in, 1, out, 1, profile, NULL));
        add_profile(profile, g, s, &n, i == 0);
        CHECK(qnn.profileFree(profile));
    }
    qsort(s, n, sizeof *s, by_time);
    for (size_t i = 0; i < n; i++)
        all += s[i].us;
    printf("   ");
    for (size_t i = 0; i < n && i < 6; i++)
        printf(" %s x%u %.2f ms (%.0f %%)%s", s[i].op, s[i].nodes, s[i].us / runs / 1000, 100 * s[i].us / all,
               i + 1 < n && i < 5 ? "," : "\n");
    print_nodes(g);
    free(best_of_node);
    free(s);
}
