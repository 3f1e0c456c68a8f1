/* SPDX-License-Identifier: Apache-2.0 */
/* Where the skel of an arch is. People set ADSP_LIBRARY_PATH as for a device: often with ':' instead of ';', and sometimes
 * to folders whose skels are made for the DSP itself; both are noticed and said. */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rpc/rpc.h"

enum { ELF_HEAD = 20, ELF_MACHINE = 18, ELF_X86_64 = 62, TRIED_MAX = 600 };

/* Hardware versions of LPAI that an installation may have folders for. */
enum { LPAI_FIRST = 4, LPAI_LAST = 7 };

struct search {
    char name[64];
    char *ret, *note;
    char tried[TRIED_MAX];
};

/* An ELF file of this machine. */
static bool is_ours(const char *path, uint32_t *ret_machine)
{
    unsigned char head[ELF_HEAD] = { 0 };
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t n = read(fd, head, sizeof(head));
    close(fd);
    *ret_machine =
        n == sizeof(head) && memcmp(head, "\177ELF", 4) == 0 ? head[ELF_MACHINE] | (uint32_t)head[ELF_MACHINE + 1] << 8 : 0;
    return *ret_machine == ELF_X86_64;
}

static void note(struct search *s, const char *format, const char *what)
{
    if (!s->note[0])
        snprintf(s->note, RPC_NOTE_MAX, format, what);
}

static bool try_folder(struct search *s, const char *folder, size_t n, const char *below)
{
    uint32_t machine = 0;
    int length = snprintf(s->ret, RPC_PATH_MAX, "%.*s%s/%s", (int)n, folder, below, s->name);
    size_t used = strlen(s->tried);
    snprintf(s->tried + used, sizeof(s->tried) - used, "%s%.*s%s", used ? ", " : "", (int)n, folder, below);
    if (length >= RPC_PATH_MAX || access(s->ret, R_OK) != 0)
        return false;
    if (is_ours(s->ret, &machine))
        return true;
    note(s, "%s is not for this machine (a skel of a real DSP?) and was left out", s->ret);
    return false;
}

static bool try_list(struct search *s, const char *list)
{
    const char *separator = strchr(list, ';') ? ";" : ":";
    if (*separator == ':' && strchr(list, ':'))
        note(s, "ADSP_LIBRARY_PATH=\"%s\" is separated by ':'; on a device only ';' works", list);
    while (*list) {
        size_t n = strcspn(list, separator);
        if (n && try_folder(s, list, n, ""))
            return true;
        list += n + (list[n] != 0);
    }
    return false;
}

/* Where an SDK tree has it. */
static bool try_sdk(struct search *s, uint32_t arch, const char *folder)
{
    char below[64];
    bool lpai = arch == RPC_ARCH_LPAI, found = false;
    for (uint32_t v = lpai ? LPAI_FIRST : arch; !found && v <= (lpai ? LPAI_LAST : arch); v++) {
        snprintf(below, sizeof(below), lpai ? "/../lpai-v%u/unsigned" : "/../hexagon-v%u/unsigned", v);
        found = try_folder(s, folder, strlen(folder), below);
    }
    return found;
}

enum status rpc_find_skel(uint32_t arch, const char *folder, char ret[RPC_PATH_MAX], char ret_note[RPC_NOTE_MAX])
{
    char no_note[RPC_NOTE_MAX];
    struct search s = { .ret = ret, .note = ret_note ? ret_note : no_note };
    s.note[0] = 0;
    snprintf(s.name, sizeof(s.name), arch == RPC_ARCH_LPAI ? "libQnnLpaiSkel.so" : "libQnnHtpV%uSkel.so", arch);
    const char *list = getenv("ADSP_LIBRARY_PATH");
    if (list && try_list(&s, list))
        return ST_OK;
    if (folder && (try_folder(&s, folder, strlen(folder), "") || try_sdk(&s, arch, folder)))
        return ST_OK;
    return status_fail(ST_LOADING, "no %s for this machine in: %s%s%s; put it there or name its folder in ADSP_LIBRARY_PATH",
                       s.name, s.tried, s.note[0] ? "; " : "", s.note);
}

enum status rpc_find_program(uint32_t arch, const char *own, char ret[RPC_PATH_MAX], char ret_note[RPC_NOTE_MAX])
{
    char folder[RPC_PATH_MAX] = ".";
    const char *slash = strrchr(own, '/');

    if (slash)
        snprintf(folder, sizeof(folder), "%.*s", (int)(slash - own + 1), own);

    if (rpc_find_skel(arch, folder, ret, ret_note) == ST_OK)
        return ST_OK;
    RETURN_IF(!realpath(own, ret), ST_LOADING, "%s; nor can %s be started itself: it is no longer there", status_text(),
              own);
    return ST_OK;
}
