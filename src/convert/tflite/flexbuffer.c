/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of a map that custom operators keep their options in, without trust.
 *
 *     … key strings … keys: count, offset back to each string … map: offset back to keys, width of the keys' entries, count,
 *     values, one type per value … root: value, type, width
 *
 * Offsets count backwards from where they stand. A type has its kind in the upper six bits; kinds 6 to 8 are an offset to a
 * number whose width is in the lower two. */
#include "convert/tflite/flexbuffer.h"

#include <string.h>

enum {
    KIND_INT = 1,
    KIND_UINT = 2,
    KIND_FLOAT = 3,
    KIND_OFFSET_INT = 6,
    KIND_OFFSET_FLOAT = 8,
    KIND_MAP = 9,
    KIND_BOOL = 26
};

struct flex {
    const uint8_t *at;
    uint64_t n;
    bool bad;
};

static uint64_t read_uint(struct flex *f, uint64_t pos, unsigned width)
{
    uint64_t v = 0;
    if (pos > f->n || width > f->n - pos) {
        f->bad = true;
        return 0;
    }
    memcpy(&v, f->at + pos, width);
    return v;
}

static uint64_t back(struct flex *f, uint64_t pos, unsigned width)
{
    uint64_t by = read_uint(f, pos, width);
    f->bad = f->bad || by > pos;
    return f->bad ? 0 : pos - by;
}

static double read_number(struct flex *f, uint64_t pos, unsigned width, unsigned kind)
{
    uint64_t bits = read_uint(f, pos, width);
    if (kind == KIND_FLOAT) {
        float half;
        double whole;
        memcpy(&half, &bits, sizeof(half));
        memcpy(&whole, &bits, sizeof(whole));
        return width == 8 ? whole : width == 4 ? (double)half : 0;
    }
    if (kind == KIND_INT && width < 8 && bits >> (8 * width - 1))
        bits |= ~UINT64_C(0) << (8 * width);
    return kind == KIND_INT ? (double)(int64_t)bits : (double)bits;
}

static bool is_key(struct flex *f, uint64_t pos, const char *key)
{
    size_t n = strlen(key) + 1;
    return !f->bad && pos <= f->n && n <= f->n - pos && !memcmp(f->at + pos, key, n);
}

/* Value i of a map of n values at `map`. */
static bool value_at(struct flex *f, uint64_t map, unsigned width, uint64_t n, uint64_t i, double *ret)
{
    uint64_t type = read_uint(f, map + n * width + i, 1), pos = map + i * width;
    unsigned kind = (unsigned)(type >> 2), wide = 1u << (type & 3);
    if (kind == KIND_INT || kind == KIND_UINT || kind == KIND_FLOAT || kind == KIND_BOOL)
        *ret = read_number(f, pos, width, kind);
    else if (kind >= KIND_OFFSET_INT && kind <= KIND_OFFSET_FLOAT)
        *ret = read_number(f, back(f, pos, width), wide, kind - KIND_OFFSET_INT + KIND_INT);
    else
        return false;
    return !f->bad;
}

bool flex_number(const void *data, uint64_t size, const char *key, double *ret)
{
    struct flex f = {.at = data, .n = size};
    if (size < 3)
        return false;
    uint64_t root_width = read_uint(&f, size - 1, 1), type = read_uint(&f, size - 2, 1);
    if (type >> 2 != KIND_MAP || (root_width != 1 && root_width != 2 && root_width != 4 && root_width != 8) ||
        size < 2 + root_width)
        return false;
    unsigned width = 1u << (type & 3);
    uint64_t map = back(&f, size - 2 - root_width, (unsigned)root_width);
    if (f.bad || map < 3u * width)
        return false;
    uint64_t n = read_uint(&f, map - width, width), keys_width = read_uint(&f, map - 2u * width, width),
             keys = back(&f, map - 3u * width, width);
    if (f.bad || n > size || (keys_width != 1 && keys_width != 2 && keys_width != 4 && keys_width != 8))
        return false;
    for (uint64_t i = 0; i < n && !f.bad; i++)
        if (is_key(&f, back(&f, keys + i * keys_width, (unsigned)keys_width), key))
            return value_at(&f, map, width, n, i, ret);
    return false;
}
