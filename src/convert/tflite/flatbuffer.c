/* SPDX-License-Identifier: Apache-2.0 */
/* Bounds-checked access to tables, vectors and strings. Positions are 64-bit and offsets 32-bit, so sums never wrap. */
#include "convert/tflite/flatbuffer.h"

#include <string.h>

void fb_init(struct fb *b, const void *data, size_t size)
{
    *b = (struct fb){.at = data, .n = size, .budget = (uint64_t)size * 8 + (1 << 16)};
}

static void violated(struct fb *b, const char *what, uint64_t at)
{
    if (b->bad)
        return;
    b->bad = what;
    b->bad_at = at;
}

enum status fb_status(const struct fb *b)
{
    RETURN_IF(b->bad, ST_INVALID_ARG,
              "the TFLite file is malformed: %s at byte %llu of %llu; it is cut off or damaged, fetch it again", b->bad,
              (unsigned long long)b->bad_at, (unsigned long long)b->n);
    return ST_OK;
}

bool fb_charge(struct fb *b, uint64_t amount)
{
    if (b->bad)
        return false;
    if (amount > b->budget) {
        violated(b, "more data is described than the file can hold", 0);
        return false;
    }
    b->budget -= amount;
    return true;
}

/* `bytes` at `pos` lie in the buffer. */
static bool inside(struct fb *b, uint64_t pos, uint64_t bytes, const char *what)
{
    if (b->bad)
        return false;
    if (pos <= b->n && bytes <= b->n - pos)
        return true;
    violated(b, what, pos);
    return false;
}

static uint64_t load(const struct fb *b, uint64_t pos, unsigned bytes)
{
    uint64_t v = 0;
    for (unsigned i = 0; i < bytes; i++)
        v |= (uint64_t)b->at[pos + i] << (8 * i);
    return v;
}

static int64_t load_signed(const struct fb *b, uint64_t pos, unsigned bytes)
{
    unsigned shift = 64 - 8 * bytes;
    return (int64_t)(load(b, pos, bytes) << shift) >> shift;
}

static struct fb_table table_at(struct fb *b, uint64_t pos)
{
    struct fb_table none = {0}, t = {.b = b, .pos = pos};
    if (!inside(b, pos, 4, "a table lies outside the file"))
        return none;
    int64_t vtable = (int64_t)pos - load_signed(b, pos, 4);
    if (vtable < 0 || !inside(b, (uint64_t)vtable, 4, "the description of a table lies outside the file")) {
        violated(b, "the description of a table lies outside the file", pos);
        return none;
    }
    t.vtable = (uint64_t)vtable;
    t.vtable_bytes = (uint16_t)load(b, t.vtable, 2);
    t.bytes = (uint16_t)load(b, t.vtable + 2, 2);
    if (t.vtable_bytes < 4 || t.bytes < 4 ||
        !inside(b, t.vtable, t.vtable_bytes, "the description of a table lies outside the file") ||
        !inside(b, pos, t.bytes, "a table reaches over the end of the file")) {
        violated(b, "the description of a table is too short", t.vtable);
        return none;
    }
    return t;
}

struct fb_table fb_root(struct fb *b)
{
    if (!inside(b, 0, 8, "the file has no header"))
        return (struct fb_table){0};
    return table_at(b, load(b, 0, 4));
}

/* Position of a field of `bytes` bytes, 0 when it is absent. */
static uint64_t field_at(struct fb_table t, unsigned field, unsigned bytes)
{
    uint64_t slot = 4 + 2 * (uint64_t)field;
    if (!t.b || t.b->bad || slot + 2 > t.vtable_bytes)
        return 0;
    uint64_t offset = load(t.b, t.vtable + slot, 2);
    if (offset == 0)
        return 0;
    if (offset + bytes > t.bytes) {
        violated(t.b, "a field lies outside its table", t.pos);
        return 0;
    }
    return t.pos + offset;
}

/* Where the offset in a field leads, 0 when it is absent. */
static uint64_t follow(struct fb_table t, unsigned field, const char *what)
{
    uint64_t pos = field_at(t, field, 4);
    if (!pos)
        return 0;
    uint64_t to = pos + load(t.b, pos, 4);
    return inside(t.b, to, 4, what) ? to : 0;
}

bool fb_has(struct fb_table t, unsigned field)
{
    return field_at(t, field, 1) != 0;
}

int64_t fb_int(struct fb_table t, unsigned field, unsigned bytes, int64_t absent)
{
    uint64_t pos = field_at(t, field, bytes);
    return pos ? load_signed(t.b, pos, bytes) : absent;
}

float fb_float(struct fb_table t, unsigned field, float absent)
{
    uint64_t pos = field_at(t, field, 4);
    if (pos)
        memcpy(&absent, t.b->at + pos, 4);
    return absent;
}

struct fb_table fb_sub(struct fb_table t, unsigned field)
{
    uint64_t to = follow(t, field, "a table lies outside the file");
    return to ? table_at(t.b, to) : (struct fb_table){0};
}

struct fb_vec fb_vector(struct fb_table t, unsigned field, unsigned element_bytes)
{
    struct fb_vec none = {0};
    uint64_t to = follow(t, field, "a list lies outside the file");
    if (!to)
        return none;
    struct fb_vec v = {.b = t.b, .pos = to + 4, .n = (uint32_t)load(t.b, to, 4)};
    if (!inside(t.b, v.pos, (uint64_t)v.n * element_bytes, "a list reaches over the end of the file"))
        return none;
    /* The bytes of a constant are borrowed, not read. */
    return element_bytes == 1 || fb_charge(t.b, v.n) ? v : none;
}

static const char *string_at(struct fb *b, uint64_t to)
{
    uint64_t n = load(b, to, 4);
    if (!inside(b, to + 4, n + 1, "a text reaches over the end of the file") || !fb_charge(b, n / 8))
        return NULL;
    if (b->at[to + 4 + n] != 0) {
        violated(b, "a text has no end", to);
        return NULL;
    }
    return (const char *)b->at + to + 4;
}

const char *fb_string(struct fb_table t, unsigned field)
{
    uint64_t to = follow(t, field, "a text lies outside the file");
    return to ? string_at(t.b, to) : NULL;
}

const char *fb_at_string(struct fb_vec v, uint32_t i)
{
    if (i >= v.n || v.b->bad)
        return NULL;
    uint64_t pos = v.pos + 4 * (uint64_t)i, to = pos + load(v.b, pos, 4);
    return inside(v.b, to, 4, "a text lies outside the file") ? string_at(v.b, to) : NULL;
}

int64_t fb_at_int(struct fb_vec v, uint32_t i, unsigned bytes)
{
    return i < v.n && !v.b->bad ? load_signed(v.b, v.pos + (uint64_t)i * bytes, bytes) : 0;
}

float fb_at_float(struct fb_vec v, uint32_t i)
{
    float x = 0;
    if (i < v.n && !v.b->bad)
        memcpy(&x, v.b->at + v.pos + 4 * (uint64_t)i, 4);
    return x;
}

struct fb_table fb_at_table(struct fb_vec v, uint32_t i)
{
    if (i >= v.n || v.b->bad)
        return (struct fb_table){0};
    uint64_t pos = v.pos + 4 * (uint64_t)i;
    return table_at(v.b, pos + load(v.b, pos, 4));
}

const uint8_t *fb_bytes(struct fb_vec v)
{
    return v.n ? v.b->at + v.pos : NULL;
}
