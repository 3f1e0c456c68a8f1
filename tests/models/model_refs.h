/* SPDX-License-Identifier: Apache-2.0 */
/* Inputs and outputs that others computed: MODELS/refs/index.tsv (model, step, in|expected|state, index, type, shape,
 * tensor, engine) and the files beside it. */
#ifndef TESTS_MODELS_MODEL_REFS_H
#define TESTS_MODELS_MODEL_REFS_H

#include "model_run.h"

struct ref_line {
    char model[160], kind[16], tensor[1024], engine[40];
    unsigned step, index;
};
struct refs {
    struct ref_line *at;
    unsigned n;
};
bool refs_read(const char *models, struct refs *ret); /* false: they are not there */
void refs_free(struct refs *r);
unsigned refs_of_model(const struct refs *r, unsigned first); /* how many lines from `first` on are of one model */

typedef void refs_output_fn(void *arg, const struct tensor_desc *d, void *got, const void *want, const char *engine);
/* The lines of one model: inputs of a step, a run, then every output that is expected of it. False: m->error says why. */
bool refs_feed(struct model_run *m, const char *models, const struct ref_line *l, unsigned n, refs_output_fn *output,
               void *arg);
struct refs_to {
    refs_output_fn *output;
    void *arg;
};
/* All lines of the model of that name, wherever they are. known: there are some. */
bool refs_feed_all(struct model_run *m, const char *models, const struct refs *r, const char *name, struct refs_to to,
                   bool *known);

#endif
