/* SPDX-License-Identifier: Apache-2.0 */
/* The two files of a recording. The program's last lines are written again after every call, over the former ones. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "api/saver/saver.h"
#include "base/file_guard.h"
#include "base/file_write.h"
#include "base/vec.h"

struct blob {
    uint64_t hash, size, offset;
};

enum { BLOB_ALIGN = 64 };

struct saver_numbers saver_numbers = { .recording = 1 };

static struct {
    bool open, known; /* known: somebody gave settings */
    struct saver_settings settings;
    struct file_write program, data; /* they take their places when a recording has begun, and grow there */
    uint64_t program_end, data_end;
    VEC(struct blob) blobs;
} store;

void saver_default_settings(struct saver_settings *s)
{
    *s = (struct saver_settings){
        .folder = "./saver_output", .program = "saver_output.c", .data = "params.bin", .header = true, .footer = true
    };
}

const struct saver_settings *saver_settings(void)
{
    return &store.settings;
}

static enum status put(int fd, const void *bytes, uint64_t size, uint64_t at)
{
    FILE_GUARD(guard);
    for (uint64_t done = 0; done < size;) {
        uint64_t left = size - done;
        ssize_t n = pwrite(fd, (const char *)bytes + done, left < 1 << 30 ? left : 1 << 30, (off_t)(at + done));
        if (n < 0 && errno == EINTR)
            continue;
        RETURN_IF(n <= 0, ST_IO, "the recording in \"%s\" cannot be written: %s; free space there, or name another folder",
                  store.settings.folder, n < 0 ? strerror(errno) : "no room");
        done += (uint64_t)n;
    }
    return ST_OK;
}

/* Makes the folder with those above it. */
static enum status make_folder(const char *folder)
{
    char path[SAVER_PATH_MAX];
    snprintf(path, sizeof path, "%s", folder);
    for (char *p = path + 1; *p; p++)
        if (*p == '/') {
            *p = 0;
            mkdir(path, 0777);
            *p = '/';
        }
    struct stat st;
    bool there = mkdir(path, 0777) == 0 || (stat(path, &st) == 0 && S_ISDIR(st.st_mode));
    RETURN_IF(!there, ST_IO, "the folder \"%s\" for the recording cannot be made: %s; name one that can be written", folder,
              strerror(errno));
    return ST_OK;
}

/* A time before the ending of a name: "params.bin" becomes "params_20260131_120000_000123.bin". */
static void stamp(char name[SAVER_NAME_MAX], const struct timespec *now)
{
    struct tm tm;
    char when[40], ending[16] = "", *dot = strrchr(name, '.');
    gmtime_r(&now->tv_sec, &tm);
    strftime(when, sizeof when, "_%Y%m%d_%H%M%S", &tm);
    if (dot && strlen(dot) < sizeof ending) {
        memcpy(ending, dot, strlen(dot) + 1);
        *dot = 0;
    }
    size_t n = strlen(name), room = SAVER_NAME_MAX - n;
    snprintf(name + n, room, "%s_%06ld%s", when, now->tv_nsec / 1000, ending);
}

static enum status open_in(const char *folder, const char *name, struct file_write *w)
{
    char path[SAVER_PATH_MAX + SAVER_NAME_MAX];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    enum status st = file_write_begin(w, path);
    return st == ST_OK ? ST_OK : status_prefix(st, "the recording; name a folder that can be written");
}

void saver_close(void)
{
    file_write_abort(&store.program);
    file_write_abort(&store.data);
    store.open = false;
    vec_finish(&store.blobs);
}

static enum status begin_files(void)
{
    struct str s;
    str_init(&s);
    if (store.settings.header)
        saver_program_head(&s, &store.settings);
    str_add(&s, "\n#undef PARAMS\n#define PARAMS ");
    saver_write_string(&s, store.settings.data);
    str_add(&s, "\n");
    enum status st =
        s.failed ? status_fail(ST_NO_MEMORY, "no memory for the recording") : put(store.program.fd, s.at, s.n, 0);
    store.program_end = s.n;
    str_finish(&s);
    return st;
}

static enum status write_foot(void)
{
    if (!store.settings.footer)
        return ST_OK;
    struct str s;
    str_init(&s);
    saver_program_foot(&s);
    enum status st = s.failed ? status_fail(ST_NO_MEMORY, "no memory for the recording")
                              : put(store.program.fd, s.at, s.n, store.program_end);
    if (st == ST_OK && ftruncate(store.program.fd, (off_t)(store.program_end + s.n)) != 0)
        st = status_fail(ST_IO, "the recording in \"%s\" cannot be cut: %s", store.settings.folder, strerror(errno));
    str_finish(&s);
    return st;
}

enum status saver_open(const struct saver_settings *s)
{
    struct timespec now;
    saver_close();
    store.settings = *s;
    store.known = true;
    clock_gettime(CLOCK_REALTIME, &now);
    if (s->timestamp) {
        stamp(store.settings.program, &now);
        stamp(store.settings.data, &now);
    }
    store.program_end = store.data_end = 0;
    enum status st = make_folder(s->folder);
    if (st == ST_OK)
        st = open_in(s->folder, store.settings.program, &store.program);
    if (st == ST_OK)
        st = open_in(s->folder, store.settings.data, &store.data);
    if (st == ST_OK)
        st = begin_files();
    if (st == ST_OK)
        st = write_foot();
    if (st == ST_OK)
        st = file_write_replace(&store.data);
    if (st == ST_OK)
        st = file_write_replace(&store.program);
    store.open = st == ST_OK;
    if (st != ST_OK)
        saver_close();
    return st;
}

enum status saver_ready(void)
{
    if (store.open)
        return ST_OK;
    struct saver_settings s = store.settings;
    if (!store.known)
        saver_default_settings(&s);
    return saver_open(&s);
}

void saver_forget(void)
{
    saver_numbers = (struct saver_numbers){ .recording = saver_numbers.recording + 1 };
    store.known = false;
}

enum status saver_add_call(const char *text, const struct saver_numbers *former)
{
    size_t n = strlen(text);
    uint64_t end = store.program_end;
    enum status st = put(store.program.fd, text, n, end);
    if (st == ST_OK) {
        store.program_end += n;
        st = write_foot();
    }
    if (st == ST_OK)
        return ST_OK;
    char why[STATUS_TEXT_MAX]; /* the former end has its room still */
    snprintf(why, sizeof why, "%s", status_text());
    saver_numbers = *former;
    store.program_end = end;
    if (!store.settings.footer && ftruncate(store.program.fd, (off_t)end) != 0)
        return ST_IO;
    return write_foot() == ST_OK ? status_fail(st, "%s", why) : ST_IO;
}

/* Eight bytes at a time: weights are many. */
static uint64_t hash_of(const void *bytes, uint64_t size)
{
    const unsigned char *p = bytes;
    uint64_t h = size * 0x9E3779B97F4A7C15u, word;
    for (; size >= 8; p += 8, size -= 8) {
        memcpy(&word, p, 8);
        h = (h ^ word) * 0xD6E8FEB86659FD93u;
        h ^= h >> 32;
    }
    for (word = 0; size--; p++)
        word = word << 8 | *p;
    h = (h ^ word) * 0xD6E8FEB86659FD93u;
    return h ^ h >> 29;
}

static bool is_at(const void *bytes, uint64_t size, uint64_t offset)
{
    char there[4096];
    for (uint64_t done = 0; done < size;) {
        size_t n = size - done < sizeof there ? size - done : sizeof there;
        if (pread(store.data.fd, there, n, (off_t)(offset + done)) != (ssize_t)n ||
            memcmp(there, (const char *)bytes + done, n) != 0)
            return false;
        done += n;
    }
    return true;
}

enum status saver_blob(const void *bytes, uint64_t size, uint64_t *offset)
{
    uint64_t hash = hash_of(bytes, size);
    for (size_t i = 0; i < store.blobs.n; i++) {
        const struct blob *b = &store.blobs.at[i];
        if (b->hash == hash && b->size == size && is_at(bytes, size, b->offset)) {
            *offset = b->offset;
            return ST_OK;
        }
    }
    uint64_t at = (store.data_end + BLOB_ALIGN - 1) / BLOB_ALIGN * BLOB_ALIGN;
    TRY(put(store.data.fd, bytes, size, at));
    struct blob *b = vec_push(&store.blobs);
    RETURN_IF(!b, ST_NO_MEMORY, "no memory for the list of recorded data");
    *b = (struct blob){ hash, size, at };
    store.data_end = at + size;
    *offset = at;
    return ST_OK;
}
