/* SPDX-License-Identifier: Apache-2.0 */
/* Binaries that a client's callbacks bring (private to api/). Raw memory brings the whole file, which is copied and given
 * back before the call returns. DMA buffers bring one section of constants each, when the first graph that wants it is
 * loaded; they are used as they are, and given back when the context is gone. */
#ifndef API_LOAD_GIVEN_H
#define API_LOAD_GIVEN_H

#include "QNN/QnnContext.h"
#include "api/load_image.h"

struct load_given;

/* The callbacks are copied, so nothing of the argument is looked at later. */
enum status given_new(const Qnn_ContextBinaryCallback_t *callback, struct load_given **ret);
/* Of a context that was made; NULL allowed. Buffers that a context has stay until it is freed. */
void given_free(struct load_given *g);
bool given_is_raw(const struct load_given *g);
/* Raw memory: all bytes of the file, until given_release. */
enum status given_whole(struct load_given *g, uint64_t size, const void **ret);
void given_release(struct load_given *g);
/* DMA buffers: for image_open, which takes it over; after a failure before that given_free ends it. */
struct image_provider *given_provider(struct load_given *g, struct backend_context *c);

#endif
