/* SPDX-License-Identifier: Apache-2.0 */
/* A client like qnn-context-binary-generator: one session per target, the context binary in memory. Settings of the HTP go
 * through its extension library, which reads them from a file. */
#include "context_binary_utility/what_if.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/estimate.h"
#include "base/file_write.h"
#include "base/mem.h"
#include "base/str.h"
#include "binary/binary.h"
#include "session/session.h"

enum { FOLDER = 256 };

struct target {
    uint32_t soc_model, arch;
    const char *name;
    uint32_t vtcm_mb; /* 0: what the backend takes without a setting */
    uint32_t level;   /* of optimization; 0: without a setting */
};

/* ---- settings --------------------------------------------------------------------------------------------------------- */

struct files {
    char folder[FOLDER], settings[FOLDER + 16], config[FOLDER + 16];
};

static enum status make_folder(struct files *f)
{
    const char *tmp = getenv("TMPDIR");

    snprintf(f->folder, sizeof f->folder, "%s/qnn-what-if-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    RETURN_IF(!mkdtemp(f->folder), ST_IO, "cannot make the folder \"%s\" for settings: %s", f->folder, strerror(errno));
    snprintf(f->settings, sizeof f->settings, "%s/htp.json", f->folder);
    snprintf(f->config, sizeof f->config, "%s/config.json", f->folder);
    return ST_OK;
}

static void remove_folder(const struct files *f)
{
    unlink(f->settings);
    unlink(f->config);
    rmdir(f->folder);
}

/* A path as a JSON string. */
static void put_path(struct str *to, const char *path)
{
    str_add(to, "\"");
    for (; *path; path++)
        str_addf(to, "%s%c", *path == '"' || *path == '\\' ? "\\" : "", *path);
    str_add(to, "\"");
}

static enum status write_settings(const struct files *f, const struct target *t)
{
    CLEANUP(str_finish) struct str text;
    CLEANUP(str_finish) struct str config;

    str_init(&text);
    str_add(&text, "{\"graphs\": [{");
    if (t->vtcm_mb)
        str_addf(&text, "\"vtcm_mb\": %u", t->vtcm_mb);
    if (t->level)
        str_addf(&text, "%s\"O\": %u", t->vtcm_mb ? ", " : "", t->level);
    str_addf(&text, "}], \"devices\": [{\"soc_model\": %u}]}", t->soc_model);

    str_init(&config);
    str_add(&config, "{\"backend_extensions\": {\"shared_library_path\": \"libQnnHtpNetRunExtensions.so\", "
                     "\"config_file_path\": ");
    put_path(&config, f->settings);
    str_add(&config, "}}");
    RETURN_IF(text.failed || config.failed, ST_NO_MEMORY, "no memory for settings");

    TRY(file_write_all(f->settings, str_text(&text), text.n));
    return file_write_all(f->config, str_text(&config), config.n);
}

/* ---- one target ------------------------------------------------------------------------------------------------------- */

struct work {
    const struct what_if *w;
    struct files files;
    what_if_each *each;
    void *arg;
};

static struct what_if_row row_of(const struct target *t)
{
    return (struct what_if_row){ .soc = t->name, .soc_model = t->soc_model, .vtcm_mb = t->vtcm_mb, .level = t->level };
}

static void tell_rows(const struct work *work, const struct target *t, const struct binary *b)
{
    const struct estimate_device d = { .soc_model = t->soc_model, .arch = t->arch };

    for (uint32_t i = 0; i < b->n_graphs; i++) {
        const struct binary_graph_info *info = &b->graphs[i].info;
        struct what_if_row row = row_of(t);
        struct binary_moves m;

        binary_graph_moves(&b->graphs[i], &m);
        row.graph = info->name;
        row.cycles = info->cycles;
        row.vtcm_bytes = info->vtcm_bytes;
        row.spill_bytes = m.spill;
        row.time_us = (double)info->cycles / estimate_clock_mhz(&d);
        work->each(work->arg, &row);
    }
}

static enum status read_context(struct session *s, const struct work *work, const struct target *t)
{
    const QNN_INTERFACE_VER_TYPE *api = &s->backend.api;
    Qnn_ContextBinarySize_t size = 0, written = 0;
    struct binary b;
    Qnn_ErrorHandle_t error = api->contextGetBinarySize(s->context, &size);

    if (error != QNN_SUCCESS)
        return library_fail(api, error, "the size of the context binary");
    CLEANUP(mem_freep) void *data = mem_alloc((size_t)size);
    RETURN_IF(!data, ST_NO_MEMORY, "no memory for a context binary of %" PRIu64 " bytes", (uint64_t)size);
    error = api->contextGetBinary(s->context, data, size, &written);
    if (error != QNN_SUCCESS)
        return library_fail(api, error, "the context binary");
    TRY(binary_open(data, (size_t)written, &b));
    tell_rows(work, t, &b);
    binary_close(&b);
    return ST_OK;
}

static enum status compile(const struct work *work, const struct target *t)
{
    const char *dlcs[] = { work->w->dlc };
    const struct session_options options = {
        .backend = work->w->backend ? work->w->backend : "libQnnHtp.so",
        .system_library = work->w->system_library,
        .dlcs = { dlcs, 1 },
        .config_file = work->files.config,
        .output_dir = work->files.folder,
    };
    struct session s = { 0 };

    TRY(write_settings(&work->files, t));
    enum status st = session_open(&s, &options);
    if (st == ST_OK)
        st = session_compose(&s);
    if (st == ST_OK)
        st = session_finalize(&s);
    if (st == ST_OK)
        st = read_context(&s, work, t);
    session_close(&s);
    return st;
}

/* ---- all targets ------------------------------------------------------------------------------------------------------ */

/* A SoC may have less VTCM, or no float16: that is an answer, too. */
static void try_target(const struct work *work, struct target t)
{
    struct what_if_row row = row_of(&t);

    if (compile(work, &t) == ST_OK)
        return;
    row.refused = status_text();
    work->each(work->arg, &row);
}

static enum status compile_all(const struct work *work)
{
    static const uint32_t sizes[] = { 1, 2, 4, 8 };
    uint32_t model = work->w->soc_model;
    struct target own = { .soc_model = model, .name = "the same SoC" };

    for (const struct estimate_soc *s = estimate_socs; s->name; s++)
        if (s->soc_model == model)
            own = (struct target){ .soc_model = model, .arch = s->arch, .name = s->name };
    TRY(compile(work, &own)); /* what is wrong here is wrong with the model, or with libraries */

    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct target t = own;
        t.vtcm_mb = sizes[i];
        try_target(work, t);
    }
    struct target searched = own;
    searched.level = 3;
    try_target(work, searched);
    for (const struct estimate_soc *s = estimate_socs; s->name; s++)
        if (s->soc_model != model)
            try_target(work, (struct target){ .soc_model = s->soc_model, .arch = s->arch, .name = s->name });
    return ST_OK;
}

enum status what_if_compile(const struct what_if *w, what_if_each *each, void *arg)
{
    struct work work = { .w = w, .each = each, .arg = arg };

    TRY(make_folder(&work.files));
    enum status st = compile_all(&work);
    remove_folder(&work.files);
    return st == ST_OK ? ST_OK : status_prefix(st, "--what_if \"%s\"", w->dlc);
}
