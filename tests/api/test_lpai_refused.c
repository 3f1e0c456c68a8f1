/* SPDX-License-Identifier: Apache-2.0 */
/* libQnnLpai.so and what must not be believed: every wrong pool, buffer and option gets its error, a sentence that says what
 * to do, and leaves the graph as it was. Persistent memory is tested with a binary made here, whose one state adds up its
 * inputs. */
#include "lpai_kit.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "binary/binary.h"

#define SCRATCH QNN_LPAI_GRAPH_SET_CFG_SCRATCH_MEM
#define PERSISTENT QNN_LPAI_GRAPH_SET_CFG_PERSISTENT_MEM
#define BAD QNN_GRAPH_ERROR_INVALID_ARGUMENT

static _Alignas(64) uint8_t x[KIT_IN * 2 + 64], y[128];

/* ---- a graph with a state --------------------------------------------------------------------------------------------- */

enum { STATE_N = 40, PAGE = 4096 };

static struct kit_binary sum_binary(uint64_t scratch_bytes)
{
    const struct quant e = { .kind = Q_TENSOR, .definition = 1, .scale = 1, .offset = 0 };
    const struct tensor_desc d = { .type = DT_UQ8, .rank = 1, .dims = { STATE_N }, .q = e };
    const struct binary_tensor tensors[] = {
        { .name = "in",
          .desc = d,
          .place = PLACE_IO,
          .io = 1,
          .client_id = 1,
          .client_type = QNN_TENSOR_TYPE_APP_WRITE,
          .offset = 0,
          .bytes = STATE_N },
        { .name = "out",
          .desc = d,
          .place = PLACE_IO,
          .io = 2,
          .client_id = 2,
          .client_type = QNN_TENSOR_TYPE_APP_READ,
          .offset = 1,
          .bytes = STATE_N },
        { .name = "state", .desc = d, .place = PLACE_PERSISTENT, .offset = 0, .bytes = STATE_N },
    };
    const void *data[3] = { NULL, NULL, NULL };
    const uint32_t add_in[] = { 0, 2 }, state = 2, out = 1;
    const struct binary_node nodes[] = {
        { .name = "add",
          .op = op_find("ElementWiseAdd"),
          .n_in = 2,
          .n_out = 1,
          .in = add_in,
          .out = &state,
          .work_bytes = scratch_bytes, /* unused bytes would be refused */
          .post = OP_POST_NONE },
        { .name = "copy", .op = op_find("Reshape"), .n_in = 1, .n_out = 1, .in = &state, .out = &out, .post = OP_POST_NONE },
    };
    const struct binary_command commands[] = { { .node = 0, .end = UINT32_MAX, .step = 0 },
                                               { .node = 1, .end = UINT32_MAX, .step = 1 } };
    const struct binary_source source = {
        .info = { .name = "sum",
                  .n_inputs = 1,
                  .n_outputs = 1,
                  .persistent_bytes = STATE_N,
                  .scratch_bytes = scratch_bytes,
                  .scratch_align = 64 },
        .n_tensors = COUNT(tensors),
        .n_nodes = COUNT(nodes),
        .n_commands = COUNT(commands),
        .tensors = tensors,
        .data = data,
        .nodes = nodes,
        .commands = commands,
    };
    const struct binary_target target = { .backend_id = QNN_BACKEND_ID_LPAI,
                                          .arch = QNN_LPAI_BACKEND_HW_VERSION_V6,
                                          .build_id = "test" };
    struct binary_image im = { .data = NULL };
    if (binary_write(&target, &source, &im) != ST_OK)
        fail_msg("%s", status_text());
    struct kit_binary b = { aligned_alloc(4096, (im.size + 4095) / 4096 * 4096), im.size };
    memcpy(b.data, im.data, im.size);
    binary_image_free(&im);
    return b;
}

struct summing {
    Qnn_BackendHandle_t backend;
    Qnn_ContextHandle_t context;
    Qnn_GraphHandle_t graph;
};

static struct summing sum_open(const struct kit_binary *b)
{
    struct summing s;
    OK(kit_backend(0, QNN_LPAI_BACKEND_TARGET_X86, &s.backend));
    OK(q.contextCreateFromBinary(s.backend, NULL, NULL, b->data, b->size, &s.context, NULL));
    OK(q.graphRetrieve(s.context, "sum", &s.graph));
    return s;
}

static void sum_close(struct summing *s)
{
    OK(q.contextFree(s->context, NULL));
    OK(q.backendFree(s->backend));
}

static Qnn_ErrorHandle_t sum_run(Qnn_GraphHandle_t g, uint8_t value)
{
    Qnn_Tensor_t in = TENSOR("in", APP_WRITE, UFIXED_POINT_8, STATE_N),
                 out = TENSOR("out", APP_READ, UFIXED_POINT_8, STATE_N);
    TV(in).id = 1;
    TV(out).id = 2;
    memset(x, value, STATE_N);
    in = tensor_data(in, x, STATE_N);
    out = tensor_data(out, y, STATE_N);
    return q.graphExecute(g, &in, 1, &out, 1, NULL, NULL);
}

static void sum_step(Qnn_GraphHandle_t g, uint8_t value, uint8_t want)
{
    OK(sum_run(g, value));
    for (int i = 0; i < STATE_N; i++)
        assert_int_equal(y[i], want);
}

static void test_state(void **state)
{
    (void)state;
    struct kit_binary b = sum_binary(0);
    struct summing s = sum_open(&b), t = sum_open(&b);
    assert_int_equal(kit_size(s.graph, QNN_LPAI_GRAPH_GET_PROP_SCRATCH_MEM_SIZE), 0);
    assert_int_equal(kit_size(s.graph, QNN_LPAI_GRAPH_GET_PROP_PERSISTENT_MEM_SIZE), 64);
    struct guarded p = guarded_new(64, true), p2 = guarded_new(64, false);
    FAILS_SAYING(QNN_GRAPH_ERROR_FINALIZE_FAILED, "persistent", q.graphFinalize(s.graph, NULL, NULL));
    OK(kit_pool(s.graph, PERSISTENT, p.data, 64));
    OK(q.graphFinalize(s.graph, NULL, NULL));
    sum_step(s.graph, 3, 3); /* whatever was in the memory before, a state starts at zero */
    sum_step(s.graph, 4, 7);
    FAILS_SAYING(QNN_GRAPH_ERROR_GRAPH_FINALIZED, "keeps state", kit_pool(s.graph, PERSISTENT, p2.data, 64));
    OK(kit_pool(s.graph, PERSISTENT, p.data, 64)); /* the same again changes nothing */
    sum_step(s.graph, 5, 12);
    OK(kit_pool(t.graph, PERSISTENT, p.data, 64)); /* a state belongs to one graph */
    FAILS_SAYING(BAD, "only scratch may be shared", q.graphFinalize(t.graph, NULL, NULL));
    OK(kit_pool(t.graph, PERSISTENT, p2.data, 64));
    OK(q.graphFinalize(t.graph, NULL, NULL));
    sum_step(t.graph, 100, 100);
    sum_step(s.graph, 1, 13);
    sum_step(t.graph, 1, 101);
    sum_close(&s);
    sum_close(&t);
    guarded_free(&p);
    guarded_free(&p2);
    free(b.data);
}

/* One graph's state is nobody's scratch, whichever of the two comes first; scratch of both may be the same. */
static void test_state_over_scratch(void **state)
{
    (void)state;
    struct kit_binary b = sum_binary(64);
    struct summing s = sum_open(&b), t = sum_open(&b);
    struct guarded p[] = { guarded_new(64, true), guarded_new(64, true), guarded_new(64, true) };
    OK(kit_pool(s.graph, SCRATCH, p[0].data, 64));
    OK(kit_pool(s.graph, PERSISTENT, p[1].data, 64));
    OK(q.graphFinalize(s.graph, NULL, NULL));
    OK(kit_pool(t.graph, SCRATCH, p[2].data, 64));
    OK(kit_pool(t.graph, PERSISTENT, p[0].data, 64));
    FAILS_SAYING(BAD, "only scratch may be shared", q.graphFinalize(t.graph, NULL, NULL));
    sum_close(&t);
    t = sum_open(&b);
    OK(kit_pool(t.graph, SCRATCH, p[1].data, 64));
    OK(kit_pool(t.graph, PERSISTENT, p[2].data, 64));
    FAILS_SAYING(BAD, "only scratch may be shared", q.graphFinalize(t.graph, NULL, NULL));
    OK(kit_pool(t.graph, SCRATCH, p[0].data, 64));
    OK(q.graphFinalize(t.graph, NULL, NULL));
    sum_step(s.graph, 3, 3);
    sum_step(t.graph, 100, 100);
    sum_step(s.graph, 4, 7);
    sum_close(&s);
    sum_close(&t);
    for (unsigned i = 0; i < COUNT(p); i++)
        guarded_free(&p[i]);
    free(b.data);
}

/* ---- pools ------------------------------------------------------------------------------------------------------------ */

struct fixture {
    struct kit_binary b;
    struct kit_loaded l;
    struct guarded s;
    uint8_t want[KIT_OUT];
};

/* Addresses with nothing behind them, between pages that stay: the next mapping that somebody makes is not put there. */
static uint8_t *hole(size_t bytes)
{
    uint8_t *at = mmap(NULL, bytes + 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(at != MAP_FAILED);
    munmap(at + PAGE, bytes);
    return at + PAGE;
}

static void open_fixture(struct fixture *f)
{
    f->b = kit_binary(8, 0);
    kit_load(&f->b, 8, &f->l);
    f->s = guarded_new(f->l.scratch, true);
    kit_expected(8, 11, f->want);
}

static void still_right(struct fixture *f)
{
    kit_fill(x, KIT_IN, 11);
    OK(kit_run(&f->l.net, x, y));
    assert_memory_equal(y, f->want, KIT_OUT);
}

static void close_fixture(struct fixture *f)
{
    kit_unload(&f->l);
    guarded_free(&f->s);
    free(f->b.data);
}

static void refused_pools(Qnn_GraphHandle_t g, uint8_t *good, uint32_t size)
{
    uint8_t *read_only = mmap(NULL, size + 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint8_t *gone = hole(4 * PAGE);
    FAILS_SAYING(BAD, "multiple of 64", kit_pool(g, SCRATCH, good + 1, size));
    FAILS_SAYING(BAD, "multiple of 64", kit_pool(g, SCRATCH, good + 32, size));
    FAILS_SAYING(BAD, "SCRATCH_MEM_SIZE", kit_pool(g, SCRATCH, good, size - 64));
    FAILS_SAYING(BAD, "SCRATCH_MEM_SIZE", kit_pool(g, SCRATCH, good, 0));
    FAILS_SAYING(BAD, "multiple of 64", kit_pool(g, SCRATCH, good, size + 1));
    FAILS_SAYING(BAD, "NULL", kit_pool(g, SCRATCH, NULL, size));
    FAILS_SAYING(BAD, "NULL", kit_pool(g, SCRATCH, NULL, 0));
    FAILS_SAYING(BAD, "writable", kit_pool(g, SCRATCH, read_only, size));
    FAILS_SAYING(BAD, "writable", kit_pool(g, SCRATCH, gone, size));
    FAILS_SAYING(BAD, "writable", kit_pool(g, SCRATCH, good + 64, size)); /* the last 64 bytes are a guard page */
    FAILS_SAYING(BAD, "address space", kit_pool(g, SCRATCH, (void *)(UINTPTR_MAX - 63), size));
    QnnLpaiGraph_Mem_t m = { QNN_LPAI_MEM_TYPE_TCM, size, good };
    FAILS_SAYING(BAD, "TCM", kit_config(g, SCRATCH, &m));
    m.memType = QNN_LPAI_MEM_TYPE_UNDEFINED;
    FAILS_SAYING(BAD, "memory type", kit_config(g, SCRATCH, &m));
    FAILS_SAYING(BAD, "NULL", kit_config(g, SCRATCH, NULL));
    FAILS_SAYING(BAD, "unknown", kit_config(g, 999, good));
    munmap(read_only, size + 4096);
}

static void test_pools_refused(void **state)
{
    (void)state;
    struct fixture f;
    open_fixture(&f);
    Qnn_GraphHandle_t g = f.l.net.graph;
    FAILS_SAYING(QNN_GRAPH_ERROR_GRAPH_NOT_FINALIZED, "QnnGraph_finalize", kit_run(&f.l.net, x, y));
    FAILS_SAYING(QNN_GRAPH_ERROR_FINALIZE_FAILED, "SCRATCH_MEM", q.graphFinalize(g, NULL, NULL));
    refused_pools(g, f.s.data, f.l.scratch);
    FAILS(QNN_GRAPH_ERROR_FINALIZE_FAILED, q.graphFinalize(g, NULL, NULL)); /* nothing of that was kept */
    OK(kit_pool(g, SCRATCH, f.s.data, f.l.scratch));
    refused_pools(g, f.s.data, f.l.scratch);
    FAILS_SAYING(BAD, "overlap", kit_pool(g, PERSISTENT, f.s.data + f.l.scratch - 64, 64));
    FAILS_SAYING(BAD, "overlap", kit_pool(g, PERSISTENT, f.s.data, 64));
    OK(q.graphFinalize(g, NULL, NULL));
    still_right(&f);
    refused_pools(g, f.s.data, f.l.scratch);
    still_right(&f);
    QnnLpaiGraph_CustomConfigPrepare_t prepare = { 0, NULL };
    FAILS_SAYING(QNN_GRAPH_ERROR_GRAPH_FINALIZED, "compil", kit_config(g, QNN_LPAI_GRAPH_SET_CFG_PREPARE, &prepare));
    FAILS(QNN_GRAPH_ERROR_GRAPH_FINALIZED, q.graphFinalize(g, NULL, NULL));
    OK(q.contextFree(f.l.context, NULL));
    FAILS(QNN_GRAPH_ERROR_INVALID_HANDLE, kit_pool(g, SCRATCH, f.s.data, f.l.scratch));
    FAILS(QNN_GRAPH_ERROR_INVALID_HANDLE, kit_run(&f.l.net, x, y));
    FAILS(QNN_GRAPH_ERROR_INVALID_HANDLE, q.graphFinalize(g, NULL, NULL));
    OK(q.backendFree(f.l.backend));
    guarded_free(&f.s);
    free(f.b.data);
}

/* All entries of one call are taken, or none. */
static void test_list_is_atomic(void **state)
{
    (void)state;
    struct fixture f;
    open_fixture(&f);
    Qnn_GraphHandle_t g = f.l.net.graph;
    QnnLpaiGraph_Mem_t good = { QNN_LPAI_MEM_TYPE_DDR, f.l.scratch, f.s.data };
    QnnLpaiGraph_PerfCfg_t bad = { 0, 10, QNN_LPAI_GRAPH_CLIENT_PERF_TYPE_REAL_TIME };
    QnnLpaiGraph_CustomConfig_t first = { SCRATCH, &good }, second = { QNN_LPAI_GRAPH_SET_CFG_PERF_CFG, &bad };
    QnnGraph_Config_t a = { .option = QNN_GRAPH_CONFIG_OPTION_CUSTOM, .customConfig = &first },
                      b = { .option = QNN_GRAPH_CONFIG_OPTION_CUSTOM, .customConfig = &second };
    const QnnGraph_Config_t *list[] = { &a, &b, NULL };
    FAILS_SAYING(BAD, "frames per second", q.graphSetConfig(g, list));
    FAILS(QNN_GRAPH_ERROR_FINALIZE_FAILED, q.graphFinalize(g, NULL, NULL));
    bad.fps = 30;
    OK(q.graphSetConfig(g, list));
    OK(q.graphFinalize(g, NULL, NULL));
    still_right(&f);
    close_fixture(&f);
}

/* Scratch that is unmapped behind the backend's back is noticed before it is touched. */
static void test_scratch_gone(void **state)
{
    (void)state;
    struct fixture f;
    open_fixture(&f);
    struct guarded s = guarded_new(f.l.scratch, true);
    OK(kit_pool(f.l.net.graph, SCRATCH, s.data, f.l.scratch));
    OK(q.graphFinalize(f.l.net.graph, NULL, NULL));
    guarded_free(&s);
    FAILS_SAYING(BAD, "not there any more", kit_run(&f.l.net, x, y));
    OK(kit_pool(f.l.net.graph, SCRATCH, f.s.data, f.l.scratch));
    still_right(&f);
    close_fixture(&f);
}

/* So is memory that was made read-only, whichever pool it is. */
static void test_pools_read_only(void **state)
{
    (void)state;
    struct fixture f;
    open_fixture(&f);
    struct guarded s = guarded_new(f.l.scratch, true);
    size_t inner = s.map_bytes - 2 * (size_t)PAGE;
    OK(kit_pool(f.l.net.graph, SCRATCH, s.data, f.l.scratch));
    OK(q.graphFinalize(f.l.net.graph, NULL, NULL));
    assert_int_equal(mprotect(s.map + PAGE, inner, PROT_READ), 0);
    FAILS_SAYING(BAD, "scratch", kit_run(&f.l.net, x, y));
    FAILS_SAYING(BAD, "cannot be written any more", kit_run(&f.l.net, x, y));
    assert_int_equal(mprotect(s.map + PAGE, inner, PROT_READ | PROT_WRITE), 0);
    still_right(&f);
    close_fixture(&f);
    guarded_free(&s);
    struct kit_binary b = sum_binary(0);
    struct summing sum = sum_open(&b);
    struct guarded p = guarded_new(64, true);
    OK(kit_pool(sum.graph, PERSISTENT, p.data, 64));
    OK(q.graphFinalize(sum.graph, NULL, NULL));
    sum_step(sum.graph, 3, 3);
    assert_int_equal(mprotect(p.map + PAGE, PAGE, PROT_READ), 0);
    FAILS_SAYING(BAD, "persistent", sum_run(sum.graph, 3));
    assert_int_equal(mprotect(p.map + PAGE, PAGE, PROT_READ | PROT_WRITE), 0);
    sum_step(sum.graph, 3, 6); /* the state is what it was */
    sum_close(&sum);
    guarded_free(&p);
    free(b.data);
}

/* Persistent memory is needed until the context is freed, and no longer. */
static void test_persistent_until_free(void **state)
{
    (void)state;
    struct kit_binary b = sum_binary(0);
    struct summing s = sum_open(&b);
    struct guarded p = guarded_new(64, true);
    OK(kit_pool(s.graph, PERSISTENT, p.data, 64));
    OK(q.graphFinalize(s.graph, NULL, NULL));
    sum_step(s.graph, 2, 2);
    sum_close(&s);
    guarded_free(&p);
    s = sum_open(&b);
    p = guarded_new(64, false);
    OK(kit_pool(s.graph, PERSISTENT, p.data, 64));
    OK(q.graphFinalize(s.graph, NULL, NULL));
    sum_step(s.graph, 5, 5);
    guarded_free(&p); /* too early: an error, and freeing the context touches it no more */
    FAILS_SAYING(BAD, "until QnnContext_free", sum_run(s.graph, 3));
    sum_close(&s);
    free(b.data);
}

/* ---- buffers of tensors ----------------------------------------------------------------------------------------------- */

static void test_io_refused(void **state)
{
    (void)state;
    struct fixture f;
    open_fixture(&f);
    const struct kit_net *n = &f.l.net;
    OK(kit_pool(n->graph, SCRATCH, f.s.data, f.l.scratch));
    OK(q.graphFinalize(n->graph, NULL, NULL));
    uint8_t *gone = hole(PAGE);
    OpenQnnLpaiGraph_IoRoom_t room = { "net_x", 0, 0 };
    OK(kit_property(n->graph, OPENQNN_LPAI_GRAPH_GET_PROP_IO_ROOM, &room));
    FAILS_SAYING(QNN_GRAPH_ERROR_INVALID_TENSOR, "ALIGNMENT_REQ", kit_run(n, x + 1, y));
    FAILS_SAYING(QNN_GRAPH_ERROR_INVALID_TENSOR, "ALIGNMENT_REQ", kit_run(n, x, y + 16));
    FAILS_SAYING(QNN_GRAPH_ERROR_INVALID_TENSOR, "no memory", kit_run(n, gone, y));
    FAILS_SAYING(QNN_GRAPH_ERROR_INVALID_TENSOR, "scratch", kit_run(n, f.s.data + room.offset + 64, y));
    FAILS_SAYING(QNN_GRAPH_ERROR_INVALID_TENSOR, "scratch", kit_run(n, x, f.s.data + room.offset));
    Qnn_Tensor_t in = tensor_data(n->x, x, KIT_IN - 1), out = tensor_data(n->y, y, KIT_OUT);
    FAILS(QNN_GRAPH_ERROR_INVALID_TENSOR, q.graphExecute(n->graph, &in, 1, &out, 1, NULL, NULL));
    still_right(&f);
    /* Rights of pages: an output must be writable, an input readable, whatever was there before. */
    uint8_t *page = mmap(hole(2 * PAGE), 2 * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    FAILS_SAYING(QNN_GRAPH_ERROR_INVALID_TENSOR, "can be written", kit_run(n, x, page));
    kit_fill(x, KIT_IN, 11);
    OK(kit_run(n, page, y)); /* an input may be read-only */
    mprotect(page, 2 * PAGE, PROT_NONE);
    FAILS_SAYING(QNN_GRAPH_ERROR_INVALID_TENSOR, "can be read", kit_run(n, page, y));
    mprotect(page, PAGE, PROT_READ | PROT_WRITE);
    OK(kit_run(n, page, y));
    OK(kit_run(n, x, page));
    FAILS_SAYING(QNN_GRAPH_ERROR_INVALID_TENSOR, "can be read", kit_run(n, page + PAGE - 64, y)); /* ends in the next page */
    mprotect(page, PAGE, PROT_READ);
    FAILS_SAYING(QNN_GRAPH_ERROR_INVALID_TENSOR, "can be written", kit_run(n, x, page));
    munmap(page, 2 * PAGE);
    FAILS_SAYING(QNN_GRAPH_ERROR_INVALID_TENSOR, "\"net_y\"", kit_run(n, x, page));
    FAILS_SAYING(QNN_GRAPH_ERROR_INVALID_TENSOR, "overlap", kit_run(n, x, x));
    FAILS_SAYING(QNN_GRAPH_ERROR_INVALID_TENSOR, "overlap", kit_run(n, x, x + KIT_IN - 64));
    still_right(&f);
    close_fixture(&f);
}

/* ---- registered memory ------------------------------------------------------------------------------------------------ */

static Qnn_ErrorHandle_t register_part(Qnn_ContextHandle_t c, int fd, uint32_t offset, Qnn_Tensor_t *t)
{
    QnnLpaiMem_MemInfoCustom_t part = { fd, offset };
    Qnn_MemDescriptor_t d = { .memShape = { TV(*t).rank, TV(*t).dimensions, NULL },
                              .dataType = TV(*t).dataType,
                              .memType = QNN_MEM_TYPE_CUSTOM };
    d.customInfo = &part;
    TV(*t).memType = QNN_TENSORMEMTYPE_MEMHANDLE;
    return q.memRegister(c, &d, 1, &TV(*t).memHandle);
}

static void test_registered_memory(void **state)
{
    (void)state;
    struct fixture f;
    open_fixture(&f);
    Qnn_Tensor_t in = f.l.net.x, out = tensor_data(f.l.net.y, y, KIT_OUT), other = f.l.net.x, small = f.l.net.y;
    Qnn_GraphHandle_t g = f.l.net.graph;
    OK(kit_pool(g, SCRATCH, f.s.data, f.l.scratch));
    OK(q.graphFinalize(g, NULL, NULL));
    int fd = memfd_create("part", MFD_CLOEXEC), closed = memfd_create("closed", MFD_CLOEXEC), read_only;
    char path[64];
    assert_int_equal(ftruncate(fd, 2 * PAGE), 0);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    read_only = open(path, O_RDONLY | O_CLOEXEC);
    close(closed);
    FAILS_SAYING(QNN_MEM_ERROR_MAPPING, "cannot be mapped", register_part(f.l.context, closed, 0, &other));
    FAILS_SAYING(QNN_MEM_ERROR_MAPPING, "could not be mapped", register_part(f.l.context, read_only, 0, &other));
    FAILS_SAYING(QNN_MEM_ERROR_MAPPING, "do not fit", register_part(f.l.context, fd, 2 * PAGE, &other));
    FAILS_SAYING(QNN_MEM_ERROR_MAPPING, "do not fit", register_part(f.l.context, fd, 2 * PAGE - 64, &other));
    FAILS_SAYING(QNN_MEM_ERROR_MAPPING, "do not fit", register_part(f.l.context, fd, UINT32_MAX - 63, &other));
    FAILS_SAYING(QNN_MEM_ERROR_INVALID_ARGUMENT, "multiple of 64", register_part(f.l.context, fd, 32, &other));
    OK(register_part(f.l.context, fd, PAGE, &in));
    OK(register_part(f.l.context, fd, 0, &small));
    kit_fill(x, KIT_IN, 11);
    assert_int_equal(pwrite(fd, x, KIT_IN, PAGE), KIT_IN);
    close(fd); /* the registration has the memory, not the descriptor */
    OK(q.graphExecute(g, &in, 1, &out, 1, NULL, NULL));
    assert_memory_equal(y, f.want, KIT_OUT);
    Qnn_Tensor_t too_small = in;
    TV(too_small).memHandle = TV(small).memHandle;
    FAILS_SAYING(QNN_GRAPH_ERROR_INVALID_TENSOR, "needs 256 bytes", q.graphExecute(g, &too_small, 1, &out, 1, NULL, NULL));
    snprintf(path, sizeof path, "/proc/self/fd/%d", read_only);
    int again = open(path, O_RDWR | O_CLOEXEC); /* somebody shortens the file behind the registration */
    assert_int_equal(ftruncate(again, PAGE), 0);
    FAILS_SAYING(QNN_GRAPH_ERROR_INVALID_TENSOR, "no memory for 256 bytes", q.graphExecute(g, &in, 1, &out, 1, NULL, NULL));
    OK(q.memDeRegister(&TV(in).memHandle, 1));
    FAILS_SAYING(QNN_GRAPH_ERROR_INVALID_TENSOR, "memory handle", q.graphExecute(g, &in, 1, &out, 1, NULL, NULL));
    FAILS(QNN_MEM_ERROR_INVALID_HANDLE, q.memDeRegister(&TV(in).memHandle, 1));
    still_right(&f);
    close(again);
    close(read_only);
    close_fixture(&f); /* frees what is still registered */
}

/* ---- sizes beyond 32 bits --------------------------------------------------------------------------------------------- */

static void test_beyond_32_bits(void **state)
{
    (void)state;
    enum { LARGE = 3000000000u };
    Qnn_BackendHandle_t b;
    Qnn_ContextHandle_t c;
    Qnn_GraphHandle_t g;
    OK(kit_backend(0, QNN_LPAI_BACKEND_TARGET_X86, &b));
    OK(q.contextCreate(b, NULL, NULL, &c));
    OK(q.graphCreate(c, "large", NULL, &g));
    Qnn_Tensor_t in = tensor_quant(TENSOR("in", APP_WRITE, UFIXED_POINT_8, 1, LARGE), 1, 0),
                 out = tensor_quant(TENSOR("out", APP_READ, UFIXED_POINT_8, 1, LARGE), 1, 0),
                 mid = tensor_quant(TENSOR("mid", NATIVE, UFIXED_POINT_8, 1, LARGE), 1, 0);
    OK(q.tensorCreateGraphTensor(g, &in));
    OK(q.tensorCreateGraphTensor(g, &out));
    OK(q.tensorCreateGraphTensor(g, &mid));
    struct op relu = { .name = "relu", .type = "Relu", .ni = 1, .in = { in }, .no = 1, .out = { mid } };
    struct op add = { .name = "add", .type = "ElementWiseAdd", .ni = 2, .in = { in, mid }, .no = 1, .out = { out } };
    OK(op_add(g, &relu));
    OK(op_add(g, &add)); /* both operands are alive: 6,000,000,000 bytes */
    FAILS_SAYING(QNN_GRAPH_ERROR_FINALIZE_FAILED, "scratch", q.graphFinalize(g, NULL, NULL));
    OK(q.contextFree(c, NULL));
    struct kit_binary large = sum_binary((uint64_t)1 << 33);
    FAILS_SAYING(QNN_CONTEXT_ERROR_CREATE_FROM_BINARY, "32 bits",
                 q.contextCreateFromBinary(b, NULL, NULL, large.data, large.size, &c, NULL));
    OK(q.backendFree(b));
    free(large.data);
}

/* ---- options ---------------------------------------------------------------------------------------------------------- */

static void test_options(void **state)
{
    (void)state;
    struct fixture f;
    open_fixture(&f);
    Qnn_GraphHandle_t g = f.l.net.graph;
    const struct {
        uint32_t code;
        QnnLpaiGraph_PerfCfg_t cfg;
    } perf[] = {
        { QNN_SUCCESS, { 10, 0, QNN_LPAI_GRAPH_CLIENT_PERF_TYPE_NON_REAL_TIME } },
        { QNN_SUCCESS, { 1, 10, QNN_LPAI_GRAPH_CLIENT_PERF_TYPE_REAL_TIME } },
        { BAD, { 0, 10, QNN_LPAI_GRAPH_CLIENT_PERF_TYPE_REAL_TIME } },
        { BAD, { UINT32_MAX, 10, QNN_LPAI_GRAPH_CLIENT_PERF_TYPE_REAL_TIME } },
        { BAD, { 1, UINT32_MAX, QNN_LPAI_GRAPH_CLIENT_PERF_TYPE_REAL_TIME } },
        { BAD, { 1, 10, (QnnLpaiGraph_ClientPerfType_t)0 } },
        { BAD, { 1, 10, QNN_LPAI_GRAPH_CLIENT_PERF_TYPE_UNDEFINED } },
    };
    for (unsigned i = 0; i < COUNT(perf); i++)
        FAILS(perf[i].code, kit_config(g, QNN_LPAI_GRAPH_SET_CFG_PERF_CFG, (void *)(uintptr_t)&perf[i].cfg));
    const struct {
        uint32_t code;
        QnnLpaiGraph_CoreAffinity_t cfg;
    } affinity[] = {
        { QNN_SUCCESS, { QNN_LPAI_GRAPH_CORE_AFFINITY_SOFT, 0 } },
        { QNN_SUCCESS, { QNN_LPAI_GRAPH_CORE_AFFINITY_SOFT, 4 } },
        { QNN_SUCCESS, QNN_LPAI_CORE_AFFINITY(0, QNN_LPAI_GRAPH_CORE_AFFINITY_HARD) },
        { BAD, { QNN_LPAI_GRAPH_CORE_AFFINITY_HARD, 0x80000000u } },
        { BAD, { QNN_LPAI_GRAPH_CORE_AFFINITY_SOFT, 3 } },
        { BAD, { QNN_LPAI_GRAPH_CORE_AFFINITY_UNDEFINED, 0 } },
    };
    for (unsigned i = 0; i < COUNT(affinity); i++)
        FAILS(affinity[i].code, kit_config(g, QNN_LPAI_GRAPH_SET_CFG_CORE_AFFINITY, (void *)(uintptr_t)&affinity[i].cfg));
    QnnGraph_Config_t high = { .option = QNN_GRAPH_CONFIG_OPTION_PRIORITY, .priority = QNN_PRIORITY_HIGH };
    OK(q.graphSetConfig(g, (const QnnGraph_Config_t *[]){ &high, NULL }));
    uint32_t none;
    FAILS(BAD, kit_property(g, 12345, &none));
    FAILS(BAD, kit_property(g, QNN_LPAI_GRAPH_GET_PROP_SCRATCH_MEM_SIZE, NULL));
    close_fixture(&f);
}

static void test_backend_options(void **state)
{
    (void)state;
    Qnn_BackendHandle_t b;
    static const uint32_t wrong[] = { QNN_LPAI_BACKEND_HW_VERSION_V1, QNN_LPAI_BACKEND_HW_VERSION_V3, 8, 0x10006,
                                      QNN_LPAI_BACKEND_HW_VERSION_UNKNOWN };
    for (unsigned i = 0; i < COUNT(wrong); i++)
        FAILS_SAYING(QNN_BACKEND_ERROR_INVALID_CONFIG, "hardware version",
                     kit_backend(wrong[i], QNN_LPAI_BACKEND_TARGET_X86, &b));
    FAILS_SAYING(QNN_BACKEND_ERROR_INVALID_CONFIG, "target",
                 kit_backend(QNN_LPAI_BACKEND_HW_VERSION_V6, QNN_LPAI_BACKEND_TARGET_TENSILICA, &b));
    FAILS_SAYING(QNN_BACKEND_ERROR_INVALID_CONFIG, "target",
                 kit_backend(QNN_LPAI_BACKEND_HW_VERSION_V6, QNN_LPAI_BACKEND_TARGET_UNKNOWN, &b));
    QnnLpaiBackend_CustomConfig_t custom = { QNN_LPAI_BACKEND_CUSTOM_CFG_HW_INFO, NULL };
    QnnBackend_Config_t config = { .option = QNN_BACKEND_CONFIG_OPTION_CUSTOM, .customConfig = &custom };
    const QnnBackend_Config_t *list[] = { &config, NULL };
    FAILS(QNN_BACKEND_ERROR_INVALID_CONFIG, q.backendCreate(NULL, list, &b));
    custom.option = 77;
    FAILS(QNN_BACKEND_ERROR_INVALID_CONFIG, q.backendCreate(NULL, list, &b));
    config.customConfig = NULL;
    FAILS(QNN_BACKEND_ERROR_INVALID_CONFIG, q.backendCreate(NULL, list, &b));
}

static void test_context_options(void **state)
{
    (void)state;
    Qnn_BackendHandle_t b;
    Qnn_ContextHandle_t c;
    QnnLpaiMem_MemType_t type = QNN_LPAI_MEM_TYPE_DDR;
    QnnLpaiContext_CustomConfig_t custom = { QNN_LPAI_CONTEXT_SET_CFG_MODEL_BUFFER_MEM_TYPE, &type };
    QnnContext_Config_t config = { .option = QNN_CONTEXT_CONFIG_OPTION_CUSTOM, .customConfig = &custom };
    const QnnContext_Config_t *list[] = { &config, NULL };
    OK(kit_backend(0, QNN_LPAI_BACKEND_TARGET_X86, &b));
    OK(q.contextCreate(b, NULL, list, &c));
    OK(q.contextFree(c, NULL));
    type = QNN_LPAI_MEM_TYPE_TCM;
    FAILS_SAYING(QNN_CONTEXT_ERROR_INVALID_CONFIG, "TCM", q.contextCreate(b, NULL, list, &c));
    custom.config = NULL;
    FAILS(QNN_CONTEXT_ERROR_INVALID_CONFIG, q.contextCreate(b, NULL, list, &c));
    custom.option = QNN_LPAI_CONTEXT_SET_CFG_ENABLE_ISLAND;
    OK(q.contextCreate(b, NULL, list, &c));
    OK(q.contextFree(c, NULL));
    custom.option = 5; /* some other backend's */
    OK(q.contextCreate(b, NULL, list, &c));
    OK(q.contextFree(c, NULL));
    OK(q.backendFree(b));
}

/* ---- operators -------------------------------------------------------------------------------------------------------- */

static void test_float_refused(void **state)
{
    (void)state;
    Qnn_BackendHandle_t b;
    OK(kit_backend(0, QNN_LPAI_BACKEND_TARGET_X86, &b));
    Qnn_Tensor_t f = TENSOR("f", APP_WRITE, FLOAT_32, 1, 4), h = TENSOR("h", APP_WRITE, FLOAT_16, 1, 4);
    Qnn_Tensor_t u = tensor_quant(TENSOR("u", APP_READ, UFIXED_POINT_8, 1, 4), 0.5f, 0);
    struct op relu = { .name = "relu", .type = "Relu", .ni = 1, .in = { f }, .no = 1, .out = { f } };
    FAILS_SAYING(QNN_OP_PACKAGE_ERROR_VALIDATION_FAILURE, "quantize the model", op_validate(b, &relu));
    relu.in[0] = relu.out[0] = h;
    FAILS(QNN_OP_PACKAGE_ERROR_VALIDATION_FAILURE, op_validate(b, &relu));
    relu.in[0] = relu.out[0] = u;
    OK(op_validate(b, &relu));
    struct op quantize = { .name = "q", .type = "Quantize", .ni = 1, .in = { f }, .no = 1, .out = { u } };
    struct op dequantize = { .name = "d", .type = "Dequantize", .ni = 1, .in = { u }, .no = 1, .out = { f } };
    OK(op_validate(b, &quantize));
    OK(op_validate(b, &dequantize));
    struct op pack = { .name = "p", .type = "Pack", .np = 1, .p = { param_u32("axis", 0) }, .ni = 1, .in = { u }, .no = 1,
                       .out = { tensor_quant(TENSOR("v", APP_READ, UFIXED_POINT_8, 1, 1, 4), 0.5f, 0) } };
    FAILS(QNN_OP_PACKAGE_ERROR_VALIDATION_FAILURE, op_validate(b, &pack));
    uint32_t n;
    const QnnBackend_OperationName_t *ops;
    OK(q.backendGetSupportedOperations(b, &n, &ops));
    assert_true(n > 50);
    for (uint32_t i = 0; i < n; i++)
        assert_true(strcmp(ops[i].name, "Pack") != 0 && strcmp(ops[i].name, "UnPack") != 0 &&
                    strcmp(ops[i].name, "TransposeConv3d") != 0);
    OK(q.backendFree(b));
}

/* ---- binaries --------------------------------------------------------------------------------------------------------- */

static void test_binaries_refused(void **state)
{
    (void)state;
    struct kit_binary b = kit_binary(8, 0);
    Qnn_BackendHandle_t lpai, cpu;
    Qnn_ContextHandle_t c;
    kit_use(KIT_CPU);
    OK(kit_backend(0, QNN_LPAI_BACKEND_TARGET_X86, &cpu));
    FAILS_SAYING(QNN_CONTEXT_ERROR_BINARY_CONFIGURATION, "backend 12",
                 q.contextCreateFromBinary(cpu, NULL, NULL, b.data, b.size, &c, NULL));
    OK(q.backendFree(cpu));
    kit_use(KIT_LPAI);
    OK(kit_backend(0, QNN_LPAI_BACKEND_TARGET_X86, &lpai));
    hush(true);
    for (uint64_t at = 0; at < b.size; at += 7) { /* whatever is changed: an error or a context, no more */
        uint8_t *p = (uint8_t *)b.data + at, old = *p;
        *p ^= 0x41;
        if (q.contextCreateFromBinary(lpai, NULL, NULL, b.data, b.size, &c, NULL) == QNN_SUCCESS)
            OK(q.contextFree(c, NULL));
        *p = old;
    }
    hush(false);
    OK(q.contextCreateFromBinary(lpai, NULL, NULL, b.data, b.size, &c, NULL));
    OK(q.contextFree(c, NULL));
    OK(q.backendFree(lpai));
    free(b.data);
}

/* ---- graphs that run at the same time --------------------------------------------------------------------------------- */

static _Atomic int ended;

static void on_end(void *param, Qnn_NotifyStatus_t s)
{
    *(Qnn_ErrorHandle_t *)param = s.error;
    atomic_store(&ended, 1);
}

/* While one graph runs, another one with the same scratch is refused; either way no result is wrong. */
static void test_running_together(void **state)
{
    (void)state;
    struct fixture f, g;
    static _Alignas(64) uint8_t x2[KIT_IN], y2[64];
    open_fixture(&f);
    open_fixture(&g);
    OK(kit_pool(f.l.net.graph, SCRATCH, f.s.data, f.l.scratch));
    OK(kit_pool(g.l.net.graph, SCRATCH, f.s.data, f.l.scratch));
    OK(q.graphFinalize(f.l.net.graph, NULL, NULL));
    OK(q.graphFinalize(g.l.net.graph, NULL, NULL));
    kit_fill(x, KIT_IN, 11);
    kit_fill(x2, KIT_IN, 11);
    hush(true);
    for (int round = 0; round < 200; round++) {
        Qnn_ErrorHandle_t result = 0, mine;
        Qnn_Tensor_t in = tensor_data(f.l.net.x, x, KIT_IN), out = tensor_data(f.l.net.y, y, KIT_OUT);
        atomic_store(&ended, 0);
        OK(q.graphExecuteAsync(f.l.net.graph, &in, 1, &out, 1, NULL, NULL, on_end, &result));
        do {
            memset(y2, 0, KIT_OUT);
            mine = kit_run(&g.l.net, x2, y2);
            if (mine == QNN_SUCCESS)
                assert_memory_equal(y2, g.want, KIT_OUT);
            else
                assert_int_equal(CODE(mine), QNN_COMMON_ERROR_OPERATION_NOT_PERMITTED);
        } while (!atomic_load(&ended));
        if (result == QNN_SUCCESS)
            assert_memory_equal(y, f.want, KIT_OUT);
        else
            assert_int_equal(CODE(result), QNN_COMMON_ERROR_OPERATION_NOT_PERMITTED);
    }
    hush(false);
    still_right(&f);
    close_fixture(&g);
    close_fixture(&f);
}

static int setup(void **state)
{
    (void)state;
    kit_use(KIT_LPAI);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_state),
        cmocka_unit_test(test_state_over_scratch),
        cmocka_unit_test(test_pools_refused),
        cmocka_unit_test(test_list_is_atomic),
        cmocka_unit_test(test_scratch_gone),
        cmocka_unit_test(test_io_refused),
        cmocka_unit_test(test_options),
        cmocka_unit_test(test_backend_options),
        cmocka_unit_test(test_context_options),
        cmocka_unit_test(test_float_refused),
        cmocka_unit_test(test_binaries_refused),
        cmocka_unit_test(test_running_together),
        cmocka_unit_test(test_registered_memory),
        cmocka_unit_test(test_beyond_32_bits),
        cmocka_unit_test(test_pools_read_only),
        cmocka_unit_test(test_persistent_until_free),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
