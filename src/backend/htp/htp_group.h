/* SPDX-License-Identifier: Apache-2.0 */
/* Groups of contexts that share memory (htp_group.c). Private to backend/htp; a context without a group is none of their
 * business. */
#ifndef BACKEND_HTP_HTP_GROUP_H
#define BACKEND_HTP_HTP_GROUP_H

#include "backend/htp/htp_backend.h"

/* SHARE_RESOURCES_OPTIMIZATION_TYPE, by the numbers of the API. */
enum { HTP_SHARE_WITH_VA, HTP_SHARE_WITHOUT_VA, HTP_SHARE_CONCURRENT };

enum htp_group_buffer {
    HTP_GROUP_SPILL,
    HTP_GROUP_SCRATCH,
    HTP_GROUP_BACKUP,
    HTP_GROUP_POOLS,                     /* those that the session computes in */
    HTP_GROUP_STAGING = HTP_GROUP_POOLS, /* for inputs and outputs that are plain memory */
    HTP_GROUP_BUFFERS
};

/* Events, and properties of contexts that openqnn has alone (docs/contexts.md); the buffers in their order. */
enum { HTP_EVENT_SHARED_SPILL = 30060 };
enum { HTP_PROPERTY_SHARED_SPILL = 0x4F510005, HTP_PROPERTY_GROUP_CONTEXTS = HTP_PROPERTY_SHARED_SPILL + HTP_GROUP_BUFFERS };

/* Where a graph computes; map 0: in memory of its own. */
struct htp_group_pools {
    struct rpc_pool pool[HTP_GROUP_POOLS];
};

enum status htp_group_join(struct backend_context *c);
void htp_group_leave(struct backend_context *c);   /* while it still holds its session */
void htp_group_unplace(struct backend_context *c); /* it does not stay on the session that it was tried on */
/* Whether the context and its graphs may have that priority. */
enum status htp_check_priority(struct backend_context *c, uint32_t priority);
/* ST_NO_MEMORY: the graph spills more than there is. */
enum status htp_group_check(const struct backend_context *c, const struct binary_graph_info *i);
/* What the graphs of a file need of a session for what may be shared, also without a group. */
uint64_t htp_group_need(const struct backend_context *c, const struct htp_session *s, const struct binary *b);
enum status htp_group_get(struct backend_context *c, struct htp_session *s, const struct binary *b, uint32_t graph,
                          struct htp_group_pools *ret);

/* Staging memory of so many bytes that the graphs share; false: there is none. An execution that uses it begins, and ends;
 * false: another one uses it. */
bool htp_group_staging(struct backend_context *c, struct htp_session *s, uint64_t bytes, struct htp_shared *ret);
bool htp_group_begin(struct backend_context *c);
void htp_group_end(struct backend_context *c);

bool htp_group_has_backup(const struct backend_context *c);
bool htp_group_property(struct backend_context *c, uint32_t property, uint64_t *ret); /* false: it is none of these */
void htp_group_events(struct backend_context *c, struct prof *prof, int32_t parent);

#endif
