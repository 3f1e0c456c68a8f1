/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the text form of graphs, from letters to graphs (private to ir/):
 *
 *     parse_words.c   words, names, numbers and lists, and where in the text an error is
 *     parse_tensor.c  a declaration of a tensor
 *     ir_parse.c      nodes and graphs
 *
 * Everything skips white space and comments first, and leaves the place behind what it took. */
#ifndef IR_PARSE_H
#define IR_PARSE_H

#include "ir/ir.h"

struct parser {
    const char *at, *end, *start;
    struct ir_graph *g;
    struct arena scratch; /* values being collected, freed when parsing ends */
    unsigned depth;       /* of graphs inside graphs */
};

void parse_position(const struct parser *p, unsigned *line, unsigned *column);
enum status parse_fail(const struct parser *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
#define FAIL_IF(cond, ...)                     \
    do {                                       \
        if (cond)                              \
            return parse_fail(p, __VA_ARGS__); \
    } while (0)

char parse_peek(struct parser *p); /* the next character, '\0' at the end */
bool parse_accept(struct parser *p, char c);
enum status parse_expect(struct parser *p, char c);
/* Letters, digits and '_', cut at 63 characters; empty when there is none. */
void parse_word(struct parser *p, char out[64]);
bool parse_accept_word(struct parser *p, const char *want);
enum status parse_quoted(struct parser *p, const char **ret); /* in the scratch arena, as names and values are */
enum status parse_tensor_name(struct parser *p, const char **ret);
enum status parse_integer(struct parser *p, int64_t lo, int64_t hi, int64_t *ret);
enum status parse_real(struct parser *p, double *ret);
enum status parse_numbers(struct parser *p, enum dtype t, const void **data, uint64_t *count); /* (1,2,3) */
enum status parse_values(struct parser *p, enum dtype t, const void **data, uint64_t *bytes);  /* that, or x"0011…" */
/* Behind the '['; dynamic may be NULL. */
enum status parse_dims(struct parser *p, uint8_t *rank, uint32_t *out, uint8_t *dynamic);
enum status parse_type(struct parser *p, enum dtype *ret);

enum status parse_tensor(struct parser *p, enum ir_role role); /* behind the word for its role; adds it to the graph */

#endif
