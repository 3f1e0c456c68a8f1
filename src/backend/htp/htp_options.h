/* SPDX-License-Identifier: Apache-2.0 */
/* Options of HTP as tables: one row per option says what is allowed, where it is available, when it may be set, what it does
 * here and which test shows that. Parsing, ranges, refusals and warnings come from the row, and so does
 * docs/htp-options.md (tests/options). */
#ifndef BACKEND_HTP_HTP_OPTIONS_H
#define BACKEND_HTP_HTP_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

enum htp_outcome {
    HTP_ACTS,      /* it has an effect that its test shows */
    HTP_NO_EFFECT, /* nothing to act on: accepted, with a warning once per process when it is switched on */
};

/* Until when an option of a graph may be set; other kinds are set with their object. */
enum htp_moment { HTP_UNTIL_FINALIZE, HTP_UNTIL_FIRST_RUN, HTP_ANY_TIME };

/* How a value is read from the client's structure. */
enum htp_value { HTP_VALUE_OWN /* by `take` */, HTP_VALUE_FLAG, HTP_VALUE_U32, HTP_VALUE_U64 };

struct htp_option {
    uint32_t number;     /* in the API */
    const char *name;    /* without the API's prefix */
    const char *allowed; /* values, in words */
    const char *effect;  /* what it does, or why there is nothing to act on */
    const char *test;    /* "file: function" that shows it */
    uint8_t outcome, moment;
    uint8_t arch; /* the first architecture that has it, 0: all */
    uint8_t value;
    uint16_t at;  /* in the settings */
    uint64_t max; /* of a number, 0: no limit */
    enum status (*take)(const struct htp_option *option, const void *custom, void *settings);
};

struct htp_option_table {
    const char *kind;   /* "graph": as messages and the document name it */
    const char *prefix; /* of the names in the API */
    const struct htp_option *rows;
    size_t n;
    size_t value_at;      /* in the client's structure: all members of its union begin there */
    _Atomic bool *warned; /* per row: this process was told */
    bool warns_later;     /* not when a value is read, but when it has passed all checks */
};

extern const struct htp_option_table htp_device_options, htp_context_options, htp_graph_options, htp_optimizations,
    htp_power_options, htp_memory_options;

/* NULL: unknown. */
const struct htp_option *htp_option_find(const struct htp_option_table *table, uint32_t number);
/* Reads and checks the value, stores it, and warns when it is switched on without an effect. */
enum status htp_option_take(const struct htp_option_table *table, const struct htp_option *option, const void *custom,
                            void *settings);
/* Refuses an option that the architecture does not have. */
enum status htp_option_check_arch(const struct htp_option_table *table, const struct htp_option *option, uint32_t arch);
/* Once per process and row. */
void htp_option_warn(const struct htp_option_table *table, const struct htp_option *option);

/* OPENQNN_FLOAT32: float graphs compute in float32. */
bool htp_float32_wanted(void);
/* A deviation from what a device does: refused with the status when strict, else a warning; the text says what happens
 * instead. `said` is the caller's note that this process was told. */
enum status htp_deviate(_Atomic bool *said, enum status strict, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

#endif
