/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the seeds of fuzz_binary and fuzz_proflog: make_binary_seeds FOLDER makes FOLDER/binary/… and FOLDER/proflog/…
 * anew. The seeds are committed; this is how they were made, and how new ones are added. */
#include <stdio.h>
#include <stdlib.h>

#include "../passes/handmade.h"
#include "ir/ir.h"
#include "prepare/prepare.h"
#include "profile/profile.h"

static struct handmade made;
static const char *folder;

static void put(const char *name, const void *data, size_t size)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/binary/%s", folder, name);
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(data, size, 1, f) != 1 || fclose(f) != 0) {
        perror(path);
        exit(1);
    }
}

static struct binary_image write_made(void)
{
    struct binary_image im;
    if (binary_write(&made.target, &made.src, &im) != ST_OK) {
        fprintf(stderr, "%s\n", status_text());
        exit(1);
    }
    return im;
}

static void put_made(const char *name)
{
    struct binary_image im = write_made();
    put(name, im.data, im.size);
    binary_image_free(&im);
}

static void put_merged(void)
{
    struct binary_image im[2], merged;
    struct binary b[2];
    for (int i = 0; i < 2; i++) {
        hm_make(&made, i ? "two" : "one", 2, 2);
        im[i] = write_made();
        if (binary_open(im[i].data, im[i].size, &b[i]) != ST_OK)
            exit(1);
    }
    if (binary_merge((const struct binary *[]){ &b[0], &b[1] }, 2, &(struct binary_extra){ .oem = "oem" }, &merged) != ST_OK)
        exit(1);
    put("merged.bin", merged.data, merged.size);
    binary_image_free(&merged);
    for (int i = 0; i < 2; i++) {
        binary_close(&b[i]);
        binary_image_free(&im[i]);
    }
}

/* Fixed point, one encoding with arrays. */
static void put_fixed(void)
{
    static const float scales[3] = { 0.5f, 0.25f, 0.125f };
    hm_make(&made, "fixed", 2, 3);
    for (int i = 0; i < HM_TENSORS; i++) {
        made.tensors[i].desc.type = DT_UQ8;
        made.tensors[i].desc.q = (struct quant){ .kind = Q_TENSOR, .definition = 1, .scale = 0.5f, .offset = -128 };
        made.tensors[i].bytes = desc_bytes(&made.tensors[i].desc);
    }
    made.tensors[HM_C].desc.q = (struct quant){ .kind = Q_AXIS, .definition = 1, .axis = 1, .n = 3, .scales = scales };
    made.add_in[1] = HM_X;
    put_made("fixed.bin");
}

/* What the compiler makes: packed weights, tables, workspaces, tiles. */
static const struct {
    const char *name, *text;
    uint64_t vtcm; /* a window of fast memory */
} prepared[] = {
    { "conv.bin",
      "graph \"conv\" {\n"
      "  in %x : uq8[1,5,5,3] scale=0.5 offset=-128\n"
      "  const %w : sq8[2,2,3,4] quant=2 axis=3 scales=(0.1,0.2,0.3,0.4) = "
      "x\"0102030405060708090a0b0c0d0e0f10fffefdfcfbfaf9f8f7f6f5f4f3f2f1f0"
      "0102030405060708090a0b0c0d0e0f10\"\n"
      "  tmp %t : uq8[1,4,4,4] scale=2 offset=-100\n"
      "  tmp %s : uq8[1,4,4,4] scale=0.00390625 offset=0\n"
      "  out %y : uq8[16,4] scale=0.00390625 offset=0\n"
      "  %t = Conv2d \"conv\" (%x, %w) { stride=u32[2](1,1), pad_amount=u32[2,2](0,0,0,0) }\n"
      "  %s = Sigmoid \"sigmoid\" (%t)\n"
      "  %y = Reshape \"reshape\" (%s)\n"
      "}\n",
      0 },
    { "chain.bin",
      "graph \"chain\" {\n"
      "  in %x : f32[1,9,3,2]\n"
      "  const %w : f32[3,3,1,2] = (1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,8,9)\n"
      "  tmp %s : f32[1,9,3,2]\n"
      "  tmp %t : f32[1,9,3,2]\n"
      "  tmp %u : f32[1,5,3,2]\n"
      "  out %y : f32[1,5,3,2]\n"
      "  %s = Sigmoid \"sigmoid\" (%x)\n"
      "  %t = ElementWiseAdd \"add\" (%s, %x)\n"
      "  %u = DepthWiseConv2d \"conv\" (%t, %w) { stride=u32[2](2,1), pad_amount=u32[2,2](1,1,1,1) }\n"
      "  %y = Tanh \"tanh\" (%u)\n"
      "}\n",
      0 },
    { "float.bin",
      "graph \"float\" {\n"
      "  in %x : f32[2,6]\n"
      "  in %w : f32[6,3]\n"
      "  tmp %m : f32[2,3]\n"
      "  out %y : f32[2,3]\n"
      "  %m = MatMul \"product\" (%x, %w)\n"
      "  %y = Softmax \"softmax\" (%m)\n"
      "}\n",
      0 },
    { "window.bin",
      "graph \"window\" {\n"
      "  in %x : uq8[1,16,16,32] scale=0.5 offset=-128\n"
      "  tmp %a : uq8[1,16,16,32] scale=0.5 offset=-128\n"
      "  tmp %b : uq8[1,16,16,32] scale=0.5 offset=-128\n"
      "  tmp %c : uq8[1,16,16,32] scale=0.5 offset=-128\n"
      "  tmp %d : uq8[1,16,16,32] scale=0.5 offset=-128\n"
      "  out %y : uq8[1,16,16,32] scale=0.5 offset=-128\n"
      "  %a = Transpose \"a\" (%x) { perm=u32[4](0,2,1,3) }\n"
      "  %b = PoolMax2d \"b\" (%a) { filter_size=u32[2](3,3), stride=u32[2](1,1), pad_amount=u32[2,2](1,1,1,1) }\n"
      "  %c = Sigmoid \"c\" (%b)\n"
      "  %d = Transpose \"d\" (%c) { perm=u32[4](0,2,1,3) }\n"
      "  %y = ElementWiseAdd \"y\" (%d, %a)\n"
      "}\n",
      24576 },
};

static void put_prepared(void)
{
    static const struct cost_device device = { .clock_mhz = 1000,
                                               .matrix_macs = 1024,
                                               .vector_units = 2,
                                               .vector_percent = 400,
                                               .vtcm_rate = 200,
                                               .dram_mb_s = 4000,
                                               .launch = { 700, 30 },
                                               .vtcm_bytes = 24576 };
    struct prepare_target t = { .passes = prepare_default_passes,
                                .tensor_align = 64,
                                .max_tiles = 4,
                                .plan_nodes = 20000,
                                .chains = { .bytes = 1024, .lines = 1, .twice = 1000 } };
    struct prepare_opts o = { .binary = { .backend_id = 3 }, .opt_level = 2 };
    for (size_t i = 0; i < sizeof(prepared) / sizeof(prepared[0]); i++) {
        struct ir_graph *g = NULL;
        struct binary_image im;
        t.vtcm_bytes = prepared[i].vtcm;
        t.device = prepared[i].vtcm ? &device : NULL; /* with spans of an estimate */
        t.chains.bytes = prepared[i].vtcm ? 4096 : 1024;
        if (ir_parse(prepared[i].text, strlen(prepared[i].text), &g) != ST_OK || prepare(&t, &o, g, &im) != ST_OK) {
            fprintf(stderr, "%s: %s\n", prepared[i].name, status_text());
            exit(1);
        }
        put(prepared[i].name, im.data, im.size);
        binary_image_free(&im);
        ir_graph_free(g);
    }
}

/* With a constant in fewer bytes. */
static void put_packed(void)
{
    struct binary_image packed;
    hm_make(&made, "packed", 16, 24);
    made.tensors[HM_C].storage = STORE_GROUPS;
    struct binary_image im = write_made();
    if (binary_pack(im.data, im.size, &packed) != ST_OK || !packed.data)
        exit(1);
    put("packed.bin", packed.data, packed.size);
    binary_image_free(&packed);
    binary_image_free(&im);
}

static void put_log(void)
{
    char path[4096];
    struct prof_log_writer *w;
    struct prof_log_header h = { .app_name = "qnn-net-run", .app_version = "1", .backend_version = "CPU 1.1.0" };
    struct prof_event events[3] = {
        { .type = PROF_EXECUTE,
          .unit = PROF_UNIT_US,
          .value = 100,
          .timestamp_us = 5,
          .name = "QNN (execute) time",
          .parent = PROF_ROOT },
        { .type = PROF_NODE, .unit = PROF_UNIT_US, .value = 40, .timestamp_us = 6, .name = "conv:OpId_0 (us)", .parent = 0 },
        { .type = PROF_NODE,
          .unit = PROF_UNIT_CYCLES,
          .value = 60,
          .timestamp_us = 7,
          .name = "relu:OpId_1 (cycles)",
          .parent = 0 },
    };
    struct prof_log_record r = {
        .method = 1, .graph_name = "net", .start_us = 1, .stop_us = 200, .n_events = 3, .events = events
    };
    struct prof_log_record init = { .method = 6, .start_us = 1, .stop_us = 2 };
    snprintf(path, sizeof(path), "%s/proflog/log.bin", folder);
    if (prof_log_create(path, &h, &w) != ST_OK || prof_log_append(w, &init) != ST_OK || prof_log_append(w, &r) != ST_OK ||
        prof_log_close(w) != ST_OK) {
        fprintf(stderr, "%s\n", status_text());
        exit(1);
    }
}

int main(int argc, char **argv)
{
    folder = argc == 2 ? argv[1] : NULL;
    if (!folder) {
        fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
        return 2;
    }
    hm_make(&made, "net", 2, 3);
    put_made("small.bin");
    hm_commands(&made, 3, 1);
    made.tensors[HM_X].optional = 1;
    put_made("tiles.bin");
    hm_make(&made, "dynamic", 4, 2);
    made.tensors[HM_X].desc.dynamic = made.tensors[HM_T].desc.dynamic = made.tensors[HM_R].desc.dynamic = 1;
    put_made("dynamic.bin");
    put_fixed();
    put_merged();
    put_packed();
    put_prepared();
    put_log();
    return 0;
}
