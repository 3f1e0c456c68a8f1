/* SPDX-License-Identifier: Apache-2.0 */
/* A pick is a file of its own when its constants are put behind its head; graphs with the same constants stay together. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "handmade.h"

enum { GRAPHS = 3, PAGE = 4096 };

static struct handmade made;
static const char *const names[GRAPHS] = { "one", "two", "three" };

/* Graphs "one" and "three" have the same constants. */
static void make_file(struct binary_image *ret, struct binary *all)
{
    struct binary_image im[GRAPHS];
    struct binary b[GRAPHS];
    const struct binary *parts[GRAPHS] = { &b[0], &b[1], &b[2] };
    for (int i = 0; i < GRAPHS; i++) {
        hm_make(&made, names[i], 16, 32);
        made.constant[5] = i == 1 ? 99 : 1;
        assert_int_equal(binary_write(&made.target, &made.src, &im[i]), ST_OK);
        assert_int_equal(binary_open(im[i].data, im[i].size, &b[i]), ST_OK);
    }
    assert_int_equal(binary_merge(parts, GRAPHS, NULL, ret), ST_OK);
    assert_int_equal(binary_open(ret->data, ret->size, all), ST_OK);
    for (int i = 0; i < GRAPHS; i++) {
        binary_close(&b[i]);
        binary_image_free(&im[i]);
    }
}

static void same_graph(const struct binary_graph *a, const struct binary_graph *b)
{
    assert_string_equal(a->info.name, b->info.name);
    assert_int_equal(a->n_tensors, b->n_tensors);
    assert_int_equal(a->n_nodes, b->n_nodes);
    assert_int_equal(a->n_commands, b->n_commands);
    assert_memory_equal(a->commands, b->commands, a->n_commands * sizeof *a->commands);
    assert_int_equal(a->constant_bytes, b->constant_bytes);
    assert_memory_equal(a->constants, b->constants, a->constant_bytes);
    for (uint32_t i = 0; i < a->n_tensors; i++) {
        assert_string_equal(a->tensors[i].name, b->tensors[i].name);
        assert_int_equal(a->tensors[i].place, b->tensors[i].place);
        assert_int_equal(a->tensors[i].offset, b->tensors[i].offset);
    }
}

static void pick_of(const struct binary *all, uint32_t graph, uint32_t together)
{
    struct binary_pick pick;
    struct binary one;
    assert_int_equal(binary_pick(all, graph, &pick), ST_OK);
    assert_int_equal(pick.head.size % PAGE, 0);
    assert_ptr_equal(pick.rest, all->graphs[graph].constants);
    assert_int_equal(pick.n_graphs, together);

    uint64_t size = pick.head.size + pick.rest_bytes;
    uint8_t *file = aligned_alloc(PAGE, (size + PAGE - 1) / PAGE * PAGE);
    memcpy(file, pick.head.data, pick.head.size);
    memcpy(file + pick.head.size, pick.rest, pick.rest_bytes);
    if (binary_open(file, size, &one) != ST_OK)
        fail_msg("%s", status_text());
    assert_int_equal(binary_verify_constants(&one), ST_OK);
    assert_int_equal(one.n_graphs, together);
    same_graph(&all->graphs[graph], &one.graphs[pick.graph]);

    binary_close(&one);
    free(file);
    binary_pick_free(&pick);
}

static void test_pick(void **state)
{
    (void)state;
    struct binary_image im;
    struct binary all;
    make_file(&im, &all);
    pick_of(&all, 0, 2);
    pick_of(&all, 1, 1);
    pick_of(&all, 2, 2);
    binary_close(&all);
    binary_image_free(&im);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_pick) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
