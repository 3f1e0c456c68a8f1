/* SPDX-License-Identifier: Apache-2.0 */
/* openqnn-doctor: what works on this machine, what does not and why, and what to do about it. */
#include "doctor/doctor.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "QNN/QnnSdkBuildId.h"
#include "base/arena.h"
#include "base/mem.h"
#include "common/tool_file.h"
#include "common/tool_log.h"
#include "common/tool_options.h"

struct args {
    const char *json;
    bool quiet;
};

#define AT(member) offsetof(struct args, member)
static const struct tool_option options[] = { { "json", OPT_STRING, AT(json), .argument = "FILE",
                                                .help = "Also write what was found to FILE." },
                                              { "quiet", OPT_FLAG, AT(quiet), .help = "Leave out the lines that are ok." },
                                              {} };

static const struct tool_program program = {
    .name = "openqnn-doctor",
    .summary = "tells what of openqnn works on this machine, what does not and why, and what to do. Exits with 0 when "
               "nothing fails; warnings alone are no failure.",
    .usage = "[--json FILE] [--quiet]",
    .options = options,
    .examples = "  openqnn-doctor\n"
                "  openqnn-doctor --quiet --json doctor.json\n",
};

static const char *const level_names[DOCTOR_LEVELS] = { "ok", "warn", "fail" };

/* ---- findings --------------------------------------------------------------------------------------------------------- */

struct doctor_finding *doctor_add(struct doctor *d, enum doctor_level level, const char *area, const char *fmt, ...)
{
    struct doctor_finding *f = mem_new(struct doctor_finding);
    va_list args;

    if (!f) {
        d->failed = true;
        return NULL;
    }
    f->level = level;
    f->area = area;
    va_start(args, fmt);
    vsnprintf(f->seen, sizeof(f->seen), fmt, args);
    va_end(args);

    d->counts[level]++;
    *d->end = f;
    d->end = &f->next;
    return f;
}

void doctor_advise(struct doctor_finding *f, const char *fmt, ...)
{
    va_list args;

    if (!f)
        return;
    va_start(args, fmt);
    vsnprintf(f->advice, sizeof(f->advice), fmt, args);
    va_end(args);
}

static void free_findings(struct doctor *d)
{
    while (d->first) {
        struct doctor_finding *next = d->first->next;
        mem_free(d->first);
        d->first = next;
    }
}

static enum doctor_level worst(const struct doctor *d)
{
    if (d->counts[DOCTOR_FAIL])
        return DOCTOR_FAIL;
    return d->counts[DOCTOR_WARN] ? DOCTOR_WARN : DOCTOR_OK;
}

/* ---- output ----------------------------------------------------------------------------------------------------------- */

static void show(const struct doctor *d, bool quiet)
{
    for (const struct doctor_finding *f = d->first; f; f = f->next) {
        if (quiet && f->level == DOCTOR_OK)
            continue;
        tool_say("%-4s  %-13s  %s", level_names[f->level], f->area, f->seen);
        if (f->advice[0])
            tool_say("      %-13s  do: %s", "", f->advice);
    }
    tool_say("%u ok, %u warn, %u fail", d->counts[DOCTOR_OK], d->counts[DOCTOR_WARN], d->counts[DOCTOR_FAIL]);
}

/* Paths may have bytes that are no UTF-8, which JSON cannot hold: those become "?". */
static json_t *text(const char *s)
{
    char plain[DOCTOR_TEXT_MAX];
    json_t *whole = json_string(s);

    if (whole)
        return whole;
    snprintf(plain, sizeof(plain), "%s", s);
    for (char *at = plain; *at; at++) {
        if ((unsigned char)*at >= 0x80)
            *at = '?';
    }
    return json_string(plain);
}

static json_t *to_json(const struct doctor *d)
{
    json_t *checks = json_array(), *root = json_object();

    for (const struct doctor_finding *f = d->first; f; f = f->next) {
        json_t *check = json_object();
        json_object_set_new(check, "area", text(f->area));
        json_object_set_new(check, "status", text(level_names[f->level]));
        json_object_set_new(check, "seen", text(f->seen));
        if (f->advice[0])
            json_object_set_new(check, "advice", text(f->advice));
        json_array_append_new(checks, check);
    }
    json_object_set_new(root, "program", text(program.name));
    json_object_set_new(root, "version", text(QNN_SDK_BUILD_ID));
    json_object_set_new(root, "result", text(level_names[worst(d)]));
    for (int i = 0; i < DOCTOR_LEVELS; i++)
        json_object_set_new(root, level_names[i], json_integer(d->counts[i]));
    json_object_set_new(root, "checks", checks);
    return root;
}

static enum status write_json(const struct doctor *d, const char *path)
{
    json_t *root = to_json(d);
    char *dump = json_dumps(root, JSON_INDENT(2));
    enum status st;

    json_decref(root);
    RETURN_IF(!dump, ST_NO_MEMORY, "the findings as JSON");
    st = tool_file_write(path, dump, strlen(dump));
    free(dump);
    return st;
}

static enum status examine(const struct args *args, bool *ret_works)
{
    struct doctor d = { .end = &d.first };
    enum status st = ST_OK;

    doctor_machine(&d);
    doctor_memory(&d);
    doctor_search_path(&d);
    doctor_backends(&d);

    show(&d, args->quiet);
    if (args->json)
        st = write_json(&d, args->json);
    if (st == ST_OK && d.failed)
        st = status_fail(ST_NO_MEMORY, "no memory for all findings");
    *ret_works = worst(&d) != DOCTOR_FAIL;
    free_findings(&d);
    return st;
}

int main(int argc, char **argv)
{
    struct args args = { 0 };
    struct arena arena;
    bool works = false;

    /* Without options it does the same as with them, so an empty command line is no mistake here. */
    arena_init(&arena);
    enum tool_next next = argc == 1 ? TOOL_RUN : tool_options_parse(&program, argc, argv, &args, &arena);
    int code = next == TOOL_EXIT_ERROR;
    if (next == TOOL_RUN) {
        enum status st = examine(&args, &works);
        code = st == ST_OK ? !works : tool_report(program.name, st);
    }
    arena_finish(&arena);
    return code;
}
