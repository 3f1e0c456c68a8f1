/* SPDX-License-Identifier: Apache-2.0 */
/* Profiling: events of the backend, read through QnnProfile and written through QnnSystemProfile, which qnn-profile-viewer
 * reads. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"
#include "common/tool_file.h"
#include "common/tool_log.h"
#include "session/session_private.h"

#define LOG_NAME "qnn-profiling-data_0.log"
#define LINK_NAME "qnn-profiling-data.log"
enum { HTP_LINTING = 7001 }; /* QNN_HTP_PROFILE_LEVEL_LINTING */

const char *const session_profiling_levels[] = { "off", "basic", "detailed", "client", "backend", "linting", NULL };
const char *const session_profiling_options[] = { "none", "optrace", NULL };

enum status session_new_profile(struct session *s, Qnn_ProfileHandle_t *ret)
{
    const QNN_INTERFACE_VER_TYPE *api = &s->backend.api;
    *ret = NULL;
    if (s->opt.profiling == PROFILING_OFF || s->opt.profiling == PROFILING_CLIENT)
        return ST_OK;
    QnnProfile_Level_t level = s->opt.profiling == PROFILING_BASIC     ? QNN_PROFILE_LEVEL_BASIC
                               : s->opt.profiling == PROFILING_LINTING ? HTP_LINTING
                                                                       : QNN_PROFILE_LEVEL_DETAILED;
    Qnn_ErrorHandle_t error = api->profileCreate(s->handle, level, ret);
    if (error != QNN_SUCCESS)
        return library_fail(api, error, "--profiling_level %s", session_profiling_levels[s->opt.profiling]);
    QnnProfile_Config_t limit = { .option = QNN_PROFILE_CONFIG_OPTION_MAX_EVENTS,
                                  .numMaxEvents = s->config.profile.max_events };
    QnnProfile_Config_t trace = { .option = QNN_PROFILE_CONFIG_OPTION_ENABLE_OPTRACE, .enableOptrace = 1 };
    const QnnProfile_Config_t *configs[3] = { NULL, NULL, NULL };
    int n = 0;
    if (limit.numMaxEvents)
        configs[n++] = &limit;
    if (s->opt.profiling_option)
        configs[n++] = &trace;
    error = n ? api->profileSetConfig(*ret, configs) : QNN_SUCCESS;
    if (error == QNN_SUCCESS)
        return ST_OK;
    return library_fail(api, error,
                        s->opt.profiling_option
                            ? "--profiling_option optrace: this backend has no timeline of an accelerator"
                            : "profile_configs/num_max_events");
}

enum status session_open_profile_log(struct session *s)
{
    bool traced = s->opt.profiling == PROFILING_DETAILED || s->opt.profiling == PROFILING_LINTING;
    RETURN_IF(s->opt.profiling_option && !traced, ST_INVALID_ARG,
              "--profiling_option optrace needs --profiling_level detailed; it is %s",
              session_profiling_levels[s->opt.profiling]);
    if (s->opt.profiling == PROFILING_OFF)
        return ST_OK;
    TRY(session_need_system(s, "--profiling_level"));
    TRY(tool_make_dirs(s->opt.output_dir));
    QnnSystemProfile_SerializationTarget_t target = { .type = QNN_SYSTEM_PROFILE_SERIALIZATION_TARGET_FILE,
                                                      .file = { LOG_NAME, s->opt.output_dir } };
    const char *build_id = NULL;
    s->backend.api.backendGetBuildId(&build_id);
    QnnSystemProfile_SerializationTargetConfig_t config = {
        .type = QNN_SYSTEM_PROFILE_SERIALIZATION_TARGET_CONFIG_SERIALIZATION_HEADER,
        .serializationHeader = { program_invocation_short_name, build_id ? build_id : "", build_id ? build_id : "" },
    };
    Qnn_ErrorHandle_t error = s->system.api.systemProfileCreateSerializationTarget(target, &config, 1, &s->profile_log);
    if (error != QNN_SUCCESS)
        return library_fail(NULL, error, "the profiling log \"%s/%s\" could not be created", s->opt.output_dir, LOG_NAME);

    CLEANUP(str_finish) struct str link;
    str_init(&link);
    str_addf(&link, "%s/%s", s->opt.output_dir, LINK_NAME);
    unlink(str_text(&link));
    if (symlink(LOG_NAME, str_text(&link)))
        tool_log(TOOL_WARN, "the link \"%s\" could not be made: %s", str_text(&link), strerror(errno));
    return ST_OK;
}

static void schematic_path(struct str *path, const struct session *s, size_t graph)
{
    path->n = 0;
    str_addf(path, "%s_schematic.bin", s->graphs.at[graph].name);
}

/* The estimate and the names of all commands are in the context binary, so a schematic is that, once per graph. */
enum status session_save_schematics(struct session *s, const char *saved)
{
    CLEANUP(str_finish) struct str path;
    struct tool_file file = { 0 };
    size_t first = saved ? 0 : 1;
    enum status st = ST_OK;

    str_init(&path);
    if (!s->opt.profiling_option || !s->graphs.n)
        return ST_OK;
    if (!saved) {
        schematic_path(&path, s, 0);
        RETURN_IF(path.failed, ST_NO_MEMORY, "path of a schematic");
        TRY(session_save(s, str_text(&path)));
    }

    TRY(tool_file_map(saved ? saved : str_text(&path), &file));
    for (size_t i = first; i < s->graphs.n && st == ST_OK; i++) {
        schematic_path(&path, s, i);
        st = path.failed ? status_fail(ST_NO_MEMORY, "path of a schematic")
                         : tool_file_write(str_text(&path), file.data, file.size);
    }
    tool_file_free(&file);
    return st;
}

/* Reads events and, for each, what is below it; everything in `arena`. Backends have few levels; deeper ones are
 * left out. */
static enum status read_events(struct session *s, struct arena *arena, const QnnProfile_EventId_t *ids, uint32_t n,
                               int depth, QnnSystemProfile_ProfileEventV1_t **ret)
{
    enum { MAX_DEPTH = 16 };
    const QNN_INTERFACE_VER_TYPE *api = &s->backend.api;
    *ret = arena_array(arena, QnnSystemProfile_ProfileEventV1_t, n);
    RETURN_IF(!*ret, ST_NO_MEMORY, "profile events");
    for (uint32_t i = 0; i < n; i++) {
        QnnSystemProfile_ProfileEventV1_t *e = &(*ret)[i];
        const QnnProfile_EventId_t *below = NULL;
        e->type = QNN_SYSTEM_PROFILE_EVENT_DATA;
        Qnn_ErrorHandle_t error = api->profileGetEventData(ids[i], &e->eventData);
        if (QNN_GET_ERROR_CODE(error) == QNN_PROFILE_ERROR_INCOMPATIBLE_EVENT) {
            e->type = QNN_SYSTEM_PROFILE_EXTENDED_EVENT_DATA;
            error = api->profileGetExtendedEventData(ids[i], &e->extendedEventData);
        }
        if (error != QNN_SUCCESS)
            return library_fail(api, error, "reading a profile event");
        if (depth < MAX_DEPTH && api->profileGetSubEvents(ids[i], &below, &e->numSubEvents) == QNN_SUCCESS &&
            e->numSubEvents)
            TRY(read_events(s, arena, below, e->numSubEvents, depth + 1, &e->profileSubEventData));
        else
            e->numSubEvents = 0;
    }
    return ST_OK;
}

static enum status collect(struct session *s, struct arena *arena, const struct session_measure *m,
                           QnnSystemProfile_ProfileDataV1_t *to)
{
    const QnnProfile_EventId_t *ids = NULL;
    uint32_t n = 0;
    if (m->profile) {
        Qnn_ErrorHandle_t error = s->backend.api.profileGetEvents(m->profile, &ids, &n);
        if (error != QNN_SUCCESS)
            return library_fail(&s->backend.api, error, "reading the profile");
    }
    to->numProfilingEvents = n;
    if (n)
        TRY(read_events(s, arena, ids, n, 0, &to->profilingEvents));
    if (m->count) { /* how many executions the span of this record holds; the viewer makes inferences per second of it */
        to->profilingEvents = arena_new(arena, QnnSystemProfile_ProfileEventV1_t);
        RETURN_IF(!to->profilingEvents, ST_NO_MEMORY, "profile event");
        to->profilingEvents->eventData =
            (QnnProfile_EventData_t){ QNN_PROFILE_EVENTTYPE_EXECUTE, QNN_PROFILE_EVENTUNIT_COUNT, m->count,
                                      "Number of inferences" };
        to->numProfilingEvents = 1;
    }
    return ST_OK;
}

enum status session_measured(struct session *s, const struct session_measure *m)
{
    if (!s->profile_log)
        return ST_OK;
    CLEANUP(arena_finish) struct arena arena;
    arena_init(&arena);
    QnnSystemProfile_ProfileData_t data = { .version = QNN_SYSTEM_PROFILE_DATA_VERSION_1,
                                            .v1 = QNN_SYSTEM_PROFILE_DATA_V1_INIT };
    const QnnSystemProfile_ProfileData_t *list[] = { &data };
    data.v1.header.methodType = m->method;
    data.v1.header.graphName = m->graph;
    data.v1.header.startTime = m->start_ns / 1000;
    data.v1.header.stopTime = m->stop_ns / 1000;
    TRY(collect(s, &arena, m, &data.v1));
    Qnn_ErrorHandle_t error = s->system.api.systemProfileSerializeEventData(s->profile_log, list, 1);
    return error == QNN_SUCCESS ? ST_OK : library_fail(NULL, error, "writing the profiling log");
}
