/* SPDX-License-Identifier: Apache-2.0 */
/* QnnSystemProfile.h: the client's event trees into a profile log file, one record per measured call. */
#include "QNN/System/QnnSystemProfile.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "api/objects.h"
#include "base/str.h"
#include "profile/profile.h"

enum { MAX_DEPTH = 64, MAX_EVENTS = 1 << 24 }; /* of one call: what a client builds by mistake ends somewhere */

struct system_profile {
    pthread_mutex_t lock;
    struct prof_log_writer *log;
    uint32_t max_messages, messages; /* 0: no limit */
    VEC(char *) graphs;              /* names in the order they came; a record has the number */
};

/* ---- one call --------------------------------------------------------------------------------------------------------- */

struct events {
    VEC(struct prof_event) list;
    uint64_t start_us;
};

static uint64_t from_double(double v)
{
    return isnan(v) || v <= 0 ? 0 : v >= 0x1p64 ? UINT64_MAX : (uint64_t)v;
}

static uint64_t from_scalar(const Qnn_Scalar_t *s)
{
    switch ((unsigned)s->dataType) {
    case QNN_DATATYPE_FLOAT_32: return from_double(s->floatValue);
    case QNN_DATATYPE_FLOAT_64: return from_double(s->doubleValue);
    case QNN_DATATYPE_INT_64: return s->int64Value > 0 ? (uint64_t)s->int64Value : 0;
    case QNN_DATATYPE_INT_32: return s->int32Value > 0 ? (uint64_t)s->int32Value : 0;
    case QNN_DATATYPE_INT_16: return s->int16Value > 0 ? (uint64_t)s->int16Value : 0;
    case QNN_DATATYPE_INT_8: return s->int8Value > 0 ? (uint64_t)s->int8Value : 0;
    case QNN_DATATYPE_UINT_32: return s->uint32Value;
    case QNN_DATATYPE_UINT_16: return s->uint16Value;
    case QNN_DATATYPE_UINT_8:
    case QNN_DATATYPE_BOOL_8: return s->uint8Value;
    case QNN_DATATYPE_UINT_64: return s->uint64Value;
    default: return 0;
    }
}

/* An opaque object is data for another tool: the log keeps its size. */
static enum status take_extended(const QnnProfile_ExtendedEventData_t *x, struct prof_event *e)
{
    RETURN_IF(x->version != QNN_PROFILE_DATA_VERSION_1, ST_INVALID_ARG, "an extended event has version %u; 1 is known",
              (unsigned)x->version);
    const QnnProfile_ExtendedEventDataV1_t *v = &x->v1;
    e->type = v->type;
    e->unit = v->unit;
    e->value = v->unit == QNN_PROFILE_EVENTUNIT_OBJECT ? v->backendOpaqueObject.opaqueObject.len : from_scalar(&v->value);
    e->timestamp_us = v->timestamp;
    e->name = v->identifier;
    return ST_OK;
}

static enum status take_event(const QnnSystemProfile_ProfileEventV1_t *from, uint64_t start_us, struct prof_event *e)
{
    if (from->type == QNN_SYSTEM_PROFILE_EXTENDED_EVENT_DATA)
        return take_extended(&from->extendedEventData, e);
    RETURN_IF(from->type != QNN_SYSTEM_PROFILE_EVENT_DATA, ST_INVALID_ARG,
              "an event has type %u; 0 (data) and 1 (extended data) are known", (unsigned)from->type);
    const QnnProfile_EventData_t *d = &from->eventData;
    *e = (struct prof_event){
        .type = d->type, .unit = d->unit, .value = d->value, .timestamp_us = start_us, .name = d->identifier
    };
    return ST_OK;
}

/* Parents before their children, as the log wants them. */
static enum status take_events(struct events *to, const QnnSystemProfile_ProfileEventV1_t *from, uint32_t n, int32_t parent,
                               unsigned depth)
{
    RETURN_IF(n && !from, ST_INVALID_ARG, "a list of %u events is NULL", n);
    RETURN_IF(n && depth >= MAX_DEPTH, ST_INVALID_ARG, "events are nested deeper than %d levels", MAX_DEPTH);
    for (uint32_t i = 0; i < n; i++) {
        struct prof_event e = { .name = NULL };
        TRY(take_event(&from[i], to->start_us, &e));
        e.parent = parent;
        RETURN_IF(to->list.n >= MAX_EVENTS, ST_INVALID_ARG, "a call has more than %d events", MAX_EVENTS);
        int32_t self = (int32_t)to->list.n;
        struct prof_event *slot = vec_push(&to->list);
        RETURN_IF(!slot, ST_NO_MEMORY, "no memory for %d events", self + 1);
        *slot = e;
        TRY(take_events(to, from[i].profileSubEventData, from[i].numSubEvents, self, depth + 1));
    }
    return ST_OK;
}

static enum status graph_number(struct system_profile *p, const char *name, uint32_t *ret)
{
    *ret = 0;
    if (!name)
        return ST_OK;
    for (uint32_t i = 0; i < p->graphs.n; i++)
        if (strcmp(p->graphs.at[i], name) == 0) {
            *ret = i;
            return ST_OK;
        }
    char *copy = mem_strdup(name);
    char **slot = copy ? vec_push(&p->graphs) : NULL;
    if (!slot) {
        mem_free(copy);
        return status_fail(ST_NO_MEMORY, "no memory for the name of graph \"%s\"", name);
    }
    *slot = copy;
    *ret = (uint32_t)p->graphs.n - 1;
    return ST_OK;
}

static enum status append(struct system_profile *p, const QnnSystemProfile_ProfileDataV1_t *d)
{
    struct events events = { .start_us = d->header.startTime };
    struct prof_log_record r = {
        .method = (uint32_t)d->header.methodType,
        .graph_name = d->header.graphName,
        .start_us = d->header.startTime,
        .stop_us = d->header.stopTime,
    };
    enum status st = graph_number(p, d->header.graphName, &r.graph);
    if (st == ST_OK)
        st = take_events(&events, d->profilingEvents, d->numProfilingEvents, PROF_ROOT, 0);
    r.n_events = (uint32_t)events.list.n;
    r.events = events.list.at;
    if (st == ST_OK)
        st = prof_log_append(p->log, &r);
    vec_finish(&events.list);
    return st;
}

static enum status append_all(struct system_profile *p, const QnnSystemProfile_ProfileData_t **data, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        RETURN_IF(!data[i], ST_INVALID_ARG, "eventData[%u] is NULL", i);
        RETURN_IF(data[i]->version != QNN_SYSTEM_PROFILE_DATA_VERSION_1, ST_INVALID_ARG,
                  "eventData[%u] has version %u; 1 is known", i, (unsigned)data[i]->version);
        if (p->max_messages && p->messages >= p->max_messages) {
            api_log(LOG_WARN, "profile log: %u of %u records are left out, the limit of %u is reached", n - i, n,
                    p->max_messages);
            return ST_OK;
        }
        enum status st = append(p, &data[i]->v1);
        if (st != ST_OK)
            return status_prefix(st, "eventData[%u]", i);
        p->messages++;
    }
    return ST_OK;
}

/* ---- the target ------------------------------------------------------------------------------------------------------- */

static enum status system_profile_free(struct system_profile *p)
{
    if (!p)
        return ST_OK;
    enum status st = prof_log_close(p->log);
    for (size_t i = 0; i < p->graphs.n; i++)
        mem_free(p->graphs.at[i]);
    vec_finish(&p->graphs);
    pthread_mutex_destroy(&p->lock);
    mem_free(p);
    return st;
}

struct target_options {
    struct prof_log_header header;
    uint32_t max_messages;
};

static enum status read_configs(const QnnSystemProfile_SerializationTargetConfig_t *c, uint32_t n,
                                struct target_options *ret)
{
    RETURN_IF(n && !c, ST_INVALID_ARG, "configs is NULL, numConfigs is %u", n);
    for (uint32_t i = 0; i < n; i++) {
        if (c[i].type == QNN_SYSTEM_PROFILE_SERIALIZATION_TARGET_CONFIG_MAX_NUM_MESSAGES) {
            ret->max_messages = c[i].maxNumMessages;
            continue;
        }
        RETURN_IF(c[i].type != QNN_SYSTEM_PROFILE_SERIALIZATION_TARGET_CONFIG_SERIALIZATION_HEADER, ST_INVALID_ARG,
                  "configs[%u] has type %u; 0 (most messages) and 1 (file header) are known", i, (unsigned)c[i].type);
        const QnnSystemProfile_SerializationFileHeader_t *h = &c[i].serializationHeader;
        ret->header = (struct prof_log_header){ h->appName, h->appVersion, h->backendVersion };
    }
    return ST_OK;
}

/* A path that cannot be opened is the caller's mistake; failures to write later are the system's. */
static enum status open_log(const QnnSystemProfile_SerializationTargetFile_t *f, const struct prof_log_header *h,
                            struct prof_log_writer **ret)
{
    RETURN_IF(!f->fileName || !*f->fileName, ST_INVALID_ARG, "fileName is %s; give the name of the log file",
              f->fileName ? "empty" : "NULL");
    struct str path = { .at = NULL };
    if (f->fileDirectory && *f->fileDirectory)
        str_addf(&path, "%s/", f->fileDirectory);
    str_add(&path, f->fileName);
    enum status st =
        path.failed ? status_fail(ST_NO_MEMORY, "no memory for the path of a log file") : prof_log_create(path.at, h, ret);
    if (st == ST_IO)
        st = errno == ENOMEM ? ST_NO_MEMORY : ST_INVALID_ARG;
    str_finish(&path);
    return st;
}

static enum status create(const QnnSystemProfile_SerializationTarget_t *info, const struct target_options *o,
                          struct system_profile **ret)
{
    RETURN_IF(info->type != QNN_SYSTEM_PROFILE_SERIALIZATION_TARGET_FILE, ST_INVALID_ARG,
              "the target has type %u; 1 (file) is known", (unsigned)info->type);
    struct system_profile *p = mem_new(struct system_profile);
    RETURN_IF(!p, ST_NO_MEMORY, "no memory for a serialization target");
    pthread_mutex_init(&p->lock, NULL);
    p->max_messages = o->max_messages;
    enum status st = open_log(&info->file, &o->header, &p->log);
    if (st != ST_OK) {
        system_profile_free(p);
        return st;
    }
    *ret = p;
    return ST_OK;
}

Qnn_ErrorHandle_t QnnSystemProfile_createSerializationTarget(
    QnnSystemProfile_SerializationTarget_t serializationTargetInfo, QnnSystemProfile_SerializationTargetConfig_t *configs,
    uint32_t numConfigs, QnnSystemProfile_SerializationTargetHandle_t *serializationTarget)
{
    log_enter(NULL);
    API_CHECK(serializationTarget, COMP_SYSTEM_PROFILE, ST_INVALID_ARG,
              "serializationTarget is NULL; give a pointer that receives the handle");
    struct target_options options = { .max_messages = 0 };
    struct system_profile *p;
    enum status st = read_configs(configs, numConfigs, &options);
    if (st == ST_OK)
        st = create(&serializationTargetInfo, &options, &p);
    if (st != ST_OK)
        return api_error(COMP_SYSTEM_PROFILE, st);
    void *h = handle_open(HANDLE_SYSTEM_PROFILE, p);
    if (!h) {
        system_profile_free(p);
        return api_fail(COMP_SYSTEM_PROFILE, ST_NO_MEMORY, "no memory for a serialization target");
    }
    *serializationTarget = h;
    return QNN_SUCCESS;
}

Qnn_ErrorHandle_t QnnSystemProfile_serializeEventData(QnnSystemProfile_SerializationTargetHandle_t serializationTarget,
                                                      const QnnSystemProfile_ProfileData_t **eventData, uint32_t numEvents)
{
    API_OBJECT(struct system_profile, p, serializationTarget, HANDLE_SYSTEM_PROFILE, COMP_SYSTEM_PROFILE);
    log_enter(NULL);
    API_CHECK(eventData || !numEvents, COMP_SYSTEM_PROFILE, ST_INVALID_ARG, "eventData is NULL, numEvents is %u", numEvents);
    LOCKED(&p->lock);
    return api_error(COMP_SYSTEM_PROFILE, append_all(p, eventData, numEvents));
}

Qnn_ErrorHandle_t QnnSystemProfile_freeSerializationTarget(QnnSystemProfile_SerializationTargetHandle_t serializationTarget)
{
    log_enter(NULL);
    struct system_profile *p = handle_close(serializationTarget, HANDLE_SYSTEM_PROFILE, 0);
    API_CHECK(p, COMP_SYSTEM_PROFILE, ST_INVALID_HANDLE, "the %s handle is %s", handle_type_name(HANDLE_SYSTEM_PROFILE),
              handle_describe(serializationTarget, HANDLE_SYSTEM_PROFILE));
    return api_error(COMP_SYSTEM_PROFILE, system_profile_free(p));
}
