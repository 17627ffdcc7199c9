/// An access key of an S3 server. It has no description, so that no log shows it.
package struct Credentials: Sendable, Hashable {
    package let accessKey: String
    package let secretKey: String
    /// Token of temporary credentials; nil for those of a user.
    package let sessionToken: String?
    /// Seconds since 1970; nil for never.
    package let expiresAt: Int64?

    package init(
        accessKey: String, secretKey: String, sessionToken: String? = nil, expiresAt: Int64? = nil
    ) {
        self.accessKey = accessKey
        self.secretKey = secretKey
        self.sessionToken = sessionToken
        self.expiresAt = expiresAt
    }
}

extension Credentials: CustomStringConvertible, CustomReflectable {
    package var description: String { "credentials" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
