/* SPDX-License-Identifier: Apache-2.0 */
/* QnnDspProperty.h: property keys of the DSP backend. None is known to be public. */
#ifndef OPENQNN_QNNDSPPROPERTY_H
#define OPENQNN_QNNDSPPROPERTY_H

#include "../QnnProperty.h"

#endif
