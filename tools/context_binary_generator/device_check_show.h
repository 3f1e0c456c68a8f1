/* SPDX-License-Identifier: Apache-2.0 */
/* --check_device: libQnnHtp.so is asked by its variables (docs/device-check.md); its report becomes text and JSON. */
#ifndef TOOLS_CONTEXT_BINARY_GENERATOR_DEVICE_CHECK_SHOW_H
#define TOOLS_CONTEXT_BINARY_GENERATOR_DEVICE_CHECK_SHOW_H

#include "base/status.h"

struct device_check_show {
    int file; /* in memory: a line per graph and SoC */
};

/* Before the backend is opened. socs: names with commas between them. */
enum status device_check_begin(struct device_check_show *d, const char *socs);

/* Text to stdout; to: a JSON file, NULL: none. ST_NOT_SUPPORTED: a SoC refuses something. */
enum status device_check_end(struct device_check_show *d, const char *to);

#endif
