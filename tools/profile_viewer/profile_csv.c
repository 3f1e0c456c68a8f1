/* SPDX-License-Identifier: Apache-2.0 */
/* A profiling log as CSV, with the columns that spreadsheets and frameworks know. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/file_write.h"

#include "QNN/System/QnnSystemProfile.h"
#include "profile_viewer/profile_stats.h"

/* QnnSystemProfile_MethodType_t as the Message column names them. */
static const char *const messages[] = {
    "NONE",
    "EXECUTE",
    "FINALIZE",
    "EXECUTE ASYNC",
    "CREATE FROM BINARY",
    "DEINIT",
    "INIT",
    "COMPOSE GRAPHS",
    "EXECUTE IPS",
    "GRAPH COMPONENT",
    "LIB LOAD",
    "APPLY BINARY SECTION",
    "CONTEXT FINALIZE",
    "GET BINARY SIZE",
    "GET BINARY",
    "GET BINARY SECTION SIZE",
    "FINALIZE TENSOR UPDATES",
    "UPDATE BINARY SECTION",
};

static const char *message(uint32_t method)
{
    return method < sizeof(messages) / sizeof(messages[0]) ? messages[method] : "UNKNOWN";
}

static const char *unit(uint32_t number)
{
    static const char *const names[] = { "", "US", "BYTES", "CYCLES", "COUNT", "OBJECT", "" };
    return number < sizeof(names) / sizeof(names[0]) ? names[number] : "";
}

/* Quotes are doubled; names of nodes may contain commas. */
static void put_text(FILE *to, const char *text)
{
    if (!strpbrk(text, ",\"\n")) {
        fputs(text, to);
        return;
    }
    fputc('"', to);
    for (; *text; text++)
        fprintf(to, *text == '"' ? "\"\"" : "%c", *text);
    fputc('"', to);
}

struct row {
    uint64_t timestamp;
    const char *message, *unit, *source, *level, *name;
    double value;
    bool estimated; /* for a device; not measured on this computer */
};

static void put_row(FILE *to, const struct row *r)
{
    fprintf(to, "%" PRIu64 ",%s,", r->timestamp, r->message);
    fprintf(to, r->value < 1e15 && r->value == (double)(uint64_t)r->value ? "%.0f" : "%.3f", r->value);
    fprintf(to, ",%s,%s,%s,", r->unit, r->source, r->level);
    put_text(to, r->name);
    fputs(r->estimated ? ",estimated\n" : ",measured\n", to);
}

/* No counter of cycles is read here: they all come from a cost model. Other figures of one say so. */
static bool is_estimated(const struct prof_event *e)
{
    return e->unit == PROF_UNIT_CYCLES || (e->name && strstr(e->name, "estimated"));
}

static void put_record(FILE *to, const struct prof_log_record *r)
{
    const char *graph = r->graph_name ? r->graph_name : "";
    uint64_t span = r->stop_us - r->start_us;
    struct row own = { r->start_us, message(r->method), "US", "NETRUN", "ROOT", graph, (double)span, false };
    if (r->method == QNN_SYSTEM_PROFILE_METHOD_TYPE_APP_EXECUTE_IPS) { /* the event counts the executions of the span */
        uint64_t count = r->n_events ? r->events[0].value : 0;
        own.unit = "INFERENCES/SECOND";
        own.value = span ? (double)count * 1e6 / (double)span : 0;
        put_row(to, &own);
        return;
    }
    put_row(to, &own);
    for (uint32_t i = 0; i < r->n_events; i++) {
        const struct prof_event *e = &r->events[i];
        struct row row = { e->timestamp_us ? e->timestamp_us : r->start_us,
                           own.message,
                           unit(e->unit),
                           "BACKEND",
                           e->parent == PROF_ROOT ? "ROOT" : "SUB-EVENT",
                           e->name ? e->name : "",
                           (double)e->value,
                           is_estimated(e) };
        put_row(to, &row);
    }
}

enum status viewer_write_csv(const struct prof_log *const *logs, size_t n, const char *path)
{
    CLEANUP(file_write_abort) struct file_write file = { 0 };
    TRY(file_write_begin(&file, path));

    fputs("Msg Timestamp,Message,Time,Unit of Measurement,Timing Source,Event Level,Event Identifier,Figure\n", file.to);
    for (size_t i = 0; i < n; i++) {
        for (uint32_t r = 0; r < logs[i]->n_records; r++)
            put_record(file.to, &logs[i]->records[r]);
    }

    return file_write_end(&file);
}
