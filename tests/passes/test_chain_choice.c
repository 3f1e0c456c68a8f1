/* SPDX-License-Identifier: Apache-2.0 */
/* Which chains the compiler makes, and what the reader of binaries thinks of files that lie about them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "chain_made.h"

/* %x is an image of H lines of 64 pixels with two channels, %w a 3x3 kernel. */
#define IMAGE(h) "f32[1," #h ",64,2]"
#define HEAD(h) "graph \"g\" { in %x : " IMAGE(h) " const %w : f32[3,3,1,2] = (1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,8,9)\n"
#define TMP(h, name) "tmp %" name " : " IMAGE(h) "\n"
#define OUT(h, name) "out %" name " : " IMAGE(h) "\n"
#define WINDOW(to, name, from) \
    "%" to " = DepthWiseConv2d \"" name "\" (%" from ", %w) { stride=u32[2](1,1), pad_amount=u32[2,2](1,1,1,1) }\n"
#define UNARY(to, name, from) "%" to " = Sigmoid \"" name "\" (%" from ")\n"
#define ADD(to, name, a, b) "%" to " = ElementWiseAdd \"" name "\" (%" a ", %" b ")\n"
#define EIGHT(a) a "," a "," a "," a "," a "," a "," a "," a
#define SEQUENCE(type, kernel)                                                                                   \
    "graph \"g\" { in %x : " type " const %w : " kernel " = (" EIGHT("1,2,3") ")\n"                              \
                                                                              "tmp %a : " type " tmp %b : " type \
                                                                              " out %y : " type "\n"
#define FLAT(to, name, from) \
    "%" to " = DepthWiseConv2d \"" name "\" (%" from ", %w) { stride=u32[2](1,1), pad_amount=u32[2,2](0,0,1,1) }\n"
#define FIVE(a) "%" a ",%" a ",%" a ",%" a ",%" a

static const struct {
    const char *why, *text, *chains; /* names of members, a chain in brackets */
    struct chain_limits limits;
} choices[] = {
    { "a window at the head, then line by line, with the chain's own input at the end",
      HEAD(32) TMP(32, "a") TMP(32, "b") OUT(32, "y") WINDOW("a", "conv", "x") UNARY("b", "act", "a")
          ADD("y", "add", "b", "x") "}",
      "[conv act add]",
      { 65536, 8, 10, 0 } },
    { "what the client reads is a tensor",
      HEAD(32) OUT(32, "a") TMP(32, "b") OUT(32, "y") WINDOW("a", "conv", "x") UNARY("b", "act", "a")
          ADD("y", "add", "b", "x") "}",
      "[act add]",
      { 65536, 8, 10, 0 } },
    { "what is read behind the chain is a tensor",
      HEAD(32) TMP(32, "a") TMP(32, "b")
          TMP(32, "c") "tmp %t : f32[1,64,32,2]\n" OUT(32, "y") "out %z : f32[1,64,32,2]\n" WINDOW("a", "conv", "x")
              UNARY("b", "act", "a") ADD("y", "add", "b", "x") "%z = Transpose \"turn\" (%a) { perm=u32[4](0,2,1,3) }\n }",
      "[act add]",
      { 65536, 8, 10, 0 } },
    { "windows inside: too much would be computed twice",
      HEAD(32) TMP(32, "a") OUT(32, "y") WINDOW("a", "one", "x") WINDOW("y", "two", "a") "}",
      "",
      { 65536, 8, 10, 0 } },
    { "windows inside: with many lines it is little",
      HEAD(256) TMP(256, "a") OUT(256, "y") WINDOW("a", "one", "x") WINDOW("y", "two", "a") "}",
      "[one two]",
      { 65536, 8, 10, 0 } },
    { "not even one line fits",
      HEAD(32) TMP(32, "a") OUT(32, "y") WINDOW("a", "conv", "x") UNARY("y", "act", "a") "}",
      "",
      { 511, 8, 10, 0 } },
    { "a few lines fit",
      HEAD(32) TMP(32, "a") OUT(32, "y") WINDOW("a", "conv", "x") UNARY("y", "act", "a") "}",
      "[conv act]",
      { 2048, 8, 10, 0 } },
    { "what stays in a cache anyway is not worth the calls of kernels",
      HEAD(32) TMP(32, "a") OUT(32, "y") WINDOW("a", "conv", "x") UNARY("y", "act", "a") "}",
      "",
      { 2048, 8, 10, 32 * 64 * 2 * 4 + 1 } },
    { "more does not stay there",
      HEAD(32) TMP(32, "a") OUT(32, "y") WINDOW("a", "conv", "x") UNARY("y", "act", "a") "}",
      "[conv act]",
      { 2048, 8, 10, 32 * 64 * 2 * 4 } },
    { "one line fits, but the kernels would be called too often",
      HEAD(32) TMP(32, "a") OUT(32, "y") WINDOW("a", "conv", "x") UNARY("y", "act", "a") "}",
      "",
      { 512, 8, 10, 0 } },
    { "by itself the sum lies over an input that ends there",
      HEAD(256) TMP(256, "r") TMP(256, "a") TMP(256, "s")
          OUT(256, "y") "%r = Softmax \"soft\" (%x) { axis=u32(1) }\n" WINDOW("a", "conv", "x")
              ADD("s", "add", "a", "r") "%y = Softmax \"end\" (%s) { axis=u32(1) }\n }",
      "",
      { 65536, 8, 10, 0 } },
    { "an input that is read again keeps its memory in any case",
      HEAD(256) TMP(256, "r") TMP(256, "a") TMP(256, "s") TMP(256, "t")
          OUT(256, "y") "%r = Softmax \"soft\" (%x) { axis=u32(1) }\n" WINDOW("a", "conv", "x")
              ADD("s", "add", "a", "r") "%t = Softmax \"end\" (%s) { axis=u32(1) }\n" ADD("y", "again", "t", "r") "}",
      "[conv add]",
      { 65536, 8, 10, 0 } },
    { "what lies beside each other in a line is joined there",
      HEAD(32) TMP(32, "a") TMP(32, "b") "tmp %c : f32[1,32,64,6] out %y : f32[1,32,64,6]\n" WINDOW("a", "conv", "x")
          UNARY("b", "act", "a") "%c = Concat \"join\" (%b, %x, %a) { axis=u32(3) }\n" UNARY("y", "end", "c") "}",
      "[conv act join end]",
      { 65536, 8, 10, 0 } },
    { "lines behind lines are joined as tensors",
      HEAD(32) TMP(32, "a") "tmp %c : f32[1,64,64,2] out %y : f32[1,64,64,2]\n" WINDOW(
          "a", "conv", "x") "%c = Concat \"join\" (%a, %x) { axis=u32(1) }\n" UNARY("y", "end", "c") "}",
      "",
      { 65536, 8, 10, 0 } },
    { "fifteen operands are the most of a member",
      HEAD(32) TMP(32, "a") "out %y : f32[1,32,64,30]\n" WINDOW("a", "conv", "x") "%y = Concat \"join\" (" FIVE(
          "a") "," FIVE("x") "," FIVE("a") ") { axis=u32(3) }\n }",
      "[conv join]",
      { 65536, 8, 10, 0 } },
    { "with sixteen it is none",
      HEAD(32) TMP(32, "a") "out %y : f32[1,32,64,32]\n" WINDOW("a", "conv", "x") "%y = Concat \"join\" (" FIVE(
          "a") "," FIVE("x") "," FIVE("a") ",%x) { axis=u32(3) }\n }",
      "",
      { 65536, 8, 10, 0 } },
    { "no chains for this target",
      HEAD(32) TMP(32, "a") OUT(32, "y") WINDOW("a", "conv", "x") UNARY("y", "act", "a") "}",
      "",
      { 0 } },
    { "two images",
      "graph \"g\" { in %x : f32[2,32,4,2] tmp %a : f32[2,32,4,2] out %y : f32[2,32,4,2]\n" UNARY("a", "act", "x")
          ADD("y", "add", "a", "x") "}",
      "[act add]",
      { 65536, 1, 10, 0 } },
    { "windows inside: with many images it is little",
      "graph \"g\" { in %x : f32[8,32,64,2] const %w : f32[3,3,1,2] = (1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,8,9)\n"
      "tmp %a : f32[8,32,64,2] out %y : f32[8,32,64,2]\n" WINDOW("a", "one", "x") WINDOW("y", "two", "a") "}",
      "[one two]",
      { 65536, 8, 10, 0 } },
    { "what is broadcast over images is needed whole",
      "graph \"g\" { in %x : f32[4,32,64,2] in %z : f32[1,32,64,2] tmp %a : f32[1,32,64,2] tmp %b : f32[4,32,64,2]\n"
      "out %y : f32[4,32,64,2]\n" UNARY("a", "one", "z") ADD("b", "add", "x", "a") UNARY("y", "act", "b") "}",
      "[add act]",
      { 65536, 8, 10, 0 } },
    { "positions of a sequence are lines",
      SEQUENCE("f32[1,4096,8]", "f32[3,1,8]") "%a = DepthWiseConv1d \"one\" (%x, %w) { stride=u32(1), "
                                              "pad_amount=u32[2](1,1) }\n%b = DepthWiseConv1d \"two\" (%a, %w) { "
                                              "stride=u32(1), pad_amount=u32[2](1,1) }\n" UNARY("y", "act", "b") "}",
      "[one two act]",
      { 65536, 8, 10, 0 } },
    { "and so are those of an image of one line",
      SEQUENCE("f32[1,1,4096,8]", "f32[1,3,1,8]") FLAT("a", "one", "x") FLAT("b", "two", "a") UNARY("y", "act", "b") "}",
      "[one two act]",
      { 65536, 8, 10, 0 } },
    { "rows of a product, whatever stands before them",
      "graph \"g\" { in %x : f32[1,512,8] const %w : f32[8,8] = (" EIGHT(
          "1,2,3,4,5,6,7,8") ")\n"
                             "tmp %a : f32[1,512,8] tmp %b : f32[512,8] out %y : f32[512,8]\n" UNARY(
                                 "a", "act", "x") "%b = FullyConnected \"full\" (%a, %w)\n" UNARY("y", "end", "b") "}",
      "[act full end]",
      { 65536, 8, 10, 0 } },
    { "a normalization inside lines, and Softmax behind it",
      HEAD(32) TMP(32, "a") TMP(32, "b") OUT(32, "y")
          WINDOW("a", "conv", "x") "%b = LayerNorm \"norm\" (%a) { epsilon=f32(0.001), axes=u32[2](2,3) }\n%y = Softmax "
                                   "\"soft\" (%b) { axis=u32(2) }\n }",
      "[conv norm soft]",
      { 65536, 8, 10, 0 } },
    { "one over lines",
      HEAD(32) TMP(32, "a") TMP(32, "b") OUT(32, "y")
          WINDOW("a", "conv", "x") "%b = LayerNorm \"norm\" (%a) { epsilon=f32(0.001), axes=u32[2](1,2) }\n%y = Softmax "
                                   "\"soft\" (%b) { axis=u32(2) }\n }",
      "",
      { 65536, 8, 10, 0 } },
    { "a dimension that is known when it runs",
      "graph \"g\" { in %x : f32[1,?32,4,2] tmp %a : f32[1,?32,4,2] out %y : f32[1,?32,4,2]\n" UNARY("a", "act", "x")
          ADD("y", "add", "a", "x") "}",
      "",
      { 65536, 1, 10, 0 } },
};

static void expect_chains(size_t at)
{
    struct ir_graph *g;
    struct prepared p;
    char got[256] = "";
    check(ir_parse(choices[at].text, strlen(choices[at].text), &g), choices[at].why, at);
    make(&p, g, choices[at].limits, at);
    const struct binary_graph *b = &p.b.graphs[0];
    for (uint32_t i = 0; i < b->n_chains; i++)
        for (uint32_t k = 0; k < b->chains[i].n; k++) {
            strcat(got, k ? " " : "[");
            strcat(got, b->nodes[b->chains[i].first + k].name);
            strcat(got, k + 1 == b->chains[i].n ? "]" : "");
        }
    if (strcmp(got, choices[at].chains) != 0)
        fail_msg("%s: chains are \"%s\", expected \"%s\"", choices[at].why, got, choices[at].chains);
    unmake(&p);
    ir_graph_free(g);
}

static void the_right_chains(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(choices) / sizeof(choices[0]); i++)
        expect_chains(i);
}

/* ---- files that lie about chains -------------------------------------------------------------------------------------- */

/* A chain of three nodes in a file of its own making, with one thing changed. */
struct lie {
    struct binary_tensor tensors[16];
    struct binary_node nodes[8];
    struct binary_command commands[32];
    struct binary_chain chains[2];
    struct binary_source src;
};

static uint32_t tensor_named(const struct lie *l, const char *name)
{
    for (uint32_t i = 0; i < l->src.n_tensors; i++)
        if (strcmp(l->tensors[i].name, name) == 0)
            return i;
    fail_msg("no tensor \"%s\"", name);
    return 0;
}

static void lie_first(struct lie *l) { l->chains[0].first = 0; }
static void lie_far(struct lie *l) { l->chains[0].first = 1000; }
static void lie_count(struct lie *l) { l->chains[0].n = 1; }
static void lie_long(struct lie *l) { l->chains[0].n = 4; }
static void lie_height(struct lie *l) { l->chains[0].height = 0; }
static void lie_high(struct lie *l) { l->chains[0].height++; }
static void lie_work(struct lie *l) { l->chains[0].work_bytes = 64; }
static void lie_work_end(struct lie *l) { l->chains[0].work_bytes = UINT64_MAX; }
static void lie_work_align(struct lie *l) { l->chains[0].work_offset += 32; }
static void lie_no_chain(struct lie *l) { l->src.n_chains = 0; }
static void lie_twice(struct lie *l) { l->chains[1] = l->chains[0], l->src.n_chains = 2; }
static void lie_slab(struct lie *l) { l->tensors[tensor_named(l, "a")].bytes -= 512; }
static void lie_slab_end(struct lie *l) { l->tensors[tensor_named(l, "b")].offset = l->chains[0].work_bytes; }
static void lie_slabs_overlap(struct lie *l)
{
    l->tensors[tensor_named(l, "b")].offset = l->tensors[tensor_named(l, "a")].offset;
}
static void lie_whole(struct lie *l)
{
    l->tensors[tensor_named(l, "a")].place = PLACE_SCRATCH, l->tensors[tensor_named(l, "a")].bytes = 32 * 512,
                               l->src.info.scratch_bytes = 1 << 20;
}
static void lie_result(struct lie *l)
{
    l->tensors[tensor_named(l, "y")].place = PLACE_LINES, l->tensors[tensor_named(l, "y")].io = 0;
}
static void lie_command(struct lie *l) { l->commands[1].node = 2; }
static void lie_outside(struct lie *l) { ((uint32_t *)l->nodes[4].in)[0] = tensor_named(l, "a"); }
static void lie_self(struct lie *l) { ((uint32_t *)l->nodes[2].in)[0] = tensor_named(l, "b"); }
static void lie_over_input(struct lie *l)
{
    struct binary_tensor *t = &l->tensors[tensor_named(l, "t")];
    t->offset = l->chains[0].work_offset; /* an input of the chain where its lines are */
}

/* Take a good file apart, change one thing, put it together again. The first node turns the client's image, so that the
 * chain's input is in scratch. */
static void tell_lie(const char *name, void (*tell)(struct lie *))
{
    static const char text[] =
        "graph \"g\" { in %x : f32[1,64,32,2] const %w : f32[3,3,1,2] = (1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,8,9)\n" TMP(32, "t")
            TMP(32, "a") TMP(32, "b")
                TMP(32, "y") "out %z : f32[1,64,32,2]\n%t = Transpose \"in\" (%x) { perm=u32[4](0,2,1,3) }\n" WINDOW(
                    "a", "conv", "t") UNARY("b", "act", "a")
                    ADD("y", "add", "b", "t") "%z = Transpose \"out\" (%y) { perm=u32[4](0,2,1,3) }\n }";
    static struct lie l;
    const void *data[16] = { NULL };
    struct ir_graph *g;
    struct prepared p;
    struct binary_image im;
    struct binary b;
    check(ir_parse(text, sizeof text - 1, &g), "parse", 0);
    make(&p, g, (struct chain_limits){ 65536, 8, 10, 0 }, 0);
    const struct binary_graph *from = &p.b.graphs[0];
    assert_true(from->n_tensors <= 16 && from->n_nodes == 5 && from->n_commands <= 32 && from->n_chains == 1);
    l = (struct lie){ .src = { .info = from->info,
                               .n_tensors = from->n_tensors,
                               .n_nodes = from->n_nodes,
                               .n_commands = from->n_commands,
                               .n_chains = 1,
                               .tensors = l.tensors,
                               .data = data,
                               .nodes = l.nodes,
                               .commands = l.commands,
                               .chains = l.chains } };
    memcpy(l.tensors, from->tensors, from->n_tensors * sizeof(l.tensors[0]));
    memcpy(l.nodes, from->nodes, from->n_nodes * sizeof(l.nodes[0]));
    memcpy(l.commands, from->commands, from->n_commands * sizeof(l.commands[0]));
    l.chains[0] = from->chains[0];
    for (uint32_t i = 0; i < from->n_tensors; i++)
        data[i] = from->tensors[i].place == PLACE_CONST ? from->constants + from->tensors[i].offset : NULL;
    if (tell)
        tell(&l);
    enum status st = binary_write(&p.b.target, &l.src, &im);
    if (st == ST_OK) {
        st = binary_open(im.data, im.size, &b);
        if (st == ST_OK)
            binary_close(&b);
        binary_image_free(&im);
    }
    if ((st == ST_OK) != !tell)
        fail_msg("%s: %s", name, st == ST_OK ? "not noticed" : status_text());
    unmake(&p);
    ir_graph_free(g);
}

static void lies_about_chains(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        void (*tell)(struct lie *);
    } lies[] = {
#define LIE(f) { #f, f }
        { "nothing", NULL }, LIE(lie_first),  LIE(lie_far),     LIE(lie_count),    LIE(lie_long),
        LIE(lie_height),     LIE(lie_high),   LIE(lie_work),    LIE(lie_work_end), LIE(lie_work_align),
        LIE(lie_no_chain),   LIE(lie_twice),  LIE(lie_slab),    LIE(lie_slab_end), LIE(lie_slabs_overlap),
        LIE(lie_whole),      LIE(lie_result), LIE(lie_command), LIE(lie_outside),  LIE(lie_self),
        LIE(lie_over_input),
#undef LIE
    };
    for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++)
        tell_lie(lies[i].name, lies[i].tell);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(the_right_chains), cmocka_unit_test(lies_about_chains) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
