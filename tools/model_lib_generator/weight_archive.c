/* SPDX-License-Identifier: Apache-2.0 */
/* Tar archives as .incbin lines; see weight_archive.h. The archive is not unpacked: the assembler takes each member from its
 * place. */
#include "model_lib_generator/weight_archive.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

enum { BLOCK = 512, NAME_AT = 0, NAME_SIZE = 100, SIZE_AT = 124, SIZE_SIZE = 12, TYPE_AT = 156, MAGIC_AT = 257 };

static bool is_tar(const char *p, size_t size)
{
    return size >= BLOCK && !memcmp(p + MAGIC_AT, "ustar", 5);
}

static enum status octal(const char *p, uint64_t *ret)
{
    uint64_t v = 0;
    int i = 0;
    while (i < SIZE_SIZE && p[i] == ' ')
        i++;
    for (; i < SIZE_SIZE && p[i] >= '0' && p[i] <= '7'; i++)
        v = v * 8 + (uint64_t)(p[i] - '0');
    RETURN_IF(i < SIZE_SIZE && p[i] && p[i] != ' ', ST_BAD_TEXT, "a size in the archive is not an octal number");
    *ret = v;
    return ST_OK;
}

static void add_path(struct str *to, const char *path)
{
    for (; *path; path++)
        str_addf(to, *path == '"' || *path == '\\' ? "\\%c" : "%c", *path);
}

/* The two symbols of `size` bytes at `offset` of the file. */
static void add_member(struct str *to, const char *path, const char *prefix, const char *name, size_t name_size,
                       uint64_t offset, uint64_t size)
{
    struct str symbol;
    str_init(&symbol);
    str_add(&symbol, prefix);
    for (size_t i = 0; i < name_size; i++)
        str_addf(&symbol, "%c", isalnum((unsigned char)name[i]) ? name[i] : '_');
    const char *s = str_text(&symbol);
    str_addf(to,
             "    .balign 64\n    .globl %s_start\n    .globl %s_end\n    .hidden %s_start\n    .hidden %s_end\n%s_start:\n",
             s, s, s, s, s);
    if (size) {
        str_add(to, "    .incbin \"");
        add_path(to, path);
        str_addf(to, "\", %" PRIu64 ", %" PRIu64 "\n", offset, size);
    }
    str_addf(to, "%s_end:\n    .byte 0\n", s);
    to->failed |= symbol.failed;
    str_finish(&symbol);
}

static const char *base_name(const char *name, size_t *n)
{
    for (size_t i = *n; i; i--) {
        if (name[i - 1] == '/') {
            *n -= i;
            return name + i;
        }
    }
    return name;
}

static enum status add_archive(const char *path, const char *p, size_t size, struct str *to, unsigned *count)
{
    const char *long_name = NULL;
    size_t long_size = 0;
    for (size_t at = 0; at + BLOCK <= size && p[at];) {
        uint64_t bytes;
        RETURN_IF(!is_tar(p + at, size - at), ST_BAD_TEXT, "\"%s\": no tar header at offset %zu; the archive is damaged",
                  path, at);
        TRY(octal(p + at + SIZE_AT, &bytes));
        RETURN_IF(bytes > size - at - BLOCK, ST_BAD_TEXT,
                  "\"%s\": the member at offset %zu has %" PRIu64 " bytes, more than the file", path, at, bytes);
        const char *name = long_name ? long_name : p + at + NAME_AT, *data = p + at + BLOCK;
        size_t n = long_name ? long_size : strnlen(name, NAME_SIZE);
        char type = p[at + TYPE_AT];
        long_name = NULL;
        if (type == 'L') { /* the name of the next member */
            long_name = data;
            long_size = strnlen(data, (size_t)bytes);
        } else if (type == '0' || type == '\0') {
            name = base_name(name, &n);
            add_member(to, path, "_binary_obj_binary_", name, n, at + BLOCK, bytes);
            (*count)++;
        }
        at += BLOCK + (size_t)((bytes + BLOCK - 1) / BLOCK * BLOCK);
    }
    return ST_OK;
}

enum status weight_archive_text(const char *path, const void *data, size_t size, struct str *to, unsigned *count)
{
    *count = 0;
    str_add(to, "    .section .note.GNU-stack,\"\",@progbits\n    .section .rodata\n");
    if (is_tar(data, size)) {
        TRY(add_archive(path, data, size, to, count));
    } else {
        size_t n = strlen(path);
        const char *name = base_name(path, &n);
        add_member(to, path, "_binary_", name, n, 0, size);
        *count = 1;
    }
    RETURN_IF(to->failed, ST_NO_MEMORY, "assembler text of the weights");
    return ST_OK;
}
