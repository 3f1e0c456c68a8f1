/* SPDX-License-Identifier: Apache-2.0 */
/* What kind of file some bytes are, by their beginning: the usual mistake is a path that names another kind of file, or a
 * download that brought something else. Every reader uses this one list, so all of them say the same. */
#ifndef BASE_FILE_KIND_H
#define BASE_FILE_KIND_H

#include <stddef.h>

#include "base/status.h"

enum file_kind {
    FILE_OTHER, /* not known */
    FILE_EMPTY,
    FILE_ZEROS,
    FILE_CONTEXT_BINARY,
    FILE_PROFILE_LOG,
    FILE_ONNX,
    FILE_TFLITE,
    FILE_ZIP, /* a DLC is one */
    FILE_ELF,
    FILE_HTML,
    FILE_LFS_POINTER,
    FILE_NPY,
    FILE_PNG,
    FILE_JPEG,
    FILE_TAR,
    FILE_GZIP,
    FILE_ZSTD,
    FILE_JSON,
    FILE_TEXT,
    FILE_KIND_COUNT
};

enum file_kind file_kind_of(const void *data, size_t size);

/* "an ELF file"; for FILE_OTHER "of no kind that is known here". */
const char *file_kind_name(enum file_kind kind);
/* What to do with such a file: a sentence without a full stop; "" where there is no advice. */
const char *file_kind_advice(enum file_kind kind);

/* For readers that failed with `st` on bytes that should have been of the kind `wanted`, which people call `name` ("an ONNX
 * model"). Where the bytes are of another known kind, the explanation says that instead of what the reader stumbled over. */
enum status file_kind_explain(enum status st, const void *data, size_t size, enum file_kind wanted, const char *name);

#endif
