/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: what one side of a session reads from the other. An input is a list of steps, each a byte that says what
 * comes and its bytes:
 *
 *   request   to a worker, as it came, and again with a good head so that what it asks for is tried
 *   run       bytes over the area of the program loaded last, then the program runs
 *   reply     from a session, to each call of a client
 *   answer    of a run, likewise
 *
 * Small ids stand for those that exist, because nobody guesses a generation. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../passes/handmade.h"
#include "rpc/rpc_link.h"
#include "rpc/rpc_shared.h"
#include "rpc/worker.h"

enum { IDS = 8, AREA = 1 << 16, BUDGET = 1 << 22 };
enum { STEP_REQUEST, STEP_RUN, STEP_REPLY, STEP_ANSWER, STEPS };

struct input {
    const uint8_t *at;
    size_t n;
};

struct server {
    struct worker *w;
    uint32_t maps[IDS], programs[IDS], n_maps, n_programs;
    int area_fd;
    struct rpc_call *area; /* of the last program that got one */
};

static int binary_fd, buffer_fd; /* mapped for reading, and for writing */
static uint64_t binary_bytes;

static void require(bool ok)
{
    if (!ok)
        abort();
}

static size_t take(struct input *in, void *to, size_t n)
{
    size_t got = n < in->n ? n : in->n;
    memcpy(to, in->at, got);
    in->at += got;
    in->n -= got;
    return got;
}

/* ---- the session's side ----------------------------------------------------------------------------------------------- */

static uint32_t real_id(const uint32_t *ids, uint32_t n, uint32_t id)
{
    return n && id < IDS ? ids[id % n] : id;
}

static void name_what_exists(struct server *s, struct rpc_request *q)
{
    if (q->type == RPC_UNMAP)
        q->id = real_id(s->maps, s->n_maps, q->id);
    if (q->type == RPC_UNLOAD || q->type == RPC_RESET)
        q->id = real_id(s->programs, s->n_programs, q->id);
    if (q->type == RPC_LOAD) {
        q->load.map = real_id(s->maps, s->n_maps, q->load.map);
        q->load.scratch_map = q->load.scratch_map ? real_id(s->maps, s->n_maps, q->load.scratch_map) : 0;
        q->load.spill_map = q->load.spill_map ? real_id(s->maps, s->n_maps, q->load.spill_map) : 0;
        q->load.persistent_map = q->load.persistent_map ? real_id(s->maps, s->n_maps, q->load.persistent_map) : 0;
    }
    if (q->type == RPC_SCRATCH || q->type == RPC_SPILL || q->type == RPC_BACKUP || q->type == RPC_WEIGHTS) {
        q->scratch.program = real_id(s->programs, s->n_programs, q->scratch.program);
        q->scratch.map = real_id(s->maps, s->n_maps, q->scratch.map);
    }
    if (q->type == RPC_AREA) {
        q->area.program = real_id(s->programs, s->n_programs, q->area.program);
        if (q->area.bytes < IDS)
            q->area.bytes = rpc_area_bytes(3, HM_NODES);
    }
    if (q->type == RPC_LOAD && q->load.bytes < IDS)
        q->load.bytes = binary_bytes;
    if (q->type == RPC_MAP && q->map.bytes < IDS)
        q->map.bytes = binary_bytes;
}

static void handle(struct server *s, const struct rpc_request *q)
{
    struct rpc_reply r, checked;
    int fds[2] = { binary_fd, binary_fd }; /* the second one: what a joined mapping goes on with */
    if (q->type == RPC_AREA)
        fds[0] = s->area_fd;
    else if (q->type == RPC_MAP && q->map.writable)
        fds[0] = fds[1] = buffer_fd;
    status_clear();
    worker_handle(s->w, q, fds, &r);
    require(rpc_reply_check(&r, sizeof(r), q, &checked) == ST_OK);
    require(r.status == ST_OK || r.text[0]);
    if (r.status == ST_OK && q->type == RPC_MAP)
        s->maps[s->n_maps++ % IDS] = r.map.id, s->n_maps = s->n_maps > IDS ? IDS : s->n_maps;
    if (r.status == ST_OK && q->type == RPC_LOAD)
        s->programs[s->n_programs++ % IDS] = r.load.program, s->n_programs = s->n_programs > IDS ? IDS : s->n_programs;
}

/* How many descriptors belong to a request. */
static unsigned fds_of(const struct rpc_request *q)
{
    if (q->type == RPC_MAP)
        return q->map.rest_bytes ? 2 : 1;
    return q->type == RPC_HELLO || q->type == RPC_AREA;
}

static void step_request(struct server *s, struct input *in)
{
    uint8_t bytes[sizeof(struct rpc_request)] = { 0 };
    size_t n = take(in, bytes, sizeof(bytes));
    struct rpc_request q;
    for (unsigned fds = 0; fds < 3; fds++)
        if (rpc_request_check(bytes, n, fds, &q) == ST_OK)
            require(q.type < RPC_TYPES);
    memcpy(&q, bytes, sizeof(q));
    q.magic = RPC_MAGIC, q.zero = 0, q.type %= RPC_TYPES;
    require(rpc_request_check(&q, sizeof(q), fds_of(&q), &q) == ST_OK);
    name_what_exists(s, &q);
    handle(s, &q);
}

static void step_run(struct server *s, struct input *in)
{
    uint8_t n = 0;
    take(in, &n, 1);
    take(in, (uint8_t *)s->area + offsetof(struct rpc_call, cancel), n);
    take(in, rpc_area_io(s->area), n);
    s->area->cancel.deadline_ns = 0;
    struct rpc_call_io *io = rpc_area_io(s->area);
    for (uint32_t i = 0; i < 3; i++)
        io[i].map = real_id(s->maps, s->n_maps, io[i].map);
    if (n & 1)
        s->area->n_io = 3;
    uint32_t priority;
    for (uint32_t i = 0; i < s->n_programs; i++) {
        atomic_store(&s->area->state, CALL_QUEUED);
        if (worker_queued(s->w, 0, s->programs[i], &priority)) {
            worker_run(s->w, s->programs[i], NULL);
            require(atomic_load(&s->area->state) == CALL_DONE && s->area->status < ST_COUNT);
        }
    }
}

/* ---- the client's side ------------------------------------------------------------------------------------------------ */

static struct input answers;

static enum status fake_exchange(struct rpc_session *s, const void *bytes, size_t n, const int *fds, unsigned n_fds,
                                 void *answer, size_t *ret_n)
{
    const struct rpc_request *q = bytes;
    struct rpc_reply r;
    (void)s, (void)n, (void)fds, (void)n_fds;
    memset(&r, 0, sizeof(r));
    size_t got = take(&answers, &r, answers.n < 128 ? answers.n : 128);
    if (got > 4 && r.text[0] % 2 == 0) { /* a good head, so that the rest is looked at */
        r.magic = RPC_MAGIC, r.type = q->type, r.seq = q->seq;
        r.status %= ST_COUNT + 1;
        if (q->type == RPC_LOAD && r.status == ST_OK)
            r.load.n_io %= 64, r.load.max_marks %= 1024;
    }
    memcpy(answer, &r, sizeof(r));
    *ret_n = got % 16 == 15 ? got : sizeof(r);
    return ST_OK;
}

static enum status fake_start(struct rpc_session *s, const struct rpc_session_opts *o)
{
    (void)s, (void)o;
    return ST_OK;
}

static bool fake_lost(struct rpc_session *s)
{
    (void)s;
    return false;
}

static void fake_nothing(struct rpc_session *s)
{
    (void)s;
}

static const struct rpc_transport fake = {
    .start = fake_start,
    .exchange = fake_exchange,
    .lost = fake_lost,
    .cut = fake_nothing,
    .stop = fake_nothing,
    .abandon = fake_nothing,
};

static void step_reply(struct input *in)
{
    struct rpc_session_opts o = { .threads = 1 };
    struct rpc_session *s;
    struct rpc_usage u;
    struct rpc_load l = { .bytes = 1 };
    uint32_t map;
    answers = *in;
    require(link_open(&fake, "fuzz", &o, &s) == ST_OK);
    for (int i = 0; i < 8; i++) {
        enum status st = i % 4 == 0   ? link_map(s, binary_fd, 0, 1, false, &map)
                         : i % 4 == 1 ? link_load(s, &l)
                         : i % 4 == 2 ? link_unload(s, l.program)
                                      : link_unmap(s, 1);
        require(st < ST_COUNT && (st == ST_OK || status_text()[0]));
        require(st != ST_COMMUNICATION || !link_alive(s));
    }
    link_usage(s, &u);
    link_close(s);
    *in = answers;
}

static void step_answer(struct server *s, struct input *in)
{
    struct rpc_session session = { .t = &fake };
    struct prof_mark marks[4];
    uint32_t dims[3][RPC_MAX_RANK];
    struct rpc_io io[3];
    struct rpc_run r = { .io = io, .n_io = 3, .marks = marks, .max_marks = 4 };
    struct link_program p = { .n_io = 3, .max_marks = 8, .area = s->area, .area_bytes = AREA };
    for (uint32_t i = 0; i < 3; i++)
        io[i] = (struct rpc_io){ .out_dims = dims[i], .rank = RPC_MAX_RANK };
    take(in, (uint8_t *)s->area + offsetof(struct rpc_call, status), 64);
    require(link_read_answer(&session, &p, &r) < ST_COUNT && r.n_marks <= 4);
}

/* ---- all -------------------------------------------------------------------------------------------------------------- */

static void make_binary(void)
{
    static struct handmade made;
    struct binary_image im;
    hm_make_dynamic(&made, 2, 3);
    require(binary_write(&made.target, &made.src, &im) == ST_OK);
    binary_fd = memfd_create("fuzz", MFD_CLOEXEC);
    require(write(binary_fd, im.data, im.size) == (ssize_t)im.size);
    binary_bytes = im.size;
    binary_image_free(&im);
    require(shared_create("buffer", AREA, &buffer_fd) == ST_OK);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = { data, size };
    struct rpc_hello h = { .threads = 1, .budget = BUDGET };
    struct server s = { .n_maps = 0 };
    void *area;
    if (!binary_fd)
        make_binary();
    require(worker_create(&h, &s.w) == ST_OK && shared_create("area", AREA, &s.area_fd) == ST_OK);
    require(shared_map(s.area_fd, 0, AREA, true, &area) == ST_OK);
    s.area = area;
    for (uint8_t kind; take(&in, &kind, 1);)
        switch (kind % STEPS) {
        case STEP_REQUEST: step_request(&s, &in); break;
        case STEP_RUN: step_run(&s, &in); break;
        case STEP_REPLY: step_reply(&in); break;
        case STEP_ANSWER: step_answer(&s, &in); break;
        }
    worker_free(s.w);
    shared_unmap(area, AREA);
    close(s.area_fd);
    return 0;
}
