/* SPDX-License-Identifier: Apache-2.0 */
/* One team for all tests of a program, made and freed with cmocka's group. */
#ifndef TESTS_PASSES_ONE_TEAM_H
#define TESTS_PASSES_ONE_TEAM_H

#include "base/thread.h"

#define ONE_TEAM(threads)                                             \
    static struct team *team;                                         \
    static int make_team(void **state)                                \
    {                                                                 \
        (void)state;                                                  \
        return team_create(threads, &team) == ST_OK ? 0 : -1;         \
    }                                                                 \
    static int free_team(void **state)                                \
    {                                                                 \
        (void)state;                                                  \
        team_free(team);                                              \
        return 0;                                                     \
    }                                                                 \
    struct team

#endif
