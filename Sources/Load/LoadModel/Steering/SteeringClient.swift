package import Model
import Titles
import WebURL

/// Content steering of one viewer, as players follow it: requests the steering manifest while the
/// title plays, and chooses the pathway.
///
/// The viewer begins with the pathway that the manifest names. The chosen one is the first of the
/// server's list that the title has and that has not failed in the last `penaltySeconds`. It
/// changes when the server answers and when the pathway fails; without a server only then, in the
/// manifest's order. RFC 8216bis, section 7; ETSI TS 103 998.
///
/// Levels of DASH may have different service locations, so each of these groups has its own choice:
/// the first of the list that the group has. It stays with its own if the list has none of them.
///
/// A value, confined to the loop that drives it.
package struct SteeringClient: Sendable {
    package enum Action: Sendable, Equatable {
        case request(String)
        /// Nothing until then, on the test's clock.
        case wait(untilSeconds: Double)
        /// Nothing any more.
        case none
    }

    /// A pathway of the title, or a clone of one.
    package struct Pathway: Sendable, Equatable {
        package let name: String
        /// Index of the pathway whose renditions or BaseURLs it has; its own unless it is a clone.
        package let origin: Int
        /// The first one to apply first.
        let replacements: [URIReplacement]
    }

    /// Pathways of which one is chosen.
    private struct Group: Sendable {
        let names: [String]
        /// Their indexes; clones of them belong to the group too.
        let members: [Int]
        /// Index of the pathway.
        var chosen: Int
    }

    private enum State: Sendable, Equatable {
        /// The title's manifest has not come yet.
        case idle
        case requesting
        case waiting(untilSeconds: Double)
        /// Without a server, or after its 410.
        case over
    }

    /// Time for which a pathway that failed is not chosen (RFC 8216bis, section 7.5).
    package static let penaltySeconds = 120.0

    private let source: SteeringSource
    private var state: State
    private var url: String
    private var ttlSeconds = SteeringManifest.defaultTTLSeconds
    private var pathways: [Pathway]
    /// The server's list; nil for the manifest's order.
    private var priority: [String]?
    /// By name, the end of its penalty.
    private var penalties: [String: Double] = [:]
    private var groups: [Group] = []
    /// Pathways in use since the last request, and those that it named.
    private var used: [String] = []
    private var reported: [String] = []
    /// True if playback waits for the first answer.
    package private(set) var holdsStart: Bool

    package init(_ source: SteeringSource) {
        self.source = source
        url = source.serverURL ?? ""
        state = source.serverURL == nil ? .over : .idle
        holdsStart = source.serverURL != nil && source.asksBeforeStart
        pathways = source.pathways.enumerated().map {
            Pathway(name: $1.name, origin: $0, replacements: [])
        }
        for names in source.groups { _ = group(of: names) }
        reported = [current.name]
    }

    /// The pathway of the first group: that of HLS, which has one.
    package var current: Pathway { pathways[groups.first?.chosen ?? 0] }

    package var form: SteeringSource.Form { source.form }

    // MARK: Requests

    /// Begins, once: the title's manifest has come.
    package mutating func begin(atSeconds now: Double) {
        if state == .idle { state = .waiting(untilSeconds: now) }
    }

    /// Returns the next action.
    ///
    /// - Parameter bitsPerSecond: measured throughput; nil if unknown.
    package mutating func next(_ bitsPerSecond: Double?, atSeconds now: Double) -> Action {
        switch state {
        case .idle, .requesting, .over: return .none
        case .waiting(let until):
            guard now >= until else { return .wait(untilSeconds: until) }
            state = .requesting
            if !used.isEmpty { reported = used }
            used = []
            return .request(requestURL(bitsPerSecond))
        }
    }

    private func requestURL(_ bitsPerSecond: Double?) -> String {
        let form = source.form.rawValue
        let names = source.form == .hls ? current.name : reported.joined(separator: ",")
        var query = "_\(form)_pathway=\(SteeringQuery.encoded("\"\(names)\""))"
        if let bitsPerSecond, bitsPerSecond < 1e15 {
            query += "&_\(form)_throughput=\(Int64(bitsPerSecond.rounded()))"
        }
        if source.proxyURL != nil { query = "url=\(SteeringQuery.encoded(url))&\(query)" }
        let server = source.proxyURL ?? url
        return server + (server.contains("?") ? "&" : "?") + query
    }

    /// Takes an answer.
    ///
    /// - Parameter url: its URL after redirects.
    ///
    /// Throws `manifest.…`; the list so far holds then.
    package mutating func received(
        _ body: [UInt8], at url: String, atSeconds now: Double
    ) throws(Failure) {
        holdsStart = false
        state = .waiting(untilSeconds: now + ttlSeconds)
        let manifest = try SteeringManifest(body)
        var next = self
        try next.take(manifest.clones)
        if let reload = manifest.reload {
            // What a proxy passes on is the server's.
            let base = source.proxyURL == nil ? url : self.url
            do throws(WebURLError) { next.url = try WebURL(base).resolve(reload).text } catch {
                throw Failure(.manifestMalformed, "RELOAD-URI: \(error.detail)")
            }
        }
        next.ttlSeconds = manifest.ttlSeconds
        next.state = .waiting(untilSeconds: now + next.ttlSeconds)
        next.priority = manifest.priority
        self = next
    }

    /// Takes a failed request: 410 ends steering, the list so far holds; others are repeated after
    /// the TTL, 429 after `Retry-After`.
    package mutating func failed(
        status: Int, retryAfterSeconds: Double?, atSeconds now: Double
    ) {
        holdsStart = false
        guard status != 410 else { return state = .over }
        var wait = ttlSeconds
        if status == 429, let seconds = retryAfterSeconds {
            wait = max(seconds, SteeringManifest.ttlRange.lowerBound)
        }
        state = .waiting(untilSeconds: now + wait)
    }

    private mutating func take(_ clones: [SteeringManifest.Clone]) throws(Failure) {
        for clone in clones where !pathways.contains(where: { $0.name == clone.name }) {
            guard let base = pathways.first(where: { $0.name == clone.base }) else { continue }
            guard pathways.count < ContentSteering.maxPathways else {
                throw Failure(
                    .manifestTooMany,
                    "the title and its clones have more than \(ContentSteering.maxPathways) "
                        + "pathways")
            }
            pathways.append(
                Pathway(
                    name: clone.name, origin: base.origin,
                    replacements: base.replacements + [clone.replacement]))
        }
    }

    // MARK: Choosing

    /// Returns the index of a group, which is added if it is new: a live MPD may get other
    /// locations. Nil for one too many.
    private mutating func group(of names: [String]) -> Int? {
        if let known = groups.firstIndex(where: { $0.names == names }) { return known }
        guard groups.count < ContentSteering.maxPathways else { return nil }
        var members: [Int] = []
        for name in names {
            if let known = pathways.firstIndex(where: { $0.name == name }) {
                members.append(pathways[known].origin)
            } else if pathways.count < ContentSteering.maxPathways {
                members.append(pathways.count)
                pathways.append(Pathway(name: name, origin: pathways.count, replacements: []))
            }
        }
        guard let first = members.first else { return nil }
        groups.append(Group(names: names, members: members, chosen: first))
        if let chosen = choice(of: groups[groups.count - 1]) {
            groups[groups.count - 1].chosen = chosen
        }
        return groups.count - 1
    }

    /// Returns the index of the first pathway of the list that a group has and that is not
    /// penalized; nil without one.
    private func choice(of group: Group) -> Int? {
        for name in priority ?? pathways.map(\.name) where penalties[name] == nil {
            let found = pathways.firstIndex { $0.name == name }
            if let found, group.members.contains(pathways[found].origin) { return found }
        }
        return nil
    }

    /// Chooses by the server's list, and returns true if a pathway changed.
    package mutating func choose(atSeconds now: Double) -> Bool {
        penalties = penalties.filter { $0.value > now }
        var hasChanged = false
        for index in groups.indices {
            guard let chosen = choice(of: groups[index]), chosen != groups[index].chosen else {
                continue
            }
            groups[index].chosen = chosen
            use(pathways[chosen].name)
            hasChanged = true
        }
        return hasChanged
    }

    private mutating func use(_ name: String) {
        if !used.contains(name) { used.append(name) }
    }

    /// The effect of a pathway's failure.
    package struct Departure: Sendable, Equatable {
        /// True if any group has another pathway now.
        package var hasChanged = false
        /// True if the object has.
        package var movesObject = false
    }

    /// Takes a failure of an object's pathway.
    package mutating func pathwayFailed(
        of object: borrowing LoadPlan.Object, atSeconds now: Double
    ) -> Departure {
        guard let failed = pathway(of: object) else { return Departure() }
        penalties[failed] = now + Self.penaltySeconds
        let hasChanged = choose(atSeconds: now)
        return Departure(
            hasChanged: hasChanged, movesObject: hasChanged && pathway(of: object) != failed)
    }

    /// Returns the name of the pathway on which an object is requested; nil for none.
    package mutating func pathway(of object: borrowing LoadPlan.Object) -> String? {
        switch source.form {
        case .hls: return object.manifest >= 0 ? current.name : nil
        case .dash: return object.locations.flatMap { base(of: $0).pathway?.name }
        }
    }

    // MARK: URLs

    /// The target of a request for an object.
    package struct Destination: Sendable, Equatable {
        package var url: String
        /// Name of its pathway; nil for none.
        package var pathway: String?
    }

    /// Returns where the viewer requests an object: on its pathway, and where its manifests were
    /// received.
    package mutating func destination(
        of object: borrowing LoadPlan.Object, at index: Int32, _ moves: ManifestMoves
    ) -> Destination {
        switch source.form {
        case .hls:
            guard object.manifest >= 0 else { return Destination(url: object.url) }
            var url = moves.url(of: object) ?? object.url
            if object.role == .playlist {
                url = current.replacements.reduce(url) { $1.url($0, source.stableIDs[index]) }
            }
            return Destination(url: url, pathway: current.name)
        case .dash:
            guard let locations = object.locations else {
                return Destination(url: moves.url(of: object) ?? object.url)
            }
            let base = base(of: locations)
            var url = object.url
            if url == locations.base {
                url = base.url
            } else if base.url != locations.base {
                url = ManifestMove(from: locations.base, to: base.url).url(url)
            }
            if !base.isFixed {
                url = moves.move(ofManifest: object.manifest)?.url(url, as: object.form) ?? url
            }
            guard let pathway = base.pathway else { return Destination(url: url) }
            use(pathway.name)
            return Destination(
                url: pathway.replacements.reduce(url) { $1.withParameters($0) },
                pathway: pathway.name)
        }
    }

    /// Resolves BaseURLs, with the chosen one of each level (ISO/IEC 23009-1, 5.6.4).
    ///
    /// - Returns: the base, and the pathway that it is on: of the BaseURL that has the host, else of
    ///   the first one below. It is fixed if it does not follow the MPD: its host is that of the
    ///   pathway. The first BaseURLs without a pathway, if the chosen ones cannot be resolved.
    private mutating func base(
        of locations: BaseURLLevels
    ) -> (url: String, pathway: Pathway?, isFixed: Bool) {
        var base: WebURL?
        var pathway: Pathway?
        var isFixed = false
        for level in locations.levels {
            let (choice, own) = choice(of: level)
            let replacements = own?.replacements ?? []
            guard let url = try? base?.resolve(choice.reference) ?? WebURL(choice.reference),
                let changed = try? replacements.isEmpty
                    ? url : WebURL(replacements.reduce(url.text) { $1.url($0, nil) })
            else { return (locations.base, nil, false) }
            base = changed
            if choice.isAbsolute { isFixed = own != nil }
            // A clone has a host of its own.
            if choice.isAbsolute || pathway == nil || !replacements.isEmpty { pathway = own }
        }
        return (base?.text ?? locations.base, pathway, isFixed)
    }

    /// Returns the chosen BaseURL of a level, and the pathway for which it is; the first one
    /// without a service location, and of one too many.
    private mutating func choice(
        of level: [BaseURLLevels.Choice]
    ) -> (BaseURLLevels.Choice, Pathway?) {
        let names = level.map(\.location).filter { !$0.isEmpty }
        guard !names.isEmpty, let group = group(of: names) else { return (level[0], nil) }
        let pathway = pathways[groups[group].chosen]
        let name = pathways[pathway.origin].name
        guard let choice = level.first(where: { $0.location == name }) else {
            return (level[0], nil)
        }
        return (choice, pathway)
    }
}
