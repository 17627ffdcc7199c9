/// Settings for requests to one origin, including credentials.
///
/// A nil value falls back to `default`'s, or else to Dray's own. Settings stay in the requesting
/// process. They are never sent to a coordinator, stored or logged, except for `keyQuery`, which
/// holds no secret.
package struct OriginSettings: Sendable, Hashable {
    package var headers: [RequestHeader] = []
    package var authorization: Authorization?
    package var clientCertificate: ClientCertificate?
    /// A PEM file of certificate authorities that replaces the system's.
    package var caFile: String?
    /// A URL of scheme http, https, socks5 or socks5h, with user and password if required.
    package var proxy: String?
    /// The same as `caFile` for a proxy of scheme https.
    package var proxyCAFile: String?
    package var http: HTTPVersion?
    package var userAgent: String?
    package var connectSeconds: Double?
    package var firstByteSeconds: Double?
    package var lowSpeedSeconds: Double?
    package var lowSpeedBytesPerSecond: Double?
    package var totalSeconds: Double?
    /// Maximum length of a body.
    package var maximumBytes: Int64?
    /// Maximum length of the status line and headers of one response.
    package var maximumHeaderBytes: Int?
    /// Query parameters that belong to keys, without an origin. Only this setting is sent to a
    /// coordinator.
    package var keyQuery: KeyQueryRule?

    package init() {}

    /// The `Authorization` header.
    package enum Authorization: Sendable, Hashable {
        /// RFC 6750.
        case bearer(String)
        /// RFC 7617; the user has no colon.
        case basic(user: String, password: String)
    }

    /// PEM files; the certificate's file may contain the key.
    package struct ClientCertificate: Sendable, Hashable {
        package var certificate: String
        package var key: String?
        /// Password of the key.
        package var password: String?

        package init(certificate: String, key: String? = nil, password: String? = nil) {
            self.certificate = certificate
            self.key = key
            self.password = password
        }
    }

    package enum HTTPVersion: String, Sendable, CaseIterable {
        case http1 = "1.1"
        /// Over TLS, if the origin offers it.
        case http2 = "2"
        /// Without negotiation, over plain TCP as well.
        case http2PriorKnowledge = "2-prior-knowledge"
    }

    /// True if it holds secrets.
    package var hasSecrets: Bool {
        authorization != nil || !headers.isEmpty || clientCertificate?.password != nil
            || proxy?.contains("@") == true
    }

    fileprivate mutating func resolveFiles(
        _ resolve: (String) throws(Failure) -> String
    ) throws(Failure) {
        if let file = caFile { caFile = try resolve(file) }
        if let file = proxyCAFile { proxyCAFile = try resolve(file) }
        guard var files = clientCertificate else { return }
        files.certificate = try resolve(files.certificate)
        if let key = files.key { files.key = try resolve(key) }
        clientCertificate = files
    }

    /// Returns these settings, with `base` for the missing ones. Headers are merged; those of the
    /// same name replace `base`'s.
    package func over(_ base: OriginSettings) -> OriginSettings {
        var result = self
        let own = Set(headers.map { $0.name.lowercased() })
        result.headers = base.headers.filter { !own.contains($0.name.lowercased()) } + headers
        result.authorization = authorization ?? base.authorization
        result.clientCertificate = clientCertificate ?? base.clientCertificate
        result.caFile = caFile ?? base.caFile
        result.proxy = proxy ?? base.proxy
        result.proxyCAFile = proxyCAFile ?? base.proxyCAFile
        result.http = http ?? base.http
        result.userAgent = userAgent ?? base.userAgent
        result.connectSeconds = connectSeconds ?? base.connectSeconds
        result.firstByteSeconds = firstByteSeconds ?? base.firstByteSeconds
        result.lowSpeedSeconds = lowSpeedSeconds ?? base.lowSpeedSeconds
        result.lowSpeedBytesPerSecond = lowSpeedBytesPerSecond ?? base.lowSpeedBytesPerSecond
        result.totalSeconds = totalSeconds ?? base.totalSeconds
        result.maximumBytes = maximumBytes ?? base.maximumBytes
        result.maximumHeaderBytes = maximumHeaderBytes ?? base.maximumHeaderBytes
        result.keyQuery = keyQuery ?? base.keyQuery
        return result
    }

    package var timeouts: TransferTimeouts {
        var timeouts = TransferTimeouts()
        timeouts.connect = connectSeconds ?? timeouts.connect
        timeouts.firstByte = firstByteSeconds ?? timeouts.firstByte
        timeouts.lowSpeed = lowSpeedSeconds ?? timeouts.lowSpeed
        timeouts.lowSpeedBytesPerSecond = lowSpeedBytesPerSecond ?? timeouts.lowSpeedBytesPerSecond
        timeouts.total = totalSeconds
        return timeouts
    }
}

/// The settings of all origins that have some.
package struct OriginSettingsTable: Sendable, Hashable {
    /// Settings for every origin, including those with their own.
    package var standard = OriginSettings()
    /// Settings by name, as returned by `originName(of:)`; they include those of `standard`.
    package private(set) var byOrigin: [String: OriginSettings] = [:]

    package init() {}

    /// Creates a table from settings of single origins, without those that they inherit from
    /// `standard`.
    package init(standard: OriginSettings, origins: [String: OriginSettings]) {
        self.standard = standard
        byOrigin = origins.mapValues { $0.over(standard) }
    }

    /// Adds headers for one origin, named by `originName(of:)`; they replace those of the same
    /// names.
    package mutating func add(_ headers: [RequestHeader], to origin: String) {
        var settings = byOrigin[origin] ?? standard
        let names = Set(headers.map { $0.name.lowercased() })
        settings.headers.removeAll { names.contains($0.name.lowercased()) }
        settings.headers += headers
        if names.contains("authorization") { settings.authorization = nil }
        byOrigin[origin] = settings
    }

    /// Replaces the paths of files by the results of `resolve`.
    package mutating func resolveFiles(
        _ resolve: (String) throws(Failure) -> String
    ) throws(Failure) {
        try standard.resolveFiles(resolve)
        for origin in byOrigin.keys.sorted() {
            try byOrigin[origin]?.resolveFiles(resolve)
        }
    }

    package var hasSecrets: Bool {
        standard.hasSecrets || byOrigin.values.contains { $0.hasSecrets }
    }
}
