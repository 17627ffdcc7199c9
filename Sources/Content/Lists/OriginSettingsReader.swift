import JSON
package import Model
import WebURL

/// Reads the settings of origins from JSON: `{"default": {…}, "https://host[:port]": {…}, …}`.
///
/// The whole text is checked; unknown fields are rejected, so that misspelt ones are not lost
/// silently. Credentials belong to one origin, so `default` allows none. Messages have the field
/// and its line, and never a value that may be a secret.
package struct OriginSettingsReader {
    /// Maximum number of origins in one file.
    package static let maximumOrigins = 10_000
    private static let fields =
        "headers, bearer, basic, clientCertificate, caFile, proxy, proxyCaFile, http, userAgent, "
        + "timeouts, maximumBytes, maximumHeaderBytes, keyQuery"

    /// Throws `input.malformed`, `input.field` or `input.tooLarge`.
    package static func read(_ bytes: [UInt8]) throws(Failure) -> OriginSettingsTable {
        var cursor = JSONCursor(bytes)
        var standard = OriginSettings()
        var origins: [String: OriginSettings] = [:]
        try cursor.expect(.object, "(the whole)")
        try cursor.object { (cursor, name, offset) throws(Failure) in
            try cursor.expect(.object, Redaction.shown(name))
            if name == "default" {
                standard = try settings(&cursor, origin: nil)
                return
            }
            let origin = try originName(name, cursor, offset)
            guard origins[origin] == nil else {
                throw cursor.fieldFailure(
                    at: offset, origin, "occurs twice", allowed: "each origin once")
            }
            guard origins.count < maximumOrigins else {
                throw Failure(.inputTooLarge, "more than \(maximumOrigins) origins")
            }
            origins[origin] = try settings(&cursor, origin: origin)
        }
        try cursor.finish()
        let table = OriginSettingsTable(standard: standard, origins: origins)
        let rules = table.keyQueries ?? []
        guard rules.count <= KeyQueryRule.maximumRules,
            rules.reduce(0, { $0 + $1.bytes }) <= KeyQueryRule.maximumBytes
        else {
            throw Failure(
                .inputTooLarge,
                "keyQuery: at most \(KeyQueryRule.maximumRules) origins have one of their own, and all "
                    + "names together at most \(KeyQueryRule.maximumBytes) bytes")
        }
        return table
    }

    private static func originName(
        _ text: String, _ cursor: JSONCursor, _ offset: Int
    ) throws(Failure) -> String {
        guard let url = try? WebURL(text), url.path == "/", url.query == nil,
            let name = Model.originName(of: url.text, allowsUserInfo: false)
        else {
            throw cursor.fieldFailure(
                at: offset, Redaction.shown(text), "is not an origin",
                allowed: "default, http://HOST[:PORT] or https://HOST[:PORT]")
        }
        return name
    }

    private static func settings(
        _ cursor: inout JSONCursor, origin: String?
    ) throws(Failure) -> OriginSettings {
        var settings = OriginSettings()
        let path = origin ?? "default"
        try cursor.object { (cursor, name, offset) throws(Failure) in
            let field = "\(path).\(name)"
            if origin == nil, ["bearer", "basic", "clientCertificate"].contains(name) {
                throw cursor.fieldFailure(
                    at: offset, field, "is a credential", allowed: "at one origin only")
            }
            switch name {
            case "headers":
                settings.headers = try headers(&cursor, field, isDefault: origin == nil)
            case "bearer", "basic":
                guard settings.authorization == nil else {
                    throw cursor.fieldFailure(
                        at: offset, field, "given beside another", allowed: "one of bearer, basic")
                }
                settings.authorization =
                    name == "basic"
                    ? try basic(&cursor, field) : .bearer(try token(&cursor, field))
            case "clientCertificate":
                settings.clientCertificate = try clientCertificate(&cursor, field)
            case "caFile": settings.caFile = try cursor.plainText(field, limit: 4_096)
            case "proxyCaFile": settings.proxyCAFile = try cursor.plainText(field, limit: 4_096)
            case "proxy": settings.proxy = try proxy(&cursor, field)
            case "http": settings.http = try http(&cursor, field, origin)
            case "userAgent": settings.userAgent = try cursor.plainText(field, limit: 500)
            case "timeouts": try timeouts(&cursor, field, &settings)
            case "maximumBytes":
                settings.maximumBytes = try cursor.wholeNumber(field, 1...(1 << 50))
            case "keyQuery": settings.keyQuery = try keyQuery(&cursor, field)
            case "maximumHeaderBytes":
                settings.maximumHeaderBytes = Int(try cursor.wholeNumber(field, 256...(300 << 10)))
            default: throw cursor.unknownField(name, at: offset, in: path, allowed: fields)
            }
        }
        let names = settings.headers.map { $0.name.lowercased() }
        if settings.authorization != nil, names.contains("authorization") {
            throw cursor.fieldFailure(
                at: cursor.index, "\(path).headers.Authorization", "given beside another",
                allowed: "one of bearer, basic and this header")
        }
        return settings
    }

    // MARK: Fields

    private static func headers(
        _ cursor: inout JSONCursor, _ path: String, isDefault: Bool
    ) throws(Failure) -> [RequestHeader] {
        var headers: [RequestHeader] = []
        try cursor.expect(.object, path)
        try cursor.object { (cursor, name, offset) throws(Failure) in
            let field = "\(path).\(Redaction.shown(name))"
            let lower = name.lowercased()
            if isDefault, ["authorization", "cookie"].contains(lower) {
                throw cursor.fieldFailure(
                    at: offset, field, "is a credential", allowed: "at one origin only")
            }
            if lower == "user-agent" {
                throw cursor.fieldFailure(
                    at: offset, field, "has a field of its own", allowed: "userAgent")
            }
            let value = try cursor.plainText(field)
            do throws(Failure) {
                headers.append(try RequestHeader(name: name, value: value))
            } catch {
                throw cursor.fieldFailure(
                    at: offset, field, error.message, allowed: "headers of the origin's own")
            }
        }
        guard Set(headers.map { $0.name.lowercased() }).count == headers.count else {
            throw cursor.fieldFailure(
                at: cursor.index, path, "names a header twice", allowed: "each once")
        }
        return headers
    }

    /// Reads a `token68` (RFC 9110, 11.2), as RFC 6750 requires.
    private static func token(
        _ cursor: inout JSONCursor, _ path: String
    ) throws(Failure) -> String {
        try cursor.expect(.string, path)
        let start = cursor.index
        let text = try cursor.plainText(path)
        guard text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw cursor.fieldFailure(
                at: start, path, "cannot be used", allowed: "ASCII without blanks")
        }
        return text
    }

    private static func basic(
        _ cursor: inout JSONCursor, _ path: String
    ) throws(Failure) -> OriginSettings.Authorization {
        let start = cursor.index
        let found = try texts(&cursor, path, allowed: ["user", "password"])
        guard let user = found["user"], let password = found["password"], !user.contains(":")
        else {
            throw cursor.fieldFailure(
                at: start, path, "cannot be used", allowed: "user, without a colon, and password")
        }
        return .basic(user: user, password: password)
    }

    private static func clientCertificate(
        _ cursor: inout JSONCursor, _ path: String
    ) throws(Failure) -> OriginSettings.ClientCertificate {
        let start = cursor.index
        let found = try texts(&cursor, path, allowed: ["certificate", "key", "password"])
        guard let certificate = found["certificate"] else {
            throw cursor.fieldFailure(
                at: start, "\(path).certificate", "is missing", allowed: "a PEM file")
        }
        return OriginSettings.ClientCertificate(
            certificate: certificate, key: found["key"], password: found["password"])
    }

    /// Reads an object of strings.
    private static func texts(
        _ cursor: inout JSONCursor, _ path: String, allowed: [String]
    ) throws(Failure) -> [String: String] {
        var found: [String: String] = [:]
        try cursor.expect(.object, path)
        try cursor.object { (cursor, name, offset) throws(Failure) in
            guard allowed.contains(name) else {
                throw cursor.unknownField(
                    name, at: offset, in: path, allowed: allowed.joined(separator: ", "))
            }
            found[name] = try cursor.plainText("\(path).\(name)")
        }
        return found
    }

    private static func proxy(
        _ cursor: inout JSONCursor, _ path: String
    ) throws(Failure) -> String {
        try cursor.expect(.string, path)
        let start = cursor.index
        let text = try cursor.plainText(path, limit: 2_048)
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        let schemes = ["http:", "https:", "socks5:", "socks5h:"]
        // Scheme, empty part, authority, and at most a slash after it.
        let isProxy =
            (3...4).contains(parts.count) && schemes.contains(String(parts[0]))
            && parts[1].isEmpty && !parts[2].isEmpty && parts.dropFirst(3).allSatisfy(\.isEmpty)
            && !text.contains { $0 == " " || $0 == "?" || $0 == "#" || $0 == "\\" }
        let problem = isProxy ? proxyProblem(parts[2]) : "is not a proxy"
        guard let problem else { return text }
        throw cursor.fieldFailure(
            at: start, path, problem,
            allowed: "http, https, socks5 or socks5h://[USER:PASSWORD@]HOST:PORT")
    }

    /// Describes a failure of a proxy's `[USER:PASSWORD@]HOST:PORT` without its values; nil for a
    /// valid one.
    private static func proxyProblem(_ authority: Substring) -> String? {
        let host = authority.split(separator: "@", omittingEmptySubsequences: false).last ?? ""
        do throws(WebURLError) {
            _ = try WebURL("http://\(host)/")
        } catch {
            return error.detail
        }
        // Without a port, libcurl would use its default, 1080.
        let port = host.drop { $0 != "]" }.isEmpty ? host[...] : host.drop { $0 != "]" }
        return port.contains(":") && port.last != ":" ? nil : "has no port"
    }

    private static func http(
        _ cursor: inout JSONCursor, _ path: String, _ origin: String?
    ) throws(Failure) -> OriginSettings.HTTPVersion {
        try cursor.expect(.string, path)
        let start = cursor.index
        let text = try cursor.plainText(path, limit: 100)
        let isPlain = origin?.hasPrefix("http:") == true
        let allowed = OriginSettings.HTTPVersion.allCases.filter { !isPlain || $0 != .http2 }
        guard let version = OriginSettings.HTTPVersion(rawValue: text), allowed.contains(version)
        else {
            throw cursor.fieldFailure(
                at: start, path, "given \"\(Redaction.shown(text))\"",
                allowed: allowed.map { "\"\($0.rawValue)\"" }.joined(separator: ", "))
        }
        return version
    }

    private static func keyQuery(
        _ cursor: inout JSONCursor, _ path: String
    ) throws(Failure) -> KeyQueryRule {
        var keep: [String] = []
        var leaveOut: [String] = []
        try cursor.expect(.object, path)
        let start = cursor.index
        try cursor.object { (cursor, name, offset) throws(Failure) in
            switch name {
            case "keep": keep = try parameterNames(&cursor, "\(path).keep")
            case "leaveOut": leaveOut = try parameterNames(&cursor, "\(path).leaveOut")
            default:
                throw cursor.unknownField(name, at: offset, in: path, allowed: "keep, leaveOut")
            }
        }
        let rule = KeyQueryRule(keep: keep, leaveOut: leaveOut)
        if let name = rule.keep?.first(where: { rule.leaveOut?.contains($0) == true }) {
            throw cursor.fieldFailure(
                at: start, path, "both keeps and leaves out \(Redaction.shown(name))",
                allowed: "each name in one of the two")
        }
        return rule
    }

    private static func parameterNames(
        _ cursor: inout JSONCursor, _ path: String
    ) throws(Failure) -> [String] {
        var names: [String] = []
        try cursor.expect(.array, path)
        let start = cursor.index
        try cursor.array { (cursor) throws(Failure) in
            let field = "\(path)[\(names.count)]"
            try cursor.expect(.string, field)
            let offset = cursor.index
            let name = try cursor.string()
            guard KeyQueryRule.isName(name) else {
                throw cursor.fieldFailure(
                    at: offset, field, "given \"\(Redaction.shown(name))\"",
                    allowed: KeyQueryRule.allowedName)
            }
            names.append(name)
        }
        guard names.count <= KeyQueryRule.maximumNames else {
            throw cursor.fieldFailure(
                at: start, path, "has \(names.count) names",
                allowed: "at most \(KeyQueryRule.maximumNames)")
        }
        return names
    }

    private static func timeouts(
        _ cursor: inout JSONCursor, _ path: String, _ settings: inout OriginSettings
    ) throws(Failure) {
        var result = settings
        try cursor.expect(.object, path)
        try cursor.object { (cursor, name, offset) throws(Failure) in
            let field = "\(path).\(name)"
            switch name {
            case "connectSeconds":
                result.connectSeconds = try cursor.decimalNumber(field, 0.001...3_600)
            case "firstByteSeconds":
                result.firstByteSeconds = try cursor.decimalNumber(field, 0.001...3_600)
            case "lowSpeedSeconds":
                result.lowSpeedSeconds = try cursor.decimalNumber(field, 0.001...3_600)
            case "lowSpeedBytesPerSecond":
                result.lowSpeedBytesPerSecond = try cursor.decimalNumber(field, 0...1e12)
            case "totalSeconds":
                result.totalSeconds = try cursor.decimalNumber(field, 0.001...2_592_000)
            default:
                throw cursor.unknownField(
                    name, at: offset, in: path,
                    allowed: "connectSeconds, firstByteSeconds, lowSpeedSeconds, "
                        + "lowSpeedBytesPerSecond, totalSeconds")
            }
        }
        settings = result
    }
}
