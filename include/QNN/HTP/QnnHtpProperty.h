/* SPDX-License-Identifier: Apache-2.0 */
/* QnnHtpProperty.h: property keys of HTP, for QnnProperty_hasCapability(). */
#ifndef OPENQNN_QNNHTPPROPERTY_H
#define OPENQNN_QNNHTPPROPERTY_H

#include "../QnnProperty.h"

#define QNN_PROPERTY_CUSTOM_HTP_UNSIGNED_PD_SUPPORT (QNN_PROPERTY_GROUP_CUSTOM + 1)

#endif
