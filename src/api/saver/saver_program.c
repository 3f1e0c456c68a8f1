/* SPDX-License-Identifier: Apache-2.0 */
/* The program around the recorded calls. What all programs have is replay.h, whose text the build puts into the library. */
#include "api/saver/saver.h"

extern const char saver_replay_text[];

static const char foot[] = "\nint main(int argc, char **argv)\n"
                           "{\n"
                           "    const char *slash = strrchr(argv[0], '/');\n"
                           "    if (argc < 2)\n"
                           "        give_up(\"usage\", \"replay BACKEND_LIBRARY [OUTPUT_FOLDER]\");\n"
                           "    if (slash)\n"
                           "        snprintf(data_folder, sizeof data_folder, \"%.*s\", (int)(slash - argv[0]), argv[0]);\n"
                           "    if (argc > 2)\n"
                           "        output_folder = argv[2];\n"
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
    str_add(s, saver_replay_text);
    for (const char *const *h = saver_headers(settings->backend); h && *h; h++)
        str_addf(s, "#include \"%s\"\n", *h);
}

/* Calls of full groups have a function of their own, so that what is written again after each call stays short. */
void saver_program_foot(struct str *s)
{
    for (int t = 0; t < HANDLE_TYPE_COUNT; t++)
        if (arrays[t].array)
            str_addf(s, "%s%s %s[%u];\n", t == HANDLE_LOG ? "\n" : "", arrays[t].type, arrays[t].array,
                     saver_numbers.objects[t] + 1);
    str_addf(s, "uint32_t tensor_ids[%u];\nstruct shared_memory shared_memories[%u];\n", saver_numbers.tensors + 1,
             saver_numbers.buffers + 1);
    str_add(s, foot);
    for (unsigned i = 1; i <= saver_numbers.calls; i++)
        if (i % SAVER_GROUP == 0)
            str_addf(s, "    calls_to_%u();\n", i);
        else if (i > saver_numbers.calls / SAVER_GROUP * SAVER_GROUP)
            str_addf(s, "    call_%u();\n", i);
    str_add(s, "    printf(\"%u calls failed\\n\", failed);\n    return failed ? 1 : 0;\n}\n");
}
