/* SPDX-License-Identifier: Apache-2.0 */
/* See encodings_json.h. Keys are tensor names, so jansson is used directly instead of a field table. */
#include "converter/encodings_json.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/str.h"
#include "common/tool_file.h"

enum { MOST_CHANNELS = 1 << 20 };

struct place {
    const char *path, *section, *name;
};

static enum status refuse(const struct place *p, const char *what)
{
    return status_fail(ST_BAD_TEXT, "%s: %s%s%s%s: %s", p->path, p->section, p->name ? "/\"" : "", p->name ? p->name : "", p->name ? "\"" : "", what);
}

/* true, "true", "True" */
static bool truth(const json_t *v)
{
    return json_is_true(v) || (json_is_string(v) && !strcasecmp(json_string_value(v), "true"));
}

static bool number(const json_t *v, double *ret)
{
    if (!json_is_number(v) || !isfinite(json_number_value(v)))
        return false;
    *ret = json_number_value(v);
    return true;
}

static enum status check_bits(const struct place *p, double bits, struct quantize_override *to)
{
    if (bits != 4 && bits != 8 && bits != 16 && bits != 32)
        return refuse(p, "the bit width is not 4, 8, 16 or 32");
    to->bits = (uint8_t)bits;
    return ST_OK;
}

static enum status check_entry(const struct place *p, const struct quantize_entry *e)
{
    if (e->has_range && e->min > e->max)
        return refuse(p, "min is above max");
    if (!e->has_range && !(e->has_scale && e->scale > 0))
        return refuse(p, "neither min and max nor a scale above 0 is given");
    return fabs((double)e->offset) > 4294967296.0 ? refuse(p, "the offset is beyond 32 bits") : ST_OK;
}

static enum status add(struct encodings *to, const struct quantize_override *o)
{
    struct quantize_override *slot = vec_push(&to->list);
    bool *used = vec_push(&to->used);
    RETURN_IF(!slot || !used, ST_NO_MEMORY, "no memory for encodings");
    *slot = *o;
    return ST_OK;
}

/* ---- name: [ { bitwidth, min, max, scale, offset, is_symmetric, dtype } … ] ---------------------------------------- */

static enum status read_entry(const struct place *p, const json_t *from, struct quantize_override *o, struct quantize_entry *e)
{
    double bits = 8, offset = 0;
    if (!json_is_object(from))
        return refuse(p, "an object with bitwidth, min and max is expected");
    const json_t *dtype = json_object_get(from, "dtype");
    o->is_float |= json_is_string(dtype) && !strcasecmp(json_string_value(dtype), "float");
    number(json_object_get(from, "bitwidth"), &bits);
    TRY(check_bits(p, bits, o));
    e->has_range = number(json_object_get(from, "min"), &e->min) && number(json_object_get(from, "max"), &e->max);
    e->has_scale = number(json_object_get(from, "scale"), &e->scale);
    number(json_object_get(from, "offset"), &offset);
    e->offset = (int64_t)fmax(fmin(offset, 1e12), -1e12);
    e->symmetric = truth(json_object_get(from, "is_symmetric"));
    return o->is_float ? ST_OK : check_entry(p, e);
}

static enum status read_keyed(struct place *p, json_t *section, struct arena *a, struct encodings *to)
{
    const char *name;
    json_t *list;
    json_object_foreach(section, name, list) {
        size_t n = json_array_size(list);
        p->name = name;
        if (!json_is_array(list) || n == 0 || n > MOST_CHANNELS)
            return refuse(p, "a list of one encoding, or one per output channel, is expected");
        struct quantize_override o = { .name = arena_strdup(a, name), .n = (uint32_t)n };
        struct quantize_entry *e = arena_array(a, struct quantize_entry, n);
        RETURN_IF(!o.name || !e, ST_NO_MEMORY, "no memory for encodings");
        for (size_t i = 0; i < n; i++)
            TRY(read_entry(p, json_array_get(list, i), &o, &e[i]));
        o.entries = e;
        TRY(add(to, &o));
    }
    p->name = NULL;
    return ST_OK;
}

/* ---- [ { name, bw, enc_type, scale: […], offset: […], is_sym, dtype } … ] ------------------------------------------ */

/* Element i of a list, or the number itself. */
static bool element(const json_t *v, size_t i, double *ret)
{
    return number(json_is_array(v) ? json_array_get(v, i) : v, ret);
}

static enum status read_item(struct place *p, const json_t *item, struct arena *a, struct encodings *to)
{
    const char *name = json_string_value(json_object_get(item, "name")), *type = json_string_value(json_object_get(item, "enc_type"));
    const char *dtype = json_string_value(json_object_get(item, "dtype"));
    const json_t *scale = json_object_get(item, "scale"), *offset = json_object_get(item, "offset");
    double bits = 8;
    p->name = name;
    if (!name)
        return refuse(p, "an entry has no name");
    if (type && strcmp(type, "PER_TENSOR") && strcmp(type, "PER_CHANNEL"))
        return refuse(p, "enc_type is not PER_TENSOR or PER_CHANNEL; encodings per block are not supported");
    struct quantize_override o = { .name = arena_strdup(a, name), .n = 1, .is_float = dtype && !strcasecmp(dtype, "float") };
    number(json_object_get(item, "bw"), &bits);
    TRY(check_bits(p, bits, &o));
    if (!o.is_float && json_is_array(scale))
        o.n = (uint32_t)json_array_size(scale);
    struct quantize_entry *e = o.n && o.n <= MOST_CHANNELS ? arena_array(a, struct quantize_entry, o.n) : NULL;
    if (!e)
        return refuse(p, "the list of scales is empty or too long");
    for (uint32_t i = 0; i < o.n; i++) {
        double at = 0;
        e[i].has_scale = element(scale, i, &e[i].scale);
        e[i].has_range = element(json_object_get(item, "min"), i, &e[i].min) && element(json_object_get(item, "max"), i, &e[i].max);
        element(offset, i, &at);
        e[i].offset = (int64_t)fmax(fmin(at, 1e12), -1e12);
        e[i].symmetric = truth(json_object_get(item, "is_sym"));
        if (!o.is_float)
            TRY(check_entry(p, &e[i]));
    }
    o.entries = e;
    return add(to, &o);
}

static enum status read_section(struct place *p, json_t *root, const char *key, struct arena *a, struct encodings *to)
{
    json_t *section = json_object_get(root, key);
    p->section = key;
    p->name = NULL;
    if (!section)
        return refuse(p, "the section is missing; activation_encodings and param_encodings are expected, {} when empty");
    if (json_is_object(section))
        return read_keyed(p, section, a, to);
    if (!json_is_array(section))
        return refuse(p, "an object or a list is expected");
    for (size_t i = 0; i < json_array_size(section); i++)
        TRY(read_item(p, json_array_get(section, i), a, to));
    return ST_OK;
}

enum status encodings_read(const char *path, struct arena *a, struct encodings *to)
{
    struct tool_file f = { 0 };
    json_error_t error;
    struct place p = { .path = path };
    TRY(tool_file_read(path, &f));
    json_t *root = json_loadb(f.data, f.size, JSON_REJECT_DUPLICATES, &error);
    tool_file_free(&f);
    RETURN_IF(!root, ST_BAD_TEXT, "%s:%d:%d: %s", path, error.line, error.column, error.text);
    enum status st = read_section(&p, root, "activation_encodings", a, to);
    if (st == ST_OK)
        st = read_section(&p, root, "param_encodings", a, to);
    json_decref(root);
    return st;
}

enum status encodings_link(struct encodings *e, struct arena *a)
{
    (void)a;
    for (size_t i = 0; i < e->list.n; i++)
        e->list.at[i].used = &e->used.at[i];
    return ST_OK;
}

void encodings_finish(struct encodings *e)
{
    vec_finish(&e->list);
    vec_finish(&e->used);
}

/* ---- writing ------------------------------------------------------------------------------------------------------ */

/* The form that overrides have, so that the file can be edited and given back. */
static json_t *entry_of(const struct quantize_row *r, uint32_t i)
{
    unsigned bits = dtype_bits(r->type);
    bool fixed = dtype_is_fixed(r->type), is_signed = fixed && dtype_is_signed(r->type);
    if (!fixed)
        return json_pack("{s:s, s:i}", "dtype", "float", "bitwidth", bits);
    int64_t offset = (r->offsets ? r->offsets[i] : 0) + (is_signed ? -(1ll << (bits - 1)) : 0);
    double scale = r->scales[i], min = scale * (double)offset, max = min + scale * ((double)(1ull << bits) - 1);
    return json_pack("{s:s, s:i, s:f, s:f, s:f, s:I, s:s, s:s}", "dtype", "int", "bitwidth", bits, "min", min, "max", max, "scale", scale, "offset",
                     (json_int_t)offset, "is_symmetric", is_signed ? "True" : "False", "origin", quantize_origin_names[r->origin]);
}

enum status encodings_write(const struct quantize_report *r, const char *path)
{
    json_t *root = json_pack("{s:s, s:{}, s:{}}", "version", "0.6.1", "activation_encodings", "param_encodings");
    bool ok = root != NULL;
    for (size_t k = 0; ok && k < r->rows.n; k++) {
        const struct quantize_row *row = &r->rows.at[k];
        json_t *list = json_array();
        for (uint32_t i = 0; ok && i < row->n; i++)
            ok = json_array_append_new(list, entry_of(row, i)) == 0;
        ok = ok && json_object_set_new(json_object_get(root, row->constant ? "param_encodings" : "activation_encodings"), row->name, list) == 0;
    }
    char *text = ok ? json_dumps(root, JSON_INDENT(2) | JSON_REAL_PRECISION(9)) : NULL;
    json_decref(root);
    RETURN_IF(!text, ST_NO_MEMORY, "no memory for \"%s\"", path);
    enum status st = tool_file_write(path, text, strlen(text));
    free(text);
    return st;
}
