/* SPDX-License-Identifier: Apache-2.0 */
/* Clients with newer headers than include/QNN: they want newer versions and copy longer tables. */
#include "api_test.h"

#include <dlfcn.h>
#include <string.h>

#include <QNN/System/QnnSystemInterface.h>

/* Slots as the headers of SDK 2.50 have them, and some that nobody has seen. */
enum {
    VALIDATE = 72,
    FREE_RESULT = 73,
    REGISTER_BINARY = 74,
    KNOWN = 75,
    COPIED = 96,
    SYSTEM_KNOWN = 89,
    SYSTEM_COPIED = 128
};

typedef Qnn_ErrorHandle_t (*any_call)(uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t,
                                      uintptr_t);

static void copy_slots(any_call *to, const void *table, size_t n, const char *library)
{
    memcpy(to, table, n * sizeof *to);
    for (size_t i = 0; i < n; i++) {
        Dl_info at;
        if (!to[i] || !dladdr((void *)to[i], &at) || !strstr(at.dli_fname, library))
            fail_msg("slot %zu is no function of %s", i, library);
    }
}

/* major equal, minor at least the client's: how clients choose. */
static void choose(void **state)
{
    (void)state;
    static const uint32_t wanted[] = { 18, 32, 37, 38, 39, 40 };
    Qnn_ApiVersion_t v;
    OK(q.backendGetApiVersion(&v));
    assert_memory_equal(&v, &provider->apiVersion, sizeof v);
    for (size_t i = 0; i < COUNT(wanted); i++)
        assert_true(v.coreApiVersion.major == 2 && v.coreApiVersion.minor >= wanted[i]);
    if (lib_is_htp())
        assert_true(v.backendApiVersion.major == 5 && v.backendApiVersion.minor >= 50);
}

static void longer_table(void **state)
{
    (void)state;
    any_call slot[COPIED];
    copy_slots(slot, &provider->QNN_INTERFACE_VER_NAME, COPIED, lib_name());
    hush(true);
    FAILS(QNN_GRAPH_ERROR_INVALID_HANDLE, slot[VALIDATE](0, 0, 0, 0, 0, 0, 0, 0));
    FAILS(QNN_GRAPH_ERROR_INVALID_HANDLE, slot[VALIDATE]((uintptr_t)env.context, 0, 0, 0, 0, 0, 0, 0));
    Qnn_GraphHandle_t graph;
    OK(q.graphCreate(env.context, "g", NULL, &graph));
    FAILS(QNN_GRAPH_ERROR_UNSUPPORTED_FEATURE, slot[VALIDATE]((uintptr_t)graph, 0, 0, 0, 0, 0, 0, 0));
    FAILS(QNN_GRAPH_ERROR_INVALID_ARGUMENT, slot[FREE_RESULT](0, 0, 0, 0, 0, 0, 0, 0));
    FAILS(QNN_GRAPH_ERROR_UNSUPPORTED_FEATURE, slot[FREE_RESULT]((uintptr_t)&graph, 0, 0, 0, 0, 0, 0, 0));
    uintptr_t bytes = (uintptr_t) "no library", name = (uintptr_t) "provider";
    FAILS(QNN_BACKEND_ERROR_INVALID_HANDLE, slot[REGISTER_BINARY](1, bytes, 10, name, 0, 0, 0, 0));
    FAILS(QNN_BACKEND_ERROR_INVALID_ARGUMENT, slot[REGISTER_BINARY]((uintptr_t)env.backend, 0, 10, name, 0, 0, 0, 0));
    FAILS(QNN_BACKEND_ERROR_INVALID_ARGUMENT, slot[REGISTER_BINARY]((uintptr_t)env.backend, bytes, 0, name, 0, 0, 0, 0));
    FAILS(QNN_BACKEND_ERROR_INVALID_ARGUMENT, slot[REGISTER_BINARY]((uintptr_t)env.backend, bytes, 10, 0, 0, 0, 0, 0));
    FAILS(QNN_BACKEND_ERROR_NOT_SUPPORTED, slot[REGISTER_BINARY]((uintptr_t)env.backend, bytes, 10, name, 0, 0, 0, 0));
    for (int i = KNOWN; i < COPIED; i++)
        FAILS(QNN_COMMON_ERROR_NOT_SUPPORTED, slot[i](1, 2, 3, 4, 5, 6, 7, 8));
    hush(false);
}

static void longer_system_table(void **state)
{
    (void)state;
    void *lib = lib_dlopen("libQnnSystem.so", RTLD_NOW | RTLD_LOCAL);
    Qnn_ErrorHandle_t (*get)(const QnnSystemInterface_t ***, uint32_t *) = dlsym(lib, "QnnSystemInterface_getProviders");
    const QnnSystemInterface_t **list;
    uint32_t n;
    OK(get(&list, &n));
    assert_int_equal(n, 1);
    assert_true(list[0]->systemApiVersion.major == 1 && list[0]->systemApiVersion.minor >= 15);
    any_call slot[SYSTEM_COPIED];
    copy_slots(slot, &list[0]->QNN_SYSTEM_INTERFACE_VER_NAME, SYSTEM_COPIED, "libQnnSystem.so");
    hush(true);
    for (int i = 27; i < SYSTEM_KNOWN; i++) /* none takes a handle that is none */
        assert_int_not_equal(slot[i](0, 0, 0, 0, 0, 0, 0, 0), QNN_SUCCESS);
    for (int i = SYSTEM_KNOWN; i < SYSTEM_COPIED; i++)
        FAILS(QNN_COMMON_ERROR_NOT_SUPPORTED, slot[i](1, 2, 3, 4, 5, 6, 7, 8));
    hush(false);
    dlclose(lib);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(choose, env_setup, env_teardown),
        cmocka_unit_test_setup_teardown(longer_table, env_setup, env_teardown),
        cmocka_unit_test(longer_system_table),
    };
    lib_open();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    lib_close();
    return failed;
}
