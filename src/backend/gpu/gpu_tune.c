/* SPDX-License-Identifier: Apache-2.0 */
/* The search for fast ways, and what is remembered of it. */
#include "backend/gpu/gpu_tune.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "backend/backend.h"
#include "backend/gpu/gpu_registry.h"
#include "base/mem.h"

/* What an entry of the cache holds. */
struct found {
    struct gpu_way way;
    uint64_t ns;
};

static const uint32_t group_sizes[] = { 8, 16, 32, 64, 128, 256, 512, 1024 };
enum { N_SIZES = sizeof group_sizes / sizeof group_sizes[0], MAX_CHOICES = 16 };

/* One file per device, named after it. */
void gpu_tuner_init(struct gpu_tuner *t, const struct gpu_home *h, const char *folder, bool search, bool fresh)
{
    *t = (struct gpu_tuner){ .search = search, .cache = { .kind = GPU_CACHE_TUNING, .maker = gpu_program_maker() } };
    if (!folder[0])
        return;
    int n = snprintf(t->path, sizeof t->path, "%s/gpuperformancecache.", folder);
    for (const char *p = h->name; *p && n + 1 < (int)sizeof t->path; p++)
        t->path[n++] = isalnum((unsigned char)*p) ? *p : '_';
    if (fresh)
        unlink(t->path);
    if (gpu_cache_load(&t->cache, t->path) == ST_OK)
        return;
    backend_log(BACKEND_WARN, "GPU performance cache: %s; it is ignored and written again", status_text());
    t->cache.changed = true;
}

void gpu_tuner_finish(struct gpu_tuner *t)
{
    if (t->path[0] && t->cache.changed) {
        gpu_cache_load(&t->cache, t->path); /* what others added meanwhile; a damaged one is replaced */
        if (gpu_cache_save(&t->cache, t->path) != ST_OK)
            backend_log(BACKEND_WARN, "GPU performance cache: %s; results of tuning are not kept", status_text());
    }
    gpu_cache_finish(&t->cache);
}

/* Kernel, type, parameters and device: all that the time depends on. */
static struct gpu_key key_of(const struct gpu_home *h, const struct gpu_launch *l)
{
    struct gpu_key k = GPU_KEY_INIT;
    const uint64_t numbers[] = { (uint64_t)l->kernel, (uint64_t)l->storage, l->items };
    gpu_key_add(&k, numbers, sizeof numbers);
    gpu_key_add(&k, &l->args, l->args_bytes);
    gpu_home_name(h, &k);
    return k;
}

/* Groups of any size compute the same where work items do not know their group. Kernels that do say so in their text. */
static bool any_group(const struct gpu_launch *bound)
{
    if (bound->lanes || bound->kernel >= GPU_KERNEL_COUNT) /* products have their ways in gpu_fit */
        return false;
    const char *text = gpu_texts[gpu_kernel_source(bound->kernel)];
    return !strstr(text, "get_local_id") && !strstr(text, "get_group_id") && !strstr(text, "barrier");
}

static bool take(const struct gpu_launch *l, const struct gpu_traits *traits, struct gpu_way way, struct gpu_launch *ret)
{
    if (!gpu_fit(l, traits, way.choice, ret))
        return false;
    if (!way.lanes)
        return true;
    if (ret->kernel != l->kernel || ret->lanes != GPU_LANES || way.lanes > traits->max_lanes || !any_group(l))
        return false; /* what gpu_fit chose has a group of its own */
    ret->lanes = way.lanes;
    return true;
}

bool gpu_tuned(const struct gpu_tuner *t, const struct gpu_home *h, const struct gpu_launch *l,
               const struct gpu_traits *traits, struct gpu_launch *ret)
{
    const struct gpu_entry *e = NULL;
    struct found f;
    if (t->cache.entries.n) {
        struct gpu_key key = key_of(h, l);
        e = gpu_cache_find(&t->cache, &key);
    }
    if (e && e->bytes == sizeof f) {
        memcpy(&f, e->data, sizeof f);
        if (f.way.choice < MAX_CHOICES && take(l, traits, f.way, ret))
            return true;
    }
    gpu_fit(l, traits, 0, ret);
    return false;
}

struct search {
    const struct gpu_launch *l;
    const struct gpu_traits *traits;
    gpu_time_fn *time;
    void *arg;
    struct found best; /* ns 0: none yet */
    uint32_t lanes;    /* of the best */
    uint64_t first;    /* of gpu_fit's first choice */
};

static enum status try_way(struct search *s, struct gpu_way way)
{
    struct gpu_launch fit;
    uint64_t ns = 0;
    if (!take(s->l, s->traits, way, &fit))
        return ST_OK;
    enum status st = s->time(s->arg, &fit, &ns);
    if (st == ST_COMMUNICATION)
        return st;
    if (st == ST_OK && !s->first)
        s->first = ns;
    if (st != ST_OK || (s->best.ns && ns >= s->best.ns))
        return ST_OK;
    s->best = (struct found){ way, ns ? ns : 1 };
    s->lanes = fit.lanes;
    return ST_OK;
}

enum status gpu_tune(struct gpu_tuner *t, const struct gpu_home *h, const struct gpu_launch *l,
                     const struct gpu_traits *traits, gpu_time_fn *time, void *arg)
{
    struct search s = { .l = l, .traits = traits, .time = time, .arg = arg };
    struct gpu_launch fit;
    for (uint32_t c = 0; c < MAX_CHOICES && gpu_fit(l, traits, c, &fit); c++)
        TRY(try_way(&s, (struct gpu_way){ .choice = c }));
    for (uint32_t i = 0; i < N_SIZES && any_group(l); i++)
        if (group_sizes[i] != GPU_LANES)
            TRY(try_way(&s, (struct gpu_way){ .lanes = group_sizes[i] }));
    if (!s.best.ns) /* the first choice will fail again, and explain itself */
        return ST_OK;
    backend_log(BACKEND_INFO, "GPU tuning: kernel %s: choice %u with %u work items in a group, %.1f us (%.1f us before)",
                gpu_kernel_name(l->kernel), s.best.way.choice, s.lanes, (double)s.best.ns / 1e3, (double)s.first / 1e3);
    struct gpu_key key = key_of(h, l);
    return gpu_cache_put(&t->cache, &key, &s.best, sizeof s.best);
}
