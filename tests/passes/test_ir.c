/* SPDX-License-Identifier: Apache-2.0 */
/* ir/: text to graph and back, what the parser and the verifier refuse, compaction, cloning. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "prepare/prepare.h"
#include "random_graph.h"
#include "test_scale.h"

enum { RANDOM_GRAPHS = 1000 };
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static struct ir_graph *parse(const char *text)
{
    struct ir_graph *g = NULL;
    if (ir_parse(text, strlen(text), &g) != ST_OK)
        fail_msg("%s\n%s", status_text(), text);
    return g;
}

static void same_text(const struct ir_graph *g, const char *want)
{
    struct str s;
    str_init(&s);
    ir_print(g, SIZE_MAX, &s);
    assert_string_equal(str_text(&s), want);
    str_finish(&s);
}

/* In the words of the printer: comes back letter by letter. */
static const char *const texts[] = {
    "graph \"traced\" {\n  in %x : f32[2]\n  out %y : f32[2]\n"
    "  %y = Relu \"r\" (%x) clamp (0,6) from \"Relu:a/relu \\\"one\\\"\", \"Clip:b\"\n}\n",
    "graph \"net\" {\n"
    "  in %x : uq8[1,8,8,3] scale=0.5 offset=-128 id=1 ctype=4294967295\n"
    "  const %w : sq8[1,1,3,2] quant=2 axis=3 scales=(0.0100000007,0.0199999996) = (-128,127,0,1,-1,5)\n"
    "  const %b : sq32[2] scale=0.00499999989 offset=0 = (-2147483648,2147483647)\n"
    "  tmp %t : uq8[1,8,8,2] scale=0.25 offset=0\n"
    "  out %y : uq8[1,8,8,2] scale=0.25 offset=0 id=2\n"
    "  %t = Conv2d \"conv1\" (%x, %w, %b) { stride=u32[2](1,1), pad_amount=u32[2,2](0,0,0,0) }\n"
    "  %y = Relu \"relu1\" (%t)\n"
    "}\n",
    /* no nodes, no tensors, an awkward name */
    "graph \"a \\\"b\\\\ \\x01\\x7f ü\" {\n}\n",
    /* graphs inside, conditions */
    "graph \"if\" {\n"
    "  graph \"a\" {\n"
    "    graph \"a\" {\n"
    "      out %o : f32[2]\n"
    "      const %c : f32[2] = (1,2)\n"
    "      %o = Relu \"r\" (%c)\n"
    "    }\n"
    "    in %i : b8[1]\n"
    "    out %o : f32[2]\n"
    "    %o = If \"inner\" (%i) { then_graph=\"a\", else_graph=\"a\" }\n"
    "  }\n"
    "  graph \"b \\\"b\" {\n"
    "    in %i : f32[2]\n"
    "    out %o : f32[2]\n"
    "    %o = Relu \"r\" (%i)\n"
    "  }\n"
    "  in %x : f32[2]\n"
    "  in %c : b8[1]\n"
    "  const %d : b8[] = (1)\n"
    "  tmp %t : f32[2]\n"
    "  out %y : f32[2]\n"
    "  %t = If \"if\" (%c, %c, %x) { then_graph=\"a\", else_graph=\"b \\\"b\" }\n"
    "  %y = Relu \"r\" (%t) clamp (0,1) when (%c, !%d)\n"
    "}\n",
    /* names */
    "graph \"\" {\n"
    "  in %\"\" : f32[]\n"
    "  in %\"a b\" : f32[2]\n"
    "  in %a/b:c-d.e_F0 : f32[2]\n"
    "  out %_ : f32[2]\n"
    "  %_ = ElementWiseAdd \"\" (%\"a b\", %a/b:c-d.e_F0)\n"
    "}\n",
    /* every number type, limits and all */
    "graph \"types\" {\n"
    "  const %a : i8[2] = (-128,127)\n"
    "  const %b : i16[2] = (-32768,32767)\n"
    "  const %c : i32[2] = (-2147483648,2147483647)\n"
    "  const %d : i64[2] = (-9223372036854775808,9223372036854775807)\n"
    "  const %e : u8[2,1] = (0,255)\n"
    "  const %f : u16[2] = (0,65535)\n"
    "  const %g : u32[2] = (0,4294967295)\n"
    "  const %h : u64[2] = (0,18446744073709551615)\n"
    "  const %i : f32[6] = (0,-0,inf,-inf,1.40129846e-45,3.40282347e+38)\n"
    "  const %j : f64[2] = (0.10000000000000001,4.9406564584124654e-324)\n"
    "  const %k : f16[2] = x\"003c00c0\"\n"
    "  const %l : bf16[1] = x\"803f\"\n"
    "  const %m : b8[3] = (0,1,255)\n"
    "  const %n : sq4[3] scale=1 offset=0 = x\"210f\"\n"
    "  const %o : uq4[2] scale=1 offset=-8 = x\"f0\"\n"
    "  const %p : uq32[1] scale=1 offset=0 = (4294967295)\n"
    "  const %q : f32[] = (1.5)\n"
    "  const %r : u8[3] = x\"00ff80\"\n"
    "}\n",
    /* encodings of every kind, flags, dynamic dimensions, formats */
    "graph \"encodings\" {\n"
    "  in %a : uq16[?2,3,?4] scale=1 offset=-32768 bits=12 mapping=1 def=0 optional\n"
    "  in %b : sq8[2,4] quant=2 axis=1 scales=(1,2,3,4) offsets=(0,-1,2,3) format=3 memhandle\n"
    "  in %c : sq8[4,4] quant=3 axis=0 block=(2,4) scales=(1,2) offsets=(0,0)\n"
    "  in %d : sq4[2,4] quant=4 axis=0 scales=(1,2) offsets=(0,0) blocks=2 block_bits=4 block_scales8=(1,2,3,4)\n"
    "  in %e : sq4[2,4] quant=4 axis=0 scales=(1,2) blocks=2 block_bits=12 block_scales16=(1,2,3,4095)\n"
    "  in %f : sq8[4,4] quant=6 axis=0 block=(2,4) scales=(1,2) foffsets=(0.5,-0.5)\n"
    "  inout %s : f32[2]\n"
    "  absent %n : none[]\n"
    "  const %w : f32[2] stripped\n"
    "  const %u : f32[1] updateable = (7)\n"
    "}\n",
    /* absent operands, aux constants, clamps, several outputs */
    "graph \"nodes\" {\n"
    "  in %x : f32[1,4]\n"
    "  const %w : f32[3,4] stripped\n"
    "  const %fc.aux0 : u8[4] = x\"00010203\"\n"
    "  out %y : f32[1,3]\n"
    "  out %a : f32[1,1]\n"
    "  out %b : f32[1,3]\n"
    "  out %z : f32[1,4]\n"
    "  %y = FullyConnected \"fc\" (%x, %w, _) aux (%fc.aux0) clamp (0,inf)\n"
    "  %a, %b = Split \"split\" (%x) { axis=u32(1), split_index=u32[1](1) }\n"
    "  %z = ReluMinMax \"zero\" (%x) { min_value=f32(0), max_value=f32(0) } clamp (0,0)\n"
    "}\n",
};

static void handmade_texts_come_back(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(texts); i++) {
        struct ir_graph *g = parse(texts[i]), *clone;
        same_text(g, texts[i]);
        assert_int_equal(ir_clone(g, &clone), ST_OK);
        same_text(clone, texts[i]);
        ir_graph_free(g);
        ir_graph_free(clone); /* borrows constants only, and they were not touched */
    }
}

static void spaces_and_comments_do_not_matter(void **state)
{
    (void)state;
    struct ir_graph *g = parse("# a graph\r\n graph\t\"g\"{in%x :f32[ 2 , 3 ]# the input\n\nout %y : f32 [2,3]\n"
                               "%y=Relu\"r\"( %x )clamp(0, 6.0)} # the end");
    same_text(g, "graph \"g\" {\n  in %x : f32[2,3]\n  out %y : f32[2,3]\n  %y = Relu \"r\" (%x) clamp (0,6)\n}\n");
    ir_graph_free(g);
}

static void random_graphs_come_back(void **state)
{
    (void)state;
    unsigned n = test_scale(RANDOM_GRAPHS), nodes = 0;
    struct prepare_target pack = { .passes = (const struct pass[]){ { "pack", lower_pack }, {} },
                                   .tensor_align = 64,
                                   .max_tiles = 1 };
    struct prepare_opts o = { .opt_level = 2 };
    for (unsigned i = 0; i < n; i++) {
        struct random_graph r;
        struct str s;
        assert_int_equal(random_graph_make(&r, i, 8), ST_OK);
        nodes += (unsigned)r.g->nodes.n;
        if (i % 4 == 0) /* with what only passes make */
            assert_int_equal(prepare_passes(&pack, &o, r.g), ST_OK);
        str_init(&s);
        ir_print(r.g, SIZE_MAX, &s);
        struct ir_graph *again = parse(str_text(&s));
        same_text(again, str_text(&s));
        assert_int_equal(again->nodes.n, r.g->nodes.n);
        for (size_t k = 0; k < r.g->tensors.n; k++)
            if (r.g->tensors.at[k].data)
                assert_memory_equal(r.g->tensors.at[k].data, again->tensors.at[k].data,
                                    desc_bytes(&r.g->tensors.at[k].desc));
        ir_graph_free(again);
        str_finish(&s);
        random_graph_free(&r);
    }
    assert_true(nodes >= 3 * n); /* the generator makes graphs, not excuses */
}

static void long_constants_are_cut(void **state)
{
    (void)state;
    struct ir_graph *g = parse("graph \"g\" { const %a : i32[3] = (1,2,3) const %b : i32[1] = (1) }");
    struct str s;
    str_init(&s);
    ir_print(g, 4, &s);
    assert_non_null(strstr(str_text(&s), "%a : i32[3] = <12 bytes, hash "));
    assert_non_null(strstr(str_text(&s), "%b : i32[1] = (1)\n"));
    struct ir_graph *again;
    assert_int_equal(ir_parse(str_text(&s), s.n, &again), ST_BAD_TEXT);
    str_finish(&s);
    ir_graph_free(g);
}

/* ---- what the parser refuses ------------------------------------------------------------------------------------------ */

#define G "graph \"g\" {\n"
#define X "in %x : f32[2]\n"
#define XY X "out %y : f32[2]\n"

static const struct {
    const char *text;
    unsigned line, column; /* 0: the whole graph is wrong, no place */
    const char *says;
} bad[] = {
    { "", 1, 1, "\"graph\" expected" },
    { "\n  grap", 2, 3, "\"graph\" expected" },
    { "graphs \"g\" {}", 1, 1, "\"graph\" expected" },
    { "graph g {}", 1, 7, "'\"' expected" },
    { "graph \"g", 1, 9, "'\"' expected" },
    { "graph \"\\", 1, 9, "unfinished escape" },
    { "graph \"\\xg0\" {}", 1, 10, "two hexadecimal digits" },
    { "graph \"\\x00\" {}", 1, 10, "zero byte" },
    { "graph \"g\"", 1, 10, "'{' expected" },
    { G, 2, 1, "'}' expected" },
    { G "}\n}", 3, 1, "nothing is expected after the graph" },
    { G "in x : f32[2] }", 2, 4, "'%' expected" },
    { G "in % : f32[2] }", 2, 5, "a tensor name is expected" },
    { G "in %x f32[2] }", 2, 7, "':' expected" },
    { G "in %x : float[2] }", 2, 14, "\"float\" is not a data type" },
    { G "in %x : f32(2) }", 2, 12, "'[' expected" },
    { G "in %x : f32[2;3] }", 2, 14, "']' expected" },
    { G "in %x : f32[,] }", 2, 13, "a number is expected" },
    { G "in %x : f32[-1] }", 2, 15, "-1 is not within 0 and 4294967295" },
    { G "in %x : f32[4294967296] }", 2, 23, "not within" },
    { G "in %x : f32[99999999999999999999] }", 2, 33, "is not an integer" },
    { G "in %x : f32[1,1,1,1,1,1,1,1,1] }", 2, 29, "at most 8 dimensions" },
    { G "in %x : f32[0] }", 2, 16, "dimension 0 is 0" },
    { G "in %x : f32[4294967295,4294967295] }", 2, 36, "2^62 bits" },
    { G X "in %x : f32[2] }", 3, 6, "declared twice" },
    { G "in %x : uq8[2] scale }", 2, 22, "'=' expected" },
    { G "in %x : uq8[2] scale=one }", 2, 25, "\"one\" is not a number" },
    { G "in %x : uq8[2] scale=0 offset=0 }", 2, 33, "scale" },
    { G "in %x : uq8[2] scale=nan offset=0 }", 2, 35, "scale" },
    { G "in %x : uq8[2] scale=1 bits=256 }", 2, 32, "256 is not within 0 and 255" },
    { G "in %x : uq8[2] quant=9 }", 2, 24, "quant=9 is unknown" },
    { G "in %x : uq8[2] quant=2 axis=0 }", 2, 31, "scales are missing" },
    { G "in %x : uq8[2] quant=2 axis=0 scales=(1,2,3) }", 2, 46, "scales" },
    { G "in %x : uq8[2] quant=2 axis=0 scales=(1,2) offsets=(0) }", 2, 56, "offsets has 1 entries; 2 are expected" },
    { G "in %x : uq8[2] quant=2 axis=0 offsets=() scales=(1,2) }", 2, 55, "offsets has 0 entries; 2 are expected" },
    { G "in %x : uq8[2] quant=2 axis=0 scales=1 }", 2, 38, "'(' expected" },
    { G "in %x : uq8[2] quant=2 axis=0 scales=(1", 2, 39, "unfinished list" },
    { G "in %x : uq8[2] quant=3 block=(1,2) scales=(1) }", 2, 35, "block has 2 entries; the rank is 1" },
    { G "in %x : sq4[1,2] quant=4 axis=0 scales=(1) blocks=2 }", 2, 53, "block scales are missing" },
    { G "in %x : sq4[1,2] quant=4 axis=0 scales=(1) blocks=2 block_bits=4 block_scales8=(1) }", 2, 84,
      "1 block scales; 1 scales times 2" },
    { G "in %x : sq4[1,2] quant=4 axis=0 blocks=1 block_scales8=(1) blocks=1000 scales=(1) }", 2, 83,
      "1 block scales; 1 scales times 1000" },
    { G "in %x : sq4[1,2] quant=4 axis=0 block_scales8=() blocks=9 scales=(1) }", 2, 70,
      "0 block scales; 1 scales times 9" },
    { G "const %c : f32[2] }", 2, 19, "a constant needs data" },
    { G "const %c : f32[2] = (1) }", 2, 24, "4 bytes of data; its type needs 8" },
    { G "const %c : f32[2] = (1,2,3) }", 2, 28, "12 bytes of data; its type needs 8" },
    { G "const %c : f32[2] = (1 2) }", 2, 24, "')' expected" },
    { G "const %c : f32[2] = (1,", 2, 22, "unfinished list" },
    { G "const %c : i8[1] = (128) }", 2, 24, "128 is not within -128 and 127" },
    { G "const %c : i8[1] = (1.5) }", 2, 24, "\"1.5\" is not an integer" },
    { G "const %c : u64[1] = (-1) }", 2, 24, "not an unsigned integer" },
    { G "const %c : f16[1] = (1) }", 2, 22, "values of type f16 are written as x" },
    { G "const %c : f16[1] = x\"003\" }", 2, 23, "even number" },
    { G "const %c : f16[1] = x\"00G0\" }", 2, 25, "hexadecimal digits" },
    { G "const %c : f16[1] = x\"0000", 2, 23, "unfinished x" },
    { G "const %c : f16[1] = <2 bytes, hash 0> }", 2, 21, "'(' expected" },
    { G XY "%y = Rlu \"r\" (%x) }", 4, 9, "there is no operator \"Rlu\"" },
    { G XY "%y = Relu (%x) }", 4, 11, "'\"' expected" },
    { G XY "%y = Relu \"r\" (%z) }", 4, 18, "tensor \"z\" is not declared" },
    { G XY "%y = Relu \"r\" (%x; }", 4, 18, "')' expected" },
    { G XY "_ = Relu \"r\" (%x) }", 4, 3, "an output cannot be absent" },
    { G XY "%y = Relu \"r\" (%x) aux (_) }", 4, 27, "an aux constant cannot be absent" },
    { G XY "%y = Relu \"r\" (%x) { a=u32(1) } }", 4, 23, "Relu has no parameter \"a\"" },
    { G XY "%y = Softmax \"s\" (%x) { axis=u32(0), axis=u32(0) } }", 4, 42, "given twice" },
    { G XY "%y = Softmax \"s\" (%x) { axis=u32[2](0) } }", 4, 39, "has 4 bytes of data; its type needs 8" },
    { G XY "%y = Softmax \"s\" (%x) { axis=u32[65536,65536,65536,65536,65536](0) } }", 4, 67, "too large" },
    { G XY "%y = Relu \"r\" (%x) clamp (1,0) }", 4, 30, "holds nothing" },
    { G XY "%y = Relu \"r\" (%x) clamp (nan,1) }", 4, 32, "holds nothing" },
    { G XY "%y = Relu \"r\" (_) }", 0, 0, "after parsing" },
    { G XY "%y = Relu \"r\" (%y) }", 0, 0, "reads tensor \"y\" before any node has written it" },
    { G XY "%y = Relu \"r\" (%x) %y = Relu \"s\" (%x) }", 0, 0, "written twice" },
    { G XY "%x = Relu \"r\" (%y) }", 0, 0, "before any node" },
    { G X "in %y : f32[3] %y = Relu \"r\" (%x) }", 0, 0, "which is an input" },
    { G X "out %y : f32[3] %y = Relu \"r\" (%x) }", 0, 0, "\"r\"" },
    { G XY "%y = Relu \"r\" (%x) when (_) }", 4, 27, "a condition cannot be absent" },
    { G XY "%y = Relu \"r\" (%x) when (%x) }", 0, 0, "one bool is expected" },
    { G XY "tmp %c : b8[1] %y = Relu \"r\" (%x) when (%c) }", 0, 0, "asks tensor \"c\" before any node has written it" },
    { G XY "%y = If \"f\" (%x) { then_graph=str(1), else_graph=\"a\" } }", 4, 34, "a text is written in quotes" },
    { G XY "in %c : b8[1] %y = If \"f\" (%c) { then_graph=\"a\", else_graph=\"a\" } }", 0, 0, "no such graph inside it" },
    { G XY "in %c : b8[1] %y = If \"f\" (%c) { then_graph=\"a\" } }", 0, 0, "both graphs are expected" },
    { G "graph \"a\" {} graph \"a\" {} }", 2, 26, "two graphs named \"a\"" },
    { G "graph \"a\" { in %x : }", 2, 21, "type" },
    { G "graph \"a\" {} } graph", 2, 16, "nothing is expected after the graph" },
    { G "graph \"a\" { out %o : f32[3] const %k : f32[3] = (1,2,3) %o = Relu \"r\" (%k) }" XY
        "in %c : b8[1] %y = If \"f\" (%c) { then_graph=\"a\", else_graph=\"a\" } }",
      0, 0, "type, shape and encoding must be the same" },
    { G "graph \"a\" { in %i : f32[2] out %o : f32[2] %o = Relu \"r\" (%i) }" XY
        "in %c : b8[1] %y = If \"f\" (%c, %x) { then_graph=\"a\", else_graph=\"a\" } }",
      0, 0, "more inputs than the node gives it" },
    { G "graph \"a\" { in %i : f32[2] out %o : f32[2] %o = Relu \"r\" (%i) }" XY
        "in %c : b8[1] %y = If \"f\" (%c, %x, %x, %x) { then_graph=\"a\", else_graph=\"a\" } }",
      0, 0, "its graphs take 2" },
};

static void bad_texts_are_explained(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(bad); i++) {
        struct ir_graph *g = NULL;
        char place[64] = "";
        if (bad[i].line)
            snprintf(place, sizeof place, "line %u, column %u: ", bad[i].line, bad[i].column);
        status_clear();
        size_t n = strlen(bad[i].text);
        char *exact = mem_dup(bad[i].text, n); /* no zero byte behind: a sanitizer sees each byte too many */
        assert_non_null(exact);
        if (ir_parse(exact, n, &g) == ST_OK)
            fail_msg("was accepted: %s", bad[i].text);
        if (strncmp(status_text(), place, strlen(place)) != 0 || !strstr(status_text(), bad[i].says))
            fail_msg("%s\nsays:     %s\nexpected: %s... %s ...", bad[i].text, status_text(), place, bad[i].says);
        assert_null(g);
        mem_free(exact);
    }
}

static void every_prefix_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(texts); i++)
        for (size_t n = 0; n + 2 < strlen(texts[i]); n++) {
            struct ir_graph *g = NULL;
            char *exact = mem_dup(texts[i], n);
            assert_non_null(exact);
            assert_int_not_equal(ir_parse(exact, n, &g), ST_OK);
            mem_free(exact);
        }
}

/* ---- the verifier ----------------------------------------------------------------------------------------------------- */

static const char chain[] = "graph \"g\" {\n"
                            "  in %x : f32[2]\n"
                            "  tmp %t : f32[2]\n"
                            "  tmp %u : f32[2]\n"
                            "  out %y : f32[2]\n"
                            "  %t = Relu \"a\" (%x)\n"
                            "  %u = Relu \"b\" (%t)\n"
                            "  %y = Relu \"c\" (%u)\n"
                            "}\n";

static void unknown_index(struct ir_graph *g)
{
    g->nodes.at[1].in[0] = 4;
}

static void unknown_output(struct ir_graph *g)
{
    g->nodes.at[1].out[0] = IR_NONE;
}

static void unknown_aux(struct ir_graph *g)
{
    static uint32_t aux[] = { 99 };
    g->nodes.at[0].aux = aux;
    g->nodes.at[0].n_aux = 1;
}

static void double_producer(struct ir_graph *g)
{
    g->nodes.at[1].out[0] = 1;
}

static void use_before_produce(struct ir_graph *g)
{
    g->nodes.at[0].in[0] = 2;
}

static void dead_producer(struct ir_graph *g)
{
    g->nodes.at[1].dead = true;
}

static void written_input(struct ir_graph *g)
{
    g->nodes.at[2].out[0] = 0;
}

static void wrong_shape(struct ir_graph *g)
{
    g->tensors.at[1].desc.dims[0] = 3;
}

static const struct {
    void (*spoil)(struct ir_graph *g);
    enum status status;
    const char *says;
} spoiled[] = {
    { unknown_index, ST_INTERNAL, "after my-pass: node \"b\" uses tensor 4 of 4" },
    { unknown_output, ST_INTERNAL, "after my-pass: node \"b\" uses tensor 4294967295 of 4" },
    { unknown_aux, ST_INTERNAL, "uses tensor 99 of 4" },
    { double_producer, ST_INVALID_OP, "tensor \"t\" is written twice, again by node \"b\"" },
    { use_before_produce, ST_UNCONNECTED, "node \"a\" reads tensor \"u\" before any node has written it" },
    { dead_producer, ST_UNCONNECTED, "node \"c\" reads tensor \"u\" before any node has written it" },
    { written_input, ST_INVALID_OP, "node \"c\" writes tensor \"x\"" },
    { wrong_shape, ST_OK, "after my-pass" },
};

static void verify_catches(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(spoiled); i++) {
        struct ir_graph *g = parse(chain);
        assert_int_equal(ir_verify(g, "my-pass"), ST_OK);
        spoiled[i].spoil(g);
        enum status st = ir_verify(g, "my-pass");
        assert_int_not_equal(st, ST_OK);
        if (spoiled[i].status != ST_OK)
            assert_int_equal(st, spoiled[i].status);
        if (!strstr(status_text(), spoiled[i].says))
            fail_msg("says \"%s\"; expected \"%s\"", status_text(), spoiled[i].says);
        ir_graph_free(g);
    }
}

static void compact_renumbers(void **state)
{
    (void)state;
    struct ir_graph *g = parse("graph \"g\" {\n"
                               "  const %unused : f32[1] = (1)\n"
                               "  in %x : f32[2]\n"
                               "  in %left_alone : f32[2]\n"
                               "  tmp %t : f32[2]\n"
                               "  const %aux : u8[1] = x\"00\"\n"
                               "  tmp %u : f32[2]\n"
                               "  out %y : f32[2]\n"
                               "  %t = Relu \"a\" (%x)\n"
                               "  %u = Relu \"b\" (%x)\n"
                               "  %y = Relu \"c\" (%u) aux (%aux)\n"
                               "}\n");
    assert_int_equal(ir_find_tensor(g, "u"), 5);
    g->nodes.at[0].dead = true;
    assert_int_equal(ir_compact(g), ST_OK);
    same_text(g, "graph \"g\" {\n"
                 "  in %x : f32[2]\n"
                 "  in %left_alone : f32[2]\n"
                 "  const %aux : u8[1] = x\"00\"\n"
                 "  tmp %u : f32[2]\n"
                 "  out %y : f32[2]\n"
                 "  %u = Relu \"b\" (%x)\n"
                 "  %y = Relu \"c\" (%u) aux (%aux)\n"
                 "}\n");
    assert_int_equal(ir_verify(g, "compact"), ST_OK);
    assert_int_equal(ir_find_tensor(g, "u"), 3);
    assert_int_equal(ir_find_tensor(g, "t"), IR_NONE);
    ir_graph_free(g);
}

static void uses_are_counted(void **state)
{
    (void)state;
    struct ir_graph *g = parse("graph \"g\" { in %x : f32[2] tmp %t : f32[2] out %y : f32[2]\n"
                               "%t = Relu \"a\" (%x) %y = ElementWiseAdd \"b\" (%t, %t) }");
    struct arena a;
    struct ir_uses u;
    arena_init(&a);
    assert_int_equal(ir_uses(g, &a, &u), ST_OK);
    assert_int_equal(u.producer[0], IR_NONE);
    assert_int_equal(u.producer[1], 0);
    assert_int_equal(u.n_consumers[1], 2); /* twice by the same node */
    assert_int_equal(u.consumer[0], 0);
    assert_int_equal(u.consumer[2], IR_NONE);
    arena_finish(&a);
    ir_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(handmade_texts_come_back), cmocka_unit_test(spaces_and_comments_do_not_matter),
        cmocka_unit_test(random_graphs_come_back),  cmocka_unit_test(long_constants_are_cut),
        cmocka_unit_test(bad_texts_are_explained),  cmocka_unit_test(every_prefix_is_refused),
        cmocka_unit_test(verify_catches),           cmocka_unit_test(compact_renumbers),
        cmocka_unit_test(uses_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
