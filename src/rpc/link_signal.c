/* SPDX-License-Identifier: Apache-2.0 */
/* Signals of control messages. A message that has been sent cannot be taken back: the session looks at the signal while it
 * works (struct rpc_common.control) and answers soon. Where it does not, because it stands still, the client does not wait:
 * it owes the message an end. The next message collects the answer first, undoes what was done, and catches up with what
 * had to wait meanwhile. */
#include <string.h>

#include "base/clock.h"
#include "rpc/rpc_link.h"

/* How long after its signal a call waits for the session. */
#define PATIENCE_NS UINT64_C(6000000)

void link_set_signal(struct rpc_session *s, const struct cancel *cancel)
{
    struct cancel *control = &s->common->control;

    s->cancel = cancel;
    control->deadline_ns = cancel ? cancel->deadline_ns : 0;
    atomic_store(&control->abort, cancel ? atomic_load(&cancel->abort) : 0);
}

enum status link_pass_signal(struct rpc_session *s, uint64_t *fired_ns)
{
    enum status st = cancel_status(s->cancel);
    uint64_t now = clock_ns();
    if (st == ST_OK)
        return ST_OK;

    atomic_store(&s->common->control.abort, atomic_load(&s->cancel->abort));
    if (!*fired_ns)
        *fired_ns = now;
    RETURN_IF(now - *fired_ns >= PATIENCE_NS, st, "the call was ended by its signal, without an answer of the session");
    return ST_OK;
}

bool link_put_off(struct rpc_session *s, const struct rpc_request *q)
{
    bool can_wait = s->owes && (q->type == RPC_UNMAP || q->type == RPC_UNLOAD);
    struct rpc_request *slot = can_wait ? vec_push(&s->later) : NULL;

    if (slot)
        *slot = *q;
    return slot;
}

static enum status take_answer(struct rpc_session *s, struct rpc_reply *ret)
{
    struct rpc_reply answer;
    size_t n = 0;

    TRY(s->t->collect(s, &answer, &n));
    s->owes = false;
    return rpc_reply_check(&answer, n, &s->owed, ret);
}

/* Takes back what the session did after all; it may have failed, too. */
static void undo(struct rpc_session *s, const struct rpc_reply *r)
{
    struct rpc_request q = { .type = RPC_TYPES };

    if (s->owed.type == RPC_LOAD) {
        q.type = RPC_UNLOAD;
        q.id = r->load.program;
    } else if (s->owed.type == RPC_MAP && !s->owed.map.over) {
        q.type = RPC_UNMAP;
        q.id = r->map.id;
    }

    struct rpc_request *slot = r->status == ST_OK && q.type != RPC_TYPES ? vec_push(&s->later) : NULL;
    if (!slot)
        return;
    memmove(&s->later.at[1], &s->later.at[0], (s->later.n - 1) * sizeof(q)); /* a program goes before its mapping */
    s->later.at[0] = q;
}

static enum status catch_up(struct rpc_session *s)
{
    struct rpc_reply answer, r;
    size_t n = 0;

    while (s->later.n) {
        struct rpc_request q = s->later.at[0];
        memmove(&s->later.at[0], &s->later.at[1], --s->later.n * sizeof(q));
        q.magic = RPC_MAGIC;
        q.seq = ++s->seq;
        enum status st = s->t->exchange(s, &q, sizeof(q), NULL, 0, &answer, &n);
        s->owes = st == ST_ABORTED || st == ST_TIMED_OUT;
        s->owed = q;
        TRY(st);
        TRY(rpc_reply_check(&answer, n, &q, &r));
    }
    return ST_OK;
}

enum status link_settle(struct rpc_session *s)
{
    struct rpc_reply r;

    if (s->owes) {
        TRY(take_answer(s, &r));
        undo(s, &r);
    }
    return catch_up(s);
}
