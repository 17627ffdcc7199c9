// Looks for leaks when a process ends by _exit, as dray does: the leak sanitizer does so only in exit
// handlers. To be preloaded.
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <unistd.h>

// Nowhere in processes that run without the sanitizer.
extern int __lsan_do_recoverable_leak_check(void) __attribute__((weak));

void _exit(int status) {
    if (__lsan_do_recoverable_leak_check && __lsan_do_recoverable_leak_check()) status = 23;
    for (;;) syscall(SYS_exit_group, status);
}
