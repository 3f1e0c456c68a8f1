/* SPDX-License-Identifier: Apache-2.0 */
/* libcdsprpc.so through dlopen: what is written through the client's pointer is seen through another mapping of its
 * descriptor; wrong pointers are ignored; nothing stays behind. */
#include <dirent.h>
#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cmocka.h>

static void *(*alloc)(int, uint32_t, int);
static void *(*alloc2)(int, uint32_t, size_t);
static void (*release)(void *);
static int (*to_fd)(void *);

enum { HEAP_SYSTEM = 25, FLAGS = 1 };

static int open_library(void **state)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/libcdsprpc.so", getenv("OPENQNN_LIB_DIR") ? getenv("OPENQNN_LIB_DIR") : ".");
    void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!lib) {
        fprintf(stderr, "%s\n", dlerror());
        return -1;
    }
    *(void **)&alloc = dlsym(lib, "rpcmem_alloc");
    *(void **)&alloc2 = dlsym(lib, "rpcmem_alloc2");
    *(void **)&release = dlsym(lib, "rpcmem_free");
    *(void **)&to_fd = dlsym(lib, "rpcmem_to_fd");
    *state = lib;
    return alloc && alloc2 && release && to_fd ? 0 : -1;
}

static unsigned open_descriptors(void)
{
    unsigned n = 0;
    DIR *d = opendir("/proc/self/fd");
    while (readdir(d))
        n++;
    closedir(d);
    return n;
}

static void shared_through_descriptor(void **state)
{
    (void)state;
    uint8_t *p = alloc(HEAP_SYSTEM, FLAGS, 10000);
    assert_non_null(p);
    assert_int_equal((uintptr_t)p % 4096, 0);
    for (int i = 0; i < 10000; i++)
        assert_int_equal(p[i], 0);
    struct stat st;
    assert_int_equal(fstat(to_fd(p), &st), 0);
    assert_int_equal(st.st_size, 10000);
    uint8_t *other = mmap(NULL, 10000, PROT_READ | PROT_WRITE, MAP_SHARED, to_fd(p), 0);
    assert_ptr_not_equal(other, MAP_FAILED);
    p[9999] = 42;
    assert_int_equal(other[9999], 42);
    other[0] = 17;
    assert_int_equal(p[0], 17);
    assert_int_equal(to_fd(p + 9999), to_fd(p)); /* an address inside finds its allocation, the one behind it none */
    assert_int_equal(to_fd(p + 10000), -1);
    munmap(other, 10000);
    release(p);
    assert_int_equal(to_fd(p), -1);
}

static void more_than_two_gib(void **state)
{
    (void)state;
    size_t size = ((size_t)2 << 30) + 4096; /* sparse: no page is touched but the last */
    uint8_t *p = alloc2(HEAP_SYSTEM, FLAGS, size);
    assert_non_null(p);
    p[size - 1] = 1;
    assert_int_equal(p[size - 1], 1);
    release(p);
}

static void wrong_use_is_ignored(void **state)
{
    (void)state;
    int local;
    assert_null(alloc(HEAP_SYSTEM, FLAGS, 0));
    assert_null(alloc(HEAP_SYSTEM, FLAGS, -5));
    assert_null(alloc2(HEAP_SYSTEM, FLAGS, 0));
    assert_null(alloc2(HEAP_SYSTEM, FLAGS, SIZE_MAX));
    assert_int_equal(to_fd(NULL), -1);
    assert_int_equal(to_fd(&local), -1);
    assert_int_equal(to_fd((void *)UINTPTR_MAX), -1);
    release(NULL);
    release(&local);
    uint8_t *p = alloc(HEAP_SYSTEM, FLAGS, 100);
    release(p + 1); /* not the start: stays */
    assert_int_not_equal(to_fd(p), -1);
    release(p);
    release(p); /* twice */
}

/* Shared memory is a file to the kernel; beyond the limit on file sizes it is refused, not answered with a signal that ends
 * the process. */
static void limit_on_file_sizes(void **state)
{
    (void)state;
    struct rlimit before, low;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    low = (struct rlimit){ .rlim_cur = 8192, .rlim_max = before.rlim_max };
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &low), 0);
    void *large = alloc(HEAP_SYSTEM, FLAGS, 8193), *small = alloc(HEAP_SYSTEM, FLAGS, 4096);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_null(large);
    assert_non_null(small);
    release(small);
}

static void *churn(void *arg)
{
    uint8_t *mine[8];
    for (int round = 0; round < 200; round++) {
        for (int i = 0; i < 8; i++) {
            mine[i] = alloc(HEAP_SYSTEM, FLAGS, 100 + 5000 * i);
            mine[i][0] = (uint8_t)(uintptr_t)arg;
        }
        for (int i = 0; i < 8; i++) {
            if (mine[i][0] != (uint8_t)(uintptr_t)arg || to_fd(mine[i]) < 0)
                return arg;
            release(mine[i]);
        }
    }
    return NULL;
}

static void eight_threads(void **state)
{
    (void)state;
    unsigned before = open_descriptors();
    pthread_t t[8];
    for (uintptr_t i = 0; i < 8; i++)
        assert_int_equal(pthread_create(&t[i], NULL, churn, (void *)(i + 1)), 0);
    for (int i = 0; i < 8; i++) {
        void *bad;
        pthread_join(t[i], &bad);
        assert_null(bad);
    }
    assert_int_equal(open_descriptors(), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shared_through_descriptor),
        cmocka_unit_test(more_than_two_gib),
        cmocka_unit_test(wrong_use_is_ignored),
        cmocka_unit_test(limit_on_file_sizes),
        cmocka_unit_test(eight_threads),
    };
    return cmocka_run_group_tests(tests, open_library, NULL);
}
