/* SPDX-License-Identifier: Apache-2.0 */
/* A backend library as the program of its own sessions, for clients that copied it without a skel.
 * A shared object with an entry point and a PT_INTERP segment can be started like any program, and
 * opened by dlopen as before; the C library itself is such a file. */
#include <stddef.h>

#include "rpc/skel_main.h"

/* The linker makes PT_INTERP of this section. The name is that of the ABI. */
__attribute__((section(".interp"), used)) static const char interpreter[] = "/lib64/ld-linux-x86-64.so.2";

static int entry_main(int argc, char **argv)
{
    return skel_main(SKEL_ANY_ARCH, argc ? argv[0] : "this library");
}

typedef int main_fn(int argc, char **argv);
int __libc_start_main(main_fn *run, int argc, char **argv, void (*init)(void), void (*fini)(void), void (*rtld_fini)(void),
                      void *stack_end);

/* `stack` is what the kernel left there: the count of arguments, then the arguments. */
__attribute__((used, noreturn)) static void entry_start(long *stack, void (*rtld_fini)(void))
{
    __libc_start_main(entry_main, (int)stack[0], (char **)(stack + 1), NULL, NULL, rtld_fini, stack);
    __builtin_unreachable();
}

/* The name is given to the linker (src/api/meson.build). rdx holds what the loader wants called at
 * exit, as the ABI has it. */
void openqnn_session_entry(void);
__asm__(".text\n"
        ".globl openqnn_session_entry\n"
        ".hidden openqnn_session_entry\n"
        ".type openqnn_session_entry, @function\n"
        "openqnn_session_entry:\n"
        "    .cfi_startproc\n"
        "    .cfi_undefined rip\n"
        "    endbr64\n"
        "    xor %ebp, %ebp\n"
        "    mov %rsp, %rdi\n"
        "    mov %rdx, %rsi\n"
        "    and $-16, %rsp\n"
        "    call entry_start\n"
        "    hlt\n"
        "    .cfi_endproc\n"
        ".size openqnn_session_entry, . - openqnn_session_entry\n");
