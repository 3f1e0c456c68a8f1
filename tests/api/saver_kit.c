/* SPDX-License-Identifier: Apache-2.0 */
#include "saver_kit.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

typedef Qnn_ErrorHandle_t providers_fn(const QnnInterface_t ***list, uint32_t *n);

initialize_fn *saver_initialize;
const char *const replay_libraries[2] = { "libQnnCpu.so", "libQnnHtp.so" };
static const char *compiler, *include_folder;
static char folder[] = "/tmp/test_saver_XXXXXX";

int saver_kit_begin(int argc, char **argv)
{
    compiler = argc > 2 ? argv[1] : NULL;
    include_folder = argc > 2 ? argv[2] : NULL;
    return mkdtemp(folder) ? 0 : 1;
}

int saver_kit_end(void **state)
{
    char command[PATH_MAX];
    (void)state;
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

void *open_table(const char *name)
{
    void *lib = lib_dlopen(name, RTLD_NOW | RTLD_LOCAL);
    const QnnInterface_t **list = NULL;
    uint32_t n = 0;
    providers_fn *get = (providers_fn *)dlsym(lib, "QnnInterface_getProviders");
    assert_non_null(get);
    assert_int_equal(get(&list, &n), QNN_SUCCESS);
    assert_int_equal(n, 1);
    provider = list[0];
    q = provider->QNN_INTERFACE_VER_NAME;
    return lib;
}

void *open_saver(void)
{
    void *lib = open_table("libQnnSaver.so");
    saver_initialize = (initialize_fn *)dlsym(lib, "QnnSaver_initialize");
    assert_non_null(saver_initialize);
    return lib;
}

const char *path_of(const char *below)
{
    static char path[PATH_MAX];
    snprintf(path, sizeof path, "%s%s%s", folder, *below ? "/" : "", below);
    return path;
}

Qnn_ErrorHandle_t record_to(const char *below, uint32_t backend)
{
    char out[PATH_MAX];
    snprintf(out, sizeof out, "%s", path_of(below));
    QnnSaver_Config_t where = { .option = QNN_SAVER_CONFIG_OPTION_OUTPUT_DIRECTORY, .outputDirectory = out };
    QnnSaver_Config_t whose = { .option = QNN_SAVER_CONFIG_OPTION_BACKEND_ID, .backendId = backend };
    const QnnSaver_Config_t *config[] = { &where, &whose, NULL };
    return saver_initialize(config);
}

size_t read_file(const char *below, void *bytes, size_t room)
{
    FILE *f = fopen(path_of(below), "rb");
    assert_non_null(f);
    size_t n = fread(bytes, 1, room, f);
    fclose(f);
    return n;
}

char *text_of(const char *below)
{
    enum { ROOM = 1 << 20 };
    char *text = calloc(1, ROOM);
    assert_non_null(text);
    assert_in_range(read_file(below, text, ROOM - 1), 1, ROOM - 2);
    return text;
}

bool compile(const char *below)
{
    char command[PATH_MAX * 2];
    if (!compiler) {
        printf("SKIP: no compiler for recordings in this build\n");
        return false;
    }
    snprintf(command, sizeof command,
             "%s -std=c99 -Wall -Wextra -Werror -I %s %s/%s/saver_output.c -o %s/%s/replay -ldl -lpthread", compiler,
             include_folder, folder, below, folder, below);
    assert_int_equal(system(command), 0);
    return true;
}

int replay(const char *below, const char *library)
{
    char command[PATH_MAX * 2];
    snprintf(command, sizeof command, "%s/%s/replay %s/%s %s/%s > %s/%s/results 2> %s/%s/messages", folder, below,
             getenv("OPENQNN_LIB_DIR"), library, folder, below, folder, below, folder, below);
    int status = system(command);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static unsigned look(const char *below, const char *call, unsigned wanted, uint64_t *results, unsigned room)
{
    char path[64], name[128];
    unsigned n = 0, number;
    unsigned long long code;
    snprintf(path, sizeof path, "%s/results", below);
    char *text = text_of(path);
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        if (sscanf(line, "%u %127s %llu", &number, name, &code) != 3 || strcmp(name, call) != 0)
            continue;
        if (results && n < room)
            results[n] = code;
        if (!results && n == wanted) {
            free(text);
            return number;
        }
        n++;
    }
    free(text);
    return results ? n : 0;
}

unsigned replayed_results(const char *below, const char *call, uint64_t *results, unsigned room)
{
    return look(below, call, 0, results, room);
}

unsigned replayed_call(const char *below, const char *call, unsigned i)
{
    return look(below, call, i, NULL, 0);
}
