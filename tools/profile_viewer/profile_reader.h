/* SPDX-License-Identifier: Apache-2.0 */
/* Reader libraries: other views of a profiling log than text and CSV, opened by qnn-profile-viewer --reader. A library has a
 * table behind READER_SYMBOL. */
#ifndef TOOLS_PROFILE_VIEWER_PROFILE_READER_H
#define TOOLS_PROFILE_VIEWER_PROFILE_READER_H

#include <stdbool.h>
#include <stdio.h>

#include "profile/profile.h"

#define READER_SYMBOL "openqnn_profile_reader"
enum { READER_VERSION = 3 }; /* changes with every change of the structs */

/* What the command line says. What is not given is NULL. */
struct profile_job {
    const struct prof_log *const *logs; /* all of them, as they are named on the command line */
    const char *const *names;
    size_t n;
    const char *output;                 /* NULL: the standard output */
    const char *schematic;              /* the context binary that ran */
    const char *config;                 /* JSON file */
    const char *dlc;                    /* the model, for names of the framework */
    const char *zoom_start, *zoom_end;  /* names of nodes: only what lies between them is wanted */
    bool gzip;                          /* the output is compressed, and so is what the reader writes beside it */
    FILE *to;                           /* where the view goes; other files of the reader lie beside `output` */
};

/* What the viewer itself prints to the standard output before a reader writes. */
enum reader_text {
    TEXT_NONE,
    TEXT_AVERAGE, /* average, least and most of all runs */
    TEXT_RUNS,    /* every run as it was */
};

struct profile_reader {
    uint32_t version;  /* READER_VERSION */
    const char *name;  /* "JSON" */
    enum reader_text text;
    bool timeline; /* it knows schematics, settings, models and zooming */
    /* Looks at the settings before any file is opened: 0, or not 0 after a failure; sets job->gzip. NULL: there is nothing
     * to look at. */
    int (*settings)(struct profile_job *job);
    /* 0, or not 0 after a failure that explain() puts into one sentence. NULL: --output is the viewer's CSV. With text it is
     * called only for an --output. */
    int (*write)(const struct profile_job *job);
    const char *(*explain)(void);
};

#endif
