/* SPDX-License-Identifier: Apache-2.0 */
/* The event tree behind a profile handle, and the log file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "profile/profile.h"

static void test_tree(void **state)
{
    (void)state;
    struct prof *p;
    uint32_t ids[4];
    assert_int_equal(prof_create(PROF_DETAILED, &p), ST_OK);
    assert_int_equal(prof_level(p), PROF_DETAILED);
    int32_t top = prof_add(p, PROF_ROOT, PROF_EXECUTE, PROF_UNIT_US, 1, "execute");
    for (int i = 0; i < 1000; i++)
        assert_int_equal(prof_add(p, top, PROF_NODE, PROF_UNIT_US, (uint64_t)i, i % 2 ? "odd" : "even"), i + 1);
    prof_set(p, top, 77);
    assert_int_equal(prof_at(p, 0)->value, 77);
    assert_int_equal(prof_children(p, PROF_ROOT, ids, 4), 1);
    assert_int_equal(prof_children(p, top, ids, 4), 1000);
    assert_int_equal(ids[3], 4);
    assert_ptr_equal(prof_at(p, 1)->name, prof_at(p, 3)->name); /* a name is kept once */
    assert_int_equal(prof_children(p, 17, NULL, 0), 0);
    assert_int_equal(prof_children(p, 4711, NULL, 0), 0);
    assert_null(prof_at(p, 1001));

    /* A new call: old ids stay, the list of top-level events starts anew. */
    const struct prof_event *old = prof_at(p, 5);
    prof_reset(p);
    assert_int_equal(prof_children(p, PROF_ROOT, ids, 4), 0);
    int32_t next = prof_add(p, PROF_ROOT, PROF_DEINIT, PROF_UNIT_US, 2, "deinit");
    assert_int_equal(prof_children(p, PROF_ROOT, ids, 4), 1);
    assert_int_equal(ids[0], next);
    assert_ptr_equal(prof_at(p, 5), old);
    assert_string_equal(old->name, "even");
    assert_int_equal(prof_children(p, top, ids, 4), 1000);
    prof_free(p);
    prof_free(NULL);
}

/* Names that are put together are never cut, so two that differ at their ends are two, also in a log. */
static void test_long_names(void **state)
{
    (void)state;
    enum { LENGTHS = 4 };
    static const size_t lengths[LENGTHS] = { 1, 500, 512, 100000 };
    static char long_name[100001];
    struct prof *p;

    assert_int_equal(prof_create(PROF_DETAILED, &p), ST_OK);
    for (int i = 0; i < LENGTHS; i++) {
        char expected[20];

        memset(long_name, 'x', lengths[i]);
        long_name[lengths[i]] = 0;
        for (int op = 0; op < 2; op++) {
            int32_t e = prof_addf(p, PROF_ROOT, PROF_NODE, PROF_UNIT_US, 1, "%s:OpId_%d (us)", long_name, op);
            const char *name = prof_at(p, (uint32_t)e)->name;

            snprintf(expected, sizeof expected, ":OpId_%d (us)", op);
            assert_int_equal(strlen(name), lengths[i] + strlen(expected));
            assert_memory_equal(name, long_name, lengths[i]);
            assert_string_equal(name + lengths[i], expected);
        }
    }
    prof_free(p);
}

/* Two members of a chain take turns in two commands, a third node has tiles on two threads, a fourth is in no mark. */
static void test_nodes(void **state)
{
    (void)state;
    const struct prof_mark marks[] = { { 100, 140, 0, 0 }, { 140, 150, 1, 0 }, { 150, 180, 0, 0 }, { 180, 200, 1, 0 },
                                       { 200, 260, 2, 0 }, { 205, 250, 2, 1 }, { 250, 300, 2, 1 }, { 0, 9, 77, 0 } };
    struct prof_node_time t[4] = { { 0 } };
    for (uint64_t run = 1; run <= 2; run++) {
        prof_nodes_start(t, 4);
        prof_nodes_add(t, 4, marks, sizeof marks / sizeof *marks);
        assert_int_equal(t[0].ns, 70 * run);
        assert_int_equal(t[1].ns, 30 * run);
        assert_int_equal(t[2].ns, 100 * run);
        assert_int_equal(t[3].ns, 0);
        assert_int_equal(t[1].begin_ns, 140);
        assert_true(t[3].begin_ns == UINT64_MAX);
    }
}

static void test_limit(void **state)
{
    (void)state;
    struct prof *p;
    assert_int_equal(prof_create(PROF_BASIC, &p), ST_OK);
    prof_limit(p, 2);
    for (int call = 0; call < 3; call++) {
        prof_reset(p);
        assert_true(prof_add(p, PROF_ROOT, 0, 0, 0, "a") >= 0);
        assert_true(prof_add(p, PROF_ROOT, 0, 0, 0, "b") >= 0);
        int32_t dropped = prof_add(p, PROF_ROOT, 0, 0, 0, "c");
        assert_int_equal(dropped, -2);
        assert_int_equal(prof_add(p, dropped, 0, 0, 0, "child of it"), -2);
        assert_int_equal(prof_dropped(p), 2);
        prof_set(p, dropped, 1);
    }
    assert_int_equal(prof_count(p), 6);
    prof_free(p);
}

static uint8_t *read_all(const char *path, size_t *size)
{
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    uint8_t *data = malloc(1 << 16);
    assert_non_null(data);
    *size = fread(data, 1, 1 << 16, f);
    fclose(f);
    return data;
}

static void write_log(const char *path)
{
    struct prof_log_writer *w;
    struct prof_log_header h = { .app_name = "app", .backend_version = "1.1.0" };
    struct prof_event e[2] = { { .type = PROF_EXECUTE,
                                 .unit = PROF_UNIT_US,
                                 .value = UINT64_MAX,
                                 .timestamp_us = 9,
                                 .name = "total",
                                 .parent = PROF_ROOT },
                               { .type = PROF_NODE, .unit = PROF_UNIT_CYCLES, .value = 3, .name = "", .parent = 0 } };
    struct prof_log_record r[2] = {
        { .method = 6 },
        { .method = 1, .graph = 2, .graph_name = "net", .start_us = 5, .stop_us = 8, .n_events = 2, .events = e }
    };
    assert_int_equal(prof_log_create(path, &h, &w), ST_OK);
    assert_int_equal(prof_log_append(w, &r[0]), ST_OK);
    assert_int_equal(prof_log_append(w, &r[1]), ST_OK);
    assert_int_equal(prof_log_close(w), ST_OK);
}

static void test_log(void **state)
{
    (void)state;
    char path[] = "/tmp/openqnn-log-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    write_log(path);
    size_t size;
    uint8_t *data = read_all(path, &size);
    unlink(path);
    struct prof_log log;
    assert_int_equal(prof_log_read(data, size, &log), ST_OK);
    assert_string_equal(log.header.app_name, "app");
    assert_null(log.header.app_version);
    assert_int_equal(log.n_records, 2);
    assert_null(log.records[0].graph_name);
    const struct prof_log_record *r = &log.records[1];
    assert_string_equal(r->graph_name, "net");
    assert_int_equal(r->graph, 2);
    assert_int_equal(r->stop_us, 8);
    assert_int_equal(r->n_events, 2);
    assert_true(r->events[0].value == UINT64_MAX);
    assert_string_equal(r->events[0].name, "total");
    assert_int_equal(r->events[1].parent, 0);
    assert_string_equal(prof_unit_name(r->events[1].unit), "cycles");
    prof_log_free(&log);

    /* A flipped bit is seen everywhere but in the reserved field; a cut file is refused unless cut between records. */
    for (size_t i = 0; i < size; i++) {
        data[i] ^= 1;
        if (prof_log_read(data, size, &log) == ST_OK)
            prof_log_free(&log);
        data[i] ^= 1;
    }
    unsigned whole = 0;
    for (size_t n = 0; n < size; n++) {
        if (prof_log_read(data, n, &log) != ST_OK)
            continue;
        whole++;
        prof_log_free(&log);
    }
    assert_int_equal(whole, 3);
    data[4] = 2;
    assert_int_equal(prof_log_read(data, size, &log), ST_BINARY_VERSION);
    free(data);
}

static void limit(rlim_t bytes)
{
    struct rlimit l = { bytes, RLIM_INFINITY };
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &l), 0);
}

/* On a full disk the former log stays until the new one has begun, and that one keeps its whole records. */
static void test_log_full_disk(void **state)
{
    (void)state;
    char path[] = "/tmp/openqnn-log-XXXXXX";
    struct prof_log_writer *w;
    struct prof_log_header h = { .app_name = "an application with a long name" };
    struct prof_log_record r = { .method = 6, .graph_name = "net" };
    struct prof_log log;
    size_t size, begun;
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "former", 6), 6);
    close(fd);

    limit(20);
    assert_int_equal(prof_log_create(path, &h, &w), ST_IO);
    limit(RLIM_INFINITY);
    uint8_t *data = read_all(path, &size);
    assert_int_equal(size, 6);
    assert_memory_equal(data, "former", 6);
    free(data);

    assert_int_equal(prof_log_create(path, &h, &w), ST_OK);
    assert_int_equal(prof_log_append(w, &r), ST_OK);
    free(read_all(path, &begun));
    for (size_t room = 0; room < 60; room += 7) {
        limit(begun + room);
        enum status st = prof_log_append(w, &r);
        limit(RLIM_INFINITY);
        assert_true(st == ST_OK || st == ST_IO);
        data = read_all(path, &size);
        assert_int_equal(prof_log_read(data, size, &log), ST_OK);
        prof_log_free(&log);
        free(data);
        free(read_all(path, &begun));
    }
    assert_int_equal(prof_log_append(w, &r), ST_OK);
    assert_int_equal(prof_log_close(w), ST_OK);
    data = read_all(path, &size);
    assert_int_equal(prof_log_read(data, size, &log), ST_OK);
    assert_true(log.n_records >= 2);
    prof_log_free(&log);
    free(data);
    unlink(path);
}

static void test_log_nowhere(void **state)
{
    (void)state;
    struct prof_log_writer *w;
    assert_int_equal(prof_log_create("/nonexistent/folder/log", &(struct prof_log_header){}, &w), ST_IO);
    assert_non_null(strstr(status_text(), "/nonexistent/folder/log"));
    assert_int_equal(prof_log_close(NULL), ST_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_tree),       cmocka_unit_test(test_long_names),
                                        cmocka_unit_test(test_nodes),      cmocka_unit_test(test_limit),
                                        cmocka_unit_test(test_log),        cmocka_unit_test(test_log_full_disk),
                                        cmocka_unit_test(test_log_nowhere) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
