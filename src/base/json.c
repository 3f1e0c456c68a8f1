/* SPDX-License-Identifier: Apache-2.0 */
/* JSON by field tables: jansson parses, the tables say what is wanted, and every refusal names key, place and remedy. */
#include "base/json.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Two names of json.h are also jansson's; here its own get another one. Its json_is_object and json_is_string macros
 * would then test for the wrong value, so type tests below are written out. */
#define JSON_OBJECT JANSSON_OBJECT
#define JSON_STRING JANSSON_STRING
#include <jansson.h>
#undef JSON_OBJECT
#undef JSON_STRING

#include "base/json_text.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/vec.h"

enum { SHOW_MAX = 80, PATH_TEXT_MAX = 256, LIST_TEXT_MAX = 400, FIELDS_MAX = 256 };
enum { READ_STEP = 64 << 10, FILE_BYTES_MAX = 64 << 20 };

struct reader {
    struct json_text text;
    struct arena *arena;
};

/* One value to be read: where it stands, what it should be, where it goes. */
struct item {
    const struct reader *r;
    const struct json_step *step; /* NULL: the root */
    const struct json_field *field;
    const json_t *value;
    void *to;
};

static const char *const type_texts[] = {
    [JANSSON_OBJECT] = "an object",
    [JSON_ARRAY] = "a list",
    [JANSSON_STRING] = "a string",
    [JSON_INTEGER] = "a whole number",
    [JSON_REAL] = "a number with a fraction or exponent",
    [JSON_TRUE] = "true",
    [JSON_FALSE] = "false",
    [JSON_NULL] = "null",
};

static enum status read_fields(const struct item *object, const struct json_field *fields);

/* Text of the file for a message: one line, not too long, nothing that moves a terminal's cursor. */
static const char *show(const char *s, char buf[SHOW_MAX])
{
    size_t n = 0;
    for (; n < SHOW_MAX - sizeof("...") && s[n]; n++)
        buf[n] = (unsigned char)s[n] < ' ' || s[n] == 0x7f ? '?' : s[n];
    if (s[n])
        while (n > 0 && ((unsigned char)s[n] & 0xc0) == 0x80)
            n--; /* not within a character */
    memcpy(buf + n, s[n] ? "..." : "", s[n] ? sizeof("...") : 1);
    return buf;
}

__attribute__((format(printf, 3, 4))) static void append(char *buf, size_t size, const char *fmt, ...)
{
    size_t n = strlen(buf);
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(buf + n, size - n, fmt, ap);
    va_end(ap);
}

static void append_path(char buf[PATH_TEXT_MAX], const struct json_step *step)
{
    char key[SHOW_MAX];
    if (step->up) {
        append_path(buf, step->up);
        append(buf, PATH_TEXT_MAX, "/");
    }
    if (step->key)
        append(buf, PATH_TEXT_MAX, "%s", show(step->key, key));
    else
        append(buf, PATH_TEXT_MAX, "%zu", step->ordinal);
}

/* "graphs/0/vtcm_mb (line 3, column 9)" */
static const char *where(const struct reader *r, const struct json_step *step, char buf[PATH_TEXT_MAX])
{
    struct json_place p;
    buf[0] = '\0';
    if (!step)
        return strcpy(buf, "the top level");
    append_path(buf, step);
    if (json_text_find(&r->text, step, &p))
        append(buf, PATH_TEXT_MAX, " (line %u, column %u)", p.line, p.column);
    return buf;
}

static enum status refuse_type(const struct item *i, const char *wanted)
{
    char at[PATH_TEXT_MAX];
    return status_fail(ST_INVALID_CONFIG, "%s: the value is %s; %s is expected", where(i->r, i->step, at),
                       type_texts[json_typeof(i->value)], wanted);
}

static enum status refuse_range(const struct item *i, const char *seen, const char *low, const char *high)
{
    char at[PATH_TEXT_MAX];
    return status_fail(ST_INVALID_CONFIG, "%s: %s is out of range; allowed are %s to %s", where(i->r, i->step, at), seen,
                       low, high);
}

static enum status out_of_memory(const struct item *i)
{
    char at[PATH_TEXT_MAX];
    return status_fail(ST_NO_MEMORY, "out of memory for %s", where(i->r, i->step, at));
}

/* Limits of signed kinds. Both 0: none; an upper limit below the lower one: only the lower. */
static void signed_limits(const struct json_field *f, int64_t *low, int64_t *high)
{
    bool none = !f->min && !f->max;
    *low = none ? INT64_MIN : (int64_t)f->min;
    *high = none || (int64_t)f->max < *low ? INT64_MAX : (int64_t)f->max;
}

static enum status read_bool(const struct item *i)
{
    if (json_typeof(i->value) != JSON_TRUE && json_typeof(i->value) != JSON_FALSE)
        return refuse_type(i, "true or false");
    *(bool *)i->to = json_typeof(i->value) == JSON_TRUE;
    return ST_OK;
}

/* A whole number between the limits. */
static enum status read_integer(const struct item *i, int64_t low, int64_t high, int64_t *ret)
{
    if (json_typeof(i->value) != JSON_INTEGER)
        return refuse_type(i, "a whole number");
    int64_t v = json_integer_value(i->value);
    if (v < low || v > high) {
        char seen[32], lo[32], hi[32];
        snprintf(seen, sizeof(seen), "%lld", (long long)v);
        snprintf(lo, sizeof(lo), "%lld", (long long)low);
        snprintf(hi, sizeof(hi), "%lld", (long long)high);
        return refuse_range(i, seen, lo, hi);
    }
    *ret = v;
    return ST_OK;
}

static enum status read_u32(const struct item *i)
{
    uint64_t high = i->field->max ? i->field->max : UINT32_MAX;
    int64_t v = 0;
    TRY(read_integer(i, i->field->min < UINT32_MAX ? (int64_t)i->field->min : UINT32_MAX,
                     high < UINT32_MAX ? (int64_t)high : UINT32_MAX, &v));
    *(uint32_t *)i->to = (uint32_t)v;
    return ST_OK;
}

static enum status read_i64(const struct item *i)
{
    int64_t low, high, v = 0;
    signed_limits(i->field, &low, &high);
    TRY(read_integer(i, low, high, &v));
    *(int64_t *)i->to = v;
    return ST_OK;
}

static enum status read_f64(const struct item *i)
{
    if (json_typeof(i->value) != JSON_INTEGER && json_typeof(i->value) != JSON_REAL)
        return refuse_type(i, "a number");
    double v = json_number_value(i->value);
    int64_t low, high;
    signed_limits(i->field, &low, &high);
    if ((low != INT64_MIN && v < (double)low) || (high != INT64_MAX && v > (double)high)) {
        char seen[32], lo[32], hi[32];
        snprintf(seen, sizeof(seen), "%.17g", v);
        snprintf(lo, sizeof(lo), "%lld", (long long)low);
        snprintf(hi, sizeof(hi), "%lld", (long long)high);
        return refuse_range(i, seen, lo, high == INT64_MAX ? "infinity" : hi);
    }
    *(double *)i->to = v;
    return ST_OK;
}

static enum status read_string(const struct item *i)
{
    if (json_typeof(i->value) != JANSSON_STRING)
        return refuse_type(i, "a string");
    char *s = arena_strdup(i->r->arena, json_string_value(i->value));
    if (!s)
        return out_of_memory(i);
    *(const char **)i->to = s;
    return ST_OK;
}

/* "a, b, c" */
static void append_list(char buf[LIST_TEXT_MAX], const char *const *names, size_t n)
{
    for (size_t k = 0; k < n; k++)
        append(buf, LIST_TEXT_MAX, "%s%s", k ? ", " : "", names[k]);
}

static enum status read_enum(const struct item *i)
{
    const char *const *names = i->field->names;
    if (json_typeof(i->value) != JANSSON_STRING)
        return refuse_type(i, "one of the known names as a string");
    const char *s = json_string_value(i->value);
    size_t n = 0;
    for (; names[n]; n++)
        if (str_eq(s, names[n])) {
            *(uint32_t *)i->to = (uint32_t)n;
            return ST_OK;
        }
    char at[PATH_TEXT_MAX], seen[SHOW_MAX], allowed[LIST_TEXT_MAX] = "";
    append_list(allowed, names, n);
    const char *near = str_nearest(s, names, n);
    return status_fail(ST_INVALID_CONFIG, "%s: \"%s\" is not known; allowed are %s%s%s%s", where(i->r, i->step, at),
                       show(s, seen), allowed, near ? "; did you mean \"" : "", near ? near : "", near ? "\"?" : "");
}

static enum status read_object(const struct item *i)
{
    return read_fields(i, i->field->sub);
}

/* Items of item_size by the sub table, or strings when there is none. */
static enum status read_items(const struct item *i, const struct json_field *sub)
{
    struct json_list *list = i->to;
    if (json_typeof(i->value) != JSON_ARRAY)
        return refuse_type(i, sub ? "a list of objects" : "a list of strings");
    size_t n = json_array_size(i->value), size = sub ? i->field->item_size : sizeof(char *);
    char *items = arena_alloc_array(i->r->arena, n, size);
    if (!items)
        return out_of_memory(i);
    for (size_t k = 0; k < n; k++) {
        struct json_step step = { i->step, NULL, k };
        struct item one = { i->r, &step, i->field, json_array_get(i->value, k), items + k * size };
        TRY(sub ? read_fields(&one, sub) : read_string(&one));
    }
    *list = (struct json_list){ items, n };
    return ST_OK;
}

static enum status read_list(const struct item *i)
{
    return read_items(i, i->field->sub);
}

static enum status read_strings(const struct item *i)
{
    return read_items(i, NULL);
}

static enum status read_u32s(const struct item *i)
{
    struct json_list *list = i->to;

    if (json_typeof(i->value) != JSON_ARRAY)
        return refuse_type(i, "a list of whole numbers");
    size_t n = json_array_size(i->value);
    uint32_t *items = arena_array(i->r->arena, uint32_t, n + 1);
    if (!items)
        return out_of_memory(i);

    for (size_t k = 0; k < n; k++) {
        struct json_step step = { i->step, NULL, k };
        struct item one = { i->r, &step, i->field, json_array_get(i->value, k), items + k };

        TRY(read_u32(&one));
    }
    *list = (struct json_list){ items, n };
    return ST_OK;
}

static enum status read_any(const struct item *i)
{
    (void)i;
    return ST_OK;
}

static enum status (*const readers[])(const struct item *) = {
    [JSON_BOOL] = read_bool,       [JSON_U32] = read_u32,   [JSON_I64] = read_i64,       [JSON_F64] = read_f64,
    [JSON_STRING] = read_string,   [JSON_ENUM] = read_enum, [JSON_OBJECT] = read_object, [JSON_LIST] = read_list,
    [JSON_STRINGS] = read_strings, [JSON_U32S] = read_u32s, [JSON_ANY] = read_any,
};

static enum status refuse_key(const struct reader *r, const struct json_step *step, const struct json_field *fields)
{
    char at[PATH_TEXT_MAX], known[LIST_TEXT_MAX] = "";
    const char *names[FIELDS_MAX];
    size_t n = 0;
    while (n < FIELDS_MAX && fields[n].key) {
        names[n] = fields[n].key;
        n++;
    }
    where(r, step, at);
    const char *near = str_nearest(step->key, names, n);
    if (near)
        return status_fail(ST_INVALID_CONFIG, "Invalid key: %s; nearest known key: %s", at, near);
    append_list(known, names, n);
    return status_fail(ST_INVALID_CONFIG, "Invalid key: %s; known keys: %s", at, n ? known : "none");
}

static enum status check_required(const struct item *object, const struct json_field *fields)
{
    char at[PATH_TEXT_MAX];
    for (const struct json_field *f = fields; f->key; f++)
        RETURN_IF(f->required && !json_object_get(object->value, f->key), ST_INVALID_CONFIG,
                  "%s: the key \"%s\" is missing; it is required here", where(object->r, object->step, at), f->key);
    return ST_OK;
}

static enum status read_fields(const struct item *object, const struct json_field *fields)
{
    if (json_typeof(object->value) != JANSSON_OBJECT)
        return refuse_type(object, "an object");
    json_t *o = (json_t *)object->value; /* iteration wants it writable, and does not write */
    struct json_step step = { .up = object->step };
    for (void *it = json_object_iter(o); it; it = json_object_iter_next(o, it), step.ordinal++) {
        step.key = json_object_iter_key(it);
        const struct json_field *f = fields;
        while (f->key && !str_eq(f->key, step.key))
            f++;
        if (!f->key)
            return refuse_key(object->r, &step, fields);
        struct item i = { object->r, &step, f, json_object_iter_value(it), (char *)object->to + f->offset };
        TRY(readers[f->kind](&i));
        if (f->seen)
            *(bool *)((char *)object->to + f->seen) = true;
    }
    return check_required(object, fields);
}

static enum status syntax_error(const json_error_t *e)
{
    char text[SHOW_MAX];
    /* jansson reports a failed allocation as one, not at all, or as an error at the token it was for. */
    if (json_error_code(e) == json_error_out_of_memory || !e->text[0] || errno == ENOMEM)
        return status_fail(ST_NO_MEMORY, "out of memory for the JSON text");
    /* The parser counts up to the end of what it could not use. */
    return status_fail(ST_BAD_TEXT, "near line %d, column %d: %s", e->line, e->column, show(e->text, text));
}

static void reader_finish(struct reader *r)
{
    mem_free(r->text.at);
}

static void json_release(json_t **root)
{
    json_decref(*root);
}

static void file_close(int *fd)
{
    if (*fd >= 0)
        close(*fd);
}

enum status json_read(const char *text, size_t size, const struct json_field *fields, void *out, struct arena *arena)
{
    CLEANUP(reader_finish) struct reader r = { .arena = arena };
    TRY(json_text_strip(text, size, &r.text));
    json_error_t e = { .line = -1 };
    errno = 0;
    CLEANUP(json_release) json_t *root = json_loadb(r.text.at, r.text.n, JSON_REJECT_DUPLICATES, &e);
    if (!root)
        return syntax_error(&e);
    struct item top = { .r = &r, .value = root, .to = out };
    return read_fields(&top, fields);
}

enum status json_read_file(const char *path, const struct json_field *fields, void *out, struct arena *arena)
{
    CLEANUP(file_close) int fd = open(path, O_RDONLY | O_CLOEXEC);
    RETURN_IF(fd < 0, ST_IO, "\"%s\" could not be opened: %s", path, strerrordesc_np(errno));
    CLEANUP(str_finish) struct str text = {};
    for (ssize_t got = 1; got != 0;) {
        RETURN_IF(text.n > FILE_BYTES_MAX, ST_IO, "\"%s\" has more than %d bytes; that is no configuration file", path,
                  FILE_BYTES_MAX);
        RETURN_IF(!vec_reserve_raw((void **)&text.at, &text.cap, text.n + READ_STEP, 1), ST_NO_MEMORY,
                  "out of memory for \"%s\"", path);
        got = read(fd, text.at + text.n, READ_STEP);
        RETURN_IF(got < 0 && errno != EINTR, ST_IO, "\"%s\" could not be read: %s", path, strerrordesc_np(errno));
        text.n += got > 0 ? (size_t)got : 0;
    }
    enum status st = json_read(text.at, text.n, fields, out, arena);
    return st == ST_OK ? ST_OK : status_prefix(st, "%s", path);
}
