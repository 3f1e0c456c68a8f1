/* SPDX-License-Identifier: Apache-2.0 */
/* The program around the recorded calls: how it opens a backend, finds its data, tells results and keeps outputs. */
#include "api/saver/saver.h"

static const char head[] =
    "/* A recording of QNN calls, made by libQnnSaver.so of openqnn. To repeat them on a backend:\n"
    " *     cc -I <folder of QnnInterface.h> saver_output.c -o replay -ldl\n"
    " *     ./replay libQnnCpu.so [folder for outputs]\n"
    " * The data file is looked for beside the program. Each call's result is printed; outputs of executions are written "
    "to\n"
    " * execute_<call>_<index>.raw, context binaries to context_<call>.bin. The exit status is 1 when a call failed. */\n"
    "#define _GNU_SOURCE\n"
    "#include <dlfcn.h>\n#include <fcntl.h>\n#include <math.h>\n#include <stdio.h>\n#include <stdlib.h>\n"
    "#include <string.h>\n#include <sys/mman.h>\n#include <sys/stat.h>\n#include <unistd.h>\n\n"
    "#include \"QnnInterface.h\"\n";

static const char helpers[] =
    "\n"
    "static QNN_INTERFACE_VER_TYPE q;\n"
    "static char data_folder[4096] = \".\";\n"
    "static const char *output_folder = \".\";\n"
    "static unsigned failed;\n"
    "static Qnn_ContextBinarySize_t binary_size;\n"
    "extern Qnn_LogHandle_t logs[];\nextern Qnn_BackendHandle_t backends[];\nextern Qnn_DeviceHandle_t devices[];\n"
    "extern Qnn_ContextHandle_t contexts[];\nextern Qnn_GraphHandle_t graphs[];\nextern Qnn_MemHandle_t mems[];\n"
    "extern Qnn_ProfileHandle_t profiles[];\nextern Qnn_SignalHandle_t signals[];\nextern uint32_t tensor_ids[];\n"
    "\n"
    "static void give_up(const char *what, const char *why)\n"
    "{\n"
    "    fprintf(stderr, \"%s: %s\\n\", what, why);\n"
    "    exit(2);\n"
    "}\n"
    "\n"
    "/* Bytes of a data file, which stays mapped. */\n"
    "static void *data(const char *file, size_t offset, size_t size)\n"
    "{\n"
    "    static const char *name;\n"
    "    static char *at;\n"
    "    static size_t all;\n"
    "    if (!name || strcmp(name, file) != 0) {\n"
    "        char path[8192];\n"
    "        struct stat st;\n"
    "        snprintf(path, sizeof path, \"%s/%s\", data_folder, file);\n"
    "        int fd = open(path, O_RDONLY);\n"
    "        if (fd < 0 || fstat(fd, &st) != 0)\n"
    "            give_up(path, \"cannot be opened\");\n"
    "        all = (size_t)st.st_size;\n"
    "        at = mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);\n"
    "        if (at == MAP_FAILED)\n"
    "            give_up(path, \"cannot be mapped\");\n"
    "        close(fd);\n"
    "        name = file;\n"
    "    }\n"
    "    if (offset > all || size > all - offset)\n"
    "        give_up(file, \"is too short\");\n"
    "    return at + offset;\n"
    "}\n"
    "\n"
    "static void *buffer(size_t size)\n"
    "{\n"
    "    void *p = calloc(1, size ? size : 1);\n"
    "    if (!p)\n"
    "        give_up(\"buffer\", \"out of memory\");\n"
    "    return p;\n"
    "}\n"
    "\n"
    "static void write_file(const char *name, const void *bytes, size_t size)\n"
    "{\n"
    "    char path[8192];\n"
    "    snprintf(path, sizeof path, \"%s/%s\", output_folder, name);\n"
    "    FILE *f = fopen(path, \"wb\");\n"
    "    if (!f || fwrite(bytes, 1, size, f) != size || fclose(f) != 0)\n"
    "        give_up(path, \"cannot be written\");\n"
    "}\n"
    "\n"
    "static void keep_outputs(unsigned call, Qnn_Tensor_t *t, unsigned n)\n"
    "{\n"
    "    for (unsigned i = 0; i < n; i++) {\n"
    "        char name[64];\n"
    "        if (t[i].v1.memType != QNN_TENSORMEMTYPE_RAW || !t[i].v1.clientBuf.data)\n"
    "            continue;\n"
    "        snprintf(name, sizeof name, \"execute_%u_%u.raw\", call, i);\n"
    "        write_file(name, t[i].v1.clientBuf.data, t[i].v1.clientBuf.dataSize);\n"
    "        free(t[i].v1.clientBuf.data);\n"
    "    }\n"
    "}\n"
    "\n"
    "static void keep_binary(unsigned call, void *bytes, Qnn_ContextBinarySize_t size)\n"
    "{\n"
    "    char name[64];\n"
    "    snprintf(name, sizeof name, \"context_%u.bin\", call);\n"
    "    if (size <= binary_size)\n"
    "        write_file(name, bytes, (size_t)size);\n"
    "    free(bytes);\n"
    "}\n"
    "\n"
    "/* Of a call that asks, any code is an answer. */\n"
    "static void answer(unsigned call, const char *name, Qnn_ErrorHandle_t e)\n"
    "{\n"
    "    printf(\"%u %s %llu\\n\", call, name, (unsigned long long)e);\n"
    "}\n"
    "\n"
    "static void result(unsigned call, const char *name, Qnn_ErrorHandle_t e)\n"
    "{\n"
    "    failed += e != QNN_SUCCESS;\n"
    "    answer(call, name, e);\n"
    "}\n"
    "\n"
    "static void open_backend(const char *path)\n"
    "{\n"
    "    const QnnInterface_t **list = NULL;\n"
    "    uint32_t n = 0;\n"
    "    Qnn_ErrorHandle_t (*get)(const QnnInterface_t ***, uint32_t *);\n"
    "    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);\n"
    "    if (!library)\n"
    "        give_up(path, dlerror());\n"
    "    *(void **)&get = dlsym(library, \"QnnInterface_getProviders\");\n"
    "    if (!get || get(&list, &n) != QNN_SUCCESS || !n)\n"
    "        give_up(path, \"has no interface\");\n"
    "    q = list[0]->QNN_INTERFACE_VER_NAME;\n"
    "}\n";

static const char foot[] =
    "\nint main(int argc, char **argv)\n"
    "{\n"
    "    const char *slash = strrchr(argv[0], '/');\n"
    "    if (argc < 2)\n"
    "        give_up(\"usage\", \"replay BACKEND_LIBRARY [OUTPUT_FOLDER]\");\n"
    "    if (slash)\n"
    "        snprintf(data_folder, sizeof data_folder, \"%.*s\", (int)(slash - argv[0]), argv[0]);\n"
    "    if (argc > 2)\n"
    "        output_folder = argv[2];\n"
    "    (void)data, (void)buffer, (void)keep_outputs, (void)keep_binary, (void)result, (void)binary_size;\n"
    "    open_backend(argv[1]);\n";

static const struct {
    const char *array, *type;
} arrays[HANDLE_TYPE_COUNT] = {
    [HANDLE_LOG] = { "logs", "Qnn_LogHandle_t" },
    [HANDLE_BACKEND] = { "backends", "Qnn_BackendHandle_t" },
    [HANDLE_DEVICE] = { "devices", "Qnn_DeviceHandle_t" },
    [HANDLE_CONTEXT] = { "contexts", "Qnn_ContextHandle_t" },
    [HANDLE_GRAPH] = { "graphs", "Qnn_GraphHandle_t" },
    [HANDLE_MEM] = { "mems", "Qnn_MemHandle_t" },
    [HANDLE_PROFILE] = { "profiles", "Qnn_ProfileHandle_t" },
    [HANDLE_SIGNAL] = { "signals", "Qnn_SignalHandle_t" },
};

const char *saver_array(enum handle_type type)
{
    return arrays[type].array;
}

void saver_program_head(struct str *s, const struct saver_settings *settings)
{
    str_add(s, head);
    for (const char *const *h = saver_headers(settings->backend); h && *h; h++)
        str_addf(s, "#include \"%s\"\n", *h);
    str_add(s, helpers);
}

/* Calls of full groups have a function of their own, so that what is written again after each call stays short. */
void saver_program_foot(struct str *s)
{
    for (int t = 0; t < HANDLE_TYPE_COUNT; t++)
        if (arrays[t].array)
            str_addf(s, "%s%s %s[%u];\n", t == HANDLE_LOG ? "\n" : "", arrays[t].type, arrays[t].array,
                     saver_numbers.objects[t] + 1);
    str_addf(s, "uint32_t tensor_ids[%u];\n", saver_numbers.tensors + 1);
    str_add(s, foot);
    for (unsigned i = 1; i <= saver_numbers.calls; i++)
        if (i % SAVER_GROUP == 0)
            str_addf(s, "    calls_to_%u();\n", i);
        else if (i > saver_numbers.calls / SAVER_GROUP * SAVER_GROUP)
            str_addf(s, "    call_%u();\n", i);
    str_add(s, "    printf(\"%u calls failed\\n\", failed);\n    return failed ? 1 : 0;\n}\n");
}
