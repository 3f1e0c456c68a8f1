/* SPDX-License-Identifier: Apache-2.0 */
/* Compiles one of the abi_*.c files as C++: the layouts a C++ client sees must be the same. The build
 * names the file in ABI_UNIT, once per unit, because the tags of opaque structs go to the first header. */
#include ABI_UNIT
