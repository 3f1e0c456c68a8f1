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
    return status_fail(ST_BAD_TEXT, "%s: %s%s%s%s: %s", p->path, p->section, p->name ? "/\"" : "", p->name ? p->name : "",
                       p->name ? "\"" : "", what);
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

static enum status read_entry(const struct place *p, const json_t *from, struct quantize_override *o,
                              struct quantize_entry *e)
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

/* ---- lists of lists --------------------------------------------------------------------------------------------------- */

enum { DEEPEST = 6 };

static uint64_t count_numbers(const json_t *v, unsigned depth)
{
    uint64_t n = 0;
    if (!json_is_array(v))
        return json_is_number(v);
    for (size_t i = 0; depth < DEEPEST && i < json_array_size(v); i++)
        n += count_numbers(json_array_get(v, i), depth + 1);
    return n;
}

static void take_numbers(const json_t *v, unsigned depth, double **at)
{
    if (json_is_number(v))
        *(*at)++ = json_number_value(v);
    for (size_t i = 0; json_is_array(v) && depth < DEEPEST && i < json_array_size(v); i++)
        take_numbers(json_array_get(v, i), depth + 1, at);
}

/* All numbers in a list, however deep it is; *n 0: there are none. */
static enum status flat_numbers(const struct place *p, const json_t *v, struct arena *a, double **ret, uint32_t *n)
{
    uint64_t count = count_numbers(v, 0);
    if (count > MOST_CHANNELS)
        return refuse(p, "a list is too long");
    double *at = *ret = arena_array(a, double, count + 1);
    RETURN_IF(!at, ST_NO_MEMORY, "no memory for encodings");
    take_numbers(v, 0, &at);
    *n = (uint32_t)count;
    return ST_OK;
}

/* block_size and per_block_int_scale. */
static enum status read_blocks(const struct place *p, const json_t *item, struct arena *a, struct quantize_override *o)
{
    double block = 0, *factors;
    uint32_t n;
    number(json_object_get(item, "block_size"), &block);
    TRY(flat_numbers(p, json_object_get(item, "per_block_int_scale"), a, &factors, &n));
    if (n && !block)
        return refuse(p, "block scales need a block_size");
    if (block < 0 || block > MOST_CHANNELS || block != floor(block))
        return refuse(p, "the block_size is no whole number above 0");
    o->block = (uint32_t)block;
    if (!n)
        return ST_OK;
    uint16_t *list = arena_array(a, uint16_t, n);
    RETURN_IF(!list, ST_NO_MEMORY, "no memory for encodings");
    for (uint32_t i = 0; i < n; i++) {
        if (factors[i] < 1 || factors[i] > 65535 || factors[i] != floor(factors[i]))
            return refuse(p, "a block scale is not between 1 and 65535");
        list[i] = (uint16_t)factors[i];
    }
    o->block_scales = list;
    o->n_block_scales = n;
    return ST_OK;
}

/* ---- [ { name, output_dtype, y_scale, y_zero_point, axis, block_size } … ] ----------------------------------------- */

/* "int8", "uint4", "float16" */
static enum status read_output_type(const struct place *p, const char *text, struct quantize_override *o, bool *is_signed)
{
    o->is_float = text && !strncmp(text, "float", 5);
    *is_signed = text && text[0] == 'i';
    const char *digits = text ? strpbrk(text, "0123456789") : NULL;
    if (o->is_float)
        return ST_OK;
    if (!digits || (strncmp(text, "int", 3) && strncmp(text, "uint", 4)))
        return refuse(p, "output_dtype is not int4 … int32, uint4 … uint32 or float…");
    return check_bits(p, atoi(digits), o);
}

static enum status fill_entries(const struct place *p, const json_t *item, bool is_signed, struct arena *a,
                                struct quantize_override *o)
{
    double *scales, *zeros, half = o->is_float ? 0 : (double)(1ull << (o->bits - 1));
    uint32_t n_zeros;
    const json_t *from = json_object_get(item, o->block_scales ? "per_channel_float_scale" : "y_scale");
    TRY(flat_numbers(p, from, a, &scales, &o->n));
    TRY(flat_numbers(p, json_object_get(item, "y_zero_point"), a, &zeros, &n_zeros));
    if (!o->n || (n_zeros > 1 && n_zeros != o->n))
        return refuse(p, !o->n ? "there is no scale" : "there are not as many zero points as scales");
    struct quantize_entry *e = arena_array(a, struct quantize_entry, o->n);
    RETURN_IF(!e, ST_NO_MEMORY, "no memory for encodings");
    for (uint32_t i = 0; i < o->n; i++) {
        double zero = n_zeros ? zeros[n_zeros == 1 ? 0 : i] : 0;
        if (fabs(zero) > 4294967296.0)
            return refuse(p, "a zero point is beyond 32 bits");
        e[i] = (struct quantize_entry){ .has_scale = true, .scale = scales[i], .symmetric = is_signed && zero == 0 };
        e[i].offset = (int64_t)(zero + (is_signed ? half : 0)); /* steps from the least value to zero */
        TRY(check_entry(p, &e[i]));
    }
    o->entries = e;
    return ST_OK;
}

static enum status read_onnx_like(struct place *p, const json_t *item, struct arena *a, struct encodings *to)
{
    const char *name = json_string_value(json_object_get(item, "name"));
    double axis = 1;
    bool is_signed;
    p->name = name;
    if (!name)
        return refuse(p, "an entry has no name");
    struct quantize_override o = { .name = arena_strdup(a, name) };
    RETURN_IF(!o.name, ST_NO_MEMORY, "no memory for encodings");
    TRY(read_output_type(p, json_string_value(json_object_get(item, "output_dtype")), &o, &is_signed));
    TRY(read_blocks(p, item, a, &o));
    number(json_object_get(item, "axis"), &axis);
    o.blocks_first = o.block && (axis == 0 || axis == -2); /* the axis of the blocks stands before that of the outputs */
    if (!o.is_float)
        TRY(fill_entries(p, item, is_signed, a, &o));
    return add(to, &o);
}

static enum status read_item(struct place *p, const json_t *item, struct arena *a, struct encodings *to)
{
    const char *name = json_string_value(json_object_get(item, "name")),
               *type = json_string_value(json_object_get(item, "enc_type"));
    const char *dtype = json_string_value(json_object_get(item, "dtype"));
    const json_t *scale = json_object_get(item, "scale"), *offset = json_object_get(item, "offset");
    double bits = 8;
    p->name = name;
    if (!name)
        return refuse(p, "an entry has no name");
    bool blocks = type && (!strcmp(type, "PER_BLOCK") || !strcmp(type, "LPBQ")), lpbq = type && !strcmp(type, "LPBQ");
    if (type && !blocks && strcmp(type, "PER_TENSOR") && strcmp(type, "PER_CHANNEL"))
        return refuse(p, "enc_type is not PER_TENSOR, PER_CHANNEL, PER_BLOCK or LPBQ");
    struct quantize_override o = { .name = arena_strdup(a, name),
                                   .n = 1,
                                   .is_float = dtype && (!strcasecmp(dtype, "float") || !strcasecmp(dtype, "fp")) };
    number(json_object_get(item, "bw"), &bits);
    if (lpbq)
        number(json_object_get(item, "compressed_bw"), &bits); /* bw is that of the products with block scales */
    TRY(check_bits(p, bits, &o));
    if (blocks)
        TRY(read_blocks(p, item, a, &o));
    if (blocks && (!o.block || lpbq != (o.block_scales != NULL)))
        return refuse(p, "PER_BLOCK needs a block_size, LPBQ a block_size and per_block_int_scale");
    if (!o.is_float && json_is_array(scale))
        o.n = (uint32_t)json_array_size(scale);
    struct quantize_entry *e = o.n && o.n <= MOST_CHANNELS ? arena_array(a, struct quantize_entry, o.n) : NULL;
    if (!e)
        return refuse(p, "the list of scales is empty or too long");
    for (uint32_t i = 0; i < o.n; i++) {
        double at = 0;
        e[i].has_scale = element(scale, i, &e[i].scale);
        e[i].has_range =
            element(json_object_get(item, "min"), i, &e[i].min) && element(json_object_get(item, "max"), i, &e[i].max);
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

static enum status read_onnx_likes(struct place *p, const json_t *list, struct arena *a, struct encodings *to)
{
    p->section = "encodings";
    if (!json_is_array(list))
        return refuse(p, "a list is expected");
    for (size_t i = 0; i < json_array_size(list); i++)
        TRY(read_onnx_like(p, json_array_get(list, i), a, to));
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
    const json_t *all = json_object_get(root, "encodings");
    enum status st = all ? read_onnx_likes(&p, all, a, to) : read_section(&p, root, "activation_encodings", a, to);
    if (st == ST_OK && !all)
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
    return json_pack("{s:s, s:i, s:f, s:f, s:f, s:I, s:s, s:s}", "dtype", "int", "bitwidth", bits, "min", min, "max", max,
                     "scale", scale, "offset", (json_int_t)offset, "is_symmetric", is_signed ? "True" : "False", "origin",
                     quantize_origin_names[r->origin]);
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
        ok = ok && json_object_set_new(json_object_get(root, row->constant ? "param_encodings" : "activation_encodings"),
                                       row->name, list) == 0;
    }
    char *text = ok ? json_dumps(root, JSON_INDENT(2) | JSON_REAL_PRECISION(9)) : NULL;
    json_decref(root);
    RETURN_IF(!text, ST_NO_MEMORY, "no memory for \"%s\"", path);
    enum status st = tool_file_write(path, text, strlen(text));
    free(text);
    return st;
}
