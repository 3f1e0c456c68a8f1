/* SPDX-License-Identifier: Apache-2.0 */
#include "context_binary_generator/device_check_show.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/file_write.h"
#include "base/str.h"
#include "common/tool_log.h"

enum status device_check_begin(struct device_check_show *d, const char *socs)
{
    char path[64];

    d->file = memfd_create("device-check", MFD_CLOEXEC);
    RETURN_IF(d->file < 0, ST_IO, "no memory for the report of the device check: %s", strerrordesc_np(errno));
    snprintf(path, sizeof(path), "/proc/self/fd/%d", d->file);
    bool set = setenv("OPENQNN_DEVICE_CHECK", "report", 1) == 0 && setenv("OPENQNN_DEVICE_CHECK_SOCS", socs, 1) == 0 &&
               setenv("OPENQNN_DEVICE_CHECK_FILE", path, 1) == 0;
    RETURN_IF(!set, ST_NO_MEMORY, "no memory for the variables of the device check");
    return ST_OK;
}

/* ---- the report ------------------------------------------------------------------------------------------------------- */

static enum status read_report(int file, json_t *checks)
{
    json_error_t error;
    json_t *one;
    off_t end = lseek(file, 0, SEEK_END);

    lseek(file, 0, SEEK_SET);
    while ((one = json_loadfd(file, JSON_DISABLE_EOF_CHECK, &error)))
        RETURN_IF(json_array_append_new(checks, one) != 0, ST_NO_MEMORY, "no memory for the report of the device check");
    RETURN_IF(lseek(file, 0, SEEK_CUR) != end, ST_IO, "the report of the device check cannot be read: %s", error.text);
    return ST_OK;
}

static const char *text_of(const json_t *o, const char *key)
{
    const char *text = json_string_value(json_object_get(o, key));
    return text ? text : "";
}

static int number_of(const json_t *o, const char *key)
{
    return (int)json_integer_value(json_object_get(o, key));
}

static bool is_of(const json_t *finding, const char *rule)
{
    return strcmp(text_of(finding, "rule"), rule) == 0;
}

/* All nodes that a rule found, behind its first finding. */
static void add_rule(const json_t *findings, size_t first, struct str *out)
{
    const json_t *f = json_array_get(findings, first);
    const char *rule = text_of(f, "rule");

    str_addf(out, "  %-8s %s\n", text_of(f, "verdict"), rule);
    for (size_t i = first; i < json_array_size(findings); i++) {
        const json_t *other = json_array_get(findings, i);
        if (!is_of(other, rule))
            continue;
        if (json_is_string(json_object_get(other, "node")))
            str_addf(out, "           %s \"%s\": %s\n", text_of(other, "type"), text_of(other, "node"),
                     text_of(other, "detail"));
        else
            str_addf(out, "           %s\n", text_of(other, "detail"));
    }
    str_addf(out, "           remedy: %s\n           source: %s\n", text_of(f, "remedy"), text_of(f, "source"));
}

static void add_verdict(const json_t *findings, const char *verdict, struct str *out)
{
    for (size_t i = 0; i < json_array_size(findings); i++) {
        const json_t *f = json_array_get(findings, i);
        bool first = strcmp(text_of(f, "verdict"), verdict) == 0;
        for (size_t k = 0; k < i && first; k++)
            first = !is_of(json_array_get(findings, k), text_of(f, "rule"));
        if (first)
            add_rule(findings, i, out);
    }
}

static void add_device(const json_t *check, struct str *out)
{
    if (number_of(check, "arch"))
        str_addf(out, "(v%d, VTCM %d MB)", number_of(check, "arch"), number_of(check, "vtcm_mb"));
    else
        str_add(out, "(architecture not known)");
}

static void add_check(const json_t *check, struct str *out)
{
    const json_t *findings = json_object_get(check, "findings");

    str_addf(out, "Device check: graph \"%s\" on %s ", text_of(check, "graph"), text_of(check, "soc"));
    add_device(check, out);
    str_addf(out, ": %d nodes refused, %d unsure, %d fine\n", number_of(check, "refused"), number_of(check, "unsure"),
             number_of(check, "fine"));
    add_verdict(findings, "refused", out);
    add_verdict(findings, "unsure", out);
}

static bool is_refused(const json_t *check)
{
    const json_t *findings = json_object_get(check, "findings");

    for (size_t i = 0; i < json_array_size(findings); i++)
        if (strcmp(text_of(json_array_get(findings, i), "verdict"), "refused") == 0)
            return true;
    return false;
}

static enum status write_json(json_t *root, const char *to)
{
    char *text = json_dumps(root, JSON_INDENT(1) | JSON_PRESERVE_ORDER);
    RETURN_IF(!text, ST_NO_MEMORY, "no memory for the report of the device check");
    enum status st = file_write_all(to, text, strlen(text));
    free(text);
    return st;
}

static enum status show(const json_t *checks)
{
    CLEANUP(str_finish) struct str out;
    CLEANUP(str_finish) struct str refused;
    str_init(&out);
    str_init(&refused);

    for (size_t i = 0; i < json_array_size(checks); i++) {
        const json_t *check = json_array_get(checks, i);
        add_check(check, &out);
        if (is_refused(check))
            str_addf(&refused, "%s\"%s\" on %s", refused.n ? ", " : "", text_of(check, "graph"), text_of(check, "soc"));
    }
    RETURN_IF(out.failed || refused.failed, ST_NO_MEMORY, "no memory for the text of the device check");
    fputs(str_text(&out), stdout);
    fflush(stdout);
    RETURN_IF(refused.n, ST_NOT_SUPPORTED, "a device would refuse graph %s; the lines \"refused\" say why",
              str_text(&refused));
    return ST_OK;
}

static enum status show_all(const struct device_check_show *d, json_t *root, const char *to)
{
    json_t *checks = json_array();

    RETURN_IF(!root || json_object_set_new(root, "checks", checks) != 0, ST_NO_MEMORY,
              "no memory for the report of the device check");
    TRY(read_report(d->file, checks));
    RETURN_IF(json_array_size(checks) == 0, ST_NOT_SUPPORTED,
              "--check_device: the backend has not checked anything; use libQnnHtp.so of this version");
    if (to)
        TRY(write_json(root, to));
    return show(checks);
}

enum status device_check_end(struct device_check_show *d, const char *to)
{
    json_t *root = json_object();
    enum status st = show_all(d, root, to);

    json_decref(root);
    close(d->file);
    d->file = -1;
    return st;
}
