/// Records of who may change what, and of who did.
package struct AccessRecords: Sendable {
    package let tokens: AccessTokens
    package let audit: AuditLog
    package let requests: RepeatedRequests

    init(database: QueueDatabase) {
        tokens = AccessTokens(database: database)
        audit = AuditLog(database: database)
        requests = RepeatedRequests(database: database)
    }
}
