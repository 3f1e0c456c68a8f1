/* SPDX-License-Identifier: Apache-2.0 */
/* Reading protobuf in place. See the header for why there is no generated code: it would copy every tensor of the file. */
#include "convert/onnx/onnx_wire.h"

#include <string.h>

size_t wire_size(struct wire w)
{
    return (size_t)(w.end - w.p);
}

static enum status varint(struct wire *w, uint64_t *ret)
{
    uint64_t v = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
        RETURN_IF(w->p == w->end, ST_BAD_TEXT, "the ONNX file is cut off: it ends inside a number");
        uint8_t byte = *w->p++;
        if (shift < 64)
            v |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) {
            *ret = v;
            return ST_OK;
        }
    }
    return status_fail(ST_BAD_TEXT, "the ONNX file is malformed: a number has more than 10 bytes");
}

static enum status fixed(struct wire *w, unsigned size, uint64_t *ret)
{
    *ret = 0;
    RETURN_IF(wire_size(*w) < size, ST_BAD_TEXT, "the ONNX file is cut off: %zu bytes are left of a number of %u",
              wire_size(*w), size);
    memcpy(ret, w->p, size);
    w->p += size;
    return ST_OK;
}

static enum status bytes(struct wire *w, struct wire *ret)
{
    uint64_t n;
    TRY(varint(w, &n));
    RETURN_IF(n > wire_size(*w), ST_BAD_TEXT,
              "the ONNX file is malformed: a field says that it has %llu bytes, %zu are left", (unsigned long long)n,
              wire_size(*w));
    *ret = (struct wire){w->p, w->p + n};
    w->p += n;
    return ST_OK;
}

static enum status scalar(struct wire *w, enum wire_type type, uint64_t *ret)
{
    return type == WIRE_VARINT ? varint(w, ret) : fixed(w, type == WIRE_FIXED64 ? 8 : 4, ret);
}

enum status wire_next(struct wire *w, struct wire_field *f, bool *more)
{
    uint64_t key;
    *more = w->p < w->end;
    if (!*more)
        return ST_OK;
    TRY(varint(w, &key));
    *f = (struct wire_field){.number = (uint32_t)(key >> 3), .type = (enum wire_type)(key & 7)};
    RETURN_IF(f->number == 0, ST_BAD_TEXT, "the ONNX file is malformed: a field has number 0; is it an ONNX file?");
    switch (f->type) {
    case WIRE_BYTES: return bytes(w, &f->bytes);
    case WIRE_VARINT:
    case WIRE_FIXED32:
    case WIRE_FIXED64: return scalar(w, f->type, &f->value);
    }
    return status_fail(ST_BAD_TEXT, "the ONNX file is malformed: field %u has wire type %u; 0, 1, 2 and 5 exist", f->number,
                       (unsigned)(key & 7));
}

enum status wire_count(struct wire w, uint32_t number, size_t *ret)
{
    struct wire_field f;
    bool more;
    *ret = 0;
    for (;;) {
        TRY(wire_next(&w, &f, &more));
        if (!more)
            return ST_OK;
        *ret += f.number == number;
    }
}

const char *wire_text(struct arena *a, struct wire w)
{
    char *s = arena_alloc(a, wire_size(w) + 1);
    if (s)
        memcpy(s, w.p, wire_size(w));
    return s;
}

float wire_float(uint64_t bits)
{
    uint32_t low = (uint32_t)bits;
    float f;
    memcpy(&f, &low, 4);
    return f;
}

void wire_numbers_begin(struct wire_numbers *n, struct wire message, uint32_t number, enum wire_type type)
{
    *n = (struct wire_numbers){.message = message, .number = number, .type = type};
}

enum status wire_numbers_next(struct wire_numbers *n, uint64_t *value, bool *more)
{
    struct wire_field f;
    while (n->packed.p == n->packed.end) {
        TRY(wire_next(&n->message, &f, more));
        if (!*more)
            return ST_OK;
        if (f.number != n->number)
            continue;
        if (f.type == WIRE_BYTES) {
            n->packed = f.bytes;
            continue;
        }
        *value = f.value;
        return ST_OK;
    }
    *more = true;
    return scalar(&n->packed, n->type, value);
}
