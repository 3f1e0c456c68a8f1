/* SPDX-License-Identifier: Apache-2.0 */
/* main() for fuzz targets where libFuzzer is not at hand: any compiler, with or without sanitizers. It replays the corpus,
 * then runs a fixed number of mutated inputs; the same seed and corpus give the same inputs on every machine.
 *
 *     fuzz_json [-runs=N] [-seed=S] [-max_len=L] [-timeout=SECONDS] [-artifact_prefix=P] [-close_fd_mask=2] FILE|FOLDER...
 *
 * An input that crashes, aborts, trips a sanitizer or runs past the timeout is left in the file P"crash-<hash>". When the
 * process may end without a word (kill -9, out of memory), FUZZ_KEEP=FILE has each input written to FILE before it runs. */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv) __attribute__((weak));
void __sanitizer_set_report_fd(void *fd) __attribute__((weak));
void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));
__attribute__((visibility("default"))) const char *__ubsan_default_options(void);

enum { MUTATIONS_MAX = 8, INSERT_MAX = 32 };

struct input {
    char *name;
    uint8_t *at;
    size_t n;
};

struct corpus {
    struct input *at;
    size_t n, cap;
};

struct options {
    uint64_t runs, seed, max_len, timeout, close_fd_mask;
};

/* What runs right now, for the handler. */
static const uint8_t *running;
static size_t running_size;
static const char *running_name = "a mutated input";
static const char *artifact_prefix = "";
static const char *keep_file;
static uint64_t rng;
static int report_fd = STDERR_FILENO;

static const uint64_t interesting[] = { 0,          1,           0x7f,      0x80,       0xff,          0x100,
                                        0x7fff,     0x8000,      0xffff,    0x10000,    0x7fffffff,    0x80000000,
                                        0xffffffff, 0x100000000, INT64_MAX, UINT64_MAX, UINT64_MAX - 1 };
static const int fatal_signals[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGALRM };

/* The undefined-behaviour runtime does not know the callback; its abort comes to our handler. */
const char *__ubsan_default_options(void)
{
    return "abort_on_error=1:print_stacktrace=1";
}

static _Noreturn void give_up(const char *what, const char *name)
{
    fprintf(stderr, "fuzz: %s: %s\n", what, name);
    exit(2);
}

static void *checked(void *p)
{
    if (!p)
        give_up("out of memory", "driver");
    return p;
}

/* splitmix64 */
static uint64_t draw(uint64_t below)
{
    uint64_t z = rng += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return below ? (z ^ z >> 31) % below : 0;
}

static void write_all(const char *path, const uint8_t *p, size_t n)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    for (ssize_t put; fd >= 0 && n && (put = write(fd, p, n)) > 0; n -= (size_t)put)
        p += put;
    if (fd >= 0)
        close(fd);
}

/* Called from a signal handler or a dying sanitizer: no allocation, no stdio. */
static void leave_input(void)
{
    char path[512] = "", *end = path;
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    if (!running)
        return;
    for (size_t i = 0; i < running_size; i++)
        hash = (hash ^ running[i]) * UINT64_C(0x100000001b3);
    strncat(path, artifact_prefix, sizeof(path) - 32);
    strcat(path, "crash-");
    end += strlen(path);
    for (int i = 60; i >= 0; i -= 4)
        *end++ = "0123456789abcdef"[hash >> i & 15];
    *end = '\0';
    write_all(path, running, running_size);
    running = NULL;
    const char *parts[] = { "\nfuzz: the input (", running_name, ") is left in ", path, "\n" };
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        if (write(report_fd, parts[i], strlen(parts[i])) < 0)
            return;
}

static void on_signal(int sig)
{
    static const char hang[] = "\nfuzz: timeout: the input ran too long\n";
    if (sig == SIGALRM && write(report_fd, hang, sizeof(hang) - 1) < 0)
        _exit(3);
    leave_input();
    signal(sig, SIG_DFL);
    raise(sig);
}

static void watch_for_death(void)
{
    if (__sanitizer_set_death_callback)
        __sanitizer_set_death_callback(leave_input);
    for (size_t i = 0; i < sizeof(fatal_signals) / sizeof(fatal_signals[0]); i++) {
        struct sigaction old;
        bool taken = sigaction(fatal_signals[i], NULL, &old) == 0 && old.sa_handler != SIG_DFL;
        if (!taken) /* by a sanitizer, which prints its report and then calls back */
            signal(fatal_signals[i], on_signal);
    }
}

/* What the target itself writes to standard error is lost (mask 2, as libFuzzer has it), reports are not. */
static void close_stderr(void)
{
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

    report_fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
    if (report_fd < 0 || null < 0 || dup2(null, STDERR_FILENO) < 0)
        give_up("cannot redirect", "standard error");
    close(null);
    if (__sanitizer_set_report_fd)
        __sanitizer_set_report_fd((void *)(intptr_t)report_fd);
}

static void corpus_add(struct corpus *c, const char *name, const uint8_t *p, size_t n)
{
    if (c->n == c->cap) {
        c->cap = c->cap ? 2 * c->cap : 64;
        c->at = checked(realloc(c->at, c->cap * sizeof(c->at[0])));
    }
    struct input in = { checked(strdup(name)), checked(malloc(n ? n : 1)), n };
    if (n)
        memcpy(in.at, p, n);
    c->at[c->n++] = in;
}

static void load_file(struct corpus *c, const char *path, size_t size)
{
    uint8_t *p = checked(malloc(size ? size : 1));
    FILE *f = fopen(path, "rb");
    if (!f || fread(p, 1, size, f) != size)
        give_up("cannot read", path);
    fclose(f);
    corpus_add(c, path, p, size);
    free(p);
}

static void load(struct corpus *c, const char *path)
{
    struct stat st;
    if (stat(path, &st))
        give_up("no such file or folder", path);
    if (!S_ISDIR(st.st_mode)) {
        load_file(c, path, (size_t)st.st_size);
        return;
    }
    struct dirent **entries;
    int n = scandir(path, &entries, NULL, alphasort); /* sorted: the same order everywhere */
    for (int i = 0; i < n; i++) {
        char sub[4096];
        snprintf(sub, sizeof(sub), "%s/%s", path, entries[i]->d_name);
        if (entries[i]->d_name[0] != '.')
            load(c, sub);
        free(entries[i]);
    }
    if (n >= 0)
        free(entries);
}

/* Give the target a block of exactly the input's size, so that a sanitizer sees each byte read past the end. */
static void run_one(const struct options *o, const char *name, const uint8_t *p, size_t n)
{
    uint8_t *copy = checked(malloc(n ? n : 1));
    if (n)
        memcpy(copy, p, n);
    if (keep_file)
        write_all(keep_file, p, n);
    running_name = name;
    running_size = n;
    running = copy;
    alarm((unsigned)o->timeout);
    LLVMFuzzerTestOneInput(copy, n);
    alarm(0);
    running = NULL;
    free(copy);
}

/* The mutations. Each changes p[0..n), which has room for `cap` bytes, and returns the new size. */
static size_t flip_bit(uint8_t *p, size_t n, size_t cap, const struct input *other)
{
    (void)cap, (void)other;
    if (n)
        p[draw(n)] ^= (uint8_t)(1u << draw(8));
    return n;
}

static size_t set_byte(uint8_t *p, size_t n, size_t cap, const struct input *other)
{
    (void)cap, (void)other;
    if (n)
        p[draw(n)] = (uint8_t)draw(256);
    return n;
}

static size_t set_integer(uint8_t *p, size_t n, size_t cap, const struct input *other)
{
    (void)cap, (void)other;
    size_t width = (size_t)1 << draw(4);
    uint64_t v = interesting[draw(sizeof(interesting) / sizeof(interesting[0]))];
    if (n >= width)
        memcpy(p + draw(n - width + 1), &v, width); /* little-endian, as all our formats */
    return n;
}

static size_t add_to_integer(uint8_t *p, size_t n, size_t cap, const struct input *other)
{
    (void)cap, (void)other;
    size_t width = (size_t)1 << draw(4);
    if (n < width)
        return n;
    size_t at = draw(n - width + 1);
    uint64_t v = 0;
    memcpy(&v, p + at, width);
    v += draw(65) - 32;
    memcpy(p + at, &v, width);
    return n;
}

static size_t cut_end(uint8_t *p, size_t n, size_t cap, const struct input *other)
{
    (void)p, (void)cap, (void)other;
    return draw(n + 1);
}

static size_t remove_part(uint8_t *p, size_t n, size_t cap, const struct input *other)
{
    (void)cap, (void)other;
    size_t at = draw(n + 1), len = draw(n - at + 1);
    memmove(p + at, p + at + len, n - at - len);
    return n - len;
}

static size_t insert_bytes(uint8_t *p, size_t n, size_t at, const uint8_t *from, size_t len)
{
    memmove(p + at + len, p + at, n - at);
    memcpy(p + at, from, len);
    return n + len;
}

static size_t insert_random(uint8_t *p, size_t n, size_t cap, const struct input *other)
{
    (void)other;
    uint8_t bytes[INSERT_MAX];
    size_t len = 1 + draw(INSERT_MAX), same = draw(2);
    if (len > cap - n)
        return n;
    for (size_t i = 0; i < len; i++)
        bytes[i] = same && i ? bytes[0] : (uint8_t)draw(256);
    return insert_bytes(p, n, draw(n + 1), bytes, len);
}

static size_t repeat_part(uint8_t *p, size_t n, size_t cap, const struct input *other)
{
    (void)other;
    uint8_t part[256];
    if (!n)
        return n;
    size_t at = draw(n), len = 1 + draw(n - at < sizeof(part) ? n - at : sizeof(part));
    if (len > cap - n)
        return n;
    memcpy(part, p + at, len);
    return insert_bytes(p, n, draw(n + 1), part, len);
}

static size_t splice_other(uint8_t *p, size_t n, size_t cap, const struct input *other)
{
    size_t from = draw(other->n + 1), len = draw(other->n - from + 1);
    if (len > cap - n)
        len = cap - n;
    return insert_bytes(p, n, draw(n + 1), other->at + from, len);
}

static size_t cross_over(uint8_t *p, size_t n, size_t cap, const struct input *other)
{
    size_t at = draw(n + 1), from = draw(other->n + 1), len = other->n - from;
    if (len > cap - at)
        len = cap - at;
    memcpy(p + at, other->at + from, len);
    return at + len;
}

static size_t (*const mutations[])(uint8_t *, size_t, size_t, const struct input *) = {
    flip_bit,    set_byte,      set_integer, add_to_integer, cut_end,
    remove_part, insert_random, repeat_part, splice_other,   cross_over,
};

static void run_mutations(const struct options *o, const struct corpus *c)
{
    uint8_t *p = checked(malloc(o->max_len + 1));
    for (uint64_t run = 0; run < o->runs; run++) {
        const struct input *from = &c->at[draw(c->n)];
        size_t n = from->n < o->max_len ? from->n : o->max_len;
        memcpy(p, from->at, n);
        for (uint64_t left = 1 + draw(MUTATIONS_MAX); left; left--)
            n = mutations[draw(sizeof(mutations) / sizeof(mutations[0]))](p, n, o->max_len, &c->at[draw(c->n)]);
        run_one(o, "a mutated input", p, n);
    }
    free(p);
}

static bool take_number(const char *arg, const char *name, uint64_t *ret)
{
    size_t n = strlen(name);
    char *end;
    if (strncmp(arg, name, n))
        return false;
    *ret = strtoull(arg + n, &end, 10);
    if (end == arg + n || *end)
        give_up("not a number", arg);
    return true;
}

static void take_option(struct options *o, const char *arg)
{
    static const char prefix[] = "-artifact_prefix=";
    if (strncmp(arg, prefix, sizeof(prefix) - 1) == 0)
        artifact_prefix = arg + sizeof(prefix) - 1;
    else if (!take_number(arg, "-runs=", &o->runs) && !take_number(arg, "-seed=", &o->seed) &&
             !take_number(arg, "-max_len=", &o->max_len) && !take_number(arg, "-timeout=", &o->timeout) &&
             !take_number(arg, "-close_fd_mask=", &o->close_fd_mask))
        give_up("unknown option; known are -runs= -seed= -max_len= -timeout= -close_fd_mask= -artifact_prefix=", arg);
}

int main(int argc, char **argv)
{
    struct options o = { .runs = 0, .seed = 1, .max_len = 4096, .timeout = 60 };
    struct corpus c = { 0 };
    if (LLVMFuzzerInitialize)
        LLVMFuzzerInitialize(&argc, &argv);
    corpus_add(&c, "the empty input", NULL, 0);
    for (int i = 1; i < argc; i++) {
        if (argv[i][0] == '-')
            take_option(&o, argv[i]);
        else
            load(&c, argv[i]);
    }
    rng = o.seed;
    keep_file = getenv("FUZZ_KEEP");
    watch_for_death();
    if (o.close_fd_mask & 2)
        close_stderr();
    for (size_t i = 0; i < c.n; i++)
        run_one(&o, c.at[i].name, c.at[i].at, c.at[i].n);
    run_mutations(&o, &c);
    printf("fuzz: %zu inputs replayed, %llu mutations with seed %llu: no crash\n", c.n, (unsigned long long)o.runs,
           (unsigned long long)o.seed);
    for (size_t i = 0; i < c.n; i++) {
        free(c.at[i].name);
        free(c.at[i].at);
    }
    free(c.at);
    return 0;
}
