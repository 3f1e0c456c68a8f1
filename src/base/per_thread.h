/* SPDX-License-Identifier: Apache-2.0 */
/* A block of memory for each thread that asks for one.
 *
 * Why not _Thread_local: in a library opened by dlopen, the C library allocates such variables on first use and ends the
 * process when that fails. With tls_model("initial-exec") they need room in the static block of every thread, which
 * runs out after some dozen rounds of dlopen and dlclose. A block here hangs on a pthread key; a failed allocation is an
 * answer, and unloading the library frees the blocks of threads that live on. */
#ifndef BASE_PER_THREAD_H
#define BASE_PER_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

/* The first member of a block. */
struct per_thread_link {
    struct per_thread_link *prev;
    struct per_thread_link *next;
    bool is_static; /* not allocated: in no list, never freed */
};

struct per_thread {
    size_t block_size;
    pthread_key_t key;
    bool has_key;
    pthread_mutex_t lock;        /* for `all` */
    struct per_thread_link *all; /* the allocated blocks of all threads */
};

#define PER_THREAD_INIT(size) { .block_size = (size), .lock = PTHREAD_MUTEX_INITIALIZER }

/* In the constructor and the destructor of the library; `free_block` is a function of one line that calls
 * per_thread_free_block, because a key's destructor is not told which key it is for. */
void per_thread_open(struct per_thread *slot, void (*free_block)(void *block));
void per_thread_close(struct per_thread *slot);
void per_thread_free_block(struct per_thread *slot, void *block);

/* The block of this thread, or NULL when it has none. */
void *per_thread_find(const struct per_thread *slot);

/* The same; a thread that has no block, or a static one, gets a new block of zeros. NULL: there is no memory. */
void *per_thread_get(struct per_thread *slot);

/* Makes a static block, or none (NULL), the block of this thread, which has no allocated one. */
void per_thread_set_static(struct per_thread *slot, void *block);

#endif
