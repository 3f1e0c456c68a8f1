/* SPDX-License-Identifier: Apache-2.0 */
/* Tuning mode: for every kernel with its parameters, the ways to run it on this device are tried once and the fastest is
 * kept, in the performance cache of the device. Ways compute the same; products may sum in another order. */
#ifndef BACKEND_GPU_GPU_TUNE_H
#define BACKEND_GPU_GPU_TUNE_H

#include "backend/gpu/gpu_fit.h"
#include "backend/gpu/gpu_world.h"

struct gpu_tuner {
    bool search;         /* tuning mode; else only what the cache knows is used */
    struct gpu_cache cache;
    char path[1280];     /* "": results are kept as long as the context */
};

/* One way: a choice of gpu_fit, and work items per group. */
struct gpu_way {
    uint32_t choice, lanes; /* lanes 0: as gpu_fit says */
};

/* `folder` "": none. `fresh`: what the folder has for this device is deleted. */
void gpu_tuner_init(struct gpu_tuner *t, const struct gpu_home *h, const char *folder, bool search, bool fresh);
void gpu_tuner_finish(struct gpu_tuner *t); /* writes the cache if there is something new */

/* The launch as it shall run here: the best way known. false: none is, and this is gpu_fit's first choice. */
bool gpu_tuned(const struct gpu_tuner *t, const struct gpu_home *h, const struct gpu_launch *l,
               const struct gpu_traits *traits, struct gpu_launch *ret);

/* Searches: `time` runs a launch and says what it takes; ST_COMMUNICATION ends the search, other failures rule a way out. */
typedef enum status gpu_time_fn(void *arg, const struct gpu_launch *l, uint64_t *ns);
enum status gpu_tune(struct gpu_tuner *t, const struct gpu_home *h, const struct gpu_launch *l,
                     const struct gpu_traits *traits, gpu_time_fn *time, void *arg);

#endif
