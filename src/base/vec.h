/* SPDX-License-Identifier: Apache-2.0 */
/* Growing array of any element type:
 *
 *     VEC(struct ir_node) nodes;             a struct { struct ir_node *at; size_t n, cap; }
 *     struct ir_node *p = vec_push(&nodes);  zeroed slot at the end, or NULL when out of memory
 *     vec_finish(&nodes);
 *     vec_move(&nodes, &others);             what others has, in the place of what was there; others is empty then
 */
#ifndef BASE_VEC_H
#define BASE_VEC_H

#include <stdbool.h>
#include <stddef.h>

#include "base/mem.h" /* vec_finish */

#define VEC(T)         \
    struct {           \
        T *at;         \
        size_t n, cap; \
    }

/* Make room for `want` elements of `size` bytes behind *at; false when out of memory, the vector is unchanged then. */
bool vec_reserve_raw(void **at, size_t *cap, size_t want, size_t size);
void *vec_push_raw(void **at, size_t *n, size_t *cap, size_t size);

#define vec_reserve(v, want) vec_reserve_raw((void **)&(v)->at, &(v)->cap, (want), sizeof(*(v)->at))
/* A variable gives the slot its type: analysers do not parse a cast to __typeof__ in the middle of an expression. */
#define vec_push(v)                                                                                            \
    ({                                                                                                         \
        __typeof__((v)->at) vec_slot_ = vec_push_raw((void **)&(v)->at, &(v)->n, &(v)->cap, sizeof(*(v)->at)); \
        vec_slot_;                                                                                             \
    })
#define vec_finish(v)          \
    do {                       \
        mem_free((v)->at);     \
        (v)->at = NULL;        \
        (v)->n = (v)->cap = 0; \
    } while (0)
#define vec_move(to, from)                \
    do {                                  \
        mem_free((to)->at);               \
        (to)->at = (from)->at;            \
        (to)->n = (from)->n;              \
        (to)->cap = (from)->cap;          \
        (from)->at = NULL;                \
        (from)->n = (from)->cap = 0;      \
    } while (0)

#endif
