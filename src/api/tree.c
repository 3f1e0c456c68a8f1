/* SPDX-License-Identifier: Apache-2.0 */
/* Parents and children: lists of handles under one lock, held only for list operations. */
#include "api/objects.h"
#include "base/forks.h"

static pthread_mutex_t tree_lock = PTHREAD_MUTEX_INITIALIZER;
FORKS_HOLD(tree_lock)

enum status children_add(struct children *c, void *handle)
{
    LOCKED(&tree_lock);
    void **slot = vec_push(&c->handles);
    RETURN_IF(!slot, ST_NO_MEMORY, "no memory for another object");
    *slot = handle;
    return ST_OK;
}

void children_remove(struct children *c, void *handle)
{
    LOCKED(&tree_lock);
    for (size_t i = 0; i < c->handles.n; i++)
        if (c->handles.at[i] == handle) {
            c->handles.at[i] = c->handles.at[--c->handles.n];
            return;
        }
}

void *children_take(struct children *c)
{
    LOCKED(&tree_lock);
    return c->handles.n ? c->handles.at[--c->handles.n] : NULL;
}

bool children_any(struct children *c, bool (*test)(void *handle, const void *arg), const void *arg)
{
    LOCKED(&tree_lock);
    for (size_t i = 0; i < c->handles.n; i++)
        if (test(c->handles.at[i], arg))
            return true;
    return false;
}

void children_finish(struct children *c)
{
    vec_finish(&c->handles);
}

void pin_end(struct pin *p)
{
    handle_put(p->handle);
}
