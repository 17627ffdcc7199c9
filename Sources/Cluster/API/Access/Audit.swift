package import Model

/// A change that a request made or tried, in the audit log.
package struct AuditEntry: Codable, Hashable, Sendable {
    package var id: Int64
    /// The time of its beginning, in seconds since 1970.
    package var time: Double
    /// The token of the request; nil for that of the coordinator's environment.
    package var token: AccessTokenID?
    /// The token's name, `environment` for that of the coordinator's.
    package var name: String
    package var role: AccessRole
    /// Method and path of the route: `POST /v1/queues/{queue}/control`.
    package var action: String
    /// The changed object and the change; without secrets of URLs.
    package var object: String
    /// HTTP status of the answer; nil while it is not known, for good if the coordinator was killed.
    package var status: Int?
    /// Failure code of the answer.
    package var code: FailureCode?

    package init(
        id: Int64, time: Double, token: AccessTokenID?, name: String, role: AccessRole,
        action: String, object: String, status: Int?, code: FailureCode?
    ) {
        self.id = id
        self.time = time
        self.token = token
        self.name = name
        self.role = role
        self.action = action
        self.object = object
        self.status = status
        self.code = code
    }
}

/// `GET /v1/audit?after=…&limit=…`: a page of the audit log, the latest first.
package struct AuditPage: Codable, Sendable {
    package var entries: [AuditEntry]
    /// For `after` of the next page; nil on the last one.
    package var next: String?

    package init(entries: [AuditEntry], next: String?) {
        self.entries = entries
        self.next = next
    }
}
