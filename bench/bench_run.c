/* SPDX-License-Identifier: Apache-2.0 */
/* See bench_run.h. */
#include "bench_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

static void *checked(void *p)
{
    if (!p)
        client_check(QNN_COMMON_ERROR_MEM_ALLOC, "allocation");
    return p;
}

struct product product_make(const char *name, net_fn *net, enum net_type type, const QnnGraph_Config_t **configs)
{
    static struct net layers;
    static struct net_builder b;
    struct session s = { NULL, NULL };
    struct product p = { 0 };
    Qnn_ContextBinarySize_t need = 0, written = 0;
    net_make(&layers, net, 1);
    b.net = &layers;
    b.type = type;
    session_open(&s, 1);
    uint64_t t0 = clock_ns();
    CHECK(qnn.graphCreate(s.context, name, configs, &b.graph));
    net_build(&b);
    uint64_t t1 = clock_ns();
    CHECK(qnn.graphFinalize(b.graph, NULL, NULL));
    uint64_t t2 = clock_ns();
    CHECK(qnn.contextGetBinarySize(s.context, &need));
    p.data = checked(malloc(need));
    CHECK(qnn.contextGetBinary(s.context, p.data, need, &written));
    p.size = written;
    p.compose_ns = t1 - t0;
    p.finalize_ns = t2 - t1;
    session_close(&s);
    net_builder_finish(&b);
    if (binary_open(p.data, p.size, &p.binary) != ST_OK) {
        fprintf(stderr, "bench: %s\n", status_text());
        exit(1);
    }
    p.graph = &p.binary.graphs[0];
    return p;
}

void product_free(struct product *p)
{
    binary_close(&p->binary);
    free(p->data);
}

static Qnn_DataType_t client_type(enum dtype t)
{
    return t == DT_F32    ? QNN_DATATYPE_FLOAT_32
           : t == DT_F16  ? QNN_DATATYPE_FLOAT_16
           : t == DT_UQ16 ? QNN_DATATYPE_UFIXED_POINT_16
                          : QNN_DATATYPE_UFIXED_POINT_8;
}

/* Numbers between -2 and 2, or any bits of fixed point. */
static void fill(void *data, enum dtype t, uint64_t bytes)
{
    static const uint16_t halves[] = { 0xc000, 0xbc00, 0xb800, 0x3400, 0x3800, 0x3c00, 0x4000 };
    for (uint64_t i = 0; t == DT_F32 && i < bytes / 4; i++)
        ((float *)data)[i] = (float)(i * 37 % 255) / 64.0f - 2.0f;
    for (uint64_t i = 0; t == DT_F16 && i < bytes / 2; i++)
        ((uint16_t *)data)[i] = halves[i * 5 % 7];
    for (uint64_t i = 0; dtype_is_fixed(t) && i < bytes; i++)
        ((uint8_t *)data)[i] = (uint8_t)(i * 37);
}

static void tensor(struct runnable *r, int which, const struct binary_tensor *t, uint32_t batch)
{
    Qnn_Tensor_t *q = which ? &r->out : &r->in;
    *q = (Qnn_Tensor_t)QNN_TENSOR_INIT;
    q->version = QNN_TENSOR_VERSION_1;
    q->v1.id = t->client_id;
    q->v1.name = t->name;
    q->v1.type = which ? QNN_TENSOR_TYPE_APP_READ : QNN_TENSOR_TYPE_APP_WRITE;
    q->v1.dataType = client_type(t->desc.type);
    q->v1.rank = t->desc.rank;
    memcpy(r->dims[which], t->desc.dims, sizeof r->dims[which]);
    r->dims[which][0] *= batch;
    q->v1.dimensions = r->dims[which];
    uint64_t bytes = desc_bytes(&t->desc) * batch;
    r->data[which] = checked(calloc(1, bytes));
    fill(r->data[which], t->desc.type, bytes);
    q->v1.clientBuf = (Qnn_ClientBuffer_t){ .data = r->data[which], .dataSize = (uint32_t)bytes };
}

void runnable_open(struct runnable *r, const struct product *p, unsigned threads, uint32_t batch)
{
    *r = (struct runnable){ .graph = NULL };
    session_load(&r->s, threads, p->data, p->size, true);
    CHECK(qnn.graphRetrieve(r->s.context, p->graph->info.name, &r->graph));
    tensor(r, 0, &p->graph->tensors[p->graph->io[0]], batch);
    tensor(r, 1, &p->graph->tensors[p->graph->io[1]], batch);
}

void runnable_run(void *arg)
{
    struct runnable *r = arg;
    CHECK(qnn.graphExecute(r->graph, &r->in, 1, &r->out, 1, NULL, NULL));
}

void runnable_close(struct runnable *r)
{
    session_close(&r->s);
    free(r->data[0]);
    free(r->data[1]);
}
