#pragma once
#include <libpq-fe.h>

static inline void dray_pq_ignore_notice(void *context, const PGresult *notice) {
    (void)context;
    (void)notice;
}

/// Drops NOTICE and WARNING messages, which libpq otherwise writes to stderr.
static inline void dray_pq_silence(PGconn *connection) {
    PQsetNoticeReceiver(connection, dray_pq_ignore_notice, NULL);
}

/// A field of an error; NULL if it has none. `PG_DIAG_…` are characters.
static inline char *dray_pq_sqlstate(const PGresult *result) {
    return PQresultErrorField(result, PG_DIAG_SQLSTATE);
}
static inline char *dray_pq_message(const PGresult *result) {
    return PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
}
static inline char *dray_pq_detail(const PGresult *result) {
    return PQresultErrorField(result, PG_DIAG_MESSAGE_DETAIL);
}
static inline char *dray_pq_constraint(const PGresult *result) {
    return PQresultErrorField(result, PG_DIAG_CONSTRAINT_NAME);
}
