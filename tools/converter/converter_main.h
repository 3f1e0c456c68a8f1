/* SPDX-License-Identifier: Apache-2.0 */
/* What the converters share: command line, report, and the files they write. A converter is a front end and a main of one line. */
#ifndef TOOLS_CONVERTER_CONVERTER_MAIN_H
#define TOOLS_CONVERTER_CONVERTER_MAIN_H

#include "convert/convert.h"

struct converter_front {
    const char *program; /* "qnn-tflite-converter" */
    const char *summary;
    const char *examples;
    /* folder: that of the input file, where files beside it are. */
    enum status (*convert)(const void *data, size_t size, const char *folder, const struct convert_opts *o, struct convert_report *r,
                           struct ir_graph **ret);
};

int converter_main(const struct converter_front *front, int argc, char **argv);

#endif
