/* SPDX-License-Identifier: Apache-2.0 */
/* Bringing in a section of constants. It goes in chunks, so that several threads can share it, so that a signal is seen
 * between two of them, and so that a budget of memory can be kept. A chunk is checked piece by piece right after each
 * piece was written, from the cache: what was 20 ms for a second look at 25 MB is hardly more than the copy. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "api/call_signal.h"
#include "api/load_image.h"
#include "api/log.h"
#include "base/cpu.h"
#include "base/mem.h"
#include "base/thread.h"

enum { CHUNK = 1 << 20, PIECE = 64 << 10, PAGE = 4096 };

struct fill {
    struct load_image *im;
    const struct binary_section *section;
    const struct cancel *cancel;
    uint32_t *crcs;         /* per chunk */
    uint8_t *rooms;         /* of a piece per worker, for files that stay where they are */
    uint64_t end;           /* chunks that are wanted now */
    _Atomic uint64_t next;  /* the first chunk that no worker has taken */
    _Atomic uint64_t done;  /* bytes */
    _Atomic int why;        /* errno of a file that could not be read; -1: it ended */
    _Atomic bool stop;
};

/* ---- a chunk ---------------------------------------------------------------------------------------------------------- */

static bool read_all(struct fill *f, uint8_t *to, uint64_t bytes, uint64_t offset)
{
    const struct file_behind *file = &f->im->file;

    while (bytes) {
        ssize_t n = pread(file->fd, to, bytes, (off_t)(file->offset + offset));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            atomic_store(&f->why, n < 0 ? errno : -1);
            return false;
        }
        to += n;
        offset += (uint64_t)n;
        bytes -= (uint64_t)n;
    }
    return true;
}

/* Where the piece can be looked at; NULL: it could not be read. */
static const uint8_t *bring(struct fill *f, uint64_t offset, uint64_t bytes, unsigned worker)
{
    struct load_image *im = f->im;
    uint8_t *to = im->at + offset;

    switch (im->how) {
    case IMAGE_COPIED:
        return memcpy(to, im->from + offset, bytes);
    case IMAGE_READ:
        return read_all(f, to, bytes, offset) ? to : NULL;
    case IMAGE_IN_FILE:
        to = f->rooms + (size_t)worker * PIECE;
        return read_all(f, to, bytes, offset) ? to : NULL;
    case IMAGE_IN_PLACE:
    case IMAGE_GIVEN:
    case IMAGE_UNPACKED: break;
    }
    return to;
}

static bool fill_chunk(struct fill *f, uint64_t chunk, unsigned worker)
{
    uint64_t begin = chunk * CHUNK, left = f->section->bytes - begin;
    uint64_t bytes = left < CHUNK ? left : CHUNK;
    uint32_t crc = 0;

    for (uint64_t at = 0; at < bytes; at += PIECE) {
        uint64_t n = bytes - at < PIECE ? bytes - at : PIECE;
        const uint8_t *seen = bring(f, f->section->offset + begin + at, n, worker);
        if (!seen)
            return false;
        crc = binary_crc(crc, seen, n);
    }

    f->crcs[chunk] = crc;
    atomic_fetch_add(&f->done, bytes);
    return true;
}

static void work(void *arg, unsigned worker)
{
    struct fill *f = arg;

    for (uint64_t i; !atomic_load(&f->stop) && (i = atomic_fetch_add(&f->next, 1)) < f->end;)
        if (cancel_status(f->cancel) != ST_OK || !fill_chunk(f, i, worker))
            atomic_store(&f->stop, true);
}

/* ---- a section -------------------------------------------------------------------------------------------------------- */

/* What is written stays, in memory that is shared; it only leaves this process until it is read again. */
static void let_go(const struct fill *f, uint64_t first_chunk)
{
    uintptr_t base = (uintptr_t)f->im->at + f->section->offset;
    uintptr_t begin = base + first_chunk * CHUNK;
    uint64_t last = f->end * CHUNK < f->section->bytes ? f->end * CHUNK : f->section->bytes;

    begin = begin / PAGE * PAGE;
    madvise((void *)begin, base + last - begin, MADV_DONTNEED);
}

static void fill_window(struct fill *f)
{
    if (f->im->team)
        team_run(f->im->team, work, f);
    else
        work(f, 0);
}

static enum status result(const struct fill *f)
{
    TRY(call_check(f->cancel, "creating the context"));
    int why = atomic_load(&f->why);
    RETURN_IF(why, ST_BAD_BINARY, "the file of the binary could not be read: %s",
              why < 0 ? "it is shorter than its mapping" : strerrordesc_np(why));
    return ST_OK;
}

static enum status fill_all(struct fill *f, uint64_t chunks)
{
    bool in_parts = f->im->how == IMAGE_READ;
    uint64_t window = in_parts && f->im->loading.budget ? f->im->loading.budget / CHUNK : chunks;

    window = window ? window : 1;
    for (uint64_t first = 0; first < chunks; first = f->end) {
        f->end = chunks - first < window ? chunks : first + window;
        atomic_store(&f->next, first);
        fill_window(f);
        if (in_parts)
            let_go(f, first);
        if (atomic_load(&f->stop))
            return result(f);
    }
    return ST_OK;
}

static uint32_t join(const struct fill *f, uint64_t chunks)
{
    uint32_t crc = chunks ? f->crcs[0] : 0;

    for (uint64_t i = 1; i < chunks; i++) {
        uint64_t left = f->section->bytes - i * CHUNK;
        crc = binary_crc_join(crc, f->crcs[i], left < CHUNK ? left : CHUNK);
    }
    return crc;
}

/* More threads than chunks are of no use; without the threads one does it. */
static void start_team(struct load_image *im, uint64_t chunks)
{
    unsigned cores = cpu_cores();
    bool wanted = im->loading.all_cores && chunks > 1 && cores > 1;

    if (wanted && !im->team && team_create(cores < TEAM_MAX ? cores : TEAM_MAX, &im->team) != ST_OK)
        im->team = NULL;
}

enum status image_fill(struct load_image *im, uint32_t section, const struct cancel *cancel)
{
    const struct binary_section *s = &im->sections.at[section];
    uint64_t chunks = (s->bytes + CHUNK - 1) / CHUNK;
    struct fill f = { .im = im, .section = s, .cancel = cancel };

    start_team(im, chunks);
    unsigned threads = im->team ? team_size(im->team) : 1;
    f.crcs = mem_array(uint32_t, chunks);
    f.rooms = im->how == IMAGE_IN_FILE ? mem_alloc((size_t)threads * PIECE) : NULL;
    enum status st = f.crcs && (f.rooms || im->how != IMAGE_IN_FILE)
                         ? fill_all(&f, chunks)
                         : status_fail(ST_NO_MEMORY, "no memory to check %llu constants", (unsigned long long)chunks);

    api_log(LOG_DEBUG, "constant section %u: %llu of %llu bytes read and checked by %u threads", s->number,
            (unsigned long long)atomic_load(&f.done), (unsigned long long)s->bytes, threads);
    if (st == ST_OK)
        im->states[section] = (struct image_section){ IMAGE_THERE, join(&f, chunks) };
    mem_free(f.rooms);
    mem_free(f.crcs);
    return st;
}
