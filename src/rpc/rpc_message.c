/* SPDX-License-Identifier: Apache-2.0 */
/* The checked reader of packets, for both sides. A packet that fails here means that the two sides do not understand each
 * other, so the status is always ST_COMMUNICATION. What a request asks for is judged by the worker. */
#include "rpc/rpc_message.h"

#include <string.h>

static const struct {
    const char *name;
    uint8_t min_fds, max_fds;
} types[RPC_TYPES] = {
    [RPC_HELLO] = { "hello", 1, 2 },   [RPC_MAP] = { "map", 1, 2 },         [RPC_UNMAP] = { "unmap", 0, 0 },
    [RPC_LOAD] = { "load", 0, 0 },     [RPC_AREA] = { "area", 1, 1 },       [RPC_UNLOAD] = { "unload", 0, 0 },
    [RPC_RESET] = { "reset", 0, 0 },   [RPC_SCRATCH] = { "scratch", 0, 0 }, [RPC_SPILL] = { "spill-fill", 0, 0 },
    [RPC_BACKUP] = { "backup", 0, 0 }, [RPC_WEIGHTS] = { "weights", 0, 0 },
};

const char *rpc_type_name(uint32_t type)
{
    return type < RPC_TYPES ? types[type].name : "unknown";
}

enum status rpc_request_check(const void *bytes, size_t n, unsigned n_fds, struct rpc_request *ret)
{
    struct rpc_request q;
    RETURN_IF(n != sizeof(q), ST_COMMUNICATION, "a request of %zu bytes; %zu are expected", n, sizeof(q));
    memcpy(&q, bytes, sizeof(q));
    RETURN_IF(q.magic != RPC_MAGIC || q.zero, ST_COMMUNICATION, "a request that starts with 0x%08x; 0x%08x is expected",
              q.magic, RPC_MAGIC);
    RETURN_IF(q.type >= RPC_TYPES, ST_COMMUNICATION, "a request of type %u; 0 to %d are known", q.type, RPC_TYPES - 1);
    RETURN_IF(n_fds < types[q.type].min_fds || n_fds > types[q.type].max_fds, ST_COMMUNICATION,
              "a %s request with %u descriptors; %u to %u belong to it", types[q.type].name, n_fds, types[q.type].min_fds,
              types[q.type].max_fds);
    RETURN_IF(q.type == RPC_MAP && (n_fds == 2) != (q.map.rest_bytes != 0), ST_COMMUNICATION,
              "a map request with %u descriptors and %llu bytes behind the first", n_fds,
              (unsigned long long)q.map.rest_bytes);
    if (q.type == RPC_HELLO)
        q.hello.build_id[RPC_BUILD_ID_MAX - 1] = 0;
    *ret = q;
    return ST_OK;
}

enum status rpc_reply_check(const void *bytes, size_t n, const struct rpc_request *q, struct rpc_reply *ret)
{
    struct rpc_reply r;
    RETURN_IF(n != sizeof(r), ST_COMMUNICATION, "a reply of %zu bytes to a %s request; %zu are expected", n,
              rpc_type_name(q->type), sizeof(r));
    memcpy(&r, bytes, sizeof(r));
    RETURN_IF(r.magic != RPC_MAGIC || r.type != q->type || r.seq != q->seq, ST_COMMUNICATION,
              "a reply 0x%08x to %s request %u; this was %s request %u", r.magic, rpc_type_name(r.type), r.seq,
              rpc_type_name(q->type), q->seq);
    RETURN_IF(r.status >= ST_COUNT, ST_COMMUNICATION, "a reply with status %u; 0 to %d are known", r.status, ST_COUNT - 1);
    if (r.type == RPC_LOAD && r.status == ST_OK)
        RETURN_IF(r.load.n_io > RPC_MAX_IO || r.load.max_marks > RPC_MAX_MARKS, ST_COMMUNICATION,
                  "a program with %u tensors and %u marks; at most %d and %d are expected", r.load.n_io, r.load.max_marks,
                  RPC_MAX_IO, RPC_MAX_MARKS);
    if (r.type == RPC_HELLO)
        r.hello.build_id[RPC_BUILD_ID_MAX - 1] = 0;
    r.text[sizeof(r.text) - 1] = 0;
    *ret = r;
    return ST_OK;
}
