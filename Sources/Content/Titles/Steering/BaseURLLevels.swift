import WebURL

/// The BaseURLs above some segments, level by level, with their service locations (ISO/IEC 23009-1,
/// 5.6); or the Locations of an MPD, which are one level.
///
/// Each is resolved against the one chosen at the level above, so alternatives multiply by level. A
/// class, because all objects of a representation have the same.
package final class BaseURLLevels: Sendable, Hashable {
    /// A BaseURL of a level.
    package struct Choice: Sendable, Hashable {
        /// Its `serviceLocation`; empty without one.
        package let location: String
        /// The reference as written; resolved if it is absolute.
        package let reference: String
        /// True if the levels above do not matter to it.
        package let isAbsolute: Bool

        package init(location: String = "", reference: String, isAbsolute: Bool) {
            self.location = location
            self.reference = reference
            self.isAbsolute = isAbsolute
        }
    }

    /// From the outermost one, whose choices are absolute. Each has its first BaseURL, and the
    /// first of each other location.
    package let levels: [[Choice]]
    /// Base of references if the first choice of every level is used.
    package let base: String

    package init(_ levels: [[Choice]], base: String) {
        self.levels = levels
        self.base = base
    }

    /// Adds the BaseURLs of a level to those above; nil if none has a service location that matters.
    ///
    /// - Parameters:
    ///   - outer: the levels above; nil if none has a location.
    ///   - url: what the first one is resolved against.
    ///   - base: the first one, resolved.
    convenience init?(
        _ given: [DASHManifest.BaseURL], below outer: BaseURLLevels?, at url: WebURL, base: WebURL
    ) {
        guard outer != nil || given.contains(where: { ContentSteering.isName($0.location) }) else {
            return nil
        }
        let level = Self.level(given, at: url, base: base)
        var levels = [level]
        if !level.allSatisfy(\.isAbsolute) {
            let above = outer?.levels ?? [[Choice(reference: url.text, isAbsolute: true)]]
            levels.insert(contentsOf: above, at: 0)
        }
        guard levels.joined().contains(where: { !$0.location.isEmpty }) else { return nil }
        self.init(levels, base: base.text)
    }

    /// Creates the levels of an MPD's Location elements; nil without one that is a URL.
    ///
    /// There is a level above if some are relative: the MPD's URL.
    convenience init?(locations given: [DASHManifest.BaseURL], at url: WebURL) {
        guard let first = given.first, let base = try? url.resolve(first.reference) else {
            return nil
        }
        let level = Self.level(given, at: url, base: base)
        let above = [Choice(reference: url.text, isAbsolute: true)]
        self.init(level.allSatisfy(\.isAbsolute) ? [level] : [above, level], base: base.text)
    }

    private static func level(
        _ given: [DASHManifest.BaseURL], at url: WebURL, base: WebURL
    ) -> [Choice] {
        var level: [Choice] = []
        for (index, one) in given.enumerated() {
            let location = ContentSteering.isName(one.location) ? one.location : ""
            // Without a name no others can be chosen.
            let isNew = !location.isEmpty && !level.contains { $0.location == location }
            // Players skip alternatives that are no URLs.
            guard index == 0 || isNew,
                let resolved = try? index == 0 ? base : url.resolve(one.reference)
            else { continue }
            let isAbsolute = ReferenceForm(one.reference) == .url
            level.append(
                Choice(
                    location: location, reference: isAbsolute ? resolved.text : one.reference,
                    isAbsolute: isAbsolute))
        }
        return level
    }

    /// Absolute URLs, among them one of each host that some choice leads to.
    package var hosts: [String] {
        var urls: [String] = []
        var outer: WebURL?
        for level in levels {
            let all = level.compactMap { choice in
                try? outer?.resolve(choice.reference) ?? WebURL(choice.reference)
            }
            urls += all.map(\.text)
            outer = all.first
        }
        return urls
    }

    package static func == (left: BaseURLLevels, right: BaseURLLevels) -> Bool {
        left === right || left.base == right.base && left.levels == right.levels
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(base)
        hasher.combine(levels)
    }
}
