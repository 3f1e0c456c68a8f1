/* SPDX-License-Identifier: Apache-2.0 */
/* Client handles are ids, not pointers: a stale, foreign, NULL or invented handle is an error, never a crash.
 *
 *   63      56 55   48 47          24 23          0
 *   | library |  type  |  generation  |   index + 1 |
 *
 * `library` is drawn per loaded library, so that a handle of libQnnHtp.so is refused by libQnnCpu.so; `generation` grows
 * with each reuse of a slot. handle_get pins the object: handle_close makes the id invalid at once, then waits until no
 * other thread holds a pin, so whoever frees an object is alone with it.
 */
#ifndef BASE_HANDLE_H
#define BASE_HANDLE_H

#include <stdint.h>

/* The kinds of object a client can hold. Values are part of the id, 0 is never used. */
enum handle_type {
    HANDLE_LOG = 1,
    HANDLE_BACKEND,
    HANDLE_DEVICE,
    HANDLE_CONTEXT,
    HANDLE_GRAPH,
    HANDLE_MEM,
    HANDLE_PROFILE,
    HANDLE_SIGNAL,
    HANDLE_SYSTEM_CONTEXT,
    HANDLE_SYSTEM_LOG,
    HANDLE_SYSTEM_DLC,
    HANDLE_SYSTEM_PROFILE,
    HANDLE_SYSTEM_DLC_RECORD,
    HANDLE_SYSTEM_DLC_INFO,
    HANDLE_TYPE_COUNT
};

void *handle_open(enum handle_type type, void *object);      /* the new id; NULL when out of memory or object is NULL */
void *handle_get(const void *handle, enum handle_type type); /* the object, pinned; NULL when the handle is not valid */
void handle_put(const void *handle);                         /* ends one pin; also after another thread began to close */

/* Invalidate the id; waits for pins of other threads. The caller must hold exactly `own_pins` pins itself, which end here
 * whatever the result. Returns the object, or NULL when the handle is not valid (already closed, also by another thread
 * at the same moment: exactly one closer gets the object). */
void *handle_close(void *handle, enum handle_type type, unsigned own_pins);

/* What is wrong with a handle, in words for an error message: "NULL", "a graph handle", "already freed", "not a handle of
 * this library"; "valid" when nothing is. Static text. */
const char *handle_describe(const void *handle, enum handle_type wanted);
const char *handle_type_name(enum handle_type type);

unsigned handle_live_count(void); /* for leak tests */

#endif
