/* SPDX-License-Identifier: Apache-2.0 */
/* Time of this host. Device cycles never come from here (they are estimates of the cost model). */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>

uint64_t clock_ns(void);      /* monotonic */
uint64_t clock_wall_us(void); /* since 1970 */

#endif
