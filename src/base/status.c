/* SPDX-License-Identifier: Apache-2.0 */
/* Status names, and the explanation of the last failure of each thread.
 *
 * The texts are blocks of base/per_thread.h. A failed allocation only costs the detail: the thread then has a static note
 * with the default sentence. */
#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/per_thread.h"

struct note {
    struct per_thread_link link;
    const char *fixed; /* static note: its text */
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
#define STATUS_NOTE(name, text) [name] = { .link.is_static = true, .fixed = text },
    STATUS_LIST(STATUS_NOTE)
#undef STATUS_NOTE
};

static struct per_thread notes = PER_THREAD_INIT(sizeof(struct note) + STATUS_TEXT_MAX);

static void note_free(void *note)
{
    per_thread_free_block(&notes, note);
}

/* Before and after all other constructors and destructors of the library, which may fail too. */
__attribute__((constructor(101))) static void status_load(void)
{
    per_thread_open(&notes, note_free);
}

__attribute__((destructor(101))) static void status_unload(void)
{
    per_thread_close(&notes);
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
    struct note *note = per_thread_get(&notes);

    if (note)
        memcpy(note->text, text, strlen(text) + 1);
    else
        per_thread_set_static(&notes, &fixed_notes[known(st)]);
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
    const struct note *note = per_thread_find(&notes);
    if (!note)
        return "";

    return note->fixed ? note->fixed : note->text;
}

void status_clear(void)
{
    struct note *note = per_thread_find(&notes);
    if (!note)
        return;

    if (note->fixed)
        per_thread_set_static(&notes, NULL);
    else
        note->text[0] = '\0';
}

const char *status_name(enum status st)
{
    return (unsigned)st < ST_COUNT ? statuses[st].name : "ST_UNKNOWN";
}

const char *status_default_text(enum status st)
{
    return statuses[known(st)].text;
}
