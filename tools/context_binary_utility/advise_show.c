/* SPDX-License-Identifier: Apache-2.0 */
#include "context_binary_utility/advise_show.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/advise.h"
#include "base/file_write.h"

static enum status write_advice(const json_t *advice, const char *to)
{
    size_t n = to ? strlen(to) : 0;
    bool json = n > 5 && strcmp(to + n - 5, ".json") == 0;
    CLEANUP(str_finish) struct str out;

    str_init(&out);
    if (json) {
        char *text = json_dumps(advice, JSON_INDENT(1) | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(12));
        out.failed = !text;
        str_addf(&out, "%s\n", text ? text : "");
        free(text);
    } else {
        advise_text(advice, &out);
    }
    RETURN_IF(out.failed, ST_NO_MEMORY, "no memory for the text of the advice");
    if (to)
        return file_write_all(to, str_text(&out), out.n);
    fwrite(str_text(&out), 1, out.n, stdout);
    return ST_OK;
}

enum status advise_show(const char *path, const struct tool_file *f, const char *to)
{
    struct binary b;
    json_t *advice = NULL;
    enum status st = binary_open(f->data, f->size, &b);

    if (st != ST_OK)
        return status_prefix(st, "\"%s\"", path);
    st = advise_binary(&b, &advice);
    if (st == ST_OK)
        st = write_advice(advice, to);
    json_decref(advice);
    binary_close(&b);
    return st == ST_OK ? ST_OK : status_prefix(st, "--advise");
}
