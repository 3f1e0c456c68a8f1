/* SPDX-License-Identifier: Apache-2.0 */
/* What all tables of options have in common: finding a row, reading its value, refusing and warning. */
#include "backend/htp/htp_options.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/backend.h"

bool htp_float32_wanted(void)
{
    return backend_variable_set("OPENQNN_FLOAT32");
}

enum status htp_deviate(_Atomic bool *said, enum status strict, const char *fmt, ...)
{
    char text[STATUS_TEXT_MAX];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);

    RETURN_IF(backend_strict(), strict, "%s (OPENQNN_STRICT is set)", text);
    if (!*said)
        backend_log(BACKEND_WARN, "%s", text);
    *said = true;
    return ST_OK;
}

const struct htp_option *htp_option_find(const struct htp_option_table *table, uint32_t number)
{
    for (size_t i = 0; i < table->n; i++)
        if (table->rows[i].number == number)
            return &table->rows[i];
    return NULL;
}

void htp_option_warn(const struct htp_option_table *table, const struct htp_option *option)
{
    _Atomic bool *warned = &table->warned[option - table->rows];

    if (*warned)
        return;
    *warned = true;
    backend_log(BACKEND_WARN, "HTP %s config: %s is accepted, but has no effect here: %s", table->kind, option->name,
                option->effect);
}

static uint64_t read_number(enum htp_value kind, const char *from)
{
    uint64_t wide;
    uint32_t narrow;

    if (kind == HTP_VALUE_FLAG)
        return *(const uint8_t *)from != 0;
    if (kind == HTP_VALUE_U32) {
        memcpy(&narrow, from, sizeof narrow);
        return narrow;
    }
    memcpy(&wide, from, sizeof wide);
    return wide;
}

static void store_number(enum htp_value kind, uint64_t value, char *to)
{
    uint32_t narrow = (uint32_t)value;
    uint8_t flag = value != 0;

    if (kind == HTP_VALUE_FLAG)
        memcpy(to, &flag, sizeof flag);
    else if (kind == HTP_VALUE_U32)
        memcpy(to, &narrow, sizeof narrow);
    else
        memcpy(to, &value, sizeof value);
}

enum status htp_option_take(const struct htp_option_table *table, const struct htp_option *option, const void *custom,
                            void *settings)
{
    enum htp_value kind = (enum htp_value)option->value;

    if (kind == HTP_VALUE_OWN)
        return option->take(option, custom, settings);

    uint64_t value = read_number(kind, (const char *)custom + table->value_at);
    RETURN_IF(option->max && value > option->max, ST_INVALID_CONFIG, "HTP %s config: %s is %" PRIu64 "; allowed: %s",
              table->kind, option->name, value, option->allowed);
    store_number(kind, value, (char *)settings + option->at);
    if (option->outcome == HTP_NO_EFFECT && value && !table->warns_later)
        htp_option_warn(table, option);
    return ST_OK;
}

enum status htp_option_check_arch(const struct htp_option_table *table, const struct htp_option *option, uint32_t arch)
{
    RETURN_IF(arch < option->arch, ST_INVALID_CONFIG,
              "HTP %s config: %s needs architecture v%u; the device has v%u: leave it out, or create the "
              "device for a newer SoC",
              table->kind, option->name, option->arch, arch);
    return ST_OK;
}
