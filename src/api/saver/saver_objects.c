/* SPDX-License-Identifier: Apache-2.0 */
/* Objects of the client. They only have a number: under it the program has the handle of the backend it runs on. All of
 * this is called with the recorder's lock held. */
#include "api/log.h"
#include "api/saver/saver.h"
#include "base/mem.h"

static struct saver_object *objects;

struct saver_object *saver_object_new(enum handle_type type, struct saver_object *parent, void *handle)
{
    struct saver_object *o = mem_new(struct saver_object);
    if (o && !handle)
        handle = handle_open(type, o);
    if (!o || !handle) {
        mem_free(o);
        return NULL;
    }
    *o = (struct saver_object){ .type = type,
                                .number = ++saver_numbers.objects[type],
                                .recording = saver_numbers.recording,
                                .fresh = true,
                                .handle = handle,
                                .memory = { .fd = -1 },
                                .parent = parent,
                                .next = objects };
    objects = o;
    return o;
}

struct saver_object *saver_object_find(const void *handle, enum handle_type type)
{
    for (struct saver_object *o = objects; o; o = o->next)
        if (o->handle == handle && (o->type == type || type == HANDLE_TYPE_COUNT))
            return o;
    return NULL;
}

struct saver_object *saver_object_in_file(const struct saver_memory *m)
{
    for (struct saver_object *o = objects; o; o = o->next)
        if (o->type == HANDLE_MEM && o->recording == saver_numbers.recording && o->memory.file == m->file &&
            o->memory.device == m->device)
            return o;
    return NULL;
}

static bool is_below(const struct saver_object *o, const struct saver_object *top)
{
    while (o && o != top)
        o = o->parent;
    return o;
}

/* A log is an object of log.c, which knows its handle. */
static void end_handle(struct saver_object *o)
{
    if (o->type == HANDLE_LOG)
        log_free(o->handle);
    else
        handle_close(o->handle, o->type, 0);
    o->handle = NULL;
}

static void drop(struct saver_object *o)
{
    while (o->rooms) {
        struct saver_room *r = o->rooms;
        o->rooms = r->next;
        mem_free(r);
    }
    saver_memory_close(&o->memory);
    mem_free(o);
}

static void sweep(void)
{
    for (struct saver_object **p = &objects; *p;) {
        struct saver_object *o = *p;
        if (o->handle) {
            p = &o->next;
            continue;
        }
        *p = o->next;
        drop(o);
    }
}

/* Marks first, since an object may lie behind the one it was made from. */
void saver_object_free(struct saver_object *top)
{
    for (struct saver_object *o = objects; o; o = o->next)
        if (is_below(o, top))
            end_handle(o);
    sweep();
}

void saver_objects_settle(bool recorded)
{
    for (struct saver_object *o = objects; o; o = o->next) {
        if (o->fresh && !recorded)
            end_handle(o);
        o->fresh = false;
    }
    sweep();
}

bool saver_has_backends(void)
{
    for (struct saver_object *o = objects; o; o = o->next)
        if (o->type == HANDLE_BACKEND)
            return true;
    return false;
}

/* What the client did not free goes with the library. */
__attribute__((destructor)) static void free_objects(void)
{
    while (objects) {
        struct saver_object *o = objects;
        objects = o->next;
        drop(o);
    }
    saver_close();
}
