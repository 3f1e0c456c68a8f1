/* SPDX-License-Identifier: Apache-2.0 */
/* Names of the numbers that profile logs carry. */
#include <stddef.h>

#include "profile/profile.h"

/* Indexed by the method numbers of QnnSystemProfile.h. */
static const char *const method_names[] = {
    "none",
    "execute",
    "finalize",
    "execute async",
    "create from binary",
    "deinit",
    "context create",
    "compose graphs",
    "inferences per second",
    "graph component",
    "library load",
    "apply binary section",
    "context finalize",
    "get binary size",
    "get binary",
    "get binary section size",
    "finalize tensor updates",
    "update binary section",
};

/* Indexed by the unit numbers of QnnProfile.h; 5 is an opaque object. */
static const char *const unit_names[] = { "", "us", "bytes", "cycles", "count", "object", "" };

enum { N_METHODS = sizeof(method_names) / sizeof(method_names[0]), N_UNITS = sizeof(unit_names) / sizeof(unit_names[0]) };

const char *prof_method_name(uint32_t method)
{
    return method < N_METHODS ? method_names[method] : "unknown";
}

const char *prof_unit_name(uint32_t unit)
{
    return unit < N_UNITS ? unit_names[unit] : "";
}
