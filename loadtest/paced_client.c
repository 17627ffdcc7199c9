// paced_client PORT RATE SECONDS: sends requests to paced_origin, one after the other with RATE 0, else so many a second
// and each on an idle connection. Writes the time of each in microseconds, from before its write to after its read.
// The least that a client which waits for events can add.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { descriptors = 1024 };

static const char request[] = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
static int64_t sent_at[descriptors];
static int idle[descriptors], idle_count, epoll;
static struct sockaddr_in address = {.sin_family = AF_INET};

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

static int open_connection(void)
{
    int on = 1, connection = socket(AF_INET, SOCK_STREAM, 0);
    if (connection < 0 || connection >= descriptors) fail("socket");
    if (connect(connection, (struct sockaddr *)&address, sizeof address)) fail("connect");
    setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    struct epoll_event event = {.events = EPOLLIN, .data.fd = connection};
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, connection, &event)) fail("epoll_ctl");
    return connection;
}

static void send_request(void)
{
    int connection = idle_count ? idle[--idle_count] : open_connection();
    sent_at[connection] = nanoseconds();
    if (write(connection, request, sizeof request - 1) != sizeof request - 1) fail("write");
}

// Waits for answers until a time; 0 for one answer.
static void receive(int64_t until)
{
    for (;;) {
        struct epoll_event ready[64];
        int64_t left = until ? until - nanoseconds() : 1000000000;
        struct timespec timeout = {left > 0 ? left / 1000000000 : 0, left > 0 ? left % 1000000000 : 0};
        int some = epoll_pwait2(epoll, ready, 64, &timeout, NULL);
        if (some < 0 && errno != EINTR) fail("epoll_pwait2");
        for (int index = 0; index < some; index++) {
            char bytes[4096];
            int connection = ready[index].data.fd;
            if (read(connection, bytes, sizeof bytes) <= 0) fail("read");
            printf("%.1f\n", (nanoseconds() - sent_at[connection]) / 1e3);
            idle[idle_count++] = connection;
        }
        if (until ? nanoseconds() >= until : some > 0) return;
    }
}

int main(int count, char **arguments)
{
    if (count != 4) return 2;
    int64_t rate = atoll(arguments[2]), start = nanoseconds(), end = start + atoll(arguments[3]) * 1000000000;
    address.sin_port = htons(atoi(arguments[1]));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if ((epoll = epoll_create1(0)) < 0) fail("epoll_create1");
    for (int64_t number = 1; nanoseconds() < end; number++) {
        send_request();
        receive(rate ? start + number * 1000000000 / rate : 0);
    }
    return 0;
}
