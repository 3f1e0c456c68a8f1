/* SPDX-License-Identifier: Apache-2.0 */
/* The FastRPC calls of libcdsprpc.so through dlopen, in the order in which clients probe a device, and with what they get
 * wrong. */
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

#include <cmocka.h>

#include "remote.h"
#include "rpcmem.h"

/* Functions are looked up, as clients do; the prototypes are those of the headers. */
#define LOOK_UP(name) __typeof__(name) *p_##name = (__typeof__(name) *)dlsym(lib, #name)

static void *lib;

static int open_library(void **state)
{
    char path[PATH_MAX];
    (void)state;
    snprintf(path, sizeof(path), "%s/libcdsprpc.so", getenv("OPENQNN_LIB_DIR"));
    lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    return lib ? 0 : -1;
}

static uint32_t ask(uint32_t domain, uint32_t attribute)
{
    LOOK_UP(remote_handle_control);
    fastrpc_capability c = { .domain = domain, .attribute_ID = attribute, .capability = 99 };
    assert_int_equal(p_remote_handle_control(DSPRPC_GET_DSP_INFO, &c, sizeof(c)), 0);
    return c.capability;
}

static void test_capabilities(void **state)
{
    (void)state;
    unsetenv("OPENQNN_SOC");
    assert_int_equal(ask(CDSP_DOMAIN_ID, DOMAIN_SUPPORT), 1);
    assert_int_equal(ask(MDSP_DOMAIN_ID, DOMAIN_SUPPORT), 0);
    assert_int_equal(ask(CDSP_DOMAIN_ID, UNSIGNED_PD_SUPPORT), 1);
    assert_int_equal(ask(CDSP_DOMAIN_ID, ARCH_VER) & 0xff, 0x73);
    assert_int_equal(ask(CDSP_DOMAIN_ID, HVX_SUPPORT_128B), 1);
    assert_int_equal(ask(ADSP_DOMAIN_ID, HVX_SUPPORT_128B), 0);
    assert_true(ask(CDSP_DOMAIN_ID, VTCM_PAGE) * ask(CDSP_DOMAIN_ID, VTCM_COUNT) == 8u << 20);
    setenv("OPENQNN_SOC", "SM8750", 1);
    assert_int_equal(ask(CDSP_DOMAIN_ID, ARCH_VER) & 0xff, 0x79);
    setenv("OPENQNN_SOC", "93", 1); /* QCM6490 */
    assert_int_equal(ask(CDSP_DOMAIN_ID, ARCH_VER) & 0xff, 0x68);
    assert_int_equal(ask(CDSP_DOMAIN_ID, VTCM_PAGE), 2 << 20);
    unsetenv("OPENQNN_SOC");
    LOOK_UP(remote_handle_control);
    LOOK_UP(remote_handle64_control);
    fastrpc_capability c = { .domain = CDSP_DOMAIN_ID, .attribute_ID = 12345 };
    assert_int_not_equal(p_remote_handle_control(DSPRPC_GET_DSP_INFO, &c, sizeof(c)), 0);
    assert_int_not_equal(p_remote_handle_control(DSPRPC_GET_DSP_INFO, NULL, sizeof(c)), 0);
    assert_int_not_equal(p_remote_handle_control(DSPRPC_GET_DSP_INFO, &c, sizeof(c) - 1), 0);
    assert_int_not_equal(p_remote_handle_control(4711, &c, sizeof(c)), 0);
    struct remote_rpc_control_latency l = { RPC_PM_QOS, 100 };
    assert_int_equal(p_remote_handle_control(DSPRPC_CONTROL_LATENCY, &l, sizeof(l)), 0);
    assert_int_equal(p_remote_handle64_control((remote_handle64)-1, DSPRPC_CONTROL_LATENCY, &l, sizeof(l)), 0);
}

static void test_sessions(void **state)
{
    (void)state;
    LOOK_UP(remote_session_control);
    char name[] = "cdsp", title[] = "test", module[] = "file:///libm_skel.so?m_skel_handle_invoke&_modver=1.0", uri[256],
         small[8];
    struct remote_rpc_control_unsigned_module u = { CDSP_DOMAIN_ID, 1 };
    assert_int_equal(p_remote_session_control(DSPRPC_CONTROL_UNSIGNED_MODULE, &u, sizeof(u)), 0);
    u.domain = SDSP_DOMAIN_ID;
    assert_int_not_equal(p_remote_session_control(DSPRPC_CONTROL_UNSIGNED_MODULE, &u, sizeof(u)), 0);
    remote_rpc_reserve_new_session_t r = {
        .domain_name = name, .domain_name_len = 4, .session_name = title, .session_name_len = 4
    };
    assert_int_equal(p_remote_session_control(FASTRPC_RESERVE_NEW_SESSION, &r, sizeof(r)), 0);
    assert_int_not_equal(r.effective_domain_id, CDSP_DOMAIN_ID);
    remote_rpc_effective_domain_id_t e = { .domain_name = name, .domain_name_len = 4, .session_id = r.session_id };
    assert_int_equal(p_remote_session_control(FASTRPC_GET_EFFECTIVE_DOMAIN_ID, &e, sizeof(e)), 0);
    assert_int_equal(e.effective_domain_id, r.effective_domain_id);
    u.domain = (int)r.effective_domain_id;
    assert_int_equal(p_remote_session_control(DSPRPC_CONTROL_UNSIGNED_MODULE, &u, sizeof(u)), 0);
    remote_rpc_get_uri_t g = { name, 4, r.session_id, module, sizeof(module), uri, sizeof(uri) };
    assert_int_equal(p_remote_session_control(FASTRPC_GET_URI, &g, sizeof(g)), 0);
    assert_non_null(strstr(uri, module));
    assert_non_null(strstr(uri, "&_dom=cdsp"));
    g.uri = small, g.uri_len = sizeof(small);
    assert_int_not_equal(p_remote_session_control(FASTRPC_GET_URI, &g, sizeof(g)), 0);
    struct remote_rpc_session_close c = { (int)r.effective_domain_id };
    assert_int_equal(p_remote_session_control(FASTRPC_SESSION_CLOSE, &c, sizeof(c)), 0);
    int given = 0;
    while (p_remote_session_control(FASTRPC_RESERVE_NEW_SESSION, &r, sizeof(r)) == 0 && given < 100)
        given++;
    assert_in_range(given, 1, 99); /* a device has a limit */
    r.domain_name_len = 0;
    assert_int_not_equal(p_remote_session_control(FASTRPC_RESERVE_NEW_SESSION, &r, sizeof(r)), 0);
    assert_int_not_equal(p_remote_session_control(FASTRPC_CONTEXT_CREATE, &r, sizeof(r)), 0);
}

static void test_memory(void **state)
{
    (void)state;
    LOOK_UP(rpcmem_alloc);
    LOOK_UP(rpcmem_to_fd);
    LOOK_UP(rpcmem_free);
    LOOK_UP(fastrpc_mmap);
    LOOK_UP(fastrpc_munmap);
    LOOK_UP(remote_register_buf);
    LOOK_UP(remote_register_fd);
    LOOK_UP(remote_register_dma_handle);
    void *p = p_rpcmem_alloc(RPCMEM_HEAP_ID_SYSTEM, RPCMEM_DEFAULT_FLAGS | RPCMEM_HEAP_NOREG, 4096);
    int fd = p_rpcmem_to_fd(p);
    assert_int_equal(p_fastrpc_mmap(CDSP_DOMAIN_ID, fd, p, 0, 4096, FASTRPC_MAP_FD), 0);
    assert_int_equal(p_fastrpc_munmap(CDSP_DOMAIN_ID, fd, p, 4096), 0);
    assert_int_not_equal(p_fastrpc_munmap(CDSP_DOMAIN_ID, fd, p, 4096), 0);
    assert_int_not_equal(p_fastrpc_mmap(CDSP_DOMAIN_ID, -1, p, 0, 4096, FASTRPC_MAP_FD), 0);
    assert_int_not_equal(p_fastrpc_mmap(CDSP_DOMAIN_ID, 999, p, 0, 4096, FASTRPC_MAP_FD), 0);
    assert_int_not_equal(p_fastrpc_mmap(SDSP_DOMAIN_ID, fd, p, 0, 4096, FASTRPC_MAP_FD), 0);
    assert_int_not_equal(p_fastrpc_mmap(CDSP_DOMAIN_ID, fd, p, 0, 4096, FASTRPC_MAP_RESERVED), 0);
    p_remote_register_buf(p, 4096, fd);
    p_remote_register_buf(p, 4096, -1);
    p_remote_register_buf(p, 4096, -1); /* twice is ignored */
    p_remote_register_buf(NULL, 1, fd);
    void *at = p_remote_register_fd(fd, 4096);
    assert_true(at && at != (void *)-1);
    p_remote_register_buf(at, 4096, -1);
    assert_ptr_equal(p_remote_register_fd(-1, 4096), (void *)-1);
    assert_int_equal(p_remote_register_dma_handle(fd, 4096), 0);
    assert_int_equal(p_remote_register_dma_handle(fd, 0), 0);
    assert_int_not_equal(p_remote_register_dma_handle(fd, 0), 0);
    p_rpcmem_free(p);
}

/* Modules for the DSP's processor are refused, not pretended. */
static void test_modules(void **state)
{
    (void)state;
    LOOK_UP(remote_handle64_open);
    LOOK_UP(remote_handle64_invoke);
    LOOK_UP(remote_handle64_close);
    LOOK_UP(remote_mem_map);
    remote_handle64 h = 5;
    uint64_t address;
    assert_int_not_equal(p_remote_handle64_open("file:///libx_skel.so?x&_dom=cdsp", &h), 0);
    assert_int_not_equal(p_remote_handle64_open(NULL, NULL), 0);
    assert_int_equal(h, 5);
    assert_int_not_equal(p_remote_handle64_invoke(h, 0, NULL), 0);
    assert_int_not_equal(p_remote_handle64_close(h), 0);
    assert_int_not_equal(p_remote_mem_map(CDSP_DOMAIN_ID, 0, 0, 0, 4096, &address), 0);
}

static void *probe(void *arg)
{
    LOOK_UP(remote_register_fd);
    LOOK_UP(remote_register_buf);
    for (int i = 0; i < 200; i++) {
        void *at = p_remote_register_fd(0, 4096);
        if (at == (void *)-1)
            return arg;
        p_remote_register_buf(at, 4096, -1);
    }
    return NULL;
}

static void test_threads(void **state)
{
    (void)state;
    pthread_t t[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&t[i], NULL, probe, t);
    for (int i = 0; i < 4; i++) {
        void *failed;
        pthread_join(t[i], &failed);
        assert_null(failed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_capabilities), cmocka_unit_test(test_sessions), cmocka_unit_test(test_memory),
        cmocka_unit_test(test_modules),      cmocka_unit_test(test_threads),
    };
    return cmocka_run_group_tests(tests, open_library, NULL);
}
