/* SPDX-License-Identifier: Apache-2.0 */
/* Steps whose commands need not wait for all of the step before them. Commands of neighbours are cut alike, so mostly one
 * needs what the command at its own place has made, or one beside that:
 *
 *     step 4   [ lines 0-13 ][ lines 14-27 ]       a product
 *     step 5   [ lines 0-13 ][ lines 14-27 ]       a sum: either command waits for the one above it alone
 *
 * So a worker goes on with its own part while others are still at theirs. What it needs of steps further back must be done
 * as a whole (exec_step.far); and every command of the step before is needed by somebody, so that it is done when this one
 * is, which is what all other waits rely on. */
#include "base/mem.h"
#include "exec/touch.h"

static uint32_t count(const struct exec_step *s)
{
    return s->end - s->begin;
}

static bool can_be_near(const struct exec_program *p, uint32_t s)
{
    const struct exec_step *step = &p->steps[s], *before = step - 1;
    return step->waits & 1 && count(step) > 1 && count(step) <= EXEC_OWN && count(before) > 1 && count(before) <= EXEC_OWN;
}

static void touch_commands(const struct exec_program *p, uint32_t s, struct touched *ret)
{
    for (uint32_t i = 0; i < count(&p->steps[s]); i++) {
        ret[i].macs = ret[i].n = 0;
        touch_part(&ret[i], p, &p->commands[p->steps[s].begin + i]);
    }
}

/* From the first to the last command of the step before that a command meets. */
static struct exec_need need_of(const struct touched *own, const struct touched *before, uint32_t n)
{
    struct exec_need need = { 0, 0 };
    for (uint32_t i = 0; i < n; i++)
        if (touched_meet(&before[i], own)) {
            need.begin = need.end ? need.begin : (uint8_t)i;
            need.end = (uint8_t)(i + 1);
        }
    return need;
}

static bool find_needs(struct exec_program *p, uint32_t s, const struct touched *own, const struct touched *before)
{
    const struct exec_step *step = &p->steps[s];
    uint32_t n = count(step - 1);
    uint64_t needed = 0;
    bool fewer = false;
    for (uint32_t i = 0; i < count(step); i++) {
        struct exec_need need = need_of(&own[i], before, n);
        p->needs[step->begin + i] = need;
        needed |= (UINT64_C(1) << need.end) - (UINT64_C(1) << need.begin);
        fewer |= need.end - need.begin < (int)n;
    }
    return fewer && needed == (UINT64_C(1) << n) - 1;
}

/* How far workers look from each step: to the last one that may begin before it is done. */
static void look_ahead(struct exec_program *p)
{
    for (uint32_t s = 0; s < p->g->n_steps; s++) {
        p->steps[s].ahead = p->steps[s].beside;
        for (uint32_t i = 0; p->steps[s].near && i + 1 < EXEC_WINDOW && i < s; i++) {
            struct exec_step *before = &p->steps[s - 1 - i];
            if (!(p->steps[s].far_all >> i & 1) && before->ahead < s + 1)
                before->ahead = s + 1;
        }
        p->near |= p->steps[s].near;
    }
}

void near_find(struct exec_program *p)
{
    p->near = false;
    if (!p->team)
        return;
    /* Dimensions that change move the borders between commands; without memory everybody waits for everybody. */
    struct touched *room = p->now ? NULL : mem_array(struct touched, 2 * EXEC_OWN);
    for (uint32_t s = 0; s < p->g->n_steps; s++) {
        p->steps[s].near = false;
        if (!room || !s || !can_be_near(p, s))
            continue;
        struct touched *own = room + s % 2 * EXEC_OWN, *before = room + (s + 1) % 2 * EXEC_OWN;
        if (s < 2 || !can_be_near(p, s - 1))
            touch_commands(p, s - 1, before);
        touch_commands(p, s, own);
        p->steps[s].near = find_needs(p, s, own, before);
    }
    look_ahead(p);
    mem_free(room);
}
