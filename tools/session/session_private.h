/* SPDX-License-Identifier: Apache-2.0 */
/* Between the files of this folder. */
#ifndef TOOLS_SESSION_SESSION_PRIVATE_H
#define TOOLS_SESSION_SESSION_PRIVATE_H

#include "session/session.h"

/* Adds the graphs of every model library and DLC to the session; the context exists. */
enum status compose_models(struct session *s);

/* The settings of `config` as the API wants them, in the session's arena. */
enum status config_for_context(struct session *s);
enum status config_for_graphs(struct session *s, const GraphConfigInfo_t ***ret, uint32_t *n);
const struct session_graph_config *config_of_graph(const struct session *s, const char *name);

/* session_extension.c. Without an extension library all of them succeed and give nothing. */
enum status extension_open(struct session *s); /* the backend's library is open, nothing is created */
void extension_close(struct session *s);
/* With the program's own; NULL: none. */
enum status extension_backend_configs(struct session *s, const QnnBackend_Config_t ***ret);
enum status extension_backend_created(struct session *s);
enum status extension_device_configs(struct session *s, const QnnDevice_Config_t ***ret);
enum status extension_device_created(struct session *s);
enum status extension_context_created(struct session *s);
enum status extension_context_configs(struct session *s); /* joins them with s->context_configs */
/* `own` and those of the extension in one list that the caller frees with mem_free. */
enum status extension_graph_configs(struct session *s, const char *graph, const QnnGraph_Config_t **own,
                                    const QnnGraph_Config_t ***ret);
/* Each graph: settings, and finalizing when the backend wants that. */
enum status extension_graphs_loaded(struct session *s);
void extension_context_freed(struct session *s);
enum status extension_model_memory(struct session *s, size_t bytes, void **ret); /* NULL: the program's own */
enum status extension_io_memory(struct session *s, size_t bytes, void **ret);    /* NULL: the program's own */
bool extension_free_memory(struct session *s, void *memory);                     /* false: it is not the extension's */
enum status buffers_open(struct session *s); /* the graphs of the context are there; session_buffers.c */
void buffers_close(struct session *s);       /* before the context goes; also of a session that has none */
bool extension_shares_io(const struct session *s);

/* session_memory.c: whether inputs and outputs are shared buffers; opens libcdsprpc.so when they are. The backend's handle
 * exists. */
enum status memory_open(struct session *s);
void memory_close(struct session *s);

#endif
