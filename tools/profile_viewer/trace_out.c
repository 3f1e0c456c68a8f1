/* SPDX-License-Identifier: Apache-2.0 */
/* The format of chrome://tracing, which Perfetto reads, too. */
#include "profile_viewer/trace_out.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>

enum { NS = 1000 };
#define TIME "%" PRIu64 ".%03" PRIu64
#define TIME_OF(ns) (ns) / NS, (ns) % NS

void trace_put_text(FILE *to, const char *text)
{
    json_t *t = json_string(text); /* NULL for bytes that are not UTF-8 */
    char *quoted = t ? json_dumps(t, JSON_ENCODE_ANY) : NULL;

    fputs(quoted ? quoted : "\"?\"", to);
    free(quoted);
    json_decref(t);
}

void trace_out_start(struct trace_out *out, FILE *to)
{
    *out = (struct trace_out){ .to = to };
    fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[", to);
}

void trace_out_finish(struct trace_out *out)
{
    fputs("\n]}\n", out->to);
}

static void begin(struct trace_out *out)
{
    fputs(out->any ? ",\n" : "\n", out->to);
    out->any = true;
}

static void put_name(struct trace_out *out, const char *what, uint32_t process, uint32_t lane, const char *name)
{
    begin(out);
    fprintf(out->to, "{\"ph\":\"M\",\"name\":\"%s_name\",\"pid\":%u,\"tid\":%u,\"args\":{\"name\":", what, process, lane);
    trace_put_text(out->to, name);
    fputs("}}", out->to);
    begin(out);
    fprintf(out->to, "{\"ph\":\"M\",\"name\":\"%s_sort_index\",\"pid\":%u,\"tid\":%u,\"args\":{\"sort_index\":%u}}", what,
            process, lane, what[0] == 'p' ? process : lane);
}

void trace_put_process(struct trace_out *out, uint32_t process, const char *name)
{
    put_name(out, "process", process, 0, name);
}

void trace_put_lane(struct trace_out *out, uint32_t process, uint32_t lane, const char *name)
{
    put_name(out, "thread", process, lane, name);
}

void trace_begin_slice(struct trace_out *out, const struct trace_slice *s)
{
    uint64_t length = s->end_ns - s->begin_ns;

    begin(out);
    fprintf(out->to, "{\"ph\":\"X\",\"pid\":%u,\"tid\":%u,\"ts\":" TIME ",\"dur\":" TIME ",\"name\":", s->process, s->lane,
            TIME_OF(s->begin_ns), TIME_OF(length));
    trace_put_text(out->to, s->name);
    if (s->category) {
        fputs(",\"cat\":", out->to);
        trace_put_text(out->to, s->category);
    }
    fputs(",\"args\":{", out->to);
}

void trace_end_slice(struct trace_out *out)
{
    fputs("}}", out->to);
}

void trace_put_slice(struct trace_out *out, const struct trace_slice *s)
{
    trace_begin_slice(out, s);
    trace_end_slice(out);
}

void trace_put_counter(struct trace_out *out, uint32_t process, const char *name, const char *unit, uint64_t ns,
                       double value)
{
    begin(out);
    fprintf(out->to, "{\"ph\":\"C\",\"pid\":%u,\"ts\":" TIME ",\"name\":\"%s\",\"args\":{\"%s\":%.10g}}", process,
            TIME_OF(ns), name, unit, value);
}

void trace_put_instant(struct trace_out *out, uint32_t process, uint32_t lane, uint64_t ns, const char *name)
{
    begin(out);
    fprintf(out->to, "{\"ph\":\"i\",\"s\":\"t\",\"pid\":%u,\"tid\":%u,\"ts\":" TIME ",\"name\":\"%s\"}", process, lane,
            TIME_OF(ns), name);
}

void trace_put_arrow(struct trace_out *out, const struct trace_arrow *a)
{
    begin(out);
    fprintf(out->to,
            "{\"ph\":\"s\",\"id\":%" PRIu64 ",\"cat\":\"%s\",\"name\":\"%s\",\"pid\":%u,\"tid\":%u,\"ts\":" TIME "}", a->id,
            a->name, a->name, a->process, a->from_lane, TIME_OF(a->from_ns));
    begin(out);
    fprintf(out->to,
            "{\"ph\":\"f\",\"bp\":\"e\",\"id\":%" PRIu64 ",\"cat\":\"%s\",\"name\":\"%s\",\"pid\":%u,\"tid\":%u,\"ts\":" TIME
            "}",
            a->id, a->name, a->name, a->process, a->to_lane, TIME_OF(a->to_ns));
}
