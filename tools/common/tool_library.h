/* SPDX-License-Identifier: Apache-2.0 */
/* Shared libraries: opening with reasons that help, and the two kinds of QNN libraries behind their interface tables. */
#ifndef TOOLS_COMMON_TOOL_LIBRARY_H
#define TOOLS_COMMON_TOOL_LIBRARY_H

#include "QNN/QnnInterface.h"
#include "QNN/System/QnnSystemInterface.h"
#include "base/status.h"

/* Opens a library by path or by name. A name without "/" is also looked for in the current folder, next to the program and
 * in the SDK's lib folder. What fails says why: no such file and where it was looked for, wrong machine, not a library. */
enum status library_open(const char *name, void **ret);
/* The one in the folder of the library `beside`, where SDK and applications put them; else by name. `beside` may be a bare
 * name or NULL. */
enum status library_open_beside(const char *name, const char *beside, void **ret);
enum status library_symbol(void *library, const char *library_name, const char *symbol, void **ret);
void library_close(void *library); /* NULL allowed */

/* A backend: its library, its table, who it is. */
struct library_backend {
    void *library;
    const char *path;
    uint32_t id;
    const char *provider;
    Qnn_ApiVersion_t version;
    QNN_INTERFACE_VER_TYPE api;
};
enum status library_open_backend(const char *path, struct library_backend *ret);

struct library_system {
    void *library;
    Qnn_Version_t version;
    QNN_SYSTEM_INTERFACE_VER_TYPE api;
};
/* `path` NULL: libQnnSystem.so, next to `beside` first when given. */
enum status library_open_system(const char *path, const char *beside, struct library_system *ret);

/* Keeps "what: QNN_GRAPH_ERROR_INVALID_TENSOR 6004 0x1774: explanation of the library" as this thread's failure.
 * `api` may be NULL: without the explanation. */
enum status library_fail(const QNN_INTERFACE_VER_TYPE *api, Qnn_ErrorHandle_t error, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

#endif
