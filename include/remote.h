/* SPDX-License-Identifier: Apache-2.0 */
/* remote.h: the FastRPC user API: opens modules in a session on a DSP, calls their methods, and
 * shares memory with them.
 * A handle belongs to one session. Functions return 0 or an error number. Request structs of
 * remote_session_control and remote_handle_control are named in the comments of their ids. */
#ifndef OPENQNN_REMOTE_H
#define OPENQNN_REMOTE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Marks what a library exports, as in QNN/QnnCommon.h. */
#ifndef QNN_API
#define QNN_API __attribute__((visibility("default")))
#endif

/* Domains: the DSPs a session can run on, by number, by name, and as the end of a module URI. */
#define ADSP_DOMAIN_ID    0
#define MDSP_DOMAIN_ID    1
#define SDSP_DOMAIN_ID    2
#define CDSP_DOMAIN_ID    3
#define CDSP1_DOMAIN_ID   4
#define ADSP_DOMAIN_NAME  "adsp"
#define MDSP_DOMAIN_NAME  "mdsp"
#define SDSP_DOMAIN_NAME  "sdsp"
#define CDSP_DOMAIN_NAME  "cdsp"
#define CDSP1_DOMAIN_NAME "cdsp1"
#define GDSP0_DOMAIN_NAME "gdsp0"
#define GDSP1_DOMAIN_NAME "gdsp1"
#define ADSP_DOMAIN       "&_dom=adsp"
#define MDSP_DOMAIN       "&_dom=mdsp"
#define SDSP_DOMAIN       "&_dom=sdsp"
#define CDSP_DOMAIN       "&_dom=cdsp"
#define CDSP1_DOMAIN      "&_dom=cdsp1"
#define GDSP0_DOMAIN      "&_dom=gdsp0"
#define GDSP1_DOMAIN      "&_dom=gdsp1"

/* Characters that start a transport name. */
#define ITRANSPORT_PREFIX "'\":;./\\"

/* Bytes, with the final zero. */
#define MAX_DOMAIN_URI_SIZE 12

/* This library knows DSPRPC_CONTROL_WAKELOCK. */
#define FASTRPC_WAKELOCK_CONTROL_SUPPORTED 1

/* Attributes of a registered buffer. */
#define FASTRPC_ATTR_NONE               0
#define FASTRPC_ATTR_NON_COHERENT       2
#define FASTRPC_ATTR_COHERENT           4
#define FASTRPC_ATTR_KEEP_MAP           8
#define FASTRPC_ATTR_NOMAP              16
#define FASTRPC_ATTR_FORCE_NOFLUSH      32
#define FASTRPC_ATTR_FORCE_NOINVALIDATE 64
#define FASTRPC_ATTR_TRY_MAP_STATIC     128

/* Values of DSPRPC_SET_MODE. */
#define REMOTE_MODE_PARALLEL 0
#define REMOTE_MODE_SERIAL   1

/* Decorations that generated stubs put on prototypes; they add nothing here. */
#define __QAIC_REMOTE(ff) ff
#define __QAIC_IN_LEN(len)
#define __QAIC_INT64PTR uint64_t

/* A call is described by 32 bits, high to low: attributes (3), method (5), number of input buffers
 * (8), of output buffers (8), of input handles (4), of output handles (4). The arguments follow in
 * that order. */
#define REMOTE_SCALARS_METHOD_ATTR(dwScalars) (((dwScalars) >> 29) & 0x7)
#define REMOTE_SCALARS_METHOD(dwScalars)      (((dwScalars) >> 24) & 0x1f)
#define REMOTE_SCALARS_INBUFS(dwScalars)      (((dwScalars) >> 16) & 0xff)
#define REMOTE_SCALARS_OUTBUFS(dwScalars)     (((dwScalars) >> 8) & 0xff)
#define REMOTE_SCALARS_INHANDLES(dwScalars)   (((dwScalars) >> 4) & 0xf)
#define REMOTE_SCALARS_OUTHANDLES(dwScalars)  ((dwScalars) & 0xf)
#define REMOTE_SCALARS_MAKEX(nAttr, nMethod, nIn, nOut, noIn, noOut)                          \
    ((((uint32_t)(nAttr) & 0x7) << 29) | (((uint32_t)(nMethod) & 0x1f) << 24) |               \
     (((uint32_t)(nIn) & 0xff) << 16) | (((uint32_t)(nOut) & 0xff) << 8) |                    \
     (((uint32_t)(noIn) & 0xf) << 4) | ((uint32_t)(noOut) & 0xf))
#define REMOTE_SCALARS_MAKE(nMethod, nIn, nOut) REMOTE_SCALARS_MAKEX(0, nMethod, nIn, nOut, 0, 0)
#define REMOTE_SCALARS_LENGTH(sc)                              \
    (REMOTE_SCALARS_INBUFS(sc) + REMOTE_SCALARS_OUTBUFS(sc) +  \
     REMOTE_SCALARS_INHANDLES(sc) + REMOTE_SCALARS_OUTHANDLES(sc))

/* How the end of an asynchronous call is learned. */
enum fastrpc_async_notify_type {
    FASTRPC_ASYNC_NO_SYNC  = 0,
    FASTRPC_ASYNC_CALLBACK = 1,
    FASTRPC_ASYNC_POLL     = 2
};

/* Ways to lower the latency of calls. */
enum remote_rpc_latency_flags {
    RPC_DISABLE_QOS  = 0,
    RPC_PM_QOS       = 1,
    RPC_ADAPTIVE_QOS = 2,
    RPC_POLL_QOS     = 3
};

/* What can be asked with DSPRPC_GET_DSP_INFO. */
enum remote_dsp_attributes {
    DOMAIN_SUPPORT              = 0,
    UNSIGNED_PD_SUPPORT         = 1,
    HVX_SUPPORT_64B             = 2,
    HVX_SUPPORT_128B            = 3,
    VTCM_PAGE                   = 4,
    VTCM_COUNT                  = 5,
    ARCH_VER                    = 6,
    HMX_SUPPORT_DEPTH           = 7,
    HMX_SUPPORT_SPATIAL         = 8,
    ASYNC_FASTRPC_SUPPORT       = 9,
    STATUS_NOTIFICATION_SUPPORT = 10,
    MCID_MULTICAST              = 11
};

/* Requests of remote_handle_control and remote_handle64_control. */
enum handle_control_req_id {
    DSPRPC_RESERVED            = 0,
    DSPRPC_CONTROL_LATENCY     = 1,  /* struct remote_rpc_control_latency */
    DSPRPC_GET_DSP_INFO        = 2,  /* fastrpc_capability */
    DSPRPC_CONTROL_WAKELOCK    = 3,  /* struct remote_rpc_control_wakelock */
    DSPRPC_GET_DOMAIN          = 4,  /* remote_rpc_get_domain_t */
    DSPRPC_SET_PATH            = 5,  /* struct remote_control_custom_path */
    DSPRPC_GET_PATH            = 6,  /* struct remote_control_custom_path */
    DSPRPC_SMMU_SUPPORT        = 7,
    DSPRPC_KALLOC_SUPPORT      = 8,
    DSPRPC_PM                  = 9,
    DSPRPC_RPC_POLL            = 10,
    DSPRPC_ASYNC_WAKE          = 11,
    DSPRPC_NOTIF_WAKE          = 12,
    DSPRPC_REMOTE_PROCESS_KILL = 13,
    DSPRPC_SET_MODE            = 14
};

/* Kinds of sessions. */
enum fastrpc_process_type {
    PROCESS_TYPE_SIGNED   = 0,
    PROCESS_TYPE_UNSIGNED = 1
};

/* Requests of remote_session_control. */
enum session_control_req_id {
    FASTRPC_RESERVED_1                    = 0,
    FASTRPC_THREAD_PARAMS                 = 1,  /* struct remote_rpc_thread_params */
    DSPRPC_CONTROL_UNSIGNED_MODULE        = 2,  /* struct remote_rpc_control_unsigned_module */
    FASTRPC_RESERVED_2                    = 3,
    FASTRPC_RELATIVE_THREAD_PRIORITY      = 4,  /* struct remote_rpc_relative_thread_priority */
    FASTRPC_RESERVED_3                    = 5,
    FASTRPC_REMOTE_PROCESS_KILL           = 6,
    FASTRPC_SESSION_CLOSE                 = 7,  /* struct remote_rpc_session_close */
    FASTRPC_CONTROL_PD_DUMP               = 8,  /* struct remote_rpc_control_pd_dump */
    FASTRPC_REMOTE_PROCESS_EXCEPTION      = 9,  /* remote_rpc_process_exception */
    FASTRPC_REMOTE_PROCESS_TYPE           = 10,  /* struct remote_process_type */
    FASTRPC_REGISTER_STATUS_NOTIFICATIONS = 11,  /* remote_rpc_notif_register_t */
    FASTRPC_PD_INITMEM_SIZE               = 12,  /* struct remote_rpc_pd_initmem_size */
    FASTRPC_RESERVE_NEW_SESSION           = 13,  /* remote_rpc_reserve_new_session_t */
    FASTRPC_GET_EFFECTIVE_DOMAIN_ID       = 14,  /* remote_rpc_effective_domain_id_t */
    FASTRPC_GET_URI                       = 15,  /* remote_rpc_get_uri_t */
    FASTRPC_MAX_THREAD_PARAM              = 16,
    FASTRPC_CONTEXT_CREATE                = 17,  /* fastrpc_context_create */
    FASTRPC_CONTEXT_DESTROY               = 18  /* fastrpc_context_destroy */
};

/* Flags of remote_mem_map. */
enum remote_mem_map_flags {
    REMOTE_MAP_MEM_STATIC = 0
};

/* Flags of fastrpc_mmap. */
enum fastrpc_map_flags {
    FASTRPC_MAP_STATIC      = 0,
    FASTRPC_MAP_RESERVED    = 1,
    FASTRPC_MAP_FD          = 2,  /* mapped until unmapped */
    FASTRPC_MAP_FD_DELAYED  = 3,  /* unmapped when no call uses it */
    FASTRPC_MAP_RESERVED_4  = 4,
    FASTRPC_MAP_RESERVED_5  = 5,
    FASTRPC_MAP_RESERVED_6  = 6,
    FASTRPC_MAP_RESERVED_7  = 7,
    FASTRPC_MAP_RESERVED_8  = 8,
    FASTRPC_MAP_RESERVED_9  = 9,
    FASTRPC_MAP_RESERVED_10 = 10,
    FASTRPC_MAP_RESERVED_11 = 11,
    FASTRPC_MAP_RESERVED_12 = 12,
    FASTRPC_MAP_RESERVED_13 = 13,
    FASTRPC_MAP_RESERVED_14 = 14,
    FASTRPC_MAP_RESERVED_15 = 15,
    FASTRPC_MAP_FD_NOMAP    = 16  /* noted, and mapped by the module */
};

/* A domain: number and URI ending. */
typedef struct domain {
    int id;
    char uri[MAX_DOMAIN_URI_SIZE];
} domain_t;

/* A buffer argument. */
typedef struct {
    void *pv;
    size_t nLen;
} remote_buf;

/* A buffer argument with 64-bit fields. */
typedef struct {
    uint64_t pv;
    int64_t nLen;
} remote_buf64;

/* A part of a shared buffer as argument. */
typedef struct {
    int32_t fd;
    uint32_t offset;
} remote_dma_handle;

/* A part of a shared buffer, with its length. */
typedef struct {
    int32_t fd;
    uint32_t offset;
    uint32_t len;
} remote_dma_handle64;

/* A module of the default session. */
typedef uint32_t remote_handle;

/* A module of a given session. */
typedef uint64_t remote_handle64;

/* One argument of a call. */
typedef union {
    remote_buf buf;
    remote_handle h;
    remote_handle64 h64;
    remote_dma_handle dma;
} remote_arg;

/* One argument of a call, with 64-bit fields. */
typedef union {
    remote_buf64 buf;
    remote_handle h;
    remote_handle64 h64;
    remote_dma_handle64 dma;
} remote_arg64;

/* An asynchronous call. */
typedef uint64_t fastrpc_async_jobid;

/* Function called at the end of an asynchronous call. */
typedef struct fastrpc_async_callback {
    void (*fn)(fastrpc_async_jobid, void *, int);
    void *context;
} fastrpc_async_callback_t;

/* How to learn the end of an asynchronous call, and which call it is. */
typedef struct fastrpc_async_descriptor {
    enum fastrpc_async_notify_type type;
    fastrpc_async_jobid jobid;
    fastrpc_async_callback_t cb;
} fastrpc_async_descriptor_t;

/* Latency wish. */
struct remote_rpc_control_latency {
    uint32_t enable;  /* an enum remote_rpc_latency_flags */
    uint32_t latency;  /* microseconds */
};

/* A question about a DSP and its answer. */
typedef struct remote_dsp_capability {
    uint32_t domain;
    uint32_t attribute_ID;
    uint32_t capability;
} fastrpc_capability;

/* Whether calls keep the system awake. */
struct remote_rpc_control_wakelock {
    uint32_t enable;
};

/* The domain of a handle. */
typedef struct remote_rpc_get_domain {
    int domain;
} remote_rpc_get_domain_t;

/* A search path of the session. */
struct remote_control_custom_path {
    int32_t value_size;
    const char *path;
    char *value;
};

/* Priority and stack of the threads of a session. */
struct remote_rpc_thread_params {
    int domain;
    int prio;
    int stack_size;
};

/* Whether unsigned modules are allowed. */
struct remote_rpc_control_unsigned_module {
    int domain;
    int enable;
};

/* Priority of the threads of a session, relative to the default. */
struct remote_rpc_relative_thread_priority {
    int domain;
    int relative_thread_priority;
};

/* The session to close. */
struct remote_rpc_session_close {
    int domain;
};

/* Whether a crash leaves a dump. */
struct remote_rpc_control_pd_dump {
    int domain;
    int enable;
};

/* The session to make fail. */
typedef struct remote_rpc_process_clean_params {
    int domain;
} remote_rpc_process_exception;

/* Kind of a session. */
struct remote_process_type {
    int domain;
    int process_type;
};

/* What happened to a session. */
typedef enum remote_rpc_status_flags {
    FASTRPC_USER_PD_UP         = 0,
    FASTRPC_USER_PD_EXIT       = 1,
    FASTRPC_USER_PD_FORCE_KILL = 2,
    FASTRPC_USER_PD_EXCEPTION  = 3,
    FASTRPC_DSP_SSR            = 4  /* the DSP restarted */
} remote_rpc_status_flags_t;

/* Called when the state of a session changes. */
typedef int (*fastrpc_notif_fn_t)(void *context, int domain, int session,
                                  remote_rpc_status_flags_t status);

/* Whom to tell about changes of a session. */
typedef struct remote_rpc_notif_register {
    void *context;
    int domain;
    fastrpc_notif_fn_t notifier_fn;
} remote_rpc_notif_register_t;

/* Memory a session starts with. */
struct remote_rpc_pd_initmem_size {
    int domain;
    uint32_t pd_initmem_size;
};

/* Reserves one more session on a domain; effective_domain_id and session_id are results. */
typedef struct remote_rpc_reserve_new_session {
    char *domain_name;
    uint32_t domain_name_len;
    char *session_name;
    uint32_t session_name_len;
    uint32_t effective_domain_id;
    uint32_t session_id;
} remote_rpc_reserve_new_session_t;

/* The number that stands for a session of a domain. */
typedef struct remote_rpc_effective_domain_id {
    char *domain_name;
    uint32_t domain_name_len;
    uint32_t session_id;
    uint32_t effective_domain_id;
} remote_rpc_effective_domain_id_t;

/* The URI of a module in a session. */
typedef struct remote_rpc_get_uri {
    char *domain_name;
    uint32_t domain_name_len;
    uint32_t session_id;
    char *module_uri;
    uint32_t module_uri_len;
    char *uri;
    uint32_t uri_len;
} remote_rpc_get_uri_t;

/* Joins several domains; ctx is the result. */
typedef struct {
    uint32_t *effec_domain_ids;
    uint32_t num_domain_ids;
    uint64_t flags;
    uint64_t ctx;
} fastrpc_context_create;

/* The joined domains to part. */
typedef struct {
    uint64_t ctx;
    uint64_t flags;
} fastrpc_context_destroy;

/* Opens a module by name in the default session. */
QNN_API int remote_handle_open(const char *name, remote_handle *ph);

/* Opens a module by URI; the URI names the domain. */
QNN_API int remote_handle64_open(const char *name, remote_handle64 *ph);

/* Calls a method and waits; dwScalars describes the arguments in pra. */
QNN_API int remote_handle_invoke(remote_handle h, uint32_t dwScalars, remote_arg *pra);

/* Calls a method and waits; dwScalars describes the arguments in pra. */
QNN_API int remote_handle64_invoke(remote_handle64 h, uint32_t dwScalars, remote_arg *pra);

/* Closes a module. */
QNN_API int remote_handle_close(remote_handle h);

/* Closes a module; the last one of a session ends it. */
QNN_API int remote_handle64_close(remote_handle64 h);

/* Makes a request about the default session. */
QNN_API int remote_handle_control(uint32_t req, void *data, uint32_t datalen);

/* Makes a request about the session of a handle. */
QNN_API int remote_handle64_control(remote_handle64 h, uint32_t req, void *data, uint32_t datalen);

/* Makes a request about a session, mostly before it starts. */
QNN_API int remote_session_control(uint32_t req, void *data, uint32_t datalen);

/* Calls a method without waiting; arguments must stay valid until the end. */
QNN_API int remote_handle_invoke_async(remote_handle h, fastrpc_async_descriptor_t *desc,
                                       uint32_t dwScalars, remote_arg *pra);

/* Calls a method without waiting; arguments must stay valid until the end. */
QNN_API int remote_handle64_invoke_async(remote_handle64 h, fastrpc_async_descriptor_t *desc,
                                         uint32_t dwScalars, remote_arg *pra);

/* Waits for the end of an asynchronous call and writes its result; a negative timeout waits for
 * ever. */
QNN_API int fastrpc_async_get_status(fastrpc_async_jobid jobid, int timeout_us, int *result);

/* Gives a polled call back after its end. */
QNN_API int fastrpc_release_async_job(fastrpc_async_jobid jobid);

/* Maps a buffer into the default session. */
QNN_API int remote_mmap(int fd, uint32_t flags, uint32_t vaddrin, int size, uint32_t *vaddrout);

/* Undoes remote_mmap. */
QNN_API int remote_munmap(uint32_t vaddrout, int size);

/* Maps a buffer into a session of a domain. */
QNN_API int remote_mem_map(int domain, int fd, int flags, uint64_t virtAddr, size_t size,
                           uint64_t *remoteVirtAddr);

/* Undoes remote_mem_map. */
QNN_API int remote_mem_unmap(int domain, uint64_t remoteVirtAddr, size_t size);

/* As remote_mmap, with 64-bit addresses. */
QNN_API int remote_mmap64(int fd, uint32_t flags, uint64_t vaddrin, int64_t size,
                          uint64_t *vaddrout);

/* Undoes remote_mmap64. */
QNN_API int remote_munmap64(uint64_t vaddrout, int64_t size);

/* Maps a part of a buffer into a session. */
QNN_API int fastrpc_mmap(int domain, int fd, void *addr, int offset, size_t length,
                         enum fastrpc_map_flags flags);

/* Undoes fastrpc_mmap. */
QNN_API int fastrpc_munmap(int domain, int fd, void *addr, size_t length);

/* Tells that memory belongs to a file descriptor, so that calls need not copy it; fd -1 takes it
 * back. */
QNN_API void remote_register_buf(void *buf, int size, int fd);

/* As remote_register_buf, with attributes. */
QNN_API void remote_register_buf_attr(void *buf, int size, int fd, int attr);

/* As remote_register_buf_attr, for 2 GiB and more. */
QNN_API void remote_register_buf_attr2(void *buf, size_t size, int fd, int attr);

/* Tells that a file descriptor will be used in DMA arguments; length 0 takes it back. */
QNN_API int remote_register_dma_handle(int fd, uint32_t len);

/* As remote_register_dma_handle, with attributes. */
QNN_API int remote_register_dma_handle_attr(int fd, uint32_t len, uint32_t attr);

/* Reserves an address for a file descriptor that is not mapped here. */
QNN_API void *remote_register_fd(int fd, int size);

/* As remote_register_fd, for 2 GiB and more. */
QNN_API void *remote_register_fd2(int fd, size_t size);

#ifdef __cplusplus
}
#endif

#endif
