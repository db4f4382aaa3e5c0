/*
 * A disk that can lose power, fill up or fail. LD_PRELOAD puts it under a process.
 *
 * After shim_begin() the library carries out each call that changes something below one folder, numbers it
 * and writes it to a journal in another place, one call at a time. It writes syncs to the journal without
 * carrying them out: simulated_disk.py computes from the journal what survives. At a chosen number the
 * process kills itself, or calls begin to fail.
 *
 * The library does not see writes of <stdio.h> streams, so a cut loses them. It notes calls that the journal
 * cannot describe (writing through shared memory to a file that is no -shm file of SQLite), and
 * simulated_disk.py refuses a journal with such a note.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
    OPEN = 1, WRITE, TRUNCATE, SYNC, FAILED_SYNC, MAKE_FOLDER, UNLINK, REMOVE_FOLDER, RENAME, LINK, CLOSE,
    SYNC_ALL, UNSUPPORTED
};
enum { CREATED = 1, EMPTIED = 2, FOLDER = 4 }; /* of OPEN, in `offset` */
/* which calls fail; SHORT: the first write writes one half */
enum { WRITES = 1, SYNCS = 2, NEW_NAMES = 4, OTHER_NAMES = 8, SHORT = 16 };

#define FILES 65536

struct entry {
    int64_t kind, handle, offset, length; /* followed by `length` bytes */
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static char root[PATH_MAX];
static size_t root_length;
static int journal = -1;
static int64_t handles[FILES]; /* of each open file below the root, by descriptor; 0: none */
static int64_t last_handle;
static long count, kill_at, matching, fail_from, fail_until;
static int fail_with, fail_which;
static int active;

#define REAL(result, name, ...) \
    static result (*real)(__VA_ARGS__); \
    if (!real) real = (result(*)(__VA_ARGS__))dlsym(RTLD_NEXT, name)

/* the process's own commands */

int shim_begin(const char *folder, const char *journal_path, long kill) {
    int fd = syscall(SYS_openat, AT_FDCWD, journal_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0) return -1;
    journal = syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, 1000); /* out of the way */
    syscall(SYS_close, fd);
    if (journal < 0) return -1;
    snprintf(root, sizeof root, "%s", folder);
    root_length = strlen(root);
    memset(handles, 0, sizeof handles);
    last_handle = count = matching = 0;
    kill_at = kill;
    fail_from = 0;
    active = 1;
    return 0;
}

/* Let `many` calls of the kinds `which` fail, from the `first`-th on (1 is the next one); many = 0: none. */
void shim_fail(int which, int error, long first, long many) {
    pthread_mutex_lock(&mutex);
    matching = 0;
    fail_which = which;
    fail_with = error;
    fail_from = many ? first : 0;
    fail_until = first + many;
    pthread_mutex_unlock(&mutex);
}

long shim_count(void) { return count; }

/* Kill the process at the `after`-th call from now on; 0: at none. */
void shim_kill(long after) {
    pthread_mutex_lock(&mutex);
    kill_at = after ? count + after : 0;
    pthread_mutex_unlock(&mutex);
}

/* Return how many calls of the kinds `which` of shim_fail() there were since. */
long shim_matching(void) { return matching; }

/* the journal */

static void note(int kind, int64_t handle, int64_t offset, const void *data, size_t length) {
    struct entry head = {kind, handle, offset, (int64_t)length};
    struct iovec parts[2] = {{&head, sizeof head}, {(void *)data, length}};
    ssize_t written = syscall(SYS_writev, journal, parts, length ? 2 : 1);
    if (written != (ssize_t)(sizeof head + length)) abort();
}

static void note_path(int kind, int64_t handle, int64_t offset, const char *path) {
    note(kind, handle, offset, path, strlen(path));
}

static void note_paths(int kind, const char *from, const char *to) {
    char both[2 * PATH_MAX];
    int length = snprintf(both, sizeof both, "%s%c%s", from, 1, to);
    note(kind, 0, 0, both, (size_t)length);
}

/* Before each call: count it; kill the process, or return whether the call fails. Called with the mutex. */
static int fails(int which) {
    if (++count == kill_at) {
        syscall(SYS_kill, getpid(), SIGKILL);
        for (;;) pause();
    }
    if (!(which & fail_which)) return 0;
    ++matching;
    if (!fail_from || matching < fail_from || matching >= fail_until) return 0;
    errno = fail_with;
    return 1;
}

/* paths: absolute, without "." and doubled slashes; 0 if not below the root */

static void append(char *whole, const char *path) {
    size_t end = strlen(whole);
    while (*path) {
        size_t length = strcspn(path, "/");
        if (length == 2 && path[0] == '.' && path[1] == '.') {
            while (end && whole[--end] != '/') continue;
        } else if (length && !(length == 1 && path[0] == '.') && end + length + 2 < PATH_MAX) {
            whole[end++] = '/';
            memcpy(whole + end, path, length);
            end += length;
        }
        whole[end] = 0;
        path += length;
        while (*path == '/') ++path;
    }
}

static int below(int folder, const char *path, char *whole) {
    if (!active || !path) return 0;
    whole[0] = 0;
    if (path[0] != '/') {
        char base[PATH_MAX], link[64];
        if (folder == AT_FDCWD) {
            if (syscall(SYS_getcwd, base, sizeof base) < 0) return 0;
        } else {
            snprintf(link, sizeof link, "/proc/self/fd/%d", folder);
            ssize_t length = readlink(link, base, sizeof base - 1);
            if (length < 0) return 0;
            base[length] = 0;
        }
        append(whole, base);
    }
    append(whole, path);
    return !strncmp(whole, root, root_length) && (whole[root_length] == '/' || !whole[root_length]);
}

static int64_t handle_of(int fd) { return active && fd >= 0 && fd < FILES ? handles[fd] : 0; }

static void forget(int fd) {
    if (fd >= 0 && fd < FILES && handles[fd]) {
        int64_t handle = handles[fd];
        handles[fd] = 0;
        for (int other = 0; other < FILES; ++other)
            if (handles[other] == handle) return;
        note(CLOSE, handle, 0, 0, 0);
    }
}

/* opening */

static int opened(int folder, const char *path, int flags, mode_t mode) {
    char whole[PATH_MAX];
    if (!below(folder, path, whole)) return (int)syscall(SYS_openat, folder, path, flags, mode);
    pthread_mutex_lock(&mutex);
    struct stat found;
    int there = !stat(whole, &found);
    int created = there ? 0 : flags & O_CREAT;
    int changes = created | (there && S_ISREG(found.st_mode) && found.st_size ? flags & O_TRUNC : 0);
    int fd = changes && fails(NEW_NAMES) ? -1 : (int)syscall(SYS_openat, folder, path, flags, mode);
    int error = errno;
    if (fd >= 0 && fd < FILES && !fstat(fd, &found) && (S_ISREG(found.st_mode) || S_ISDIR(found.st_mode))) {
        handles[fd] = ++last_handle;
        int emptied = flags & O_TRUNC ? EMPTIED : 0, folder_flag = S_ISDIR(found.st_mode) ? FOLDER : 0;
        note_path(OPEN, last_handle, (there ? 0 : CREATED) | emptied | folder_flag, whole);
    }
    errno = error;
    pthread_mutex_unlock(&mutex);
    return fd;
}

#define OPENS(name) \
    int name(const char *path, int flags, ...) { \
        va_list more; \
        va_start(more, flags); \
        mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0; \
        va_end(more); \
        return opened(AT_FDCWD, path, flags, mode); \
    }
#define OPENS_AT(name) \
    int name(int folder, const char *path, int flags, ...) { \
        va_list more; \
        va_start(more, flags); \
        mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0; \
        va_end(more); \
        return opened(folder, path, flags, mode); \
    }
OPENS(open)
OPENS(open64)
OPENS_AT(openat)
OPENS_AT(openat64)
int __open_2(const char *path, int flags) { return opened(AT_FDCWD, path, flags, 0); }
int __open64_2(const char *path, int flags) { return opened(AT_FDCWD, path, flags, 0); }
int __openat_2(int folder, const char *path, int flags) { return opened(folder, path, flags, 0); }
int __openat64_2(int folder, const char *path, int flags) { return opened(folder, path, flags, 0); }
int creat(const char *path, mode_t mode) {
    return opened(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode);
}

int creat64(const char *path, mode_t mode) {
    return opened(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode);
}

static FILE *stream(FILE *(*real)(const char *, const char *), const char *path, const char *mode) {
    char whole[PATH_MAX];
    if (mode[0] != 'r' && below(AT_FDCWD, path, whole)) {
        pthread_mutex_lock(&mutex);
        int there = !access(whole, F_OK);
        note_path(OPEN, ++last_handle, (there ? 0 : CREATED) | (mode[0] == 'w' ? EMPTIED : 0), whole);
        note(CLOSE, last_handle, 0, 0, 0);
        pthread_mutex_unlock(&mutex);
    }
    return real(path, mode);
}

FILE *fopen(const char *path, const char *mode) {
    REAL(FILE *, "fopen", const char *, const char *);
    return stream(real, path, mode);
}

FILE *fopen64(const char *path, const char *mode) {
    REAL(FILE *, "fopen64", const char *, const char *);
    return stream(real, path, mode);
}

int fclose(FILE *file) {
    REAL(int, "fclose", FILE *);
    if (!active) return real(file);
    pthread_mutex_lock(&mutex);
    forget(fileno(file));
    int result = real(file);
    pthread_mutex_unlock(&mutex);
    return result;
}

int closedir(DIR *stream) {
    REAL(int, "closedir", DIR *);
    if (!active) return real(stream);
    pthread_mutex_lock(&mutex);
    forget(dirfd(stream));
    int result = real(stream);
    pthread_mutex_unlock(&mutex);
    return result;
}

int close(int fd) {
    if (!handle_of(fd)) return (int)syscall(SYS_close, fd);
    pthread_mutex_lock(&mutex);
    forget(fd);
    int result = (int)syscall(SYS_close, fd);
    pthread_mutex_unlock(&mutex);
    return result;
}

static int copied(int fd, int copy) {
    if (copy >= 0 && copy < FILES && active) {
        pthread_mutex_lock(&mutex);
        if (copy != fd) forget(copy);
        handles[copy] = handle_of(fd);
        pthread_mutex_unlock(&mutex);
    }
    return copy;
}

int dup(int fd) { return copied(fd, (int)syscall(SYS_dup, fd)); }
int dup2(int fd, int other) { return copied(fd, fd == other ? fd : (int)syscall(SYS_dup3, fd, other, 0)); }
int dup3(int fd, int other, int flags) { return copied(fd, (int)syscall(SYS_dup3, fd, other, flags)); }

#define FCNTL(name) \
    int name(int fd, int command, ...) { \
        va_list more; \
        va_start(more, command); \
        long argument = va_arg(more, long); \
        va_end(more); \
        int result = (int)syscall(SYS_fcntl, fd, command, argument); \
        return command == F_DUPFD || command == F_DUPFD_CLOEXEC ? copied(fd, result) : result; \
    }
FCNTL(fcntl)
FCNTL(fcntl64)

/* writing */

static ssize_t written(int fd, const struct iovec *parts, int many, off_t offset) {
    pthread_mutex_lock(&mutex);
    size_t length = 0;
    for (int i = 0; i < many; ++i) length += parts[i].iov_len;
    char *data = malloc(length + 1);
    if (!data) abort();
    size_t gathered = 0;
    for (int i = 0; i < many; ++i) {
        memcpy(data + gathered, parts[i].iov_base, parts[i].iov_len);
        gathered += parts[i].iov_len;
    }
    ssize_t result = -1;
    size_t allowed = length;
    if (fails(WRITES)) allowed = fail_which & SHORT && matching == fail_from ? length / 2 : 0;
    if (allowed || !length)
        result = offset < 0 ? syscall(SYS_write, fd, data, allowed)
                            : syscall(SYS_pwrite64, fd, data, allowed, offset);
    else
        errno = fail_with;
    int error = errno;
    if (result > 0) {
        int64_t start = offset < 0 ? syscall(SYS_lseek, fd, 0, SEEK_CUR) - result : offset;
        note(WRITE, handles[fd], start, data, (size_t)result);
    }
    free(data);
    errno = error;
    pthread_mutex_unlock(&mutex);
    return result;
}

ssize_t write(int fd, const void *data, size_t length) {
    struct iovec part = {(void *)data, length};
    return handle_of(fd) ? written(fd, &part, 1, -1) : syscall(SYS_write, fd, data, length);
}

ssize_t writev(int fd, const struct iovec *parts, int many) {
    return handle_of(fd) ? written(fd, parts, many, -1) : syscall(SYS_writev, fd, parts, many);
}

#define PWRITES(name, offset_type) \
    ssize_t name(int fd, const void *data, size_t length, offset_type offset) { \
        struct iovec part = {(void *)data, length}; \
        return handle_of(fd) ? written(fd, &part, 1, offset) \
                             : syscall(SYS_pwrite64, fd, data, length, offset); \
    }
#define PWRITEVS(name, offset_type) \
    ssize_t name(int fd, const struct iovec *parts, int many, offset_type offset) { \
        return handle_of(fd) ? written(fd, parts, many, offset) \
                             : syscall(SYS_pwritev, fd, parts, many, offset, 0); \
    }
PWRITES(pwrite, off_t)
PWRITES(pwrite64, off64_t)
PWRITEVS(pwritev, off_t)
PWRITEVS(pwritev64, off64_t)

/* calls that copy inside the kernel: refused, and callers fall back to reading and writing */

static ssize_t refused(int error) {
    errno = error;
    return -1;
}

ssize_t sendfile(int to, int from, off_t *offset, size_t length) {
    return handle_of(to) ? refused(EINVAL) : syscall(SYS_sendfile, to, from, offset, length);
}

ssize_t sendfile64(int to, int from, off64_t *offset, size_t length) {
    return handle_of(to) ? refused(EINVAL) : syscall(SYS_sendfile, to, from, offset, length);
}

ssize_t copy_file_range(int from, off64_t *at, int to, off64_t *offset, size_t length, unsigned flags) {
    return handle_of(to) ? refused(EXDEV) : syscall(SYS_copy_file_range, from, at, to, offset, length, flags);
}

/* sizes */

static int cut(int fd, int64_t size) {
    pthread_mutex_lock(&mutex);
    int result = fails(WRITES) ? -1 : (int)syscall(SYS_ftruncate, fd, size);
    int error = errno;
    if (!result) note(TRUNCATE, handles[fd], size, 0, 0);
    errno = error;
    pthread_mutex_unlock(&mutex);
    return result;
}

int ftruncate(int fd, off_t size) {
    return handle_of(fd) ? cut(fd, size) : (int)syscall(SYS_ftruncate, fd, size);
}

int ftruncate64(int fd, off64_t size) {
    return handle_of(fd) ? cut(fd, size) : (int)syscall(SYS_ftruncate, fd, size);
}

static int cut_path(const char *path, int64_t size) {
    int fd = opened(AT_FDCWD, path, O_WRONLY, 0);
    if (fd < 0) return -1;
    int result = ftruncate(fd, size), error = errno;
    close(fd);
    errno = error;
    return result;
}

int truncate(const char *path, off_t size) { return cut_path(path, size); }
int truncate64(const char *path, off64_t size) { return cut_path(path, size); }

static int allocated(int fd, int mode, int64_t offset, int64_t length) {
    pthread_mutex_lock(&mutex);
    struct stat before, after;
    int result = -1;
    if (!fails(WRITES) && !fstat(fd, &before)) result = (int)syscall(SYS_fallocate, fd, mode, offset, length);
    int error = errno;
    if (!result && !fstat(fd, &after) && after.st_size != before.st_size)
        note(TRUNCATE, handles[fd], after.st_size, 0, 0);
    if (!result && mode & ~FALLOC_FL_KEEP_SIZE)
        note_path(UNSUPPORTED, handles[fd], 0, "fallocate with holes");
    errno = error;
    pthread_mutex_unlock(&mutex);
    return result;
}

#define ALLOCATES(name, type) \
    int name(int fd, int mode, type offset, type length) { \
        return handle_of(fd) ? allocated(fd, mode, offset, length) \
                             : (int)syscall(SYS_fallocate, fd, mode, offset, length); \
    }
ALLOCATES(fallocate, off_t)
ALLOCATES(fallocate64, off64_t)
int posix_fallocate(int fd, off_t offset, off_t length) {
    return fallocate(fd, 0, offset, length) ? errno : 0;
}

int posix_fallocate64(int fd, off64_t offset, off64_t length) {
    return fallocate(fd, 0, offset, length) ? errno : 0;
}

/* syncing */

static int synced(int fd) {
    pthread_mutex_lock(&mutex);
    int result = fails(SYNCS) ? -1 : 0, error = errno;
    note(result ? FAILED_SYNC : SYNC, handles[fd], 0, 0, 0);
    errno = error;
    pthread_mutex_unlock(&mutex);
    return result;
}

int fsync(int fd) { return handle_of(fd) ? synced(fd) : (int)syscall(SYS_fsync, fd); }
int fdatasync(int fd) { return handle_of(fd) ? synced(fd) : (int)syscall(SYS_fdatasync, fd); }
int sync_file_range(int fd, off64_t offset, off64_t length, unsigned flags) {
    /* it only begins to write, and makes nothing durable */
    return handle_of(fd) ? 0 : (int)syscall(SYS_sync_file_range, fd, offset, length, flags);
}

static int synced_all(void) {
    pthread_mutex_lock(&mutex);
    int result = fails(SYNCS) ? -1 : 0;
    if (!result) note(SYNC_ALL, 0, 0, 0, 0);
    pthread_mutex_unlock(&mutex);
    return result;
}

void sync(void) {
    if (active) synced_all();
    else syscall(SYS_sync);
}
int syncfs(int fd) { return handle_of(fd) ? synced_all() : (int)syscall(SYS_syncfs, fd); }

/* writing through memory */

static void mapped(int fd, int protection, int flags) {
    char link[64], path[PATH_MAX];
    if (!handle_of(fd) || !(protection & PROT_WRITE) || !(flags & MAP_SHARED)) return;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) length = 0;
    path[length] = 0;
    if (length > 4 && !strcmp(path + length - 4, "-shm")) return;
    pthread_mutex_lock(&mutex);
    note_path(UNSUPPORTED, handles[fd], 0, path);
    pthread_mutex_unlock(&mutex);
}

#define MAPS(name, type) \
    void *name(void *address, size_t length, int protection, int flags, int fd, type offset) { \
        mapped(fd, protection, flags); \
        return (void *)syscall(SYS_mmap, address, length, protection, flags, fd, offset); \
    }
MAPS(mmap, off_t)
MAPS(mmap64, off64_t)

/* names */

#define CHANGE(which, call, ...) \
    pthread_mutex_lock(&mutex); \
    int result = fails(which) ? -1 : (int)(call), error = errno; \
    if (!result) __VA_ARGS__; \
    errno = error; \
    pthread_mutex_unlock(&mutex); \
    return result

static int renamed(int from_folder, const char *from, int to_folder, const char *to, unsigned flags) {
    char old[PATH_MAX], new[PATH_MAX];
    int leaves = below(from_folder, from, old), comes = below(to_folder, to, new);
    if (!leaves && !comes) return (int)syscall(SYS_renameat2, from_folder, from, to_folder, to, flags);
    CHANGE(OTHER_NAMES, syscall(SYS_renameat2, from_folder, from, to_folder, to, flags),
           leaves && comes && !flags ? note_paths(RENAME, old, new) : note_path(UNSUPPORTED, 0, 0, old));
}

int rename(const char *from, const char *to) { return renamed(AT_FDCWD, from, AT_FDCWD, to, 0); }
int renameat(int f, const char *from, int t, const char *to) { return renamed(f, from, t, to, 0); }
int renameat2(int f, const char *from, int t, const char *to, unsigned flags) {
    return renamed(f, from, t, to, flags);
}

int linkat(int from_folder, const char *from, int to_folder, const char *to, int flags) {
    char old[PATH_MAX], new[PATH_MAX];
    if (!below(to_folder, to, new)) return (int)syscall(SYS_linkat, from_folder, from, to_folder, to, flags);
    if (!below(from_folder, from, old)) return (int)refused(EXDEV);
    CHANGE(NEW_NAMES, syscall(SYS_linkat, from_folder, from, to_folder, to, flags),
           note_paths(LINK, old, new));
}

int link(const char *from, const char *to) { return linkat(AT_FDCWD, from, AT_FDCWD, to, 0); }

int unlinkat(int folder, const char *path, int flags) {
    char whole[PATH_MAX];
    if (!below(folder, path, whole)) return (int)syscall(SYS_unlinkat, folder, path, flags);
    CHANGE(OTHER_NAMES, syscall(SYS_unlinkat, folder, path, flags),
           note_path(flags & AT_REMOVEDIR ? REMOVE_FOLDER : UNLINK, 0, 0, whole));
}

int unlink(const char *path) { return unlinkat(AT_FDCWD, path, 0); }
int rmdir(const char *path) { return unlinkat(AT_FDCWD, path, AT_REMOVEDIR); }
int remove(const char *path) {
    struct stat found;
    return unlinkat(AT_FDCWD, path, !lstat(path, &found) && S_ISDIR(found.st_mode) ? AT_REMOVEDIR : 0);
}

int mkdirat(int folder, const char *path, mode_t mode) {
    char whole[PATH_MAX];
    if (!below(folder, path, whole)) return (int)syscall(SYS_mkdirat, folder, path, mode);
    CHANGE(NEW_NAMES, syscall(SYS_mkdirat, folder, path, mode), note_path(MAKE_FOLDER, 0, 0, whole));
}

int mkdir(const char *path, mode_t mode) { return mkdirat(AT_FDCWD, path, mode); }

int symlinkat(const char *target, int folder, const char *path) {
    char whole[PATH_MAX];
    if (below(folder, path, whole)) return refused(EPERM);
    return (int)syscall(SYS_symlinkat, target, folder, path);
}
int symlink(const char *target, const char *path) { return symlinkat(target, AT_FDCWD, path); }
