#pragma once
#include <microhttpd.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

struct dray_mhd_settings {
    int listen_socket;
    unsigned int connection_limit;
    unsigned int idle_timeout_seconds;
    unsigned int threads;
    size_t header_memory_bytes;
};

/// Leaves the request target as it was sent: what decodes it must know where a segment ends.
static inline size_t dray_mhd_keep_escapes(
    void *context, struct MHD_Connection *connection, char *text
) {
    (void)context;
    (void)connection;
    return strlen(text);
}

static inline struct MHD_Daemon *_Nullable dray_mhd_start(
    const struct dray_mhd_settings *_Nonnull settings,
    MHD_AccessHandlerCallback _Nonnull on_request,
    MHD_RequestCompletedCallback _Nonnull on_completed,
    void *_Nonnull context
) {
    // MHD takes a pool of one thread for a mistake; zero means its one internal thread.
    struct MHD_OptionItem pool[] = {
        {settings->threads > 1 ? MHD_OPTION_THREAD_POOL_SIZE : MHD_OPTION_END,
         (intptr_t)settings->threads, NULL},
        {MHD_OPTION_END, 0, NULL},
    };
    return MHD_start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ITC, 0,
        NULL, NULL, on_request, context,
        MHD_OPTION_LISTEN_SOCKET, (MHD_socket)settings->listen_socket,
        MHD_OPTION_NOTIFY_COMPLETED, on_completed, context,
        MHD_OPTION_CONNECTION_LIMIT, settings->connection_limit,
        MHD_OPTION_CONNECTION_TIMEOUT, settings->idle_timeout_seconds,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, settings->header_memory_bytes,
        MHD_OPTION_UNESCAPE_CALLBACK, dray_mhd_keep_escapes, NULL,
        MHD_OPTION_STRICT_FOR_CLIENT, 1,
        MHD_OPTION_ARRAY, pool,
        MHD_OPTION_END);
}

/// The peer's address; NULL when it is not known.
static inline const struct sockaddr *_Nullable dray_mhd_client_address(
    struct MHD_Connection *_Nonnull connection
) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    return info == NULL ? NULL : info->client_addr;
}

/// The connection's socket; -1 when it is not known.
static inline int dray_mhd_socket(struct MHD_Connection *_Nonnull connection) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    return info == NULL ? -1 : info->connect_fd;
}
