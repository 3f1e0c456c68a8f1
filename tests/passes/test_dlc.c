/* SPDX-License-Identifier: Apache-2.0 */
/* convert/dlc: a graph written and read again is the same text; the container as other programs see it; what is refused, and
 * how. Damaged containers are made here with the archive library itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zip.h>

#include <cmocka.h>

#include "convert/convert.h"
#include "random_graph.h"
#include "test_scale.h"

enum { RANDOM_GRAPHS = 300 };
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static char dir[256];

static const char *path_of(const char *name)
{
    static char path[2][400];
    static int turn;
    turn ^= 1;
    snprintf(path[turn], sizeof path[turn], "%s/%s", dir, name);
    return path[turn];
}

static int make_dir(void **state)
{
    (void)state;
    const char *tmp = getenv("TMPDIR");
    snprintf(dir, sizeof dir, "%s/openqnn-dlc-XXXXXX", tmp ? tmp : "/tmp");
    return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
    (void)state;
    unlink(path_of("m.dlc"));
    unlink(path_of("bad.dlc"));
    unlink(path_of("copy.dlc"));
    return rmdir(dir);
}

static void ok(enum status st)
{
    if (st != ST_OK)
        fail_msg("%s: %s", status_name(st), status_text());
}

static struct ir_graph *parse(const char *text)
{
    struct ir_graph *g = NULL;
    ok(ir_parse(text, strlen(text), &g));
    return g;
}

static void write_m(const struct ir_graph *const *graphs, uint32_t n)
{
    struct convert_write w = { .prefix = path_of("m"), .command = "convert --this\n--that" };
    ok(convert_write_dlc(graphs, n, &w));
}

static void texts_equal(const struct ir_graph *a, const struct ir_graph *b)
{
    struct str x, y;
    str_init(&x);
    str_init(&y);
    ir_print(a, SIZE_MAX, &x);
    ir_print(b, SIZE_MAX, &y);
    assert_string_equal(str_text(&x), str_text(&y));
    str_finish(&x);
    str_finish(&y);
}

/* ---- there and back --------------------------------------------------------------------------------------------------- */

#define CONV                                                                                                         \
    "graph \"net\" { in %x : uq8[1,4,4,3] scale=0.5 offset=-128\n"                                                   \
    "const %w : sq8[2,2,3,2] quant=2 axis=3 scales=(0.5,0.25) = (1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,8,9,1,2,3,4,5,6)\n" \
    "const %b : sq32[2] scale=0.25 offset=0 = (100,5)\n"                                                             \
    "tmp %t : uq8[1,4,4,2] scale=1 offset=-3 out %y : uq8[1,4,4,2] scale=0.5 offset=-128\n"                          \
    "%t = Conv2d \"c\" (%x, %w, %b) { stride=u32[2](1,1), pad_amount=u32[2,2](0,1,1,0), group=u32(1), "              \
    "dilation=u32[2](1,1) }\n"                                                                                       \
    "%y = Relu \"r\" (%t) }"
static const char *const texts[] = {
    CONV,
    "graph \"empty\" { }",
    "graph \"scalars\" { in %x : f32[2,3] tmp %t : f32[2,3] out %y : f32[2,3]\n"
    "%t = Softmax \"s\" (%x) { axis=u32(1), beta=f32(0.5) } %y = ReluMinMax \"m\" (%t) { min_value=f32(-1), "
    "max_value=f32(inf) } }",
    "graph \"types\" { in %x : i64[2] const %a : i64[2] = (-9223372036854775808,9223372036854775807) const %h : f16[3] = "
    "x\"003c00c00001\"\n"
    "const %q : sq4[3] scale=1 offset=0 = x\"210f\" const %s : f32[] = (1.5) const %e : u8[3] = (1,2,3) out %y : i64[2]\n"
    "%y = ElementWiseAdd \"add\" (%x, %a) }",
    "graph \"encodings\" { in %a : uq16[?2,3,?4] scale=1 offset=-32768 bits=12 mapping=1 def=0 optional\n"
    "in %b : sq8[2,4] quant=2 axis=1 scales=(1,2,3,4) offsets=(0,-1,2,3) format=3\n"
    "in %c : sq8[4,4] quant=3 axis=0 block=(2,4) scales=(1,2) offsets=(0,0)\n"
    "in %d : sq4[2,4] quant=4 axis=0 scales=(1,2) offsets=(0,0) blocks=2 block_bits=4 block_scales8=(1,2,3,4)\n"
    "in %e : sq4[2,4] quant=4 axis=0 scales=(1,2) blocks=2 block_bits=12 block_scales16=(1,2,3,4095)\n"
    "in %f : sq8[4,4] quant=6 axis=0 block=(2,4) scales=(1,2) foffsets=(0.5,-0.5)\n"
    "in %g : uq8[2] scale=1 offset=0 def=2 in %h : uq8[2] scale=2 offset=1 bits=8 in %i : sq8[2,2] quant=2 axis=0 bits=4 "
    "scales=(1,2)\n"
    "inout %s : f32[2] absent %n : none[] const %u : f32[1] updateable = (7) in %j : sq32[1] scale=0 offset=0 def=2\n }",
    "graph \"a \\\"b\\\\ ü\" { in %\"a b\" : f32[1,4] const %w : f32[3,4] = (1,2,3,4,5,6,7,8,9,10,11,12) out %y : f32[1,3] "
    "out %p : f32[1,1] out %q : f32[1,3]\n"
    "%y = FullyConnected \"\" (%\"a b\", %w, _) %p, %q = Split \"split\" (%\"a b\") { axis=u32(1), split_index=u32[1](1) } "
    "}",
};

static void come_back(uint64_t inline_max)
{
    for (size_t i = 0; i < COUNT(texts); i++) {
        struct ir_graph *g = parse(texts[i]);
        struct ir_graph *const *back;
        struct convert_dlc *d;
        uint32_t n;
        struct convert_write w = { .prefix = path_of("m"), .inline_max = inline_max };
        ok(convert_write_dlc((const struct ir_graph *const *)&g, 1, &w));
        ok(convert_dlc_open(path_of("m.dlc"), &d));
        ok(convert_dlc_graphs(d, NULL, &back, &n));
        assert_int_equal(n, 1);
        texts_equal(g, back[0]);
        convert_dlc_close(d);
        ir_graph_free(g);
    }
}

static void texts_come_back(void **state)
{
    (void)state;
    come_back(0);
}

/* A limit that everything is above stands for the 2 GiB of a flatbuffer: constants lie in a record of their own, also when
 * the container is copied. */
static void constants_outside(void **state)
{
    (void)state;
    come_back(1);
    const uint32_t rows = 1000;
    struct ir_graph *const *back, *g[2] = {
        parse(CONV),
        parse("graph \"other\" { const %k : i64[3] = (1,2,3) const %c : u8[1] = (7) const %f : f32[2] = (0.5,-1) }")
    };
    struct convert_write w = { .prefix = path_of("m"), .inline_max = rows };
    struct convert_dlc *d;
    uint32_t n;
    ok(convert_write_dlc((const struct ir_graph *const *)g, 2, &w));
    ok(convert_dlc_open(path_of("m.dlc"), &d));
    ok(convert_dlc_save(d, path_of("copy.dlc")));
    convert_dlc_close(d);
    ok(convert_dlc_open(path_of("copy.dlc"), &d));
    ok(convert_dlc_graphs(d, NULL, &back, &n));
    assert_int_equal(n, 2);
    texts_equal(g[0], back[0]);
    texts_equal(g[1], back[1]);
    convert_dlc_close(d);
    ir_graph_free(g[0]);
    ir_graph_free(g[1]);
}

static void random_graphs_come_back(void **state)
{
    (void)state;
    for (unsigned seed = 0; seed < test_scale(RANDOM_GRAPHS); seed++) {
        struct random_graph r;
        struct ir_graph *const *back;
        struct convert_dlc *d;
        uint32_t n;
        ok(random_graph_make(&r, seed, 12));
        write_m((const struct ir_graph *const *)&r.g, 1);
        ok(convert_dlc_open(path_of("m.dlc"), &d));
        ok(convert_dlc_graphs(d, NULL, &back, &n));
        texts_equal(r.g, back[0]);
        convert_dlc_close(d);
        random_graph_free(&r);
    }
}

/* Several graphs, the image in memory, a saved copy, and the same bytes every time. */
static void containers(void **state)
{
    (void)state;
    struct ir_graph *g[3] = { parse(texts[0]), parse(texts[2]), parse(texts[4]) };
    struct ir_graph *const *back;
    struct convert_dlc *d, *e, *f;
    void *image, *again;
    size_t size, size_again;
    uint32_t n;
    write_m((const struct ir_graph *const *)g, 3);
    ok(convert_dlc_open(path_of("m.dlc"), &d));
    assert_int_equal(convert_dlc_count(d), 4);
    assert_string_equal(convert_dlc_name(d, 0), "dlc.metadata");
    const void *text;
    ok(convert_dlc_record(d, 0, &text));
    assert_int_equal(convert_dlc_size(d, 0), strlen("model-version=\nconverter-command=convert --this --that\n"));
    assert_memory_equal(text, "model-version=\nconverter-command=convert --this --that\n", convert_dlc_size(d, 0));
    ok(convert_dlc_image(d, &image, &size));
    ok(convert_dlc_save(d, path_of("copy.dlc")));
    convert_dlc_close(d);
    ok(convert_dlc_open_data(image, size, &e));
    ok(convert_dlc_open(path_of("copy.dlc"), &f));
    ok(convert_dlc_image(f, &again, &size_again));
    assert_int_equal(size, size_again);
    assert_memory_equal(image, again, size);
    struct convert_dlc *both[] = { e, f };
    for (int k = 0; k < 2; k++) {
        ok(convert_dlc_graphs(both[k], NULL, &back, &n));
        assert_int_equal(n, 3);
        for (uint32_t i = 0; i < n; i++)
            texts_equal(g[i], back[i]);
        convert_dlc_close(both[k]);
    }
    ok(convert_dlc_create(&d));
    ok(convert_dlc_graphs(d, NULL, &back, &n));
    assert_int_equal(n, 0);
    convert_dlc_close(d);
    free(image);
    free(again);
    for (int i = 0; i < 3; i++)
        ir_graph_free(g[i]);
}

/* ---- refused ---------------------------------------------------------------------------------------------------------- */

/* bad.dlc: m.dlc with one record replaced; data NULL: left out. */
static void replace(const char *name, const void *data, size_t size)
{
    struct convert_dlc *d;
    const void *bytes;
    int code;
    ok(convert_dlc_open(path_of("m.dlc"), &d));
    zip_t *z = zip_open(path_of("bad.dlc"), ZIP_CREATE | ZIP_TRUNCATE, &code);
    assert_non_null(z);
    for (uint32_t i = 0; i < convert_dlc_count(d); i++) {
        ok(convert_dlc_record(d, i, &bytes));
        bool other = strcmp(convert_dlc_name(d, i), name) == 0;
        if (other && !data)
            continue;
        zip_source_t *s = zip_source_buffer(z, other ? data : bytes, other ? size : convert_dlc_size(d, i), 0);
        assert_true(s && zip_file_add(z, convert_dlc_name(d, i), s, 0) >= 0);
    }
    assert_int_equal(zip_close(z), 0);
    convert_dlc_close(d);
}

static enum status read_bad(struct convert_report *r)
{
    struct ir_graph *const *back;
    struct convert_dlc *d;
    uint32_t n;
    status_clear();
    enum status st = convert_dlc_open(path_of("bad.dlc"), &d);
    if (st != ST_OK)
        return st;
    st = convert_dlc_graphs(d, r, &back, &n);
    convert_dlc_close(d);
    return st;
}

static void refused(enum status st, const char *says)
{
    enum status got = read_bad(NULL);
    if (got != st || !strstr(status_text(), says))
        fail_msg("%s: %s; wanted %s with \"%s\"", status_name(got), status_text(), status_name(st), says);
}

/* The bytes of a record of m.dlc, to be changed. */
static uint8_t *record_of(const char *name, size_t *size)
{
    struct convert_dlc *d;
    const void *bytes;
    uint8_t *copy = NULL;
    ok(convert_dlc_open(path_of("m.dlc"), &d));
    for (uint32_t i = 0; i < convert_dlc_count(d); i++)
        if (strcmp(convert_dlc_name(d, i), name) == 0) {
            ok(convert_dlc_record(d, i, &bytes));
            *size = convert_dlc_size(d, i);
            copy = malloc(*size);
            assert_non_null(copy);
            memcpy(copy, bytes, *size);
        }
    convert_dlc_close(d);
    assert_non_null(copy);
    return copy;
}

static void write_bytes_to(const char *name, const void *data, size_t n)
{
    FILE *f = fopen(path_of(name), "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, n, f), n);
    fclose(f);
}

static uint8_t *find_bytes(uint8_t *in, size_t n, const char *what)
{
    uint8_t *at = memmem(in, n, what, strlen(what));
    assert_non_null(at);
    return at;
}

static void versions_and_identifiers(void **state)
{
    (void)state;
    struct ir_graph *g = parse(CONV);
    write_m((const struct ir_graph *const *)&g, 1);
    ir_graph_free(g);
    size_t n;
    uint8_t *m = record_of("model", &n);
    m[2] = 3;
    replace("model", m, n);
    refused(ST_BINARY_VERSION, "version 3");
    m[2] = 2;
    replace("model", m, n);
    refused(ST_BINARY_VERSION, "version 2");
    m[2] = 5;
    replace("model", m, n);
    refused(ST_BINARY_VERSION, "version 5");
    replace("model", m + 8, n - 8);
    refused(ST_BINARY_VERSION, "SNPE 1");
    m[2] = 4;
    m[0] = 0;
    replace("model", m, n);
    refused(ST_BAD_BINARY, "D5 0A");
    m[0] = 0xD5;
    memcpy(m + 12, "NETX", 4);
    replace("model", m, n);
    refused(ST_BAD_BINARY, "NETX");
    replace("model", m, 10);
    refused(ST_BAD_BINARY, "10 bytes");
    memcpy(m + 12, "NETD", 4);
    replace("model", m, n);
    ok(read_bad(NULL));
    replace("model.params", NULL, 0);
    refused(ST_BAD_BINARY, "has no data");
    free(m);
}

static void wrong_contents(void **state)
{
    (void)state;
    struct ir_graph *g = parse(CONV);
    write_m((const struct ir_graph *const *)&g, 1);
    ir_graph_free(g);
    static const struct {
        const char *find, *put, *says;
    } cases[] = {
        { "stride", "strixe", "strixe" },             /* an attribute that the operator does not have */
        { "pad_amount", "dilation__", "dilation__" },
        { "c_stride", "c_xtride", "c_xtride" },       /* no data under that name */
    };
    size_t n;
    for (size_t i = 0; i < COUNT(cases); i++) {
        uint8_t *m = record_of("model", &n);
        /* attribute names are terminated texts: not the end of "c_stride" */
        for (uint8_t *at = find_bytes(m, n, cases[i].find); at;
             at = memmem(at + 1, n - (size_t)(at + 1 - m), cases[i].find, strlen(cases[i].find)))
            if (cases[i].find[1] == '_' || at[-1] == 0)
                memcpy(at, cases[i].put, strlen(cases[i].put));
        replace("model", m, n);
        refused(ST_BAD_BINARY, cases[i].says);
        free(m);
    }
    /* Operators that do not exist are all reported. */
    uint8_t *m = record_of("model", &n);
    memcpy(find_bytes(m, n, "Relu"), "Rolu", 4);
    memcpy(find_bytes(m, n, "Conv2d"), "Conv9d", 6);
    replace("model", m, n);
    struct convert_report r;
    convert_report_init(&r);
    assert_int_equal(read_bad(&r), ST_NOT_SUPPORTED);
    assert_int_equal(r.issues.n, 2);
    assert_string_equal(r.issues.at[0].op, "Conv9d");
    assert_string_equal(r.issues.at[1].op, "Rolu");
    assert_string_equal(r.issues.at[1].node, "r");
    convert_report_finish(&r);
    free(m);
}

/* Every cut and every single changed byte is refused with a reason, or harmless; the sanitizers see the rest. */
static void cuts_and_changes(void **state)
{
    (void)state;
    struct ir_graph *g = parse(CONV);
    write_m((const struct ir_graph *const *)&g, 1);
    ir_graph_free(g);
    static const char *const names[] = { "model", "model.params" };
    for (int k = 0; k < 2; k++) {
        size_t n;
        uint8_t *m = record_of(names[k], &n);
        for (size_t i = 0; i < n; i += 1 + n / 200) {
            replace(names[k], m, i);
            assert_int_not_equal(read_bad(NULL), ST_OK);
            assert_string_not_equal(status_text(), "");
            m[i] ^= 0xff;
            replace(names[k], m, n);
            if (read_bad(NULL) != ST_OK)
                assert_string_not_equal(status_text(), "");
            m[i] ^= 0xff;
        }
        free(m);
    }
}

static void archives(void **state)
{
    (void)state;
    struct convert_dlc *d;
    static uint8_t zeros[1 << 20];
    int code;
    assert_int_equal(convert_dlc_open(path_of("absent.dlc"), &d), ST_IO);
    assert_int_equal(convert_dlc_open_data("PK\3\4", 4, &d), ST_BAD_BINARY);
    assert_int_equal(convert_dlc_open_data(zeros, sizeof zeros, &d), ST_BAD_BINARY);
    write_bytes_to("bad.dlc", "", 0);
    assert_int_equal(convert_dlc_open(path_of("bad.dlc"), &d), ST_BAD_BINARY);
    /* An archive of something else. */
    unlink(path_of("bad.dlc"));
    zip_t *z = zip_open(path_of("bad.dlc"), ZIP_CREATE, &code);
    assert_true(zip_file_add(z, "mimetype", zip_source_buffer(z, "x", 1, 0), 0) >= 0);
    assert_int_equal(zip_close(z), 0);
    refused(ST_BAD_BINARY, "this is not a DLC");
    /* 32 MiB that come out of 32 KiB. */
    z = zip_open(path_of("bad.dlc"), ZIP_CREATE | ZIP_TRUNCATE, &code);
    for (int i = 0; i < 32; i++) {
        char name[20];
        snprintf(name, sizeof name, i ? "model.%d" : "model", i);
        assert_true(zip_file_add(z, name, zip_source_buffer(z, zeros, sizeof zeros, 0), 0) >= 0);
    }
    assert_int_equal(zip_close(z), 0);
    refused(ST_BAD_BINARY, "claims to hold more");
    /* A wrong checksum. */
    struct ir_graph *g = parse(CONV);
    write_m((const struct ir_graph *const *)&g, 1);
    FILE *f = fopen(path_of("m.dlc"), "rb");
    size_t n = fread(zeros, 1, sizeof zeros, f);
    fclose(f);
    find_bytes(zeros, n, "Conv2d")[0] ^= 1;
    write_bytes_to("bad.dlc", zeros, n);
    refused(ST_BAD_BINARY, "damaged");
    struct convert_write w = { .prefix = path_of("no/such/m") };
    assert_int_equal(convert_write_dlc((const struct ir_graph *const *)&g, 1, &w), ST_IO);
    ir_graph_free(g);
}

/* On a full disk the former file stays, and through a link it is the file behind it that is replaced. */
static void full_disk(void **state)
{
    (void)state;
    struct ir_graph *g = parse(CONV);
    struct rlimit l = { 700, RLIM_INFINITY };
    struct stat link, file;
    struct convert_write w = { .prefix = path_of("m") };
    write_bytes_to("m.dlc", "former", 6);

    assert_int_equal(setrlimit(RLIMIT_FSIZE, &l), 0);
    enum status st = convert_write_dlc((const struct ir_graph *const *)&g, 1, &w);
    l.rlim_cur = RLIM_INFINITY;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &l), 0);
    assert_int_equal(st, ST_IO);
    assert_non_null(strstr(status_text(), "the former file is as it was"));
    assert_int_equal(stat(path_of("m.dlc"), &file), 0);
    assert_int_equal(file.st_size, 6);

    unlink(path_of("copy.dlc"));
    assert_int_equal(symlink("m.dlc", path_of("copy.dlc")), 0);
    w.prefix = path_of("copy");
    ok(convert_write_dlc((const struct ir_graph *const *)&g, 1, &w));
    assert_int_equal(lstat(path_of("copy.dlc"), &link), 0);
    assert_true(S_ISLNK(link.st_mode));
    assert_int_equal(stat(path_of("m.dlc"), &file), 0);
    assert_true(file.st_size > 700);
    unlink(path_of("copy.dlc"));
    ir_graph_free(g);
}

static void weights_cut_off(void **state)
{
    (void)state;
    struct ir_graph *g = parse(CONV);
    struct convert_write w = { .prefix = path_of("m"), .inline_max = 1 };
    uint8_t bytes[72] = { 0 }; /* 24 of the weights, then from 64 on 8 of the bias */
    ok(convert_write_dlc((const struct ir_graph *const *)&g, 1, &w));
    replace("openqnn.weights", bytes, sizeof bytes);
    ok(read_bad(NULL));
    replace("openqnn.weights", bytes, sizeof bytes - 1);
    refused(ST_BAD_BINARY, "8 bytes from byte 64 of record \"openqnn.weights\" on, which has 71");
    replace("openqnn.weights", bytes, 10);
    refused(ST_BAD_BINARY, "24 bytes from byte 0");
    replace("openqnn.weights", NULL, 0);
    refused(ST_BAD_BINARY, "has no data for it");
    ir_graph_free(g);
}

static void only_converted_graphs(void **state)
{
    (void)state;
    static const char *const prepared[] = {
        "graph \"g\" { in %x : f32[2] out %y : f32[2] %y = Relu \"r\" (%x) clamp (0,1) }",
        "graph \"g\" { const %w : f32[2] stripped }",
    };
    for (size_t i = 0; i < COUNT(prepared); i++) {
        struct ir_graph *g = parse(prepared[i]);
        struct convert_write w = { .prefix = path_of("m") };
        assert_int_equal(convert_write_dlc((const struct ir_graph *const *)&g, 1, &w), ST_INVALID_ARG);
        ir_graph_free(g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_come_back),
        cmocka_unit_test(constants_outside),
        cmocka_unit_test(random_graphs_come_back),
        cmocka_unit_test(full_disk),
        cmocka_unit_test(containers),
        cmocka_unit_test(versions_and_identifiers),
        cmocka_unit_test(wrong_contents),
        cmocka_unit_test(cuts_and_changes),
        cmocka_unit_test(archives),
        cmocka_unit_test(weights_cut_off),
        cmocka_unit_test(only_converted_graphs),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
