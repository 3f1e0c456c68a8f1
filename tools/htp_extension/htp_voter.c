/* SPDX-License-Identifier: Apache-2.0 */
#include "htp_extension/htp_voter.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "QNN/HTP/QnnHtpDevice.h"
#include "base/clock.h"

enum { MAX_VOTES = 8, DEFAULT_LATENCY_US = 100 };

/* All voters of the program. Inferences of several threads vote through one of them. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct htp_voter *voters;

static const struct htp_core_params *core_of(const struct htp_voter *v)
{
    return v->device && v->device->cores.n ? v->device->cores.items : NULL;
}

/* ---- what is voted for ------------------------------------------------------------------------------------------------ */

static QnnHtpPerfInfrastructure_PowerConfig_t clock_vote(const struct htp_profile *p, uint32_t id)
{
    const QnnHtpPerfInfrastructure_VoltageCorner_t most = (QnnHtpPerfInfrastructure_VoltageCorner_t)p->corner;
    const QnnHtpPerfInfrastructure_VoltageCorner_t least =
        p->least ? (QnnHtpPerfInfrastructure_VoltageCorner_t)p->least : most;

    return (QnnHtpPerfInfrastructure_PowerConfig_t){
        .option = QNN_HTP_PERF_INFRASTRUCTURE_POWER_CONFIGOPTION_DCVS_V3,
        .dcvsV3Config = {
            .contextId = id, .setDcvsEnable = 1, .dcvsEnable = p->least != 0,
            .powerMode = p->least ? QNN_HTP_PERF_INFRASTRUCTURE_POWERMODE_POWER_SAVER_MODE
                                  : QNN_HTP_PERF_INFRASTRUCTURE_POWERMODE_PERFORMANCE_MODE,
            .setSleepLatency = 1, .sleepLatency = p->sleep_us,
            .setBusParams = 1, .busVoltageCornerMin = least, .busVoltageCornerTarget = most, .busVoltageCornerMax = most,
            .setCoreParams = 1, .coreVoltageCornerMin = least, .coreVoltageCornerTarget = most,
            .coreVoltageCornerMax = most,
        },
    };
}

static void add_number(QnnHtpPerfInfrastructure_PowerConfig_t c[MAX_VOTES], uint32_t *n,
                       QnnHtpPerfInfrastructure_PowerConfigOption_t option, uint32_t value)
{
    c[*n].option = option;
    c[(*n)++].rpcPollingTimeConfig = value; /* all members are numbers of 32 bits in one place */
}
#define ADD(name, value) add_number(c, &n, QNN_HTP_PERF_INFRASTRUCTURE_POWER_CONFIGOPTION_##name, value)

/* How callers wait, and the matrix unit. Idle states poll for nothing and let this computer's cores sleep. */
static uint32_t other_votes(const struct htp_voter *v, uint32_t n, QnnHtpPerfInfrastructure_PowerConfig_t c[MAX_VOTES])
{
    const struct htp_core_params none = { 0 };
    const struct htp_core_params *core = core_of(v) ? core_of(v) : &none;
    const bool idle = v->power.now != v->power.profile;
    const uint32_t latency = core->latency.given ? core->latency.value : DEFAULT_LATENCY_US;
    const uint32_t polling = core->polling.given ? core->polling.value : v->power.profile->polling_us;

    ADD(RPC_CONTROL_LATENCY, idle ? 0 : latency);
    ADD(RPC_POLLING_TIME, idle ? 0 : polling);
    if (core->adaptive.given && polling)
        ADD(ADAPTIVE_POLLING_TIME, idle ? 0 : core->adaptive.value);
    if (core->hmx_timeout.given)
        ADD(HMX_TIMEOUT_INTERVAL_US, core->hmx_timeout.value);
    return n;
}

/* ---- voting ----------------------------------------------------------------------------------------------------------- */

static enum status infrastructure(const struct htp_voter *v, const QnnHtpDevice_PerfInfrastructure_t **ret)
{
    QnnDevice_Infrastructure_t infra = NULL;
    Qnn_ErrorHandle_t error = v->host->api->deviceGetInfrastructure(&infra);

    RETURN_IF(error != QNN_SUCCESS || !infra, ST_STATE, "deviceGetInfrastructure: error %u",
              (unsigned)QNN_GET_ERROR_CODE(error));
    *ret = &infra->perfInfra;
    return ST_OK;
}

/* The core that vote `i` is for; a file without cores means the first one. */
static uint32_t core_at(const struct htp_voter *v, uint32_t i)
{
    const struct htp_device_params *d = v->device;
    return d && d->core_ids.n ? ((const uint32_t *)d->core_ids.items)[i] : 0;
}

static uint32_t count_cores(const struct htp_voter *v)
{
    const struct htp_device_params *d = v->device;
    return d && d->core_ids.n ? (uint32_t)d->core_ids.n : 1;
}

static enum status vote(struct htp_voter *v, const QnnHtpDevice_PerfInfrastructure_t *perf, uint32_t i)
{
    QnnHtpPerfInfrastructure_PowerConfig_t configs[MAX_VOTES];
    const QnnHtpPerfInfrastructure_PowerConfig_t *list[MAX_VOTES + 1] = { NULL };
    uint32_t n = 0, *id = &v->ids[i];

    Qnn_ErrorHandle_t error = *id ? QNN_SUCCESS : perf->createPowerConfigId(0, core_at(v, i), id);
    RETURN_IF(error != QNN_SUCCESS, ST_STATE, "devices/0/core_id %u: error %u; the SoC has fewer cores", core_at(v, i),
              (unsigned)QNN_GET_ERROR_CODE(error));

    memset(configs, 0, sizeof(configs));
    if (v->power.now->sleep_us)
        configs[n++] = clock_vote(v->power.now, *id);
    n = other_votes(v, n, configs);
    for (uint32_t k = 0; k < n; k++)
        list[k] = &configs[k];

    error = perf->setPowerConfig(*id, list);
    RETURN_IF(error != QNN_SUCCESS, ST_STATE, "performance profile \"%s\": error %u", v->power.now->name,
              (unsigned)QNN_GET_ERROR_CODE(error));
    return ST_OK;
}

static enum status vote_all(struct htp_voter *v)
{
    const QnnHtpDevice_PerfInfrastructure_t *perf;

    TRY(infrastructure(v, &perf));
    for (uint32_t i = 0; i < count_cores(v); i++)
        TRY(vote(v, perf, i));
    return ST_OK;
}

/* ---- stages ----------------------------------------------------------------------------------------------------------- */

static void tell(const struct htp_voter *v, const char *why)
{
    char text[128];

    snprintf(text, sizeof(text), "power: %s: votes of %s", why, v->power.now->name);
    v->host->log(QNN_LOG_LEVEL_VERBOSE, text);
}

/* With the lock: timers that ran out. */
static enum status tick_all(uint64_t now)
{
    for (struct htp_voter *v = voters; v; v = v->next)
        if (htp_power_tick(&v->power, now)) {
            tell(v, "no inference for 300 ms");
            TRY(vote_all(v));
        }
    return ST_OK;
}

static enum status change(struct htp_voter *v, enum extension_stage stage, bool begins)
{
    static const char *const names[][2] = {
        [EXTENSION_INIT] = { "INIT ends", "INIT begins" },
        [EXTENSION_INFERENCE] = { "INFERENCE ends", "INFERENCE begins" },
        [EXTENSION_DEINIT] = { "DE-INIT ends", "DE-INIT begins" },
    };
    uint64_t now = clock_ns();

    TRY(tick_all(now));
    if (!(begins ? htp_power_begin(&v->power, now) : htp_power_end(&v->power, now)))
        return ST_OK;
    tell(v, names[stage][begins]);
    return vote_all(v);
}

enum status htp_voter_stage(struct htp_voter *v, enum extension_stage stage, bool begins)
{
    if (!v->power.profile)
        return ST_OK;
    pthread_mutex_lock(&lock);
    enum status st = change(v, stage, begins);
    pthread_mutex_unlock(&lock);
    return st;
}

/* ---- life ------------------------------------------------------------------------------------------------------------- */

void htp_voter_open(struct htp_voter *v, const struct extension_host *host, const struct htp_device_params *device,
                    const struct htp_profile *profile)
{
    *v = (struct htp_voter){ .host = host, .device = device };
    if (!profile || (!profile->sleep_us && !core_of(v)))
        return; /* a profile that leaves the clocks alone, and no settings of a core beside it */
    v->power.profile = profile;

    const struct htp_core_params *core = core_of(v);
    uint32_t polling = core && core->polling.given ? core->polling.value : profile->polling_us;
    if (core && core->adaptive.value && !polling)
        host->log(QNN_LOG_LEVEL_WARN, "adaptive_polling_time has no effect: the profile does not poll; give "
                                      "rpc_polling_time");
    pthread_mutex_lock(&lock);
    v->next = voters;
    voters = v;
    pthread_mutex_unlock(&lock);
}

void htp_voter_close(struct htp_voter *v)
{
    const QnnHtpDevice_PerfInfrastructure_t *perf;

    pthread_mutex_lock(&lock);
    for (struct htp_voter **at = &voters; *at; at = &(*at)->next)
        if (*at == v) {
            *at = v->next;
            break;
        }
    for (uint32_t i = 0; i < HTP_MAX_CORES; i++)
        if (v->ids[i] && infrastructure(v, &perf) == ST_OK)
            perf->destroyPowerConfigId(v->ids[i]);
    memset(v->ids, 0, sizeof(v->ids));
    pthread_mutex_unlock(&lock);
}
