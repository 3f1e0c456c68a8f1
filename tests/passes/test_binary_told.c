/* SPDX-License-Identifier: Apache-2.0 */
/* What a context binary tells of itself: versions in its dump, how much room constants take, and what a graph moves to and
 * from memory that is streamed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/str.h"
#include "handmade.h"

static struct handmade made;

static void test_versions(void **state)
{
    struct binary_image image;
    struct binary binary;
    struct str text;

    (void)state;
    hm_make(&made, "net", 2, 3);
    made.target = (struct binary_target){ .backend_id = 6,
                                          .soc_model = 43,
                                          .arch = 73,
                                          .core_version = { 2, 37, 1 },
                                          .backend_version = { 5, 41, 9 },
                                          .build_id = "v1.2" };
    assert_int_equal(binary_write(&made.target, &made.src, &image), ST_OK);
    assert_int_equal(binary_open(image.data, image.size, &binary), ST_OK);

    str_init(&text);
    binary_dump(&binary, &text);
    assert_non_null(
        strstr(str_text(&text), "target: backend 6, SoC 43, arch 73, core API 2.37.1, backend API 5.41.9, build v1.2\n"));
    str_finish(&text);
    binary_close(&binary);
    binary_image_free(&image);
}

static uint64_t constant_bytes(uint32_t rows, uint32_t columns)
{
    struct binary_image image;
    struct bin_header header;
    uint64_t found = 0;

    hm_make(&made, "net", rows, columns);
    assert_int_equal(binary_write(&made.target, &made.src, &image), ST_OK);
    memcpy(&header, image.data, sizeof header);
    for (uint32_t i = 0; i < header.n_sections; i++) {
        struct bin_section section;

        memcpy(&section, (const uint8_t *)image.data + sizeof header + i * sizeof section, sizeof section);
        found += section.kind == SEC_CONSTANTS ? section.size : 0;
    }
    binary_image_free(&image);
    return found;
}

/* They begin at multiples of 64 bytes, and there is not more room between them than that needs. */
static void test_room_of_constants(void **state)
{
    (void)state;
    assert_int_equal(constant_bytes(1, 1), 64);
    assert_int_equal(constant_bytes(3, 5), 64);
    assert_int_equal(constant_bytes(4, 4), 64);
    assert_int_equal(constant_bytes(1, 17), 128);
    assert_int_equal(constant_bytes(4, 8), 128);
}

/* t is written by Add, and read by Relu and by Transpose; an input that a node has twice is read once. */
static void test_streamed(void **state)
{
    struct binary_graph graph = { .n_nodes = HM_NODES, .n_tensors = HM_TENSORS };
    struct binary_transfers moved;

    (void)state;
    hm_make(&made, "net", 4, 8);
    graph.nodes = made.nodes;
    graph.tensors = made.tensors;
    binary_transfers(&graph, &moved);
    assert_int_equal(moved.read + moved.written + moved.filled + moved.spilled, 0);

    made.tensors[HM_T].place = PLACE_SPILL;
    uint64_t bytes = binary_vtcm_bytes(&made.tensors[HM_T].desc);
    binary_transfers(&graph, &moved);
    assert_true(bytes > 0);
    assert_int_equal(moved.written, bytes);
    assert_int_equal(moved.read, 2 * bytes);

    made.tensors[HM_C].place = PLACE_SPILL;
    made.add_in[0] = HM_C;
    binary_transfers(&graph, &moved);
    assert_int_equal(moved.written, bytes);
    assert_int_equal(moved.read, 3 * bytes);
    assert_int_equal(moved.filled + moved.spilled, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_versions),
        cmocka_unit_test(test_room_of_constants),
        cmocka_unit_test(test_streamed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
