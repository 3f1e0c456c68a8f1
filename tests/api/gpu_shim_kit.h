/* SPDX-License-Identifier: Apache-2.0 */
/* Tests that look at what libQnnGpu.so asks of OpenCL: the shim, or the reason why it is not there. */
#ifndef TESTS_GPU_SHIM_KIT_H
#define TESTS_GPU_SHIM_KIT_H

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "gpu_kit.h"
#include "gpu_shim.h"

static const struct gpu_shim *shim;

/* Ends the program when there is no shim (1) or no device (77). */
static inline void shim_open(void)
{
    void *lib = dlopen(getenv("OPENQNN_OPENCL_LIBRARY"), RTLD_NOW | RTLD_LOCAL);
    shim = lib ? dlsym(lib, SHIM_SYMBOL) : NULL;
    if (!shim) {
        fprintf(stderr, "OPENQNN_OPENCL_LIBRARY must name gpu_shim.so: %s\n", dlerror());
        exit(1);
    }
    kit_need_device();
}

/* The end of a group of tests: the library has released all that it made on the device. */
__attribute__((unused)) static int shim_nothing_left(void **state)
{
    (void)state;
    if (shim->live())
        fprintf(stderr, "%d OpenCL objects are left\n", shim->live());
    return shim->live() != 0;
}

#endif
