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
        /// Index of the pathway in the source whose renditions it has.
        package let origin: Int
        /// The first one to apply first.
        let replacements: [URIReplacement]
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
    private var priority: [String]
    /// By name, the end of its penalty.
    private var penalties: [String: Double] = [:]
    /// Pathways in use since the last request.
    private var used: [String]
    package private(set) var current: Pathway
    /// True if playback waits for the first answer.
    package private(set) var holdsStart: Bool

    /// - Parameter server: URL of the steering server; nil without one.
    package init(_ source: SteeringSource, server: String?) {
        self.source = source
        url = server ?? ""
        state = server == nil ? .over : .idle
        holdsStart = server != nil && source.asksBeforeStart
        pathways = source.pathways.enumerated().map {
            Pathway(name: $1.name, origin: $0, replacements: [])
        }
        priority = source.pathways.map(\.name)
        current = pathways[0]
        used = [current.name]
    }

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
            defer { used = [current.name] }
            return .request(requestURL(bitsPerSecond))
        }
    }

    private func requestURL(_ bitsPerSecond: Double?) -> String {
        let form = source.form.rawValue
        let names = source.form == .hls ? current.name : used.joined(separator: ",")
        var query = "_\(form)_pathway=\(SteeringQuery.encoded("\"\(names)\""))"
        if let bitsPerSecond, bitsPerSecond < 1e15 {
            query += "&_\(form)_throughput=\(Int64(bitsPerSecond.rounded()))"
        }
        return url + (url.contains("?") ? "&" : "?") + query
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
            do throws(WebURLError) { next.url = try WebURL(url).resolve(reload).text } catch {
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

    /// Chooses by the server's list, and returns true if the pathway changed.
    package mutating func choose(atSeconds now: Double) -> Bool {
        penalties = penalties.filter { $0.value > now }
        for name in priority where penalties[name] == nil {
            guard let chosen = pathways.first(where: { $0.name == name }) else { continue }
            guard chosen != current else { return false }
            current = chosen
            if !used.contains(chosen.name) { used.append(chosen.name) }
            return true
        }
        return false
    }

    /// Takes a failure of the current pathway, and returns true if another one is chosen.
    package mutating func pathwayFailed(atSeconds now: Double) -> Bool {
        penalties[current.name] = now + Self.penaltySeconds
        return choose(atSeconds: now)
    }

    // MARK: URLs

    /// Returns the URL of an object for the viewer: on its pathway, and where its manifests were
    /// received.
    package func url(
        of object: borrowing LoadPlan.Object, at index: Int32, _ moves: ManifestMoves
    ) -> String {
        guard object.manifest >= 0 else { return object.url }
        switch source.form {
        case .hls:
            let url = moves.url(of: object) ?? object.url
            guard object.role == .playlist else { return url }
            return current.replacements.reduce(url) { $1.url($0, source.stableIDs[index]) }
        case .dash:
            let wanted = current.replacements.reduce(source.pathways[current.origin].base) {
                $1.url($0, nil)
            }
            let url = ManifestMove(from: source.base, to: wanted).url(object.url)
            let moved = moves.move(ofManifest: object.manifest).map { $0.url(url) } ?? url
            return current.replacements.reduce(moved) { $1.withParameters($0) }
        }
    }
}
