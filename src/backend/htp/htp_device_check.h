/* SPDX-License-Identifier: Apache-2.0 */
/* Would a device take this graph? Rules with their public sources (htp_device_rules.c), and who asks: OPENQNN_DEVICE_CHECK,
 * qnn-context-binary-generator --check_device (htp_device_check.c). docs/device-check.md has the table of rules. */
#ifndef BACKEND_HTP_HTP_DEVICE_CHECK_H
#define BACKEND_HTP_HTP_DEVICE_CHECK_H

#include "base/str.h"
#include "base/vec.h"
#include "ir/ir.h"
#include "rpc/rpc.h"

enum device_verdict { DEVICE_FINE, DEVICE_UNSURE, DEVICE_REFUSED };
extern const char *const device_verdicts[]; /* fine unsure refused */

/* What the client asks of the device beside the graph. */
struct device_asked {
    uint32_t vtcm_mb; /* 0: it did not say */
    uint32_t options; /* htp_graph_cfg.given */
    bool weight_sharing;
};

/* One question: a SoC, and a node of a graph. */
struct device_case {
    const struct rpc_soc *soc;
    const struct device_asked *asked;
    const struct ir_graph *g;   /* NULL: an operator alone, in `view` */
    const struct ir_node *node; /* NULL for rules of graphs */
    struct ir_call view;
    char detail[320]; /* what breaks the rule */
};

struct device_rule {
    const char *id, *looks_at, *where; /* where: on which SoCs */
    enum device_verdict verdict;       /* when it is broken */
    uint8_t before;                    /* only on architectures before this one; 0: on all */
    bool last;                         /* speaks where no other rule does */
    const char *source, *remedy;
    bool (*breaks)(struct device_case *k);
    bool of_graph;
};
extern const struct device_rule device_rules[]; /* the last one has no id */

struct device_finding {
    const struct device_rule *rule;
    const char *node, *type; /* NULL: the graph */
    char *detail;
};

struct device_report {
    const struct rpc_soc *soc;
    const char *graph;
    uint32_t nodes[3]; /* by verdict */
    VEC(struct device_finding) findings;
};

/* Asks all rules; graphs inside of the graph, too. */
enum status device_check(const struct rpc_soc *soc, const struct device_asked *asked, const struct ir_graph *g,
                         struct device_report *ret);
void device_report_finish(struct device_report *r);
void device_report_json(const struct device_report *r, struct str *out); /* one line */

/* What OPENQNN_DEVICE_CHECK and its companions ask for; own: the device of the client. */
enum status htp_device_checks(const struct rpc_soc *own, const struct device_asked *asked, const struct ir_graph *g);

/* The same about one operator, when it is validated or added, where OPENQNN_DEVICE_CHECK=error: those rules that refuse, as
 * far as they need no graph. Then what kernels say. */
enum status htp_device_takes(const struct op_call *c);

/* 16-bit weights beside 16-bit activations (htp_weights16.c). most: the largest weight, where that is the matter. */
enum weights16 { WEIGHTS16_NONE, WEIGHTS16_FINE, WEIGHTS16_OPERATOR, WEIGHTS16_RANGE };
enum weights16 htp_weights16(const struct ir_graph *g, const struct ir_node *node, int32_t *most);

#endif
