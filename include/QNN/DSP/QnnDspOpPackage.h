/* SPDX-License-Identifier: Apache-2.0 */
/* QnnDspOpPackage.h: op packages of the DSP backend. Their types are those of UDO packages, whose definitions are
 * not public; clients get what all packages have. */
#ifndef OPENQNN_QNNDSPOPPACKAGE_H
#define OPENQNN_QNNDSPOPPACKAGE_H

#include "../QnnOpPackage.h"
#include "../QnnTypes.h"

#endif
