/* SPDX-License-Identifier: Apache-2.0 */
/* The table of libQnnIr.so: finalizing a graph writes it into a DLC file, as it was built, and that is all. Clients dump
 * what they would have given to another backend, or have another machine compile it: libQnnSystem.so, libQnnModelDlc.so and
 * the tools read the file. */
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/ir/dlc_backend.h"
#include "base/mem.h"
#include "base/str.h"
#include "convert/convert.h"

struct backend_context {
    char none; /* there is nothing to keep */
};

/* A file is no matter of kernels: whatever the rows of the operators allow can be written. */
static bool has_kernel(enum op_id op)
{
    (void)op;
    return true;
}

static enum status try_kernel(const struct op_call *c)
{
    (void)c;
    return ST_OK;
}

static enum status context_config(const void *custom, struct backend_context_cfg *cfg)
{
    (void)custom;
    (void)cfg;
    return status_fail(ST_NOT_SUPPORTED, "the IR backend has no context options of its own");
}

static enum status open_context(const struct backend_context_cfg *cfg, struct backend_context **ret)
{
    (void)cfg;
    *ret = mem_new(struct backend_context);
    RETURN_IF(!*ret, ST_NO_MEMORY, "no memory for a context");
    return ST_OK;
}

static void close_context(struct backend_context *c)
{
    mem_free(c);
}

static bool is_folder(const char *path)
{
    struct stat s;
    return stat(path, &s) == 0 && S_ISDIR(s.st_mode);
}

/* Clients that make folders for a path may have made one of the path itself (ONNX Runtime does), and then look for a file
 * there: an empty folder makes room for it. A path that ends in "/" means the folder, and so does one with content. */
static void path_of_graph(const char *given, const char *graph, struct str *ret)
{
    size_t length = strlen(given);

    if (length == 0)
        str_addf(ret, "%s.dlc", graph);
    else if (!is_folder(given) || (given[length - 1] != '/' && rmdir(given) == 0))
        str_add(ret, given);
    else
        str_addf(ret, "%s/%s.dlc", given, graph);
}

static enum status prepare_graph(struct backend_context *c, const struct backend_graph_cfg *cfg, struct ir_graph *g,
                                 struct cancel *cancel, struct binary_image *ret)
{
    (void)c;
    (void)ret; /* stays empty: there is no program */
    RETURN_IF(cancel && atomic_load(&cancel->abort), ST_ABORTED, "graph \"%s\": aborted before it was written", g->name);
    const char *given = cfg && cfg->custom ? cfg->custom : "";
    struct str path;
    str_init(&path);
    path_of_graph(given, g->name, &path);
    const struct ir_graph *graphs[] = { g };
    struct convert_write w = { .path = path.at, .command = "libQnnIr.so" };
    enum status st = path.failed ? status_fail(ST_NO_MEMORY, "graph \"%s\": no memory for the path of a DLC", g->name)
                                 : convert_write_dlc(graphs, 1, &w);
    if (st == ST_OK)
        backend_log(BACKEND_INFO, "graph \"%s\": written to %s", g->name, path.at);
    str_finish(&path);
    return st;
}

static enum status load(struct backend_context *c, const struct binary *b, uint32_t graph, struct backend_graph **ret)
{
    (void)c;
    (void)graph;
    (void)ret;
    return status_fail(ST_BINARY_CONFIG,
                       "the context binary was made for backend %u; the IR backend writes DLC files and loads nothing",
                       b->target.backend_id);
}

static const struct backend backend_ir = {
    .name = "IR",
    .no_packages = "it only writes graphs down",
    .id = 9,
    .version = { 0, 1, 0 },
    .limits = { .max_async_depth = 1, .async_depth = 1 },
    .column = COLUMN_IR,
    .facts = OP_BACKEND_CPU, /* speaks against nothing */
    .has_kernel = has_kernel,
    .try_kernel = try_kernel,
    .context_config = context_config,
    .graph_config = dlc_graph_config,
    .graph_config_free = dlc_graph_config_free,
    .open = open_context,
    .close = close_context,
    .prepare = prepare_graph,
    .load = load,
};

const struct backend *const backend_this = &backend_ir;
