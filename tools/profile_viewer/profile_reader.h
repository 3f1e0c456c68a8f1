/* SPDX-License-Identifier: Apache-2.0 */
/* Reader libraries: other views of a profiling log than text and CSV, opened by qnn-profile-viewer --reader. A library has a
 * table behind READER_SYMBOL. */
#ifndef TOOLS_PROFILE_VIEWER_PROFILE_READER_H
#define TOOLS_PROFILE_VIEWER_PROFILE_READER_H

#include <stdbool.h>
#include <stdio.h>

#include "profile/profile.h"

#define READER_SYMBOL "openqnn_profile_reader"
enum { READER_VERSION = 2 }; /* changes with every change of the structs */

/* What the command line says. Whatever is not given is NULL. */
struct profile_job {
    const struct prof_log *const *logs; /* all of them, as they are named on the command line */
    const char *const *names;
    size_t n;
    const char *output;                 /* NULL: the standard output */
    const char *schematic;              /* the context binary that ran */
    const char *config;                 /* JSON file */
    const char *zoom_start, *zoom_end;  /* names of nodes: only what lies between them is wanted */
    FILE *to;                           /* where the view goes; other files of the reader lie beside `output` */
};

struct profile_reader {
    uint32_t version;  /* READER_VERSION */
    const char *name;  /* "JSON" */
    bool plain;        /* the viewer's own text and CSV are what it shows; it has no functions */
    bool timeline;     /* it knows schematics, settings and zooming */
    int (*write)(const struct profile_job *job); /* 0, or not 0 after a failure that explain() puts into one sentence */
    const char *(*explain)(void);
};

#endif
