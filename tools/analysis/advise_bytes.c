/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/advise_bytes.h"

#include <stdlib.h>

#include "analysis/advise.h"

enum status advise_bytes(const void *data, size_t size, struct str *text, struct str *json)
{
    struct binary b;
    json_t *advice = NULL;

    TRY(binary_open(data, size, &b));
    enum status st = advise_binary(&b, &advice);
    binary_close(&b);
    if (st != ST_OK)
        return st;

    char *dump = json_dumps(advice, JSON_INDENT(1) | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(12));
    advise_text(advice, text);
    str_addf(json, "%s\n", dump ? dump : "");
    json_decref(advice);
    bool failed = !dump || text->failed || json->failed;
    free(dump);
    RETURN_IF(failed, ST_NO_MEMORY, "no memory for the text of the advice");
    return ST_OK;
}
