/* SPDX-License-Identifier: Apache-2.0 */
/* The out-of-line form of kernels/math.h, for callers that do not loop. */
#include "kernels/math.h"

double math_exp(double x)
{
    return math_exp_inline(x);
}
