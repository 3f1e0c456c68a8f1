/* SPDX-License-Identifier: Apache-2.0 */
/* Power votes by id, and the rules that tie them together:
 *
 *   matrix unit, compute engine and DDR   only beside a clock vote of the same id; they go when it goes
 *   adaptive polling                      only beside a polling time of the same id
 *   EXP votes                             architecture 85 and later, never beside votes of the older kind
 *   the vote of the matrix unit           architecture 75 and later
 *
 * What a vote changes here is how callers wait for a run, and estimates: clocks (htp_rates.c) and the wake-up of the
 * device. */
#include "backend/htp/htp_backend.h"

#include <stdio.h>

#include "base/forks.h"
#include "base/mem.h"
#include "base/vec.h"

enum { ARCH_HMX = 75, ARCH_EXP = 85, EXP_MIN = 0x100, IMPLICIT_ID = 1 };

struct power_config {
    uint32_t id;
    struct htp_votes v;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
FORKS_HOLD(lock)
static VEC(struct power_config) configs;
static uint32_t last_id;
static uint32_t grow_bytes;
/* The longest wait that any id votes for; read by every run. */
static _Atomic uint32_t polling_us, adaptive_us;
static _Atomic uint32_t latency_us; /* the shortest that is voted for, 0: none */

static struct power_config *find(uint32_t id)
{
    for (size_t i = 0; i < configs.n; i++)
        if (configs.at[i].id == id)
            return &configs.at[i];
    return NULL;
}

static enum status add(uint32_t *ret)
{
    struct power_config *c = vec_push(&configs);
    RETURN_IF(!c, ST_NO_MEMORY, "no memory for a power config");
    c->id = ++last_id;
    *ret = c->id;
    return ST_OK;
}

static void sum_up(void)
{
    uint32_t poll = 0, adaptive = 0, latency = 0;
    for (size_t i = 0; i < configs.n; i++) {
        const struct htp_votes *v = &configs.at[i].v;
        if (v->rpc_latency_us && (!latency || v->rpc_latency_us < latency))
            latency = v->rpc_latency_us;
        poll = v->polling_set && v->polling_us > poll ? v->polling_us : poll;
        adaptive = v->adaptive_set && v->adaptive_us > adaptive ? v->adaptive_us : adaptive;
    }
    polling_us = poll;
    adaptive_us = adaptive;
    latency_us = latency;
}

static enum status check_place(uint32_t device, uint32_t core)
{
    const struct rpc_soc *soc = htp_soc_used();

    RETURN_IF(device != 0, ST_INVALID_ARG, "device %u; there is one, with number 0", device);
    RETURN_IF(core >= soc->cores, ST_INVALID_ARG,
              "core %u; SoC %s has %u, counted from "
              "0",
              core, soc->name, soc->cores);
    return ST_OK;
}

enum status htp_vote_id(uint32_t device, uint32_t core, uint32_t *ret)
{
    TRY(check_place(device, core));
    pthread_mutex_lock(&lock);
    enum status st = add(ret);
    pthread_mutex_unlock(&lock);
    return st;
}

/* Some clients vote with id 1 before they created any; that is what the first one is called. */
static enum status need(uint32_t id, struct power_config **ret)
{
    uint32_t made;
    *ret = find(id);
    if (!*ret && id == IMPLICIT_ID && last_id == 0) {
        backend_log(BACKEND_WARN, "power config id 1 is used before createPowerConfigId; it is created now");
        TRY(add(&made));
        *ret = find(id);
    }
    RETURN_IF(!*ret, ST_INVALID_ARG, "power config id %u does not exist; take one from createPowerConfigId", id);
    return ST_OK;
}

enum status htp_vote_get(uint32_t id, struct htp_votes *ret)
{
    struct power_config *c;
    pthread_mutex_lock(&lock);
    enum status st = need(id, &c);
    if (st == ST_OK)
        *ret = c->v;
    pthread_mutex_unlock(&lock);
    return st;
}

/* ---- rules ------------------------------------------------------------------------------------------------------------ */

static bool corner_ok(uint32_t c, bool exp)
{
    static const uint32_t known[] = { 16, 32, 48, 64, 80, 96, 112, 128, 144, 146, 147, 148, 149, 160 };
    if (exp)
        return c == 0 || (c >= EXP_MIN && c <= 0xffff);
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (known[i] == c)
            return true;
    return false;
}

static enum status check_corners(const struct htp_corners *c, bool exp, const char *what)
{
    RETURN_IF(!corner_ok(c->min, exp) || !corner_ok(c->target, exp) || !corner_ok(c->max, exp), ST_INVALID_ARG,
              "%s corners 0x%x, 0x%x, 0x%x; %s", what, c->min, c->target, c->max,
              exp ? "finer corners are 0 (disable) and 0x100 to 0xffff" : "0x10 (disable) to 0xa0 (maximum) are known");
    RETURN_IF(c->min > c->max, ST_INVALID_ARG, "%s corners: the least, 0x%x, is above the most, 0x%x", what, c->min, c->max);
    return ST_OK;
}

static enum status check_clock(const struct htp_clock_vote *v)
{
    bool mode_ok = v->mode == 1 || v->mode == 2 || v->mode == 4 || v->mode == 8 || v->mode == 16 || v->mode == 32;
    RETURN_IF(v->set_dcvs && v->dcvs && !mode_ok, ST_INVALID_ARG, "power mode %u; 1, 2, 4, 8, 16 and 32 are known", v->mode);
    RETURN_IF(v->set_latency && (v->latency_us < 10 || v->latency_us > 65535), ST_INVALID_ARG,
              "sleep latency of %u us; 10 to 65535 are allowed", v->latency_us);
    if (v->set_bus)
        TRY(check_corners(&v->bus, v->exp, "bus"));
    if (v->set_core)
        TRY(check_corners(&v->core, v->exp, "core"));
    return ST_OK;
}

static enum status check_unit(const struct htp_votes *v, const struct htp_unit_vote *u, const char *what)
{
    if (!u->active)
        return ST_OK;
    RETURN_IF(!v->clock.active, ST_INVALID_ARG,
              "a vote for the %s without a clock vote (DCVS_V3) of the same id; vote for clocks first", what);
    RETURN_IF(u->mode > 16 && u->mode != 255, ST_INVALID_ARG, "%s: clock mode %u; 0 to 16 and 255 are known", what, u->mode);
    return u->pick_default ? ST_OK : check_corners(&u->v, u->exp, what);
}

static enum status check_votes(const struct htp_votes *v)
{
    uint32_t arch = htp_soc_arch();
    bool exp = (v->clock.active && v->clock.exp) || (v->ceng.active && v->ceng.exp);
    bool legacy = (v->clock.active && !v->clock.exp) || (v->ceng.active && !v->ceng.exp);
    RETURN_IF(exp && legacy, ST_INVALID_ARG, "EXP votes and votes of the older kind on one id; use one kind");
    RETURN_IF(exp && arch < ARCH_EXP, ST_NOT_SUPPORTED, "EXP votes need architecture v%d; the device has v%u", ARCH_EXP,
              arch);
    RETURN_IF(v->hmx.active && arch < ARCH_HMX, ST_NOT_SUPPORTED,
              "votes for the matrix unit need architecture v%d; the device has v%u (device option SOC, or OPENQNN_SOC)",
              ARCH_HMX, arch);
    if (v->clock.active)
        TRY(check_clock(&v->clock));
    TRY(check_unit(v, &v->hmx, "matrix unit"));
    TRY(check_unit(v, &v->ceng, "compute engine"));
    RETURN_IF(v->ddr_set && !v->clock.active, ST_INVALID_ARG,
              "a DDR mode without a clock vote (DCVS_V3) of the same id; vote for clocks first");
    RETURN_IF(v->polling_set && v->polling_us > HTP_MAX_POLLING_US, ST_INVALID_ARG,
              "RPC polling time of %u us; 0 to %d are allowed", v->polling_us, HTP_MAX_POLLING_US);
    RETURN_IF(v->adaptive_set && v->adaptive_us && !(v->polling_set && v->polling_us), ST_INVALID_ARG,
              "adaptive polling without RPC polling; vote for an RPC polling time first");
    return ST_OK;
}

/* Without clocks there is nothing that the other units could hang on. */
static void drop_dependents(struct htp_votes *v, const struct htp_votes *before)
{
    if (v->clock.active || !before->clock.active)
        return;
    v->hmx.active = v->ceng.active = v->ddr_set = false;
}

/* Clients look for these words to see that their mode has arrived. */
static void tell(uint32_t id, const struct htp_clock_vote *c)
{
    if (c->active)
        backend_log(BACKEND_VERBOSE,
                    "power config %u: dcvsEnable %u, powerMode %u, sleepLatency %u, busVoltageCornerMin %u, "
                    "busVoltageCornerTarget %u, busVoltageCornerMax %u, "
                    "coreVoltageCornerMin %u, coreVoltageCornerTarget %u, coreVoltageCornerMax %u",
                    id, c->dcvs, c->mode, c->latency_us, c->bus.min, c->bus.target, c->bus.max, c->core.min, c->core.target,
                    c->core.max);
}

enum status htp_vote_set(uint32_t id, const struct htp_votes *want)
{
    struct power_config *c;
    struct htp_votes v = *want;
    pthread_mutex_lock(&lock);
    enum status st = need(id, &c);
    if (st == ST_OK) {
        drop_dependents(&v, &c->v);
        st = check_votes(&v);
    }
    if (st == ST_OK)
        c->v = v;
    sum_up();
    pthread_mutex_unlock(&lock);
    if (st == ST_OK)
        tell(id, &v.clock); /* without the lock: a log is the client's function */
    return st;
}

enum status htp_vote_drop(uint32_t id)
{
    pthread_mutex_lock(&lock);
    struct power_config *c = find(id);
    if (c)
        *c = configs.at[--configs.n];
    if (!configs.n)
        vec_finish(&configs);
    sum_up();
    pthread_mutex_unlock(&lock);
    RETURN_IF(!c, ST_INVALID_ARG, "power config id %u does not exist, or is destroyed already", id);
    return ST_OK;
}

enum status htp_vote_memory(uint32_t device, uint32_t core, uint32_t bytes)
{
    TRY(check_place(device, core));
    pthread_mutex_lock(&lock);
    grow_bytes = bytes;
    pthread_mutex_unlock(&lock);
    return ST_OK;
}

/* EXP votes are made again in the new session; all others are the client's to repeat. */
void htp_votes_lost(void)
{
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < configs.n; i++) {
        struct htp_clock_vote clock = configs.at[i].v.clock;
        configs.at[i].v = (struct htp_votes){ 0 };
        if (clock.exp)
            configs.at[i].v.clock = clock;
    }
    grow_bytes = 0;
    sum_up();
    pthread_mutex_unlock(&lock);
}

/* ---- what follows from them ------------------------------------------------------------------------------------------- */

struct rpc_wait htp_votes_wait(uint64_t last_run_ns)
{
    uint32_t poll = polling_us, from = adaptive_us;
    return (struct rpc_wait){ .poll_us = poll,
                              .adaptive = poll && from && last_run_ns >= (uint64_t)from * 1000,
                              .latency_us = latency_us };
}

/* The highest target of a clock that any id votes for, 0: none does. */
static uint32_t highest(bool core)
{
    uint32_t most = 0;

    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < configs.n; i++) {
        const struct htp_clock_vote *c = &configs.at[i].v.clock;
        const struct htp_corners *corners = core ? &c->core : &c->bus;
        bool set = core ? c->set_core : c->set_bus;
        /* The finer kind has 0 for "disable"; that is a vote, too. */
        uint32_t target = c->exp && !corners->target ? EXP_MIN : corners->target;

        if (c->active && set && target > most)
            most = target;
    }
    pthread_mutex_unlock(&lock);
    return most;
}

uint32_t htp_votes_core(void)
{
    return highest(true);
}

uint32_t htp_votes_bus(void)
{
    return highest(false);
}

uint32_t htp_votes_matrix(uint32_t *ret_mode)
{
    uint32_t most = 0;

    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < configs.n; i++) {
        const struct htp_unit_vote *u = &configs.at[i].v.hmx;
        uint32_t target = u->v.target ? u->v.target : EXP_MIN; /* 0: "disable" */

        if (!u->active || u->pick_default || target < most)
            continue;
        most = target;
        *ret_mode = u->mode;
    }
    pthread_mutex_unlock(&lock);
    return most;
}

uint32_t htp_votes_matrix_timeout(void)
{
    uint32_t most = 0;

    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < configs.n; i++) {
        const struct htp_votes *v = &configs.at[i].v;

        if (v->timeout_set && v->hmx_timeout_us > most)
            most = v->hmx_timeout_us;
    }
    pthread_mutex_unlock(&lock);
    return most;
}

/* The device may sleep as deep as all votes allow; a single one keeps it awake. False: nothing is voted. */
static bool wake_up_us(uint32_t *ret)
{
    bool voted = false;

    *ret = UINT32_MAX;
    for (size_t i = 0; i < configs.n; i++) {
        const struct htp_clock_vote *c = &configs.at[i].v.clock;
        bool awake = c->active && c->set_sleep_disable && c->sleep_disable;

        if (c->active && c->set_latency && c->latency_us < *ret)
            *ret = c->latency_us;
        if (awake)
            *ret = 0;
        voted |= awake || (c->active && c->set_latency);
    }
    return voted;
}

void htp_votes_wake_up(struct prof *prof, int32_t parent)
{
    enum { WAKE_UP_EVENT = 30018 };
    uint32_t us;

    pthread_mutex_lock(&lock);
    bool voted = wake_up_us(&us);
    pthread_mutex_unlock(&lock);
    if (voted)
        prof_add(prof, parent, WAKE_UP_EVENT, PROF_UNIT_US, us, "Wake-up of the device after idle, at most (estimated)");
}

static void add_event(const struct power_config *c, struct prof *prof, int32_t parent)
{
    char name[256];
    const struct htp_votes *v = &c->v;
    int n = snprintf(
        name, sizeof name,
        "Power config %u: core 0x%x, bus 0x%x, sleep latency %u us, RPC latency %u us, polling %u us, adaptive %u us", c->id,
        v->clock.active && v->clock.set_core ? v->clock.core.target : 0,
        v->clock.active && v->clock.set_bus ? v->clock.bus.target : 0, v->clock.set_latency ? v->clock.latency_us : 0,
        v->rpc_latency_us, v->polling_us, v->adaptive_us);
    if (v->hmx.active && n > 0 && (size_t)n < sizeof name)
        n += snprintf(name + n, sizeof name - (size_t)n, v->hmx.pick_default ? ", HMX default" : ", HMX 0x%x",
                      v->hmx.v.target);
    if (v->clock.set_sleep_disable && v->clock.sleep_disable && n > 0 && (size_t)n < sizeof name)
        n += snprintf(name + n, sizeof name - (size_t)n, ", no sleep");
    if (v->timeout_set && n > 0 && (size_t)n < sizeof name)
        snprintf(name + n, sizeof name - (size_t)n, ", HMX timeout %u us", v->hmx_timeout_us);
    prof_add(prof, parent, 30001, PROF_UNIT_NONE, c->id, name);
}

void htp_votes_events(struct prof *prof, int32_t parent)
{
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < configs.n; i++)
        add_event(&configs.at[i], prof, parent);
    pthread_mutex_unlock(&lock);
}

/* The library may be closed with ids left. */
__attribute__((destructor)) static void forget(void)
{
    vec_finish(&configs);
}
