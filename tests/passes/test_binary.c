/* SPDX-License-Identifier: Apache-2.0 */
/* The context binary: what is written is read back, whatever is damaged is refused or harmless, merging shares constants. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>
#include <zlib.h>

#include "handmade.h"

static struct handmade made;

static void write_and_open(const struct handmade *h, struct binary_image *im, struct binary *b)
{
    if (binary_write(&h->target, &h->src, im) != ST_OK || binary_open(im->data, im->size, b) != ST_OK)
        fail_msg("%s", status_text());
}

static void finish(struct binary_image *im, struct binary *b)
{
    binary_close(b);
    binary_image_free(im);
}

static void same_tensor(const struct binary_tensor *a, const struct binary_tensor *b)
{
    assert_string_equal(a->name, b->name);
    assert_int_equal(a->desc.type, b->desc.type);
    assert_true(desc_same_shape(&a->desc, &b->desc));
    assert_int_equal(a->desc.dynamic, b->desc.dynamic);
    assert_int_equal(a->desc.format, b->desc.format);
    assert_true(quant_same(&a->desc.q, &b->desc.q));
    assert_int_equal(a->desc.q.definition, b->desc.q.definition);
    assert_int_equal(a->place, b->place);
    assert_int_equal(a->io, b->io);
    assert_int_equal(a->optional, b->optional);
    assert_int_equal(a->updateable, b->updateable);
    assert_int_equal(a->client_id, b->client_id);
    assert_int_equal(a->client_type, b->client_type);
    assert_int_equal(a->bytes, b->bytes);
    assert_int_equal(a->first, b->first);
    assert_int_equal(a->last, b->last);
}

static void same_node(const struct binary_node *a, const struct binary_node *b)
{
    assert_string_equal(a->name, b->name);
    assert_ptr_equal(a->op, b->op);
    assert_int_equal(a->n_in, b->n_in);
    assert_int_equal(a->n_out, b->n_out);
    assert_memory_equal(a->in, b->in, a->n_in * sizeof(uint32_t));
    assert_memory_equal(a->out, b->out, a->n_out * sizeof(uint32_t));
    assert_true(a->post.lo == b->post.lo && a->post.hi == b->post.hi);
    assert_int_equal(a->macs, b->macs);
    for (uint32_t i = 0; i < op_param_count(a->op); i++) {
        const struct op_value *v = &a->params[i], *w = &b->params[i];
        assert_int_equal(v->data == NULL, w->data == NULL);
        if (!v->data)
            continue;
        assert_int_equal(v->type, w->type);
        assert_int_equal(v->count, w->count);
        assert_int_equal(v->rank, w->rank);
        assert_memory_equal(v->dims, w->dims, sizeof(v->dims));
        assert_memory_equal(v->data, w->data, dtype_bytes(v->type, v->count));
    }
}

static void test_round_trip(void **state)
{
    (void)state;
    struct binary_image im;
    struct binary b;
    hm_make(&made, "net", 4, 6);
    made.tensors[HM_X].optional = made.tensors[HM_X].updateable = 1;
    made.tensors[HM_X].desc.format = 5;
    made.tensors[HM_X].desc.q.definition = 2;
    write_and_open(&made, &im, &b);
    const struct binary_graph *g = &b.graphs[0];
    assert_int_equal(b.n_graphs, 1);
    assert_int_equal(b.target.backend_id, 3);
    assert_string_equal(b.target.build_id, "test");
    assert_null(b.oem);
    assert_string_equal(g->info.name, "net");
    assert_int_equal(g->info.n_inputs, 1);
    assert_int_equal(g->info.n_outputs, 2);
    assert_int_equal(g->info.scratch_bytes, made.src.info.scratch_bytes);
    assert_int_equal(g->info.priority, 100);
    assert_int_equal(g->info.plan_optimal, 1);
    assert_int_equal(g->n_tensors, HM_TENSORS);
    assert_int_equal(g->n_nodes, HM_NODES);
    for (uint32_t i = 0; i < HM_TENSORS; i++)
        same_tensor(&made.tensors[i], &g->tensors[i]);
    for (uint32_t i = 0; i < HM_NODES; i++)
        same_node(&made.nodes[i], &g->nodes[i]);
    assert_int_equal(g->n_commands, made.src.n_commands);
    assert_memory_equal(g->commands, made.commands, g->n_commands * sizeof(made.commands[0]));
    assert_int_equal(g->n_steps, 3);
    assert_int_equal(g->io[0], HM_X);
    assert_int_equal(g->io[1], HM_Y);
    assert_int_equal(g->io[2], HM_Z);
    assert_int_equal((uintptr_t)g->constants % 4096, 0);
    assert_memory_equal(g->constants + g->tensors[HM_C].offset, made.constant, g->tensors[HM_C].bytes);
    assert_int_equal(binary_verify_constants(&b), ST_OK);
    finish(&im, &b);
}

/* Encodings that need arrays, on constants that no node uses. */
static void test_encodings(void **state)
{
    (void)state;
    static const float scales[8] = { 0.5f, 0.25f, 1, 2, 3, 4, 5, 6 };
    static const int32_t offsets[8] = { 1, -2, 3, -4, 5, -6, 7, -8 };
    static const uint8_t block_scales[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
    static const uint8_t bytes[64];
    const struct quant kinds[] = {
        { .kind = Q_TENSOR, .definition = 1, .scale = 0.125f, .offset = -77 },
        { .kind = Q_AXIS, .definition = 1, .axis = 1, .n = 4, .scales = scales, .offsets = offsets },
        { .kind = Q_AXIS, .definition = 1, .bits = 4, .axis = 0, .n = 2, .scales = scales },
        { .kind = Q_BLOCK, .definition = 1, .n = 4, .block = { 1, 2 }, .scales = scales, .offsets = offsets },
        { .kind = Q_EXPANSION,
          .definition = 1,
          .axis = 1,
          .n = 4,
          .blocks_per_axis = 2,
          .block_scale_bits = 4,
          .block_scale_storage = 8,
          .scales = scales,
          .offsets = offsets,
          .block_scales = block_scales },
    };
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        struct binary_image im;
        struct binary b;
        struct binary_tensor t = { .name = "w",
                                   .desc = { .type = DT_SQ8, .rank = 2, .dims = { 2, 4 }, .q = kinds[i] },
                                   .place = PLACE_CONST,
                                   .bytes = 8 };
        const void *data[1] = { bytes };
        struct binary_source s = { .info = { .name = "g" }, .n_tensors = 1, .tensors = &t, .data = data };
        struct binary_target target = { .backend_id = 3 };
        assert_int_equal(binary_write(&target, &s, &im), ST_OK);
        if (binary_open(im.data, im.size, &b) != ST_OK)
            fail_msg("encoding %zu: %s", i, status_text());
        same_tensor(&t, &b.graphs[0].tensors[0]);
        finish(&im, &b);
    }
}

/* Open, look at everything, close. */
static enum status touch(const void *data, size_t size)
{
    struct binary b;
    enum status st = binary_open(data, size, &b);
    if (st != ST_OK) {
        assert_true(status_text()[0] != 0);
        return st;
    }
    struct str s;
    str_init(&s);
    binary_dump(&b, &s);
    assert_false(s.failed);
    str_finish(&s);
    (void)binary_verify_constants(&b);
    binary_close(&b);
    return ST_OK;
}

/* A buffer of exactly this size, so that a sanitizer sees every byte too many. */
static enum status touch_copy(const uint8_t *data, size_t size, size_t spoil, uint8_t with, bool repair)
{
    uint8_t *copy = malloc(size ? size : 1);
    assert_non_null(copy);
    memcpy(copy, data, size);
    if (spoil < size)
        copy[spoil] ^= with;
    if (repair)
        hm_repair(copy, size);
    enum status st = touch(copy, size);
    free(copy);
    return st;
}

static void test_every_byte(void **state)
{
    (void)state;
    struct binary_image im;
    static const uint8_t with[] = { 0x01, 0x80, 0xff };
    hm_make(&made, "net", 2, 3);
    assert_int_equal(binary_write(&made.target, &made.src, &im), ST_OK);
    size_t metadata = im.size - 64; /* behind it the only constant, padded */
    unsigned opened = 0, refused = 0;
    for (size_t i = 0; i < im.size; i++) {
        for (size_t k = 0; k < sizeof(with); k++) {
            enum status st = touch_copy(im.data, im.size, i, with[k], false);
            /* Padding is in no checksum; everything else of the metadata is. */
            if (st == ST_OK && ((uint8_t *)im.data)[i] != 0)
                assert_true(i >= metadata);
            if (touch_copy(im.data, im.size, i, with[k], true) == ST_OK)
                opened++;
            else
                refused++;
        }
    }
    printf("with repaired checksums: %u opened, %u refused\n", opened, refused);
    assert_true(opened > 0 && refused > 0);
    binary_image_free(&im);
}

static void test_every_length(void **state)
{
    (void)state;
    struct binary_image im;
    hm_make(&made, "net", 2, 3);
    assert_int_equal(binary_write(&made.target, &made.src, &im), ST_OK);
    for (size_t n = 0; n < im.size; n++)
        assert_int_not_equal(touch_copy(im.data, n, SIZE_MAX, 0, false), ST_OK);
    assert_non_null(strstr(status_text(), "cut off"));
    /* More bytes than the file has are no harm: clients round buffers up. */
    uint8_t *more = calloc(1, im.size + 100);
    assert_non_null(more);
    memcpy(more, im.data, im.size);
    assert_int_equal(touch(more, im.size + 100), ST_OK);
    free(more);
    binary_image_free(&im);
}

static void test_unaligned(void **state)
{
    (void)state;
    struct binary_image im;
    struct binary b;
    hm_make(&made, "net", 2, 3);
    assert_int_equal(binary_write(&made.target, &made.src, &im), ST_OK);
    uint8_t *shifted = malloc(im.size + 3);
    assert_non_null(shifted);
    memcpy(shifted + 3, im.data, im.size);
    assert_int_equal(binary_open(shifted + 3, im.size, &b), ST_OK);
    assert_memory_equal(b.graphs[0].constants, made.constant, 24);
    assert_int_equal((uintptr_t)b.graphs[0].constants % 64, 0);
    binary_close(&b);
    free(shifted);
    binary_image_free(&im);
}

static void test_damaged_constants(void **state)
{
    (void)state;
    struct binary_image im;
    struct binary b;
    hm_make(&made, "net", 2, 3);
    assert_int_equal(binary_write(&made.target, &made.src, &im), ST_OK);
    ((uint8_t *)im.data)[im.size - 64] ^= 1;
    assert_int_equal(binary_open(im.data, im.size, &b), ST_OK);
    assert_int_equal(binary_verify_constants(&b), ST_BAD_BINARY);
    finish(&im, &b);
}

static void test_foreign(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t n;
        const char *says;
    } cases[] = {
        { "", 0, "empty" },
        { "\x7f" "ELF\x02\x01\x01", 7, "ELF" },
        { "PK\x03\x04....", 8, "zip" },
        { "\x1f\x8b\x08", 3, "gzip" },
        { "\x1c\0\0\0TFL3", 8, "TFLite" },
        { "\x08\x07\x12\x07pytorch", 11, "ONNX" },
        { "{ \"a\": 1 }", 10, "JSON" },
        { "hello", 5, "text" },
        { "OQNB", 4, "cut off" },
        { "OQNP\1\0\0\0", 8, "profile log" },
        { "\0\0\0\0\0\0\0\0", 8, "zeros" },
        { "\xde\xad\xbe\xef", 4, "the vendor's tools" },
    };
    struct binary b;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(binary_open(cases[i].bytes, cases[i].n, &b), ST_BAD_BINARY);
        if (!strstr(status_text(), cases[i].says))
            fail_msg("\"%s\" is not in \"%s\"", cases[i].says, status_text());
    }
}

static void test_version(void **state)
{
    (void)state;
    struct binary_image im;
    struct binary b;
    hm_make(&made, "net", 2, 3);
    assert_int_equal(binary_write(&made.target, &made.src, &im), ST_OK);
    /* Newer ones, and those whose constants lie in another order. */
    static const struct {
        uint8_t version;
        const char *says, *whose;
    } cases[] = { { 9, "version 9", "a newer openqnn" }, { 2, "version 2", "an older openqnn" } };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        ((uint8_t *)im.data)[4] = cases[i].version;
        hm_repair(im.data, im.size);
        assert_int_equal(binary_open(im.data, im.size, &b), ST_BINARY_VERSION);
        assert_non_null(strstr(status_text(), cases[i].says));
        assert_non_null(strstr(status_text(), cases[i].whose));
    }
    binary_image_free(&im);
}

/* Kinds of sections that a later version may add are skipped. */
static void test_unknown_section(void **state)
{
    (void)state;
    struct binary_image im, merged;
    struct binary b;
    hm_make(&made, "net", 2, 3);
    write_and_open(&made, &im, &b);
    assert_int_equal(binary_merge((const struct binary *[]){ &b }, 1, &(struct binary_extra){ .oem = "somebody" }, &merged),
                     ST_OK);
    uint8_t *data = merged.data;
    uint32_t kind, n;
    memcpy(&n, data + 16, sizeof(n));
    for (uint32_t i = 0; i < n; i++) {
        memcpy(&kind, data + 128 + 32 * i, sizeof(kind));
        if (kind == 12)
            memcpy(data + 128 + 32 * i, &(uint32_t){ 4711 }, sizeof(kind));
    }
    hm_repair(data, merged.size);
    assert_int_equal(touch(data, merged.size), ST_OK);
    binary_image_free(&merged);
    finish(&im, &b);
}

static uint8_t *section_of(const struct binary_image *im, uint32_t kind)
{
    struct bin_header h;
    memcpy(&h, im->data, sizeof(h));
    for (uint32_t i = 0; i < h.n_sections; i++) {
        uint8_t *at = (uint8_t *)im->data + sizeof(h) + i * sizeof(struct bin_section);
        uint32_t is;
        memcpy(&is, at + offsetof(struct bin_section, kind), sizeof(is));
        if (is == kind)
            return at;
    }
    fail_msg("no section of kind %u", kind);
    return NULL;
}

/* With checksums that are right. */
static void test_header(void **state)
{
    (void)state;
    struct binary_image im;
    hm_make(&made, "net", 2, 3);
    assert_int_equal(binary_write(&made.target, &made.src, &im), ST_OK);
    uint8_t *data = im.data, *constants = section_of(&im, SEC_CONSTANTS) + offsetof(struct bin_section, offset);
    struct bin_header h;
    uint64_t offset;
    memcpy(&offset, constants, sizeof(offset));
    memset(constants, 0, sizeof(offset)); /* over the header */
    hm_repair(data, im.size);
    assert_int_equal(touch(data, im.size), ST_BAD_BINARY);
    assert_non_null(strstr(status_text(), "at offset 0"));
    memcpy(constants, &offset, sizeof(offset));
    hm_repair(data, im.size);
    assert_int_equal(touch(data, im.size), ST_OK);
    memset(data + offsetof(struct bin_header, build_id), 'x', sizeof(h.build_id));
    hm_repair(data, im.size);
    assert_int_equal(touch(data, im.size), ST_BAD_BINARY);
    assert_non_null(strstr(status_text(), "build id has no end"));
    binary_image_free(&im);
}

/* States may fill their memory to the last byte. */
static void test_states_fit(void **state)
{
    (void)state;
    struct binary_image im;
    struct binary b;
    hm_make(&made, "net", 2, 3);
    made.src.info.persistent_bytes = 128;
    made.nodes[HM_ADD].state_bytes = made.nodes[HM_RELU].state_bytes = made.nodes[HM_RELU].state_offset = 64;
    write_and_open(&made, &im, &b);
    finish(&im, &b);
}

/* Four bytes further suit the floats of a constant, and not the format. */
static void test_shifted_constant(void **state)
{
    (void)state;
    struct binary_image im;
    struct binary b;
    struct bin_section sec;
    hm_make(&made, "net", 2, 3);
    assert_int_equal(binary_write(&made.target, &made.src, &im), ST_OK);
    memcpy(&sec, section_of(&im, SEC_TENSORS), sizeof(sec));

    uint8_t *data = im.data;
    uint8_t *at = data + sec.offset + HM_C * sizeof(struct bin_tensor) + offsetof(struct bin_tensor, offset);
    const uint64_t shifted = 4;
    memcpy(at, &shifted, sizeof(shifted));
    hm_repair(data, im.size);
    assert_int_equal(binary_open(data, im.size, &b), ST_BAD_BINARY);
    assert_non_null(strstr(status_text(), "offset 4 is no multiple of 64"));
    binary_image_free(&im);
}

/* ---- sources that promise what does not hold -------------------------------------------------------------------------- */

static void spoil_scratch(struct handmade *h) { h->src.info.scratch_bytes = 64; }
static void spoil_offset(struct handmade *h) { h->tensors[HM_T].offset = 2; }
static void spoil_far_offset(struct handmade *h) { h->tensors[HM_T].offset = UINT64_MAX - 3; }
static void spoil_bytes(struct handmade *h) { h->tensors[HM_C].bytes = 4; }
static void spoil_shape(struct handmade *h) { h->tensors[HM_T].desc.dims[0]--; }
static void spoil_rank(struct handmade *h) { h->tensors[HM_X].desc.rank = 9; }
static void spoil_type(struct handmade *h) { h->tensors[HM_X].desc.type = (enum dtype)99; }
static void spoil_place(struct handmade *h) { h->tensors[HM_T].place = 77; }
static void spoil_no_place(struct handmade *h) { h->tensors[HM_T].place = PLACE_NONE; }
static void spoil_no_window(struct handmade *h) { h->tensors[HM_T].place = PLACE_VTCM; }
static void spoil_small_window(struct handmade *h)
{
    h->tensors[HM_T].place = PLACE_VTCM, h->src.info.vtcm_bytes = h->src.info.vtcm_used = 64;
}
static void spoil_window_used(struct handmade *h) { h->src.info.vtcm_bytes = 64, h->src.info.vtcm_used = 128; }
static void spoil_huge_window(struct handmade *h) { h->src.info.vtcm_bytes = UINT64_MAX; }
static void spoil_no_spill(struct handmade *h) { h->tensors[HM_T].place = PLACE_SPILL; }
static void spoil_small_spill(struct handmade *h)
{
    h->tensors[HM_T].place = PLACE_SPILL, h->src.info.spill_fill_bytes = 64;
}
static void spoil_huge_spill(struct handmade *h) { h->src.info.spill_fill_bytes = UINT64_MAX; }
static void spoil_output_in_input(struct handmade *h) { h->tensors[HM_R].offset = 0; }
static void spoil_output_in_const(struct handmade *h)
{
    h->tensors[HM_T].place = PLACE_CONST, h->data[HM_T] = h->constant + 64;
}
static void spoil_operand(struct handmade *h) { h->add_in[1] = 1000; }
static void spoil_absent(struct handmade *h) { h->add_in[1] = BINARY_NONE; }
static void spoil_count(struct handmade *h) { h->nodes[HM_ADD].n_in = 1; }
static void spoil_perm(struct handmade *h) { h->perm[0] = 7; }
static void spoil_clamp(struct handmade *h) { h->nodes[HM_RELU].post = (struct op_post){ 2, 1 }; }
static void spoil_nan_clamp(struct handmade *h) { h->nodes[HM_RELU].post.lo = NAN; }
static void spoil_work(struct handmade *h) { h->nodes[HM_ADD].work_bytes = 1 << 20; }
static void spoil_work_offset(struct handmade *h)
{
    h->nodes[HM_ADD].work_bytes = 64, h->nodes[HM_ADD].work_offset = UINT64_MAX - 63;
}
static void spoil_command_node(struct handmade *h) { h->commands[1].node = HM_NODES; }
static void spoil_command_range(struct handmade *h) { h->commands[1].begin = h->commands[1].end = 5; }
static void spoil_step(struct handmade *h) { h->commands[2].step = 0; }
static void spoil_far_step(struct handmade *h) { h->commands[3].step = 1000; }
static void spoil_align(struct handmade *h) { h->src.info.scratch_align = 48; }
static void spoil_large_align(struct handmade *h)
{
    h->src.info.scratch_align = 4 << 20;
}
static void spoil_io_alias(struct handmade *h) { h->tensors[HM_R].offset = 17; }
static void spoil_aux(struct handmade *h) { h->nodes[HM_RELU].n_aux = 1, h->nodes[HM_RELU].aux = h->relu_in; }
static void spoil_work_over_output(struct handmade *h) { h->nodes[HM_ADD].work_bytes = 64; }
static void spoil_work_meets_output(struct handmade *h) /* in one byte */
{
    h->tensors[HM_T].offset = 64, h->src.info.scratch_bytes += 64;
    h->nodes[HM_ADD].work_bytes = 65;
}
static void spoil_half_in_place(struct handmade *h)
{
    h->tensors[HM_R].place = PLACE_SCRATCH, h->tensors[HM_R].offset = 64, h->src.info.scratch_bytes += 64;
}
static void spoil_state_outside(struct handmade *h) { h->nodes[HM_ADD].state_bytes = 64; }
static void spoil_state_far(struct handmade *h)
{
    h->src.info.persistent_bytes = 256;
    h->nodes[HM_ADD].state_bytes = 128;
    h->nodes[HM_ADD].state_offset = UINT64_MAX - 63;
}
static void spoil_state_align(struct handmade *h)
{
    h->src.info.persistent_bytes = 256;
    h->nodes[HM_ADD].state_bytes = 8;
    h->nodes[HM_ADD].state_offset = 8;
}
static void spoil_states_overlap(struct handmade *h)
{
    h->src.info.persistent_bytes = 256;
    h->nodes[HM_ADD].state_bytes = 129;
    h->nodes[HM_RELU].state_bytes = 64;
    h->nodes[HM_RELU].state_offset = 128;
}
static void spoil_state_over_tensor(struct handmade *h)
{
    h->src.info.persistent_bytes = h->tensors[HM_T].bytes + 64;
    h->tensors[HM_T].place = PLACE_PERSISTENT;
    h->tensors[HM_T].offset = 64;
    h->nodes[HM_TRANSPOSE].state_bytes = 65;
}
static const uint32_t guard_far[2] = { 1000, 1 }, guard_float[2] = { HM_X, 1 }, guard_two[2] = { HM_X, 2 };
static void spoil_guard_far(struct handmade *h) { h->nodes[HM_RELU].n_guards = 1, h->nodes[HM_RELU].guards = guard_far; }
static void spoil_guard_type(struct handmade *h) { h->nodes[HM_RELU].n_guards = 1, h->nodes[HM_RELU].guards = guard_float; }
static void spoil_guard_value(struct handmade *h) { h->nodes[HM_RELU].n_guards = 1, h->nodes[HM_RELU].guards = guard_two; }
static void spoil_same_step(struct handmade *h)
{
    h->commands[1].step = 0; /* Relu reads what Add writes in the same step */
    h->commands[2].step = h->commands[3].step = 1;
}
static void spoil_scale(struct handmade *h)
{
    h->tensors[HM_C].desc.type = DT_SQ32;
    h->tensors[HM_C].desc.q = (struct quant){ .kind = Q_TENSOR, .scale = NAN, .offset = 1 };
}

static const struct {
    const char *name;
    void (*spoil)(struct handmade *);
} spoilers[] = {
#define CASE(f)                \
    {                          \
        .spoil = f, .name = #f \
    }
    CASE(spoil_scratch),
    CASE(spoil_offset),
    CASE(spoil_far_offset),
    CASE(spoil_bytes),
    CASE(spoil_shape),
    CASE(spoil_rank),
    CASE(spoil_type),
    CASE(spoil_place),
    CASE(spoil_no_place),
    CASE(spoil_output_in_input),
    CASE(spoil_output_in_const),
    CASE(spoil_operand),
    CASE(spoil_absent),
    CASE(spoil_count),
    CASE(spoil_perm),
    CASE(spoil_clamp),
    CASE(spoil_nan_clamp),
    CASE(spoil_work),
    CASE(spoil_work_offset),
    CASE(spoil_command_node),
    CASE(spoil_command_range),
    CASE(spoil_step),
    CASE(spoil_far_step),
    CASE(spoil_align),
    CASE(spoil_large_align),
    CASE(spoil_io_alias),
    CASE(spoil_aux),
    CASE(spoil_scale),
    CASE(spoil_work_over_output),
    CASE(spoil_work_meets_output),
    CASE(spoil_half_in_place),
    CASE(spoil_same_step),
    CASE(spoil_state_outside),
    CASE(spoil_state_far),
    CASE(spoil_state_align),
    CASE(spoil_no_window),
    CASE(spoil_small_window),
    CASE(spoil_window_used),
    CASE(spoil_huge_window),
    CASE(spoil_no_spill),
    CASE(spoil_small_spill),
    CASE(spoil_huge_spill),
    CASE(spoil_states_overlap),
    CASE(spoil_state_over_tensor),
    CASE(spoil_guard_far),
    CASE(spoil_guard_type),
    CASE(spoil_guard_value),
#undef CASE
};

static void test_spoiled(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(spoilers) / sizeof(spoilers[0]); i++) {
        struct binary_image im;
        struct binary b;
        hm_make(&made, "net", 8, 16);
        spoilers[i].spoil(&made);
        enum status st = binary_write(&made.target, &made.src, &im);
        if (st != ST_OK)
            continue;
        if (binary_open(im.data, im.size, &b) == ST_OK)
            fail_msg("%s was not noticed", spoilers[i].name);
        assert_true(status_text()[0] != 0);
        binary_image_free(&im);
    }
}

/* ---- merging ---------------------------------------------------------------------------------------------------------- */

static void test_merge(void **state)
{
    (void)state;
    static const char *const names[3] = { "one", "two", "three" };
    struct binary_image im[3], merged;
    struct binary b[3], all;
    const struct binary *parts[3] = { &b[0], &b[1], &b[2] };
    const struct binary_extra extra = { .oem = "oem text", .own = "seven\0!", .own_bytes = 7 };
    uint64_t size = 0;
    for (int i = 0; i < 3; i++) {
        hm_make(&made, names[i], 16, 32);
        if (i == 2)
            made.constant[5] = 99;
        write_and_open(&made, &im[i], &b[i]);
    }
    assert_int_equal(binary_merged_size(parts, 3, &extra, &size), ST_OK);
    assert_int_equal(binary_merge(parts, 3, &extra, &merged), ST_OK);
    assert_int_equal(merged.size, size);
    assert_int_equal(binary_open(merged.data, merged.size, &all), ST_OK);
    assert_int_equal(all.n_graphs, 3);
    assert_string_equal(all.oem, "oem text");
    assert_int_equal(all.own_bytes, 7);
    assert_memory_equal(all.own, extra.own, 7);
    for (int i = 0; i < 3; i++) {
        const struct binary_graph *g = &all.graphs[i];
        assert_string_equal(g->info.name, names[i]);
        assert_int_equal((uintptr_t)g->constants % 4096, 0);
        for (uint32_t k = 0; k < HM_TENSORS; k++)
            same_tensor(&b[i].graphs[0].tensors[k], &g->tensors[k]);
        for (uint32_t k = 0; k < HM_NODES; k++)
            same_node(&b[i].graphs[0].nodes[k], &g->nodes[k]);
    }
    assert_ptr_equal(all.graphs[0].constants, all.graphs[1].constants);
    assert_ptr_not_equal(all.graphs[0].constants, all.graphs[2].constants);
    assert_int_equal(binary_verify_constants(&all), ST_OK);

    /* What was merged can be merged again; names stay unique, targets stay equal. */
    const struct binary *twice[2] = { &all, &b[0] };
    assert_int_equal(binary_merge(twice, 2, NULL, &(struct binary_image){}), ST_EXISTS);
    b[1].target.backend_id = 6;
    assert_int_equal(binary_merge(parts, 2, NULL, &(struct binary_image){}), ST_BINARY_CONFIG);
    finish(&merged, &all);
    for (int i = 0; i < 3; i++)
        finish(&im[i], &b[i]);
}

/* Names are looked up, so a file with two graphs of one name is damaged. */
static void test_same_name_twice(void **state)
{
    (void)state;
    struct binary_image im[2], merged;
    struct binary b[2];
    const struct binary *parts[2] = { &b[0], &b[1] };
    for (int i = 0; i < 2; i++) {
        hm_make(&made, i ? "graph two" : "graph one", 2, 3);
        write_and_open(&made, &im[i], &b[i]);
    }
    assert_int_equal(binary_merge(parts, 2, NULL, &merged), ST_OK);
    assert_int_equal(touch(merged.data, merged.size), ST_OK);
    uint8_t *second = memmem(merged.data, merged.size, "graph two", 9);
    assert_non_null(second);
    memcpy(second, "graph one", 9);
    hm_repair(merged.data, merged.size);
    assert_int_equal(touch(merged.data, merged.size), ST_BAD_BINARY);
    assert_non_null(strstr(status_text(), "two graphs are named \"graph one\""));
    binary_image_free(&merged);
    for (int i = 0; i < 2; i++)
        finish(&im[i], &b[i]);
}

/* A constant that may be updated belongs to its graph, even when another one has the same bytes now. */
static void test_updateable_stays_apart(void **state)
{
    (void)state;
    for (int updateable = 0; updateable < 2; updateable++) {
        struct binary_image im[2], merged;
        struct binary b[2], all;
        const struct binary *parts[2] = { &b[0], &b[1] };
        for (int i = 0; i < 2; i++) {
            hm_make(&made, i ? "two" : "one", 16, 32);
            made.tensors[HM_C].updateable = (uint8_t)updateable;
            write_and_open(&made, &im[i], &b[i]);
        }
        assert_int_equal(binary_merge(parts, 2, NULL, &merged), ST_OK);
        assert_int_equal(binary_open(merged.data, merged.size, &all), ST_OK);
        const struct binary_graph *g = all.graphs;
        const uint8_t *one = g[0].constants + g[0].tensors[HM_C].offset, *two = g[1].constants + g[1].tensors[HM_C].offset;
        assert_int_equal(one != two, updateable);
        assert_memory_equal(one, made.constant, g[0].tensors[HM_C].bytes);
        assert_memory_equal(two, made.constant, g[1].tensors[HM_C].bytes);
        finish(&merged, &all);
        for (int i = 0; i < 2; i++)
            finish(&im[i], &b[i]);
    }
}

/* Files that were merged are merged with others: what they have is found, and stays where it was. */
static void test_merge_again(void **state)
{
    (void)state;
    static const char *const names[4] = { "one", "two", "three", "four" };
    struct binary_image im[4], pairs[2], merged;
    struct binary b[4], pair[2], all;
    for (int i = 0; i < 4; i++) {
        hm_make(&made, names[i], 16, 32);
        made.constant[5] = i % 2 ? 99 : 1; /* two pairs, each with two kinds */
        write_and_open(&made, &im[i], &b[i]);
    }
    for (int i = 0; i < 2; i++) {
        const struct binary *parts[2] = { &b[2 * i], &b[2 * i + 1] };
        assert_int_equal(binary_merge(parts, 2, NULL, &pairs[i]), ST_OK);
        assert_int_equal(binary_open(pairs[i].data, pairs[i].size, &pair[i]), ST_OK);
    }
    const struct binary *parts[2] = { &pair[0], &pair[1] };
    assert_int_equal(binary_merge(parts, 2, NULL, &merged), ST_OK);
    assert_int_equal(binary_open(merged.data, merged.size, &all), ST_OK);
    assert_int_equal(binary_verify_constants(&all), ST_OK);
    assert_int_equal(all.n_graphs, 4);
    for (int i = 0; i < 4; i++) {
        const struct binary_graph *g = &all.graphs[i], *was = &b[i].graphs[0];
        assert_ptr_equal(g->constants + g->tensors[HM_C].offset, all.graphs[i % 2].constants + g->tensors[HM_C].offset);
        assert_memory_equal(g->constants + g->tensors[HM_C].offset, was->constants + was->tensors[HM_C].offset,
                            g->tensors[HM_C].bytes);
    }
    finish(&merged, &all);
    for (int i = 0; i < 2; i++)
        finish(&pairs[i], &pair[i]);
    for (int i = 0; i < 4; i++)
        finish(&im[i], &b[i]);
}

static void test_compact(void **state)
{
    (void)state;
    enum { N = 300000 };
    struct binary_image im;
    struct binary b;
    struct binary_command *c = calloc(N, sizeof(*c));
    assert_non_null(c);
    hm_make(&made, "net", 2, 3);
    for (uint32_t i = 0; i < N; i++)
        c[i] = (struct binary_command){ i / 10 % HM_NODES, i, i + 1, i / 10 };
    made.src.commands = c;
    made.src.n_commands = N;
    write_and_open(&made, &im, &b);
    assert_true(im.size < N * 16 + 16384);
    assert_int_equal(b.graphs[0].n_commands, N);
    finish(&im, &b);
    free(c);
}

/* Constants are found by their size and crc32. Two of a graph that have both in common but not their bytes, as happens with
 * a multiple of the polynomial between them, must not be taken for each other. */
static void test_constants_with_one_crc(void **state)
{
    (void)state;
    enum { BYTES = 80 };
    static const uint64_t polynomial = 0x1DB710641; /* the lowest bit first, as zlib counts them */
    uint8_t data[3 * BYTES];
    struct binary_tensor t[3] = { 0 };
    struct binary_graph g = { .tensors = t, .n_tensors = 3, .constants = data, .constant_bytes = sizeof data };
    struct binary_constants c;
    for (uint32_t i = 0; i < 3; i++) {
        t[i].place = PLACE_CONST;
        t[i].offset = (uint64_t)i * BYTES;
        t[i].bytes = BYTES;
        for (uint32_t k = 0; k < BYTES; k++)
            data[i * BYTES + k] = (uint8_t)(7 * k + 3);
    }
    data[2 * BYTES] = 0;
    assert_int_equal(binary_list_constants(&g, &c), ST_OK);
    assert_int_equal(c.n, 3); /* twice the same bytes do no harm */
    binary_constants_finish(&c);
    for (uint32_t k = 0; k < 5; k++)
        data[BYTES + 40 + k] ^= (uint8_t)(polynomial >> 8 * k);
    assert_int_equal(crc32_z(0, data, BYTES), crc32_z(0, data + BYTES, BYTES));
    assert_int_equal(binary_list_constants(&g, &c), ST_OK);
    assert_int_equal(c.n, 1);
    assert_ptr_equal(c.at[0].data, data + 2 * BYTES);
    binary_constants_finish(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_encodings),
        cmocka_unit_test(test_every_byte),
        cmocka_unit_test(test_every_length),
        cmocka_unit_test(test_unaligned),
        cmocka_unit_test(test_damaged_constants),
        cmocka_unit_test(test_foreign),
        cmocka_unit_test(test_version),
        cmocka_unit_test(test_unknown_section),
        cmocka_unit_test(test_header),
        cmocka_unit_test(test_states_fit),
        cmocka_unit_test(test_spoiled),
        cmocka_unit_test(test_merge),
        cmocka_unit_test(test_merge_again),
        cmocka_unit_test(test_compact),
        cmocka_unit_test(test_same_name_twice),
        cmocka_unit_test(test_updateable_stays_apart),
        cmocka_unit_test(test_shifted_constant),
        cmocka_unit_test(test_constants_with_one_crc),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
