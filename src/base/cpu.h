/* SPDX-License-Identifier: Apache-2.0 */
/* What this CPU can execute. Levels are cumulative in the order of the enum, but for AVX-VNNI, which laptops have instead of
 * AVX-512 and some servers lack beside it; a level counts only when CPU and operating system both support all of it.
 * OPENQNN_ISA=ref|avx2|avxvnni|avx512|amx lowers the level, for tests and comparisons. */
#ifndef BASE_CPU_H
#define BASE_CPU_H

#include <stdbool.h>

enum isa {
    ISA_REF,     /* plain C, baseline x86-64 */
    ISA_AVX2,    /* AVX2, FMA, F16C */
    ISA_AVXVNNI, /* AVX-VNNI: sums of products of bytes in vectors of 256 bits */
    ISA_AVX512,  /* AVX-512 F BW DQ VL VNNI */
    ISA_AMX,     /* AMX-INT8, permission granted by the kernel */
    ISA_COUNT
};

enum isa cpu_isa(void);             /* best usable level, after OPENQNN_ISA; constant for the life of the process */
bool cpu_has(enum isa);             /* the level is usable: all up to cpu_isa() are, but perhaps for AVX-VNNI */
bool cpu_permutes_bytes(void);      /* AVX-512 VBMI, which belongs to no level: some CPUs of the AVX-512 level lack it */
const char *cpu_isa_name(enum isa); /* "ref", "avx2", "avxvnni", "avx512", "amx" */
unsigned cpu_cores(void);           /* cores this process may run on, at least 1 */

#endif
