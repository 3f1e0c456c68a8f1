/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes that are no context binary: say what they are, since the usual mistake is a path that names another kind of file. */
#include <string.h>

#include "base/file_kind.h"
#include "binary/binary_format.h"

enum status bin_foreign(const void *data, size_t size)
{
    const enum file_kind kind = file_kind_of(data, size);
    const char *advice = file_kind_advice(kind);

    RETURN_IF(size == 0, ST_BAD_BINARY, "context binary: empty (0 bytes)");
    bool cut = size < sizeof(struct bin_header) && memcmp(data, BIN_MAGIC, size < 4 ? size : 4) == 0;
    RETURN_IF(cut, ST_BAD_BINARY, "context binary: cut off: %zu bytes; its header alone has %zu", size,
              sizeof(struct bin_header));
    RETURN_IF(kind == FILE_OTHER, ST_BAD_BINARY,
              "not a context binary: the %zu bytes do not begin with \"" BIN_MAGIC "\"; binaries made by the vendor's tools "
              "have another format: prepare the model again with qnn-context-binary-generator",
              size);
    return status_fail(ST_BAD_BINARY, "not a context binary: the %zu bytes are %s%s%s", size, file_kind_name(kind),
                       *advice ? "; " : "", advice);
}
