/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: one operator through the API of a backend, validated, added, finalized and executed with hostile data. An
 * input says which use of the table, on which library, and what becomes of it (fuzz_use.c); refusals are explained. */
#include "fuzz_use.h"

static const char *const libraries[] = { "libQnnCpu.so", "libQnnHtp.so" };

static void use_once(struct fuzz_library *l, struct fuzz_use *u, struct fuzz_bytes *b)
{
    Qnn_ContextHandle_t context = NULL;
    Qnn_GraphHandle_t graph = NULL;

    (void)fuzz_done(l, l->q.backendValidateOpConfig(l->backend, u->config));
    if (!fuzz_done(l, l->q.contextCreate(l->backend, NULL, NULL, &context)))
        return;
    if (fuzz_done(l, l->q.graphCreate(context, "g", NULL, &graph)) && fuzz_use_add(u, l, graph) &&
        fuzz_done(l, l->q.graphFinalize(graph, NULL, NULL)))
        fuzz_execute(l, b, graph, u->given, u->n_data, u->results, u->n_results);
    require(l->q.contextFree(context, NULL) == QNN_SUCCESS);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct fuzz_use u;
    struct fuzz_bytes b = fuzz_bytes_of(data, size);
    struct fuzz_library *l = fuzz_library(FUZZ_ONE_OF(&b, libraries));

    fuzz_use_take(&u, fuzz_below(&b, fuzz_use_count()));
    if (u.text.call.op) {
        fuzz_use_change(&u, &b);
        if (fuzz_use_translate(&u, &b))
            use_once(l, &u, &b);
    }
    fuzz_blocks_free();
    return 0;
}
