/* SPDX-License-Identifier: Apache-2.0 */
#include "converter/arch_checker.h"

#include <inttypes.h>
#include <stdio.h>

#include "analysis/advise_bytes.h"
#include "base/file_write.h"
#include "base/mem.h"
#include "common/tool_log.h"
#include "converter/graph_runner.h"

static enum status tell(const void *binary, size_t size, const char *prefix)
{
    CLEANUP(str_finish) struct str text;
    CLEANUP(str_finish) struct str json;
    CLEANUP(str_finish) struct str path;

    str_init(&text);
    str_init(&json);
    str_init(&path);
    TRY(advise_bytes(binary, size, &text, &json));
    fputs(str_text(&text), stdout);
    if (!prefix)
        return ST_OK;
    str_addf(&path, "%s_arch_checker.json", prefix);
    RETURN_IF(path.failed, ST_NO_MEMORY, "no memory for a path");
    TRY(file_write_all(str_text(&path), str_text(&json), json.n));
    tool_say("wrote %s", str_text(&path));
    return ST_OK;
}

static enum status check_context(const struct runner *r, const char *prefix)
{
    const QNN_INTERFACE_VER_TYPE *api = &r->engine->backend.api;
    Qnn_ContextBinarySize_t size = 0, written = 0;
    Qnn_ErrorHandle_t error = api->contextGetBinarySize(r->context, &size);

    if (error != QNN_SUCCESS)
        return library_fail(api, error, "the size of the context binary");
    CLEANUP(mem_freep) void *data = mem_alloc((size_t)size);
    RETURN_IF(!data, ST_NO_MEMORY, "no memory for a context binary of %" PRIu64 " bytes", (uint64_t)size);
    error = api->contextGetBinary(r->context, data, size, &written);
    if (error != QNN_SUCCESS)
        return library_fail(api, error, "the context binary");
    return tell(data, (size_t)written, prefix);
}

enum status arch_checker_run(const struct ir_graph *g, const struct convert_report *report, const char *prefix)
{
    struct runner_engine engine;
    struct runner runner = { 0 };
    enum status st = runner_engine_open(&engine, "libQnnHtp.so");

    if (st == ST_OK)
        st = runner_open(&runner, &engine, g, report, false);
    if (st == ST_OK)
        st = check_context(&runner, prefix);
    runner_close(&runner);
    runner_engine_close(&engine);
    return st == ST_OK ? ST_OK : status_prefix(st, "--arch_checker");
}
