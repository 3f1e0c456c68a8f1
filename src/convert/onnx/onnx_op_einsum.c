/* SPDX-License-Identifier: Apache-2.0 */
/* Einsum as transposes, one batched MatMul per pair of operands, and sums.
 *
 *     "bij,bjk->bik":  a -> [b, i, j], b -> [b, j, k], MatMul, -> [b, i, k]
 *
 * Letters of both operands that are needed later are the batch, those of both that are not are contracted, the
 * others stay. */
#include <ctype.h>
#include <string.h>

#include "convert/onnx/onnx.h"

struct term {
    char letters[MAX_RANK + 1];
    char twice[MAX_RANK + 1]; /* letters that appeared more than once */
    uint32_t t;
};

enum status onnx_convert_einsum(struct onnx_cx *cx, const struct onnx_node *n);

static bool has(const char *letters, char c)
{
    return c && strchr(letters, c);
}

static void append(char *letters, char c)
{
    size_t n = strlen(letters);
    letters[n] = c;
    letters[n + 1] = 0;
}

static enum status reorder(struct onnx_cx *cx, struct term *x, const char *want)
{
    uint8_t perm[MAX_RANK];
    for (uint32_t i = 0; want[i]; i++)
        perm[i] = (uint8_t)(strchr(x->letters, want[i]) - x->letters);
    strcpy(x->letters, want);
    return build_transpose(B, onnx_name(cx, "order"), x->t, perm, &x->t);
}

/* Sum over the letters that nobody needs any more. */
static enum status sum_unneeded(struct onnx_cx *cx, struct term *x, const char *needed)
{
    uint32_t axes[MAX_RANK], k = 0;
    char left[MAX_RANK + 1] = "";
    for (uint32_t i = 0; x->letters[i]; i++) {
        if (has(needed, x->letters[i]))
            append(left, x->letters[i]);
        else
            axes[k++] = i;
    }
    if (k == 0)
        return ST_OK;
    strcpy(x->letters, left);
    return build_node(
        B,
        &(struct build_spec){
            .op = "ReduceSum", .name = onnx_name(cx, "sum"), BUILD_IN(x->t), .params = { BUILD_U32S("axes", k, axes) } },
        &x->t);
}

/* An index that appears twice: elements i of both dimensions, which lie n + 1 apart. */
static enum status diagonals(struct onnx_cx *cx, struct term *x)
{
    for (uint32_t i = 0, next; x->letters[i]; i = next) {
        const char *again = strchr(x->letters + i + 1, x->letters[i]);
        next = i + 1;
        if (!again)
            continue;
        uint32_t j = (uint32_t)(again - x->letters), rank = (uint32_t)strlen(x->letters), k = 0, dims[MAX_RANK];
        struct tensor_desc d = *build_desc(B, x->t);
        uint8_t perm[MAX_RANK];
        char letters[MAX_RANK + 1] = "";
        RETURN_IF(d.dims[i] != d.dims[j], ST_INVALID_OP, "index '%c' has %u and %u elements", x->letters[i], d.dims[i],
                  d.dims[j]);
        for (uint32_t m = 0; m < rank; m++)
            if (m != i && m != j) {
                append(letters, x->letters[m]);
                dims[k] = d.dims[m];
                perm[k++] = (uint8_t)m;
            }
        append(letters, x->letters[i]);
        perm[k] = (uint8_t)i;
        perm[k + 1] = (uint8_t)j;
        uint32_t n = d.dims[i], flat[2] = {(uint32_t)(desc_count(&d) / ((uint64_t)n * n)), n * n};
        int32_t ranges[6] = {0, (int32_t)flat[0], 1, 0, (int32_t)flat[1], (int32_t)n + 1};
        dims[k] = n;
        TRY(build_transpose(B, onnx_name(cx, "pair"), x->t, perm, &x->t));
        TRY(build_reshape(B, onnx_name(cx, "flat"), x->t, 2, flat, &x->t));
        TRY(build_node(B,
                       &(struct build_spec){ .op = "StridedSlice",
                                             .name = onnx_name(cx, "diagonal"),
                                             BUILD_IN(x->t),
                                             .params = { BUILD_RANGES("ranges", 2, ranges) } },
                       &x->t));
        TRY(build_reshape(B, onnx_name(cx, "shape"), x->t, k + 1, dims, &x->t));
        append(x->twice, x->letters[i]);
        strcpy(x->letters, letters);
        next = 0; /* there may be a third */
    }
    return ST_OK;
}

static uint32_t size_of(struct onnx_cx *cx, const struct term *x, char c)
{
    return build_desc(B, x->t)->dims[strchr(x->letters, c) - x->letters];
}

static enum status flatten(struct onnx_cx *cx, struct term *x, uint32_t batch, uint32_t rows, uint32_t columns)
{
    uint32_t dims[3] = {batch, rows, columns};
    return build_reshape(B, onnx_name(cx, "matrix"), x->t, 3, dims, &x->t);
}

static enum status product(struct onnx_cx *cx, struct term *a, struct term *b, const char *later, struct term *ret)
{
    char batch[MAX_RANK + 1] = "", inner[MAX_RANK + 1] = "", left[MAX_RANK + 1] = "", right[MAX_RANK + 1] = "",
                          want[2 * MAX_RANK + 1];
    uint32_t nb = 1, ni = 1, nl = 1, nr = 1, dims[MAX_RANK], k = 0;
    for (uint32_t i = 0; a->letters[i]; i++) {
        char c = a->letters[i];
        bool both = has(b->letters, c);
        char *to = !both ? left : has(later, c) ? batch : inner;
        RETURN_IF(both && size_of(cx, a, c) != size_of(cx, b, c), ST_NOT_SUPPORTED,
                  "index '%c' has %u and %u elements; equal sizes are supported", c, size_of(cx, a, c), size_of(cx, b, c));
        *(!both ? &nl : has(later, c) ? &nb : &ni) *= size_of(cx, a, c);
        append(to, c);
    }
    for (uint32_t i = 0; b->letters[i]; i++)
        if (!has(a->letters, b->letters[i])) {
            append(right, b->letters[i]);
            nr *= size_of(cx, b, b->letters[i]);
        }
    REFUSE_WHEN(strlen(batch) + strlen(left) + strlen(right) > MAX_RANK,
                "an intermediate result has more than %d dimensions", MAX_RANK);
    for (const char *p = batch; *p; p++)
        dims[k++] = size_of(cx, a, *p);
    for (const char *p = left; *p; p++)
        dims[k++] = size_of(cx, a, *p);
    for (const char *p = right; *p; p++)
        dims[k++] = size_of(cx, b, *p);
    strcat(strcat(strcpy(want, batch), left), inner);
    TRY(reorder(cx, a, want));
    strcat(strcat(strcpy(want, batch), inner), right);
    TRY(reorder(cx, b, want));
    TRY(flatten(cx, a, nb, nl, ni));
    TRY(flatten(cx, b, nb, ni, nr));
    TRY(build_node(B, &(struct build_spec){ .op = "MatMul", .name = onnx_name(cx, "product"), BUILD_IN(a->t, b->t) },
                   &ret->t));
    strcat(strcat(strcpy(ret->letters, batch), left), right);
    return build_reshape(B, onnx_name(cx, "shape"), ret->t, k, dims, &ret->t);
}

/* ---- the equation ------------------------------------------------------------------------------------------------- */

/* "..." stands for as many dimensions as the rank leaves; they are called by digits, so that the last ones of two operands
 * have the same names. */
static enum status read_term(const char **p, uint32_t rank, char *ret)
{
    char text[2 * MAX_RANK + 1] = "";
    uint32_t k = 0, dots_at = UINT32_MAX;
    while (**p && **p != ',' && **p != '-') {
        if (**p == '.') {
            RETURN_IF(strncmp(*p, "...", 3) != 0 || dots_at != UINT32_MAX, ST_INVALID_OP, "the equation has a lone '.'");
            dots_at = k;
            *p += 3;
            continue;
        }
        if (isalpha((unsigned char)**p)) {
            REFUSE_WHEN(k == MAX_RANK, "an operand has more than %d indices", MAX_RANK);
            text[k++] = **p;
            text[k] = 0;
        }
        ++*p;
    }
    RETURN_IF(rank != UINT32_MAX && (dots_at == UINT32_MAX ? k != rank : k > rank), ST_INVALID_OP,
              "an operand of rank %u has %u indices", rank, k);
    uint32_t more = dots_at == UINT32_MAX ? 0 : rank - k, j = 0;
    for (uint32_t i = 0; i <= k; i++) {
        for (uint32_t d = 0; i == dots_at && d < more; d++)
            ret[j++] = (char)('0' + MAX_RANK - more + d);
        if (i < k)
            ret[j++] = text[i];
    }
    ret[j] = 0;
    return ST_OK;
}

/* Without "->" the result has the letters that appear once, in order of the alphabet, after the dots. */
static void implied(const struct term *x, uint32_t n, char *ret)
{
    uint32_t k = 0;
    for (int c = '0'; c <= 'z' && k < MAX_RANK; c++) {
        uint32_t seen = 0;
        for (uint32_t i = 0; i < n; i++)
            seen += has(x[i].letters, (char)c) + has(x[i].twice, (char)c);
        if (seen == 1 || (seen && c < 'A'))
            ret[k++] = (char)c;
    }
    ret[k] = 0;
}

static enum status read_output(const char *p, const struct term *x, uint32_t n, char *ret)
{
    uint32_t most = 0;
    if (p[0] != '-') {
        implied(x, n, ret);
        return ST_OK;
    }
    RETURN_IF(p[1] != '>', ST_INVALID_OP, "the equation has '-' without '>'");
    p += 2;
    uint32_t letters = 0;
    for (const char *q = p; *q; q++)
        letters += isalpha((unsigned char)*q) != 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t dots = 0;
        for (const char *q = x[i].letters; *q; q++)
            dots += isdigit((unsigned char)*q) != 0;
        most = dots > most ? dots : most;
    }
    REFUSE_WHEN(letters + most > MAX_RANK, "the output has more than %d dimensions", MAX_RANK);
    return read_term(&p, strstr(p, "...") ? letters + most : UINT32_MAX, ret);
}

enum status onnx_convert_einsum(struct onnx_cx *cx, const struct onnx_node *n)
{
    struct term x[8];
    char out[MAX_RANK + 1], later[10 * MAX_RANK];
    const char *p = onnx_attr_text(cx, n, "equation", "");
    REFUSE_WHEN(n->n_in == 0 || n->n_in > 8, "%u operands; 1 … 8 are supported", n->n_in);
    for (uint32_t i = 0; i < n->n_in; i++) {
        x[i].twice[0] = 0;
        TRY(onnx_in_tensor(cx, n, i, &x[i].t));
        TRY(read_term(&p, build_desc(B, x[i].t)->rank, x[i].letters));
        TRY(diagonals(cx, &x[i]));
        RETURN_IF(i + 1 < n->n_in && *p != ',', ST_INVALID_OP, "the equation has fewer operands than the node");
        p += *p == ',';
    }
    TRY(read_output(p, x, n->n_in, out));
    for (uint32_t i = 0; i < n->n_in; i++) {
        strcpy(later, out);
        for (uint32_t k = i + 1; k < n->n_in; k++)
            strcat(later, x[k].letters);
        struct term next = x[i];
        if (i > 0)
            TRY(product(cx, &x[i - 1], &x[i], later, &next));
        TRY(sum_unneeded(cx, &next, later));
        x[i] = next;
    }
    struct term *y = &x[n->n_in - 1];
    RETURN_IF(strlen(y->letters) != strlen(out), ST_INVALID_OP,
              "the output of the equation has an index that no operand has");
    for (const char *q = out; *q; q++)
        RETURN_IF(!has(y->letters, *q), ST_INVALID_OP, "the output of the equation has index '%c', which no operand has",
                  *q);
    TRY(reorder(cx, y, out));
    return onnx_out(cx, n, 0, y->t, NULL);
}
