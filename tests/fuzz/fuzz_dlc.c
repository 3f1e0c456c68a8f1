/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: DLC containers. The first byte chooses what the rest is:
 *
 *     'Z'  a zip archive, opened as a client's buffer; few changes survive its checksums
 *     else the records themselves: u16 bytes of "model", u16 bytes of "model.params", then both, the rest is
 *     "openqnn.extra", or after a 'W' "openqnn.weights"
 *
 * Graphs that are read must print and pass the verifier, and run when they are small; what is refused is explained. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "convert/dlc/dlc.h"
#include "fuzz_run.h"

static void use_graphs(struct ir_graph *const *graphs, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        check_graph(graphs[i]);
}

static void try_zip(const void *data, size_t size)
{
    struct ir_graph *const *graphs;
    struct convert_dlc *d, *again;
    uint32_t n;
    void *image;
    if (convert_dlc_open_data(data, size, &d) != ST_OK)
        return;
    if (convert_dlc_graphs(d, NULL, &graphs, &n) == ST_OK) {
        use_graphs(graphs, n);
        if (convert_dlc_image(d, &image, &size) == ST_OK) {
            require(convert_dlc_open_data(image, size, &again) == ST_OK);
            require(convert_dlc_count(again) == convert_dlc_count(d));
            convert_dlc_close(again);
            free(image);
        }
    } else {
        require(status_text()[0] != '\0');
    }
    convert_dlc_close(d);
}

/* A record in a block of its own size. */
static struct dlc_part cut(const uint8_t **data, size_t *size, size_t want)
{
    size_t n = want < *size ? want : *size;
    if (n == 0)
        return (struct dlc_part){ 0 };
    uint8_t *at = malloc(n);
    require(at != NULL);
    memcpy(at, *data, n);
    *data += n;
    *size -= n;
    return (struct dlc_part){ at, n };
}

static void try_records(const uint8_t *data, size_t size, bool weights)
{
    struct ir_graph **graphs;
    struct convert_report r;
    uint16_t sizes[2];
    uint32_t n;
    if (size < sizeof sizes)
        return;
    memcpy(sizes, data, sizeof sizes);
    data += sizeof sizes;
    size -= sizeof sizes;
    struct dlc_parts parts = { .model = cut(&data, &size, sizes[0]), .params = cut(&data, &size, sizes[1]) };
    *(weights ? &parts.weights : &parts.extra) = cut(&data, &size, size);
    convert_report_init(&r);
    status_clear();
    if (parts.model.at && dlc_read_graphs(&parts, &r, &graphs, &n) == ST_OK) {
        use_graphs(graphs, n);
        while (n > 0) {
            compile_and_run(graphs[--n]);
            ir_graph_free(graphs[n]);
        }
        free(graphs);
    } else if (parts.model.at) {
        require(status_text()[0] != '\0');
    }
    convert_report_finish(&r);
    free((void *)parts.model.at);
    free((void *)parts.params.at);
    free((void *)parts.extra.at);
    free((void *)parts.weights.at);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size && data[0] == 'Z')
        try_zip(data + 1, size - 1);
    else if (size)
        try_records(data + 1, size - 1, data[0] == 'W');
    return 0;
}
