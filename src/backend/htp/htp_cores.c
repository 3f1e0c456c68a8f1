/* SPDX-License-Identifier: Apache-2.0 */
/* See htp_cores.h. */
#include "backend/htp/htp_cores.h"

enum { MATRIX_EVENT = 30022, VECTOR_EVENT, EXCHANGE_EVENT };

struct busy {
    uint64_t matrix, vector;
};

static void count_busy(const struct binary_graph *g, struct busy ret[BINARY_MAX_CORES])
{
    struct binary_span_reader r;
    struct binary_span s;

    for (binary_span_first(g, &r); binary_span_next(&r, &s);) {
        ret[s.core].matrix += s.unit == UNIT_MATRIX ? s.cycles : 0;
        if (s.unit == UNIT_VECTOR)
            ret[s.core].vector += s.cycles * (s.all ? g->timeline.threads : 1);
    }
}

void htp_cores_events(const struct binary_graph *g, struct prof *prof, int32_t parent, uint64_t times)
{
    struct busy busy[BINARY_MAX_CORES] = { { 0 } };
    struct binary_moves m;

    if (g->info.cores < 2)
        return;
    count_busy(g, busy);
    binary_graph_moves(g, &m);
    for (uint32_t c = 0; c < g->info.cores; c++) {
        prof_addf(prof, parent, MATRIX_EVENT, PROF_UNIT_CYCLES, busy[c].matrix * times, "HTP %u: HMX busy (cycles)", c);
        prof_addf(prof, parent, VECTOR_EVENT, PROF_UNIT_CYCLES, busy[c].vector * times,
                  "HTP %u: HVX threads busy (cycles, all together)", c);
    }
    prof_add(prof, parent, EXCHANGE_EVENT, PROF_UNIT_BYTES, m.exchanged * times, "Bytes exchanged between HTPs (estimated)");
}

enum status htp_cores_check(const struct backend_context *c, const struct binary_graph_info *info)
{
    RETURN_IF(info->cores > c->cores, ST_BINARY_CONFIG,
              "graph \"%s\" was prepared for %u cores (NUM_CORES); the device has %u: prepare it for at most %u, or create "
              "the device for a SoC with more",
              info->name, info->cores, c->cores, c->cores);
    return ST_OK;
}

bool htp_cores_lint(const struct binary_graph_info *info)
{
    static _Atomic bool said;

    if (info->cores < 2)
        return true;
    if (!atomic_exchange(&said, true))
        backend_log(BACKEND_WARN,
                    "graph \"%s\" is for %u cores, where profiles of level linting are not available: there are events of "
                    "level detailed only",
                    info->name, info->cores);
    return false;
}
