/* SPDX-License-Identifier: Apache-2.0 */
/* Which build this is: libraries that belong together have the same. */
#include <QNN/QnnSdkBuildId.h>

#include "backend/htp/htp_backend.h"

const char htp_build_id[] = QNN_SDK_BUILD_ID;
