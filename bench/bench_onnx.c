/* SPDX-License-Identifier: Apache-2.0 */
/* Networks of the benchmarks for other runtimes.
 *
 *     bench_onnx                             names of the networks
 *     bench_onnx NETWORK int8|f32 BATCH FILE an ONNX file */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net_onnx.h"

int main(int argc, char **argv)
{
    static struct net net;
    if (argc == 1) {
        for (int i = 0; net_list[i].name; i++)
            puts(net_list[i].name);
        return 0;
    }
    for (int i = 0; argc == 5 && net_list[i].name; i++)
        if (!strcmp(net_list[i].name, argv[1])) {
            FILE *f = fopen(argv[4], "wb");
            net_make(&net, net_list[i].build, (uint32_t)atoi(argv[3]));
            bool ok = f && net_write_onnx(&net, !strcmp(argv[2], "int8"), f);
            return f && fclose(f) == 0 && ok ? 0 : 1;
        }
    fprintf(stderr, "usage: bench_onnx [NETWORK int8|f32 BATCH FILE]\n");
    return 2;
}
