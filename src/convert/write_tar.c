/* SPDX-License-Identifier: Apache-2.0 */
/* The constants of a graph as a tar archive (POSIX ustar, long names as GNU writes them): one member <tensor>.raw each, zero
 * padded to 512 bytes, two empty blocks at the end. */
#include <string.h>

#include "convert/write.h"

enum { BLOCK = 512 };

struct ustar {
    char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], sum[8], type, link[100], magic[6], version[2], user[32],
        group[32], major[8], minor[8], prefix[155], pad[12];
};
_Static_assert(sizeof(struct ustar) == BLOCK, "a header is one block");

static void octal(char *to, size_t width, uint64_t v)
{
    to[--width] = '\0';
    while (width) {
        to[--width] = (char)('0' + (v & 7));
        v >>= 3;
    }
}

static void header(const char *name, char type, uint64_t size, struct ustar *h)
{
    memset(h, 0, sizeof *h);
    memcpy(h->name, name, strnlen(name, sizeof h->name));
    octal(h->mode, sizeof h->mode, 0644);
    octal(h->uid, sizeof h->uid, 0);
    octal(h->gid, sizeof h->gid, 0);
    octal(h->size, sizeof h->size, size); /* up to 8 GiB per member */
    octal(h->mtime, sizeof h->mtime, 0);  /* the same model gives the same file */
    h->type = type;
    memcpy(h->magic, "ustar", 6);
    memcpy(h->version, "00", 2);
    memset(h->sum, ' ', sizeof h->sum);
    unsigned sum = 0;
    for (size_t i = 0; i < BLOCK; i++)
        sum += ((const uint8_t *)h)[i];
    octal(h->sum, 7, sum);
}

static void member(const char *name, char type, const void *data, uint64_t size, FILE *f)
{
    static const char zeros[BLOCK];
    struct ustar h;
    header(name, type, size, &h);
    fwrite(&h, 1, BLOCK, f);
    fwrite(data, 1, size, f);
    fwrite(zeros, 1, (BLOCK - size % BLOCK) % BLOCK, f);
}

enum status write_tar(const struct ir_graph *g, FILE *f)
{
    static const char zeros[2 * BLOCK];
    for (size_t i = 0; i < g->tensors.n; i++) {
        const struct ir_tensor *t = &g->tensors.at[i];
        struct str name;
        if (!write_archived(t))
            continue;
        str_init(&name);
        str_addf(&name, "%s.raw", t->name);
        bool ok = !name.failed;
        if (ok && name.n >= sizeof((struct ustar *)0)->name) /* GNU's way: a member that holds the name of the next */
            member("././@LongLink", 'L', name.at, name.n + 1, f);
        if (ok)
            member(name.at, '0', t->data, write_bytes(t), f);
        str_finish(&name);
        RETURN_IF(!ok, ST_NO_MEMORY, "no memory for the name of \"%s\"", t->name);
    }
    fwrite(zeros, 1, 2 * BLOCK, f);
    return ST_OK;
}
