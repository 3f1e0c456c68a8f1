/* SPDX-License-Identifier: Apache-2.0 */
/* The contents of a tensor of the file: raw bytes are borrowed; typed lists are borrowed when they are packed in the
 * tensor's own type and decoded otherwise; external files are read. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "convert/builder.h"
#include "convert/onnx/onnx_model.h"

static enum status count_of(const struct onnx_tensor *t, uint64_t *count, uint64_t *bytes)
{
    uint64_t n = 1;
    for (uint32_t i = 0; i < t->rank; i++)
        RETURN_IF(__builtin_mul_overflow(n, (uint64_t)t->dims[i], &n) || n > (uint64_t)1 << 40, ST_BAD_TEXT,
                  "tensor \"%s\" has more elements than a file can hold", t->name);
    *count = n;
    *bytes = dtype_bytes(t->type, n);
    return ST_OK;
}

/* A file beside the model: no way up, no absolute names. */
static enum status open_beside(const struct onnx_tensor *t, const char *folder, int *ret)
{
    const char *l = t->location;
    RETURN_IF(!l || !l[0], ST_BAD_TEXT, "tensor \"%s\" is stored in another file, but does not say which", t->name);
    RETURN_IF(!folder, ST_IO, "tensor \"%s\" is stored in file \"%s\"; the folder of the model is not known here", t->name,
              l);
    RETURN_IF(l[0] == '/' || strstr(l, ".."), ST_IO,
              "tensor \"%s\" is stored in file \"%s\"; only files beside the model are read", t->name, l);
    char path[4096];
    RETURN_IF(snprintf(path, sizeof(path), "%s/%s", folder[0] ? folder : ".", l) >= (int)sizeof(path), ST_IO,
              "the path of file \"%s\" is too long", l);
    *ret = open(path, O_RDONLY | O_CLOEXEC);
    RETURN_IF(*ret < 0, ST_IO, "file \"%s\" with tensor \"%s\" cannot be opened: %s", path, t->name, strerror(errno));
    return ST_OK;
}

static enum status read_all(int fd, char *to, uint64_t n, uint64_t offset, const struct onnx_tensor *t)
{
    while (n) {
        ssize_t got = pread(fd, to, n, (off_t)offset);
        RETURN_IF(got <= 0, ST_IO, "file \"%s\" ends before tensor \"%s\" does", t->location, t->name);
        to += got;
        offset += (uint64_t)got;
        n -= (uint64_t)got;
    }
    return ST_OK;
}

static enum status external_bytes(struct arena *a, const struct onnx_tensor *t, const char *folder, uint64_t bytes,
                                  const void **ret)
{
    int fd;
    struct stat st;
    RETURN_IF(t->length && t->length != bytes, ST_BAD_TEXT,
              "tensor \"%s\" needs %llu bytes; file \"%s\" is said to have %llu for it", t->name, (unsigned long long)bytes,
              t->location, (unsigned long long)t->length);
    TRY(open_beside(t, folder, &fd));
    bool fits = fstat(fd, &st) == 0 && (uint64_t)st.st_size >= bytes && (uint64_t)st.st_size - bytes >= t->offset;
    char *to = fits ? arena_alloc(a, bytes) : NULL;
    enum status s = !fits ? status_fail(ST_IO, "file \"%s\" is too short for tensor \"%s\": %llu bytes at offset %llu",
                                        t->location, t->name, (unsigned long long)bytes, (unsigned long long)t->offset)
                    : !to ? status_fail(ST_NO_MEMORY, "no memory for tensor \"%s\"", t->name)
                          : read_all(fd, to, bytes, t->offset, t);
    close(fd);
    *ret = to;
    return s;
}

/* The list that a type is stored in: field number and kind of number. */
struct list {
    uint32_t field;
    enum wire_type type;
};

static struct list list_of(enum dtype t)
{
    switch (t) {
    case DT_F32: return (struct list){4, WIRE_FIXED32};
    case DT_F64: return (struct list){10, WIRE_FIXED64};
    case DT_I64: return (struct list){7, WIRE_VARINT};
    case DT_U32:
    case DT_U64: return (struct list){11, WIRE_VARINT};
    default: return (struct list){5, WIRE_VARINT};
    }
}

/* One packed run of fixed-size numbers is the tensor as it is. */
static bool packed_run(const struct onnx_tensor *t, struct list l, uint64_t bytes, const void **ret)
{
    struct wire w = t->message;
    struct wire_field f;
    bool more;
    if (l.type == WIRE_VARINT)
        return false;
    while (wire_next(&w, &f, &more) == ST_OK && more)
        if (f.number == l.field && f.type == WIRE_BYTES && wire_size(f.bytes) == bytes) {
            *ret = f.bytes.p;
            return true;
        }
    return false;
}

static enum status decode(struct arena *a, const struct onnx_tensor *t, struct list l, uint64_t bytes, const void **ret)
{
    /* 4-bit types: an entry holds a byte, that is two elements */
    unsigned size = dtype_bits(t->type) < 8 ? 1 : dtype_bits(t->type) / 8;
    uint64_t n = bytes / size, k = 0, v;
    RETURN_IF(n > wire_size(t->message), ST_BAD_TEXT, "tensor \"%s\" should have %llu elements; the file has fewer", t->name,
              (unsigned long long)n);
    uint8_t *to = arena_alloc(a, bytes);
    RETURN_IF(!to, ST_NO_MEMORY, "no memory for tensor \"%s\"", t->name);
    struct wire_numbers w;
    bool more;
    wire_numbers_begin(&w, t->message, l.field, l.type);
    for (;; k++) {
        TRY(wire_numbers_next(&w, &v, &more));
        if (!more)
            break;
        if (k < n)
            memcpy(to + k * size, &v, size);
    }
    RETURN_IF(k != n, ST_BAD_TEXT, "tensor \"%s\" should have %llu elements; the file has %llu", t->name,
              (unsigned long long)n, (unsigned long long)k);
    *ret = to;
    return ST_OK;
}

enum status onnx_tensor_bytes(struct arena *a, const struct onnx_tensor *t, const char *folder, const void **ret)
{
    static const char empty[16];
    uint64_t count, bytes;
    RETURN_IF(t->type == DT_NONE, ST_NOT_SUPPORTED,
              "tensor \"%s\" has elements of type %s; no tensor of the graph can have that", t->name,
              onnx_elem_name(t->elem));
    TRY(count_of(t, &count, &bytes));
    *ret = empty;
    if (count == 0)
        return ST_OK;
    if (t->external)
        return external_bytes(a, t, folder, bytes, ret);
    if (t->has_raw) {
        RETURN_IF(wire_size(t->raw) != bytes, ST_BAD_TEXT, "tensor \"%s\" needs %llu bytes; the file has %zu", t->name,
                  (unsigned long long)bytes, wire_size(t->raw));
        *ret = t->raw.p;
        return ST_OK;
    }
    struct list l = list_of(t->type);
    return packed_run(t, l, bytes, ret) ? ST_OK : decode(a, t, l, bytes, ret);
}
