/* SPDX-License-Identifier: Apache-2.0 */
/* Libraries that programs are linked with: they are there, and have no provider. */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include <QNN/QnnInterface.h>

typedef Qnn_ErrorHandle_t providers_fn(const QnnInterface_t ***list, uint32_t *n);

static void test_no_provider(void **state)
{
    (void)state;
    static const char *const names[] = { "libQnnSaver.so" };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char path[4096];
        const QnnInterface_t *none, **list = &none;
        uint32_t n = 7;
        snprintf(path, sizeof path, "%s/%s", getenv("OPENQNN_LIB_DIR"), names[i]);
        void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        assert_non_null(lib);
        providers_fn *providers = (providers_fn *)dlsym(lib, "QnnInterface_getProviders");
        assert_non_null(providers);
        assert_int_equal(providers(&list, &n), QNN_INTERFACE_ERROR_NOT_SUPPORTED);
        assert_int_equal(n, 0);
        assert_null(list);
        assert_int_equal(providers(NULL, &n), QNN_INTERFACE_ERROR_INVALID_PARAMETER);
        assert_int_equal(dlclose(lib), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_no_provider) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
