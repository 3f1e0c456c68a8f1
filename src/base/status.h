/* SPDX-License-Identifier: Apache-2.0 */
/* Status codes and the sentence that explains a failure.
 *
 * Functions below api/ return `enum status`. Whoever detects a failure also says, once, what was refused, the value seen,
 * the value allowed and what to do; the sentence is kept per thread until api/ hands it to the log and to
 * QnnError_getVerboseMessage. Callers further up only pass the status on.
 *
 *     RETURN_IF(rank > MAX_RANK, ST_UNSUPPORTED_TENSOR, "tensor \"%s\": rank %u; at most %u is supported",
 *               name, rank, MAX_RANK);
 *     TRY(graph_check(g));
 */
#ifndef BASE_STATUS_H
#define BASE_STATUS_H

#include <stdbool.h>
#include <stddef.h>

/* name, default sentence when the detecting code gave none */
#define STATUS_LIST(X)                                                                     \
    X(ST_OK, "success")                                                                    \
    X(ST_NO_MEMORY, "out of memory")                                                       \
    X(ST_INVALID_ARG, "an argument is not valid")                                          \
    X(ST_INVALID_HANDLE, "the handle is not valid")                                        \
    X(ST_INVALID_CONFIG, "a configuration entry is not valid")                             \
    X(ST_NOT_SUPPORTED, "not supported by this backend")                                   \
    X(ST_NOT_PERMITTED, "the operation is not permitted on this object")                   \
    X(ST_STATE, "the object is not in a state that allows this call")                      \
    X(ST_NOT_FINALIZED, "the graph is not finalized")                                      \
    X(ST_FINALIZED, "the graph is finalized already")                                      \
    X(ST_EXISTS, "an object of that name exists already")                                  \
    X(ST_NOT_FOUND, "no object of that name exists")                                       \
    X(ST_INVALID_NAME, "the name is not valid")                                            \
    X(ST_INVALID_TENSOR, "a tensor is not valid")                                          \
    X(ST_UNSUPPORTED_TENSOR, "a tensor property is not supported")                         \
    X(ST_INVALID_OP, "an operator configuration is not valid")                             \
    X(ST_UNKNOWN_PACKAGE, "no such operator package is registered")                        \
    X(ST_PACKAGE, "the operator package cannot be used")                                   \
    X(ST_PACKAGE_VERSION, "the operator package has an unknown interface version")         \
    X(ST_PACKAGE_OP, "an operator of a package failed")                                    \
    X(ST_UNCONNECTED, "a node input has no producer")                                      \
    X(ST_EMPTY_GRAPH, "the graph has no nodes")                                            \
    X(ST_PREPARE_FAILED, "the graph could not be prepared")                                \
    X(ST_BAD_BINARY, "the context binary is malformed")                                    \
    X(ST_BINARY_VERSION, "the context binary has an unknown format version")               \
    X(ST_BINARY_CONFIG, "the context binary was built for another target")                 \
    X(ST_SUBOPTIMAL, "the context binary would run, but not at its best")                  \
    X(ST_BAD_TEXT, "the text could not be parsed")                                         \
    X(ST_ABORTED, "the call was aborted by its signal")                                    \
    X(ST_TIMED_OUT, "the call ran past the time of its signal")                            \
    X(ST_PAUSED, "the execution was paused and can be continued")                          \
    X(ST_IN_USE, "the object is in use")                                                   \
    X(ST_SIGNAL_IN_USE, "the signal is attached to another call")                          \
    X(ST_PROFILE_IN_USE, "the profile is in use by another call")                          \
    X(ST_SET_PROFILE, "the profile cannot be used for this call")                          \
    X(ST_SIGNAL_TYPE, "the signal is of another type")                                     \
    X(ST_SUBGRAPH, "a subgraph cannot be finalized or executed by itself")                 \
    X(ST_CONTEXT_GONE, "the context was freed before the call could run")                  \
    X(ST_PROVIDER, "the library has no such interface provider")                           \
    X(ST_SHAPE, "the shape is not valid")                                                  \
    X(ST_MEM_TYPE, "this kind of memory is not supported")                                 \
    X(ST_ASSOCIATED, "contexts still use the device")                                      \
    X(ST_IDLE, "the signal is not attached to a running call")                             \
    X(ST_QUEUE_FULL, "the queue of asynchronous executions is full")                       \
    X(ST_DYNAMIC_SHAPE, "a dynamic dimension is out of range")                             \
    X(ST_ENDED_EARLY, "the graph ended early; only some outputs are valid")                \
    X(ST_DISABLED, "the graph was not enabled when the context was created")               \
    X(ST_MAPPING, "the memory could not be mapped")                                        \
    X(ST_IO, "a file could not be read or written")                                        \
    X(ST_SYSTEM, "the operating system refused a request")                                 \
    X(ST_COMMUNICATION, "the session process is gone")                                     \
    X(ST_COMMUNICATION_FATAL, "the session process is gone and no other could be started") \
    X(ST_LOADING, "a library that belongs to the backend could not be used")               \
    X(ST_INTERNAL, "internal error")

enum status {
#define STATUS_ENUM(name, text) name,
    STATUS_LIST(STATUS_ENUM)
#undef STATUS_ENUM
        ST_COUNT
};

/* Remember the explanation of a failure for this thread and return `st`. Texts of STATUS_TEXT_MAX bytes and more are cut
 * and end in "...". Arguments may point into status_text(). Never fails: without memory the default sentence is kept. */
enum { STATUS_TEXT_MAX = 1024 };
void status_note(enum status st, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
#define status_fail(st, ...)                          \
    ({                                                \
        enum status failed_ = (st);                   \
        status_note(failed_, __VA_ARGS__);            \
        failed_; /* the compiler sees which it is */  \
    })

/* Put `context: ` in front of the explanation kept for this thread; returns `st`. */
enum status status_prefix(enum status st, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The explanation of the last failure on this thread, "" when there is none, never NULL. Valid until the next failure. */
const char *status_text(void);
void status_clear(void);

/* "ST_NO_MEMORY" and its default sentence. */
const char *status_name(enum status st);
const char *status_default_text(enum status st);

#define RETURN_IF(cond, st, ...)             \
    do {                                     \
        if (__builtin_expect(!!(cond), 0))   \
            return status_fail((st), __VA_ARGS__); \
    } while (0)

#define TRY(expr)                                      \
    do {                                               \
        enum status try_status_ = (expr);              \
        if (__builtin_expect(try_status_ != ST_OK, 0)) \
            return try_status_;                        \
    } while (0)

/* CLEANUP(fn) T *p: fn(&p) runs when p leaves scope. TAKE(p): move out of such a variable. */
#define CLEANUP(fn) __attribute__((cleanup(fn)))
#define TAKE(p)                          \
    ({                                   \
        __typeof__(p) take_value_ = (p); \
        (p) = NULL;                      \
        take_value_;                     \
    })

#endif
