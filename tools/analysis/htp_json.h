/* SPDX-License-Identifier: Apache-2.0 */
/* The graph as it runs on the device, for Netron: operators with their tensors, and what QHAS says of each. */
#ifndef TOOLS_ANALYSIS_HTP_JSON_H
#define TOOLS_ANALYSIS_HTP_JSON_H

#include "analysis/qhas.h"

/* In the form of a converter's NAME_net.json, which Netron reads. report: of qhas_report for the same graph; its operators
 * are the nodes. NULL: no memory. */
json_t *htp_json(const struct qhas_graph *q, const json_t *report);

#endif
