/* SPDX-License-Identifier: Apache-2.0 */
/* The settings of a timeline (--config): every key acts, and every other one is refused. */
#include <stddef.h>

#include "base/arena.h"
#include "base/json.h"
#include "profile_viewer/trace_config.h"

#define BOOL(name, member)                                               \
    {                                                                    \
        name, JSON_BOOL, .offset = offsetof(struct trace_config, member) \
    }
static const struct json_field features[] = {
    BOOL("enable_input_output_flow_events", io_flows),
    BOOL("enable_sequencer_flow_events", sequencer_flows),
    BOOL("htp_json", htp_json),
    BOOL("runtrace", runtrace),
    BOOL("memory_info", memory_info),
    BOOL("traceback", traceback),
    BOOL("qhas_schema", qhas_schema),
    BOOL("qhas_json", qhas_json),
    BOOL("gzip", gzip),
    {},
};

/* The guide does not say whether gzip is one of the features, so it may stand beside them, too. */
static const struct json_field fields[] = {
    { "features", JSON_OBJECT, .sub = features },
    BOOL("gzip", gzip),
    {},
};

enum status trace_config_read(const char *path, struct trace_config *ret)
{
    CLEANUP(arena_finish) struct arena arena;
    struct trace_config c = { .htp_json = true, .runtrace = true, .memory_info = true, .traceback = true };

    arena_init(&arena);
    enum status st = path ? json_read_file(path, fields, &c, &arena) : ST_OK;
    if (st != ST_OK)
        return status_prefix(st, "--config");
    *ret = c;
    return ST_OK;
}
