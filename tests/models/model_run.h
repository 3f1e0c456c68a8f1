/* SPDX-License-Identifier: Apache-2.0 */
/* One TFLite or ONNX model, converted and composed on a backend, with memory for its inputs and outputs. */
#ifndef TESTS_MODELS_MODEL_RUN_H
#define TESTS_MODELS_MODEL_RUN_H

#include "model_compose.h"
#include "convert/convert.h"

struct model_run {
    void *file;
    size_t size;
    struct convert_report report;
    struct ir_graph *g;
    struct compose *on;
    void **data;       /* per tensor of g */
    struct ir_graph *source; /* what a rewritten g borrows from, freed with it; NULL: nothing */
    unsigned steps;    /* that were run */
    void (*after_step)(void *arg); /* before states are carried over; NULL: nobody wants to look */
    void *after_arg;
    char error[1400];
};

void *read_whole_file(const char *path, size_t *ret_size); /* NULL when it cannot be read */

/* o may be NULL; close it in any case. */
bool model_open(struct model_run *m, struct compose *on, const char *path, const struct convert_opts *o);
/* The same in two steps, between which g may be rewritten or replaced; names of inputs and outputs stay. */
bool model_load(struct model_run *m, const char *path, const struct convert_opts *o);
bool model_compose(struct model_run *m, struct compose *on);
void model_close(struct model_run *m);

uint32_t model_io(const struct model_run *m, const char *source_name, bool output); /* tensor of g, IR_NONE: no such */
/* Inputs are as the caller left them; states are carried over to the next step. */
bool model_step(struct model_run *m);

#endif
