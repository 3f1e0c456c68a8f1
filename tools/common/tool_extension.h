/* SPDX-License-Identifier: Apache-2.0 */
/* Backend extensions: libraries such as libQnnLpaiNetRunExtensions.so that know the settings of one backend, so that the
 * programs need not.
 *
 * A program opens the library named in its configuration file (backend_extensions/shared_library_path), takes the table
 * behind EXTENSION_SYMBOL and asks it at fixed moments:
 *
 *     open               reads backend_extensions/config_file_path; the backend's table is known, nothing is created
 *     backend_configs    for backendCreate
 *     backend_created
 *     device_configs     for deviceCreate
 *     device_created
 *     alloc              memory for the context binary, when there is one
 *     context_configs    for contextCreate and contextCreateFromBinary, added to those of the program
 *     context_created    the context was made, from a binary or without
 *     graph_configs      for graphCreate, by the name of the graph, added to those of the program
 *     graph_loaded       the graph was finalized or retrieved, and will be executed: last settings, pools
 *     alloc              memory for inputs and outputs
 *     before_execute     once per graph, before its first execution
 *     after_execute      once per graph, after its last one, also when one failed
 *     context_freed      nothing uses the memory of graph_loaded any more
 *     close
 *     stage              a stage of the work begins or ends, where graphs are executed: INIT from before the context is made
 *                        until its graphs can be executed, INFERENCE around each execution, DE-INIT around freeing the
 *                        context; several executions may be in progress at once
 *
 * Every member may be NULL: nothing to do at that moment. Functions that return int return 0, or not 0 after a failure that
 * explain() puts into one sentence. Lists are NULL-terminated; they, and all they point at, stay valid until close. All
 * calls come from one thread, those of stage from any. */
#ifndef TOOLS_COMMON_TOOL_EXTENSION_H
#define TOOLS_COMMON_TOOL_EXTENSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "QNN/QnnInterface.h"

#define EXTENSION_SYMBOL "openqnn_extension"
enum { EXTENSION_VERSION = 4 }; /* changes with every change of this file's structs */

/* What the program tells; valid until close. */
struct extension_host {
    const char *program;                                   /* "qnn-net-run" */
    const char *config_path;                               /* the backend's JSON file, NULL: defaults */
    const char *direct_mode;                               /* --direct_mode, NULL: not given */
    const char *perf_profile;                              /* --perf_profile, NULL: not given */
    bool executes;                                         /* graphs will be executed, not only prepared */
    const QNN_INTERFACE_VER_TYPE *api;                     /* the backend's table */
    void (*log)(QnnLog_Level_t level, const char *text);   /* one line */
};

enum extension_use { EXTENSION_MODEL, EXTENSION_IO };
enum extension_stage { EXTENSION_INIT, EXTENSION_INFERENCE, EXTENSION_DEINIT };

struct extension {
    uint32_t version;    /* EXTENSION_VERSION */
    uint32_t backend_id; /* of the backend it is for */
    const char *name;    /* "LPAI" */
    int (*open)(const struct extension_host *host, void **ret); /* required */
    void (*close)(void *self);                                  /* required */
    const char *(*explain)(void);                               /* required: the last failure on this thread */
    int (*backend_configs)(void *self, const QnnBackend_Config_t ***ret);
    int (*backend_created)(void *self, Qnn_BackendHandle_t backend);
    int (*device_configs)(void *self, const QnnDevice_Config_t ***ret);
    int (*device_created)(void *self, Qnn_DeviceHandle_t device); /* device NULL: the backend has none */
    int (*context_configs)(void *self, const QnnContext_Config_t ***ret);
    int (*context_created)(void *self, Qnn_ContextHandle_t context);
    int (*graph_configs)(void *self, const char *graph, const QnnGraph_Config_t ***ret);
    int (*graph_loaded)(void *self, const char *name, Qnn_GraphHandle_t graph,
                        bool *finalize); /* *finalize: call graphFinalize (again) */
    int (*before_execute)(void *self, Qnn_GraphHandle_t graph);
    int (*after_execute)(void *self, Qnn_GraphHandle_t graph);
    void (*context_freed)(void *self);
    int (*stage)(void *self, enum extension_stage stage, bool begins);
    /* Memory of the kind and alignment that the backend wants. NULL: the program's own. */
    int (*alloc)(void *self, enum extension_use use, size_t bytes, void **ret);
    void (*free)(void *self, void *memory);
    /* Whether the configuration asks for inputs and outputs in shared buffers, which the program then allocates itself. */
    bool (*shared_io)(void *self);
    /* Level that the configuration asks for when the command line says nothing: NULL, "basic" or "detailed". */
    const char *(*profiling_level)(void *self);
};

#endif
