/* SPDX-License-Identifier: Apache-2.0 */
/* See profile_all.h. The log is made with the first execution, so that processes without one leave no file. */
#include "api/profile_all.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "QNN/QnnSdkBuildId.h"
#include "QNN/System/QnnSystemProfile.h"
#include "api/log.h"
#include "api/objects.h"
#include "base/mem.h"
#include "profile/profile.h"

enum { PATH_SIZE = 4096, MOST_RUNS = 10000, NS_PER_US = 1000 };

static char path[PATH_SIZE];
static _Atomic bool wanted;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* the two below */
static struct prof_log_writer *writer;
static unsigned runs;

/* The log is the parent's. */
static void stop_in_child(void)
{
    wanted = false;
    writer = NULL;
}

__attribute__((constructor)) static void begin(void)
{
    const char *file = getenv("OPENQNN_PROFILE");
    const char *own = backend_own_path();
    const char *slash = strrchr(own, '/');
    if (!file || !*file)
        return;

    const int n = snprintf(path, sizeof(path), "%s-%.60s-%d.log", file, slash ? slash + 1 : own, (int)getpid());
    wanted = n > 0 && n < (int)sizeof(path);
    if (!wanted)
        api_log(LOG_ERROR, "OPENQNN_PROFILE has %zu letters; at most %d: nothing is profiled", strlen(file),
                PATH_SIZE - 100);
    pthread_atfork(NULL, NULL, stop_in_child);
}

__attribute__((destructor)) static void end(void)
{
    wanted = false;
    prof_log_close(writer);
    writer = NULL;
}

bool profile_all_wanted(void)
{
    return atomic_load_explicit(&wanted, memory_order_relaxed);
}

struct prof *profile_all_begin(void)
{
    struct prof *prof = NULL;

    return profile_all_wanted() && prof_create(PROF_DETAILED, &prof) == ST_OK ? prof : NULL;
}

static enum status open_log(void)
{
    const struct prof_log_header header = { .app_name = "OPENQNN_PROFILE",
                                            .app_version = QNN_SDK_BUILD_ID,
                                            .backend_version = QNN_SDK_BUILD_ID };
    TRY(prof_log_create(path, &header, &writer));
    api_log(LOG_WARN, "OPENQNN_PROFILE: executions are profiled in %s", path);
    return ST_OK;
}

static enum status append(struct prof *prof, const struct api_graph *graph, uint64_t begin_ns, uint64_t end_ns)
{
    if (!writer)
        TRY(open_log());

    const uint32_t n = prof_count(prof);
    CLEANUP(mem_freep) struct prof_event *events = mem_array(struct prof_event, n + 1);
    RETURN_IF(!events, ST_NO_MEMORY, "no memory for %u events", n);
    for (uint32_t i = 0; i < n; i++)
        events[i] = *prof_at(prof, i);

    struct prof_log_record record = { .method = QNN_SYSTEM_PROFILE_METHOD_TYPE_BACKEND_EXECUTE,
                                      .graph = graph->index,
                                      .graph_name = graph->name,
                                      .start_us = begin_ns / NS_PER_US,
                                      .stop_us = end_ns / NS_PER_US,
                                      .n_events = n,
                                      .events = events };
    return prof_log_append(writer, &record);
}

void profile_all_end(struct prof *prof, const struct api_graph *graph, uint64_t begin_ns, uint64_t end_ns)
{
    pthread_mutex_lock(&lock);
    const enum status st = wanted ? append(prof, graph, begin_ns, end_ns) : ST_OK;
    if (st != ST_OK)
        api_log(LOG_ERROR, "OPENQNN_PROFILE: %s; nothing more is profiled", status_text());
    if (++runs == MOST_RUNS)
        api_log(LOG_WARN, "OPENQNN_PROFILE: %d executions are in the log; nothing more is profiled", MOST_RUNS);
    if (st != ST_OK || runs >= MOST_RUNS)
        wanted = false;
    pthread_mutex_unlock(&lock);
    prof_free(prof);
}
