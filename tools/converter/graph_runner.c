/* SPDX-License-Identifier: Apache-2.0 */
/* See graph_runner.h. */
#include "converter/graph_runner.h"

#include <string.h>

#include "QNN/QnnOpDef.h"
#include "base/mem.h"
#include "base/str.h"
#include "common/tensor_data.h"
#include "common/tensor_text.h"
#include "common/tool_log.h"
#include "converter/qnn_view.h"

/* ---- engine ------------------------------------------------------------------------------------------------------- */

enum status runner_engine_open(struct runner_engine *e, const char *library)
{
    memset(e, 0, sizeof(*e));
    enum status st = library_open_backend(library ? library : "libQnnCpu.so", &e->backend);
    if (st != ST_OK)
        return status_prefix(st, "the backend that calibrates");
    Qnn_ErrorHandle_t error = e->backend.api.backendCreate(NULL, NULL, &e->handle);
    return error == QNN_SUCCESS ? ST_OK : library_fail(&e->backend.api, error, "creating the backend");
}

void runner_engine_close(struct runner_engine *e)
{
    if (e->handle)
        e->backend.api.backendFree(e->handle);
    library_close(e->backend.library);
    memset(e, 0, sizeof(*e));
}

static enum status op_config(const struct op_call *c, struct arena *a, Qnn_OpConfig_t *ret)
{
    *ret = (Qnn_OpConfig_t)QNN_OPCONFIG_INIT;
    Qnn_Tensor_t *in = arena_array(a, Qnn_Tensor_t, c->n_in), *out = arena_array(a, Qnn_Tensor_t, c->n_out);
    RETURN_IF(!in || !out, ST_NO_MEMORY, "no memory for operator \"%s\"", c->op->name);
    for (uint32_t i = 0; i < c->n_in; i++) {
        bool known = c->in_data && c->in_data[i];
        if (!c->in[i]) {
            in[i] = qnn_view_absent();
            continue;
        }
        TRY(qnn_view_tensor(arena_printf(a, "in%u", i), c->in[i], known ? QNN_TENSOR_TYPE_STATIC : QNN_TENSOR_TYPE_NATIVE, a,
                            &in[i]));
        if (known)
            in[i].v1.clientBuf = (Qnn_ClientBuffer_t){ (void *)c->in_data[i], (uint32_t)desc_bytes(c->in[i]) };
    }
    for (uint32_t i = 0; i < c->n_out; i++)
        TRY(qnn_view_tensor(arena_printf(a, "out%u", i), c->out[i], QNN_TENSOR_TYPE_NATIVE, a, &out[i]));
    ret->v1 = (Qnn_OpConfigV1_t){ .name = c->node,
                                  .packageName = QNN_OP_PACKAGE_NAME_QTI_AISW,
                                  .typeName = c->op->name,
                                  .numOfInputs = c->n_in,
                                  .inputTensors = in,
                                  .numOfOutputs = c->n_out,
                                  .outputTensors = out };
    return qnn_view_params(c->op, c->node, c->params, a, &ret->v1.params, &ret->v1.numOfParams);
}

enum status runner_supports(void *engine, const struct op_call *c)
{
    struct runner_engine *e = engine;
    struct arena a;
    Qnn_OpConfig_t config;
    arena_init(&a);
    enum status st = op_config(c, &a, &config);
    if (st == ST_OK) {
        Qnn_ErrorHandle_t error = e->backend.api.backendValidateOpConfig(e->handle, config);
        if (error != QNN_SUCCESS)
            st = library_fail(&e->backend.api, error, "the backend refuses it");
    }
    arena_finish(&a);
    return st;
}

/* ---- composing ---------------------------------------------------------------------------------------------------- */

static Qnn_TensorType_t role_type(const struct ir_tensor *t, bool all_outputs)
{
    static const Qnn_TensorType_t types[IR_ROLE_COUNT] = {
        [IR_INPUT] = QNN_TENSOR_TYPE_APP_WRITE,     [IR_OUTPUT] = QNN_TENSOR_TYPE_APP_READ,
        [IR_INOUT] = QNN_TENSOR_TYPE_APP_READWRITE, [IR_NATIVE] = QNN_TENSOR_TYPE_NATIVE,
        [IR_CONST] = QNN_TENSOR_TYPE_STATIC,        [IR_ABSENT] = QNN_TENSOR_TYPE_NULL,
    };
    return t->role == IR_NATIVE && all_outputs ? QNN_TENSOR_TYPE_APP_READ : types[t->role];
}

static enum status create_tensor(struct runner *r, Qnn_Tensor_t *t)
{
    const QNN_INTERFACE_VER_TYPE *api = &r->engine->backend.api;
    Qnn_ErrorHandle_t error = api->tensorCreateGraphTensor(r->graph, t);
    return error == QNN_SUCCESS ? ST_OK : library_fail(api, error, "tensor \"%s\"", t->v1.name);
}

static enum status create_tensors(struct runner *r, bool all_outputs)
{
    for (uint32_t i = 0; i < r->g->tensors.n; i++) {
        const struct ir_tensor *t = &r->g->tensors.at[i];
        if (t->role == IR_ABSENT) {
            r->tensors[i] = qnn_view_absent();
            continue;
        }
        TRY(qnn_view_tensor(t->name, &t->desc, role_type(t, all_outputs), &r->arena, &r->tensors[i]));
        if (t->role == IR_CONST)
            r->tensors[i].v1.clientBuf =
                (Qnn_ClientBuffer_t){ (void *)t->data, (uint32_t)(t->raw_bytes ? t->raw_bytes : desc_bytes(&t->desc)) };
        TRY(create_tensor(r, &r->tensors[i]));
    }
    return ST_OK;
}

static enum status add_node(struct runner *r, const struct ir_node *n)
{
    const QNN_INTERFACE_VER_TYPE *api = &r->engine->backend.api;
    Qnn_OpConfig_t c = QNN_OPCONFIG_INIT;
    Qnn_Tensor_t in[MAX_PORTS], out[MAX_PORTS];
    for (uint32_t i = 0; i < n->n_in; i++)
        in[i] = n->in[i] == IR_NONE ? qnn_view_absent() : r->tensors[n->in[i]];
    for (uint32_t i = 0; i < n->n_out; i++)
        out[i] = r->tensors[n->out[i]];
    c.v1 = (Qnn_OpConfigV1_t){ .name = n->name,
                               .packageName = QNN_OP_PACKAGE_NAME_QTI_AISW,
                               .typeName = n->op->name,
                               .numOfInputs = n->n_in,
                               .inputTensors = in,
                               .numOfOutputs = n->n_out,
                               .outputTensors = out };
    TRY(qnn_view_params(n->op, n->name, n->params, &r->arena, &c.v1.params, &c.v1.numOfParams));
    for (uint32_t i = 0; i < c.v1.numOfParams; i++)
        if (c.v1.params[i].paramType == QNN_PARAMTYPE_TENSOR)
            TRY(create_tensor(r, &c.v1.params[i].tensorParam));
    Qnn_ErrorHandle_t error = api->graphAddNode(r->graph, c);
    return error == QNN_SUCCESS ? ST_OK : library_fail(api, error, "node \"%s\"", n->name);
}

static bool readable(const Qnn_Tensor_t *t)
{
    return t->v1.type == QNN_TENSOR_TYPE_APP_READ || t->v1.type == QNN_TENSOR_TYPE_APP_READWRITE;
}

/* Who feeds an input, when it is not the client. */
static const struct convert_io *state_of(const struct convert_report *report, const char *input)
{
    for (size_t i = 0; report && i < report->io.n; i++)
        if (report->io.at[i].output && report->io.at[i].state && str_eq(report->io.at[i].state, input))
            return &report->io.at[i];
    return NULL;
}

static const struct convert_io *io_of(const struct convert_report *report, const char *name)
{
    for (size_t i = 0; report && i < report->io.n; i++)
        if (!report->io.at[i].output && str_eq(report->io.at[i].graph_name, name))
            return &report->io.at[i];
    return NULL;
}

static void *own_memory(struct runner *r, Qnn_Tensor_t *t, uint64_t bytes)
{
    t->v1.clientBuf = (Qnn_ClientBuffer_t){ arena_alloc(&r->arena, bytes), (uint32_t)bytes };
    return t->v1.clientBuf.data;
}

/* The first value of a state: the model's, or real zero. */
static void first_value(const struct convert_io *io, const struct tensor_desc *d, Qnn_Tensor_t *t)
{
    uint64_t n = desc_count(d);
    if (io && io->initial && io->initial_bytes == t->v1.clientBuf.dataSize)
        memcpy(t->v1.clientBuf.data, io->initial, io->initial_bytes);
    for (uint64_t i = 0; !(io && io->initial) && dtype_is_fixed(d->type) && i < n; i++)
        tensor_from_float(t, (const float[]){ 0 }, i, 1, (char *)t->v1.clientBuf.data + i * dtype_bits(d->type) / 8);
}

static enum status list_inputs(struct runner *r, const struct convert_report *report, bool states)
{
    for (uint32_t i = 0; i < r->g->tensors.n; i++) {
        Qnn_Tensor_t *t = &r->tensors[i];
        bool input = t->v1.type == QNN_TENSOR_TYPE_APP_WRITE || t->v1.type == QNN_TENSOR_TYPE_APP_READWRITE;
        const struct convert_io *from = input ? state_of(report, t->v1.name) : NULL;
        if (!input || !from == states)
            continue;
        r->in_of[r->n_in] = i;
        r->state[r->n_in] = from;
        r->in[r->n_in] = *t;
        if (states) {
            const struct tensor_desc *d = &r->g->tensors.at[i].desc;
            RETURN_IF(!own_memory(r, &r->in[r->n_in], desc_bytes(d)), ST_NO_MEMORY, "no memory for state \"%s\"",
                      t->v1.name);
            first_value(io_of(report, t->v1.name), d, &r->in[r->n_in]);
        }
        r->n_in++;
    }
    return ST_OK;
}

/* The inputs, and the outputs with memory of their own. */
static enum status list_io(struct runner *r, const struct convert_report *report)
{
    size_t n = r->g->tensors.n;
    r->in = arena_array(&r->arena, Qnn_Tensor_t, n);
    r->in_of = arena_array(&r->arena, uint32_t, n);
    r->state = arena_array(&r->arena, const struct convert_io *, n);
    r->out = arena_array(&r->arena, Qnn_Tensor_t, n);
    r->out_of = arena_array(&r->arena, uint32_t, n);
    RETURN_IF(!r->in || !r->in_of || !r->state || !r->out || !r->out_of, ST_NO_MEMORY, "no memory for %zu tensors", n);
    TRY(list_inputs(r, report, false));
    uint32_t fed = r->n_in;
    TRY(list_inputs(r, report, true));
    for (uint32_t i = 0; i < n; i++) {
        if (!readable(&r->tensors[i]))
            continue;
        r->out_of[r->n_out] = i;
        r->out[r->n_out] = r->tensors[i];
        void *memory = own_memory(r, &r->out[r->n_out++], desc_bytes(&r->g->tensors.at[i].desc));
        RETURN_IF(!memory, ST_NO_MEMORY, "no memory for the values of tensor \"%s\"", r->tensors[i].v1.name);
    }
    r->view = (struct session_graph){
        .handle = r->graph, .name = r->g->name, .n_inputs = fed, .inputs = r->in, .n_outputs = r->n_out, .outputs = r->out
    };
    return ST_OK;
}

enum status runner_open(struct runner *r, struct runner_engine *e, const struct ir_graph *g,
                        const struct convert_report *report, bool all_outputs)
{
    const QNN_INTERFACE_VER_TYPE *api = &e->backend.api;
    memset(r, 0, sizeof(*r));
    r->engine = e;
    r->g = g;
    arena_init(&r->arena);
    Qnn_ErrorHandle_t error = api->contextCreate(e->handle, NULL, NULL, &r->context);
    if (error != QNN_SUCCESS)
        return library_fail(api, error, "creating the context");
    error = api->graphCreate(r->context, g->name, NULL, &r->graph);
    if (error != QNN_SUCCESS)
        return library_fail(api, error, "graph \"%s\"", g->name);
    r->tensors = arena_array(&r->arena, Qnn_Tensor_t, g->tensors.n);
    RETURN_IF(!r->tensors, ST_NO_MEMORY, "no memory for %zu tensors", g->tensors.n);
    TRY(create_tensors(r, all_outputs));
    for (size_t k = 0; k < g->nodes.n; k++)
        TRY(add_node(r, &g->nodes.at[k]));
    error = api->graphFinalize(r->graph, NULL, NULL);
    if (error != QNN_SUCCESS)
        return library_fail(api, error, "finalizing graph \"%s\"", g->name);
    return list_io(r, report);
}

void runner_close(struct runner *r)
{
    if (r->context)
        r->engine->backend.api.contextFree(r->context, NULL);
    arena_finish(&r->arena);
    memset(r, 0, sizeof(*r));
}

/* ---- running ------------------------------------------------------------------------------------------------------ */

/* Results that are states become inputs. */
static void keep_states(struct runner *r)
{
    for (uint32_t i = r->view.n_inputs; i < r->n_in; i++)
        for (uint32_t k = 0; k < r->n_out; k++)
            if (str_eq(r->out[k].v1.name, r->state[i]->graph_name) &&
                r->out[k].v1.clientBuf.dataSize == r->in[i].v1.clientBuf.dataSize)
                memcpy(r->in[i].v1.clientBuf.data, r->out[k].v1.clientBuf.data, r->in[i].v1.clientBuf.dataSize);
}

enum status runner_execute(struct runner *r, const void *const *inputs)
{
    const QNN_INTERFACE_VER_TYPE *api = &r->engine->backend.api;
    for (uint32_t i = 0; i < r->view.n_inputs; i++) {
        uint64_t elements, bytes;
        TRY(tensor_sizes(&r->in[i], &elements, &bytes));
        r->in[i].v1.clientBuf = (Qnn_ClientBuffer_t){ (void *)inputs[i], (uint32_t)bytes };
    }
    Qnn_ErrorHandle_t error = api->graphExecute(r->graph, r->in, r->n_in, r->out, r->n_out, NULL, NULL);
    if (error != QNN_SUCCESS)
        return library_fail(api, error, "executing graph \"%s\"", r->g->name);
    keep_states(r);
    return ST_OK;
}

static enum status run_all(struct runner *r, struct graph_io *io, const struct runner_inputs *in, runner_each *each,
                           void *arg)
{
    uint64_t total = in->most && in->most < io->executions ? in->most : io->executions;
    void **buffers = arena_array(&io->arena, void *, r->n_in + 1);
    const void **data = arena_array(&io->arena, const void *, r->n_in + 1);
    RETURN_IF(!buffers || !data, ST_NO_MEMORY, "no memory for inputs");
    for (uint32_t i = 0; i < io->n_inputs; i++) {
        buffers[i] = arena_alloc(&io->arena, io->inputs[i].bytes);
        RETURN_IF(!buffers[i], ST_NO_MEMORY, "no memory for input \"%s\"", r->in[i].v1.name);
    }
    for (uint64_t k = 0; k < total; k++) {
        TRY(graph_io_load(io, k, buffers, false, data));
        TRY(runner_execute(r, data));
        TRY(each(arg, r, k + 1, total));
        if (in->what)
            tool_progress(in->what, k + 1, total);
    }
    return ST_OK;
}

enum status runner_run_list(struct runner *r, const struct runner_inputs *in, runner_each *each, void *arg)
{
    struct graph_io io;
    struct io_options opt = { .native_inputs = in->native, .batch_multiplier = 1 };
    enum status st = graph_io_open(&io, &r->view, in->list, &opt);
    if (st == ST_OK)
        st = run_all(r, &io, in, each, arg);
    graph_io_finish(&io);
    return st;
}

uint64_t runner_elements(const struct runner *r, uint32_t i)
{
    return desc_count(&r->g->tensors.at[r->out_of[i]].desc);
}

void runner_floats(const struct runner *r, uint32_t i, float *to)
{
    tensor_to_float(&r->out[i], r->out[i].v1.clientBuf.data, 0, runner_elements(r, i), to);
}
