/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes that a context is loaded from (private to api/). Metadata are there at once; constants are brought in section
 * by section, by the graphs that want them, and are checked on the way, while they are in the cache.
 *
 *   copied      from the client's buffer, which it may free after the call
 *   read        from the file that the client has mapped, with FILE_READ_MEMORY_BUDGET: a part of that size at a time
 *   in a file   PERSISTENT_BINARY and a mapped file: nothing is copied, the file is used as it is
 *   in place    PERSISTENT_BINARY, and a backend that computes in this process
 *   given       by callbacks: the client's own memory takes the place of each section
 *   unpacked    a file with packed constants, all of it at once */
#ifndef API_LOAD_IMAGE_H
#define API_LOAD_IMAGE_H

#include "backend/backend.h"
#include "base/file_behind.h"

enum image_how { IMAGE_COPIED, IMAGE_READ, IMAGE_IN_FILE, IMAGE_IN_PLACE, IMAGE_GIVEN, IMAGE_UNPACKED };
enum image_state { IMAGE_ABSENT, IMAGE_THERE /* checked; crc says what it was */ };

struct team;

struct image_section {
    enum image_state state;
    uint32_t crc; /* what was found */
};

struct load_image;

/* Brings in a section, to its place in the image. */
struct image_provider {
    enum status (*provide)(void *arg, struct load_image *im, const struct binary_section *section);
    void (*finish)(void *arg); /* the image is gone, and so is all that looked at it */
    void *arg;
};

struct load_image {
    enum image_how how;
    struct binary_sections sections;
    struct image_section *states; /* per section */
    uint8_t *at;                  /* for binary_open */
    uint64_t bytes;
    void *memory;                 /* what `at` is in, when it is ours */
    const uint8_t *from;          /* the client's buffer, until image_detach */
    struct file_behind file;      /* fd -1: none */
    struct backend_loading loading;
    struct image_provider provider; /* IMAGE_GIVEN */
    struct team *team;              /* NULL: one thread */
};

struct image_request {
    const void *data;
    uint64_t size;
    const struct backend_context_cfg *cfg;
    bool copy;                       /* the buffer goes with the call, whatever the client promised */
    struct image_provider *provider; /* taken over; NULL: the buffer has all */
};

enum status image_open(const struct image_request *r, struct load_image **ret);
void image_free(struct load_image *im); /* NULL allowed */

/* The constants of a graph are there afterwards, and as they were written. Sections that graphs share are looked at once. */
enum status image_need(struct load_image *im, const struct binary_graph *g, const struct cancel *cancel);
/* The same, without saying what is wrong with them: that comes when they are needed. */
enum status image_bring(struct load_image *im, const struct binary_graph *g, const struct cancel *cancel);
/* The call is over: of the client's buffer nothing is looked at any more, unless the client promised to keep it. */
void image_detach(struct load_image *im);

/* One section, from begin to end (load_fill.c). */
enum status image_fill(struct load_image *im, uint32_t section, const struct cancel *cancel);

#endif
