/* SPDX-License-Identifier: Apache-2.0 */
/* An opened DLC (private to api/). */
#ifndef API_SYSTEM_DLC_H
#define API_SYSTEM_DLC_H

#include "api/dlc_info.h"
#include "api/objects.h"

struct convert_dlc;

struct system_dlc {
    void *log;
    pthread_mutex_t lock;
    struct convert_dlc *dlc;
    struct children records;
    struct arena mappings_arena;
    Qnn_OpMapping_t *mappings; /* NULL: nobody has asked */
    struct dlc_facts facts;
    void *image; /* NULL: nobody has asked */
    size_t image_size;
};

#define DLC_FROM_HANDLE(d, handle)                                            \
    API_OBJECT(struct system_dlc, d, handle, HANDLE_SYSTEM_DLC, COMP_SYSTEM); \
    log_enter((d)->log);                                                      \
    LOCKED(&(d)->lock)

/* Describes what is in the container, unless that was done; its lock is held. */
enum status dlc_describe(struct system_dlc *d);

#endif
