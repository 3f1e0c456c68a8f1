/* SPDX-License-Identifier: Apache-2.0 */
/* What the threads measured, for people and for programs; see throughput.h. Times are microseconds. */
#include <inttypes.h>
#include <math.h>

#include "base/str.h"
#include "common/tool_log.h"
#include "throughput_net_run/throughput.h"

static double per_second(uint64_t n, uint64_t ns)
{
    return ns ? (double)n * 1e9 / (double)ns : 0;
}

static double average_us(const struct latency *l)
{
    return l->n ? (double)l->sum_ns / 1e3 / (double)l->n : 0;
}

static uint64_t all_inferences(const struct tp_run *r)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < r->n_threads; i++)
        n += r->threads[i].latency.n;
    return n;
}

void tp_result_print(const struct tp_run *r)
{
    for (uint32_t i = 0; i < r->n_threads; i++) {
        const struct tp_thread *t = &r->threads[i];
        tool_say("%s: TotalTime %.0f us, %" PRIu64 " loops, %" PRIu64
                 " inferences, %.1f per second, %.1f us each (%.1f to %.1f)",
                 t->config->name, (double)t->total_ns / 1e3, t->loops, t->latency.n, per_second(t->latency.n, t->total_ns),
                 average_us(&t->latency), (double)t->latency.min_ns / 1e3, (double)t->latency.max_ns / 1e3);
        if (t->n_squares)
            tool_say("%s: mean squared error %g", t->config->name, t->squares / (double)t->n_squares);
    }
    tool_say("all: TotalTime %.0f us, %" PRIu64 " inferences, %.1f per second", (double)r->total_ns / 1e3, all_inferences(r),
             per_second(all_inferences(r), r->total_ns));
}

/* `"key": ` behind a comma when it is not the first of its object. */
static void add_key(struct str *to, const char *key)
{
    const char *text = str_text(to);
    str_addf(to, "%s\"%s\": ", to->n && text[to->n - 1] == '{' ? " " : ", ", key);
}

static void set_integer(struct str *to, const char *key, uint64_t value)
{
    add_key(to, key);
    str_addf(to, "%" PRIu64, value);
}

static void set_real(struct str *to, const char *key, double value)
{
    add_key(to, key);
    if (isfinite(value))
        str_addf(to, "%.10g", value);
    else
        str_add(to, "null"); /* JSON has no word for it */
}

static void set_string(struct str *to, const char *key, const char *value)
{
    add_key(to, key);
    str_add(to, "\"");
    for (; *value; value++) {
        unsigned char c = (unsigned char)*value;
        if (c < ' ' || c == '"' || c == '\\')
            str_addf(to, "\\u%04x", c);
        else
            str_addn(to, value, 1);
    }
    str_add(to, "\"");
}

static void add_thread(struct str *o, const struct tp_thread *t)
{
    const struct latency *l = &t->latency;
    str_add(o, "{");
    set_string(o, "name", t->config->name);
    set_string(o, "backend", t->config->backend->name);
    set_string(o, "context", t->config->context->name);
    set_string(o, "model", t->config->model->name);
    set_integer(o, "loops", t->loops);
    set_integer(o, "inferences", l->n);
    set_real(o, "total_us", (double)t->total_ns / 1e3);
    set_real(o, "min_us", (double)l->min_ns / 1e3);
    set_real(o, "avg_us", average_us(l));
    set_real(o, "max_us", (double)l->max_ns / 1e3);
    set_real(o, "p50_us", latency_us(l, 0.5));
    set_real(o, "p90_us", latency_us(l, 0.9));
    set_real(o, "p99_us", latency_us(l, 0.99));
    set_real(o, "inferences_per_second", per_second(l->n, t->total_ns));
    if (t->n_squares)
        set_real(o, "mse", t->squares / (double)t->n_squares);
    if (t->init_loops)
        set_real(o, "init_us", (double)t->init_ns / 1e3 / (double)t->init_loops);
    if (t->status != ST_OK)
        set_string(o, "error", t->why);
    str_add(o, " }");
}

enum status tp_result_write(const struct tp_run *r, const char *path)
{
    CLEANUP(str_finish) struct str file;
    str_init(&file);
    str_add(&file, "{");
    set_integer(&file, "iterations", r->iterations);
    add_key(&file, "threads");
    for (uint32_t i = 0; i < r->n_threads; i++) {
        str_add(&file, i ? ",\n  " : "[\n  ");
        add_thread(&file, &r->threads[i]);
    }
    str_add(&file, " ],\n  \"total\": {");
    set_integer(&file, "inferences", all_inferences(r));
    set_real(&file, "total_us", (double)r->total_ns / 1e3);
    set_real(&file, "inferences_per_second", per_second(all_inferences(r), r->total_ns));
    str_add(&file, " } }\n");
    RETURN_IF(file.failed, ST_NO_MEMORY, "no memory for the results");
    return tool_file_write(path, str_text(&file), file.n);
}
