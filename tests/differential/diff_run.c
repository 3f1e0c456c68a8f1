/* SPDX-License-Identifier: Apache-2.0 */
/* The ways to run a graph, as calls of the public interface and variables of the environment. */
#include "diff_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fpu_mode.h"

#include <QNN/HTP/QnnHtpGraph.h>
#include <QNN/LPAI/QnnLpaiGraph.h>

static const char
    *const names[DIFF_LIBS] = { [DIFF_CPU] = "libQnnCpu.so", [DIFF_HTP] = "libQnnHtp.so", [DIFF_LPAI] = "libQnnLpai.so" };

/* What callers have: denormals flushed, results rounded up, down or to zero, and two of these. Bits beside the default. */
static const struct {
    const char *name;
    uint64_t bits;
} fpu_modes[] = {
    { "the default", 0 },
#if defined(__x86_64__)
    { "flush to zero", 0x8040 },
    { "round up", 0x4000 },
    { "round down", 0x2000 },
    { "round to zero", 0x6000 },
    { "flush to zero and round up", 0xc040 },
#else
    { "flush to zero", 1u << 24 },
    { "round up", 1u << 22 },
    { "round down", 2u << 22 },
    { "round to zero", 3u << 22 },
    { "flush to zero and round up", 5u << 22 },
#endif
};
const unsigned diff_fpu_modes = sizeof fpu_modes / sizeof fpu_modes[0];

bool diff_open(struct compose *libs, char *error, size_t n)
{
    const char *dir = getenv("OPENQNN_LIB_DIR");
    char path[4096];
    memset(libs, 0, DIFF_LIBS * sizeof *libs);
    for (int i = 0; i < DIFF_LIBS; i++) {
        snprintf(path, sizeof path, "%s/%s", dir ? dir : ".", names[i]);
        if (!compose_open(&libs[i], path)) {
            snprintf(error, n, "%s: %s", path, libs[i].error);
            return false;
        }
    }
    return true;
}

void diff_close(struct compose *libs)
{
    for (int i = 0; i < DIFF_LIBS; i++)
        compose_close(&libs[i]);
}

void diff_text(const struct diff_way *w, char *to, size_t n)
{
    int at = snprintf(to, n, "%s with %u threads%s%s%s", names[w->lib], w->threads, w->reload ? ", from a binary" : "",
                      w->fpu ? ", floating-point mode: " : "", w->fpu ? fpu_modes[w->fpu].name : "");
    if (w->lib == DIFF_HTP)
        snprintf(to + at, n - (size_t)at, ", O%u, %u bytes of VTCM%s, %s%s", w->level, w->vtcm, w->vtcm ? "" : " (all)",
                 w->process ? "session process" : "in process", w->fp16 ? ", float16" : "");
}

/* ---- settings --------------------------------------------------------------------------------------------------------- */

/* Threads and the kind of session are looked up when a context or its session begins. */
static void set_environment(const struct diff_way *w)
{
    char text[16];
    snprintf(text, sizeof text, "%u", w->threads);
    setenv("OPENQNN_THREADS", text, 1);
    if (w->process)
        unsetenv("OPENQNN_SESSION");
    else
        setenv("OPENQNN_SESSION", "inproc", 1);
}

/* A clamp of another encoding than its operand: folded into a product, as libQnnHtp.so does, it is rounded once, not twice.
 * test_htp_acts.c has numbers for that. */
static bool has_unlike_clamp(const struct ir_graph *g)
{
    for (size_t i = 0; i < g->nodes.n; i++) {
        const struct ir_node *n = &g->nodes.at[i];
        bool clamps = strncmp(n->op->name, "Relu", 4) == 0 || n->op->id == OP_ElementWiseNeuron;
        const struct tensor_desc *x = &g->tensors.at[n->in[0]].desc;

        if (clamps && !quant_same(&x->q, &g->tensors.at[n->out[0]].desc.q))
            return true;
    }
    for (size_t i = 0; i < g->children.n; i++)
        if (has_unlike_clamp(g->children.at[i]))
            return true;
    return false;
}

static bool compose_htp(struct compose *c, const struct diff_way *w, const struct ir_graph *g)
{
    enum { OPTIONS = 4 };
    QnnHtpGraph_CustomConfig_t custom[OPTIONS] = { QNN_HTP_GRAPH_CUSTOM_CONFIG_INIT, QNN_HTP_GRAPH_CUSTOM_CONFIG_INIT,
                                                   QNN_HTP_GRAPH_CUSTOM_CONFIG_INIT, QNN_HTP_GRAPH_CUSTOM_CONFIG_INIT };
    custom[0].option = QNN_HTP_GRAPH_CONFIG_OPTION_OPTIMIZATION;
    custom[0].optimizationOption.type = QNN_HTP_GRAPH_OPTIMIZATION_TYPE_FINALIZE_OPTIMIZATION_FLAG;
    custom[0].optimizationOption.floatValue = (float)w->level;
    custom[1].option = QNN_HTP_GRAPH_CONFIG_OPTION_VTCM_SIZE_IN_BYTES;
    custom[1].vtcmSizeInBytes = w->vtcm;
    custom[2].option = (QnnHtpGraph_ConfigOption_t)0x4F510001; /* FLOAT32, docs/htp-options.md */
    custom[2].foldReluActivationIntoConvOff = !w->fp16;        /* any flag */
    custom[3].option = QNN_HTP_GRAPH_CONFIG_OPTION_FOLD_RELU_ACTIVATION_INTO_CONV_OFF;
    custom[3].foldReluActivationIntoConvOff = has_unlike_clamp(g);
    QnnGraph_Config_t config[OPTIONS];
    const QnnGraph_Config_t *list[OPTIONS + 1] = { &config[0], &config[1], &config[2], &config[3], NULL };
    for (int i = 0; i < OPTIONS; i++)
        config[i] = (QnnGraph_Config_t){ .option = QNN_GRAPH_CONFIG_OPTION_CUSTOM, .customConfig = &custom[i] };
    c->config = list;
    bool ok = compose_graph(c, g);
    c->config = NULL;
    return ok;
}

/* ---- memory that LPAI computes in ------------------------------------------------------------------------------------- */

static bool give_pool(struct compose *c, uint32_t ask, uint32_t give, void **ret)
{
    uint32_t size = 0;
    QnnLpaiGraph_CustomProperty_t question = { ask, &size };
    QnnGraph_Property_t property = { .option = QNN_GRAPH_PROPERTY_OPTION_CUSTOM, .customProperty = &question };
    QnnGraph_Property_t *properties[] = { &property, NULL };
    if (c->q.graphGetProperty(c->graph, properties) != QNN_SUCCESS)
        return snprintf(c->error, sizeof c->error, "the size of a pool"), false;
    *ret = size ? aligned_alloc(64, ((size_t)size + 63) / 64 * 64) : NULL;
    if (*ret)
        memset(*ret, 0xA5, size);
    QnnLpaiGraph_Mem_t mem = { QNN_LPAI_MEM_TYPE_DDR, size, *ret };
    QnnLpaiGraph_CustomConfig_t custom = { give, &mem };
    QnnGraph_Config_t config = { .option = QNN_GRAPH_CONFIG_OPTION_CUSTOM, .customConfig = &custom };
    const QnnGraph_Config_t *list[] = { &config, NULL };
    return !size || c->q.graphSetConfig(c->graph, list) == QNN_SUCCESS ||
           (snprintf(c->error, sizeof c->error, "a pool of %u bytes", size), false);
}

static bool attach(struct compose *c, void *pools[2])
{
    if (!give_pool(c, QNN_LPAI_GRAPH_GET_PROP_SCRATCH_MEM_SIZE, QNN_LPAI_GRAPH_SET_CFG_SCRATCH_MEM, &pools[0]) ||
        !give_pool(c, QNN_LPAI_GRAPH_GET_PROP_PERSISTENT_MEM_SIZE, QNN_LPAI_GRAPH_SET_CFG_PERSISTENT_MEM, &pools[1]))
        return false;
    return c->q.graphFinalize(c->graph, NULL, NULL) == QNN_SUCCESS ||
           (snprintf(c->error, sizeof c->error, "the second graphFinalize"), false);
}

/* ---- a run ------------------------------------------------------------------------------------------------------------ */

static void spoil_outputs(const struct ir_graph *g, void *const *data)
{
    for (size_t i = 0; i < g->tensors.n; i++)
        if (g->tensors.at[i].role == IR_OUTPUT)
            memset(data[i], 0x55, desc_bytes(&g->tensors.at[i].desc));
}

enum diff_result diff_run(struct compose *libs, const struct diff_way *w, const struct ir_graph *g, void *const *data,
                          char *error, size_t n)
{
    struct compose *c = &libs[w->lib];
    void *pools[2] = { NULL, NULL };
    set_environment(w);
    spoil_outputs(g, data);
    const uint64_t hostile = FPU_DEFAULT_WORD | fpu_modes[w->fpu].bits;
    fpu_set_word(hostile);
    bool composed = w->lib == DIFF_HTP ? compose_htp(c, w, g) : compose_graph(c, g);
    bool no_room = !composed && w->lib == DIFF_HTP && w->vtcm && strstr(c->error, "bytes of TCM");
    bool ok = composed && (!w->reload || compose_reload(c)) && (w->lib != DIFF_LPAI || attach(c, pools)) &&
              compose_run(c, data) && compose_run(c, data);
    const uint64_t after = fpu_word() & ~(uint64_t)FPU_FLAGS;
    fpu_set_word(FPU_DEFAULT_WORD);
    if (ok && after != hostile)
        ok = (snprintf(c->error, sizeof c->error, "the caller's floating-point mode was changed"), false);
    if (!ok)
        snprintf(error, n, "%s", c->error);
    compose_drop(c);
    free(pools[0]);
    free(pools[1]);
    return ok ? DIFF_DONE : no_room ? DIFF_REFUSED : DIFF_FAILED;
}
