/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the corpus of fuzz_dlc: make_dlc_seeds FOLDER. A few graphs as archives, and as records without one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "convert/convert.h"

static const char *const texts[] = {
    "graph \"conv\" { in %x : uq8[1,4,4,3] scale=0.5 offset=-128 const %w : sq8[1,1,3,2] quant=2 axis=3 scales=(0.5,0.25) = "
    "(1,2,3,4,5,6)\n"
    "const %b : sq32[2] scale=0.25 offset=0 = (100,5) tmp %t : uq8[1,4,4,2] scale=1 offset=-3 out %y : uq8[1,4,4,2] "
    "scale=0.5 offset=-128\n"
    "%t = Conv2d \"c\" (%x, %w, %b) { stride=u32[2](1,1), pad_amount=u32[2,2](0,0,0,0), group=u32(1) } %y = Relu \"r\" (%t) "
    "}",
    "graph \"soft\" { in %x : f32[2,3] out %y : f32[2,3] %y = Softmax \"s\" (%x) { axis=u32(1), beta=f32(0.5) } }",
    "graph \"extra\" { in %a : uq8[?2,3] scale=1 offset=-32 bits=7 mapping=1 const %d : sq4[2,4] quant=4 axis=0 "
    "scales=(1,2) blocks=2 block_bits=4 "
    "block_scales8=(1,2,3,4) = x\"01020304\" in %f : sq8[4,4] quant=6 axis=0 block=(2,4) scales=(1,2) foffsets=(0.5,-0.5) "
    "absent %n : none[] out %y : "
    "uq8[?2,3] scale=1 offset=-32 bits=7 mapping=1 %y = Relu \"r\" (%a) }",
};

static void fail(void)
{
    fprintf(stderr, "%s\n", status_text());
    exit(1);
}

static void put(const char *folder, const char *kind, size_t i, const void *head, size_t head_bytes, const void *data,
                size_t n)
{
    char path[1000];
    snprintf(path, sizeof path, "%s/%s%zu", folder, kind, i);
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(head, 1, head_bytes, f) != head_bytes || fwrite(data, 1, n, f) != n || fclose(f) != 0) {
        perror(path);
        exit(1);
    }
}

/* The records one after another, behind their sizes. */
static void put_records(const char *folder, size_t i, struct convert_dlc *d)
{
    static const char *const names[] = { "model", "model.params", "openqnn.extra" };
    uint8_t all[1 << 15];
    uint16_t sizes[3] = { 0 };
    size_t n = 0;
    const void *data;
    for (int k = 0; k < 3; k++)
        for (uint32_t r = 0; r < convert_dlc_count(d); r++)
            if (strcmp(convert_dlc_name(d, r), names[k]) == 0) {
                if (convert_dlc_record(d, r, &data) != ST_OK)
                    fail();
                sizes[k] = (uint16_t)convert_dlc_size(d, r);
                memcpy(all + n, data, sizes[k]);
                n += sizes[k];
            }
    uint8_t head[5] = { 'R' };
    memcpy(head + 1, sizes, 4);
    put(folder, "records", i, head, sizeof head, all, n);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: make_dlc_seeds FOLDER\n");
        return 1;
    }
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct ir_graph *g;
        struct convert_dlc *d;
        void *image;
        size_t size;
        char prefix[] = "/tmp/openqnn-seed-XXXXXX", path[64];
        int fd = mkstemp(prefix);
        struct convert_write w = { .prefix = prefix };
        snprintf(path, sizeof path, "%s.dlc", prefix);
        if (fd < 0 || ir_parse(texts[i], strlen(texts[i]), &g) != ST_OK ||
            convert_write_dlc((const struct ir_graph *const *)&g, 1, &w) != ST_OK || convert_dlc_open(path, &d) != ST_OK ||
            convert_dlc_image(d, &image, &size) != ST_OK)
            fail();
        put(argv[1], "zip", i, "Z", 1, image, size);
        put_records(argv[1], i, d);
        convert_dlc_close(d);
        ir_graph_free(g);
        free(image);
        close(fd);
        unlink(prefix);
        unlink(path);
    }
    return 0;
}
