/// What went wrong between Dray and PostgreSQL. No field holds the password of the connection URL.
package struct PostgresError: Error, Sendable, Equatable, CustomStringConvertible {
    package enum Kind: String, Sendable {
        /// The server answered with an error; `sqlState` says which.
        case server
        /// No connection could be made, or the URL is not one.
        case cannotConnect
        /// The connection ended under a statement: whether that took effect is unknown.
        case connectionLost
        /// No answer, or no free connection, in the time allowed.
        case timeout
        /// The task was cancelled while it waited for a connection.
        case cancelled
        /// The pool or the connection has been closed by this process.
        case closed
        /// A value is null or not of the type asked for, or there is no such column.
        case decoding
        /// What the caller passed cannot be sent.
        case usage
    }

    package let kind: Kind
    /// Five characters for an answer of the server, else empty (PostgreSQL manual, appendix A).
    package let sqlState: String
    package let message: String
    /// May quote row values: not for logs.
    package let detail: String?
    /// The constraint that was violated, if one was.
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

    /// The transaction lost against another one (serialization failure or deadlock): run it again.
    package var isRetryableTransaction: Bool {
        sqlState == "40001" || sqlState == "40P01"
    }

    /// The role lacks a privilege: insufficient_privilege.
    package var isPrivilege: Bool { sqlState == "42501" }

    /// There is no object of that name, a role for one: undefined_object.
    package var isUndefinedObject: Bool { sqlState == "42704" }

    /// A lock was not granted within `lock_timeout`: lock_not_available.
    package var isLockTimeout: Bool { sqlState == "55P03" }

    /// The server is gone, going or was never there: a later try may find it.
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
