/* SPDX-License-Identifier: Apache-2.0 */
/* QnnSdkBuildId.h: the build these headers belong to, as QnnBackend_getBuildId reports it. */
#ifndef OPENQNN_QNNSDKBUILDID_H
#define OPENQNN_QNNSDKBUILDID_H

#define QNN_SDK_BUILD_ID "v2.48.0.260701000000_openqnn"

#endif
