// paced_origin PORT MILLISECONDS LOG: answers each request so long after its last byte, and logs how long it took
// really, in microseconds, measured around its own reads and writes.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum { descriptors = 4096, events = 64 };

// Of a connection: its timer, and when its request was read. Of a timer: its connection.
static struct { int other, is_timer; int64_t read_at; } table[descriptors];

static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

static int64_t nanoseconds(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

static void watch(int epoll, int descriptor)
{
    struct epoll_event event = {.events = EPOLLIN, .data.fd = descriptor};
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event)) fail("epoll_ctl");
}

static void accept_one(int epoll, int listener)
{
    int on = 1, connection = accept4(listener, NULL, NULL, SOCK_NONBLOCK);
    if (connection < 0) return;
    int timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
    if (timer < 0 || timer >= descriptors || connection >= descriptors) fail("too many connections");
    setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    table[connection].other = timer;
    table[connection].is_timer = 0;
    table[timer].other = connection;
    table[timer].is_timer = 1;
    watch(epoll, connection);
    watch(epoll, timer);
}

static void read_request(int connection, int64_t pause)
{
    char bytes[8192];
    ssize_t count = read(connection, bytes, sizeof bytes);
    if (count <= 0) {
        close(table[connection].other);
        close(connection);
        return;
    }
    int64_t now = nanoseconds(), due = now + pause;
    struct itimerspec time = {.it_value = {due / 1000000000, due % 1000000000}};
    table[connection].read_at = now;
    timerfd_settime(table[connection].other, TFD_TIMER_ABSTIME, &time, NULL);
}

static void write_answer(int timer, FILE *log)
{
    uint64_t expiries;
    int connection = table[timer].other;
    if (read(timer, &expiries, sizeof expiries) < 0) return;
    int64_t took = nanoseconds() - table[connection].read_at;
    if (write(connection, answer, sizeof answer - 1) < 0) return;
    fprintf(log, "%.1f\n", took / 1e3);
    fflush(log);
}

int main(int count, char **arguments)
{
    if (count != 4) return 2;
    int64_t pause = atoll(arguments[2]) * 1000000;
    FILE *log = fopen(arguments[3], "w");
    if (!log) fail(arguments[3]);
    int on = 1, epoll = epoll_create1(0), listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(atoi(arguments[1]))};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) || listen(listener, 1024)) fail("listen");
    watch(epoll, listener);
    for (;;) {
        struct epoll_event ready[events];
        int some = epoll_wait(epoll, ready, events, -1);
        if (some < 0 && errno != EINTR) fail("epoll_wait");
        for (int index = 0; index < some; index++) {
            int descriptor = ready[index].data.fd;
            if (descriptor == listener) accept_one(epoll, listener);
            else if (table[descriptor].is_timer) write_answer(descriptor, log);
            else read_request(descriptor, pause);
        }
    }
}
