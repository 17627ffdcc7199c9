// libcurl's variadic functions, one inline function for each option that Dray uses, so that Swift
// sees the type of every argument. libcurl copies strings; it borrows lists, callbacks' user
// pointers and CURLOPT_POSTFIELDS, which must outlive their use.
#pragma once
#include <curl/curl.h>
#include <curl/header.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

#pragma clang assume_nonnull begin

// OpenSSL must not free itself at exit, because libcurl and libpq still shut down then.
static inline int dray_openssl_init(void) {
    return OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, NULL);
}

static inline CURLcode dray_curl_global_init(void) {
    return curl_global_init(CURL_GLOBAL_ALL);
}

// ---- Easy handles: strings ----

#define DRAY_EASY_STRING(function, option) \
    static inline CURLcode function(CURL *easy, const char *_Nullable value) { \
        return curl_easy_setopt(easy, option, value); \
    }

DRAY_EASY_STRING(dray_easy_set_url, CURLOPT_URL)
DRAY_EASY_STRING(dray_easy_set_range, CURLOPT_RANGE)
DRAY_EASY_STRING(dray_easy_set_method, CURLOPT_CUSTOMREQUEST)
DRAY_EASY_STRING(dray_easy_set_user_agent, CURLOPT_USERAGENT)
DRAY_EASY_STRING(dray_easy_set_protocols, CURLOPT_PROTOCOLS_STR)
DRAY_EASY_STRING(dray_easy_set_proxy, CURLOPT_PROXY)
DRAY_EASY_STRING(dray_easy_set_no_proxy, CURLOPT_NOPROXY)
DRAY_EASY_STRING(dray_easy_set_ca_file, CURLOPT_CAINFO)
DRAY_EASY_STRING(dray_easy_set_ca_path, CURLOPT_CAPATH)
DRAY_EASY_STRING(dray_easy_set_proxy_ca_file, CURLOPT_PROXY_CAINFO)
DRAY_EASY_STRING(dray_easy_set_proxy_ca_path, CURLOPT_PROXY_CAPATH)
DRAY_EASY_STRING(dray_easy_set_certificate, CURLOPT_SSLCERT)
DRAY_EASY_STRING(dray_easy_set_certificate_key, CURLOPT_SSLKEY)
DRAY_EASY_STRING(dray_easy_set_key_password, CURLOPT_KEYPASSWD)

#undef DRAY_EASY_STRING

// ---- Easy handles: numbers ----

#define DRAY_EASY_LONG(function, option) \
    static inline CURLcode function(CURL *easy, long value) { \
        return curl_easy_setopt(easy, option, value); \
    }

DRAY_EASY_LONG(dray_easy_set_no_signal, CURLOPT_NOSIGNAL)
DRAY_EASY_LONG(dray_easy_set_http_get, CURLOPT_HTTPGET)
DRAY_EASY_LONG(dray_easy_set_no_body, CURLOPT_NOBODY)
DRAY_EASY_LONG(dray_easy_set_post, CURLOPT_POST)
DRAY_EASY_LONG(dray_easy_set_follow_location, CURLOPT_FOLLOWLOCATION)
DRAY_EASY_LONG(dray_easy_set_buffer_size, CURLOPT_BUFFERSIZE)
DRAY_EASY_LONG(dray_easy_set_connect_timeout_ms, CURLOPT_CONNECTTIMEOUT_MS)
DRAY_EASY_LONG(dray_easy_set_timeout_ms, CURLOPT_TIMEOUT_MS)
DRAY_EASY_LONG(dray_easy_set_tcp_keepalive, CURLOPT_TCP_KEEPALIVE)
DRAY_EASY_LONG(dray_easy_set_tcp_keepidle, CURLOPT_TCP_KEEPIDLE)
DRAY_EASY_LONG(dray_easy_set_tcp_keepintvl, CURLOPT_TCP_KEEPINTVL)
DRAY_EASY_LONG(dray_easy_set_http_content_decoding, CURLOPT_HTTP_CONTENT_DECODING)
DRAY_EASY_LONG(dray_easy_set_dns_cache_timeout, CURLOPT_DNS_CACHE_TIMEOUT)
DRAY_EASY_LONG(dray_easy_set_http_version, CURLOPT_HTTP_VERSION)
DRAY_EASY_LONG(dray_easy_set_pipe_wait, CURLOPT_PIPEWAIT)
DRAY_EASY_LONG(dray_easy_set_quick_exit, CURLOPT_QUICK_EXIT)
DRAY_EASY_LONG(dray_easy_set_fresh_connect, CURLOPT_FRESH_CONNECT)
DRAY_EASY_LONG(dray_easy_set_forbid_reuse, CURLOPT_FORBID_REUSE)
DRAY_EASY_LONG(dray_easy_set_certificate_info, CURLOPT_CERTINFO)

#undef DRAY_EASY_LONG

// ---- Easy handles: bodies, headers, callbacks ----

/// Copies `bytes`.
static inline CURLcode dray_easy_set_post_body(
    CURL *easy, const void *_Nullable bytes, int64_t length) {
    CURLcode code = curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)length);
    if (code != CURLE_OK) return code;
    return curl_easy_setopt(easy, CURLOPT_COPYPOSTFIELDS, bytes ? bytes : "");
}

/// Borrows `bytes` until the end of the request.
static inline CURLcode dray_easy_set_borrowed_body(
    CURL *easy, const void *_Nullable bytes, int64_t length) {
    CURLcode code = curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)length);
    if (code != CURLE_OK) return code;
    return curl_easy_setopt(easy, CURLOPT_POSTFIELDS, bytes ? bytes : "");
}

typedef size_t (*dray_read_callback)(
    char *bytes, size_t size, size_t count, void *_Nullable user);
typedef int (*dray_seek_callback)(void *_Nullable user, curl_off_t offset, int origin);

/// Takes a body of `length` bytes from `read`. `seek` sets its next offset, from the start.
static inline CURLcode dray_easy_set_read_body(
    CURL *easy, int64_t length, dray_read_callback read, dray_seek_callback seek,
    void *_Nullable user) {
    CURLcode code = curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)length);
    if (code == CURLE_OK) code = curl_easy_setopt(easy, CURLOPT_POSTFIELDS, NULL);
    if (code == CURLE_OK) code = curl_easy_setopt(easy, CURLOPT_READFUNCTION, read);
    if (code == CURLE_OK) code = curl_easy_setopt(easy, CURLOPT_READDATA, user);
    if (code == CURLE_OK) code = curl_easy_setopt(easy, CURLOPT_SEEKFUNCTION, seek);
    if (code == CURLE_OK) code = curl_easy_setopt(easy, CURLOPT_SEEKDATA, user);
    return code;
}

/// Return value of a read callback that ends its transfer.
static inline size_t dray_read_abort(void) { return CURL_READFUNC_ABORT; }

/// Borrows `list` until it is replaced.
static inline CURLcode dray_easy_set_headers(CURL *easy, struct curl_slist *_Nullable list) {
    return curl_easy_setopt(easy, CURLOPT_HTTPHEADER, list);
}

/// Borrows `buffer`, CURL_ERROR_SIZE bytes.
static inline CURLcode dray_easy_set_error_buffer(CURL *easy, char *_Nullable buffer) {
    return curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, buffer);
}

typedef size_t (*dray_write_callback)(
    char *bytes, size_t size, size_t count, void *_Nullable user);
typedef curl_socket_t (*dray_open_socket_callback)(
    void *_Nullable user, curlsocktype purpose, struct curl_sockaddr *address);

static inline CURLcode dray_easy_set_write(
    CURL *easy, dray_write_callback callback, void *_Nullable user) {
    CURLcode code = curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, callback);
    if (code != CURLE_OK) return code;
    return curl_easy_setopt(easy, CURLOPT_WRITEDATA, user);
}

static inline CURLcode dray_easy_set_open_socket(
    CURL *easy, dray_open_socket_callback callback, void *_Nullable user) {
    CURLcode code = curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, callback);
    if (code != CURLE_OK) return code;
    return curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, user);
}

/// Called with each header line and the status line; returning fewer bytes than given ends the
/// transfer.
static inline CURLcode dray_easy_set_header_callback(
    CURL *easy, dray_write_callback callback, void *_Nullable user) {
    CURLcode code = curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, callback);
    if (code != CURLE_OK) return code;
    return curl_easy_setopt(easy, CURLOPT_HEADERDATA, user);
}

/// Borrows `list`, "HOST:PORT:ADDRESS" each, until it is replaced.
static inline CURLcode dray_easy_set_resolve(CURL *easy, struct curl_slist *_Nullable list) {
    return curl_easy_setopt(easy, CURLOPT_RESOLVE, list);
}

/// Borrows `list`, "HOST:PORT:ADDRESS:PORT" each, until it is replaced: where to connect instead.
static inline CURLcode dray_easy_set_connect_to(CURL *easy, struct curl_slist *_Nullable list) {
    return curl_easy_setopt(easy, CURLOPT_CONNECT_TO, list);
}

typedef int (*dray_close_socket_callback)(void *_Nullable user, curl_socket_t socket);

/// Called for the sockets of the open callback when libcurl no longer needs them.
static inline CURLcode dray_easy_set_close_socket(
    CURL *easy, dray_close_socket_callback callback, void *_Nullable user) {
    CURLcode code = curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, callback);
    if (code != CURLE_OK) return code;
    return curl_easy_setopt(easy, CURLOPT_CLOSESOCKETDATA, user);
}

/// Return value of a write callback that ends its transfer.
static inline size_t dray_write_error(void) { return CURL_WRITEFUNC_ERROR; }

/// Return value of a write callback that takes its bytes later.
static inline size_t dray_write_pause(void) { return CURL_WRITEFUNC_PAUSE; }

/// Continues a paused transfer; may call its write callback.
static inline CURLcode dray_easy_resume(CURL *easy) {
    return curl_easy_pause(easy, CURLPAUSE_CONT);
}

typedef int (*dray_prerequest_callback)(
    void *_Nullable user, char *_Nullable remote, char *_Nullable local, int remote_port,
    int local_port);

/// Called when a connection is open and the request is about to be sent on it.
static inline CURLcode dray_easy_set_prerequest(
    CURL *easy, dray_prerequest_callback callback, void *_Nullable user) {
    CURLcode code = curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, callback);
    if (code != CURLE_OK) return code;
    return curl_easy_setopt(easy, CURLOPT_PREREQDATA, user);
}

/// Return values of a pre-request callback: send the request, or end the transfer.
static inline int dray_prerequest_proceed(void) { return CURL_PREREQFUNC_OK; }
static inline int dray_prerequest_abort(void) { return CURL_PREREQFUNC_ABORT; }

/// Return value of an open-socket callback that rejects an address.
static inline curl_socket_t dray_bad_socket(void) { return CURL_SOCKET_BAD; }

/// libcurl's placeholder for a timeout instead of a socket.
static inline curl_socket_t dray_timeout_socket(void) { return CURL_SOCKET_TIMEOUT; }

/// Returns a close-on-exec socket for `address`; CURL_SOCKET_BAD on failure.
static inline curl_socket_t dray_open_socket(const struct curl_sockaddr *address) {
    return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

static inline CURLcode dray_easy_set_private(CURL *easy, void *_Nullable user) {
    return curl_easy_setopt(easy, CURLOPT_PRIVATE, user);
}

/// Returns the `sockaddr` inside libcurl's address.
static inline const struct sockaddr *dray_sockaddr(const struct curl_sockaddr *address) {
    return &address->addr;
}

// ---- The library ----

/// libcurl's version, 0xMMmmpp.
static inline unsigned dray_curl_version(void) {
    return curl_version_info(CURLVERSION_NOW)->version_num;
}

/// The file of the certificate authorities that libcurl trusts by default; NULL if it has none.
static inline const char *_Nullable dray_curl_authorities(void) {
    return curl_version_info(CURLVERSION_NOW)->cainfo;
}

// ---- Easy handles: information on a transfer ----

static inline void *_Nullable dray_easy_private(CURL *easy) {
    char *value = NULL;
    return curl_easy_getinfo(easy, CURLINFO_PRIVATE, &value) == CURLE_OK ? value : NULL;
}

static inline long dray_easy_response_code(CURL *easy) {
    long value = 0;
    return curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &value) == CURLE_OK ? value : 0;
}

/// The result of the peer certificate's check, one of X509_V_…; 0 if it is in order or unchecked.
static inline long dray_easy_verify_result(CURL *easy) {
    long value = 0;
    return curl_easy_getinfo(easy, CURLINFO_SSL_VERIFYRESULT, &value) == CURLE_OK ? value : 0;
}

/// The reason of an error code of OpenSSL's TLS, one of SSL_R_…; 0 for a code of another part.
static inline int dray_tls_reason(unsigned long code) {
    return ERR_GET_LIB(code) == ERR_LIB_SSL ? ERR_GET_REASON(code) : 0;
}

/// When the peer's certificate expires, in seconds since 1970; -1 if unknown. Needs
/// CURLOPT_CERTINFO before the handshake.
static inline int64_t dray_easy_certificate_end(CURL *easy) {
    static const char name[] = "Expire date:";
    struct curl_certinfo *info = NULL;
    if (curl_easy_getinfo(easy, CURLINFO_CERTINFO, &info) != CURLE_OK || !info) return -1;
    if (info->num_of_certs < 1) return -1;
    for (struct curl_slist *line = info->certinfo[0]; line; line = line->next) {
        if (strncmp(line->data, name, sizeof name - 1) == 0) {
            return curl_getdate(line->data + sizeof name - 1, NULL);
        }
    }
    return -1;
}

/// A date of HTTP in seconds since 1970; -1 for other text.
static inline int64_t dray_http_date(const char *text) { return curl_getdate(text, NULL); }

/// The file of certificate authorities; NULL for none. Valid until it is set again.
static inline const char *_Nullable dray_easy_ca_file(CURL *easy) {
    char *value = NULL;
    return curl_easy_getinfo(easy, CURLINFO_CAINFO, &value) == CURLE_OK ? value : NULL;
}

/// The same for their directory.
static inline const char *_Nullable dray_easy_ca_path(CURL *easy) {
    char *value = NULL;
    return curl_easy_getinfo(easy, CURLINFO_CAPATH, &value) == CURLE_OK ? value : NULL;
}

/// The status of a proxy's response to CONNECT; 0 without one.
static inline long dray_easy_proxy_status(CURL *easy) {
    long value = 0;
    return curl_easy_getinfo(easy, CURLINFO_HTTP_CONNECTCODE, &value) == CURLE_OK ? value : 0;
}

/// One of CURL_HTTP_VERSION_…; 0 before there is a response.
static inline long dray_easy_http_version(CURL *easy) {
    long value = 0;
    return curl_easy_getinfo(easy, CURLINFO_HTTP_VERSION, &value) == CURLE_OK ? value : 0;
}

static inline long dray_easy_os_errno(CURL *easy) {
    long value = 0;
    return curl_easy_getinfo(easy, CURLINFO_OS_ERRNO, &value) == CURLE_OK ? value : 0;
}

/// Number of connections opened for the transfer; 0 if one was reused.
static inline long dray_easy_connects(CURL *easy) {
    long value = 0;
    return curl_easy_getinfo(easy, CURLINFO_NUM_CONNECTS, &value) == CURLE_OK ? value : 0;
}

/// -1 if the length is unknown.
static inline int64_t dray_easy_content_length(CURL *easy) {
    curl_off_t value = -1;
    CURLcode code = curl_easy_getinfo(easy, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &value);
    return code == CURLE_OK ? value : -1;
}

#define DRAY_EASY_MICROSECONDS(function, option) \
    static inline int64_t function(CURL *easy) { \
        curl_off_t value = 0; \
        return curl_easy_getinfo(easy, option, &value) == CURLE_OK ? value : 0; \
    }

DRAY_EASY_MICROSECONDS(dray_easy_connect_microseconds, CURLINFO_CONNECT_TIME_T)
DRAY_EASY_MICROSECONDS(dray_easy_sent_microseconds, CURLINFO_PRETRANSFER_TIME_T)
DRAY_EASY_MICROSECONDS(dray_easy_first_byte_microseconds, CURLINFO_STARTTRANSFER_TIME_T)
DRAY_EASY_MICROSECONDS(dray_easy_total_microseconds, CURLINFO_TOTAL_TIME_T)

#undef DRAY_EASY_MICROSECONDS

/// The value of header `name` of the last response, its `index`th occurrence; NULL if there is
/// none. Valid until the handle is used again.
static inline const char *_Nullable dray_easy_header(
    CURL *easy, const char *name, size_t index) {
    struct curl_header *header = NULL;
    CURLHcode code = curl_easy_header(easy, name, index, CURLH_HEADER, -1, &header);
    return code == CURLHE_OK && header ? header->value : NULL;
}

/// The addresses and ports of the last request's connection; an empty text before that.
static inline const char *_Nullable dray_easy_peer_ip(CURL *easy) {
    char *text = NULL;
    curl_easy_getinfo(easy, CURLINFO_PRIMARY_IP, &text);
    return text;
}
static inline const char *_Nullable dray_easy_local_ip(CURL *easy) {
    char *text = NULL;
    curl_easy_getinfo(easy, CURLINFO_LOCAL_IP, &text);
    return text;
}
static inline long dray_easy_peer_port(CURL *easy) {
    long port = 0;
    curl_easy_getinfo(easy, CURLINFO_PRIMARY_PORT, &port);
    return port;
}
static inline long dray_easy_local_port(CURL *easy) {
    long port = 0;
    curl_easy_getinfo(easy, CURLINFO_LOCAL_PORT, &port);
    return port;
}

// ---- Sockets ----

/// The state of a TCP connection, one of TCP_ESTABLISHED, TCP_SYN_SENT, …; -1 for another
/// descriptor.
static inline int dray_tcp_state(int socket) {
    struct tcp_info info;
    socklen_t length = sizeof(info);
    if (getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &length) != 0) return -1;
    return info.tcpi_state;
}

/// The local port; -1 for none.
static inline int dray_local_port(int socket) {
    struct sockaddr_storage address;
    socklen_t length = sizeof(address);
    if (getsockname(socket, (struct sockaddr *)&address, &length) != 0) return -1;
    if (address.ss_family == AF_INET) return ntohs(((struct sockaddr_in *)&address)->sin_port);
    if (address.ss_family == AF_INET6) return ntohs(((struct sockaddr_in6 *)&address)->sin6_port);
    return -1;
}

static inline int dray_shutdown_socket(int socket) { return shutdown(socket, SHUT_RDWR); }

static inline int dray_set_receive_buffer(int socket, int bytes) {
    return setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
}

// ---- Multi handles ----

typedef int (*dray_socket_callback)(
    CURL *easy, curl_socket_t socket, int what, void *_Nullable user, void *_Nullable socket_user);
typedef int (*dray_timer_callback)(CURLM *multi, long milliseconds, void *_Nullable user);

static inline CURLMcode dray_multi_set_socket(
    CURLM *multi, dray_socket_callback callback, void *_Nullable user) {
    CURLMcode code = curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, callback);
    if (code != CURLM_OK) return code;
    return curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, user);
}

static inline CURLMcode dray_multi_set_timer(
    CURLM *multi, dray_timer_callback callback, void *_Nullable user) {
    CURLMcode code = curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, callback);
    if (code != CURLM_OK) return code;
    return curl_multi_setopt(multi, CURLMOPT_TIMERDATA, user);
}

#define DRAY_MULTI_LONG(function, option) \
    static inline CURLMcode function(CURLM *multi, long value) { \
        return curl_multi_setopt(multi, option, value); \
    }

DRAY_MULTI_LONG(dray_multi_set_max_total_connections, CURLMOPT_MAX_TOTAL_CONNECTIONS)
DRAY_MULTI_LONG(dray_multi_set_max_host_connections, CURLMOPT_MAX_HOST_CONNECTIONS)
DRAY_MULTI_LONG(dray_multi_set_connection_cache, CURLMOPT_MAXCONNECTS)

#undef DRAY_MULTI_LONG

/// The next handle that has ended, with its result; NULL if there is none.
static inline CURL *_Nullable dray_multi_ended(CURLM *multi, CURLcode *result) {
    int left = 0;
    CURLMsg *message;
    while ((message = curl_multi_info_read(multi, &left)) != NULL) {
        if (message->msg != CURLMSG_DONE) continue;
        *result = message->data.result;
        return message->easy_handle;
    }
    return NULL;
}

#pragma clang assume_nonnull end
