internal import Curl
internal import FoundationEssentials
internal import Model

/// An origin's settings as its requests use them. Shared by all loops.
final class OriginProfile: Sendable {
    /// Profile for requests whose connection may be shared with others.
    let shared: CurlProfile
    /// Profile for an origin that answered by HTTP/1: each request has its own connection.
    let separate: CurlProfile
    /// Profile for limited bytes per second. A paused HTTP/2 stream would block its neighbours and
    /// buffer tens of megabytes.
    let bounded: CurlProfile
    /// True if a response shows which HTTP version the origin uses.
    var learnsVersion: Bool { shared !== separate }
    let maximumHeaderBytes: Int
    let headers: [RequestHeader]
    let timeouts: TransferTimeouts
    let maximumBytes: Int64
    /// True if connections go to the operator's proxy.
    let usesProxy: Bool

    init(_ settings: OriginSettings, isSecure: Bool, caFile: String?) {
        var curl = CurlProfile.Settings(userAgent: settings.userAgent ?? "dray/\(drayVersion)")
        curl.caFile = settings.caFile ?? caFile
        curl.certificate = settings.clientCertificate?.certificate
        curl.certificateKey = settings.clientCertificate?.key
        curl.keyPassword = settings.clientCertificate?.password
        curl.proxy = settings.proxy
        curl.proxyCAFile = settings.proxyCAFile
        switch settings.http {
        case .http1: curl.http = .http1
        case .http2PriorKnowledge: curl.http = .http2PriorKnowledge
        case .http2, nil: curl.http = .automatic
        }
        // Over plain TCP, only the first response shows whether a connection can be shared.
        curl.maximumHeaderBytes = settings.maximumHeaderBytes ?? curl.maximumHeaderBytes
        maximumHeaderBytes = curl.maximumHeaderBytes
        let isPlainHTTP2 = curl.http == .http2PriorKnowledge && !isSecure
        curl.usesConnectionsOnce = isPlainHTTP2 && !CurlGlobal.reusesPlainHTTP2
        curl.sharesConnections =
            curl.http == .http2PriorKnowledge && !curl.usesConnectionsOnce
        separate = CurlProfile(curl)
        if curl.http == .automatic, isSecure {
            curl.sharesConnections = true
            shared = CurlProfile(curl)
            curl.sharesConnections = false
            curl.http = .http1
            bounded = CurlProfile(curl)
        } else {
            shared = separate
            bounded = separate
        }
        headers = settings.headers + Self.authorization(settings)
        timeouts = settings.timeouts
        maximumBytes = settings.maximumBytes ?? .max
        usesProxy = settings.proxy != nil
    }

    /// Returns header lines; libcurl's own authorization would follow the handle to the next
    /// origin.
    private static func authorization(_ settings: OriginSettings) -> [RequestHeader] {
        let value: String
        switch settings.authorization {
        case .bearer(let token): value = "Bearer \(token)"
        case .basic(let user, let password):
            value = "Basic \(Data("\(user):\(password)".utf8).base64EncodedString())"
        case nil: return []
        }
        return (try? RequestHeader(name: "Authorization", value: value)).map { [$0] } ?? []
    }
}

/// The profiles of all origins.
struct OriginProfiles: Sendable {
    private let byOrigin: [String: OriginProfile]
    private let plain: OriginProfile
    private let secure: OriginProfile

    init(_ table: OriginSettingsTable, caFile: String?) {
        plain = OriginProfile(table.standard, isSecure: false, caFile: caFile)
        secure = OriginProfile(table.standard, isSecure: true, caFile: caFile)
        var profiles: [String: OriginProfile] = [:]
        for (origin, settings) in table.byOrigin {
            profiles[origin] = OriginProfile(
                settings, isSecure: origin.hasPrefix("https:"), caFile: caFile)
        }
        byOrigin = profiles
    }

    /// Returns the profile for a URL of `origin`, which `originName(of:)` derived from it.
    func profile(of origin: String, url: String) -> OriginProfile {
        let standard = origin.hasPrefix("https:") ? secure : plain
        guard let own = byOrigin[origin] else { return standard }
        // Secrets go only to the host that libcurl connects to, not to one that the text resembles.
        guard let parsed = try? CurlURL(url), originName(of: parsed.string) == origin else {
            return standard
        }
        return own
    }
}
