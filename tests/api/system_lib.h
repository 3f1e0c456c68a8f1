/* SPDX-License-Identifier: Apache-2.0 */
/* libQnnSystem.so as a client meets it: opened by name, used through its table. */
#ifndef TESTS_SYSTEM_LIB_H
#define TESTS_SYSTEM_LIB_H

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "QNN/System/QnnSystemInterface.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

typedef Qnn_ErrorHandle_t (*get_providers_fn)(const QnnSystemInterface_t ***list, uint32_t *n);

static inline void *system_open(void)
{
    const char *dir = getenv("OPENQNN_LIB_DIR");
    char path[4096];
    snprintf(path, sizeof(path), "%s/libQnnSystem.so", dir ? dir : ".");
    void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!lib)
        fail_msg("%s", dlerror());
    return lib;
}

static inline const QnnSystemInterface_t *system_provider(void *lib)
{
    get_providers_fn get = (get_providers_fn)dlsym(lib, "QnnSystemInterface_getProviders");
    assert_non_null(get);
    const QnnSystemInterface_t **list = NULL;
    uint32_t n = 0;
    assert_int_equal(get(&list, &n), QNN_SUCCESS);
    assert_int_equal(n, 1);
    return list[0];
}

/* Handles that are none: NULL, small numbers, all bits, and an address. */
static const uintptr_t not_handles[] = { 0, 1, 0xdeadbeef, UINTPTR_MAX, 0x0901000001000001, (uintptr_t)&not_handles };

#endif
