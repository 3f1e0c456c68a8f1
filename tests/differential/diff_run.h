/* SPDX-License-Identifier: Apache-2.0 */
/* One graph on one backend, set up in one of the ways that may not be seen in the results. */
#ifndef TESTS_DIFFERENTIAL_DIFF_RUN_H
#define TESTS_DIFFERENTIAL_DIFF_RUN_H

#include "model_compose.h"

enum diff_lib { DIFF_CPU, DIFF_HTP, DIFF_LPAI, DIFF_LIBS };

struct diff_way {
    enum diff_lib lib;
    unsigned threads;
    bool reload;         /* from a context binary */
    unsigned fpu;        /* the caller's floating-point mode: below diff_fpu_modes; 0: the default one */
    /* HTP */
    unsigned level;      /* optimization level 1 to 3 */
    uint32_t vtcm;       /* bytes; 0: as much as there is */
    bool process, fp16;
};

enum diff_result { DIFF_DONE, DIFF_REFUSED /* for lack of VTCM */, DIFF_FAILED };

extern const unsigned diff_fpu_modes;

bool diff_open(struct compose *libs, char *error, size_t n);
void diff_close(struct compose *libs);

void diff_text(const struct diff_way *w, char *to, size_t n);
/* Twice, so that the second run finds memory as the first one left it. data: as for compose_run, aligned to 64 bytes. */
enum diff_result diff_run(struct compose *libs, const struct diff_way *w, const struct ir_graph *g, void *const *data,
                          char *error, size_t n);

#endif
