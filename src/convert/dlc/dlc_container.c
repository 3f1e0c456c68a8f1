/* SPDX-License-Identifier: Apache-2.0 */
/* The zip archive around a DLC: its records, read when asked for, and new archives.
 *
 * The archive stays open, so a record that nobody asks for costs nothing. What an archive claims about sizes is not believed
 * beyond what its own size makes likely: a few bytes must not become gigabytes. Records are stored uncompressed, as other
 * writers do, with a fixed date: the same model gives the same file. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <zip.h>

#include "base/file_kind.h"
#include "convert/dlc/dlc.h"
#include "convert/dlc/dlc_container.h"
#include "convert/dlc/dlc_target.h"

/* Weights shrink to a half at best; texts of repeated lines by much more, but they are small. */
enum { EXPANSION_MAX = 64, RECORDS_MAX = 65535 };
static const uint64_t small_record = 16 << 20;

struct record {
    const char *name;
    uint64_t size;
    void *data; /* NULL: not read yet */
};

struct convert_dlc {
    struct arena arena;
    zip_t *zip; /* NULL: made here, all records are in memory */
    VEC(struct record) records;
    struct ir_graph **graphs;
    uint32_t n_graphs;
    bool has_graphs;
};

/* Out of memory, or what the failure of an archive means here. */
static enum status zip_status(zip_error_t *e, enum status other)
{
    return zip_error_code_zip(e) == ZIP_ER_MEMORY ? ST_NO_MEMORY : other;
}

static enum status zip_failed(zip_error_t *e, const char *what)
{
    enum status st = zip_status(e, zip_error_system_type(e) == ZIP_ET_SYS ? ST_IO : ST_BAD_BINARY);
    st = status_fail(st, "%s is not a DLC that can be read: %s", what, zip_error_strerror(e));
    zip_error_fini(e);
    return st;
}

/* ---- opening ---------------------------------------------------------------------------------------------------------- */

static enum status list_records(struct convert_dlc *d, uint64_t archive_bytes, const char *what)
{
    zip_int64_t n = zip_get_num_entries(d->zip, 0);
    RETURN_IF(n < 0 || n > RECORDS_MAX, ST_BAD_BINARY, "%s has %lld records; at most %d are expected", what, (long long)n,
              RECORDS_MAX);
    uint64_t total = 0, most = archive_bytes > small_record / EXPANSION_MAX ? archive_bytes * EXPANSION_MAX : small_record;
    for (zip_int64_t i = 0; i < n; i++) {
        zip_stat_t s;
        zip_stat_init(&s);
        bool ok =
            zip_stat_index(d->zip, (zip_uint64_t)i, 0, &s) == 0 && (s.valid & ZIP_STAT_SIZE) && (s.valid & ZIP_STAT_NAME);
        RETURN_IF(!ok, ST_BAD_BINARY, "%s: record %lld has no name or size", what, (long long)i);
        RETURN_IF(s.size > most - total, ST_BAD_BINARY,
                  "%s has %llu bytes and claims to hold more than %llu with record \"%s\"; this is not a model", what,
                  (unsigned long long)archive_bytes, (unsigned long long)most, s.name);
        total += s.size;
        struct record *r = vec_push(&d->records);
        RETURN_IF(!r, ST_NO_MEMORY, "no memory for the records of %s", what);
        *r = (struct record){ .name = arena_strdup(&d->arena, s.name), .size = s.size };
        RETURN_IF(!r->name, ST_NO_MEMORY, "no memory for the records of %s", what);
    }
    return ST_OK;
}

static const struct record *find_record(const struct convert_dlc *d, const char *name, uint32_t *ret)
{
    for (uint32_t i = 0; i < d->records.n; i++)
        if (strcmp(d->records.at[i].name, name) == 0) {
            *ret = i;
            return &d->records.at[i];
        }
    return NULL;
}

static enum status open_zip(zip_source_t *source, const char *what, struct convert_dlc **ret)
{
    zip_error_t e;
    zip_error_init(&e);
    struct convert_dlc *d = mem_new(struct convert_dlc);
    zip_stat_t s;
    zip_stat_init(&s);
    bool sized = zip_source_stat(source, &s) == 0 && (s.valid & ZIP_STAT_SIZE);
    if (d)
        d->zip = zip_open_from_source(source, ZIP_RDONLY, &e);
    if (!d || !d->zip) {
        zip_source_free(source);
        mem_free(d);
        return d ? zip_failed(&e, what) : status_fail(ST_NO_MEMORY, "no memory for a DLC");
    }
    arena_init(&d->arena);
    uint32_t at;
    enum status st = sized ? list_records(d, s.size, what) : status_fail(ST_IO, "the size of %s is not known", what);
    if (st == ST_OK && !find_record(d, DLC_MODEL, &at) && !find_record(d, DLC_METADATA, &at))
        st = status_fail(ST_BAD_BINARY, "%s is a zip archive, but has neither a record \"%s\" nor \"%s\"; this is not a DLC",
                         what, DLC_MODEL, DLC_METADATA);
    if (st != ST_OK) {
        convert_dlc_close(d);
        return st;
    }
    *ret = d;
    return ST_OK;
}

enum { HEAD_BYTES = 512 }; /* that tell what kind of file it is */

enum status convert_dlc_open(const char *path, struct convert_dlc **ret)
{
    zip_error_t e;
    zip_error_init(&e);
    FILE *f = fopen(path, "rb"); /* tells what is wrong with the path better than the archive library does */
    RETURN_IF(!f, ST_IO, "\"%s\" cannot be read: %s", path, strerror(errno));
    char head[HEAD_BYTES];
    const size_t head_size = fread(head, 1, sizeof(head), f);
    fclose(f);
    zip_source_t *source = zip_source_file_create(path, 0, -1, &e);
    char what[512];
    snprintf(what, sizeof what, "\"%s\"", path);
    enum status st = source ? open_zip(source, what, ret) : zip_failed(&e, what);
    const enum file_kind kind = file_kind_of(head, head_size);
    if (st == ST_OK || kind == FILE_ZIP || kind == FILE_OTHER)
        return st; /* the explanation names the file already */
    return status_prefix(file_kind_explain(st, head, head_size, FILE_ZIP, "a DLC"), "%s", what);
}

enum status convert_dlc_open_data(const void *data, size_t size, struct convert_dlc **ret)
{
    zip_error_t e;
    zip_error_init(&e);
    zip_source_t *source = zip_source_buffer_create(data, size, 0, &e);
    return source ? open_zip(source, "the data", ret) : zip_failed(&e, "the data");
}

static enum status add_record(struct convert_dlc *d, const char *name, const void *data, size_t size)
{
    struct record *r = vec_push(&d->records);
    RETURN_IF(!r, ST_NO_MEMORY, "no memory for a record of a DLC");
    *r = (struct record){ .name = arena_strdup(&d->arena, name), .size = size, .data = mem_dup(data, size) };
    RETURN_IF(!r->name || !r->data, ST_NO_MEMORY, "no memory for a record of a DLC");
    return ST_OK;
}

enum status convert_dlc_create(struct convert_dlc **ret)
{
    static const char metadata[] = "model-version=\n";
    struct convert_dlc *d = mem_new(struct convert_dlc);
    RETURN_IF(!d, ST_NO_MEMORY, "no memory for a DLC");
    arena_init(&d->arena);
    enum status st = add_record(d, DLC_METADATA, metadata, sizeof metadata - 1);
    if (st != ST_OK)
        convert_dlc_close(d);
    else
        *ret = d;
    return st;
}

void convert_dlc_close(struct convert_dlc *d)
{
    if (!d)
        return;
    for (uint32_t i = 0; i < d->n_graphs; i++)
        ir_graph_free(d->graphs[i]);
    mem_free(d->graphs);
    for (size_t i = 0; i < d->records.n; i++)
        mem_free(d->records.at[i].data);
    vec_finish(&d->records);
    if (d->zip)
        zip_discard(d->zip);
    arena_finish(&d->arena);
    mem_free(d);
}

/* ---- records ---------------------------------------------------------------------------------------------------------- */

uint32_t convert_dlc_count(const struct convert_dlc *d)
{
    return (uint32_t)d->records.n;
}

const char *convert_dlc_name(const struct convert_dlc *d, uint32_t record)
{
    return d->records.at[record].name;
}

uint64_t convert_dlc_size(const struct convert_dlc *d, uint32_t record)
{
    return d->records.at[record].size;
}

/* Reads on until the data has its full size; the archive library checks the sum at the end of it. */
static enum status read_record(zip_file_t *f, struct record *r, char *into)
{
    uint64_t have = 0;
    while (have < r->size) {
        zip_int64_t got = zip_fread(f, into + have, r->size - have);
        RETURN_IF(got <= 0, zip_status(zip_file_get_error(f), ST_BAD_BINARY),
                  "record \"%s\" of the DLC breaks off after %llu of %llu bytes: %s", r->name, (unsigned long long)have,
                  (unsigned long long)r->size,
                  got < 0 ? zip_error_strerror(zip_file_get_error(f)) : "it is shorter than it says");
        have += (uint64_t)got;
    }
    RETURN_IF(zip_fread(f, &(char){ 0 }, 1) != 0, ST_BAD_BINARY,
              "record \"%s\" of the DLC is damaged: its checksum or size is wrong", r->name);
    return ST_OK;
}

enum status convert_dlc_record(struct convert_dlc *d, uint32_t record, const void **ret)
{
    struct record *r = &d->records.at[record];
    if (!r->data) {
        zip_file_t *f = zip_fopen_index(d->zip, record, 0);
        RETURN_IF(!f, zip_status(zip_get_error(d->zip), ST_BAD_BINARY), "record \"%s\" of the DLC cannot be read: %s",
                  r->name, zip_strerror(d->zip));
        char *data = mem_alloc(r->size + 1);
        enum status st = data ? read_record(f, r, data)
                              : status_fail(ST_NO_MEMORY, "no memory for record \"%s\" of %llu bytes", r->name,
                                            (unsigned long long)r->size);
        zip_fclose(f);
        if (st != ST_OK) {
            mem_free(data);
            return st;
        }
        r->data = data;
    }
    *ret = r->data;
    return ST_OK;
}

static enum status part(struct convert_dlc *d, const char *name, struct dlc_part *ret)
{
    uint32_t at;
    const struct record *r = find_record(d, name, &at);
    if (!r)
        return ST_OK;
    ret->n = r->size;
    return convert_dlc_record(d, at, (const void **)&ret->at);
}

enum status convert_dlc_graphs(struct convert_dlc *d, struct convert_report *r, struct ir_graph *const **ret,
                               uint32_t *ret_n)
{
    struct dlc_parts parts = { 0 };
    if (!d->has_graphs) {
        TRY(part(d, DLC_MODEL, &parts.model));
        TRY(part(d, DLC_PARAMS, &parts.params));
        TRY(part(d, DLC_EXTRA, &parts.extra));
        TRY(part(d, DLC_SOURCES, &parts.sources));
        TRY(part(d, DLC_WEIGHTS, &parts.weights));
        if (parts.model.at)
            TRY(dlc_read_graphs(&parts, r, &d->graphs, &d->n_graphs));
        d->has_graphs = true;
    }
    *ret = d->graphs;
    *ret_n = d->n_graphs;
    return ST_OK;
}

/* ---- writing ---------------------------------------------------------------------------------------------------------- */

static zip_source_t *source_of(zip_t *z, const struct dlc_record *r)
{
    if (!r->pieces)
        return zip_source_buffer(z, r->data, r->size, 0);
    zip_buffer_fragment_t *list = mem_array(zip_buffer_fragment_t, r->n_pieces);
    for (uint32_t i = 0; list && i < r->n_pieces; i++)
        list[i] = (zip_buffer_fragment_t){ .data = (zip_uint8_t *)r->pieces[i].data, .length = r->pieces[i].size };
    zip_source_t *s = list ? zip_source_buffer_fragment(z, list, r->n_pieces, 0) : NULL; /* copies the list */
    mem_free(list);
    return s;
}

static enum status fill_zip(zip_t *z, const struct dlc_record *records, uint32_t n)
{
    enum { DATE_1980_01_01 = 1 << 5 | 1 };
    for (uint32_t i = 0; i < n; i++) {
        zip_source_t *s = source_of(z, &records[i]);
        zip_int64_t at = s ? zip_file_add(z, records[i].name, s, ZIP_FL_ENC_UTF_8) : -1;
        if (s && at < 0)
            zip_source_free(s);
        RETURN_IF(at < 0 || zip_set_file_compression(z, (zip_uint64_t)at, ZIP_CM_STORE, 0) != 0 ||
                      zip_file_set_dostime(z, (zip_uint64_t)at, 0, DATE_1980_01_01, 0) != 0,
                  zip_status(zip_get_error(z), ST_IO), "record \"%s\" cannot be written: %s", records[i].name,
                  zip_strerror(z));
    }
    return ST_OK;
}

static enum status write_archive(struct file_write *file, const struct dlc_record *records, uint32_t n)
{
    struct dlc_target target;
    zip_error_t error;
    zip_error_init(&error);

    zip_source_t *source = dlc_target_source(&target, file, &error);
    zip_t *z = source ? zip_open_from_source(source, ZIP_CREATE | ZIP_TRUNCATE, &error) : NULL;
    if (!z) {
        zip_source_free(source);
        return zip_failed(&error, "a new DLC");
    }

    enum status st = fill_zip(z, records, n);
    if (st == ST_OK && zip_close(z) == 0)
        return ST_OK;

    if (st == ST_OK && target.error)
        file->error = target.error; /* told by file_write_end */
    else if (st == ST_OK)
        st = status_fail(zip_status(zip_get_error(z), ST_IO), "%s cannot be written: %s", file->target, zip_strerror(z));
    zip_discard(z);
    return st;
}

enum status dlc_write_file(const char *path, const struct dlc_record *records, uint32_t n)
{
    CLEANUP(file_write_abort) struct file_write file = { 0 };
    TRY(file_write_begin(&file, path));
    TRY(write_archive(&file, records, n));
    return file_write_end(&file);
}

/* The archive that was written into `s`. */
static enum status take_image(zip_source_t *s, void **ret, size_t *ret_size)
{
    zip_stat_t stat;
    zip_stat_init(&stat);
    RETURN_IF(zip_source_open(s) != 0, ST_IO, "the image of a DLC cannot be read back: %s",
              zip_error_strerror(zip_source_error(s)));
    bool ok = zip_source_stat(s, &stat) == 0;
    void *data = ok ? mem_alloc(stat.size) : NULL;
    ok = data && zip_source_read(s, data, stat.size) == (zip_int64_t)stat.size;
    zip_source_close(s);
    if (!ok) {
        mem_free(data);
        return status_fail(ST_NO_MEMORY, "no memory for the image of a DLC");
    }
    *ret = data;
    *ret_size = stat.size;
    return ST_OK;
}

static enum status all_records(struct convert_dlc *d, struct dlc_record **ret)
{
    struct dlc_record *list = mem_array(struct dlc_record, d->records.n + 1);
    RETURN_IF(!list, ST_NO_MEMORY, "no memory for the records of a DLC");
    for (uint32_t i = 0; i < d->records.n; i++) {
        list[i] = (struct dlc_record){ .name = d->records.at[i].name, .size = d->records.at[i].size };
        enum status st = convert_dlc_record(d, i, &list[i].data);
        if (st != ST_OK) {
            mem_free(list);
            return st;
        }
    }
    *ret = list;
    return ST_OK;
}

enum status convert_dlc_save(struct convert_dlc *d, const char *path)
{
    CLEANUP(mem_freep) struct dlc_record *list = NULL;
    TRY(all_records(d, &list));
    return dlc_write_file(path, list, (uint32_t)d->records.n);
}

static enum status make_image(const struct dlc_record *list, uint32_t n, zip_source_t *s, void **ret, size_t *ret_size)
{
    zip_error_t e;
    zip_error_init(&e);
    zip_t *z = zip_open_from_source(s, ZIP_CREATE | ZIP_TRUNCATE, &e);
    if (!z) {
        zip_source_free(s);
        return zip_failed(&e, "a new DLC");
    }
    zip_source_keep(s); /* closing the archive gives up its own hold */
    enum status st = fill_zip(z, list, n);
    if (st == ST_OK && zip_close(z) != 0)
        st = status_fail(zip_status(zip_get_error(z), ST_IO), "the image of a DLC cannot be made: %s", zip_strerror(z));
    if (st != ST_OK)
        zip_discard(z);
    else
        st = take_image(s, ret, ret_size);
    zip_source_free(s);
    return st;
}

enum status convert_dlc_image(struct convert_dlc *d, void **ret, size_t *ret_size)
{
    zip_error_t e;
    zip_error_init(&e);
    CLEANUP(mem_freep) struct dlc_record *list = NULL;
    TRY(all_records(d, &list));
    zip_source_t *s = zip_source_buffer_create(NULL, 0, 0, &e);
    return s ? make_image(list, (uint32_t)d->records.n, s, ret, ret_size) : zip_failed(&e, "a new DLC");
}
