/* SPDX-License-Identifier: Apache-2.0 */
/* One op package in this process, whoever uses it (private to api/). Packages of interface version 1 keep one state, so a
 * library that several backend handles register is opened and begun once, and ended by the last of them. */
#ifndef API_OP_LIBRARY_H
#define API_OP_LIBRARY_H

#include "QNN/QnnOpPackage.h"
#include "api/log.h"
#include "base/status.h"

struct package;
struct package_source;

/* Around everything that runs code of a package: calls back into this library are refused, since locks are held. */
#define OUTSIDE(expr)                                                       \
    ({                                                                      \
        enum callback_kind outside_former_ = callback_enter(CALLBACK_BUSY); \
        __typeof__(expr) outside_value_ = (expr);                           \
        callback_leave(outside_former_);                                    \
        outside_value_;                                                     \
    })

/* A library that was opened, and its function. */
struct package_code {
    void *lib;
    QnnOpPackage_InterfaceProvider_t provider;
};
enum status package_open(const struct package_source *s, struct package_code *ret);
void package_close(struct package_code *c);

/* The code is the package's from here on, also on failure. */
enum status package_hold(struct package_code *c, const char *path, struct package **ret);
void package_release(struct package *p);

const QnnOpPackage_Info_t *package_info(const struct package *p);
/* The file of a library that was opened, without links; ret has room for PACKAGE_PATH_MAX bytes. False: it is gone. */
enum { PACKAGE_PATH_MAX = 4096 };
bool package_file(const struct package *p, char *ret);
/* The package's own functions for a node; the first two return its code. */
uint64_t package_create(struct package *p, void *node, void **impl);
uint64_t package_free(struct package *p, void *impl);
enum status package_check(struct package *p, const Qnn_OpConfig_t *config);

#endif
