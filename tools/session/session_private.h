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

#endif
