/* SPDX-License-Identifier: Apache-2.0 */
/* Private to backend/ir. */
#ifndef BACKEND_IR_DLC_BACKEND_H
#define BACKEND_IR_DLC_BACKEND_H

#include "backend/backend.h"

/* dlc_config.c: the path that a graph is written to is cfg->custom, a string; NULL or "": NAME.dlc in the working folder. */
enum status dlc_graph_config(const void *custom, struct backend_graph_cfg *cfg);
void dlc_graph_config_free(struct backend_graph_cfg *cfg);

#endif
