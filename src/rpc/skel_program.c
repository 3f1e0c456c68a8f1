/* SPDX-License-Identifier: Apache-2.0 */
/* libQnnHtpV73Skel.so and its siblings, libQnnLpaiSkel.so: programs with the names that
 * installations have for these files. The arch is that of the file's name, so that one file serves all. */
#include <stdio.h>
#include <string.h>

#include "rpc/rpc.h"
#include "rpc/skel_main.h"

static uint32_t arch_of(const char *path)
{
    const char *name = strrchr(path, '/');
    unsigned arch = 0;
    name = name ? name + 1 : path;
    sscanf(name, "libQnnHtpV%uSkel", &arch);
    return strncmp(name, "libQnnLpaiSkel", strlen("libQnnLpaiSkel")) == 0 ? RPC_ARCH_LPAI : arch;
}

int main(int argc, char **argv)
{
    const char *name = argc ? argv[0] : "skel";
    return skel_main(arch_of(name), name);
}
