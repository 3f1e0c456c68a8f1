/* SPDX-License-Identifier: Apache-2.0 */
/* Streaming networks for the tests of state. */
#include "stream_kit.h"

#include <stdlib.h>
#include <string.h>

Qnn_Tensor_t stream_tensor(Qnn_GraphHandle_t g, const char *name, Qnn_TensorType_t type, uint32_t bits, uint32_t rank,
                           const uint32_t *dims)
{
    Qnn_DataType_t t = bits == 8 ? QNN_DATATYPE_UFIXED_POINT_8 : QNN_DATATYPE_UFIXED_POINT_16;
    Qnn_Tensor_t r = tensor_make(QNN_TENSOR_VERSION_2, keep_name("%s", name), type, t, rank, dims);
    r = tensor_quant(r, bits == 8 ? 4.0f / 255 : 4.0f / 65535, bits == 8 ? -128 : -32768);
    OK(q.tensorCreateGraphTensor(g, &r));
    return r;
}

Qnn_Tensor_t stream_flag(Qnn_GraphHandle_t g, const char *name)
{
    Qnn_Tensor_t r = TENSOR(keep_name("%s", name), APP_WRITE, BOOL_8, 1);
    OK(q.tensorCreateGraphTensor(g, &r));
    return r;
}

static uint32_t serial; /* of the weights in a network: the same network has the same ones */

static Qnn_Tensor_t weight(Qnn_GraphHandle_t g, uint32_t rank, uint32_t rows, uint32_t columns)
{
    static uint8_t data[4096];
    uint32_t n = rows * (rank == 2 ? columns : 1);
    kit_fill(data, n, ++serial);
    Qnn_Tensor_t w = tensor_make(QNN_TENSOR_VERSION_1, keep_name("w%u", serial), QNN_TENSOR_TYPE_STATIC,
                                 QNN_DATATYPE_SFIXED_POINT_8, rank, (uint32_t[]){ rows, columns });
    w = tensor_data(tensor_quant(w, 1.0f / 200, 0), data, n);
    OK(q.tensorCreateGraphTensor(g, &w));
    return w;
}

Qnn_ErrorHandle_t stream_buffer(Qnn_GraphHandle_t g, const char *name, uint32_t size, uint32_t mode, const Qnn_Tensor_t *x,
                                const Qnn_Tensor_t *reset, const Qnn_Tensor_t *y)
{
    struct op o = { .name = name, .type = "Buffer", .np = 3, .ni = reset ? 2 : 1, .in = { *x }, .no = 1, .out = { *y } };
    if (reset)
        o.in[1] = *reset;
    o.p[0] = param_u32("buffer_size", size);
    o.p[1] = param_u32("buffer_dim", 1);
    o.p[2] = param_u32("mode", mode);
    return op_add(g, &o);
}

static void reshape(Qnn_GraphHandle_t g, const char *name, const Qnn_Tensor_t *x, const Qnn_Tensor_t *y)
{
    struct op o = { .name = name, .type = "Reshape", .ni = 1, .in = { *x }, .no = 1, .out = { *y } };
    OK(op_add(g, &o));
}

static void gru(struct stream *s, const Qnn_Tensor_t *x, uint32_t inp, const Qnn_Tensor_t *y, const Qnn_Tensor_t *h)
{
    struct op o = {
        .name = "gru", .type = "Gru", .np = 1, .ni = s->stateful ? 15 : 7, .in = { *x }, .no = 2, .out = { *y, *h }
    };
    for (uint32_t i = 1; i < 7; i++)
        o.in[i] = weight(s->graph, 2, STREAM_OUT, i < 4 ? inp : STREAM_OUT);
    for (uint32_t i = 7; i < 14; i++)
        o.in[i] = tensor_absent();
    o.in[14] = s->reset;
    o.p[0] = param_bool("time_major", false);
    OK(op_add(s->graph, &o));
}

static void lstm(struct stream *s, const Qnn_Tensor_t *x, const Qnn_Tensor_t *y, const Qnn_Tensor_t *c,
                 const Qnn_Tensor_t *h)
{
    struct op o = {
        .name = "lstm", .type = "Lstm", .np = 1, .ni = s->stateful ? 25 : 22, .in = { *x }, .no = 3, .out = { *y, *c, *h }
    };
    for (uint32_t i = 1; i < 24; i++) {
        bool matrix = (i >= 1 && i <= 6) || i == 16 || i == 17, bias = (i >= 7 && i <= 9) || i == 21;
        o.in[i] = matrix ? weight(s->graph, 2, STREAM_OUT, STREAM_OUT)
                  : bias ? weight(s->graph, 1, STREAM_OUT, 0)
                         : tensor_absent();
    }
    o.in[24] = s->reset;
    o.p[0] = param_bool("time_major", false);
    OK(op_add(s->graph, &o));
}

static void begin(struct stream *s, enum kit_lib lib, uint32_t bits, uint32_t time, bool stateful)
{
    *s = (struct stream){ .lib = lib, .bits = bits, .time = time, .stateful = stateful };
    serial = 0;
    kit_use(lib);
    OK(kit_backend(0, QNN_LPAI_BACKEND_TARGET_X86, &s->backend));
    OK(q.contextCreate(s->backend, NULL, NULL, &s->context));
    OK(q.graphCreate(s->context, "stream", NULL, &s->graph));
    s->x = stream_tensor(s->graph, "x", QNN_TENSOR_TYPE_APP_WRITE, bits, 3, (uint32_t[]){ 1, time, STREAM_IN });
    if (stateful)
        s->reset = stream_flag(s->graph, "reset");
    s->y = stream_tensor(s->graph, "y", QNN_TENSOR_TYPE_APP_READ, bits, 3, (uint32_t[]){ 1, time, STREAM_OUT });
}

static void layers(struct stream *s, const Qnn_Tensor_t *x, uint32_t inp)
{
    const uint32_t seq[] = { 1, s->time, STREAM_OUT }, one[] = { 1, STREAM_OUT }, last[] = { 1, 1, STREAM_OUT };
    Qnn_Tensor_t g = stream_tensor(s->graph, "g", QNN_TENSOR_TYPE_NATIVE, s->bits, 3, seq),
                 gh = stream_tensor(s->graph, "gh", QNN_TENSOR_TYPE_NATIVE, s->bits, 3, last),
                 c = stream_tensor(s->graph, "c", QNN_TENSOR_TYPE_NATIVE, s->bits, 2, one),
                 h = stream_tensor(s->graph, "h", QNN_TENSOR_TYPE_NATIVE, s->bits, 2, one);
    gru(s, x, inp, &g, &gh);
    lstm(s, &g, &s->y, &c, &h);
}

void stream_pools(Qnn_GraphHandle_t g, bool high, struct guarded *scratch, struct guarded *persistent)
{
    *scratch = guarded_new(kit_size(g, QNN_LPAI_GRAPH_GET_PROP_SCRATCH_MEM_SIZE), high);
    *persistent = guarded_new(kit_size(g, QNN_LPAI_GRAPH_GET_PROP_PERSISTENT_MEM_SIZE), high);
    OK(kit_pool(g, QNN_LPAI_GRAPH_SET_CFG_SCRATCH_MEM, scratch->data, (uint32_t)scratch->bytes));
    OK(kit_pool(g, QNN_LPAI_GRAPH_SET_CFG_PERSISTENT_MEM, persistent->data, (uint32_t)persistent->bytes));
    OK(q.graphFinalize(g, NULL, NULL));
}

static void finish(struct stream *s, bool high)
{
    OK(q.graphFinalize(s->graph, NULL, NULL));
    if (s->lib == KIT_LPAI)
        stream_pools(s->graph, high, &s->scratch, &s->persistent);
}

void stream_open(struct stream *s, enum kit_lib lib, uint32_t bits, bool high)
{
    begin(s, lib, bits, 1, true);
    Qnn_Tensor_t w = stream_tensor(s->graph, "w", QNN_TENSOR_TYPE_NATIVE, bits, 3,
                                   (uint32_t[]){ 1, STREAM_WINDOW, STREAM_IN }),
                 flat = stream_tensor(s->graph, "flat", QNN_TENSOR_TYPE_NATIVE, bits, 2,
                                      (uint32_t[]){ 1, STREAM_WINDOW * STREAM_IN }),
                 f = stream_tensor(s->graph, "f", QNN_TENSOR_TYPE_NATIVE, bits, 2, (uint32_t[]){ 1, STREAM_OUT }),
                 seq = stream_tensor(s->graph, "seq", QNN_TENSOR_TYPE_NATIVE, bits, 3, (uint32_t[]){ 1, 1, STREAM_OUT });
    OK(stream_buffer(s->graph, "buffer", STREAM_WINDOW, QNN_OP_BUFFER_MODE_NON_BLOCKING_RIGHT, &s->x, &s->reset, &w));
    reshape(s->graph, "flatten", &w, &flat);
    struct op o = { .name = "fc",
                    .type = "FullyConnected",
                    .ni = 2,
                    .in = { flat, weight(s->graph, 2, STREAM_OUT, STREAM_WINDOW * STREAM_IN) },
                    .no = 1,
                    .out = { f } };
    OK(op_add(s->graph, &o));
    reshape(s->graph, "sequence", &f, &seq);
    layers(s, &seq, STREAM_OUT);
    finish(s, high);
}

void stream_open_layers(struct stream *s, enum kit_lib lib, uint32_t bits, uint32_t time, bool stateful)
{
    begin(s, lib, bits, time, stateful);
    layers(s, &s->x, STREAM_IN);
    finish(s, true);
}

void stream_close(struct stream *s)
{
    kit_use(s->lib);
    OK(q.contextFree(s->context, NULL));
    OK(q.backendFree(s->backend));
    if (s->lib == KIT_LPAI) {
        guarded_free(&s->scratch);
        guarded_free(&s->persistent);
    }
}

Qnn_ErrorHandle_t stream_run(const struct stream *s, const void *x, bool reset, void *y)
{
    static _Alignas(64) uint8_t flag[64];
    uint32_t bytes = s->bits / 8 * s->time;
    flag[0] = reset;
    Qnn_Tensor_t in[2] = { tensor_data(s->x, x, STREAM_IN * bytes), tensor_data(s->reset, flag, 1) },
                 out = tensor_data(s->y, y, STREAM_OUT * bytes);
    kit_use(s->lib);
    return q.graphExecute(s->graph, in, s->stateful ? 2 : 1, &out, 1, NULL, NULL);
}
