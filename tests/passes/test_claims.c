/* SPDX-License-Identifier: Apache-2.0 */
/* What a context binary says about itself and a reader does not believe: its checksums, and how much memory it needs. */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include <cmocka.h>
#include <zlib.h>

#include "binary/binary_format.h"
#include "exec/exec.h"
#include "handmade.h"

/* The checksum is that of zlib, whatever instructions compute it. */
static void test_checksum(void **state)
{
    (void)state;
    enum { MOST = 700, STARTS = 16 };
    uint8_t bytes[MOST + STARTS];
    for (uint32_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * 2654435761u >> 21);

    for (uint32_t start = 0; start < STARTS; start++)
        for (uint32_t n = 0; n <= MOST; n++)
            assert_int_equal(bin_crc(bytes + start, n), crc32_z(0, bytes + start, n));
}

/* ---- memory ----------------------------------------------------------------------------------------------------------- */

static struct handmade made;

static const uint64_t bomb = UINT64_C(4194304000);

static void claim_scratch(struct binary_graph_info *i)
{
    i->scratch_bytes = bomb;
}
static void claim_persistent(struct binary_graph_info *i)
{
    i->persistent_bytes = bomb;
}
static void claim_spill(struct binary_graph_info *i)
{
    i->spill_fill_bytes = bomb;
}
static void claim_window(struct binary_graph_info *i)
{
    i->vtcm_bytes = i->vtcm_used = bomb;
}

/* A file of a few kilobytes that asks for gigabytes which no operator uses. */
static void test_bombs(void **state)
{
    (void)state;
    static const struct {
        void (*claim)(struct binary_graph_info *info);
        const char *says;
    } bombs[] = { { claim_scratch, "scratch memory" },
                  { claim_persistent, "persistent memory" },
                  { claim_spill, "spill-fill buffer" },
                  { claim_window, "fast memory" } };
    for (size_t i = 0; i < sizeof bombs / sizeof bombs[0]; i++) {
        struct binary_image im;
        struct binary b;
        hm_make(&made, "net", 2, 3);
        bombs[i].claim(&made.src.info);
        assert_int_equal(binary_write(&made.target, &made.src, &im), ST_OK);
        assert_in_range(im.size, 1, 8192);
        if (binary_open(im.data, im.size, &b) != ST_BAD_BINARY)
            fail_msg("4 GB of %s were believed", bombs[i].says);
        if (!strstr(status_text(), bombs[i].says) || !strstr(status_text(), "4194304000"))
            fail_msg("%s", status_text());
        binary_image_free(&im);
    }
}

/* A tensor that no operator names does not count, however large it says it is. */
static void test_unused_tensor(void **state)
{
    (void)state;
    struct binary_image im;
    struct binary b;
    struct binary_tensor tensors[HM_TENSORS + 1];
    const void *data[HM_TENSORS + 1] = { 0 };
    hm_make(&made, "net", 2, 3);
    memcpy(tensors, made.tensors, sizeof made.tensors);
    memcpy(data, made.data, sizeof made.data);
    tensors[HM_TENSORS] = hm_tensor("huge", 1 << 15, 1 << 15);
    tensors[HM_TENSORS].place = PLACE_PERSISTENT;
    made.src.tensors = tensors;
    made.src.data = data;
    made.src.n_tensors++;
    made.src.info.persistent_bytes = tensors[HM_TENSORS].bytes;
    assert_int_equal(binary_write(&made.target, &made.src, &im), ST_OK);
    assert_int_equal(binary_open(im.data, im.size, &b), ST_BAD_BINARY);
    binary_image_free(&im);
}

/* The largest amount of memory that the process ever had. */
static uint64_t peak_bytes(void)
{
    struct rusage u;
    assert_int_equal(getrusage(RUSAGE_SELF, &u), 0);
    return (uint64_t)u.ru_maxrss * 1024;
}

/* y = transpose(relu(relu(x))) of floats, with what lies between in the given place. */
static enum status load_large(enum binary_place place, uint32_t side)
{
    struct binary_image im;
    struct binary b;
    struct exec_program *p;
    struct exec_opts o = { 0 };
    hm_make(&made, "net", 2, 3);
    made.nodes[HM_ADD] = hm_node("first", "Relu", 1, made.add_in, made.add_out, made.relu_params);
    made.src.data = NULL;
    for (int i = 0; i < HM_TENSORS; i++) {
        struct binary_tensor *t = &made.tensors[i];
        t->desc.dims[0] = i == HM_Y ? side * side : side;
        t->desc.dims[1] = i == HM_Y ? 1 : side;
        t->bytes = desc_bytes(&t->desc);
    }
    made.tensors[HM_C].place = PLACE_NONE;
    made.tensors[HM_T].place = (uint8_t)place;
    made.src.info.scratch_bytes = place == PLACE_SCRATCH ? made.tensors[HM_T].bytes : 0;
    made.src.info.persistent_bytes = place == PLACE_PERSISTENT ? made.tensors[HM_T].bytes : 0;
    made.src.info.spill_fill_bytes = place == PLACE_SPILL ? made.tensors[HM_T].bytes : 0;
    TRY(binary_write(&made.target, &made.src, &im));
    TRY(binary_open(im.data, im.size, &b));
    TRY(exec_load(&b.graphs[0], &o, &p));
    exec_unload(p);
    binary_close(&b);
    binary_image_free(&im);
    return ST_OK;
}

/* What the operators do need is reserved when a graph is loaded, and touched when it runs. */
static void test_untouched(void **state)
{
    (void)state;
    static const enum binary_place places[] = { PLACE_SCRATCH, PLACE_PERSISTENT, PLACE_SPILL };
    enum { SIDE = 1 << 14, MOST = 64 << 20 }; /* 1 GiB of floats */
#ifdef __SANITIZE_ADDRESS__
    print_message("skipped: the address sanitizer has memory of its own for every byte\n");
    skip();
#endif
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        uint64_t before = peak_bytes();
        if (load_large(places[i], SIDE) != ST_OK)
            fail_msg("place %d: %s", places[i], status_text());
        uint64_t more = peak_bytes() - before;
        if (more > MOST)
            fail_msg("place %d: loading touched %llu bytes", places[i], (unsigned long long)more);
    }
}

/* ---- files of former libraries ---------------------------------------------------------------------------------------- */

static const char *corpus; /* seeds of the fuzzer, each written by the library of its time */

/* What a reader comes to check more strictly, all writers of this format version have kept. */
static void test_older_files(void **state)
{
    (void)state;
    static uint8_t bytes[1 << 16] __attribute__((aligned(64)));
    DIR *dir = opendir(corpus);
    unsigned opened = 0;
    assert_non_null(dir);
    for (struct dirent *e; (e = readdir(dir));) {
        size_t length = strlen(e->d_name);
        if (length < 4 || strcmp(e->d_name + length - 4, ".bin") != 0)
            continue;

        char path[1024];
        struct binary b;
        snprintf(path, sizeof path, "%s/%s", corpus, e->d_name);
        FILE *f = fopen(path, "rb");
        assert_non_null(f);
        size_t size = fread(bytes, 1, sizeof bytes, f);
        fclose(f);
        if (binary_open(bytes, size, &b) != ST_OK || binary_verify_constants(&b) != ST_OK)
            fail_msg("%s: %s", e->d_name, status_text());
        binary_close(&b);
        opened++;
    }
    closedir(dir);
    assert_true(opened > 0);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: test_claims FOLDER_OF_BINARIES\n");
        return 2;
    }
    corpus = argv[1];
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_checksum),  cmocka_unit_test(test_bombs),       cmocka_unit_test(test_unused_tensor),
        cmocka_unit_test(test_untouched), cmocka_unit_test(test_older_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
