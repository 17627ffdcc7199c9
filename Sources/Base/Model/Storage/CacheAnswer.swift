/// The way a cache served an object, from the headers of its response.
package struct CacheAnswer: Hashable, Sendable {
    package enum State: String, Codable, CaseIterable, Sendable {
        /// Served from the cache.
        case hit
        /// Fetched from the origin, and stored.
        case stored
        /// Fetched from the origin; whether it was stored is not stated.
        case miss
        /// Fetched from the origin, and not stored.
        case notStored
        /// The response does not show a cache.
        case unknown

        /// True if the cache has the object by now.
        package var isStored: Bool { [.hit, .stored].contains(self) }

        /// True if nothing shows that the cache may keep the object.
        package var isUnstored: Bool { [.notStored, .unknown].contains(self) }
    }

    package var state: State
    /// Seconds of `Age`; nil without it.
    package var ageSeconds: Int?
    /// The header field that decided, and those that forbid storing; at most `maxDetail` characters.
    package var detail: String

    package static let maxDetail = 300

    package init(_ state: State, ageSeconds: Int? = nil, detail: String) {
        self.state = state
        self.ageSeconds = ageSeconds
        let plain = detail.unicodeScalars.filter { $0.value >= 0x20 && $0.value != 0x7F }
        self.detail = String(String(String.UnicodeScalarView(plain)).prefix(Self.maxDetail))
    }

    /// The text that workers report: state, age or `-`, and detail.
    package var text: String {
        "\(state.rawValue) \(ageSeconds.map(String.init) ?? "-") \(detail)"
    }

    /// Reads a reported text; nil if it is none.
    package init?(text: String) {
        let parts = text.split(separator: " ", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, let state = State(rawValue: String(parts[0])),
            parts[2].count <= Self.maxDetail
        else { return nil }
        let age = Int(parts[1]).flatMap { $0 >= 0 ? $0 : nil }
        guard age != nil || parts[1] == "-" else { return nil }
        self.init(state, ageSeconds: age, detail: String(parts[2]))
    }
}
