/* SPDX-License-Identifier: Apache-2.0 */
/* Making a context from a binary: what calls for one context and for a list of them have in common
 * (private to api/). */
#ifndef API_CONTEXT_LOAD_H
#define API_CONTEXT_LOAD_H

#include "api/call_signal.h"
#include "api/context.h"
#include "api/load_given.h"
#include "api/load_image.h"

/* What a context is made from. */
struct context_source {
    const QnnContext_Config_t **config, **list_config; /* read by context_load_begin alone */
    const void *data;
    uint64_t size;
    void *device;                /* handle, NULL: the default one */
    uint64_t list;               /* its number, 0: the context is created alone */
    const struct cancel *cancel; /* NULL: no signal */
    struct api_profile *profile; /* NULL: none */
    struct load_given *given;    /* the client's callbacks, NULL: none */
    /* A graph is loaded, or could not be. NULL: nobody wants to know. */
    void (*graph_done)(const struct api_graph *graph, enum status st, void *arg);
    void *arg;
};

/* A context without graphs; afterwards nothing of the client's options is looked at any more. */
enum status context_load_begin(struct api_backend *b, const struct context_source *s, struct api_context **ret);
/* Loads its graphs and gives it a handle. It is gone on failure. */
enum status context_load(struct api_backend *b, struct api_context *c, const struct context_source *s, void **ret);

/* Lists of contexts (context_list.c): waits for the threads of all that were begun on the backend. */
void context_lists_finish(struct api_backend *b);

#endif
