/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of test_random_calls and of the fuzz target fuzz_calls. */
#include "random_calls.h"

#include <stdatomic.h>
#include <stdlib.h>

enum kind { LOG, BACKEND, DEVICE, CONTEXT, GRAPH, PROFILE, SIGNAL, MEM, KINDS };
enum { SLOTS = 3 };

/* Handles of all threads. What falls out of a slot is freed; what is freed otherwise stays, as clients keep
 * stale handles. */
static _Atomic(void *) slots[KINDS][SLOTS];
static int shared_file;

static Qnn_ErrorHandle_t free_object(enum kind k, void *h)
{
    switch (k) {
    case LOG: return q.logFree(h);
    case BACKEND: return q.backendFree(h);
    case DEVICE: return q.deviceFree(h);
    case CONTEXT: return q.contextFree(h, NULL);
    case PROFILE: return q.profileFree(h);
    case SIGNAL: return q.signalFree(h);
    case MEM: return q.memDeRegister(&h, 1);
    default: return QNN_SUCCESS; /* graphs go with their context */
    }
}

/* Devices that a context still used when their turn came. */
static _Atomic(void *) kept_devices[1024];
static atomic_uint n_kept;

static void remember(struct player *p, enum kind k, void *h)
{
    void *old = atomic_exchange(&slots[k][dice_draw(&p->dice, SLOTS)], h);
    if (old && free_object(k, old) != QNN_SUCCESS && k == DEVICE)
        kept_devices[n_kept++ % COUNT(kept_devices)] = old;
}

void random_calls_end(void)
{
    for (unsigned k = KINDS; k-- > 0;)
        for (unsigned i = 0; i < SLOTS; i++)
            if (slots[k][i] && k != DEVICE)
                free_object((enum kind)k, slots[k][i]);
    for (unsigned i = 0; i < SLOTS; i++)
        free_object(DEVICE, slots[DEVICE][i]);
    for (unsigned i = 0; i < n_kept && i < COUNT(kept_devices); i++)
        free_object(DEVICE, kept_devices[i]);
    n_kept = 0;
}

void random_calls_begin(int file)
{
    void *first;

    shared_file = file;
    OK(q.backendCreate(NULL, NULL, &first));
    for (unsigned k = 0; k < KINDS; k++)
        for (unsigned i = 0; i < SLOTS; i++)
            slots[k][i] = k == BACKEND && i == 0 ? first : NULL;
}

/* Mostly an object of the right kind, or what once was one. */
static void *pick(struct player *p, enum kind k)
{
    static const uintptr_t odd[] = { 0, 1, 0xdeadbeef, UINTPTR_MAX };
    switch (dice_draw(&p->dice, 40)) {
    case 0: return (void *)odd[dice_draw(&p->dice, COUNT(odd))];
    case 1: return slots[dice_draw(&p->dice, KINDS)][0];
    default: return slots[k][dice_draw(&p->dice, SLOTS)];
    }
}

static void *pick_or_null(struct player *p, enum kind k)
{
    return dice_one_in(&p->dice, 2) ? NULL : pick(p, k);
}

/* ---- calls ----------------------------------------------------------------------------------- */

static Qnn_ErrorHandle_t made(struct player *p, enum kind k, Qnn_ErrorHandle_t e, void *const *h)
{
    if (e == QNN_SUCCESS)
        remember(p, k, *h);
    return e;
}

static Qnn_ErrorHandle_t call_create(struct player *p)
{
    void *h = NULL;
    QnnContext_Config_t c[2] = { random_context_config(&p->dice), random_context_config(&p->dice) };
    const QnnContext_Config_t *list[] = { &c[0], &c[1], NULL };
    QnnSignal_Config_t sc = { .option = (QnnSignal_ConfigOption_t)dice_draw(&p->dice, 4) };
    const QnnSignal_Config_t *signals[] = { &sc, NULL };
    if (sc.option == QNN_SIGNAL_CONFIG_OPTION_TIMEOUT)
        sc.timeoutDurationUs = dice_draw(&p->dice, 2000);
    switch (dice_draw(&p->dice, 8)) {
    case 0: return made(p, LOG, q.logCreate(NULL, (QnnLog_Level_t)dice_draw(&p->dice, 4), &h), &h);
    case 1: return made(p, BACKEND, q.backendCreate(pick_or_null(p, LOG), NULL, &h), &h);
    case 2: return made(p, DEVICE, q.deviceCreate(pick_or_null(p, LOG), NULL, &h), &h);
    case 3: return made(p, PROFILE, q.profileCreate(pick(p, BACKEND), (QnnProfile_Level_t)dice_draw(&p->dice, 5), &h), &h);
    case 4: return made(p, SIGNAL, q.signalCreate(pick(p, BACKEND), dice_one_in(&p->dice, 2) ? signals : NULL, &h), &h);
    default:
        return made(p, CONTEXT,
                    q.contextCreate(pick(p, BACKEND), pick_or_null(p, DEVICE), dice_one_in(&p->dice, 3) ? list : NULL, &h),
                    &h);
    }
}

static Qnn_ErrorHandle_t call_free(struct player *p)
{
    enum kind k = (enum kind)dice_draw(&p->dice, KINDS);
    if ((k == BACKEND && !dice_one_in(&p->dice, 16)) || (k == CONTEXT && !dice_one_in(&p->dice, 4)))
        k = GRAPH; /* with these goes all that others need */
    return free_object(k, pick(p, k));
}

static Qnn_ErrorHandle_t call_graph(struct player *p)
{
    static const char *const names[] = { "g0", "g1", "g2", "g3", "", NULL };
    void *h = NULL;
    QnnGraph_Config_t c = random_graph_config(&p->dice, pick(p, PROFILE));
    const QnnGraph_Config_t *list[] = { &c, NULL };
    const char *name = names[dice_draw(&p->dice, COUNT(names))];
    switch (dice_draw(&p->dice, 6)) {
    case 0: return made(p, GRAPH, q.graphRetrieve(pick(p, CONTEXT), name, &h), &h);
    case 1: return made(p, GRAPH, q.graphCreateSubgraph(pick(p, GRAPH), name, &h), &h);
    case 2: return q.graphSetConfig(pick(p, GRAPH), list);
    default: return made(p, GRAPH, q.graphCreate(pick(p, CONTEXT), name, dice_one_in(&p->dice, 4) ? list : NULL, &h), &h);
    }
}

static Qnn_ErrorHandle_t call_tensor(struct player *p)
{
    Qnn_Tensor_t t = random_tensor(&p->dice);
    Qnn_ErrorHandle_t e = dice_one_in(&p->dice, 16) ? q.tensorCreateContextTensor(pick(p, CONTEXT), &t)
                                                    : q.tensorCreateGraphTensor(pick(p, GRAPH), &t);
    if (e == QNN_SUCCESS)
        known_keep(&p->known[dice_draw(&p->dice, PLAYER_KNOWN)], t);
    return e;
}

static Qnn_ErrorHandle_t call_node(struct player *p)
{
    static _Thread_local struct node_args n;
    const QnnBackend_OperationName_t *ops = NULL;
    uint32_t n_ops = 0;
    q.backendGetSupportedOperations(NULL, &n_ops, &ops);
    random_node(&p->dice, ops, n_ops, p->known, PLAYER_KNOWN, &n);
    return dice_one_in(&p->dice, 2) ? q.backendValidateOpConfig(pick(p, BACKEND), n.config)
                                    : q.graphAddNode(pick(p, GRAPH), n.config);
}

/* A whole net in a graph of its own, so that something can run. */
static Qnn_ErrorHandle_t call_net(struct player *p)
{
    struct net net;
    void *context = pick(p, CONTEXT);
    const char *name = keep_name("net%u", p->serial++);
    Qnn_ErrorHandle_t e = dice_one_in(&p->dice, 2) ? net_affine(context, name, 2, 1, &net) : net_conv(context, name, &net);
    if (e != QNN_SUCCESS)
        return e;
    unsigned at = dice_draw(&p->dice, PLAYER_NETS);
    p->nets[at].graph = net.graph;
    known_keep(&p->nets[at].x, net.x);
    known_keep(&p->nets[at].y, net.y);
    remember(p, GRAPH, net.graph);
    return dice_one_in(&p->dice, 8) ? e : q.graphFinalize(net.graph, pick_or_null(p, PROFILE), pick_or_null(p, SIGNAL));
}

static Qnn_ErrorHandle_t call_finalize(struct player *p)
{
    return dice_one_in(&p->dice, 8) ? q.contextFinalize(pick(p, CONTEXT), pick_or_null(p, PROFILE))
                                    : q.graphFinalize(pick(p, GRAPH), pick_or_null(p, PROFILE), pick_or_null(p, SIGNAL));
}

static Qnn_Tensor_t bound(struct player *p, Qnn_Tensor_t t, uint32_t bytes)
{
    t = tensor_data(t, p->dice.ground + 16 * dice_draw(&p->dice, 64),
                    dice_one_in(&p->dice, 8) ? 4 * dice_draw(&p->dice, 64) : bytes);
    if (dice_one_in(&p->dice, 8)) {
        TV(t).memType = QNN_TENSORMEMTYPE_MEMHANDLE;
        TV(t).memHandle = pick(p, MEM);
    }
    if (dice_one_in(&p->dice, 16))
        TV(t).clientBuf.data = NULL;
    return t;
}

static void notified(void *param, Qnn_NotifyStatus_t status)
{
    (void)param, (void)status;
}

static Qnn_ErrorHandle_t call_execute(struct player *p)
{
    unsigned at = dice_draw(&p->dice, PLAYER_NETS);
    void *graph = dice_one_in(&p->dice, 4) ? pick(p, GRAPH) : p->nets[at].graph, *profile = pick_or_null(p, PROFILE),
         *signal = pick_or_null(p, SIGNAL);
    bool small = TV(p->nets[at].x.t).rank != 4; /* which of the two nets */
    Qnn_Tensor_t in[2] = { bound(p, p->nets[at].x.t, small ? AFFINE_N * 4 : CONV_IN * 4),
                           random_known(&p->dice, p->known, PLAYER_KNOWN) };
    Qnn_Tensor_t out[2] = { bound(p, p->nets[at].y.t, small ? AFFINE_N * 4 : CONV_OUT * 4),
                            random_known(&p->dice, p->known, PLAYER_KNOWN) };
    in[1] = bound(p, in[1], 32);
    out[1] = bound(p, out[1], 32);
    uint32_t n_in = dice_one_in(&p->dice, 16) ? dice_draw(&p->dice, 3) : 1,
             n_out = dice_one_in(&p->dice, 16) ? dice_draw(&p->dice, 3) : 1;
    if (dice_one_in(&p->dice, 4))
        return q.graphExecuteAsync(graph, in, n_in, out, n_out, profile, signal, dice_one_in(&p->dice, 2) ? notified : NULL,
                                   NULL);
    return q.graphExecute(graph, dice_one_in(&p->dice, 32) ? NULL : in, n_in, out, n_out, profile, signal);
}

static Qnn_ErrorHandle_t call_binary(struct player *p)
{
    void *h = NULL;
    QnnContext_Config_t c = random_context_config(&p->dice);
    const QnnContext_Config_t *list[] = { &c, NULL }, **config = dice_one_in(&p->dice, 3) ? list : NULL;
    uint64_t n = 0;
    if (dice_one_in(&p->dice, 2)) {
        Qnn_ErrorHandle_t e = q.contextGetBinarySize(pick(p, CONTEXT), &n);
        return e != QNN_SUCCESS ? e : q.contextGetBinary(pick(p, CONTEXT), p->binary, PLAYER_BINARY_BYTES, &p->binary_bytes);
    }
    uint64_t size = dice_one_in(&p->dice, 16) ? dice_draw(&p->dice, PLAYER_BINARY_BYTES) : p->binary_bytes;
    if (size && dice_one_in(&p->dice, 4))
        p->binary[dice_draw(&p->dice, (uint32_t)size)] ^= (uint8_t)(1u << dice_draw(&p->dice, 8));
    if (dice_one_in(&p->dice, 4))
        return q.contextValidateBinary(pick(p, BACKEND), NULL, config, p->binary, size);
    return made(p, CONTEXT,
                q.contextCreateFromBinary(pick(p, BACKEND), pick_or_null(p, DEVICE), config, p->binary, size, &h,
                                          pick_or_null(p, PROFILE)),
                &h);
}

static Qnn_ErrorHandle_t call_profile(struct player *p)
{
    const QnnProfile_EventId_t *ids = NULL;
    QnnProfile_EventData_t data;
    uint32_t n = 0;
    Qnn_ErrorHandle_t e = q.profileGetEvents(pick(p, PROFILE), &ids, &n);
    if (e == QNN_SUCCESS && n)
        e = q.profileGetEventData((uint64_t)dice_draw(&p->dice, 64) << 32 | dice_draw(&p->dice, 64), &data);
    return e;
}

static Qnn_ErrorHandle_t call_rest(struct player *p)
{
    void *h = NULL;
    Qnn_MemDescriptor_t m = random_memory(&p->dice, shared_file);
    const QnnDevice_PlatformInfo_t *info = NULL;
    switch (dice_draw(&p->dice, 6)) {
    case 0: return q.signalTrigger(pick(p, SIGNAL));
    case 1: return q.logSetLogLevel(pick(p, LOG), (QnnLog_Level_t)dice_draw(&p->dice, 4));
    case 2: return q.deviceGetInfo(pick(p, DEVICE), &info);
    default: return made(p, MEM, q.memRegister(pick(p, CONTEXT), &m, 1, &h), &h);
    }
}

static const struct {
    unsigned share;
    Qnn_ErrorHandle_t (*make)(struct player *p);
} choices[] = { { 3, call_create }, { 2, call_free },    { 3, call_graph },    { 8, call_tensor },
                { 6, call_node },   { 4, call_net },     { 2, call_finalize }, { 10, call_execute },
                { 3, call_binary }, { 2, call_profile }, { 3, call_rest } };

Qnn_ErrorHandle_t random_call(struct player *p)
{
    uint32_t all = 0, at;
    for (unsigned i = 0; i < COUNT(choices); i++)
        all += choices[i].share;
    at = dice_draw(&p->dice, all);
    for (unsigned i = 0;; at -= choices[i++].share)
        if (at < choices[i].share)
            return choices[i].make(p);
}

void player_init(struct player *p, uint64_t seed)
{
    p->dice.state = seed;
    for (unsigned k = 0; k < PLAYER_KNOWN; k++)
        known_keep(&p->known[k], random_tensor(&p->dice));
    for (unsigned k = 0; k < PLAYER_NETS; k++) {
        known_keep(&p->nets[k].x, random_tensor(&p->dice));
        known_keep(&p->nets[k].y, random_tensor(&p->dice));
    }
}
