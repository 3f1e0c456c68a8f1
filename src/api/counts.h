/* SPDX-License-Identifier: Apache-2.0 */
/* What a process did with this library, written to the file that OPENQNN_COUNTS names (docs/clients-add.md). */
#ifndef API_COUNTS_H
#define API_COUNTS_H

enum counted {
    COUNT_FINALIZED, /* graphs */
    COUNT_LOADED,    /* graphs of context binaries */
    COUNT_EXECUTED,  /* executions that succeeded */
    COUNT_FAILED,    /* executions that did not */
    COUNTS,
};

/* From any thread; one atomic addition where no file is wanted. */
void count(enum counted what);

#endif
