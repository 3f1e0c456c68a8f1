/* SPDX-License-Identifier: Apache-2.0 */
/* See load_image.h: where the bytes of a context are, and how long. */
#include "api/load_image.h"

#include <string.h>
#include <unistd.h>

#include "api/log.h"
#include "base/mem.h"
#include "base/thread.h"

enum { CONST_ALIGN = 64 };

/* ---- where ------------------------------------------------------------------------------------------------------------ */

/* Of a file that the client promised to keep, and that a backend elsewhere can see. */
static bool use_file(struct load_image *im, const struct image_request *r)
{
    bool wanted = backend_this->bytes_file && (uintptr_t)r->data % CONST_ALIGN == 0;
    if (!wanted || file_behind(r->data, im->bytes, &im->file) != ST_OK)
        return false;

    if (backend_this->bytes_file(im->file.fd, im->file.offset, im->bytes, &im->memory) != ST_OK) {
        close(im->file.fd);
        im->file.fd = -1;
        return false;
    }
    im->how = IMAGE_IN_FILE;
    im->at = im->memory;
    return true;
}

/* The budget is one for files: bytes that are only in memory cannot be brought in later. */
static void read_file(struct load_image *im, const struct image_request *r)
{
    if (file_behind(r->data, im->bytes, &im->file) == ST_OK)
        im->how = IMAGE_READ;
    else
        api_log(LOG_WARN, "FILE_READ_MEMORY_BUDGET changes nothing: %s; map the file of the binary and give that",
                status_text());
}

static enum status allocate(struct load_image *im)
{
    if (backend_this->bytes_alloc)
        TRY(backend_this->bytes_alloc(im->bytes, &im->memory));
    else
        im->memory = mem_alloc_pages(im->bytes);
    RETURN_IF(!im->memory, ST_NO_MEMORY, "no memory to keep a binary of %llu bytes", (unsigned long long)im->bytes);

    im->at = im->memory;
    return ST_OK;
}

/* Everything but constants. */
static void copy_metadata(struct load_image *im, const uint8_t *data)
{
    uint64_t at = 0;

    for (uint32_t i = 0; i <= im->sections.n; i++) {
        const struct binary_section *s = i < im->sections.n ? &im->sections.at[i] : NULL;
        uint64_t end = s ? s->offset : im->bytes;

        if (end > at)
            memcpy(im->at + at, data + at, end - at);
        if (s && s->offset + s->bytes > at)
            at = s->offset + s->bytes;
    }
}

static enum status choose(struct load_image *im, const struct image_request *r)
{
    bool persistent = r->cfg->persistent_binary && !r->copy && !r->provider;

    if (persistent && backend_this->check_in_place)
        TRY(backend_this->check_in_place(r->cfg, r->data));
    if (persistent && use_file(im, r))
        return ST_OK;

    bool in_place = persistent && !backend_this->bytes_alloc && (uintptr_t)r->data % CONST_ALIGN == 0;
    if (in_place) {
        im->how = IMAGE_IN_PLACE;
        im->at = (uint8_t *)(uintptr_t)r->data;
        return ST_OK;
    }

    TRY(allocate(im));
    if (r->provider) {
        im->how = IMAGE_GIVEN;
    } else if (im->loading.budget) {
        read_file(im, r);
    }
    copy_metadata(im, r->data);
    im->from = r->data;
    return ST_OK;
}

/* ---- life ------------------------------------------------------------------------------------------------------------- */

void image_free(struct load_image *im)
{
    if (!im)
        return;
    image_detach(im);
    if (im->file.fd >= 0)
        close(im->file.fd);
    if (backend_this->bytes_free)
        backend_this->bytes_free(im->memory);
    else
        mem_free(im->memory);
    if (im->provider.finish)
        im->provider.finish(im->provider.arg);
    binary_sections_finish(&im->sections);
    mem_free(im->states);
    mem_free(im);
}

/* Kernels read plain constants, so the file is unpacked to where it is used; nothing of the client's is looked at later. */
static enum status unpack(struct load_image *im, const struct image_request *r, uint64_t plain)
{
    if (r->provider)
        api_log(LOG_WARN, "the constants of the binary are packed, so its callbacks are not asked for buffers: all of it is "
                          "read from binaryBuffer");
    im->how = IMAGE_UNPACKED;
    im->bytes = plain;
    TRY(allocate(im));
    TRY(binary_unpack(r->data, r->size, im->at, plain));
    TRY(binary_sections_read(im->at, plain, &im->sections));
    im->states = mem_array(struct image_section, im->sections.n);
    RETURN_IF(!im->states, ST_NO_MEMORY, "no memory to load a binary");
    return ST_OK;
}

static enum status fill_in(struct load_image *im, const struct image_request *r)
{
    uint64_t plain = binary_unpacked_size(r->data, r->size);
    if (plain)
        return unpack(im, r, plain);

    TRY(binary_sections_read(r->data, r->size, &im->sections));
    im->bytes = im->sections.file_bytes;
    im->states = mem_array(struct image_section, im->sections.n);
    RETURN_IF(!im->states, ST_NO_MEMORY, "no memory to load a binary");
    if (backend_this->loading)
        im->loading = backend_this->loading(r->cfg);
    return choose(im, r);
}

enum status image_open(const struct image_request *r, struct load_image **ret)
{
    struct load_image *im = mem_new(struct load_image);
    RETURN_IF(!im, ST_NO_MEMORY, "no memory to load a binary");
    im->file.fd = -1;
    if (r->provider) {
        im->provider = *r->provider;
        *r->provider = (struct image_provider){ 0 };
    }

    enum status st = fill_in(im, r);
    if (st != ST_OK) {
        image_free(im);
        return st;
    }
    *ret = im;
    return ST_OK;
}

void image_detach(struct load_image *im)
{
    team_free(im->team);
    im->team = NULL;
    im->from = NULL;
    if (im->how == IMAGE_READ && im->file.fd >= 0) {
        close(im->file.fd);
        im->file.fd = -1;
    }
}

/* ---- constants -------------------------------------------------------------------------------------------------------- */

/* The number of a graph's section in the list; n: it has none. */
static uint32_t find_section(const struct load_image *im, const struct binary_graph *g)
{
    uint32_t i = 0;

    if (!g->constant_bytes)
        return im->sections.n;
    for (; i < im->sections.n; i++) {
        const struct binary_section *s = &im->sections.at[i];
        if (im->at + s->offset == g->constants && s->bytes == g->constant_bytes)
            break;
    }
    return i;
}

enum status image_bring(struct load_image *im, const struct binary_graph *g, const struct cancel *cancel)
{
    uint32_t i = find_section(im, g);
    if (i == im->sections.n || im->states[i].state == IMAGE_THERE)
        return ST_OK;

    if (im->how == IMAGE_GIVEN)
        TRY(im->provider.provide(im->provider.arg, im, &im->sections.at[i]));
    return image_fill(im, i, cancel);
}

enum status image_need(struct load_image *im, const struct binary_graph *g, const struct cancel *cancel)
{
    uint32_t i = find_section(im, g);

    TRY(image_bring(im, g, cancel));
    return i < im->sections.n ? binary_section_check(&im->sections.at[i], im->states[i].crc) : ST_OK;
}
