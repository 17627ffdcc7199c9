internal import Curl
internal import Model

/// Reads how long a response is fresh for a cache that many viewers share, as an edge is one
/// (RFC 9111, 4.2.1).
struct Freshness {
    let values: (String) -> [String]

    init(_ values: @escaping (String) -> [String]) { self.values = values }

    /// Seconds from the response's arrival, in `WireLimits.freshSeconds`; nil if it states none.
    ///
    /// 0 for a response that must not be used without asking again, and for a lifetime that is
    /// malformed.
    var seconds: Int? {
        guard let lifetime else { return nil }
        return min(max(lifetime - age, 0), WireLimits.freshSeconds.upperBound)
    }

    private var lifetime: Int? {
        let directives = CacheDirectives(values("Cache-Control"))
        if directives.contains("no-store") || directives.contains("no-cache") { return 0 }
        for name in ["s-maxage", "max-age"] {
            guard let text = directives.argument(of: name) else { continue }
            return Self.deltaSeconds(text) ?? 0
        }
        guard let expires = values("Expires").first else { return nil }
        // As `Expires: 0`: a malformed date has passed.
        guard let end = HTTPDate.seconds(expires) else { return 0 }
        guard let date = values("Date").first, let start = HTTPDate.seconds(date) else {
            return nil
        }
        return Int(max(end - start, 0))
    }

    /// Seconds that the response has spent in caches.
    private var age: Int { values("Age").first.flatMap(Self.deltaSeconds) ?? 0 }

    /// Reads a number of seconds; larger ones than the largest count as that.
    private static func deltaSeconds(_ text: some StringProtocol) -> Int? {
        guard !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
            return nil
        }
        let most = WireLimits.freshSeconds.upperBound
        return min(Int(text) ?? most, most)
    }
}

/// The directives of `Cache-Control` (RFC 9111, 5.2), in their order. Of repeated ones the first
/// counts.
struct CacheDirectives {
    private var all: [(name: String, argument: String?)] = []

    /// - Parameter lines: the values of all fields of a message.
    init(_ lines: [String]) {
        for line in lines {
            var rest = Substring(line)
            while !rest.isEmpty {
                let directive = Self.take(&rest)
                guard !directive.name.isEmpty else { continue }
                all.append(directive)
            }
        }
    }

    /// True for a directive that has no argument: `no-cache="Set-Cookie"` is about that field alone.
    func contains(_ name: String) -> Bool {
        all.contains { $0.name == name && $0.argument == nil }
    }

    /// Returns the argument of the first directive with this name, which may be quoted; empty if it
    /// has none. Nil without such a directive.
    func argument(of name: String) -> String? {
        all.first { $0.name == name }.map { $0.argument ?? "" }
    }

    /// Takes a directive and the comma after it. Commas in quotes separate nothing.
    private static func take(_ rest: inout Substring) -> (name: String, argument: String?) {
        var isQuoted = false
        var isEscaped = false
        var end = rest.startIndex
        while end < rest.endIndex {
            let character = rest[end]
            if isEscaped {
                isEscaped = false
            } else if isQuoted, character == "\\" {
                isEscaped = true
            } else if character == "\"" {
                isQuoted.toggle()
            } else if character == ",", !isQuoted {
                break
            }
            end = rest.index(after: end)
        }
        let text = rest[..<end]
        rest = end < rest.endIndex ? rest[rest.index(after: end)...] : ""
        let halves = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        let name = trimmed(halves[0]).lowercased()
        guard halves.count == 2 else { return (name, nil) }
        var argument = trimmed(halves[1])
        if argument.count >= 2, argument.first == "\"", argument.last == "\"" {
            argument = argument.dropFirst().dropLast()
        }
        return (name, String(argument))
    }

    private static func trimmed(_ text: Substring) -> Substring {
        let start = text.drop { $0 == " " || $0 == "\t" }
        guard let last = start.lastIndex(where: { $0 != " " && $0 != "\t" }) else { return "" }
        return start[...last]
    }
}
