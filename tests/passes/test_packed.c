/* SPDX-License-Identifier: Apache-2.0 */
/* Constants in fewer bytes: they come back as they were, sizes are what they are said to be, damaged ones are refused or
 * harmless. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <zlib.h>

#include "handmade.h"

enum { MOST = 20000, KINDS = 7 };

static uint32_t draw(void)
{
    static uint32_t state = 1;

    state = state * 1664525u + 1013904223u;
    return state >> 8;
}

/* Constants of several kinds: bytes at random, few of them, around 0 and around 128, with long runs, 16-bit floats, 32-bit
 * floats that are whole numbers. */
static void fill(uint8_t *data, uint32_t n, unsigned kind)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t small = draw() % 4 + draw() % 4;
        float whole = (float)(i / 4 % 9) - 4;
        const uint8_t by_kind[KINDS] = { (uint8_t)draw(),
                                         draw() % 10 ? 7 : (uint8_t)draw(),
                                         (uint8_t)(small - 3),
                                         (uint8_t)(128 + small),
                                         i % 3000 < 2000 ? 0 : (uint8_t)draw(),
                                         i % 2 ? (uint8_t)(0x38 + draw() % 4 + (draw() % 2 ? 0x80 : 0)) : (uint8_t)draw(),
                                         ((const uint8_t *)&whole)[i % 4] };
        data[i] = by_kind[kind];
    }
}

/* In memory of exactly that size, so that sanitizers see what is read and written beside it. */
static uint8_t *exact(uint64_t bytes)
{
    uint8_t *p = malloc(bytes ? bytes : 1);

    assert_non_null(p);
    return p;
}

static uint64_t round_trip(enum binary_storage storage, const uint8_t *data, uint32_t n)
{
    uint64_t stored = binary_stored_bytes(storage, data, n);
    uint8_t *packed = exact(stored);
    uint8_t *back = exact(n);

    assert_in_range(stored, 0, n);
    if (stored < n) {
        bin_encode(storage, data, n, packed);
        assert_int_equal(bin_decode(storage, packed, stored, back, n), ST_OK);
        assert_memory_equal(back, data, n);
        assert_int_equal(bin_decode(storage, packed, stored - 1, back, n), ST_BAD_BINARY);
        for (unsigned i = 0; i < 32; i++) { /* anything else is no reason to crash */
            packed[draw() % stored] ^= (uint8_t)(1 << draw() % 8);
            (void)bin_decode(storage, packed, stored, back, n);
        }
    }
    free(packed);
    free(back);
    return stored;
}

static void test_round_trips(void **state)
{
    (void)state;
    static const uint32_t sizes[] = { 0, 1, 2, 15, 16, 17, 63, 64, 255, 4095, 4096, 4097, 8193, MOST };
    uint8_t *data = exact(MOST);

    for (unsigned kind = 0; kind < KINDS; kind++) {
        for (unsigned storage = STORE_PLAIN; storage < STORE_COUNT; storage++) {
            for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
                fill(data, sizes[i], kind);
                round_trip((enum binary_storage)storage, data, sizes[i]);
            }
        }
    }
    free(data);
}

/* What each is for, and what it is worth. */
static void test_sizes(void **state)
{
    (void)state;
    uint8_t *data = exact(MOST);

    fill(data, MOST, 3); /* 7 values */
    assert_int_equal(round_trip(STORE_NIBBLES, data, MOST), 1 + MOST / 2);
    assert_in_range(round_trip(STORE_GROUPS, data, MOST), MOST * 3 / 8, MOST / 2);
    fill(data, MOST, 2); /* on both sides of 0 */
    assert_int_equal(round_trip(STORE_NIBBLES, data, MOST), 1 + MOST / 2);
    data[MOST / 2] = 100;
    assert_int_equal(round_trip(STORE_NIBBLES, data, MOST), MOST);
    fill(data, MOST, 1); /* nine of ten the same */
    assert_in_range(round_trip(STORE_SPARSE, data, MOST), MOST / 5, MOST / 4);
    fill(data, MOST, 0);
    for (unsigned storage = STORE_PLAIN; storage < STORE_COUNT; storage++)
        assert_int_equal(round_trip((enum binary_storage)storage, data, MOST), MOST);
    fill(data, MOST, 5); /* of 16 bits, sign and two of the exponent vary */
    assert_in_range(round_trip(STORE_GROUPS, data, MOST), MOST / 2 + MOST * 3 / 16, MOST * 3 / 4);
    fill(data, MOST, 6);
    assert_in_range(round_trip(STORE_GROUPS, data, MOST), MOST / 4, MOST * 3 / 5); /* half of their bytes are 0 */
    free(data);
}

/* ---- files ------------------------------------------------------------------------------------------------------------ */

static struct handmade made;

static struct binary_image write_graph(const char *name, enum binary_storage storage)
{
    struct binary_image im;

    hm_make(&made, name, 16, 24);
    made.tensors[HM_C].storage = storage;
    assert_int_equal(binary_write(&made.target, &made.src, &im), ST_OK);
    return im;
}

static struct binary_image pack(const struct binary_image *plain)
{
    struct binary_image im;

    assert_int_equal(binary_pack(plain->data, plain->size, &im), ST_OK);
    return im;
}

/* The plain file comes back byte by byte, for each reader. */
static void test_file(void **state)
{
    (void)state;
    struct binary_image plain = write_graph("net", STORE_GROUPS);
    struct binary_image packed = pack(&plain);
    struct binary b;

    assert_non_null(packed.data);
    assert_true(packed.size < plain.size);
    assert_int_equal(binary_unpacked_size(plain.data, plain.size), 0);
    assert_int_equal(binary_unpacked_size(packed.data, packed.size), plain.size);
    assert_int_equal(binary_unpacked_size("", 0), 0);
    uint8_t *back = exact(plain.size);
    assert_int_equal(binary_unpack(packed.data, packed.size, back, plain.size), ST_OK);
    assert_memory_equal(back, plain.data, plain.size);
    assert_int_not_equal(binary_unpack(packed.data, packed.size, back, plain.size - 1), ST_OK);
    free(back);

    assert_int_equal(binary_open(packed.data, packed.size, &b), ST_OK);
    assert_int_equal(b.size, plain.size);
    assert_memory_equal(b.map, plain.data, plain.size);
    assert_int_equal(b.graphs[0].tensors[HM_C].storage, STORE_GROUPS);
    assert_memory_equal(b.graphs[0].constants + b.graphs[0].tensors[HM_C].offset, made.constant,
                        b.graphs[0].tensors[HM_C].bytes);
    assert_int_equal(binary_verify_constants(&b), ST_OK);
    binary_close(&b);

    struct binary_image other = write_graph("net", STORE_PLAIN);
    struct binary_image none = pack(&other);
    assert_null(none.data);
    binary_image_free(&plain);
    binary_image_free(&packed);
    binary_image_free(&other);
}

/* A constant of two graphs is one, stored as the one wants that wants it smaller. */
static void test_shared(void **state)
{
    (void)state;
    struct binary_image parts[2] = { write_graph("one", STORE_PLAIN), write_graph("two", STORE_GROUPS) };
    struct binary_image merged;
    struct binary b[2], all;

    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(binary_open(parts[i].data, parts[i].size, &b[i]), ST_OK);
    assert_int_equal(binary_merge((const struct binary *[]){ &b[0], &b[1] }, 2, NULL, &merged), ST_OK);
    struct binary_image packed = pack(&merged);
    assert_true(packed.data && packed.size < merged.size);
    assert_int_equal(binary_open(packed.data, packed.size, &all), ST_OK);
    assert_memory_equal(all.map, merged.data, merged.size);
    binary_close(&all);
    for (unsigned i = 0; i < 2; i++) {
        binary_close(&b[i]);
        binary_image_free(&parts[i]);
    }
    binary_image_free(&merged);
    binary_image_free(&packed);
}

/* Every byte of it spoiled, with checksums that say it is right. */
static void test_damaged(void **state)
{
    (void)state;
    struct binary_image plain = write_graph("net", STORE_GROUPS);
    struct binary_image packed = pack(&plain);
    uint8_t *data = exact(packed.size);
    struct binary b;

    for (size_t i = 0; i < packed.size; i++) {
        memcpy(data, packed.data, packed.size);
        data[i] ^= (uint8_t)(1 + draw() % 255);
        hm_repair(data, packed.size);
        if (binary_open(data, packed.size, &b) == ST_OK)
            binary_close(&b);
    }
    for (size_t size = 0; size < packed.size; size += 7)
        assert_int_not_equal(binary_open(packed.data, size, &b), ST_OK);
    free(data);
    binary_image_free(&plain);
    binary_image_free(&packed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trips), cmocka_unit_test(test_sizes),   cmocka_unit_test(test_file),
        cmocka_unit_test(test_shared),      cmocka_unit_test(test_damaged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
