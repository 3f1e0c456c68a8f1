/* SPDX-License-Identifier: Apache-2.0 */
/* See environment.h. Each variable is read where it is used; the rows here say which values mean something there. */
#include "base/environment.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"

extern char **environ;

#define PREFIX "OPENQNN_"
#define FLAG(name)              \
    {                           \
        PREFIX name, NULL, 0, 0 \
    } /* any value but 0 sets it */
#define WORDS(name, words)       \
    {                            \
        PREFIX name, words, 0, 0 \
    }
#define NUMBER(name, least, most)      \
    {                                  \
        PREFIX name, NULL, least, most \
    }
#define TEXT(name)              \
    {                           \
        PREFIX name, NULL, 0, 0 \
    }

enum { DAY_MS = 86400000 };

static const struct environment_row rows[] = {
    TEXT("COUNTS"),
    WORDS("DEVICE_CHECK", "warn error report"),
    TEXT("DEVICE_CHECK_FILE"),
    TEXT("DEVICE_CHECK_SOCS"), /* its reader refuses unknown ones */
    TEXT("DUMP"),
    NUMBER("DUMP_RUNS", 0, INT_MAX),
    TEXT("FAULT"),
    FLAG("FLOAT32"),
    WORDS("GPU_BINARIES", "on off"),
    TEXT("GPU_DEVICE"),
    TEXT("GPU_PRODUCTS"),
    WORDS("ISA", "ref avx2 avxvnni avx512 amx"),
    NUMBER("LANES", 1, 255),
    FLAG("LIST_WAIT"),
    TEXT("LOG"),
    NUMBER("MEMORY_BUDGET", 0, ULLONG_MAX),
    TEXT("OPENCL_LIBRARY"),
    TEXT("PROFILE"),
    WORDS("SESSION", "inproc process"),
    NUMBER("SESSION_BYTES", 1, ULLONG_MAX),
    FLAG("SESSION_DEBUG"),
    NUMBER("SESSION_TIMEOUT", 0, DAY_MS),
    TEXT("SOC"), /* its reader tells unknown ones itself */
    FLAG("STRICT"),
    NUMBER("THREADS", 1, 255),
    /* For the tests and scripts of the source tree. */
    TEXT("BIN_DIR"),
    TEXT("LIB_DIR"),
    TEXT("NO_SETUP"),
    TEXT("SESSION_PACKAGES"),
    TEXT("SOURCE_DIR"),
};
enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

/* Variables of tests have any name behind these. */
static const char *const free_prefixes[] = { PREFIX "TEST_",  PREFIX "OPS_",     PREFIX "GPU_WALK", PREFIX "GPU_LOG",
                                             PREFIX "MODELS", PREFIX "PERFETTO", PREFIX "PICTURES", PREFIX "PROBE" };

const struct environment_row *environment_row(size_t i)
{
    return i < ROWS ? &rows[i] : NULL;
}

static bool is_free(const char *name)
{
    for (size_t i = 0; i < sizeof(free_prefixes) / sizeof(free_prefixes[0]); i++) {
        if (strncmp(name, free_prefixes[i], strlen(free_prefixes[i])) == 0)
            return true;
    }
    return false;
}

static bool is_one_of(const char *words, const char *value)
{
    const size_t n = strlen(value);

    for (const char *at = words; at && n; at = strchr(at, ' ')) {
        at += *at == ' ';
        if (strncmp(at, value, n) == 0 && (at[n] == ' ' || !at[n]))
            return true;
    }
    return false;
}

static bool is_within(const struct environment_row *row, const char *value)
{
    char *end;
    errno = 0;
    const unsigned long long n = strtoull(value, &end, 10);

    return isdigit((unsigned char)value[0]) && !*end && !errno && n >= row->least && n <= row->most;
}

static const char *nearest(const char *name)
{
    const char *names[ROWS];

    for (size_t i = 0; i < ROWS; i++)
        names[i] = rows[i].name;
    return str_nearest(name, names, ROWS);
}

/* Whether a variable means nothing; the sentence says why. */
static bool means_nothing(const char *name, const char *value, char *sentence, size_t size)
{
    const struct environment_row *row = NULL;
    for (size_t i = 0; i < ROWS && !row; i++)
        row = strcmp(rows[i].name, name) == 0 ? &rows[i] : NULL;

    if (!row) {
        const char *other = nearest(name);
        if (is_free(name))
            return false;
        if (other)
            snprintf(sentence, size, "%s is no variable of openqnn and changes nothing; did you mean %s?", name, other);
        else
            snprintf(sentence, size, "%s is no variable of openqnn and changes nothing", name);
        return true;
    }
    if (row->words && !is_one_of(row->words, value)) {
        snprintf(sentence, size, "%s=%.60s is not valid; one of these is expected: %s", name, value, row->words);
        return true;
    }
    if (row->most && !is_within(row, value)) {
        snprintf(sentence, size, "%s=%.60s is not valid; a whole number from %llu to %llu is expected", name, value,
                 row->least, row->most);
        return true;
    }
    return false;
}

unsigned environment_check(void (*say)(void *arg, const char *sentence), void *arg)
{
    unsigned found = 0;

    for (char **at = environ; at && *at; at++) {
        const char *equals = strchr(*at, '=');
        char name[80], sentence[320];
        if (strncmp(*at, PREFIX, sizeof(PREFIX) - 1) != 0 || !equals)
            continue;

        snprintf(name, sizeof(name), "%.*s", (int)(equals - *at), *at);
        if (equals[1] && means_nothing(name, equals + 1, sentence, sizeof(sentence))) {
            say(arg, sentence);
            found++;
        }
    }
    return found;
}
