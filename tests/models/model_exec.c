/* SPDX-License-Identifier: Apache-2.0 */
/* Converts and runs TFLite models on a backend library, for the oracles in Python.
 *
 *     model_exec LIBRARY [OUTPUT]    then, per line of standard input:   MODEL INPUTS OUTPUTS [STEPS]
 *
 * INPUTS holds the inputs of all steps one behind the other, in the order of the file; OUTPUTS gets the outputs likewise.
 * Each line is answered by "ok" or by "refused: …" with every reason. States are carried from step to step. OUTPUT: a tensor
 * that is the only output. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model_run.h"

static bool is_state_input(const struct model_run *m, const char *name)
{
    for (size_t i = 0; i < m->report.io.n; i++)
        if (m->report.io.at[i].state && !strcmp(m->report.io.at[i].state, name))
            return true;
    return false;
}

/* Inputs from `from`, or outputs to `to`; false when the input is too short. */
static bool move_step(struct model_run *m, const char *from, size_t size, size_t *at, FILE *to)
{
    for (size_t i = 0; i < m->report.io.n; i++) {
        const struct convert_io *io = &m->report.io.at[i];
        uint32_t t = ir_find_tensor(m->g, io->graph_name);
        if (t == IR_NONE || io->state || is_state_input(m, io->graph_name) || io->output != (to != NULL))
            continue;
        size_t n = desc_bytes(&m->g->tensors.at[t].desc);
        if (to) {
            fwrite(m->data[t], 1, n, to);
            continue;
        }
        if (n > size - *at)
            return false;
        memcpy(m->data[t], from + *at, n);
        *at += n;
    }
    return true;
}

static const char *run(struct model_run *m, const char *inputs, const char *outputs, unsigned steps)
{
    size_t size = 0, at = 0;
    char *in = read_whole_file(inputs, &size);
    FILE *out = fopen(outputs, "wb");
    const char *error = in && out ? NULL : "a file cannot be opened";
    for (unsigned i = 0; i < steps && !error; i++) {
        if (!move_step(m, in, size, &at, NULL))
            error = "the inputs are too short";
        else if (!model_step(m))
            error = m->error;
        else
            move_step(m, NULL, 0, NULL, out);
    }
    if (!error && at != size)
        error = "the inputs are too long";
    free(in);
    if (out)
        fclose(out);
    return error;
}

int main(int argc, char **argv)
{
    char line[4096], model[1024], inputs[1024], outputs[1024];
    struct compose on;
    struct convert_opts opts = {.outputs = (const char *const *)argv + 2, .n_outputs = argc > 2};
    if (argc < 2 || !compose_open(&on, argv[1])) {
        fprintf(stderr, "usage: model_exec LIBRARY [OUTPUT] < lines of: MODEL INPUTS OUTPUTS [STEPS]\n");
        return 2;
    }
    while (fgets(line, sizeof(line), stdin)) {
        unsigned steps = 1;
        struct model_run m;
        if (sscanf(line, "%1023s %1023s %1023s %u", model, inputs, outputs, &steps) < 3)
            continue;
        const char *error = model_open(&m, &on, model, &opts) ? run(&m, inputs, outputs, steps) : m.error;
        printf("%s%s", error ? "refused: " : "ok", error ? error : "");
        for (size_t i = 0; i < m.report.issues.n; i++)
            printf(" | %s \"%s\": %s", m.report.issues.at[i].op, m.report.issues.at[i].node, m.report.issues.at[i].reason);
        printf("\n");
        fflush(stdout);
        model_close(&m);
    }
    compose_close(&on);
    return 0;
}
