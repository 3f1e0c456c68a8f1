/* SPDX-License-Identifier: Apache-2.0 */
/* What is wrong with the samples of a calibration: NaN is refused, inputs that are zero everywhere are told. */
#ifndef TOOLS_CONVERTER_CALIBRATION_SAMPLES_H
#define TOOLS_CONVERTER_CALIBRATION_SAMPLES_H

#include "converter/graph_runner.h"

struct calibration_samples {
    bool native;     /* files have the types of the graph */
    uint64_t count;  /* samples seen */
    bool *has_other; /* per input that is fed: some value is not zero */
};

/* Looks at the inputs of the execution that r has just done. room: for the values of the largest input. */
enum status calibration_samples_observe(struct calibration_samples *s, const struct runner *r, float *room);

/* Warnings about all samples together. */
void calibration_samples_report(const struct calibration_samples *s, const struct runner *r);
void calibration_samples_finish(struct calibration_samples *s); /* takes a zeroed one */

#endif
