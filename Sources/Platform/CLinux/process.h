#pragma once
// Starting programs, and this process's allocated memory. glibc 2.34 and later; declared here
// because its headers declare the _np functions and pipe2 only under _GNU_SOURCE.
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdint.h>
#include <spawn.h>
#include <sys/inotify.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

extern int posix_spawn_file_actions_addclosefrom_np(
    posix_spawn_file_actions_t *_Nonnull actions, int from);
extern int posix_spawn_file_actions_addchdir_np(
    posix_spawn_file_actions_t *_Nonnull actions, const char *_Nonnull path);
extern int pipe2(int *_Nonnull ends, int flags);

/// Starts `arguments[0]`, looked up in PATH: in a new session, in `directory`, with no signal
/// blocked or ignored, stdin empty, stdout and stderr to `output`, and no other descriptor. Returns
/// 0 and the process id in `pid`, else an errno value.
static inline int dray_spawn(
    pid_t *_Nonnull pid, char *_Nullable const *_Nonnull arguments,
    char *_Nullable const *_Nullable environment, const char *_Nonnull directory, int output) {
    posix_spawn_file_actions_t actions;
    int code = posix_spawn_file_actions_init(&actions);
    if (code != 0) return code;
    posix_spawnattr_t attributes;
    code = posix_spawnattr_init(&attributes);
    if (code != 0) {
        posix_spawn_file_actions_destroy(&actions);
        return code;
    }
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    if (!code) code = posix_spawnattr_setsigmask(&attributes, &none);
    if (!code) code = posix_spawnattr_setsigdefault(&attributes, &all);
    // 0x80 is POSIX_SPAWN_SETSID.
    const short flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | 0x80;
    if (!code) code = posix_spawnattr_setflags(&attributes, flags);
    if (!code) code = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    if (!code) code = posix_spawn_file_actions_adddup2(&actions, output, 1);
    if (!code) code = posix_spawn_file_actions_adddup2(&actions, output, 2);
    if (!code) code = posix_spawn_file_actions_addclosefrom_np(&actions, 3);
    if (!code) code = posix_spawn_file_actions_addchdir_np(&actions, directory);
    if (!code) code = posix_spawnp(pid, arguments[0], &actions, &attributes, arguments, environment);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return code;
}

/// pidfd_open(2), which glibc 2.35 does not wrap. Returns a descriptor that is closed on exec, or -1
/// with errno set.
static inline int dray_pidfd_open(pid_t pid) {
    return (int)syscall(SYS_pidfd_open, pid, 0);
}

/// Flags of inotify, which are members of enumerations or macros over unsigned literals.
static const int dray_inotify_flags = IN_CLOEXEC | IN_NONBLOCK;
static const uint32_t dray_inotify_changes =
    IN_CREATE | IN_DELETE | IN_MODIFY | IN_MOVED_FROM | IN_MOVED_TO;

/// Bytes that malloc has allocated and that have not been freed, of all arenas.
static inline int64_t dray_allocated_bytes(void) {
    const struct mallinfo2 found = mallinfo2();
    return (int64_t)(found.uordblks + found.hblkhd);
}

/// Returns the number of CPUs that this thread may run on (sched_getaffinity(2)), or 0 if the kernel has more than it
/// has room for. glibc's wrapper and its macros need _GNU_SOURCE.
static inline int dray_usable_cpus(void) {
    unsigned long masks[1024 / sizeof(unsigned long)] = {0};
    const long bytes = syscall(SYS_sched_getaffinity, 0, sizeof masks, masks);
    int count = 0;
    for (size_t i = 0; bytes > 0 && i < sizeof masks / sizeof masks[0]; i++)
        count += __builtin_popcountl(masks[i]);
    return count;
}
