/* SPDX-License-Identifier: Apache-2.0 */
/* exec/ on binaries made by hand: right results, the same bits for any number of threads and tiles, signals, dynamic
 * dimensions, optional tensors, marks, and files that promise what the kernels do not find. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/clock.h"
#include "exec/exec.h"
#include "handmade.h"
#include "kernels/kernels.h"

enum { ROWS = 64, COLUMNS = 48, N = ROWS * COLUMNS };

static struct handmade made;

struct loaded {
    struct binary_image im;
    struct binary b;
    struct exec_program *p;
};

static void load_with(struct loaded *l, struct exec_opts o)
{
    o.isa = cpu_isa();
    if (binary_write(&made.target, &made.src, &l->im) != ST_OK || binary_open(l->im.data, l->im.size, &l->b) != ST_OK ||
        exec_load(&l->b.graphs[0], &o, &l->p) != ST_OK)
        fail_msg("%s", status_text());
}

static void load(struct loaded *l, struct team *team)
{
    load_with(l, (struct exec_opts){ .team = team });
}

static void unload(struct loaded *l)
{
    exec_unload(l->p);
    binary_close(&l->b);
    binary_image_free(&l->im);
}

static float input_at(uint32_t i)
{
    return (float)((int)(i * 37 % 101) - 50) / 8.0f;
}

static void fill(float *x)
{
    for (uint32_t i = 0; i < N; i++)
        x[i] = input_at(i);
}

/* What the graph computes, in plain C: y = relu(x + c), z = transpose(x + c). All values are exact in float. */
static void expect(const float *y, const float *z, uint32_t rows)
{
    for (uint32_t i = 0; i < rows * COLUMNS; i++) {
        float t = input_at(i) + made.constant[i];
        assert_true(y[i] == (t > 0 ? t : 0));
        assert_true(z[i % COLUMNS * rows + i / COLUMNS] == t);
    }
}

static uint32_t extent_of_add(void)
{
    static char args[65536];
    struct kernel_bound b;
    const struct tensor_desc *in[2] = { &made.tensors[HM_X].desc, &made.tensors[HM_C].desc },
                             *out[1] = { &made.tensors[HM_T].desc };
    struct op_call c = {
        .op = op_find("ElementWiseAdd"), .n_in = 2, .n_out = 1, .in = in, .out = out, .post = { -INFINITY, INFINITY }
    };
    assert_true(kernel_args_size(c.op->id) <= sizeof(args));
    if (kernel_bind(&c, ISA_REF, args, &b) != ST_OK)
        fail_msg("%s", status_text());
    return b.extent;
}

static void test_threads_and_tiles(void **state)
{
    (void)state;
    static const unsigned threads[] = { 0, 1, 2, 4 };
    static const uint32_t tiles[] = { 1, 2, 3, 7, 16 };
    static float x[N], y[N], z[N];
    fill(x);
    for (size_t i = 0; i < sizeof(threads) / sizeof(threads[0]); i++) {
        struct team *team = NULL;
        if (threads[i])
            assert_int_equal(team_create(threads[i], &team), ST_OK);
        for (size_t k = 0; k < sizeof(tiles) / sizeof(tiles[0]); k++) {
            struct loaded l;
            hm_make(&made, "net", ROWS, COLUMNS);
            uint32_t unit = extent_of_add() / tiles[k];
            hm_commands(&made, unit ? tiles[k] : 1, unit ? unit : 1);
            load(&l, team);
            for (int run = 0; run < 20; run++) {
                memset(y, 0xee, sizeof(y));
                memset(z, 0xee, sizeof(z));
                struct exec_binding io[3] = { { .data = x }, { .data = y }, { .data = z } };
                struct exec_run r = { .io = io };
                assert_int_equal(exec_run(l.p, &r), ST_OK);
                expect(y, z, ROWS);
            }
            unload(&l);
        }
        team_free(team);
    }
}

static void test_cancel(void **state)
{
    (void)state;
    static float x[N], y[N], z[N];
    struct loaded l;
    struct exec_binding io[3] = { { .data = x }, { .data = y }, { .data = z } };
    struct cancel c = { .abort = 1 };
    struct exec_run r = { .io = io, .cancel = &c, .profile_nodes = true };
    fill(x);
    hm_make(&made, "net", ROWS, COLUMNS);
    load(&l, NULL);
    assert_int_equal(exec_run(l.p, &r), ST_ABORTED);
    assert_int_equal(r.marks->n, 0);
    c.abort = 0;
    c.deadline_ns = 1;
    assert_int_equal(exec_run(l.p, &r), ST_TIMED_OUT);
    c.deadline_ns = clock_ns() + UINT64_C(3600000000000);
    assert_int_equal(exec_run(l.p, &r), ST_OK);
    expect(y, z, ROWS);
    unload(&l);
}

static void test_marks(void **state)
{
    (void)state;
    static float x[N], y[N], z[N];
    struct loaded l;
    struct team *team;
    struct exec_binding io[3] = { { .data = x }, { .data = y }, { .data = z } };
    struct exec_run r = { .io = io, .profile_nodes = true };
    assert_int_equal(team_create(3, &team), ST_OK);
    hm_make(&made, "net", ROWS, COLUMNS);
    hm_commands(&made, 3, 1); /* as many as there are workers, so that none are joined */
    load(&l, team);
    assert_int_equal(exec_run(l.p, &r), ST_OK);
    assert_int_equal(r.marks->n, made.src.n_commands);
    assert_int_equal(r.marks->dropped, 0);
    for (uint32_t i = 0; i < r.marks->n; i++) {
        assert_int_equal(r.marks->marks[i].node, made.commands[i].node);
        assert_true(r.marks->marks[i].begin_ns <= r.marks->marks[i].end_ns);
        assert_true(r.marks->marks[i].worker < 3);
    }
    assert_non_null(exec_kernel_name(l.p, HM_ADD));
    unload(&l);
    load_with(&l,
              (struct exec_opts){ .team = team, .max_marks = 2 }); /* too few: the first ones, and how many are missing */
    assert_int_equal(exec_run(l.p, &r), ST_OK);
    assert_int_equal(r.marks->n, 2);
    assert_int_equal(r.marks->dropped, made.src.n_commands - 2);
    unload(&l);
    team_free(team);
}

static void test_missing_and_optional(void **state)
{
    (void)state;
    static float x[N], y[N], z[N];
    struct loaded l;
    struct exec_binding io[3] = { { .data = NULL }, { .data = y }, { .data = z } };
    struct exec_run r = { .io = io };
    hm_make(&made, "net", ROWS, COLUMNS);
    load(&l, NULL);
    assert_int_equal(exec_run(l.p, &r), ST_INVALID_ARG);
    assert_non_null(strstr(status_text(), "\"x\""));
    unload(&l);

    made.tensors[HM_X].optional = made.tensors[HM_Z].optional = 1;
    load(&l, NULL);
    io[2].data = NULL;
    assert_int_equal(exec_run(l.p, &r), ST_OK);
    for (uint32_t i = 0; i < N; i++)
        assert_true(y[i] == (made.constant[i] > 0 ? made.constant[i] : 0));
    /* Present again in the next run. */
    fill(x);
    io[0].data = x;
    io[2].data = z;
    assert_int_equal(exec_run(l.p, &r), ST_OK);
    expect(y, z, ROWS);
    unload(&l);
}

static void test_own_scratch(void **state)
{
    (void)state;
    static float x[N], y[N], z[N];
    static _Alignas(64) uint8_t scratch[2][N * sizeof(float)];
    struct loaded l;
    struct exec_binding io[3] = { { .data = x }, { .data = y }, { .data = z } };
    struct exec_run r = { .io = io };
    fill(x);
    hm_make(&made, "net", ROWS, COLUMNS);
    load(&l, NULL);
    exec_unload(l.p);
    struct exec_opts o = { .isa = ISA_REF, .scratch = scratch[0] };
    assert_int_equal(exec_load(&l.b.graphs[0], &o, &l.p), ST_OK);
    assert_int_equal(exec_run(l.p, &r), ST_OK);
    expect(y, z, ROWS);
    memset(y, 0, sizeof(y));
    memset(scratch[0], 0xaa, sizeof(scratch[0]));
    exec_set_scratch(l.p, scratch[1]);
    assert_int_equal(exec_run(l.p, &r), ST_OK);
    expect(y, z, ROWS);
    for (size_t i = 0; i < sizeof(scratch[0]); i++)
        assert_int_equal(scratch[0][i], 0xaa);
    assert_memory_equal(scratch[1], (float[]){ input_at(0) + made.constant[0] }, sizeof(float));
    unload(&l);
}

static void run_rows(struct loaded *l, uint32_t rows)
{
    static float x[N], y[N + 1], z[N + 1];
    uint32_t dims[2] = { rows, COLUMNS }, y_dims[2] = { 0 }, z_dims[2] = { 0 };
    struct exec_binding io[3] = { { .data = x, .dims = dims },
                                  { .data = y, .out_dims = y_dims },
                                  { .data = z, .out_dims = z_dims } };
    struct exec_run r = { .io = io };
    fill(x);
    for (uint32_t i = 0; i <= N; i++)
        y[i] = z[i] = -1234;
    if (exec_run(l->p, &r) != ST_OK)
        fail_msg("%u rows: %s", rows, status_text());
    for (uint32_t i = 0; i <= N; i++) {
        bool inside = i < rows * COLUMNS;
        float t = inside ? 2 * input_at(i) : -1234;
        assert_true(y[i] == (inside && t < 0 ? 0 : t));
        assert_true(z[inside ? i % COLUMNS * rows + i / COLUMNS : i] == t);
    }
    assert_int_equal(y_dims[0], rows);
    assert_int_equal(y_dims[1], COLUMNS);
    assert_int_equal(z_dims[0], COLUMNS);
    assert_int_equal(z_dims[1], rows);
}

static void test_dynamic(void **state)
{
    (void)state;
    static const uint32_t rows[] = { ROWS, 1, 1, 17, ROWS, 63, 5 };
    static float x[N], y[N], z[N];
    struct loaded l;
    hm_make_dynamic(&made, ROWS, COLUMNS);
    load(&l, NULL);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        run_rows(&l, rows[i]);
    static const uint32_t wrong[][2] = { { ROWS + 1, COLUMNS }, { 0, COLUMNS }, { 3, COLUMNS - 1 } };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct exec_binding io[3] = { { .data = x, .dims = wrong[i] }, { .data = y }, { .data = z } };
        struct exec_run r = { .io = io };
        assert_int_equal(exec_run(l.p, &r), ST_DYNAMIC_SHAPE);
        assert_non_null(strstr(status_text(), "tensor \"x\": dimension")); /* noticed before any node is looked at */
    }
    run_rows(&l, 5);
    unload(&l);
}

/* The file says that z has a fixed shape although it follows x: noticed when x shrinks, and forgotten when it has its size
 * again. */
static void test_dynamic_refused(void **state)
{
    (void)state;
    static float x[N], y[N], z[N];
    struct loaded l;
    uint32_t dims[2] = { 7, COLUMNS };
    struct exec_binding io[3] = { { .data = x, .dims = dims }, { .data = y }, { .data = z } };
    struct exec_run r = { .io = io };
    hm_make_dynamic(&made, ROWS, COLUMNS);
    made.tensors[HM_Z].desc.dynamic = 0;
    load(&l, NULL);
    run_rows(&l, ROWS);
    for (int again = 0; again < 2; again++) { /* nothing has changed since the run before, yet that one was refused */
        assert_int_equal(exec_run(l.p, &r), ST_DYNAMIC_SHAPE);
        assert_non_null(strstr(status_text(), "\"z\""));
    }
    run_rows(&l, ROWS);
    unload(&l);
}

/* Whoever asks for dimensions is told them, whether they can change or not. */
static void test_fixed_dimensions_are_told(void **state)
{
    (void)state;
    static float x[N], y[N], z[N];
    struct loaded l;
    uint32_t y_dims[MAX_RANK] = { 0 }, z_dims[MAX_RANK] = { 0 };
    struct exec_binding io[3] = { { .data = x }, { .data = y, .out_dims = y_dims }, { .data = z, .out_dims = z_dims } };
    struct exec_run r = { .io = io };
    hm_make(&made, "net", ROWS, COLUMNS);
    load(&l, NULL);
    assert_int_equal(exec_run(l.p, &r), ST_OK);
    const struct tensor_desc *y_desc = &made.tensors[HM_Y].desc, *z_desc = &made.tensors[HM_Z].desc;
    assert_memory_equal(y_dims, y_desc->dims, y_desc->rank * sizeof(uint32_t));
    assert_memory_equal(z_dims, z_desc->dims, z_desc->rank * sizeof(uint32_t));
    unload(&l);
}

static void expect_load_refused(const char *says)
{
    struct binary_image im;
    struct binary b;
    struct exec_program *p;
    struct exec_opts o = { .isa = ISA_REF };
    if (binary_write(&made.target, &made.src, &im) != ST_OK || binary_open(im.data, im.size, &b) != ST_OK)
        fail_msg("%s", status_text());
    assert_int_equal(exec_load(&b.graphs[0], &o, &p), ST_BAD_BINARY);
    if (!strstr(status_text(), says))
        fail_msg("\"%s\" is not in \"%s\"", says, status_text());
    binary_close(&b);
    binary_image_free(&im);
}

static void test_lies(void **state)
{
    (void)state;
    static const uint32_t aux[1] = { HM_C };
    hm_make(&made, "net", ROWS, COLUMNS);
    made.tensors[HM_C].place = PLACE_NONE;
    expect_load_refused("has no data");
    hm_make(&made, "net", ROWS, COLUMNS);
    made.nodes[HM_TRANSPOSE].n_aux = 1;
    made.nodes[HM_TRANSPOSE].aux = aux;
    expect_load_refused("kernel constants");
}

/* Three tiles of an operator with six units: the first one begins late, ends early, or the last one does. */
static void test_tiles_with_holes(void **state)
{
    (void)state;
    static const struct {
        uint32_t tile, begin, end;
        const char *says;
    } holes[] = { { 0, 1, 2, "nobody computes unit 0 of the 6" },
                  { 0, 0, 1, "nobody computes unit 1 of the 6" },
                  { 2, 4, 5, "nobody computes unit 5 of the 6" } };
    for (size_t i = 0; i < sizeof holes / sizeof holes[0]; i++) {
        hm_make(&made, "net", ROWS, COLUMNS);
        hm_commands(&made, 3, 2);
        assert_int_equal(made.commands[holes[i].tile].node, HM_ADD);
        made.commands[holes[i].tile].begin = holes[i].begin;
        made.commands[holes[i].tile].end = holes[i].end;
        expect_load_refused(holes[i].says);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_threads_and_tiles),
        cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_marks),
        cmocka_unit_test(test_missing_and_optional),
        cmocka_unit_test(test_own_scratch),
        cmocka_unit_test(test_dynamic),
        cmocka_unit_test(test_dynamic_refused),
        cmocka_unit_test(test_fixed_dimensions_are_told),
        cmocka_unit_test(test_lies),
        cmocka_unit_test(test_tiles_with_holes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
