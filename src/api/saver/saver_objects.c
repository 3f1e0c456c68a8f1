/* SPDX-License-Identifier: Apache-2.0 */
/* Objects of the client. They only have a number: under it the program has the handle of the backend it runs on. All of
 * this is called with the recorder's lock held. */
#include "api/saver/saver.h"
#include "base/mem.h"

static struct saver_object *objects;

struct saver_object *saver_object_new(enum handle_type type, struct saver_object *parent)
{
    struct saver_object *o = mem_new(struct saver_object);
    void *handle = o ? handle_open(type, o) : NULL;
    if (!handle) {
        mem_free(o);
        return NULL;
    }
    *o = (struct saver_object){ .type = type,
                                .number = ++saver_numbers.objects[type],
                                .recording = saver_numbers.recording,
                                .handle = handle,
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

static bool is_below(const struct saver_object *o, const struct saver_object *top)
{
    while (o && o != top)
        o = o->parent;
    return o;
}

/* Marks first, since an object may lie behind the one it was made from. */
void saver_object_free(struct saver_object *top)
{
    for (struct saver_object *o = objects; o; o = o->next)
        if (is_below(o, top)) {
            handle_close(o->handle, o->type, 0);
            o->handle = NULL;
        }
    for (struct saver_object **p = &objects; *p;) {
        struct saver_object *o = *p;
        if (o->handle) {
            p = &o->next;
            continue;
        }
        *p = o->next;
        mem_free(o);
    }
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
        mem_free(o);
    }
    saver_close();
}
