// OpenSSL's macros and callbacks as functions, and a BIO over a nonblocking socket.
#pragma once
#include <errno.h>
#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#pragma clang assume_nonnull begin

// OpenSSL must not free itself at exit, because threads still use it then.
static inline int dray_tls_init(void) {
    return OPENSSL_init_ssl(
        OPENSSL_INIT_NO_ATEXIT | OPENSSL_INIT_LOAD_SSL_STRINGS | OPENSSL_INIT_LOAD_CRYPTO_STRINGS,
        NULL);
}

/// True if SSL_free_buffers may be called between two parts of a record (CVE-2024-4741).
static inline bool dray_tls_frees_buffers(void) {
    return OpenSSL_version_num() >= 0x300000E0UL;
}

// ---- The socket ----

/// A connection's socket and what was read from it. Owned by the connection, borrowed by its BIO.
typedef struct {
    int descriptor;
    /// True if the last read found no byte.
    bool is_blocked;
    /// True if the first byte was a letter, with which no TLS record begins.
    bool is_plain;
    /// True if more arrived than may.
    bool is_too_long;
    int64_t received_bytes;
    int64_t maximum_bytes;
} dray_tls_socket;

static inline int dray_tls_socket_read(BIO *bio, char *buffer, int length) {
    dray_tls_socket *socket = (dray_tls_socket *)BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    socket->is_blocked = false;
    if (socket->received_bytes >= socket->maximum_bytes) {
        socket->is_too_long = true;
        return -1;
    }
    ssize_t count;
    do {
        count = recv(socket->descriptor, buffer, (size_t)length, 0);
    } while (count < 0 && errno == EINTR);
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
        socket->is_blocked = true;
        BIO_set_retry_read(bio);
    }
    if (count > 0) {
        const char first = buffer[0] | 0x20;
        if (socket->received_bytes == 0 && first >= 'a' && first <= 'z') {
            socket->is_plain = true;
            return -1;
        }
        socket->received_bytes += count;
    }
    return (int)count;
}

static inline int dray_tls_socket_write(BIO *bio, const char *bytes, int length) {
    dray_tls_socket *socket = (dray_tls_socket *)BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    ssize_t count;
    do {
        count = send(socket->descriptor, bytes, (size_t)length, MSG_NOSIGNAL);
    } while (count < 0 && errno == EINTR);
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) BIO_set_retry_write(bio);
    return (int)count;
}

static inline long dray_tls_socket_control(
    BIO *bio, int command, long number, void *_Nullable pointer) {
    (void)bio, (void)number, (void)pointer;
    return command == BIO_CTRL_FLUSH ? 1 : 0;
}

/// Creates the method of such BIOs; NULL for lack of memory.
static inline BIO_METHOD *_Nullable dray_tls_socket_method(void) {
    BIO_METHOD *method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "socket");
    if (!method) return NULL;
    BIO_meth_set_read(method, dray_tls_socket_read);
    BIO_meth_set_write(method, dray_tls_socket_write);
    BIO_meth_set_ctrl(method, dray_tls_socket_control);
    return method;
}

/// Has `ssl` read and write `socket`, which must outlive it. Returns false for lack of memory.
static inline bool dray_tls_attach(SSL *ssl, const BIO_METHOD *method, dray_tls_socket *socket) {
    BIO *bio = BIO_new(method);
    if (!bio) return false;
    BIO_set_data(bio, socket);
    BIO_set_init(bio, 1);
    SSL_set_bio(ssl, bio, bio);
    return true;
}

// ---- The context of a server ----

/// Chooses http/1.1; a client that offers other protocols alone gets an alert (RFC 7301, 3.2).
static inline int dray_tls_select_protocol(
    SSL *ssl, const unsigned char *_Nullable *_Nonnull chosen, unsigned char *length,
    const unsigned char *offered, unsigned int offered_length, void *_Nullable user) {
    (void)ssl, (void)user;
    static const unsigned char http[] = "\x08http/1.1";
    unsigned char *found = NULL;
    const int result = SSL_select_next_proto(
        &found, length, http, sizeof http - 1, offered, offered_length);
    *chosen = found;
    return result == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

/// Sets what every server's context has; returns false for a failure in OpenSSL's error queue.
static inline bool dray_tls_prepare(SSL_CTX *context) {
    SSL_CTX_set_options(
        context,
        SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE
            | SSL_OP_PRIORITIZE_CHACHA);
    // Each call then handles one record at most, so that a peer cannot hold the thread.
    SSL_CTX_clear_mode(context, SSL_MODE_AUTO_RETRY);
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_read_ahead(context, 1);
    // Sessions are in tickets, which clients keep.
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_alpn_select_cb(context, dray_tls_select_protocol, NULL);
    SSL_CTX_set_max_cert_list(context, 48 << 10);
    static const unsigned char name[] = "dray";
    return SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) == 1
        && SSL_CTX_set_num_tickets(context, 1) == 1
        && SSL_CTX_set_session_id_context(context, name, sizeof name - 1) == 1
        && SSL_CTX_set_cipher_list(context, "ECDHE+AESGCM:ECDHE+CHACHA20") == 1;
}

/// Takes over `certificate` if it returns true.
static inline bool dray_tls_add_to_chain(SSL_CTX *context, X509 *certificate) {
    return SSL_CTX_add0_chain_cert(context, certificate) == 1;
}

// ---- PEM ----

static inline int dray_tls_no_password(
    char *buffer, int size, int writes, void *_Nullable user) {
    (void)buffer, (void)size, (void)writes;
    *(bool *)user = true;
    return -1;
}

/// Reads a private key; sets `is_encrypted` for one that needs a password, which is not asked for.
static inline EVP_PKEY *_Nullable dray_tls_read_key(BIO *bio, bool *is_encrypted) {
    return PEM_read_bio_PrivateKey(bio, NULL, dray_tls_no_password, is_encrypted);
}

/// True if the error queue's last entry says that no further PEM block follows.
static inline bool dray_tls_is_end_of_pem(void) {
    const unsigned long code = ERR_peek_last_error();
    return ERR_GET_LIB(code) == ERR_LIB_PEM && ERR_GET_REASON(code) == PEM_R_NO_START_LINE;
}

// ---- Certificates ----

/// Returns seconds since 1970; 0 for a time that cannot be read.
static inline int64_t dray_tls_seconds(const ASN1_TIME *time) {
    struct tm parts;
    return ASN1_TIME_to_tm(time, &parts) == 1 ? (int64_t)timegm(&parts) : 0;
}

static inline int64_t dray_tls_begin(const X509 *certificate) {
    return dray_tls_seconds(X509_get0_notBefore(certificate));
}

static inline int64_t dray_tls_end(const X509 *certificate) {
    return dray_tls_seconds(X509_get0_notAfter(certificate));
}

/// Verifies a server's own certificate, with its chain, as its clients do: with the authorities in a PEM
/// file, NULL for the system's. A certificate in that file is trusted itself. Returns X509_V_OK, or why
/// not.
static inline int dray_tls_verify(SSL_CTX *context, const char *_Nullable authorities) {
    STACK_OF(X509) *chain = NULL;
    SSL_CTX_get0_chain_certs(context, &chain);
    X509_STORE *store = X509_STORE_new();
    X509_STORE_CTX *verification = X509_STORE_CTX_new();
    int result = X509_V_ERR_UNSPECIFIED;
    if (store && verification
        && (authorities ? X509_STORE_load_file(store, authorities)
                        : X509_STORE_set_default_paths(store))
            == 1
        && X509_STORE_set_flags(store, X509_V_FLAG_PARTIAL_CHAIN) == 1
        && X509_STORE_CTX_init(
               verification, store, SSL_CTX_get0_certificate(context), chain)
            == 1
        && X509_STORE_CTX_set_purpose(verification, X509_PURPOSE_SSL_SERVER) == 1) {
        result = X509_verify_cert(verification) == 1 ? X509_V_OK
                                                     : X509_STORE_CTX_get_error(verification);
    }
    X509_STORE_CTX_free(verification);
    X509_STORE_free(store);
    return result;
}

/// Copies a name of the certificate's alternative names, a DNS name, into `buffer`; returns its
/// length, 0 for a name of another kind or longer than the buffer, -1 beyond the last.
static inline int dray_tls_dns_name(
    const X509 *certificate, int index, char *buffer, int capacity) {
    GENERAL_NAMES *names =
        (GENERAL_NAMES *)X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);
    int length = -1;
    if (names && index < sk_GENERAL_NAME_num(names)) {
        const GENERAL_NAME *name = sk_GENERAL_NAME_value(names, index);
        length = 0;
        if (name->type == GEN_DNS && name->d.dNSName->length <= capacity) {
            length = name->d.dNSName->length;
            memcpy(buffer, name->d.dNSName->data, (size_t)length);
        }
    }
    GENERAL_NAMES_free(names);
    return length;
}

/// Writes a subject to `bio` in the form of RFC 4514, in UTF-8 and without control characters.
static inline bool dray_tls_print_subject(BIO *bio, const X509 *certificate) {
    return X509_NAME_print_ex(
               bio, X509_get_subject_name(certificate), 0,
               XN_FLAG_RFC2253 & ~ASN1_STRFLGS_ESC_MSB)
        >= 0;
}

/// Returns what `bio`, in memory, holds.
static inline long dray_tls_memory(BIO *bio, char *_Nullable *_Nonnull bytes) {
    return BIO_get_mem_data(bio, bytes);
}

#pragma clang assume_nonnull end
