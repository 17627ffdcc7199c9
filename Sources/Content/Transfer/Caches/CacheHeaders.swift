package import Model

/// Reads from a response how the cache next to the client served it.
///
/// `Cache-Status` (RFC 9211) decides if there is one. Then follow the fields that vendors set, of
/// which the last value is that of the cache next to the client, and `Age`.
package struct CacheHeaders {
    let values: (String) -> [String]

    package init(_ values: @escaping (String) -> [String]) { self.values = values }

    /// Fields that hold a word such as `HIT`: Cloudflare; Varnish, Fastly, CloudFront, Akamai,
    /// Traffic Server's xdebug; nginx as usually configured.
    static let words = ["CF-Cache-Status", "X-Cache", "X-Cache-Status", "X-Proxy-Cache"]

    package var answer: CacheAnswer {
        let age = values("Age").last.flatMap { Int($0) }.flatMap { $0 >= 0 ? $0 : nil }
        let (state, evidence) = byCacheStatus ?? byWord ?? byVarnish ?? byVia ?? byAge(age)
        let notStoredReason = [.hit, .stored].contains(state) ? nil : notStoredReason
        // A miss whose response forbids storing was not stored, whatever the cache calls it.
        let isForbidden = state == .miss && notStoredReason?.forbids == true
        return CacheAnswer(
            isForbidden ? .notStored : state, ageSeconds: age,
            detail: [notStoredReason?.text, evidence].compactMap(\.self).joined(separator: "; "))
    }

    typealias Finding = (state: CacheAnswer.State, evidence: String?)

    private var byCacheStatus: Finding? {
        let lines = values("Cache-Status")
        guard let edge = CacheStatusMember.parse(lines).last else { return nil }
        let evidence = "Cache-Status: " + lines.joined(separator: ", ")
        if edge.isHit { return (.hit, evidence) }
        if edge.isStored == true { return (.stored, evidence) }
        if edge.isStored == false || edge.forward == "bypass" { return (.notStored, evidence) }
        return (edge.forward == nil ? .unknown : .miss, evidence)
    }

    private var byWord: Finding? {
        for name in Self.words {
            guard let value = values(name).last, let word = Self.lastWord(of: value),
                let state = Self.state(of: word)
            else { continue }
            return (state, "\(name): \(value)")
        }
        return nil
    }

    /// Returns what names the state in `MISS, HIT`, `Hit from cloudfront` or
    /// `TCP_MEM_HIT from a23-1-2-3 (AkamaiGHost/1)`.
    private static func lastWord(of value: String) -> String? {
        value.split(separator: ",").last?.split(separator: " ").first.map { $0.lowercased() }
    }

    private static func state(of word: String) -> CacheAnswer.State? {
        var word = word
        if word.hasPrefix("tcp_") { word.removeFirst(4) }
        switch word {
        case "stale", "updating", "revalidated": return .hit
        case "expired": return .miss
        case "bypass", "pass", "dynamic", "uncacheable", "none", "synth", "error": return .notStored
        // From an edge of Akamai: the origin was asked, and had changed or not.
        case "refresh_miss", "expired_miss": return .miss
        default:
            if word.hasPrefix("hit") || word.hasSuffix("hit") { return .hit }
            return word.hasPrefix("miss") || word.hasSuffix("miss") ? .miss : nil
        }
    }

    /// Varnish names the request, and with a hit also the one that stored the object.
    private var byVarnish: Finding? {
        guard let value = values("X-Varnish").last else { return nil }
        let isHit = value.split(separator: " ").count > 1
        return (isHit ? .hit : .miss, "X-Varnish: \(value)")
    }

    /// Traffic Server's codes: `[uScMsSfWpSeN:t cCMp sS]` (`response_via_str`).
    private var byVia: Finding? {
        guard let value = values("Via").last, let open = value.lastIndex(of: "[") else {
            return nil
        }
        let codes = Array(value[value.index(after: open)...].prefix { $0 != ":" && $0 != "]" })
        var found: [Character: Character] = [:]
        for index in stride(from: 0, to: codes.count - 1, by: 2) {
            found[codes[index]] = codes[index + 1]
        }
        let evidence = "Via: \(value)"
        switch found["c"] {
        case "H", "R": return (.hit, evidence)
        case "M", "S", "A":
            switch found["f"] {
            case "W", "U": return (.stored, evidence)
            case " ": return (.notStored, evidence)
            default: return (.miss, evidence)
            }
        default: return nil
        }
    }

    private func byAge(_ age: Int?) -> Finding {
        guard let age else { return (.unknown, nil) }
        return (age > 0 ? .hit : .unknown, "Age: \(age)")
    }

    /// A reason against storing, as the response states it: `forbids` if no cache may, else only what some
    /// caches take as a reason.
    private var notStoredReason: (text: String, forbids: Bool)? {
        let control = values("Cache-Control").joined(separator: ", ")
        let directives = control.lowercased().split(separator: ",").map {
            $0.split(separator: " ").joined()
        }
        let names = Set(directives)
        let ages = directives.compactMap { text -> (shared: Bool, seconds: Int)? in
            let parts = text.split(separator: "=")
            guard parts.count == 2, let seconds = Int(parts[1]) else { return nil }
            switch parts[0] {
            case "s-maxage": return (true, seconds)
            case "max-age": return (false, seconds)
            default: return nil
            }
        }
        let lifetime = ages.first { $0.shared } ?? ages.first
        if !names.isDisjoint(with: ["no-store", "private", "no-cache"]) || lifetime?.seconds == 0 {
            return ("Cache-Control: \(control)", true)
        }
        let vary = values("Vary").joined(separator: ", ")
        if vary.contains("*") { return ("Vary: \(vary)", true) }
        if !values("Set-Cookie").isEmpty { return ("Set-Cookie", false) }
        return nil
    }
}
