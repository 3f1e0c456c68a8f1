/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes that are no context binary: say what they are, since the usual mistake is a path that names another kind of file. */
#include <ctype.h>
#include <string.h>

#include "binary/binary_format.h"

static const struct {
    size_t offset;
    const char *bytes;
    size_t n;
    const char *what;
} known[] = {
    { 0, "\x7f" "ELF", 4, "an ELF file (a shared library: is it the model library or the backend?)" },
    { 0, "PK\x03\x04", 4, "a zip archive (a DLC file is one: convert or compose it first)" },
    { 0, "\x1f\x8b", 2, "gzip data: unpack it first" },
    { 0, "\x28\xb5\x2f\xfd", 4, "zstd data: unpack it first" },
    { 4, "TFL3", 4, "a TFLite model: convert it first" },
    { 0, "OQNP", 4, "a profile log (qnn-profile-viewer reads it)" },
    { 257, "ustar", 5, "a tar archive: unpack it first" },
};

/* ONNX is protobuf: field 1 (ir_version, a small number), then a name (field 2) or another field of the model. */
static bool is_onnx(const uint8_t *p, size_t size)
{
    return size >= 4 && p[0] == 0x08 && p[1] > 0 && p[1] < 0x40 && (p[2] == 0x12 || p[2] == 0x3a || p[2] == 0x42);
}

static bool is_text(const uint8_t *p, size_t size)
{
    size_t n = size < 64 ? size : 64;
    for (size_t i = 0; i < n; i++)
        if (!isprint(p[i]) && !isspace(p[i]))
            return false;
    return n > 0;
}

static bool is_zero(const uint8_t *p, size_t size)
{
    size_t n = size < 64 ? size : 64;
    for (size_t i = 0; i < n; i++)
        if (p[i])
            return false;
    return true;
}

static const char *describe(const uint8_t *p, size_t size)
{
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (size >= known[i].offset + known[i].n && memcmp(p + known[i].offset, known[i].bytes, known[i].n) == 0)
            return known[i].what;
    if (is_onnx(p, size))
        return "what looks like an ONNX model: convert it first";
    if (is_text(p, size))
        return p[0] == '{' || p[0] == '[' ? "JSON text" : "text";
    return is_zero(p, size) ? "zeros (was the file written completely?)" : "not a file of this project";
}

enum status bin_foreign(const void *data, size_t size)
{
    RETURN_IF(size == 0, ST_BAD_BINARY, "context binary: empty (0 bytes)");
    bool cut = size < sizeof(struct bin_header) && memcmp(data, BIN_MAGIC, size < 4 ? size : 4) == 0;
    RETURN_IF(cut, ST_BAD_BINARY, "context binary: cut off: %zu bytes; its header alone has %zu", size,
              sizeof(struct bin_header));
    return status_fail(ST_BAD_BINARY,
                       "not a context binary: the %zu bytes are %s; a context binary starts with \"" BIN_MAGIC "\"", size,
                       describe(data, size));
}
