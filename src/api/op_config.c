/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a Qnn_OpConfig_t: package, operator, parameters by name, tensors as described. */
#include "api/op_config.h"

#include <string.h>

#include "QNN/QnnOpDef.h"
#include "api/objects.h"
#include "api/translate.h"
#include "api/wide_node.h"
#include "backend/backend.h"
#include "base/named_list.h"
#include "base/str.h"

enum { MAX_PARAMS = 64 }; /* more than any operator has, so that a name that is not known is still named */

static enum status find_op(const Qnn_OpConfigV1_t *c, const struct op_def **ret)
{
    *ret = op_find(c->typeName);
    if (*ret)
        return ST_OK;
    const char *names[OP_PUBLIC_END];
    for (unsigned i = 1; i < OP_PUBLIC_END; i++)
        names[i - 1] = op_get((enum op_id)i)->name;
    const char *near = str_nearest(c->typeName, names, OP_PUBLIC_END - 1);
    return status_fail(ST_INVALID_OP, "node \"%s\": there is no operator \"%s\"%s%s%s", c->name ? c->name : "", c->typeName,
                       near ? "; the nearest is \"" : "", near ? near : "", near ? "\"" : "");
}

static enum status read_param(const Qnn_Param_t *p, struct arena *a, const struct param_source *source, struct op_value *ret)
{
    TRY(param_from_client(p, a, ret));
    if (!ret->data && source && p->paramType == QNN_PARAMTYPE_TENSOR) {
        uint64_t have = 0;
        uint64_t need = dtype_bytes(ret->type, ret->count);

        ret->data = source->data(source->arg, tensor_v1(&p->tensorParam)->id, &have);
        RETURN_IF(ret->data && have < need, ST_INVALID_OP,
                  "parameter \"%s\" is a tensor of %llu bytes here; it was created with %llu", p->name,
                  (unsigned long long)need, (unsigned long long)have);
    }
    /* cppcheck-suppress invalidLifetime ; the source fills in the number of bytes and does not keep where it is */
    RETURN_IF(!ret->data, ST_INVALID_OP,
              "parameter \"%s\" is a tensor without data; give it in clientBuf, or create the tensor in this graph first",
              p->name);
    return ST_OK;
}

/* Parameters that name a graph: by its name, or as UINT_64 by its handle, which is turned into the name. */
static enum status name_graphs(const struct op_def *op, const char *node, struct arena *a, struct op_value *params)
{
    for (uint32_t i = 0; i < op_param_count(op); i++) {
        struct op_value *v = &params[i];
        if (op->params[i].type != DT_STR || v->type != DT_U64 || !v->data || v->rank)
            continue;
        void *handle = (void *)(uintptr_t)*(const uint64_t *)v->data;
        struct api_graph *g = handle_get(handle, HANDLE_GRAPH);
        RETURN_IF(!g, ST_INVALID_OP, "%s \"%s\": the graph handle in parameter \"%s\" is %s", op->name, node ? node : "",
                  op->params[i].name, handle_describe(handle, HANDLE_GRAPH));
        const char *name = arena_strdup(a, g->name);
        handle_put(handle);
        RETURN_IF(!name, ST_NO_MEMORY, "no memory for parameter \"%s\"", op->params[i].name);
        *v = (struct op_value){ .type = DT_STR, .count = (uint32_t)strlen(name) + 1, .data = name };
    }
    RETURN_IF(op->id == OP_If && (!params[0].data || !params[1].data), ST_INVALID_OP,
              "%s \"%s\": parameter \"%s\" is missing; it names a graph made with QnnGraph_createSubgraph", op->name,
              node ? node : "", op->params[params[0].data ? 1 : 0].name);
    return ST_OK;
}

/* Nothing in a list is looked at before its length has been believed. */
static enum status check_counts(const Qnn_OpConfigV1_t *c, const struct op_def *op)
{
    uint32_t most = wide_limit(op);
    RETURN_IF(c->numOfInputs > most || c->numOfOutputs > most || c->numOfParams > MAX_PARAMS, ST_INVALID_OP,
              "%s \"%s\": %u inputs, %u outputs and %u parameters; at most %u, %u and %d are supported", op->name,
              c->name ? c->name : "", c->numOfInputs, c->numOfOutputs, c->numOfParams, most, most, MAX_PARAMS);
    return ST_OK;
}

static enum status builtin_op(const Qnn_OpConfigV1_t *c, struct arena *a, const struct param_source *source,
                              struct op_parts *ret)
{
    TRY(find_op(c, &ret->op));
    TRY(check_counts(c, ret->op));
    const char **names = arena_array(a, const char *, c->numOfParams);
    struct op_value *values = arena_array(a, struct op_value, c->numOfParams);
    ret->params = arena_array(a, struct op_value, op_param_count(ret->op));
    RETURN_IF(!names || !values || !ret->params, ST_NO_MEMORY, "no memory for %u parameters", c->numOfParams);
    for (uint32_t i = 0; i < c->numOfParams; i++) {
        names[i] = c->params[i].name;
        enum status st = read_param(&c->params[i], a, source, &values[i]);
        if (st != ST_OK)
            return status_prefix(st, "%s \"%s\"", ret->op->name, c->name ? c->name : "");
    }
    TRY(op_params_bind(ret->op, c->name, names, values, c->numOfParams, ret->params));
    return name_graphs(ret->op, c->name, a, ret->params);
}

/* ---- op packages ------------------------------------------------------------------------------------------------------ */

enum { LONGEST_NAME = 4096 };

static enum status package_param(const Qnn_Param_t *p, struct arena *a, const Qnn_Tensor_t **tensor, struct named_value *ret)
{
    struct op_value v;
    RETURN_IF(!p->name || !*p->name, ST_INVALID_OP, "a parameter has no name");
    RETURN_IF(strlen(p->name) >= LONGEST_NAME, ST_INVALID_OP, "the name of parameter \"%.40s...\" has more than %d bytes",
              p->name, LONGEST_NAME - 1);
    TRY(param_from_client(p, a, &v));
    bool is_tensor = p->paramType == QNN_PARAMTYPE_TENSOR;
    *tensor = is_tensor ? &p->tensorParam : NULL;
    *ret = (struct named_value){ .name = p->name,
                                 .type = v.type,
                                 .elsewhere = is_tensor,
                                 .bytes = (uint32_t)dtype_bytes(v.type, v.count),
                                 .data = v.data };
    return ST_OK;
}

static struct op_value text_value(const char *text)
{
    return (struct op_value){ .type = DT_STR, .count = (uint32_t)strlen(text) + 1, .data = text };
}

/* Package and operator become parameters of a PackageOp, its own parameters a list in a third one. */
static enum status package_op(const Qnn_OpConfigV1_t *c, struct arena *a, struct op_parts *ret)
{
    struct named_value list[MAX_PARAMS];
    ret->op = op_get(OP_NONE);
    TRY(check_counts(c, ret->op));
    ret->params = arena_array(a, struct op_value, op_param_count(ret->op));
    ret->tensors = arena_array(a, const Qnn_Tensor_t *, c->numOfParams);
    RETURN_IF(!ret->params || !ret->tensors, ST_NO_MEMORY, "no memory for %u parameters", c->numOfParams);
    for (uint32_t i = 0; i < c->numOfParams; i++) {
        enum status st = package_param(&c->params[i], a, &ret->tensors[ret->n_tensors], &list[i]);
        if (st != ST_OK)
            return status_prefix(st, "%s \"%s\"", c->typeName, c->name ? c->name : "");
        ret->n_tensors += list[i].elsewhere;
    }
    RETURN_IF(c->numOfInputs + ret->n_tensors > MAX_PORTS, ST_INVALID_OP,
              "%s \"%s\": %u inputs and %u parameters that are tensors; %d together are supported", c->typeName,
              c->name ? c->name : "", c->numOfInputs, ret->n_tensors, MAX_PORTS);
    uint32_t bytes = named_list_size(list, c->numOfParams);
    void *values = arena_alloc(a, bytes);
    RETURN_IF(!values, ST_NO_MEMORY, "no memory for %u parameters", c->numOfParams);
    named_list_pack(list, c->numOfParams, values);
    ret->params[0] = text_value(c->packageName);
    ret->params[1] = text_value(c->typeName);
    if (bytes)
        ret->params[2] = (struct op_value){ .type = DT_U8, .rank = 1, .dims = { bytes }, .count = bytes, .data = values };
    return ST_OK;
}

enum status op_config_op(const Qnn_OpConfig_t *config, struct api_packages *packages, struct arena *a,
                         const struct param_source *source, struct op_parts *ret)
{
    *ret = (struct op_parts){ 0 };
    RETURN_IF(config->version != QNN_OPCONFIG_VERSION_1, ST_INVALID_OP, "the op config has version %u; 1 is supported",
              (unsigned)config->version);
    const Qnn_OpConfigV1_t *c = &config->v1;
    RETURN_IF((c->numOfParams && !c->params) || (c->numOfInputs && !c->inputTensors) ||
                  (c->numOfOutputs && !c->outputTensors),
              ST_INVALID_OP, "node \"%s\" has a count that is not 0 with a NULL list", c->name ? c->name : "");
    RETURN_IF(!c->typeName, ST_INVALID_OP,
              "node \"%s\" has no operator type; typeName is a name like \"Conv2d\" (QnnOpDef.h)", c->name ? c->name : "");
    if (package_is_builtin(c->packageName))
        return builtin_op(c, a, source, ret);
    TRY(packages_find(packages, c->name ? c->name : "", c->packageName, c->typeName, &ret->package));
    return package_op(c, a, ret);
}

struct side {
    const char *where; /* "in" or "out" */
    const struct tensor_desc **descs;
    const void **data;
    struct ir_tensor *own; /* what the descriptions are of */
};

uint32_t op_config_outputs(const Qnn_OpConfigV1_t *c)
{
    uint32_t n = c->numOfOutputs;
    for (const Qnn_TensorV1_t *v; n > 0 && (v = tensor_v1(&c->outputTensors[n - 1])) && v->type == QNN_TENSOR_TYPE_NULL; n--)
        ;
    return n;
}

static enum status view_tensor(const Qnn_Tensor_t *t, uint32_t at, struct arena *a, struct side *ret)
{
    enum status st = tensor_from_client(t, false, a, &ret->own[at]);
    if (st != ST_OK)
        return status_prefix(st, "%s[%u]", ret->where, at);
    ret->descs[at] = ret->own[at].role == IR_ABSENT ? NULL : &ret->own[at].desc;
    ret->data[at] = ret->own[at].data;
    return ST_OK;
}

/* Room for `n` tensors, of which the list gives those that it has. */
static enum status view_tensors(const Qnn_Tensor_t *list, uint32_t have, uint32_t n, struct arena *a, struct side *ret)
{
    struct ir_tensor *t = arena_array(a, struct ir_tensor, n);
    ret->own = t;
    ret->descs = arena_array(a, const struct tensor_desc *, n);
    ret->data = arena_array(a, const void *, n);
    RETURN_IF(!t || !ret->descs || !ret->data, ST_NO_MEMORY, "no memory for %u tensors", n);
    for (uint32_t i = 0; i < have; i++)
        TRY(view_tensor(&list[i], i, a, ret));
    return ST_OK;
}

enum status op_config_view(const Qnn_OpConfig_t *config, struct api_packages *packages, struct arena *a, struct op_view *ret)
{
    struct op_parts parts;
    struct side in = { .where = "in" }, out = { .where = "out" };
    TRY(op_config_op(config, packages, a, NULL, &parts));
    const struct op_def *op = parts.op;
    ret->params = parts.params;
    ret->package = parts.package;
    const Qnn_OpConfigV1_t *c = &config->v1;
    uint32_t n_out = op_config_outputs(c), n_in = c->numOfInputs + parts.n_tensors;
    enum status st = view_tensors(c->inputTensors, c->numOfInputs, n_in, a, &in);
    for (uint32_t i = 0; i < parts.n_tensors && st == ST_OK; i++)
        st = view_tensor(parts.tensors[i], c->numOfInputs + i, a, &in);
    if (st == ST_OK)
        st = view_tensors(c->outputTensors, n_out, n_out, a, &out);
    if (st != ST_OK)
        return status_prefix(st, "%s \"%s\"", op->name, c->name ? c->name : "");
    for (uint32_t i = 0; i < n_out; i++)
        RETURN_IF(!out.descs[i], ST_INVALID_OP, "%s \"%s\": out[%u] is a NULL tensor; leave optional outputs out at the end",
                  op->name, c->name ? c->name : "", i);
    ret->call = (struct op_call){
        .op = op,
        .node = c->name,
        .n_in = n_in,
        .n_out = n_out,
        .in = in.descs,
        .out = out.descs,
        .params = ret->params,
        .in_data = in.data,
        .post = OP_POST_NONE,
    };
    int32_t axis = op_scale_axis(&ret->call);
    if (axis >= 0)
        in.own[1].desc.q.axis = axis;
    return ST_OK;
}
