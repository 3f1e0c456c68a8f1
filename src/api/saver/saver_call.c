/* SPDX-License-Identifier: Apache-2.0 */
/* One call of the client: arguments are added one after the other, and the first that is wrong decides what is returned. A
 * call that is refused is not recorded. */
#include "api/saver/saver.h"

#include <ctype.h>
#include <pthread.h>
#include <stdio.h>

#include "api/log.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void saver_fail(struct saver_call *c, enum status st, const char *fmt, ...)
{
    if (c->status != ST_OK)
        return;
    char text[STATUS_TEXT_MAX];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    c->status = status_fail(st, "%s: %s", c->name, text);
}

void saver_begin(struct saver_call *c, const char *name, enum component component)
{
    *c = (struct saver_call){ .name = name, .component = component };
    log_enter(NULL);
    str_init(&c->before);
    str_init(&c->args);
    str_init(&c->after);
    if (in_callback() == CALLBACK_BUSY) { /* it holds the lock */
        saver_fail(c, ST_NOT_PERMITTED, "called from a function that the library called; call it afterwards");
        return;
    }
    pthread_mutex_lock(&lock);
    c->former = saver_numbers;
    c->number = saver_numbers.calls + 1;
    c->status = saver_ready();
    if (c->status != ST_OK) /* the lock is given back by saver_end */
        status_prefix(c->status, "%s", name);
}

void saver_arg(struct saver_call *c, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    str_add(&c->args, c->args.n ? ", " : "");
    str_vaddf(&c->args, fmt, ap);
    va_end(ap);
}

struct saver_object *saver_maybe(struct saver_call *c, enum handle_type type, const void *handle)
{
    struct saver_object *o = handle && c->number ? saver_object_find(handle, type) : NULL; /* without a number: no lock */
    if (handle && !o)
        saver_fail(c, ST_INVALID_HANDLE, "the %s handle is %s", handle_type_name(type), handle_describe(handle, type));
    str_add(&c->args, c->args.n ? ", " : "");
    saver_write_handle(&c->args, handle);
    if (o && o->log && !c->log)
        log_enter(c->log = o->log);
    if (o && type == HANDLE_CONTEXT)
        c->context = o->handle;
    if (o && type == HANDLE_GRAPH)
        c->graph = o->handle;
    return o;
}

struct saver_object *saver_on(struct saver_call *c, enum handle_type type, const void *handle)
{
    struct saver_object *o = saver_maybe(c, type, handle);
    if (!o)
        saver_fail(c, ST_INVALID_HANDLE, "the %s handle is %s", handle_type_name(type), handle_describe(handle, type));
    return o;
}

void saver_text(struct saver_call *c, const char *text)
{
    saver_arg(c, "%s", text ? "" : "NULL");
    if (text)
        saver_write_string(&c->args, text);
}

void saver_value(struct saver_call *c, const struct saver_type *type, const void *object)
{
    saver_arg(c, "%s", "");
    saver_write_array(c, &c->args, type, object, 1);
    str_add(&c->args, "[0]");
}

void saver_array_arg(struct saver_call *c, const struct saver_type *type, const void *objects, uint64_t n)
{
    if (n && !objects)
        saver_fail(c, ST_INVALID_ARG, "%llu elements of %s at NULL; give the array, or 0", (unsigned long long)n,
                   type->name);
    saver_arg(c, "%s", "");
    saver_write_array(c, &c->args, type, objects, n);
}

void saver_list_arg(struct saver_call *c, const struct saver_type *type, const void *list, uint64_t n)
{
    const void *const *at = list;
    if (n && !list)
        saver_fail(c, ST_INVALID_ARG, "%llu elements of %s at NULL; give the list, or 0", (unsigned long long)n, type->name);
    saver_arg(c, "%s", "");
    saver_write_list(c, &c->args, type, at, n);
}

/* A setting of a backend that the recorder was not told about. */
static bool is_unknown(const struct saver_type *type, const void *object)
{
    for (size_t i = 0; i < type->n; i++) {
        const struct saver_field *f = &type->fields[i];
        if (f->kind == SAVER_CUSTOM && f->when == type->select(object)) {
            const void *custom = *(const void *const *)((const char *)object + f->offset);
            return custom && !saver_custom(saver_settings()->backend, type, custom);
        }
    }
    return false;
}

/* Unknown settings are left out: with nothing in their place backends refuse the call. */
void saver_configs(struct saver_call *c, const struct saver_type *type, const void *list)
{
    enum { CONFIGS_MAX = 1024 };
    const void *const *at = list;
    const void *known[CONFIGS_MAX];
    uint64_t all = 0, n = 0;
    for (; at && all < CONFIGS_MAX && at[all]; all++)
        if (is_unknown(type, at[all]))
            str_add(&c->before, "    /* a custom setting is left out; say whose they are with BACKEND_ID */\n");
        else
            known[n++] = at[all];
    if (all == CONFIGS_MAX)
        saver_fail(c, ST_INVALID_CONFIG, "a list of %d settings without an end; NULL stands behind the last", CONFIGS_MAX);
    saver_arg(c, "%s", "");
    saver_write_list(c, &c->args, type, list ? known : NULL, n);
}

void saver_bytes(struct saver_call *c, const void *bytes, uint64_t size)
{
    saver_array_arg(c, &saver_u8, bytes, size);
    saver_arg(c, "%lluu", (unsigned long long)size);
}

struct saver_object *saver_add(struct saver_call *c, enum handle_type type, struct saver_object *parent, void *handle)
{
    if (c->status != ST_OK)
        return NULL;
    struct saver_object *o = saver_object_new(type, parent, handle);
    if (!o) {
        saver_fail(c, ST_NO_MEMORY, "no memory for a %s", handle_type_name(type));
        return NULL;
    }
    o->log = type == HANDLE_LOG ? o->handle : c->log;
    return o;
}

struct saver_object *saver_new(struct saver_call *c, enum handle_type type, struct saver_object *parent, void **handle)
{
    if (!handle)
        saver_fail(c, ST_INVALID_ARG, "the pointer that receives the %s handle is NULL", handle_type_name(type));
    struct saver_object *o = saver_add(c, type, parent, NULL);
    if (!o)
        return NULL;
    saver_arg(c, "&%s[%u]", saver_array(type), o->number);
    c->ret = handle;
    c->ret_handle = o->handle;
    return o;
}

void saver_need(struct saver_call *c, const void *pointer, const char *name)
{
    if (!pointer)
        saver_fail(c, ST_INVALID_ARG, "%s is NULL; give a pointer that is valid", name);
}

/* QnnGraph_addNode is graphAddNode in the table. */
static void add_slot(struct str *s, const char *name)
{
    name += 3;
    str_addf(s, "%c", tolower((unsigned char)*name));
    for (name++; *name; name++) {
        bool next = *name == '_';
        name += next;
        str_addf(s, "%c", next ? toupper((unsigned char)*name) : *name);
    }
}

static enum status record(struct saver_call *c)
{
    struct str s;
    str_init(&s);
    str_addf(&s, "\nstatic void call_%u(void)\n{\n%s    %s(%u, \"%s\", %sq.", c->number, str_text(&c->before),
             c->question ? "answer" : "result", c->number, c->name, c->wait ? "wait_for_contexts(" : "");
    add_slot(&s, c->name);
    str_addf(&s, "(%s)", str_text(&c->args));
    if (c->wait)
        str_addf(&s, ", %u)", c->wait);
    str_addf(&s, ");\n%s}\n", str_text(&c->after));
    if (c->number % SAVER_GROUP == 0) {
        str_addf(&s, "\nstatic void calls_to_%u(void)\n{\n", c->number);
        for (unsigned i = c->number - SAVER_GROUP + 1; i <= c->number; i++)
            str_addf(&s, "    call_%u();\n", i);
        str_add(&s, "}\n");
    }
    enum status st = ST_OK;
    if (s.failed || c->before.failed || c->args.failed || c->after.failed)
        st = status_fail(ST_NO_MEMORY, "%s: no memory for the text of the call", c->name);
    saver_numbers.calls = c->number;
    if (st == ST_OK)
        st = saver_add_call(s.at, &c->former);
    str_finish(&s);
    return st;
}

/* What was made by a call that is not recorded is not there. */
static void finish(struct saver_call *c)
{
    if (c->number) {
        saver_objects_settle(c->status == ST_OK);
        if (c->status != ST_OK)
            saver_numbers = c->former;
        pthread_mutex_unlock(&lock);
    }
    str_finish(&c->before);
    str_finish(&c->args);
    str_finish(&c->after);
}

Qnn_ErrorHandle_t saver_end_free(struct saver_call *c, struct saver_object *o)
{
    if (c->status == ST_OK)
        c->status = record(c);
    if (c->status == ST_OK && c->ret)
        *c->ret = c->ret_handle;
    if (o)
        saver_object_free(o);
    finish(c);
    if (c->status == ST_OK)
        api_log(LOG_DEBUG, "call %u: %s", c->number, c->name);
    return api_error(c->component, c->status);
}

Qnn_ErrorHandle_t saver_end(struct saver_call *c)
{
    return saver_end_free(c, NULL);
}

Qnn_ErrorHandle_t saver_end_dummy(struct saver_call *c)
{
    c->question = true;
    Qnn_ErrorHandle_t e = saver_end(c);
    return e == QNN_SUCCESS ? QNN_SAVER_ERROR_DUMMY_RETVALUE : e;
}

/* ---- QnnSaver.h ------------------------------------------------------------------------------------------------------- */

static enum status take_name(const char *name, const char *what, char ret[SAVER_NAME_MAX])
{
    if (!name)
        return ST_OK;
    size_t n = 0;
    while (name[n] && name[n] != '/' && n < SAVER_NAME_MAX - 64)
        n++;
    RETURN_IF(!n || name[n], ST_INVALID_ARG, "%s is \"%.300s\"; a name of 1 to %d characters without / is allowed", what,
              name, SAVER_NAME_MAX - 65);
    snprintf(ret, SAVER_NAME_MAX, "%s", name);
    return ST_OK;
}

static enum status take_folder(const char *folder, char ret[SAVER_PATH_MAX])
{
    RETURN_IF(!folder || !*folder, ST_INVALID_ARG, "outputDirectory is %s; give the folder of the recording",
              folder ? "empty" : "NULL");
    int n = snprintf(ret, SAVER_PATH_MAX, "%s", folder);
    RETURN_IF(n < 0 || n >= SAVER_PATH_MAX, ST_INVALID_ARG, "outputDirectory has %d characters; at most %d are allowed", n,
              SAVER_PATH_MAX - 1);
    return ST_OK;
}

static enum status take_config(const QnnSaver_Config_t *c, struct saver_settings *s)
{
    switch (c->option) {
    case QNN_SAVER_CONFIG_OPTION_OUTPUT_DIRECTORY: return take_folder(c->outputDirectory, s->folder);
    case QNN_SAVER_CONFIG_OPTION_APPEND_TIMESTAMP: s->timestamp = c->appendTimestamp; return ST_OK;
    case QNN_SAVER_CONFIG_OPTION_BACKEND_ID: s->backend = c->backendId; return ST_OK;
    case QNN_SAVER_CONFIG_OPTION_FILE_CONFIG:
        TRY(take_name(c->fileConfig.modelFileName, "modelFileName", s->program));
        return take_name(c->fileConfig.dataFileName, "dataFileName", s->data);
    case QNN_SAVER_CONFIG_WRITE_OUTPUT_HEADER: s->header = c->writeOutputHeader; return ST_OK;
    case QNN_SAVER_CONFIG_WRITE_OUTPUT_FOOTER: s->footer = c->writeOutputFooter; return ST_OK;
    default: return status_fail(ST_INVALID_ARG, "Saver option %u is unknown; 0 to 5 are known", (unsigned)c->option);
    }
}

/* Other files can be named at any time, and the recording goes on there; everything else only while there is no backend. */
static enum status initialize(const QnnSaver_Config_t **config, bool running, bool *too_late)
{
    struct saver_settings s;
    bool files = false, others = !config || !*config;
    if (running)
        s = *saver_settings();
    else
        saver_default_settings(&s);
    for (; config && *config; config++) {
        TRY(take_config(*config, &s));
        files |= (*config)->option == QNN_SAVER_CONFIG_OPTION_FILE_CONFIG;
        others |= (*config)->option <= QNN_SAVER_CONFIG_OPTION_APPEND_TIMESTAMP;
    }
    RETURN_IF(files && s.timestamp && !running, ST_INVALID_ARG,
              "names of files and a time in them exclude each other; give one");
    *too_late = running && (others || !files);
    if (*too_late)
        return ST_OK;
    if (!running)
        saver_forget();
    return saver_open(&s);
}

Qnn_ErrorHandle_t QnnSaver_initialize(const QnnSaver_Config_t **config)
{
    bool too_late = false;
    log_enter(NULL);
    API_CHECK(in_callback() != CALLBACK_BUSY, COMP_COMMON, ST_NOT_PERMITTED,
              "QnnSaver_initialize was called from a function that the library called; call it afterwards");
    pthread_mutex_lock(&lock);
    enum status st = initialize(config, saver_has_backends(), &too_late);
    pthread_mutex_unlock(&lock);
    if (too_late) {
        status_note(ST_STATE, "QnnSaver_initialize: a backend exists already; free it first, or give names of files only");
        error_returned(QNN_SAVER_ERROR_ALREADY_INSTANTIATED);
        return QNN_SAVER_ERROR_ALREADY_INSTANTIATED;
    }
    return api_error(COMP_COMMON, st);
}
