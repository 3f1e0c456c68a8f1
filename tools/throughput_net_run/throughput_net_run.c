/* SPDX-License-Identifier: Apache-2.0 */
/* qnn-throughput-net-run: executes graphs in several threads at once, and tells how many inferences a second that makes. */
#include <signal.h>
#include <stddef.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "common/tool_log.h"
#include "throughput_net_run/throughput.h"

struct throughput {
    const char *config, *output;
};

#define AT(member) offsetof(struct throughput, member)
static const struct tool_option options[] = {
    { "config", OPT_STRING, .offset = AT(config), .argument = "JSON", .required = true,
      .help = "Backends, models and contexts with names, and the threads that use them." },
    { "output", OPT_STRING, AT(output), .argument = "JSON",
      .help = "Where the results go, besides the lines that are printed." },
    {}
};

static const struct tool_program program = {
    .name = "qnn-throughput-net-run",
    .summary = "executes graphs in several threads at once and measures inferences per second.",
    .usage = "--config JSON [--output JSON]",
    .options = options,
    .examples = "  Two threads, each 1000 times:\n"
                "    { \"backends\": [ { \"backendName\": \"cpu\", \"backendPath\": \"libQnnCpu.so\" } ],\n"
                "      \"models\":   [ { \"modelName\": \"digits\", \"modelPath\": \"libdigits.so\" } ],\n"
                "      \"contexts\": [ { \"contextName\": \"main\" } ],\n"
                "      \"testCase\": { \"iteration\": 1, \"threads\": [\n"
                "        { \"threadName\": \"a\", \"backend\": \"cpu\", \"context\": \"main\", \"model\": \"digits\", "
                "\"loop\": 1000 },\n"
                "        { \"threadName\": \"b\", \"backend\": \"cpu\", \"context\": \"main\", \"model\": \"digits\", "
                "\"loop\": 1000 } ] } }\n",
};

static void interrupted(int number)
{
    (void)number;
    tp_stop = true;
}

/* ---- before and after ------------------------------------------------------------------------------------------------ */

static enum status find_target(struct tp_run *r, const struct tp_thread_config *c, struct tp_target **ret)
{
    for (size_t i = 0; i < r->targets.n; i++) {
        *ret = r->targets.at[i];
        if (tp_target_serves(*ret, c))
            return ST_OK;
    }
    struct tp_target **slot = vec_push(&r->targets);
    RETURN_IF(!slot, ST_NO_MEMORY, "targets");
    *slot = *ret = mem_new(struct tp_target);
    RETURN_IF(!*ret, ST_NO_MEMORY, "targets");
    return tp_target_open(*ret, c);
}

static enum status prepare(struct tp_run *r)
{
    const struct tp_thread_config *configs = r->config.test.threads.items;
    for (uint32_t i = 0; i < r->n_threads; i++) {
        struct tp_thread *t = &r->threads[i];
        t->config = &configs[i];
        t->run = r;
        t->random = 88172645463325252u + i;
        pthread_mutex_init(&t->lock, NULL);
        pthread_cond_init(&t->finished, NULL);
        if (t->config->init_in_loop)
            continue;
        TRY(find_target(r, t->config, &t->target));
        TRY(tp_thread_prepare(t));
    }
    return ST_OK;
}

static void release(struct tp_run *r)
{
    for (uint32_t i = 0; i < r->n_threads; i++) {
        struct tp_thread *t = &r->threads[i];
        if (t->target)
            tp_thread_release(t);
        if (!t->run)
            continue;
        pthread_cond_destroy(&t->finished);
        pthread_mutex_destroy(&t->lock);
    }
    for (size_t i = 0; i < r->targets.n; i++) {
        if (r->targets.at[i])
            tp_target_close(r->targets.at[i]);
        mem_free(r->targets.at[i]);
    }
    vec_finish(&r->targets);
}

/* The extension libraries of all targets, around the executions. */
static enum status around(struct tp_run *r, enum status (*what)(struct session *s, const struct session_graph *g))
{
    for (size_t i = 0; i < r->targets.n; i++) {
        struct session *s = &r->targets.at[i]->session;
        for (size_t g = 0; g < s->graphs.n; g++)
            TRY(what(s, &s->graphs.at[g]));
    }
    return ST_OK;
}

/* ---- running --------------------------------------------------------------------------------------------------------- */

/* All threads at once, from a common start; this thread is the last at the barrier. */
static enum status run_threads(struct tp_run *r)
{
    CLEANUP(mem_freep) pthread_t *ids = mem_array(pthread_t, r->n_threads);
    RETURN_IF(!ids, ST_NO_MEMORY, "threads");
    RETURN_IF(pthread_barrier_init(&r->start, NULL, r->n_threads + 1), ST_SYSTEM, "no barrier for %u threads", r->n_threads);
    uint32_t started = 0;
    while (started < r->n_threads && !pthread_create(&ids[started], NULL, tp_thread_main, &r->threads[started]))
        started++;
    if (started < r->n_threads) { /* those that wait leave with the process */
        return status_fail(ST_SYSTEM, "only %u of %u threads could be started; use fewer", started, r->n_threads);
    }
    uint64_t start = clock_ns();
    pthread_barrier_wait(&r->start);
    for (uint32_t i = 0; i < r->n_threads; i++)
        pthread_join(ids[i], NULL);
    r->total_ns += clock_ns() - start;
    pthread_barrier_destroy(&r->start);
    for (uint32_t i = 0; i < r->n_threads; i++)
        RETURN_IF(r->threads[i].status != ST_OK, r->threads[i].status, "thread \"%s\": %s", r->threads[i].config->name,
                  r->threads[i].why);
    return ST_OK;
}

static enum status iterate(struct tp_run *r)
{
    int64_t n = r->config.test.iteration;
    while (!tp_stop && (n < 0 || r->iterations < (uint64_t)n)) {
        TRY(around(r, session_before_execute));
        enum status st = run_threads(r);
        enum status after = around(r, session_after_execute);
        TRY(st);
        TRY(after);
        r->iterations++;
    }
    return ST_OK;
}

static int run(const struct throughput *o, struct arena *arena)
{
    struct tp_run r = { .serial = PTHREAD_MUTEX_INITIALIZER };
    const char *stage = "Configuration";
    enum status st = tp_config_read(o->config, &r.config, arena);
    if (st == ST_OK) {
        stage = "Initialization";
        tool_log_level(r.config.test.has_log_level ? (enum tool_level)tool_level_of(r.config.test.log_level) : TOOL_WARN);
        r.n_threads = (uint32_t)r.config.test.threads.n;
        r.threads = mem_array(struct tp_thread, r.n_threads);
        st = r.threads ? prepare(&r) : status_fail(ST_NO_MEMORY, "no memory for %u threads", r.n_threads);
    }
    if (st == ST_OK) {
        stage = "Executing Graphs";
        signal(SIGINT, interrupted);
        signal(SIGTERM, interrupted);
        st = iterate(&r);
    }
    int code = st == ST_OK ? 0 : tool_report(stage, st);
    bool ran = r.iterations || r.total_ns;
    release(&r); /* it also sums up the errors of the outputs */
    if (ran)
        tp_result_print(&r);
    if (ran && o->output && tp_result_write(&r, o->output) != ST_OK)
        code = tool_report("Results", ST_IO);
    mem_free(r.threads);
    return code;
}

int main(int argc, char **argv)
{
    struct throughput o = { 0 };
    struct arena arena;
    arena_init(&arena);
    enum tool_next next = tool_options_parse(&program, argc, argv, &o, &arena);
    int code = next == TOOL_EXIT_ERROR;
    if (next == TOOL_RUN)
        code = run(&o, &arena);
    arena_finish(&arena);
    return code;
}
