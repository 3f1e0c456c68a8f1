/* SPDX-License-Identifier: Apache-2.0 */
#include "stage.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void stage_check(enum status st, const char *what, int line)
{
    if (st != ST_OK)
        fail_msg("line %d: %s: %s: %s", line, what, status_name(st), kit_link->explain());
}

struct kit_client stage;
struct actor actors[ACTORS];
const struct rpc_pool own = { 0 };

/* Messages are counted from here: a text that was not there before, by a fault that never comes. */
void open_stage(const char *faults)
{
    static unsigned stages;
    char text[512];
    snprintf(text, sizeof text, "%sdelay@%u:0", faults, 1000000 + stages++);
    setenv("OPENQNN_FAULT", text, 1);
    OK(kit_open(&stage));
}

struct actor *enter(uint32_t i, uint32_t priority, struct rpc_pool scratch)
{
    struct actor *a = &actors[i];
    struct rpc_load l = { .scratch = scratch };
    void *memory;
    *a = (struct actor){ .seed = 10 + i };
    int fd = kit_window_binary(WINDOW, &l.bytes);
    OK(kit_link->map(stage.s, fd, 0, l.bytes, false, &l.map));
    close(fd);
    OK(kit_link->load(stage.s, &l));
    OK(rpc_alloc(KIT_IO * KIT_BYTES, &memory));
    a->c = (struct kit_client){ .s = stage.s, .program = l.program, .memory = memory };
    OK(kit_link->map(stage.s, rpc_fd(memory), 0, KIT_IO * KIT_BYTES, true, &a->c.buffer));
    kit_io(&a->c);
    a->run =
        (struct rpc_run){ .program = l.program, .priority = priority, .io = a->c.io, .n_io = KIT_IO, .cancel = &a->cancel };
    kit_fill(&a->c, a->seed);
    return a;
}

void close_stage(void)
{
    kit_close(&stage);
    for (uint32_t i = 0; i < ACTORS; i++)
        if (actors[i].c.memory)
            OK(rpc_free(actors[i].c.memory));
    memset(actors, 0, sizeof actors);
    unsetenv("OPENQNN_FAULT");
}

static void *act(void *arg)
{
    struct actor *a = arg;
    a->st = kit_link->run(a->c.s, &a->run);
    return NULL;
}

struct rpc_call *call_of(const struct actor *a)
{
    struct rpc_session *s = stage.s;
    pthread_mutex_lock(&s->lock);
    const struct link_program *p = link_program_find(s, a->c.program);
    pthread_mutex_unlock(&s->lock);
    assert_non_null(p);
    return p->area;
}

void begin(struct actor *a, enum rpc_call_state state)
{
    struct rpc_call *call = call_of(a);
    assert_int_equal(pthread_create(&a->thread, NULL, act, a), 0);
    while (atomic_load(&call->state) < (uint32_t)state)
        sched_yield();
}

void share_results(struct actor *a, const struct actor *with)
{
    a->writes_to = with;
    a->c.io[1].map = a->c.io[2].map = with->c.buffer;
}

void end(struct actor *a)
{
    pthread_join(a->thread, NULL);
    OK(a->st);
    if (a->writes_to)
        memcpy(a->c.memory + KIT_N, a->writes_to->c.memory + KIT_N, 2 * KIT_BYTES);
    assert_true(kit_right(&a->c, a->seed));
}

void run(struct actor *a)
{
    OK(kit_link->run(a->c.s, &a->run));
    assert_true(kit_right(&a->c, a->seed));
}

const char *yield_at(uint32_t n_actors, uint32_t first, uint32_t n, uint32_t step)
{
    static char text[256];
    int at = 0;
    for (uint32_t i = 0; i < n; i++)
        at += snprintf(text + at, sizeof text - (size_t)at, "yield@%u:%u,", OPENING + LOADING * n_actors + first + i, step);
    return text;
}
