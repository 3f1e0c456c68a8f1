/* SPDX-License-Identifier: Apache-2.0 */
/* What QnnContext.c and context_binary.c share (private to api/). */
#ifndef API_CONTEXT_H
#define API_CONTEXT_H

#include "api/objects.h"
#include "base/clock.h"

/* A context is made in two steps, so that graphs can be loaded into it before the client can reach it. */
enum status context_new(struct api_backend *b, const struct context_options *o, struct api_context **ret);
enum status context_publish(struct api_backend *b, struct api_context *c, void **ret); /* frees the context on failure */
void context_discard(struct api_context *c);
void names_free(char **names);

/* Graph switching (context_switching.c). Once all options are read: whether they go together; those that change nothing are
 * taken out with a warning. And the names, once the binary is open. */
enum status context_switching_check(struct context_options *o);
enum status context_retained_check(const struct api_context *c);

#endif
