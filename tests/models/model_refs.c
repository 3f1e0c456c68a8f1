/* SPDX-License-Identifier: Apache-2.0 */
/* Reference vectors: reading their index, feeding a model with them. */
#include "model_refs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_LINES = 4096, MAX_LINE = 1 << 10 };

static bool parse_line(char *text, struct ref_line *ret)
{
    char *field[8] = {0}, *save = NULL;
    unsigned n = 0;
    for (char *p = strtok_r(text, "\t\n", &save); p && n < 8; p = strtok_r(NULL, "\t\n", &save))
        field[n++] = p;
    if (n < 7 || !strcmp(field[0], "model"))
        return false;
    snprintf(ret->model, sizeof(ret->model), "%s", field[0]);
    snprintf(ret->kind, sizeof(ret->kind), "%s", field[2]);
    snprintf(ret->tensor, sizeof(ret->tensor), "%s", field[6]);
    snprintf(ret->engine, sizeof(ret->engine), "%s", field[7] ? field[7] : "-");
    ret->step = (unsigned)atoi(field[1]);
    ret->index = (unsigned)atoi(field[3]);
    return true;
}

bool refs_read(const char *models, struct refs *ret)
{
    char path[4096], text[MAX_LINE];
    snprintf(path, sizeof(path), "%s/refs/index.tsv", models);
    FILE *f = fopen(path, "r");
    if (!f)
        return false;
    *ret = (struct refs){.at = calloc(MAX_LINES, sizeof(*ret->at))};
    while (ret->at && ret->n < MAX_LINES && fgets(text, sizeof(text), f))
        ret->n += parse_line(text, &ret->at[ret->n]);
    fclose(f);
    return ret->at != NULL;
}

void refs_free(struct refs *r)
{
    free(r->at);
}

unsigned refs_of_model(const struct refs *r, unsigned first)
{
    unsigned k = first;
    while (k < r->n && !strcmp(r->at[k].model, r->at[first].model))
        k++;
    return k - first;
}

/* ---- feeding ------------------------------------------------------------------------------------------------------ */

static void *vector_file(const char *models, const struct ref_line *l, size_t *size)
{
    char path[4096];
    int stem = (int)(strrchr(l->model, '.') ? strrchr(l->model, '.') - l->model : 0);
    snprintf(path, sizeof(path), "%s/refs/%.*s/%s_s%u_%u.bin", models, stem, l->model, l->kind, l->step, l->index);
    return read_whole_file(path, size);
}

static bool use_line(struct model_run *m, const char *models, const struct ref_line *l, refs_output_fn *output, void *arg)
{
    bool expected = !strcmp(l->kind, "expected");
    uint32_t t = model_io(m, l->tensor, expected);
    size_t size = 0;
    void *v = vector_file(models, l, &size);
    bool ok = t != IR_NONE && v && size == desc_bytes(&m->g->tensors.at[t].desc);
    if (!ok)
        snprintf(m->error, sizeof(m->error), "step %u: %s \"%.200s\" of %zu bytes does not fit the model", l->step, l->kind,
                 l->tensor, size);
    else if (expected)
        output(arg, &m->g->tensors.at[t].desc, m->data[t], v, l->engine);
    else
        memcpy(m->data[t], v, size);
    free(v);
    return ok;
}

/* A line "input<-output" of kind "state": what the output gave goes into the input. */
static void carry_states(struct model_run *m, const struct ref_line *l, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        char in[MAX_LINE];
        const char *arrow = strcmp(l[i].kind, "state") ? NULL : strstr(l[i].tensor, "<-");
        if (!arrow)
            continue;
        snprintf(in, sizeof(in), "%.*s", (int)(arrow - l[i].tensor), l[i].tensor);
        uint32_t to = model_io(m, in, false), from = model_io(m, arrow + 2, true);
        if (to != IR_NONE && from != IR_NONE)
            memcpy(m->data[to], m->data[from], desc_bytes(&m->g->tensors.at[to].desc));
    }
}

bool refs_feed(struct model_run *m, const char *models, const struct ref_line *l, unsigned n, refs_output_fn *output,
               void *arg)
{
    bool ran = false;
    for (unsigned i = 0; i < n; i++) {
        bool expected = !strcmp(l[i].kind, "expected");
        if (!strcmp(l[i].kind, "state"))
            continue;
        if (expected && !ran) {
            if (!model_step(m))
                return false;
            carry_states(m, l, n);
        }
        ran = expected;
        if (!use_line(m, models, &l[i], output, arg))
            return false;
    }
    return true;
}

bool refs_feed_all(struct model_run *m, const char *models, const struct refs *r, const char *name, struct refs_to to,
                   bool *known)
{
    bool ok = true;
    *known = false;
    for (unsigned i = 0; ok && i < r->n; i += refs_of_model(r, i)) {
        if (strcmp(r->at[i].model, name))
            continue;
        *known = true;
        ok = refs_feed(m, models, &r->at[i], refs_of_model(r, i), to.output, to.arg);
    }
    return ok;
}
