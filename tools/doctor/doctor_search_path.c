/* SPDX-License-Identifier: Apache-2.0 */
/* Which libraries are opened by name, and what else of the same name lies in the folders that programs search. */
#include <dirent.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/str.h"
#include "common/tool_file.h"
#include "doctor/doctor.h"
#include "platform_validator/platform_check.h"

enum { FOLDERS_MAX = 64, NAMES_MAX = 64, COPIES_MAX = 8 };

static const struct {
    const char *name;
    bool backend; /* has a build id, and a check of its own */
} libraries[] = {
    { "libQnnCpu.so", true }, { "libQnnHtp.so", true },     { "libQnnLpai.so", true },
    { "libQnnGpu.so", true }, { "libQnnSystem.so", false }, { "libcdsprpc.so", false },
};
enum { LIBRARIES = sizeof(libraries) / sizeof(libraries[0]) };

struct search {
    char folders[FOLDERS_MAX][PATH_MAX]; /* with links followed, each once */
    size_t n_folders, n_loader;          /* the first n_loader are those of LD_LIBRARY_PATH */
    char names[NAMES_MAX][NAME_MAX + 1];
    size_t n_names;
    struct doctor_library opened[LIBRARIES];
};

/* ---- folders ---------------------------------------------------------------------------------------------------------- */

static bool add_folder(struct search *s, const char *folder, const char *below)
{
    char path[2 * PATH_MAX], real[PATH_MAX];
    struct stat info;

    snprintf(path, sizeof(path), "%s%s", folder, below);
    if (!realpath(path, real) || stat(real, &info) != 0 || !S_ISDIR(info.st_mode))
        return false;
    for (size_t i = 0; i < s->n_folders; i++) {
        if (str_eq(s->folders[i], real))
            return true;
    }
    if (s->n_folders < FOLDERS_MAX)
        snprintf(s->folders[s->n_folders++], PATH_MAX, "%s", real);
    return true;
}

/* The folders of a variable; what is no folder is said for those that only QNN programs read. */
static void add_list(struct search *s, struct doctor *d, const char *variable, const char *separators, const char *below)
{
    const char *list = getenv(variable);
    bool ours = !str_eq(variable, "LD_LIBRARY_PATH");

    while (list && *list) {
        char folder[PATH_MAX];
        const size_t n = strcspn(list, separators);
        snprintf(folder, sizeof(folder), "%.*s", (int)n, list);
        if (n && !add_folder(s, folder, below) && ours) {
            struct doctor_finding *f =
                doctor_add(d, DOCTOR_WARN, "search path", "%s names \"%s%s\", which is no folder", variable, folder, below);
            doctor_advise(f, "correct or unset %s", variable);
        }
        list += n + (list[n] != 0);
    }
}

static void collect_folders(struct search *s, struct doctor *d)
{
    char own[PATH_MAX];

    add_list(s, d, "LD_LIBRARY_PATH", ":;", "");
    s->n_loader = s->n_folders;
    add_list(s, d, "ADSP_LIBRARY_PATH", ":;", "");
    add_list(s, d, "QNN_SDK_ROOT", "", "/lib/x86_64-linux-clang");
    add_list(s, d, "QAIRT_SDK_ROOT", "", "/lib/x86_64-linux-clang");

    tool_own_folder(own, sizeof(own));
    add_folder(s, own, "");
    add_folder(s, own, "/../../lib/x86_64-linux-clang");
    add_folder(s, ".", "");
    add_folder(s, "/usr/local/lib", "");
    add_folder(s, "/usr/lib/x86_64-linux-gnu", "");
    add_folder(s, "/usr/lib", "");
}

/* ---- copies ----------------------------------------------------------------------------------------------------------- */

static void add_name(struct search *s, const char *name)
{
    for (size_t i = 0; i < s->n_names; i++) {
        if (str_eq(s->names[i], name))
            return;
    }
    if (s->n_names < NAMES_MAX)
        snprintf(s->names[s->n_names++], NAME_MAX + 1, "%s", name);
}

static void collect_names(struct search *s)
{
    for (size_t i = 0; i < s->n_folders; i++) {
        DIR *folder = opendir(s->folders[i]);
        struct dirent *entry;
        while (folder && (entry = readdir(folder))) {
            if (fnmatch("libQnn*.so", entry->d_name, 0) == 0 || str_eq(entry->d_name, "libcdsprpc.so"))
                add_name(s, entry->d_name);
        }
        if (folder)
            closedir(folder);
    }
}

struct copies {
    char paths[COPIES_MAX][PATH_MAX]; /* with links followed, each file once; the one that is opened is first */
    size_t n;
};

static void add_copy(struct copies *c, const char *path)
{
    char real[PATH_MAX];

    if (!realpath(path, real))
        return;
    for (size_t i = 0; i < c->n; i++) {
        if (str_eq(c->paths[i], real))
            return;
    }
    if (c->n < COPIES_MAX)
        snprintf(c->paths[c->n++], PATH_MAX, "%s", real);
}

/* Sessions look for their skel along ADSP_LIBRARY_PATH before anywhere else. */
static void add_skels(struct copies *c, const char *name)
{
    const char *list = getenv("ADSP_LIBRARY_PATH");

    while (list && *list) {
        char path[2 * PATH_MAX];
        const size_t n = strcspn(list, ":;");
        snprintf(path, sizeof(path), "%.*s/%s", (int)n, list, name);
        if (n)
            add_copy(c, path);
        list += n + (list[n] != 0);
    }
}

static bool same_bytes(const char *a, const char *b)
{
    struct tool_file first = { 0 }, second = { 0 };
    bool same = tool_file_map(a, &first) == ST_OK && tool_file_map(b, &second) == ST_OK && first.size == second.size &&
                memcmp(first.data, second.data, first.size) == 0;

    tool_file_free(&first);
    tool_file_free(&second);
    return same;
}

static void ask_version(const void *path, void *ret)
{
    platform_check(path, PLATFORM_NO_TEST, NULL, ret);
}

/* "path (12345 bytes, 5.48.0 (v2.48.0…))" */
static void describe(const char *path, bool backend, struct str *to)
{
    struct platform_report r = { 0 };
    struct stat info = { 0 };
    char why[DOCTOR_WHY_MAX];

    stat(path, &info);
    str_addf(to, "%s%s (%llu bytes", to->n ? ", " : "", path, (unsigned long long)info.st_size);
    if (backend && !doctor_in_child(ask_version, path, &r, sizeof(r), why))
        str_addf(to, ", %s", why);
    else if (backend)
        str_addf(to, ", %s", r.found ? r.version : r.why);
    str_add(to, ")");
}

static void judge_copies(struct doctor *d, const char *name, bool backend, const struct copies *c)
{
    CLEANUP(str_finish) struct str first, others;

    str_init(&first);
    str_init(&others);
    for (size_t i = 1; i < c->n; i++) {
        if (!same_bytes(c->paths[0], c->paths[i]))
            describe(c->paths[i], backend, &others);
    }
    if (!others.n) {
        doctor_add(d, DOCTOR_OK, "copies", "%s: %zu files with the same bytes", name, c->n);
        return;
    }

    describe(c->paths[0], backend, &first);
    struct doctor_finding *f = doctor_add(d, DOCTOR_WARN, "copies", "%s: first comes %s; other bytes are in: %s", name,
                                          str_text(&first), str_text(&others));
    doctor_advise(f,
                  "remove the copies that you do not mean, or put the folder you mean first in LD_LIBRARY_PATH (skels: in "
                  "ADSP_LIBRARY_PATH)");
}

static void look_at_copies(struct search *s, struct doctor *d)
{
    struct copies c;

    for (size_t i = 0; i < s->n_names; i++) {
        bool backend = false;
        c.n = 0;
        for (size_t k = 0; k < LIBRARIES; k++) {
            if (!str_eq(libraries[k].name, s->names[i]))
                continue;
            backend = libraries[k].backend;
            add_copy(&c, s->opened[k].path);
        }
        if (strstr(s->names[i], "Skel.so"))
            add_skels(&c, s->names[i]);
        for (size_t k = 0; k < s->n_folders; k++) {
            char path[2 * PATH_MAX];
            snprintf(path, sizeof(path), "%s/%s", s->folders[k], s->names[i]);
            add_copy(&c, path);
        }
        if (c.n > 1)
            judge_copies(d, s->names[i], backend, &c);
    }
}

/* ---- what is opened --------------------------------------------------------------------------------------------------- */

static size_t folder_length(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? (size_t)(slash - path) : 0;
}

static bool loader_finds(const struct search *s, const char *path)
{
    const size_t n = folder_length(path);

    for (size_t i = 0; i < s->n_loader; i++) {
        if (strlen(s->folders[i]) == n && strncmp(s->folders[i], path, n) == 0)
            return true;
    }
    return strncmp(path, "/usr/", 5) == 0 || strncmp(path, "/lib/", 5) == 0;
}

static void look_at_opened(struct search *s, struct doctor *d)
{
    const char *first = NULL;
    struct doctor_finding *f;

    for (size_t i = 0; i < LIBRARIES; i++) {
        const char *path = s->opened[i].path;
        doctor_find_library(libraries[i].name, &s->opened[i]);
        if (!path[0] && libraries[i].backend)
            continue; /* its own check says so */
        if (!path[0]) {
            f = doctor_add(d, DOCTOR_FAIL, "libraries", "%s", s->opened[i].why);
            doctor_advise(f, "install openqnn, then: . PREFIX/bin/envsetup.sh");
            continue;
        }

        doctor_add(d, DOCTOR_OK, "libraries", "%s is %s", libraries[i].name, path);
        if (!first)
            first = path;
        if (folder_length(first) == folder_length(path) && strncmp(first, path, folder_length(path)) == 0)
            continue;
        f = doctor_add(d, DOCTOR_WARN, "libraries", "%s is in another folder than %s", path, first);
        doctor_advise(f, "take all of them from one installation: correct LD_LIBRARY_PATH");
    }
    if (first && !loader_finds(s, first)) {
        f = doctor_add(d, DOCTOR_WARN, "search path",
                       "LD_LIBRARY_PATH has no folder of openqnn: only its own tools find %s by "
                       "name",
                       libraries[0].name);
        doctor_advise(f, "for programs of your own: . PREFIX/bin/envsetup.sh, or give them the path %.*s",
                      (int)folder_length(first), first);
    }
}

void doctor_search_path(struct doctor *d)
{
    struct search *s = calloc(1, sizeof(*s));

    if (!s) {
        d->failed = true;
        return;
    }
    collect_folders(s, d);
    look_at_opened(s, d);
    collect_names(s);
    look_at_copies(s, d);
    free(s);
}
