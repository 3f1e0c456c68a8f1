/* SPDX-License-Identifier: Apache-2.0 */
/* See file_kind.h. */
#include "base/file_kind.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

enum { SHOWN = 64 }; /* bytes that decide whether something is text */

static const struct {
    enum file_kind kind;
    size_t offset;
    const char *bytes;
    size_t size;
} magics[] = {
#define MAGIC(kind, offset, bytes)             \
    {                                          \
        kind, offset, bytes, sizeof(bytes) - 1 \
    }
    MAGIC(FILE_CONTEXT_BINARY, 0, "OQNB"), MAGIC(FILE_PROFILE_LOG, 0, "OQNP"),
    MAGIC(FILE_TFLITE, 4, "TFL3"),         MAGIC(FILE_ZIP, 0, "PK\003\004"),
    MAGIC(FILE_ELF, 0, "\177ELF"),         MAGIC(FILE_LFS_POINTER, 0, "version https://git-lfs.github.com/spec/"),
    MAGIC(FILE_NPY, 0, "\223NUMPY"),       MAGIC(FILE_PNG, 0, "\211PNG"),
    MAGIC(FILE_JPEG, 0, "\377\330\377"),   MAGIC(FILE_TAR, 257, "ustar"),
    MAGIC(FILE_GZIP, 0, "\037\213"),       MAGIC(FILE_ZSTD, 0, "\050\265\057\375"),
#undef MAGIC
};

static const struct {
    const char *name;
    const char *advice;
} texts[FILE_KIND_COUNT] = {
    [FILE_OTHER] = { "of no kind that is known here", "" },
    [FILE_EMPTY] = { "empty", "write or download it again" },
    [FILE_ZEROS] = { "all zeros at its beginning", "it was not written completely: write or download it again" },
    [FILE_CONTEXT_BINARY] = { "a context binary", "qnn-net-run takes it with --retrieve_context" },
    [FILE_PROFILE_LOG] = { "a profile log", "qnn-profile-viewer reads it" },
    [FILE_ONNX] = { "an ONNX model", "qnn-onnx-converter and qairt-converter read it" },
    [FILE_TFLITE] = { "a TFLite model", "qnn-tflite-converter and qairt-converter read it" },
    [FILE_ZIP] = { "a zip archive", "a DLC is one and goes to --dlc_path or --input_dlc; unpack others first" },
    [FILE_ELF] = { "an ELF file (a library or a program)", "a model library goes to --model, a backend to --backend" },
    [FILE_HTML] = { "a web page",
                    "the download brought a page instead of the file: look at it in a browser, log in where it "
                    "asks for that, and download again" },
    [FILE_LFS_POINTER] = { "a pointer of Git LFS",
                           "the file itself was not fetched: run \"git lfs pull\" in its repository" },
    [FILE_NPY] = { "a NumPy array file", "raw files hold plain numbers without a header: write them with ndarray.tofile" },
    [FILE_PNG] = { "a PNG image", "raw files hold plain numbers: decode the image first" },
    [FILE_JPEG] = { "a JPEG image", "raw files hold plain numbers: decode the image first" },
    [FILE_TAR] = { "a tar archive", "unpack it first" },
    [FILE_GZIP] = { "a gzip file", "unpack it first" },
    [FILE_ZSTD] = { "a zstd file", "unpack it first" },
    [FILE_JSON] = { "a JSON text", "settings go to --config_file" },
    [FILE_TEXT] = { "a text", "" },
};

static bool has_magic(const uint8_t *p, size_t size, size_t i)
{
    const size_t end = magics[i].offset + magics[i].size;

    return size >= end && memcmp(p + magics[i].offset, magics[i].bytes, magics[i].size) == 0;
}

/* Protobuf: field 1 (ir_version, a small number), then a name (field 2) or another field of the model. */
static bool is_onnx(const uint8_t *p, size_t size)
{
    return size >= 4 && p[0] == 0x08 && p[1] > 0 && p[1] < 0x40 && (p[2] == 0x12 || p[2] == 0x3a || p[2] == 0x42);
}

static size_t shown(size_t size)
{
    return size < SHOWN ? size : SHOWN;
}

static bool is_text(const uint8_t *p, size_t size)
{
    for (size_t i = 0; i < shown(size); i++) {
        if (!isprint(p[i]) && !isspace(p[i]))
            return false;
    }
    return true;
}

static bool is_zero(const uint8_t *p, size_t size)
{
    for (size_t i = 0; i < shown(size); i++) {
        if (p[i])
            return false;
    }
    return true;
}

/* Behind white space. */
static bool begins_with(const uint8_t *p, size_t size, const char *word)
{
    const size_t n = strlen(word);
    size_t i = 0;

    while (i < size && isspace(p[i]))
        i++;
    return size - i >= n && strncasecmp((const char *)p + i, word, n) == 0;
}

static enum file_kind kind_of_text(const uint8_t *p, size_t size)
{
    if (begins_with(p, size, "<!doctype") || begins_with(p, size, "<html"))
        return FILE_HTML;
    if (begins_with(p, size, "{") || begins_with(p, size, "["))
        return FILE_JSON;
    return FILE_TEXT;
}

enum file_kind file_kind_of(const void *data, size_t size)
{
    const uint8_t *p = data;

    if (size == 0)
        return FILE_EMPTY;
    for (size_t i = 0; i < sizeof(magics) / sizeof(magics[0]); i++) {
        if (has_magic(p, size, i))
            return magics[i].kind;
    }
    if (is_onnx(p, size))
        return FILE_ONNX;
    if (is_text(p, size))
        return kind_of_text(p, size);
    return is_zero(p, size) ? FILE_ZEROS : FILE_OTHER;
}

const char *file_kind_name(enum file_kind kind)
{
    return texts[kind < FILE_KIND_COUNT ? kind : FILE_OTHER].name;
}

const char *file_kind_advice(enum file_kind kind)
{
    return texts[kind < FILE_KIND_COUNT ? kind : FILE_OTHER].advice;
}

enum status file_kind_explain(enum status st, const void *data, size_t size, enum file_kind wanted, const char *name)
{
    const enum file_kind kind = file_kind_of(data, size);
    const char *advice = file_kind_advice(kind);

    if (st == ST_OK || kind == wanted || kind == FILE_OTHER)
        return st;
    return status_fail(st, "the file is not %s but %s%s%s", name, file_kind_name(kind), *advice ? "; " : "", advice);
}
