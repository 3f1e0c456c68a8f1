/* SPDX-License-Identifier: Apache-2.0 */
/* Names that carry the instruction set of the file that uses them. A family whose C code is compiled once per instruction
 * set keeps it in <family>_body.h; <family>_avx2.c is then two lines: KERNEL_ISA and the include. K(run) is run_avx2 there
 * and run_ref in _ref.c. */
#ifndef KERNELS_ISA_NAME_H
#define KERNELS_ISA_NAME_H

#define K_JOIN_(name, isa) name##_##isa
#define K_JOIN(name, isa) K_JOIN_(name, isa)
#define K(name) K_JOIN(name, KERNEL_ISA)

#endif
