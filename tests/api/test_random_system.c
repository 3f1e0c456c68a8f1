/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of libQnnSystem.so in any order with any arguments, from one thread and from four that share their objects:
 * descriptions of context binaries, DLC files and their records, profile logs and loggers are freed while others use them,
 * files are cut short and have bits flipped. Nothing is expected of a single call but that it returns, and that what was
 * never touched is described afterwards as before. The same seed gives the same calls:
 *
 *     test_random_system [CALLS [SEED]] */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <QNN/System/QnnSystemInterface.h>

#include "convert/convert.h"
#include "dlc_slots.h"
#include "random_args.h"
#include "test_scale.h"

enum kind { LOG, CONTEXT, DLC, RECORD, TARGET, INFO, KINDS };
enum { SLOTS = 3, THREADS = 4, CALLS = 20000, FILE_BYTES = 1 << 16 };

static QNN_SYSTEM_INTERFACE_VER_TYPE sys;
static void *table[DLC_SLOTS_END]; /* the same, as newer clients have it */
static char dir[200];
static _Atomic(void *) slots[KINDS][SLOTS];
static unsigned calls = CALLS, first_seed = 1;
static struct {
    uint8_t *at;
    size_t n;
} originals[2]; /* a context binary, a DLC */

struct player {
    struct dice dice;
    uint8_t file[FILE_BYTES]; /* one of the originals, spoilt or not */
    void *own;                /* a DLC that nobody else frees: lists of handles are its memory */
    unsigned accepted, refused, number;
};

static Qnn_ErrorHandle_t free_object(enum kind k, void *h)
{
    switch (k) {
    case LOG: return sys.systemLogFree(h);
    case CONTEXT: return sys.systemContextFree(h);
    case DLC: return sys.systemDlcFree(h);
    case RECORD: return sys.systemDlcFreeRecord(h);
    case INFO: return QNN_SUCCESS; /* goes with its DLC */
    default: return sys.systemProfileFreeSerializationTarget(h);
    }
}

static Qnn_ErrorHandle_t made(struct player *p, enum kind k, Qnn_ErrorHandle_t e, void *const *h)
{
    void *old = e == QNN_SUCCESS ? atomic_exchange(&slots[k][dice_draw(&p->dice, SLOTS)], *h) : NULL;
    if (old)
        free_object(k, old);
    return e;
}

static void *pick(struct player *p, enum kind k)
{
    static const uintptr_t odd[] = { 0, 1, 0xdeadbeef, UINTPTR_MAX };
    switch (dice_draw(&p->dice, 30)) {
    case 0: return (void *)odd[dice_draw(&p->dice, COUNT(odd))];
    case 1: return slots[dice_draw(&p->dice, KINDS)][0];
    default: return slots[k][dice_draw(&p->dice, SLOTS)];
    }
}

/* A file of either kind: whole, cut short, or with flipped bits. */
static uint64_t some_file(struct player *p, unsigned which)
{
    uint64_t n = originals[which].n;
    memcpy(p->file, originals[which].at, n);
    if (dice_one_in(&p->dice, 4))
        n = dice_draw(&p->dice, (uint32_t)n + 1);
    for (unsigned i = dice_one_in(&p->dice, 2) ? 0 : 1 + dice_draw(&p->dice, 3); i > 0 && n; i--)
        p->file[dice_draw(&p->dice, (uint32_t)n)] ^= (uint8_t)(1u << dice_draw(&p->dice, 8));
    return n;
}

/* ---- calls ------------------------------------------------------------------------------------------------------------ */

static Qnn_ErrorHandle_t call_log(struct player *p)
{
    void *h = NULL;
    if (dice_one_in(&p->dice, 2))
        return sys.systemLogSetLogLevel(pick(p, LOG), (QnnLog_Level_t)dice_draw(&p->dice, 8));
    return made(p, LOG, sys.systemLogCreate(NULL, QNN_LOG_LEVEL_ERROR, &h), &h);
}

static Qnn_ErrorHandle_t call_context(struct player *p)
{
    void *h = NULL;
    const QnnSystemContext_BinaryInfo_t *info = NULL;
    Qnn_ContextBinarySize_t size = 0;
    if (dice_one_in(&p->dice, 3))
        return made(p, CONTEXT, sys.systemContextCreate(&h), &h);
    uint64_t n = some_file(p, dice_one_in(&p->dice, 16));
    if (dice_one_in(&p->dice, 2))
        return sys.systemContextGetMetaData(pick(p, CONTEXT), p->file, n, dice_one_in(&p->dice, 32) ? NULL : &info);
    return sys.systemContextGetBinaryInfo(pick(p, CONTEXT), p->file, n, dice_one_in(&p->dice, 32) ? NULL : &info, &size);
}

static Qnn_ErrorHandle_t call_dlc(struct player *p)
{
    void *h = NULL, *log = dice_one_in(&p->dice, 2) ? NULL : pick(p, LOG);
    char path[300];
    snprintf(path, sizeof path, "%s/%u.dlc", dir, dice_one_in(&p->dice, 4) ? 77 : p->number);
    switch (dice_draw(&p->dice, 5)) {
    case 0: return made(p, DLC, sys.systemDlcCreateFromFile(log, path, &h), &h);
    case 1: return made(p, DLC, sys.systemDlcCreateWithDestinationDir(log, dice_one_in(&p->dice, 8) ? NULL : dir, &h), &h);
    case 2: return sys.systemDlcSave(pick(p, DLC), path);
    default:
        return made(p, DLC, sys.systemDlcCreateFromBinary(log, p->file, some_file(p, !dice_one_in(&p->dice, 16)), &h), &h);
    }
}

static Qnn_ErrorHandle_t call_dlc_read(struct player *p)
{
    const Qnn_OpMapping_t *mappings = NULL;
    QnnSystemContext_GraphInfo_t *graphs = NULL;
    Qnn_SystemDlcBinarySize_t size = 0, written = 0;
    uint32_t n = 0;
    void *dlc = pick(p, DLC), *context = NULL;
    switch (dice_draw(&p->dice, 4)) {
    case 0: return sys.systemDlcGetOpMappings(dlc, &mappings, &n);
    case 1: return sys.systemDlcGetBinarySize(dlc, &size);
    case 2: return sys.systemDlcGetBinary(dlc, p->file, dice_draw(&p->dice, FILE_BYTES), &written);
    default: break;
    }
    if (q.contextCreate(env.backend, NULL, NULL, &context) != QNN_SUCCESS)
        return QNN_SUCCESS;
    Qnn_ErrorHandle_t e =
        sys.systemDlcComposeGraphs(dlc, NULL, 0, env.backend, dice_one_in(&p->dice, 16) ? NULL : context, *provider,
                                   (QnnSystemContext_GraphInfoVersion_t)dice_draw(&p->dice, 5), &graphs, &n);
    free(graphs);
    q.contextFree(context, NULL);
    return e;
}

static Qnn_ErrorHandle_t call_record(struct player *p)
{
    static const char *const names[] = { "model", "model.params", "dlc.metadata", "", "none", NULL };
    void *h = NULL;
    QnnSystemDlc_RecordHandle_t *list = NULL;
    const uint8_t *data = NULL;
    uint64_t size = 0;
    uint32_t n = 0;
    Qnn_ErrorHandle_t e;
    switch (dice_draw(&p->dice, 4)) {
    case 0:
        return made(p, RECORD, sys.systemDlcGetRecordByName(pick(p, DLC), names[dice_draw(&p->dice, COUNT(names))], &h), &h);
    case 1: return sys.systemDlcGetRecordDataSize(pick(p, RECORD), &size);
    case 2: return sys.systemDlcReadRecordDataMemoryMapped(pick(p, RECORD), &data, &size);
    default: break;
    }
    e = sys.systemDlcGetRecordsByType(pick(p, DLC), (QnnSystemDlc_RecordType_t)dice_draw(&p->dice, 12),
                                      dice_one_in(&p->dice, 2), &list, &n);
    for (uint32_t i = 0; e == QNN_SUCCESS && i < n; i++)
        made(p, RECORD, e, &list[i]);
    free(list);
    return e;
}

static Qnn_ErrorHandle_t call_profile(struct player *p)
{
    void *h = NULL;
    char name[40];
    snprintf(name, sizeof name, "%u.log", p->number);
    QnnSystemProfile_SerializationTarget_t t = { .type = (QnnSystemProfile_SerializationTargetType_t)dice_draw(&p->dice, 3),
                                                 .file = { name, dir } };
    QnnSystemProfile_ProfileEventV1_t event = { .type = (QnnSystemProfile_EventDataType_t)dice_draw(&p->dice, 4) };
    QnnSystemProfile_ProfileData_t data = { .version = (QnnSystemProfile_ProfileDataVersion_t)dice_draw(&p->dice, 3),
                                            .v1 = { .profilingEvents = &event,
                                                    .numProfilingEvents = dice_draw(&p->dice, 2) } };
    const QnnSystemProfile_ProfileData_t *list[] = { &data, NULL };
    if (dice_one_in(&p->dice, 3))
        return made(p, TARGET, sys.systemProfileCreateSerializationTarget(t, NULL, 0, &h), &h);
    return sys.systemProfileSerializeEventData(pick(p, TARGET), list, dice_one_in(&p->dice, 16) ? 2 : 1);
}

static Qnn_ErrorHandle_t call_rest(struct player *p)
{
    uint64_t bytes = 0;
    enum kind k = (enum kind)dice_draw(&p->dice, KINDS);
    if (dice_one_in(&p->dice, 2))
        return free_object(k, pick(p, k));
    return sys.systemTensorGetMemoryFootprint(random_tensor(&p->dice), dice_one_in(&p->dice, 16) ? NULL : &bytes);
}

/* What a DLC says about itself. Handles are shared, and stay when their DLC is gone. */
static Qnn_ErrorHandle_t call_info(struct player *p)
{
    uint64_t room[8];
    void **list = NULL;
    uint32_t n = 0;
    if (!p->own || dice_one_in(&p->dice, 16)) {
        if (p->own)
            sys.systemDlcFree(p->own);
        p->own = NULL;
        return sys.systemDlcCreateFromBinary(NULL, p->file, some_file(p, 1), &p->own);
    }
    if (dice_one_in(&p->dice, 4)) {
        enum dlc_slot s = dice_one_in(&p->dice, 4) ? BINARY_HANDLES : GRAPH_HANDLES;
        Qnn_ErrorHandle_t e = ((handles_fn *)table[s])(p->own, &list, &n);
        return n ? made(p, INFO, e, &list[dice_draw(&p->dice, n)]) : e;
    }
    enum dlc_slot s = (enum dlc_slot)(GRAPH_ALL + dice_draw(&p->dice, FREE_RANGE - GRAPH_ALL));
    void *h = pick(p, INFO), *got = dice_one_in(&p->dice, 16) ? NULL : room;
    if (s == FREE_RANGE)
        return ((range_fn *)table[s])(pick(p, RECORD), dice_draw(&p->dice, 999), dice_draw(&p->dice, 999));
    if (s == CORE_VERSION || s == BACKEND_VERSION || s == HARDWARE_VERSION || s == BLOB_VERSION)
        return ((version_fn *)table[s])(h, got, (uint32_t *)room + 1, (uint32_t *)room + 2);
    Qnn_ErrorHandle_t e =
        dlc_slot_indexed(s) ? ((part_fn *)table[s])(h, dice_draw(&p->dice, 4), got) : ((fact_fn *)table[s])(h, got);
    return e == QNN_SUCCESS && dlc_slot_gives_handle(s) ? made(p, INFO, e, (void **)room) : e;
}

static const struct {
    unsigned share;
    Qnn_ErrorHandle_t (*make)(struct player *p);
} choices[] = { { 1, call_log },    { 5, call_context }, { 5, call_dlc },  { 4, call_dlc_read },
                { 5, call_record }, { 3, call_profile }, { 3, call_rest }, { 6, call_info } };

static void *play(void *arg)
{
    struct player *p = arg;
    unsigned all = 0;
    for (unsigned i = 0; i < COUNT(choices); i++)
        all += choices[i].share;
    for (unsigned i = 0; i < calls; i++) {
        uint32_t at = dice_draw(&p->dice, all), k = 0;
        for (; at >= choices[k].share; k++)
            at -= choices[k].share;
        *(choices[k].make(p) == QNN_SUCCESS ? &p->accepted : &p->refused) += 1;
    }
    if (p->own)
        sys.systemDlcFree(p->own);
    return NULL;
}

/* ---- before and after ------------------------------------------------------------------------------------------------- */

static void describe(char *to, size_t size)
{
    void *h = NULL, *d = NULL;
    const QnnSystemContext_BinaryInfo_t *info = NULL;
    const Qnn_OpMapping_t *mappings = NULL;
    uint32_t n = 0;
    OK(sys.systemContextCreate(&h));
    OK(sys.systemContextGetMetaData(h, originals[0].at, originals[0].n, &info));
    OK(sys.systemDlcCreateFromBinary(NULL, originals[1].at, originals[1].n, &d));
    OK(sys.systemDlcGetOpMappings(d, &mappings, &n));
    snprintf(to, size, "%s, %u graphs, %u mappings", info->contextBinaryInfoV3.coreApiVersion.major ? "binary" : "odd",
             info->contextBinaryInfoV3.numGraphs, n);
    OK(sys.systemDlcFree(d));
    OK(sys.systemContextFree(h));
}

static void play_around(unsigned n)
{
    char before[100], after[100];
    pthread_t t[THREADS];
    struct player *p = calloc(n, sizeof *p);
    assert_non_null(p);
    describe(before, sizeof before);
    hush(true);
    for (unsigned i = 0; i < n; i++) {
        p[i].dice.state = first_seed * 1000003ull + i;
        p[i].number = i;
        assert_int_equal(pthread_create(&t[i], NULL, play, &p[i]), 0);
    }
    unsigned accepted = 0, refused = 0;
    for (unsigned i = 0; i < n; i++) {
        pthread_join(t[i], NULL);
        accepted += p[i].accepted, refused += p[i].refused;
    }
    for (unsigned k = KINDS; k-- > 0;)
        for (unsigned i = 0; i < SLOTS; i++)
            free_object((enum kind)k, atomic_exchange(&slots[k][i], NULL));
    hush(false);
    print_message("%u threads: %u calls accepted, %u refused\n", n, accepted, refused);
    assert_true(accepted > refused / 10); /* else the calls say nothing */
    describe(after, sizeof after);
    assert_string_equal(before, after);
    free(p);
}

static void test_one_thread(void **state)
{
    (void)state;
    play_around(1);
}

static void test_four_threads(void **state)
{
    (void)state;
    play_around(THREADS);
}

/* ---- files ------------------------------------------------------------------------------------------------------------ */

static void make_binary(void)
{
    struct net net;
    uint64_t n = 0;
    OK(net_affine(env.context, "affine", 2, 1, &net));
    OK(q.graphFinalize(net.graph, NULL, NULL));
    OK(q.contextGetBinarySize(env.context, &n));
    assert_true(n <= FILE_BYTES);
    originals[0].at = malloc(n);
    OK(q.contextGetBinary(env.context, originals[0].at, n, &n));
    originals[0].n = n;
}

static void make_dlc(void)
{
    static const char text[] =
        "graph \"soft\" { in %x : f32[2,3] const %k : f32[3] = (1,2,-1) tmp %t : f32[2,3] out %y : f32[2,3]\n"
        "%t = ElementWiseMultiply \"mul\" (%x, %k) from \"Mul:m\" %y = Softmax \"s\" (%t) { axis=u32(1), beta=f32(0.5) } "
        "from \"Softmax:s\" }";
    struct ir_graph *g = NULL;
    char path[300];
    snprintf(path, sizeof path, "%s/77", dir);
    struct convert_write w = { .prefix = path };
    if (ir_parse(text, sizeof text - 1, &g) != ST_OK ||
        convert_write_dlc((const struct ir_graph *const *)&g, 1, &w) != ST_OK)
        fail_msg("%s", status_text());
    ir_graph_free(g);
    strcat(path, ".dlc");
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    originals[1].at = malloc(FILE_BYTES);
    originals[1].n = fread(originals[1].at, 1, FILE_BYTES, f);
    fclose(f);
}

static int setup(void **state)
{
    const char *tmp = getenv("TMPDIR");
    snprintf(dir, sizeof dir, "%s/openqnn-random-system-XXXXXX", tmp ? tmp : "/tmp");
    if (!mkdtemp(dir))
        return -1;
    lib_open();
    void *library = lib_dlopen("libQnnSystem.so", RTLD_NOW | RTLD_LOCAL);
    Qnn_ErrorHandle_t (*get)(const QnnSystemInterface_t ***, uint32_t *) = dlsym(library, "QnnSystemInterface_getProviders");
    const QnnSystemInterface_t **list;
    uint32_t n;
    if (!get || get(&list, &n) != QNN_SUCCESS || env_setup(state))
        return -1;
    sys = list[0]->QNN_SYSTEM_INTERFACE_VER_NAME;
    memcpy(table, &list[0]->QNN_SYSTEM_INTERFACE_VER_NAME, sizeof table);
    make_binary();
    make_dlc();
    return 0;
}

static int teardown(void **state)
{
    char path[300];
    env_teardown(state);
    for (unsigned i = 0; i <= 77; i++)
        for (unsigned k = 0; k < 2; k++) {
            snprintf(path, sizeof path, "%s/%u.%s", dir, i, k ? "log" : "dlc");
            unlink(path);
        }
    free(originals[0].at);
    free(originals[1].at);
    lib_close();
    return rmdir(dir);
}

int main(int argc, char **argv)
{
    calls = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : test_scale(CALLS);
    first_seed = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 1;
    static const struct CMUnitTest tests[] = { cmocka_unit_test(test_one_thread), cmocka_unit_test(test_four_threads) };
    return cmocka_run_group_tests(tests, setup, teardown);
}
