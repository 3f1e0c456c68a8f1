/* SPDX-License-Identifier: Apache-2.0 */
/* Op packages: libraries of the client with operators of their own (private to api/). This is what backend handles have of
 * them; op_library.h is the libraries. */
#ifndef API_OP_PACKAGE_H
#define API_OP_PACKAGE_H

#include <pthread.h>
#include <stdatomic.h>

#include "QNN/QnnBackend.h"
#include "backend/backend.h"
#include "base/arena.h"
#include "base/vec.h"

struct package_use;

/* Those of one backend handle. They stay until it and its contexts are freed: a context that is being freed may outlive its
 * backend for a moment. */
struct api_packages {
    _Atomic uint32_t users;
    pthread_mutex_t lock;
    void *log;
    VEC(struct package_use *) uses;
    struct arena lists;                     /* handed to the client, or to sessions */
    const char *libraries;                  /* for sessions; NULL: there are none */
    QnnBackend_OperationName_t *operations; /* built-in ones first; NULL: there are no others */
    uint32_t n_operations;
};

struct api_packages *packages_new(void *log); /* NULL: no memory */
struct api_packages *packages_hold(struct api_packages *p);
void packages_release(struct api_packages *p); /* the last one ends them; NULL allowed */

/* The arguments of QnnBackend_registerOpPackage. */
struct package_source {
    const char *path, *provider, *target;
    bool in_session; /* the session's own, of those that the client registered */
};
/* builtin: the operators that the backend has without it, which the new list begins with. */
enum status packages_register(struct api_packages *p, const struct package_source *s,
                              const QnnBackend_OperationName_t *builtin, uint32_t n_builtin);
/* What there is besides the built-in operators; false: nothing. */
bool packages_operations(struct api_packages *p, uint32_t *n, const QnnBackend_OperationName_t **ret);

bool package_is_builtin(const char *name); /* NULL, or that of the operators in QnnOpDef.h */
/* As backend_host.find_package. */
enum status packages_find(void *packages, const char *node, const char *package, const char *op,
                          const struct backend_package **ret);
/* As backend_host.list_packages. */
const char *packages_list(void *packages);
/* The package's own check of a node. */
enum status package_validate(const struct backend_package *p, const Qnn_OpConfig_t *config);

#endif
