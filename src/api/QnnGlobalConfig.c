/* SPDX-License-Identifier: Apache-2.0 */
/* QnnGlobalConfig.h: settings of the whole library. */
#include "QNN/QnnGlobalConfig.h"

#include "api/errors.h"
#include "api/log.h"
#include "backend/backend.h"

static enum status set_one(const QnnGlobalConfig_t *c)
{
    RETURN_IF(c->option != QNN_GLOBAL_CONFIG_OPTION_SOC_MODEL, ST_INVALID_CONFIG,
              "global option %u is unknown; 0 (SoC model) is supported", (unsigned)c->option);
    if (backend_this->soc_model)
        return backend_this->soc_model((uint32_t)c->socModel);
    return ST_OK; /* a backend without SoCs runs the same on all of them */
}

Qnn_ErrorHandle_t QnnGlobalConfig_Set(const QnnGlobalConfig_t **config)
{
    log_enter(NULL);
    API_CHECK(config, COMP_GLOBAL, ST_INVALID_CONFIG, "config is NULL; give a NULL-terminated list");
    for (; *config; config++) {
        enum status st = set_one(*config);
        if (st != ST_OK)
            return api_error(COMP_GLOBAL, st);
    }
    return QNN_SUCCESS;
}
