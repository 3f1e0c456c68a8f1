/* SPDX-License-Identifier: Apache-2.0 */
/* Files that lie beside a timeline. */
#include <string.h>
#include <zlib.h>

#include "base/file_write.h"
#include "base/mem.h"
#include "base/str.h"
#include "profile_viewer/trace_model.h"

enum status trace_path_beside(const struct profile_job *job, const char *ending, struct str *ret)
{
    size_t n = strlen(job->output);

    n -= n > 3 && str_eq(job->output + n - 3, ".gz") ? 3 : 0;
    n -= n > 5 && strncmp(job->output + n - 5, ".json", 5) == 0 ? 5 : 0;
    ret->n = 0;
    str_addf(ret, "%.*s%s", (int)n, job->output, ending);
    RETURN_IF(ret->failed, ST_NO_MEMORY, "no memory for the name of a file beside \"%s\"", job->output);
    return ST_OK;
}

/* As many bytes in the gzip format; NULL: no memory. */
static char *compressed(const char *data, size_t size, size_t *ret)
{
    enum { GZIP = 16 };
    z_stream z = { 0 };
    if (deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, MAX_WBITS + GZIP, MAX_MEM_LEVEL - 1, Z_DEFAULT_STRATEGY) != Z_OK)
        return NULL;

    size_t room = deflateBound(&z, size);
    char *to = room <= UINT32_MAX && size <= UINT32_MAX ? mem_alloc(room) : NULL;
    z.next_in = (Bytef *)(uintptr_t)data;
    z.avail_in = (uInt)size;
    z.next_out = (Bytef *)to;
    z.avail_out = (uInt)room;
    bool done = to && deflate(&z, Z_FINISH) == Z_STREAM_END;
    *ret = z.total_out;
    deflateEnd(&z);
    if (!done) {
        mem_free(to);
        return NULL;
    }
    return to;
}

enum status trace_write_beside(const struct profile_job *job, const char *ending, const char *data, size_t size)
{
    CLEANUP(str_finish) struct str path;

    str_init(&path);
    TRY(trace_path_beside(job, ending, &path));
    if (!job->gzip)
        return file_write_all(str_text(&path), data, size);

    str_add(&path, ".gz");
    CLEANUP(mem_freep) char *zipped = compressed(data, size, &size);
    RETURN_IF(path.failed || !zipped, ST_NO_MEMORY, "no memory to compress \"%s\"", str_text(&path));
    return file_write_all(str_text(&path), zipped, size);
}
