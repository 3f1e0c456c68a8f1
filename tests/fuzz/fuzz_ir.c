/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: the parser of the graph text, and the whole compiler behind it. A text that is read must be printed and read
 * again to the same text; when it is small it is prepared, opened and run, each tensor in a block of its own size. What is
 * refused is explained.
 *
 * Few texts survive a change of single bytes, so a short input is also taken as changes of words in a good text: the first
 * byte chooses the text, then pairs of bytes replace one word by another. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz_run.h"

static void print(const struct ir_graph *g, struct str *s)
{
    str_init(s);
    ir_print(g, SIZE_MAX, s);
    require(!s->failed);
}

static void same_again(const struct ir_graph *g)
{
    struct str first, second;
    struct ir_graph *again = NULL;
    print(g, &first);
    require(ir_parse(str_text(&first), first.n, &again) == ST_OK);
    print(again, &second);
    require(first.n == second.n && memcmp(str_text(&first), str_text(&second), first.n) == 0);
    ir_graph_free(again);
    str_finish(&second);
    str_finish(&first);
}

static void try_text(const char *text, size_t size)
{
    struct ir_graph *g = NULL;
    status_clear();
    if (ir_parse(text, size, &g) != ST_OK) {
        require(status_text()[0] != '\0' && !g);
        return;
    }
    same_again(g);
    compile_and_run(g);
    ir_graph_free(g);
}

/* ---- words ------------------------------------------------------------------------------------------------------------ */

#define WINDOW "stride=u32[2](1,1), pad_amount=u32[2,2](0,1,1,0)"

static const char *const good[] = {
    "graph \"conv\" { in %x : uq8[1,4,4,3] scale=0.5 offset=-128\n"
    "const %w : sq8[2,2,3,2] quant=2 axis=3 scales=(0.5,0.25) = (1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,8,9,1,2,3,4,5,6)\n"
    "const %b : sq32[2] scale=0.25 offset=0 = (100,5)\n"
    "tmp %t : uq8[1,4,4,2] scale=1 offset=-3 tmp %u : uq8[1,4,4,2] scale=1 offset=-3 out %y : uq8[1,4,4,2] scale=0.5 "
    "offset=-128\n"
    "%t = Conv2d \"c\" (%x, %w, %b) { " WINDOW
    ", group=u32(1), dilation=u32[2](1,1) } %u = Relu \"r\" (%t) %y = Sigmoid \"s\" (%u) }",
    "graph \"dw\" { in %x : f32[1,3,3,2] const %w : f32[2,2,1,2] = (1,2,3,4,5,6,7,8) const %g : f32[2] = (1,2) const %o : "
    "f32[2] = (3,4)\n"
    "tmp %t : f32[1,3,3,2] tmp %u : f32[1,3,3,2] out %y : f32[1,3,3,2]\n"
    "%t = DepthWiseConv2d \"c\" (%x, %w) { " WINDOW " } %u = Batchnorm \"b\" (%t, %g, %o) %y = Relu6 \"r\" (%u) }",
    "graph \"mm\" { in %a : f32[2,3,4] in %b : f32[2,4,5] tmp %m : f32[2,3,5] tmp %s : f32[2,3,5] out %y : f32[6,5]\n"
    "%m = MatMul \"m\" (%a, %b) { transpose_in0=b8(0), transpose_in1=b8(0) } %s = Softmax \"s\" (%m) { axis=u32(2), "
    "beta=f32(1) }\n"
    "%y = Reshape \"r\" (%s) }",
    "graph \"pool\" { in %x : uq8[1,4,4,2] scale=0.5 offset=0 tmp %p : uq8[1,4,4,2] scale=0.5 offset=0 tmp %q : "
    "uq8[1,4,4,4] scale=0.5 offset=0\n"
    "out %y : uq8[1,2,4,3] scale=0.5 offset=0 out %z : uq8[1,2,2,4] scale=0.5 offset=0\n"
    "%p = PoolAvg2d \"p\" (%x) { filter_size=u32[2](2,2), " WINDOW
    ", rounding_mode=u32(0) } %q = Concat \"q\" (%x, %p) { axis=u32(3) }\n"
    "%y = StridedSlice \"s\" (%q) { ranges=i32[4,3](0,1,1,0,4,2,0,4,1,1,4,1), begin_mask=u32(0), end_mask=u32(0), "
    "shrink_axes=u32(0) }\n"
    "%z = ResizeNearestNeighbor \"z\" (%q) { align_corners=b8(0), half_pixel_centers=b8(1) } }",
    "graph \"move\" { in %x : i32[2,3] const %i : i32[2] = (1,0) tmp %t : i32[3,2] tmp %u : i32[3,2] tmp %v : i32[5,2] out "
    "%y : i32[5,4]\n"
    "%t = Transpose \"t\" (%x) { perm=u32[2](1,0) } %u = Gather \"g\" (%t, %i) { axis=i32(1) }\n"
    "%v = Pad \"p\" (%u) { scheme=u32(0), pad_amount=u32[2,2](1,1,0,0), pad_constant_value=i32(7) }\n"
    "%y = Tile \"w\" (%v) { multiples=u32[2](1,2) } }",
    "graph \"norm\" { in %x : f32[2,3,4] const %g : f32[4] = (1,2,3,4) const %b : f32[4] = (0,1,0,1) tmp %n : f32[2,3,4] "
    "out %y : f32[2,4]\n"
    "%n = LayerNorm \"n\" (%x, %g, %b) { epsilon=f32(0.001), axes=u32[1](2) } %y = ReduceMean \"m\" (%n) { axes=u32[1](1), "
    "keep_dims=b8(0) } }",
    "graph \"if\" { graph \"a\" { in %x : f32[2,3] out %y : f32[2,3] %y = Relu \"r\" (%x) }\n"
    "graph \"b\" { graph \"c\" { in %x : f32[2,3] out %y : f32[2,3] %y = Tanh \"t\" (%x) }\n"
    "in %x : f32[2,3] in %b : b8[1] tmp %t : f32[2,3] out %y : f32[2,3] %t = Sigmoid \"s\" (%x)\n"
    "%y = If \"i\" (%b, %t, %x) { then_graph=\"c\", else_graph=\"c\" } }\n"
    "in %x : f32[2,3] in %a : b8[1] in %b : b8[1] tmp %t : f32[2,3] out %y : f32[2,3]\n"
    "%t = If \"i\" (%a, %x, %x, %b) { then_graph=\"a\", else_graph=\"b\" } %y = Relu \"r\" (%t) when (%a, !%b) }",
    "graph \"stream\" { in %x : f32[1,2] in %a : b8[1] const %w : f32[2,2] = (1,2,3,4) tmp %b : f32[3,2] tmp %s : "
    "f32[1,3,2]\n"
    "tmp %g : f32[1,3,2] tmp %h : f32[1,1,2] out %y : f32[1,3,2] %b = Buffer \"b\" (%x, %a) { buffer_size=u32(3), "
    "buffer_dim=u32(0), mode=u32(1) }\n"
    "%s = Reshape \"s\" (%b) %g, %h = Gru \"g\" (%s, %w, %w, %w, %w, %w, %w, _, _, _, _, _, _, _, %a) { time_major=b8(0) }\n"
    "%y = Relu \"r\" (%g) when (%a) }",
};

static const char *const words[] = {
    "0",
    "1",
    "2",
    "3",
    "4",
    "5",
    "6",
    "7",
    "8",
    "15",
    "16",
    "17",
    "31",
    "64",
    "100",
    "255",
    "256",
    "65535",
    "65536",
    "2147483647",
    "2147483648",
    "4294967295",
    "-1",
    "-2",
    "-128",
    "-2147483648",
    "0.5",
    "1e30",
    "1e-40",
    "inf",
    "-inf",
    "nan",
    "?2",
    "f32",
    "f16",
    "uq8",
    "sq8",
    "uq16",
    "sq16",
    "sq32",
    "i32",
    "u32",
    "i64",
    "b8",
    "sq4",
    "in",
    "out",
    "tmp",
    "inout",
    "const",
    "absent",
    "optional",
    "updateable",
    "stripped",
    "Relu",
    "ReluMinMax",
    "Conv2d",
    "TransposeConv2d",
    "DepthWiseConv2d",
    "FullyConnected",
    "MatMul",
    "ElementWiseAdd",
    "ElementWiseSelect",
    "Concat",
    "Split",
    "Gather",
    "GatherNd",
    "ScatterNd",
    "TopK",
    "NonZero",
    "OneHot",
    "DepthToSpace",
    "SpaceToBatch",
    "Lstm",
    "Gru",
    "Cast",
    "Convert",
    "Quantize",
    "Dequantize",
    "Squeeze",
    "ExpandDims",
    "Shape",
    "ArgMax",
    "CumulativeSum",
    "x",
    "y",
    "t",
    "w",
    "a",
    "b",
    "axis",
    "axes",
    "stride",
    "group",
    "scale",
    "offset",
    "quant",
    "bits",
    "scales",
};

static bool in_word(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '.' || c == '-';
}

/* Replaces word number `at`, counted around. */
static void replace_word(struct str *s, unsigned at, const char *by)
{
    unsigned n = 0, found = 0;
    struct str out;
    str_init(&out);
    for (size_t i = 0; i < s->n; i++)
        n += in_word(s->at[i]) && (i == 0 || !in_word(s->at[i - 1]));
    for (size_t i = 0; i < s->n;) {
        size_t len = 0;
        while (i + len < s->n && in_word(s->at[i + len]))
            len++;
        if (len && n && found++ == at % n)
            str_add(&out, by);
        else
            str_addn(&out, s->at + i, len ? len : 1);
        i += len ? len : 1;
    }
    str_finish(s);
    *s = out;
}

static void try_words(const uint8_t *data, size_t size)
{
    struct str s;
    str_init(&s);
    str_add(&s, good[data[0] % (sizeof good / sizeof good[0])]);
    for (size_t i = 1; i + 2 <= size; i += 2)
        replace_word(&s, data[i], words[data[i + 1] % (sizeof words / sizeof words[0])]);
    require(!s.failed);
    char *exact = malloc(s.n + 1); /* the parser is given a size, not a terminated string */
    require(exact != NULL);
    memcpy(exact + 1, s.at, s.n);
    if (getenv("FUZZ_SHOW")) /* to see what a short input stands for */
        fprintf(stderr, "%s\n", s.at);
    try_text(exact + 1, s.n);
    free(exact);
    str_finish(&s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    try_text((const char *)data, size);
    if (size >= 1 && size <= 16)
        try_words(data, size);
    return 0;
}
