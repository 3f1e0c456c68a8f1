/* SPDX-License-Identifier: Apache-2.0 */
/* What api/ remembers per thread (private to api/). */
#ifndef API_THREAD_WORDS_H
#define API_THREAD_WORDS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/per_thread.h"

struct thread_words {
    struct per_thread_link link;
    void *log;          /* handle of the log that messages go to */
    bool is_quiet;      /* without a log, errors are not printed */
    bool is_logging;    /* inside of the client's log callback */
    bool is_queue;      /* the thread serves the queue of a context */
    int callback;       /* enum callback_kind: the strictest that this thread is in */
    uint32_t last_code; /* the last error code that this thread got */
};

/* Never NULL. When there is no memory for a thread's words it has some of a static reserve until there is. */
struct thread_words *thread_words(void);

#endif
