/* SPDX-License-Identifier: Apache-2.0 */
/* Values as C text. What a struct points at is declared before it, under names of its own; large arrays and tensor data are
 * in the data file. Zeros are left out. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "QNN/QnnContext.h"
#include "api/log.h"
#include "api/saver/saver.h"

enum { INLINE_BYTES = 1024, DEPTH_MAX = 12 };
#define COUNT_MAX (UINT64_C(1) << 32)
#define STRUCTS_MAX 65536u

void saver_write_string(struct str *out, const char *text)
{
    str_add(out, "\"");
    for (; *text; text++) {
        unsigned char ch = (unsigned char)*text;
        if (ch == '"' || ch == '\\' || ch == '?')
            str_addf(out, "\\%c", ch);
        else if (ch < 32 || ch > 126)
            str_addf(out, "\\%03o", ch);
        else
            str_addn(out, text, 1);
    }
    str_add(out, "\"");
}

static void write_float(struct str *out, double v, int digits, const char *suffix)
{
    char text[40];
    if (isnan(v) || isinf(v)) {
        str_addf(out, "%s%s", signbit(v) ? "-" : "", isnan(v) ? "NAN" : "INFINITY");
        return;
    }
    snprintf(text, sizeof text, "%.*g", digits, v);
    str_addf(out, "%s%s%s", text, strpbrk(text, ".e") ? "" : ".0", suffix);
}

static void write_number(struct str *out, uint32_t kind, const void *at)
{
    float f;
    double d;
    uint64_t u = 0;
    static const uint8_t sizes[] = { [SAVER_U8] = 1, [SAVER_U16] = 2, [SAVER_I32] = 4, [SAVER_U32] = 4, [SAVER_U64] = 8 };
    switch (kind) {
    case SAVER_F32:
        memcpy(&f, at, sizeof f);
        write_float(out, f, 9, "f");
        return;
    case SAVER_F64:
        memcpy(&d, at, sizeof d);
        write_float(out, d, 17, "");
        return;
    case SAVER_I32:
        str_addf(out, *(const int32_t *)at == INT32_MIN ? "(-2147483647 - 1)" : "%d", *(const int32_t *)at);
        return;
    default:
        memcpy(&u, at, sizes[kind]);
        str_addf(out, "%llu%s", (unsigned long long)u, kind == SAVER_U64 ? "ull" : u > INT32_MAX ? "u" : "");
    }
}

static size_t size_of(uint32_t kind)
{
    return kind == SAVER_U8 ? 1 : kind == SAVER_U16 ? 2 : kind == SAVER_U64 || kind == SAVER_F64 ? 8 : 4;
}

static bool all_zero(const void *at, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (((const char *)at)[i])
            return false;
    return true;
}

void saver_write_handle(struct str *out, const void *handle)
{
    struct saver_object *o = saver_object_find(handle, HANDLE_TYPE_COUNT);
    if (o && o->recording == saver_numbers.recording)
        str_addf(out, "%s[%u]", saver_array(o->type), o->number);
    else
        str_addf(out, "NULL%s", handle ? " /* no handle of this recording */" : "");
}

/* ---- arrays ----------------------------------------------------------------------------------------------------------- */

void saver_write_blob(struct saver_call *c, struct str *out, const void *bytes, uint64_t size)
{
    uint64_t offset = 0;
    if (c->status == ST_OK)
        c->status = saver_blob(bytes, size, &offset);
    str_addf(out, "data(PARAMS, %lluu, %lluu)", (unsigned long long)offset, (unsigned long long)size);
}

void saver_write_array(struct saver_call *c, struct str *out, const struct saver_type *type, const void *objects, uint64_t n)
{
    if (!objects || !n) {
        str_add(out, "NULL");
        return;
    }
    if (n > (type->plain ? COUNT_MAX : STRUCTS_MAX)) {
        saver_fail(c, ST_INVALID_ARG, "%llu elements of %s are more than any client has; at most %llu are recorded",
                   (unsigned long long)n, type->name, (unsigned long long)(type->plain ? COUNT_MAX : STRUCTS_MAX));
        return;
    }
    if (type->plain && n * type->size > INLINE_BYTES) {
        saver_write_blob(c, out, objects, n * type->size);
        return;
    }
    struct str list;
    str_init(&list);
    for (uint64_t i = 0; i < n && c->status == ST_OK; i++) {
        str_add(&list, type->fields && !type->plain ? "\n        " : i ? " " : "");
        saver_write(c, &list, type, (const char *)objects + i * type->size);
        str_add(&list, i + 1 < n ? "," : "");
    }
    unsigned name = ++c->names;
    str_addf(&c->before, "    %s%s a%u[] = { %s };\n", type->plain ? "static " : "", type->name, name, str_text(&list));
    c->before.failed |= list.failed;
    str_finish(&list);
    str_addf(out, "a%u", name);
}

void saver_write_list(struct saver_call *c, struct str *out, const struct saver_type *type, const void *list, uint64_t n)
{
    const void *const *at = list;
    if (!list || n > STRUCTS_MAX) {
        if (list)
            saver_fail(c, ST_INVALID_ARG, "a list of %llu structs; at most %u are recorded", (unsigned long long)n,
                       STRUCTS_MAX);
        str_add(out, "NULL");
        return;
    }
    struct str names;
    str_init(&names);
    for (uint64_t i = 0; i < n && c->status == ST_OK; i++) {
        saver_write_array(c, &names, type, at[i], 1);
        str_add(&names, ", ");
    }
    unsigned name = ++c->names;
    str_addf(&c->before, "    %s *a%u[] = { %sNULL };\n", type->name, name, str_text(&names));
    c->before.failed |= names.failed;
    str_finish(&names);
    str_addf(out, "(void *)a%u", name);
}

static void write_texts(struct saver_call *c, struct str *out, const char *const *texts)
{
    struct str list;
    str_init(&list);
    for (uint32_t i = 0; i < STRUCTS_MAX && texts[i]; i++) {
        saver_write_string(&list, texts[i]);
        str_add(&list, ", ");
    }
    str_addf(&c->before, "    const char *a%u[] = { %sNULL };\n", ++c->names, str_text(&list));
    c->before.failed |= list.failed;
    str_finish(&list);
    str_addf(out, "a%u", c->names);
}

/* ---- structs ---------------------------------------------------------------------------------------------------------- */

/* What constants and inputs hold is recorded; outputs get a buffer of the replay; of others only the tensor counts. */
static void write_data(struct saver_call *c, struct str *out, const Qnn_ClientBuffer_t *b)
{
    const Qnn_TensorV1_t *t = c->tensor;
    bool constant = t && (t->type == QNN_TENSOR_TYPE_STATIC || t->type == QNN_TENSOR_TYPE_UPDATEABLE_STATIC);
    uint64_t size = b->dataSize, most = t ? saver_tensor_bytes(t) : 0;
    if (c->role == ROLE_OUTPUT && b->dataSize) {
        str_addf(out, "{ buffer(%uu), %uu }", b->dataSize, b->dataSize);
    } else if ((c->role == ROLE_INPUT || (c->role == ROLE_DEFINE && constant)) && b->data && size) {
        if (constant && size > most) /* no more than the tensor has: the rest may not be there */
            size = most;
        str_add(out, "{ ");
        saver_write_blob(c, out, b->data, size);
        str_addf(out, ", %lluu }", (unsigned long long)size);
    } else {
        str_add(out, "{ 0 }");
    }
}

/* Memory that a binary is in, or is written to; how much that is knows only the replay. */
static void write_bytes(struct saver_call *c, struct str *out, const Qnn_BinaryBuffer_t *b)
{
    if (c->role == ROLE_OUTPUT) {
        str_add(out, "{ buffer((size_t)section_size), section_size }");
        return;
    }
    if (b->dataSize && !b->data)
        saver_fail(c, ST_INVALID_ARG, "a buffer of %llu bytes at NULL; give what is there", (unsigned long long)b->dataSize);
    str_add(out, "{ ");
    saver_write_array(c, out, &saver_u8, b->data, b->dataSize);
    str_addf(out, ", %lluu }", (unsigned long long)b->dataSize);
}

/* What is read from registered memory is what it holds now. */
static void write_handle(struct saver_call *c, struct str *out, const void *handle)
{
    struct saver_object *m = c->role == ROLE_INPUT ? saver_object_find(handle, HANDLE_MEM) : NULL;
    if (m)
        saver_memory_in(c, &m->memory);
    saver_write_handle(out, handle);
}

static void write_memory(const struct saver_call *c, struct str *out, const char *member)
{
    str_addf(out, "shared(%u, %lluu)->%s", c->memory->buffer, (unsigned long long)c->memory->size, member);
}

/* Unknown ones do not get here: see saver_configs. */
static void write_custom(struct saver_call *c, struct str *out, const void *object)
{
    const struct saver_type *t = saver_custom(saver_settings()->backend, c->owner, object);
    if (t)
        saver_write_array(c, out, t, object, 1);
    else
        str_add(out, "NULL");
}

static void write_id(struct saver_call *c, struct str *out, uint32_t id)
{
    if (!c->foreign_ids && id && id <= saver_numbers.tensors)
        str_addf(out, "tensor_ids[%u]", id);
    else
        str_addf(out, "%uu", id);
}

/* True when there was something to write. */
static bool write_pointer(struct saver_call *c, struct str *out, const struct saver_field *f, const void *object)
{
    const void *p = *(const void *const *)((const char *)object + f->offset);
    uint64_t n = p && (f->kind == SAVER_ARRAY || f->kind == SAVER_LIST) ? saver_count_of(c, f, object) : 1;
    if (!p || !n)
        return false;
    str_addf(out, " .%s = ", f->name);
    switch (f->kind) {
    case SAVER_TEXT: saver_write_string(out, p); break;
    case SAVER_TEXTS: write_texts(c, out, p); break;
    case SAVER_ARRAY: saver_write_array(c, out, f->type, p, n); break;
    case SAVER_LIST: saver_write_list(c, out, f->type, p, n); break;
    case SAVER_HANDLE: write_handle(c, out, p); break;
    case SAVER_MAPPED: write_memory(c, out, "at"); break;
    case SAVER_ROOM: str_addf(out, "buffer(%uu)", *(const uint32_t *)((const char *)object + f->count_at)); break;
    case SAVER_CUSTOM: write_custom(c, out, p); break;
    default: str_add(out, "NULL /* cannot be recorded */");
    }
    return true;
}

static bool write_field(struct saver_call *c, struct str *out, const struct saver_field *f, const void *object)
{
    const char *at = (const char *)object + f->offset;
    switch (f->kind) {
    case SAVER_STRUCT:
        str_addf(out, " .%s = ", f->name);
        saver_write(c, out, f->type, at);
        return true;
    case SAVER_ID:
        str_addf(out, " .%s = ", f->name);
        write_id(c, out, *(const uint32_t *)at);
        return true;
    case SAVER_DATA:
        str_addf(out, " .%s = ", f->name);
        write_data(c, out, (const Qnn_ClientBuffer_t *)at);
        return true;
    case SAVER_BYTES:
        str_addf(out, " .%s = ", f->name);
        write_bytes(c, out, (const Qnn_BinaryBuffer_t *)at);
        return true;
    case SAVER_FD:
        str_addf(out, " .%s = ", f->name);
        write_memory(c, out, "fd");
        return true;
    case SAVER_U8:
    case SAVER_U16:
    case SAVER_I32:
    case SAVER_U32:
    case SAVER_U64:
    case SAVER_F32:
    case SAVER_F64:
        if (all_zero(at, size_of(f->kind)))
            return false;
        str_addf(out, " .%s = ", f->name);
        write_number(out, f->kind, at);
        return true;
    default: return write_pointer(c, out, f, object);
    }
}

static void write_struct(struct saver_call *c, struct str *out, const struct saver_type *type, const void *object)
{
    const struct saver_type *owner = c->owner;
    uint32_t chosen = type->select ? type->select(object) : 0;
    bool first = true;
    c->owner = type;
    str_add(out, "{");
    for (size_t i = 0; i < type->n && c->status == ST_OK; i++) {
        const struct saver_field *f = &type->fields[i];
        if (f->chosen && f->when != chosen)
            continue;
        size_t before = out->n;
        str_add(out, first ? "" : ",");
        if (write_field(c, out, f, object))
            first = false;
        else
            out->n = before;
    }
    if (first) /* by name: compilers warn of members that are not there otherwise */
        str_addf(out, " .%s = 0", type->fields[0].name);
    str_add(out, " }");
    c->owner = owner;
}

/* Data that the client hands out on demand is asked for, and recorded as if it had been there. */
static enum status fetch(const struct saver_call *c, Qnn_Tensor_t *t)
{
    const Qnn_TensorRetrieveRaw_t *r = t->v2.retrieveRaw;
    Qnn_ClientBuffer_t b = QNN_CLIENT_BUFFER_INIT;
    RETURN_IF(!r || !r->getTensorData, ST_INVALID_TENSOR, "tensor \"%s\": no function that gives its data",
              t->v2.name ? t->v2.name : "");
    enum callback_kind former = callback_enter(CALLBACK_BUSY);
    Qnn_ErrorHandle_t e = r->getTensorData(c->context, c->graph, t->v2.id, &b);
    callback_leave(former);
    RETURN_IF(e != QNN_SUCCESS, ST_INVALID_TENSOR, "tensor \"%s\": the client's function gave no data, but error %llu",
              t->v2.name ? t->v2.name : "", (unsigned long long)e);
    t->v2.memType = QNN_TENSORMEMTYPE_RAW;
    t->v2.clientBuf = b;
    return ST_OK;
}

static void write_tensor(struct saver_call *c, struct str *out, const Qnn_Tensor_t *object)
{
    const Qnn_TensorV1_t *outer = c->tensor;
    Qnn_Tensor_t t = { .version = object->version };
    bool known = t.version == QNN_TENSOR_VERSION_1 || t.version == QNN_TENSOR_VERSION_2;
    if (!known) {
        saver_fail(c, ST_INVALID_TENSOR, "tensor version %u is unknown; 1 and 2 are known", (unsigned)t.version);
        return;
    }
    if (t.version == QNN_TENSOR_VERSION_1)
        t.v1 = object->v1; /* the client may have no more than that */
    else
        t.v2 = object->v2;
    const Qnn_TensorRetrieveRaw_t *r = NULL;
    if (t.version == QNN_TENSOR_VERSION_2 && t.v2.memType == QNN_TENSORMEMTYPE_RETRIEVE_RAW) {
        r = t.v2.retrieveRaw;
        enum status st = c->status == ST_OK ? fetch(c, &t) : c->status;
        c->status = st;
    }
    if (t.v1.rank > SAVER_RANK_MAX)
        saver_fail(c, ST_INVALID_TENSOR, "tensor \"%s\": rank %u; at most %u is recorded", t.v1.name ? t.v1.name : "",
                   t.v1.rank, (unsigned)SAVER_RANK_MAX);
    c->tensor = &t.v1;
    if (c->status == ST_OK)
        write_struct(c, out, &saver_tensor, &t);
    c->tensor = outer;
    if (r && r->freeTensorData && t.v2.memType == QNN_TENSORMEMTYPE_RAW) {
        enum callback_kind former = callback_enter(CALLBACK_BUSY);
        r->freeTensorData(c->context, c->graph, t.v2.id);
        callback_leave(former);
    }
}

void saver_write(struct saver_call *c, struct str *out, const struct saver_type *type, const void *object)
{
    if (c->status != ST_OK)
        return;
    if (++c->depth > DEPTH_MAX)
        saver_fail(c, ST_INVALID_ARG, "structs point at structs more than %d deep; do they point at themselves?", DEPTH_MAX);
    else if (!type->fields)
        write_number(out, type->kind, object);
    else if (type == &saver_tensor)
        write_tensor(c, out, object);
    else
        write_struct(c, out, type, object);
    c->memory += type == &saver_mem_descriptor;
    c->depth--;
}
