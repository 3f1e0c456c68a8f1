/* SPDX-License-Identifier: Apache-2.0 */
/* Files take their target's place when they are whole; a failure leaves what was there and nothing else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/file_write.h"

static char folder[] = "/tmp/file_write_XXXXXX";

static int enter(void **state)
{
    (void)state;
    return !mkdtemp(folder) || chdir(folder);
}

static int leave(void **state)
{
    (void)state;
    return chdir("/") || rmdir(folder);
}

static unsigned files(void)
{
    unsigned count = 0;
    DIR *dir = opendir(".");
    for (struct dirent *e; (e = readdir(dir));)
        count += e->d_name[0] != '.';
    closedir(dir);
    return count;
}

static void holds(const char *path, const char *text)
{
    char found[64] = { 0 };
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    size_t n = fread(found, 1, sizeof found - 1, f);
    fclose(f);
    assert_int_equal(n, strlen(text));
    assert_string_equal(found, text);
}

static void limit(rlim_t bytes)
{
    struct rlimit l = { bytes, RLIM_INFINITY };
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &l), 0);
}

static void the_former_file_stays_until_the_end(void **state)
{
    (void)state;
    struct file_write w;
    assert_int_equal(file_write_all("a", "old", 3), ST_OK);
    assert_int_equal(chmod("a", 0640), 0);

    assert_int_equal(file_write_begin(&w, "a"), ST_OK);
    fputs("newer", w.to);
    holds("a", "old");
    assert_int_equal(file_write_end(&w), ST_OK);
    holds("a", "newer");
    struct stat s;
    assert_int_equal(stat("a", &s), 0);
    assert_int_equal(s.st_mode & 07777, 0640);

    assert_int_equal(file_write_begin(&w, "a"), ST_OK);
    fputs("thrown away", w.to);
    file_write_abort(&w);
    holds("a", "newer");
    assert_int_equal(files(), 1);
    unlink("a");
}

static void a_full_disk_loses_nothing(void **state)
{
    (void)state;
    static char much[100000];
    struct file_write w;
    assert_int_equal(file_write_all("a", "old", 3), ST_OK);

    limit(4096);
    assert_int_equal(file_write_all("a", much, sizeof much), ST_IO);
    assert_non_null(strstr(status_text(), "the former file is as it was"));
    assert_int_equal(file_write_begin(&w, "a"), ST_OK);
    fwrite(much, 1, sizeof much, w.to);
    assert_int_equal(file_write_end(&w), ST_IO);
    assert_int_equal(file_append("a", much, sizeof much), ST_IO);
    assert_non_null(strstr(status_text(), "former length"));
    assert_int_equal(file_write_all("b", much, sizeof much), ST_IO);
    limit(RLIM_INFINITY);

    holds("a", "old");
    assert_int_equal(files(), 1);
    unlink("a");
}

static void files_grow(void **state)
{
    (void)state;
    struct file_write w;
    assert_int_equal(file_append("a", "x", 1), ST_IO); /* there is none */
    assert_int_equal(file_write_begin(&w, "a"), ST_OK);
    fputs("head", w.to);
    assert_int_equal(file_write_replace(&w), ST_OK);
    holds("a", "head");
    fputs(" and more", w.to);
    assert_int_equal(file_write_end(&w), ST_OK);
    holds("a", "head and more");

    assert_int_equal(file_write_begin(&w, "a"), ST_OK);
    fputs("head and more,", w.to);
    assert_int_equal(fseek(w.to, -1, SEEK_CUR), 0);
    fputs(".", w.to);
    assert_int_equal(ftell(w.to), 14);
    assert_int_equal(file_write_end(&w), ST_OK);
    holds("a", "head and more.");
    assert_int_equal(file_append("a", "!", 1), ST_OK);
    holds("a", "head and more.!");
    assert_int_equal(files(), 1);
    unlink("a");
}

static void links_and_devices_stay(void **state)
{
    (void)state;
    struct stat s;
    assert_int_equal(mkdir("sub", 0777), 0);
    assert_int_equal(file_write_all("sub/a", "old", 3), ST_OK);
    assert_int_equal(symlink("sub/a", "link"), 0);
    assert_int_equal(file_write_all("link", "new", 3), ST_OK);
    holds("sub/a", "new");
    assert_int_equal(lstat("link", &s), 0);
    assert_true(S_ISLNK(s.st_mode));

    assert_int_equal(file_write_all("/dev/null", "x", 1), ST_OK);
    assert_int_equal(stat("/dev/null", &s), 0);
    assert_true(S_ISCHR(s.st_mode));

    assert_int_equal(file_write_all("nowhere/a", "x", 1), ST_IO);
    assert_non_null(strstr(status_text(), "nowhere/a"));
    unlink("link");
    unlink("sub/a");
    rmdir("sub");
}

/* From here on no file of this process can be without a name, as on file systems that do not know such files. */
static bool refuse_unnamed_files(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_openat, 0, 4),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
        BPF_STMT(BPF_ALU | BPF_AND | BPF_K, O_TMPFILE),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, O_TMPFILE, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EOPNOTSUPP),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = { .len = sizeof filter / sizeof *filter, .filter = filter };

    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/* A process that waits in the middle of writing "a", and another file if `other` names one. */
static pid_t start_writing(bool unnamed, const char *other)
{
    int started[2];
    char byte;
    assert_int_equal(pipe(started), 0);

    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct file_write w;
        struct file_write more;
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* a failed check leaves this process behind */
        bool begun = (unnamed || refuse_unnamed_files()) && file_write_begin(&w, "a") == ST_OK &&
                     (!other || file_write_begin(&more, other) == ST_OK);
        if (!begun)
            _exit(1);
        fputs("half of it", w.to);
        fflush(w.to);
        if (write(started[1], "x", 1) == 1)
            pause();
        _exit(1);
    }
    close(started[1]);
    ssize_t n = read(started[0], &byte, 1);
    close(started[0]);
    assert_int_equal(n, 1);
    return pid;
}

static void end(pid_t pid)
{
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* A process that is killed while it writes leaves the former file, and nothing else where files can be without a name. */
static void a_kill_leaves_nothing(void **state)
{
    (void)state;
    int probe = open(".", O_TMPFILE | O_RDWR, 0600);
    if (probe < 0) {
        print_message("skipped: %s cannot make files without a name\n", folder);
        skip();
    }
    close(probe);
    assert_int_equal(file_write_all("a", "old", 3), ST_OK);
    end(start_writing(true, "b"));

    holds("a", "old");
    assert_int_equal(files(), 1);
    unlink("a");
}

/* Writes "a" where no file can be without a name. */
static void write_named(const char *text)
{
    int status = 0;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        _exit(!refuse_unnamed_files() || file_write_all("a", text, strlen(text)) != ST_OK);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

/* All files but `kept` are two hours old then. */
static void age(const char *kept)
{
    struct timespec then[2] = { { .tv_sec = time(NULL) - 7200 }, { .tv_sec = time(NULL) - 7200 } };
    DIR *dir = opendir(".");
    for (struct dirent *e; (e = readdir(dir));)
        if (e->d_name[0] != '.' && (!kept || strcmp(e->d_name, kept) != 0))
            assert_int_equal(utimensat(AT_FDCWD, e->d_name, then, 0), 0);
    closedir(dir);
}

static void make(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    assert_true(fd >= 0);
    close(fd);
}

/* Elsewhere its temporary file stays, until the target is written again. */
static void what_a_kill_leaves_is_removed(void **state)
{
    (void)state;
    static const char *const others[] = { "a.part-7-", "a.part-7-1x", "a.part--1", "a.part-7", "b.part-7-1", "aa.part-7-1" };

    assert_int_equal(file_write_all("a", "old", 3), ST_OK);
    end(start_writing(false, NULL));
    holds("a", "old");
    assert_int_equal(files(), 2);
    write_named("new"); /* what is young may belong to another machine's process */
    assert_int_equal(files(), 2);

    pid_t writer = start_writing(false, "a"); /* two more, in use */
    for (unsigned i = 0; i < sizeof others / sizeof *others; i++)
        make(others[i]);
    age(NULL);
    make("a.part-7-2");
    write_named("newer");
    holds("a", "newer");
    assert_int_equal(files(), 1 + 2 + sizeof others / sizeof *others + 1);

    end(writer);
    age("a.part-7-2");
    write_named("newest");
    assert_int_equal(files(), 1 + sizeof others / sizeof *others + 1);
    holds("a", "newest");
    holds("a.part-7-2", "");

    for (unsigned i = 0; i < sizeof others / sizeof *others; i++)
        unlink(others[i]);
    unlink("a.part-7-2");
    unlink("a");
}

/* A file that another process made meanwhile is replaced, too. */
static void targets_that_appear(void **state)
{
    (void)state;
    struct file_write w;
    assert_int_equal(file_write_begin(&w, "a"), ST_OK);
    fputs("second", w.to);
    assert_int_equal(file_write_all("a", "first", 5), ST_OK);
    assert_int_equal(file_write_end(&w), ST_OK);
    holds("a", "second");
    assert_int_equal(files(), 1);
    unlink("a");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_former_file_stays_until_the_end),
        cmocka_unit_test(a_full_disk_loses_nothing),
        cmocka_unit_test(files_grow),
        cmocka_unit_test(links_and_devices_stay),
        cmocka_unit_test(a_kill_leaves_nothing),
        cmocka_unit_test(what_a_kill_leaves_is_removed),
        cmocka_unit_test(targets_that_appear),
    };
    return cmocka_run_group_tests(tests, enter, leave);
}
