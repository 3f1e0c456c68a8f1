/* SPDX-License-Identifier: Apache-2.0 */
/* Advice on a graph: where it does what the vendor's guide recommends against, or what the cost model finds expensive; why;
 * what to change; and what the estimate says that this saves. docs/advise.md has a row per rule. */
#ifndef TOOLS_ANALYSIS_ADVISE_H
#define TOOLS_ANALYSIS_ADVISE_H

#include <jansson.h>

#include "analysis/estimate.h"
#include "analysis/qhas.h"
#include "base/vec.h"

struct advisor;

/* What a rule is good for. */
enum advise_goal { GOAL_SPEED, GOAL_ACCURACY, GOAL_DEVICE /* a device refuses it */ };
extern const char *const advise_goals[];

struct advise_rule {
    const char *id, *source; /* source: where the rule is from */
    enum advise_goal goal;
    const char *change; /* what to do */
    void (*find)(struct advisor *a, const struct advise_rule *rule);
};
extern const struct advise_rule advise_rules[]; /* the last one has no id */

struct advice {
    const struct advise_rule *rule;
    uint32_t node; /* BINARY_NONE: all of the graph */
    const char *reason;
    bool estimated;
    uint64_t cycles; /* of the graph when the advice is followed */
};

/* While rules look for what they know. */
struct advisor {
    const struct qhas_graph *q;
    const struct binary_graph *g;
    struct qhas_model model;
    struct estimate_device device;
    uint64_t base; /* cycles of the graph as it is, estimated as the changed ones are */
    struct arena *arena;
    struct binary_tensor *tensors; /* copies that may be changed; g_changed has them */
    struct binary_node *nodes;
    struct binary_graph changed;
    uint32_t tries; /* how many changed graphs were estimated */
    VEC(struct advice) list;
    enum status failed;
};

/* A changed graph (advise_what_if.c): first a fresh copy, then changes of a->tensors and a->nodes, then its cycles. False:
 * no further graphs are estimated, since there were many. */
bool what_if_start(struct advisor *a);
uint64_t what_if_cycles(struct advisor *a);
/* Tensors with fewer bits: floats of any width and integers of more bits become integers of so many. */
void what_if_narrow(struct advisor *a, uint32_t tensor, unsigned bits);
/* The operator, or what waits for it on its units, takes enough of the time for a change of it alone to be told. */
bool advise_worth(const struct advisor *a, uint32_t node);
/* Adds one; cycles: of the changed graph, UINT64_MAX: not estimated. */
void advise_add(struct advisor *a, const struct advise_rule *rule, uint32_t node, uint64_t cycles, const char *reason);

/* Opens what rules need; soc_model and arch: those of the binary. */
enum status advisor_open(const struct qhas_graph *q, const struct binary_target *target, struct arena *arena,
                         struct advisor *ret);
void advisor_close(struct advisor *a);

/* ---- all of it -------------------------------------------------------------------------------------------------------- */

/* The advice on one graph as JSON (docs/advise.md); ST_INVALID_ARG: it has no estimate. */
enum status advise_graph(const struct qhas_graph *q, const struct binary_target *target, json_t **ret);
/* The same as keys "advice" and "devices" of a QHAS report. */
enum status advise_add_to(const struct qhas_graph *q, const struct binary_target *target, json_t *report);
/* Of all graphs of a binary. */
enum status advise_binary(const struct binary *b, json_t **ret);
void advise_text(const json_t *advice, struct str *out);

#endif
