package import Model

/// Signs URLs of objects, with which anyone may read these until they expire.
///
/// A URL that is signed with temporary credentials ends with them at the latest.
package struct URLSigner: Sendable {
    /// Maximum time in seconds for which a URL can be signed.
    package static let maximumSeconds: Int64 = 604_800

    private let credentials: Credentials
    private let now: Int64

    /// - Parameter now: Seconds since 1970, from which the URLs are valid.
    package init(credentials: Credentials, now: Int64) {
        self.credentials = credentials
        self.now = now
    }

    /// Seconds until the credentials expire, at least 0; nil if they do not, or do not state it.
    package var credentialSeconds: Int64? { credentials.expiresAt.map { max($0 - now, 0) } }

    /// Returns the URL of a GET of the object at the prefix of `object`.
    ///
    /// - Parameter seconds: Time until it expires, 1 to `maximumSeconds`.
    package func url(ofObject object: BucketLocation, seconds: Int64) -> String {
        let urls = BucketURLs(object)
        let path = urls.path(ofKey: object.prefix)
        let query = RequestSignature(credentials: credentials, region: object.region).query(
            ofPath: path, host: urls.host, time: SigningTime.text(now), seconds: seconds)
        return "\(urls.base)\(path)?\(query)"
    }
}
