/* SPDX-License-Identifier: Apache-2.0 */
/* QnnProfile.h: profile handles and the events they hold.
 *
 * Event ids travel without their profile, so an id is the profile's serial number (upper half) and the index of the event
 * plus one (lower half). */
#include "QNN/QnnProfile.h"
#include "QNN/QnnProperty.h"

#include "api/objects.h"
#include "base/forks.h"

static pthread_mutex_t serial_lock = PTHREAD_MUTEX_INITIALIZER;
FORKS_HOLD(serial_lock)
static struct api_profile *live; /* all that have a serial number */
static uint32_t last_serial;     /* numbers are never used again */

static void serial_begin(struct api_profile *p)
{
    LOCKED(&serial_lock);
    if (last_serial == UINT32_MAX)
        return;
    p->serial = ++last_serial;
    p->next = live;
    live = p;
}

static void serial_end(struct api_profile *p)
{
    LOCKED(&serial_lock);
    struct api_profile **at = &live;
    while (*at != p)
        at = &(*at)->next;
    *at = p->next;
}

static void *serial_handle(uint32_t serial)
{
    LOCKED(&serial_lock);
    struct api_profile *p = live;
    while (p && p->serial != serial)
        p = p->next;
    return p ? p->self : NULL;
}

static void profile_free_parts(struct api_profile *p)
{
    if (p->serial)
        serial_end(p);
    prof_free(p->prof);
    arena_finish(&p->lists);
    pthread_mutex_destroy(&p->lock);
    mem_free(p);
}

static enum status profile_create(struct api_backend *b, uint32_t level, void **ret)
{
    struct api_profile *p = mem_new(struct api_profile);
    RETURN_IF(!p, ST_NO_MEMORY, "no memory for a profile");
    pthread_mutex_init(&p->lock, NULL);
    arena_init(&p->lists);
    p->log = b->log;
    p->backend = b->self;
    enum status st = prof_create(level, &p->prof);
    if (st == ST_OK) {
        p->self = handle_open(HANDLE_PROFILE, p);
        if (p->self)
            serial_begin(p);
        st = p->serial ? children_add(&b->profiles, p->self) : status_fail(ST_NO_MEMORY, "no memory for a profile");
    }
    if (st != ST_OK) {
        if (p->self)
            handle_close(p->self, HANDLE_PROFILE, 0);
        profile_free_parts(p);
        return st;
    }
    *ret = p->self;
    return ST_OK;
}

Qnn_ErrorHandle_t QnnProfile_create(Qnn_BackendHandle_t backend, QnnProfile_Level_t level, Qnn_ProfileHandle_t *profile)
{
    API_OBJECT(struct api_backend, b, backend, HANDLE_BACKEND, COMP_PROFILE);
    log_enter(b->log);
    API_CHECK(profile, COMP_PROFILE, ST_INVALID_ARG, "profile is NULL; give a pointer that receives the handle");
    uint32_t known = level == QNN_PROFILE_LEVEL_BASIC || level == QNN_PROFILE_LEVEL_DETAILED ? level
                     : backend_this->profile_level ? backend_this->profile_level(level)
                                                   : 0;
    API_CHECK(known, COMP_PROFILE, ST_NOT_SUPPORTED, "profile level is %u; 1 (basic) and 2 (detailed) are supported", level);
    return api_error(COMP_PROFILE, profile_create(b, known, profile));
}

static enum status set_option(struct api_profile *p, const QnnProfile_Config_t *c)
{
    RETURN_IF(c->option == QNN_PROFILE_CONFIG_OPTION_ENABLE_OPTRACE && c->enableOptrace &&
                  !backend_capable(backend_this, QNN_PROPERTY_PROFILE_SUPPORT_OPTRACE_CONFIG),
              ST_NOT_SUPPORTED, "optrace is not supported by the %s backend", backend_this->name);
    RETURN_IF(c->option == QNN_PROFILE_CONFIG_OPTION_CUSTOM, ST_NOT_SUPPORTED,
              "the %s backend has no custom profile options", backend_this->name);
    RETURN_IF(c->option != QNN_PROFILE_CONFIG_OPTION_MAX_EVENTS && c->option != QNN_PROFILE_CONFIG_OPTION_ENABLE_OPTRACE,
              ST_INVALID_ARG, "profile option %u is unknown; 0 (custom), 1 (max events) and 2 (optrace) are known",
              (unsigned)c->option);
    if (c->option == QNN_PROFILE_CONFIG_OPTION_MAX_EVENTS)
        prof_limit(p->prof, c->numMaxEvents);
    else
        prof_set_trace(p->prof, c->enableOptrace);
    return ST_OK;
}

Qnn_ErrorHandle_t QnnProfile_setConfig(Qnn_ProfileHandle_t profileHandle, const QnnProfile_Config_t **config)
{
    API_OBJECT(struct api_profile, p, profileHandle, HANDLE_PROFILE, COMP_PROFILE);
    log_enter(p->log);
    LOCKED(&p->lock);
    API_CHECK(!p->in_use, COMP_PROFILE, ST_IN_USE,
              "the profile is in use by a running call; wait for it, or use another profile");
    for (; config && *config; config++) {
        enum status st = set_option(p, *config);
        if (st != ST_OK)
            return api_error(COMP_PROFILE, st);
    }
    return QNN_SUCCESS;
}

/* The ids of the children of `parent`; the array lives as long as the profile. */
static enum status list_children(struct api_profile *p, int32_t parent, const QnnProfile_EventId_t **ids, uint32_t *n)
{
    uint32_t count = prof_children(p->prof, parent, NULL, 0);
    uint32_t *at = arena_array(&p->lists, uint32_t, count);
    QnnProfile_EventId_t *out = arena_array(&p->lists, QnnProfile_EventId_t, count);
    RETURN_IF(!at || !out, ST_NO_MEMORY, "no memory to list %u events", count);
    prof_children(p->prof, parent, at, count);
    for (uint32_t i = 0; i < count; i++)
        out[i] = (uint64_t)p->serial << 32 | (at[i] + 1);
    *ids = out;
    *n = count;
    return ST_OK;
}

Qnn_ErrorHandle_t QnnProfile_getEvents(Qnn_ProfileHandle_t profile, const QnnProfile_EventId_t **profileEventIds,
                                       uint32_t *numEvents)
{
    API_OBJECT(struct api_profile, p, profile, HANDLE_PROFILE, COMP_PROFILE);
    log_enter(p->log);
    API_CHECK(profileEventIds && numEvents, COMP_PROFILE, ST_INVALID_ARG,
              "profileEventIds or numEvents is NULL; both receive the answer");
    LOCKED(&p->lock);
    API_CHECK(!p->in_use, COMP_PROFILE, ST_IN_USE,
              "a running call records into the profile; read it when that call has returned");
    return api_error(COMP_PROFILE, list_children(p, PROF_ROOT, profileEventIds, numEvents));
}

/* Pin the profile of an event and give the event's index. */
static struct api_profile *event_profile(QnnProfile_EventId_t id, void **handle, uint32_t *index)
{
    *handle = serial_handle((uint32_t)(id >> 32));
    *index = (uint32_t)id - 1;
    return *handle ? handle_get(*handle, HANDLE_PROFILE) : NULL;
}

#define API_EVENT(p, id, index)                                                                                       \
    uint32_t index;                                                                                                   \
    void *p##_handle;                                                                                                 \
    struct api_profile *p = event_profile((id), &p##_handle, &index);                                                 \
    log_enter(NULL);                                                                                                  \
    API_CHECK(p, COMP_PROFILE, ST_INVALID_HANDLE, "event 0x%llx is not of a live profile", (unsigned long long)(id)); \
    CLEANUP(pin_end) struct pin p##_pin = { p##_handle };                                                             \
    (void)p##_pin;                                                                                                    \
    log_enter(p->log);                                                                                                \
    LOCKED(&p->lock);                                                                                                 \
    API_CHECK(!p->in_use, COMP_PROFILE, ST_IN_USE,                                                                    \
              "a running call records into the profile; read it when that call has returned");                        \
    API_CHECK(index < prof_count(p->prof), COMP_PROFILE, ST_INVALID_HANDLE, "event 0x%llx does not exist",            \
              (unsigned long long)(id))

Qnn_ErrorHandle_t QnnProfile_getSubEvents(QnnProfile_EventId_t eventId, const QnnProfile_EventId_t **subEventIds,
                                          uint32_t *numSubEvents)
{
    API_EVENT(p, eventId, index);
    API_CHECK(subEventIds && numSubEvents, COMP_PROFILE, ST_INVALID_ARG,
              "subEventIds or numSubEvents is NULL; both receive the answer");
    return api_error(COMP_PROFILE, list_children(p, (int32_t)index, subEventIds, numSubEvents));
}

Qnn_ErrorHandle_t QnnProfile_getEventData(QnnProfile_EventId_t eventId, QnnProfile_EventData_t *eventData)
{
    API_EVENT(p, eventId, index);
    API_CHECK(eventData, COMP_PROFILE, ST_INVALID_ARG, "eventData is NULL; give a pointer that receives the event");
    const struct prof_event *e = prof_at(p->prof, index);
    *eventData = (QnnProfile_EventData_t){ .type = e->type, .unit = e->unit, .value = e->value, .identifier = e->name };
    return QNN_SUCCESS;
}

Qnn_ErrorHandle_t QnnProfile_getExtendedEventData(QnnProfile_EventId_t eventId, QnnProfile_ExtendedEventData_t *eventData)
{
    API_EVENT(p, eventId, index);
    API_CHECK(eventData, COMP_PROFILE, ST_INVALID_ARG, "eventData is NULL; give a pointer that receives the event");
    const struct prof_event *e = prof_at(p->prof, index);
    *eventData = (QnnProfile_ExtendedEventData_t){ .version = QNN_PROFILE_DATA_VERSION_1 };
    eventData->v1 = (QnnProfile_ExtendedEventDataV1_t){
        .type = e->type, .unit = e->unit, .timestamp = e->timestamp_us, .identifier = e->name
    };
    eventData->v1.value.dataType = QNN_DATATYPE_UINT_64;
    eventData->v1.value.uint64Value = e->value;
    return QNN_SUCCESS;
}

enum status profile_begin(void *handle, struct api_profile **ret)
{
    *ret = NULL;
    if (!handle)
        return ST_OK;
    struct api_profile *p = handle_get(handle, HANDLE_PROFILE);
    RETURN_IF(!p, ST_SET_PROFILE, "the profile handle is %s", handle_describe(handle, HANDLE_PROFILE));
    pthread_mutex_lock(&p->lock);
    bool busy = p->in_use;
    p->in_use = true;
    if (!busy) {
        prof_reset(p->prof);
        arena_finish(&p->lists); /* the id arrays of the former call */
    }
    pthread_mutex_unlock(&p->lock);
    if (busy) {
        handle_put(handle);
        return status_fail(ST_PROFILE_IN_USE, "the profile is in use by another call; use one profile per call in flight");
    }
    *ret = p;
    return ST_OK;
}

void profile_end(struct api_profile *p)
{
    if (!p)
        return;
    pthread_mutex_lock(&p->lock);
    p->in_use = false;
    pthread_mutex_unlock(&p->lock);
    handle_put(p->self);
}

enum status profile_bind(void *handle, const void *graph)
{
    struct api_profile *p = handle_get(handle, HANDLE_PROFILE);
    RETURN_IF(!p, ST_SET_PROFILE, "the profile handle is %s", handle_describe(handle, HANDLE_PROFILE));
    pthread_mutex_lock(&p->lock);
    bool taken = p->graph && p->graph != graph;
    if (!taken)
        p->graph = graph;
    pthread_mutex_unlock(&p->lock);
    handle_put(handle);
    RETURN_IF(taken, ST_PROFILE_IN_USE, "the profile is bound to another graph; use one profile per graph");
    return ST_OK;
}

void profile_unbind(void *handle)
{
    struct api_profile *p = handle ? handle_get(handle, HANDLE_PROFILE) : NULL;
    if (!p)
        return;
    pthread_mutex_lock(&p->lock);
    p->graph = NULL;
    pthread_mutex_unlock(&p->lock);
    handle_put(handle);
}

bool profile_destroy(void *handle)
{
    struct api_profile *p = handle_close(handle, HANDLE_PROFILE, 0);
    if (p)
        profile_free_parts(p);
    return p;
}

Qnn_ErrorHandle_t QnnProfile_free(Qnn_ProfileHandle_t profile)
{
    void *backend;
    {
        API_OBJECT(struct api_profile, p, profile, HANDLE_PROFILE, COMP_PROFILE);
        log_enter(p->log);
        LOCKED(&p->lock);
        API_CHECK(!p->in_use, COMP_PROFILE, ST_IN_USE, "the profile is in use by a running call; wait for it to end");
        API_CHECK(!p->graph, COMP_PROFILE, ST_IN_USE,
                  "the profile is in the config of a graph; take it out or free the context first");
        backend = p->backend;
    }
    struct api_backend *b = handle_get(backend, HANDLE_BACKEND);
    if (b) {
        children_remove(&b->profiles, profile);
        handle_put(backend);
    }
    API_CHECK(profile_destroy(profile), COMP_PROFILE, ST_INVALID_HANDLE, "the profile handle is %s",
              handle_describe(profile, HANDLE_PROFILE));
    return QNN_SUCCESS;
}
