#pragma once
// Linux interfaces that the Glibc module does not export.
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>
#include "filesystem.h"
#include "process.h"

/// accept4(2), which sys/socket.h declares for _GNU_SOURCE only.
extern int accept4(
    int listener, struct sockaddr *_Nullable address, socklen_t *_Nullable length, int flags);

/// Arms `fd` once at an absolute CLOCK_MONOTONIC time in nanoseconds. Zero disarms it.
static inline int dray_timerfd_arm(int fd, uint64_t deadline_nanoseconds) {
    struct itimerspec spec;
    memset(&spec, 0, sizeof spec);
    spec.it_value.tv_sec = (time_t)(deadline_nanoseconds / 1000000000u);
    spec.it_value.tv_nsec = (long)(deadline_nanoseconds % 1000000000u);
    return timerfd_settime(fd, TFD_TIMER_ABSTIME, &spec, NULL);
}

/// Adds 1 to an eventfd's counter.
static inline int dray_eventfd_signal(int fd) {
    return eventfd_write(fd, 1);
}

static inline uint64_t dray_monotonic_nanoseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/// Returns the number of one signal read from a signalfd; 0 if none is pending, -1 on an error.
static inline int dray_signalfd_next(int fd) {
    struct signalfd_siginfo info;
    ssize_t count = read(fd, &info, sizeof info);
    if (count == (ssize_t)sizeof info) return (int)info.ssi_signo;
    return count < 0 ? -1 : 0;
}

/// Names the calling thread; the kernel keeps the first 15 bytes.
static inline void dray_name_thread(const char *_Nonnull name) {
    prctl(PR_SET_NAME, name, 0, 0, 0);
}

#ifndef POLLRDHUP
#define POLLRDHUP 0x2000  // poll(2): for _GNU_SOURCE only
#endif

/// True if a connected socket's peer has closed its side or the connection broke, whatever is
/// still to be read.
static inline int dray_peer_has_left(int descriptor) {
    struct pollfd watched = {.fd = descriptor, .events = POLLRDHUP};
    return poll(&watched, 1, 0) > 0
        && (watched.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}
