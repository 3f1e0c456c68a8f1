/* SPDX-License-Identifier: Apache-2.0 */
/* Status names, and the explanation of the last failure of each thread.
 *
 * The texts hang on a pthread key, not on _Thread_local: in a library loaded by dlopen the C library allocates thread-local
 * variables on first use and ends the process when that fails. Here a failed allocation only costs the detail: the key then
 * points to a static note with the default sentence. All notes are in one list, so that unloading the library frees those
 * of threads that live on. */
#include "base/status.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

struct note {
    struct note *prev, *next; /* in the list of all notes; a static note is in none */
    const char *fixed;        /* static note: its text */
    char text[];
};

static const struct {
    const char *name, *text;
} statuses[ST_COUNT] = {
#define STATUS_ROW(name, text) [name] = { #name, text },
    STATUS_LIST(STATUS_ROW)
#undef STATUS_ROW
};

static struct note fixed_notes[ST_COUNT] = {
#define STATUS_NOTE(name, text) [name] = { .fixed = text },
    STATUS_LIST(STATUS_NOTE)
#undef STATUS_NOTE
};

static pthread_key_t key;
static bool have_key;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct note *all;

static void note_free(void *value)
{
    struct note *n = value;
    if (n->fixed)
        return;
    pthread_mutex_lock(&lock);
    if (n->prev)
        n->prev->next = n->next;
    else
        all = n->next;
    if (n->next)
        n->next->prev = n->prev;
    pthread_mutex_unlock(&lock);
    mem_free(n);
}

/* Before and after all other constructors and destructors of the library, which may fail too. */
__attribute__((constructor(101))) static void status_load(void)
{
    have_key = pthread_key_create(&key, note_free) == 0;
}

__attribute__((destructor(101))) static void status_unload(void)
{
    if (!have_key)
        return;
    have_key = false;
    pthread_key_delete(key);
    while (all)
        note_free(all);
}

static struct note *note_of_thread(void)
{
    return have_key ? pthread_getspecific(key) : NULL;
}

/* A note with room for a text, or NULL. */
static struct note *note_writable(void)
{
    struct note *n = note_of_thread();
    if (n && !n->fixed)
        return n;
    n = have_key ? mem_zalloc(sizeof(*n) + STATUS_TEXT_MAX) : NULL;
    if (!n)
        return NULL;
    if (pthread_setspecific(key, n)) {
        mem_free(n);
        return NULL;
    }
    pthread_mutex_lock(&lock);
    n->next = all;
    if (all)
        all->prev = n;
    all = n;
    pthread_mutex_unlock(&lock);
    return n;
}

static enum status known(enum status st)
{
    return (unsigned)st < ST_COUNT ? st : ST_INTERNAL;
}

/* `n` is the length the text would have had; a cut one ends in "...", not within a UTF-8 sequence. */
static void mark_cut(char text[STATUS_TEXT_MAX], size_t n)
{
    if (n < STATUS_TEXT_MAX)
        return;
    size_t end = STATUS_TEXT_MAX - sizeof("...");
    while (end > 0 && ((unsigned char)text[end] & 0xc0) == 0x80)
        end--;
    memcpy(text + end, "...", sizeof("..."));
}

static void keep(enum status st, const char *text)
{
    struct note *n = note_writable();
    if (n)
        memcpy(n->text, text, strlen(text) + 1);
    else if (have_key)
        pthread_setspecific(key, &fixed_notes[known(st)]);
}

void status_note(enum status st, const char *fmt, ...)
{
    char text[STATUS_TEXT_MAX]; /* arguments may point into the note */
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    mark_cut(text, n < 0 ? 0 : (size_t)n);
    keep(st, n > 0 ? text : status_default_text(st));
}

enum status status_prefix(enum status st, const char *fmt, ...)
{
    char text[STATUS_TEXT_MAX];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    size_t used = n < 0 ? 0 : (size_t)n;
    if (used < sizeof(text)) {
        const char *old = status_text();
        n = snprintf(text + used, sizeof(text) - used, ": %s", *old ? old : status_default_text(st));
        used += n < 0 ? 0 : (size_t)n;
    }
    mark_cut(text, used);
    keep(st, text);
    return st;
}

const char *status_text(void)
{
    const struct note *n = note_of_thread();
    return !n ? "" : n->fixed ? n->fixed : n->text;
}

void status_clear(void)
{
    struct note *n = note_of_thread();
    if (n && !n->fixed)
        n->text[0] = '\0';
    else if (n)
        pthread_setspecific(key, NULL);
}

const char *status_name(enum status st)
{
    return (unsigned)st < ST_COUNT ? statuses[st].name : "ST_UNKNOWN";
}

const char *status_default_text(enum status st)
{
    return statuses[known(st)].text;
}
