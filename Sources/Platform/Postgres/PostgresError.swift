/// A failure of PostgreSQL or its connection. No field contains the password of the connection URL.
package struct PostgresError: Error, Sendable, Equatable, CustomStringConvertible {
    package enum Kind: String, Sendable {
        /// The server answered with an error; `sqlState` has its code.
        case server
        /// No connection could be opened, or the URL is invalid.
        case cannotConnect
        /// The connection ended during a statement: it is unknown whether that took effect.
        case connectionLost
        /// No answer, or no free connection, before the timeout.
        case timeout
        /// The task was cancelled while it waited for a connection.
        case cancelled
        /// This process has closed the pool or the connection.
        case closed
        /// A value is null or not of the requested type, or there is no such column.
        case decoding
        /// The caller's input cannot be sent.
        case usage
    }

    package let kind: Kind
    /// Five characters for a server's error, else empty (PostgreSQL manual, appendix A).
    package let sqlState: String
    package let message: String
    /// May quote row values: not for logs.
    package let detail: String?
    /// The violated constraint, if any.
    package let constraint: String?

    package init(
        _ kind: Kind, _ message: String, sqlState: String = "", detail: String? = nil,
        constraint: String? = nil
    ) {
        self.kind = kind
        self.message = message
        self.sqlState = sqlState
        self.detail = detail
        self.constraint = constraint
    }

    /// True if the transaction conflicted with another one (serialization failure or deadlock): run
    /// it again.
    package var isRetryableTransaction: Bool {
        sqlState == "40001" || sqlState == "40P01"
    }

    /// True if the role lacks a privilege: insufficient_privilege.
    package var isPrivilege: Bool { sqlState == "42501" }

    /// True if there is no object of that name, such as a role: undefined_object.
    package var isUndefinedObject: Bool { sqlState == "42704" }

    /// True if a lock was not granted within `lock_timeout`: lock_not_available.
    package var isLockTimeout: Bool { sqlState == "55P03" }

    /// True if a connection failed because of TLS: the server's certificate is not trusted or for
    /// another name, a file of TLS cannot be used, or the server speaks no TLS. Decided by libpq's
    /// messages: without a connection it has no code.
    package var isTLSFailure: Bool {
        kind == .cannotConnect
            && ["certificate", "SSL error", "does not support SSL"].contains {
                message.contains($0)
            }
    }

    /// True if the server is down, shutting down or unreachable: a later attempt may succeed.
    package var isConnectionFailure: Bool {
        switch kind {
        case .cannotConnect, .connectionLost: true
        case .server:
            sqlState.hasPrefix("08") || ["57P01", "57P02", "57P03"].contains(sqlState)
        default: false
        }
    }

    package var description: String {
        sqlState.isEmpty ? "\(kind.rawValue): \(message)" : "\(sqlState): \(message)"
    }
}
