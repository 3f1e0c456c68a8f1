/* SPDX-License-Identifier: Apache-2.0 */
/* Asks the rules of htp_device_rules.c about a graph, and says what they found: in the log, as a refusal, in a file. */
#include "backend/htp/htp_device_check.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "backend/htp/htp_backend.h"
#include "base/line_append.h"
#include "base/mem.h"

/* ---- asking ----------------------------------------------------------------------------------------------------------- */

static enum status add(struct device_report *r, const struct device_rule *rule, const struct device_case *k)
{
    char *detail = mem_dup(k->detail, strlen(k->detail) + 1);
    struct device_finding *f = detail ? vec_push(&r->findings) : NULL;

    if (!f)
        mem_free(detail);
    RETURN_IF(!f, ST_NO_MEMORY, "no memory for what the device check found");
    *f = (struct device_finding){ .rule = rule, .detail = detail };
    if (k->node) {
        f->node = k->node->name ? k->node->name : "";
        f->type = k->node->op->name;
    }
    return ST_OK;
}

static bool applies(const struct device_rule *rule, const struct device_case *k)
{
    return !rule->before || (k->soc->arch && k->soc->arch < rule->before && k->soc->has_htp);
}

static enum status check_node(struct device_case *k, struct device_report *r)
{
    enum device_verdict worst = DEVICE_FINE;

    for (const struct device_rule *rule = device_rules; rule->id; rule++) {
        if (rule->of_graph || !applies(rule, k) || (rule->last && worst != DEVICE_FINE) || !rule->breaks(k))
            continue;
        TRY(add(r, rule, k));
        worst = rule->verdict > worst ? rule->verdict : worst;
    }
    r->nodes[worst]++;
    return ST_OK;
}

static enum status check_nodes(struct device_case *k, const struct ir_graph *g, struct device_report *r)
{
    k->g = g;
    for (size_t i = 0; i < g->nodes.n; i++) {
        k->node = &g->nodes.at[i];
        ir_call(g, k->node, &k->view);
        TRY(check_node(k, r));
    }
    for (size_t i = 0; i < g->children.n; i++)
        TRY(check_nodes(k, g->children.at[i], r));
    return ST_OK;
}

static uint32_t count_nodes(const struct ir_graph *g)
{
    uint32_t n = (uint32_t)g->nodes.n;

    for (size_t i = 0; i < g->children.n; i++)
        n += count_nodes(g->children.at[i]);
    return n;
}

enum status device_check(const struct rpc_soc *soc, const struct device_asked *asked, const struct ir_graph *g,
                         struct device_report *ret)
{
    CLEANUP(mem_freep) struct device_case *k = mem_zalloc(sizeof *k);

    *ret = (struct device_report){ .soc = soc, .graph = g->name ? g->name : "" };
    RETURN_IF(!k, ST_NO_MEMORY, "no memory for the device check");
    *k = (struct device_case){ .soc = soc, .asked = asked, .g = g };
    for (const struct device_rule *rule = device_rules; rule->id; rule++)
        if (rule->of_graph && applies(rule, k) && rule->breaks(k))
            TRY(add(ret, rule, k));
    if (soc->has_htp)
        return check_nodes(k, g, ret);
    ret->nodes[DEVICE_REFUSED] = count_nodes(g);
    return ST_OK;
}

void device_report_finish(struct device_report *r)
{
    for (size_t i = 0; i < r->findings.n; i++)
        mem_free(r->findings.at[i].detail);
    vec_finish(&r->findings);
}

/* ---- JSON ------------------------------------------------------------------------------------------------------------- */

static void add_text(struct str *out, const char *key, const char *text)
{
    str_addf(out, "\"%s\":", key);
    if (!text) {
        str_add(out, "null");
        return;
    }
    str_add(out, "\"");
    for (; *text; text++) {
        const unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            str_addf(out, "\\%c", c);
        else if (c < 0x20)
            str_addf(out, "\\u%04x", c);
        else
            str_addn(out, text, 1);
    }
    str_add(out, "\"");
}

static void add_finding(struct str *out, const struct device_finding *f)
{
    const char *const pairs[][2] = {
        { "rule", f->rule->id },       { "verdict", device_verdicts[f->rule->verdict] },
        { "node", f->node },           { "type", f->type },
        { "detail", f->detail },       { "source", f->rule->source },
        { "remedy", f->rule->remedy },
    };

    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        str_add(out, i ? "," : "{");
        add_text(out, pairs[i][0], pairs[i][1]);
    }
    str_add(out, "}");
}

void device_report_json(const struct device_report *r, struct str *out)
{
    str_add(out, "{");
    add_text(out, "graph", r->graph);
    str_add(out, ",");
    add_text(out, "soc", r->soc->name);
    str_addf(out, ",\"soc_model\":%u,\"arch\":%u,\"vtcm_mb\":%u", r->soc->model, r->soc->arch, r->soc->vtcm_mb);
    for (int v = DEVICE_REFUSED; v >= DEVICE_FINE; v--)
        str_addf(out, ",\"%s\":%u", device_verdicts[v], r->nodes[v]);
    str_add(out, ",\"findings\":[");
    for (size_t i = 0; i < r->findings.n; i++) {
        if (i)
            str_add(out, ",");
        add_finding(out, &r->findings.at[i]);
    }
    str_add(out, "]}\n");
}

static enum status append_json(const struct device_report *r, const char *path)
{
    CLEANUP(str_finish) struct str text;
    str_init(&text);
    device_report_json(r, &text);
    RETURN_IF(text.failed, ST_NO_MEMORY, "no memory for the report of the device check");

    RETURN_IF(!line_append(path, str_text(&text), text.n), ST_IO, "OPENQNN_DEVICE_CHECK_FILE: \"%s\" cannot be written: %s",
              path, strerrordesc_np(errno));
    return ST_OK;
}

/* ---- the log ---------------------------------------------------------------------------------------------------------- */

static bool is_first(const struct device_report *r, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (r->findings.at[i].rule == r->findings.at[at].rule)
            return false;
    return true;
}

static size_t count_rule(const struct device_report *r, const struct device_rule *rule)
{
    size_t n = 0;

    for (size_t i = 0; i < r->findings.n; i++)
        n += r->findings.at[i].rule == rule;
    return n;
}

/* One warning per rule and graph. */
static void warn(const struct device_report *r)
{
    for (size_t i = 0; i < r->findings.n; i++) {
        const struct device_finding *f = &r->findings.at[i];
        if (!is_first(r, i))
            continue;
        backend_log(BACKEND_WARN, "device check, graph \"%s\" on %s: %s by rule %s: %s%s%s%s%s (%zu in all); source: %s; %s",
                    r->graph, r->soc->name, device_verdicts[f->rule->verdict], f->rule->id, f->type ? f->type : "",
                    f->node ? " \"" : "", f->node ? f->node : "", f->node ? "\": " : "", f->detail, count_rule(r, f->rule),
                    f->rule->source, f->rule->remedy);
    }
}

static enum status refuse(const struct device_report *r)
{
    for (size_t i = 0; i < r->findings.n; i++) {
        const struct device_finding *f = &r->findings.at[i];
        RETURN_IF(f->rule->verdict == DEVICE_REFUSED, ST_NOT_SUPPORTED,
                  "graph \"%s\" on %s: refused by rule %s of the device check: %s%s%s%s%s; source: %s; %s (or unset "
                  "OPENQNN_DEVICE_CHECK)",
                  r->graph, r->soc->name, f->rule->id, f->type ? f->type : "", f->node ? " \"" : "", f->node ? f->node : "",
                  f->node ? "\": " : "", f->detail, f->rule->source, f->rule->remedy);
    }
    return ST_OK;
}

/* ---- what is asked for ------------------------------------------------------------------------------------------------ */

static enum status check_soc(const struct rpc_soc *soc, const struct device_asked *asked, const struct ir_graph *g,
                             const char *mode)
{
    const char *path = getenv("OPENQNN_DEVICE_CHECK_FILE");
    CLEANUP(device_report_finish) struct device_report r = { 0 };

    TRY(device_check(soc, asked, g, &r));
    if (path && *path)
        TRY(append_json(&r, path));
    if (strcmp(mode, "report") != 0)
        warn(&r);
    return strcmp(mode, "error") == 0 ? refuse(&r) : ST_OK;
}

/* The next SoC of OPENQNN_DEVICE_CHECK_SOCS; `list` moves on. */
static enum status next_soc(const char **list, const struct rpc_soc **ret)
{
    char name[32] = "";
    size_t n = strcspn(*list, ",");

    if (n < sizeof(name))
        memcpy(name, *list, n);
    *ret = name[0] ? rpc_soc_find_name(name) : NULL;
    RETURN_IF(!*ret, ST_INVALID_CONFIG,
              "device check: \"%.*s\" is no known SoC; names like SM8550 or model numbers are expected, with commas "
              "between them",
              (int)n, *list);
    *list += n + ((*list)[n] == ',');
    return ST_OK;
}

enum status htp_device_checks(const struct rpc_soc *own, const struct device_asked *asked, const struct ir_graph *g)
{
    const char *mode = getenv("OPENQNN_DEVICE_CHECK");
    const char *list = getenv("OPENQNN_DEVICE_CHECK_SOCS");
    const struct rpc_soc *soc;
    bool known = mode && (strcmp(mode, "warn") == 0 || strcmp(mode, "error") == 0 || strcmp(mode, "report") == 0);

    if (!known) /* unset, or told when the backend was created */
        return ST_OK;
    if (!list || !*list)
        return own ? check_soc(own, asked, g, mode) : ST_OK;
    while (*list) {
        TRY(next_soc(&list, &soc));
        TRY(check_soc(soc, asked, g, mode));
    }
    return ST_OK;
}

/* ---- one operator ----------------------------------------------------------------------------------------------------- */

static enum status check_call(const struct rpc_soc *soc, const struct op_call *c)
{
    const struct device_asked nothing = { 0 };
    CLEANUP(mem_freep) struct device_case *k = mem_zalloc(sizeof *k);

    RETURN_IF(!k, ST_NO_MEMORY, "no memory for the device check");
    *k = (struct device_case){ .soc = soc, .asked = &nothing, .view.call = *c };
    for (const struct device_rule *rule = device_rules; rule->id; rule++)
        RETURN_IF(!rule->of_graph && rule->verdict == DEVICE_REFUSED && applies(rule, k) && rule->breaks(k),
                  ST_NOT_SUPPORTED,
                  "%s \"%s\" on %s: refused by rule %s of the device check: %s; source: %s; %s (or unset "
                  "OPENQNN_DEVICE_CHECK)",
                  c->op->name, c->node ? c->node : "", soc->name, rule->id, k->detail, rule->source, rule->remedy);
    return ST_OK;
}

static enum status check_all(const struct op_call *c)
{
    const char *mode = getenv("OPENQNN_DEVICE_CHECK");
    const char *list = getenv("OPENQNN_DEVICE_CHECK_SOCS");
    const struct rpc_soc *soc;

    if (!mode || strcmp(mode, "error") != 0)
        return ST_OK;
    if (!list || !*list)
        return check_call(htp_soc_used(), c); /* no device is named here */
    while (*list) {
        TRY(next_soc(&list, &soc));
        TRY(check_call(soc, c));
    }
    return ST_OK;
}

enum status htp_device_takes(const struct op_call *c)
{
    TRY(check_all(c));
    return backend_try_bind(c);
}
