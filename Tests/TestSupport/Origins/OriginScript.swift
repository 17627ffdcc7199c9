package import Digest
import Statistics
internal import Synchronization

/// The behaviour of an origin for one object in a random history.
///
/// It may cut, change and confuse, but labels its bytes truthfully: a range as that range, a
/// version with its own validator. With a listed digest it may also lie.
package final class OriginScript: Sendable {
    package typealias Request = FaultOrigin.Request
    package typealias Response = FaultOrigin.Response

    /// The kind of object and the frequencies of faults. Chances are out of 56.
    package struct Shape: Sendable {
        package var bytes = 2_000...9_000
        package var changes = 8
        package var statuses = 4
        package var cuts = 35
        package var shifts = 11
        package var ignoredRanges = 6
        package var missingLabels = 5
        /// If true, it may be behind a redirect to one of two locations whose bytes differ.
        package var hasLocations = true
        /// `Accept-Ranges: bytes`.
        package var promisesRanges = false

        package init() {}
    }

    /// The validators of versions.
    private enum Validation: CaseIterable, Sendable {
        case strong
        /// A strong tag, but ranges with a condition are ignored.
        case strongUnconditional
        /// The same weak tag for all versions.
        case weak
        /// A date older than the response that changes with each version.
        case date
        /// The second of the response: the same for all versions.
        case youngDate
        case none
    }

    private struct Version {
        var body: [UInt8]
        var number: Int
    }

    private struct State {
        var random: SeededRandom
        var validation: Validation
        /// By location; one, unless the object is behind a changing redirect.
        var current: [Version]
        var everything: [[UInt8]]
        var statesDigests: Bool
        var lies: Bool
        var events: [String] = []
        var versions = 1

        mutating func chance(_ count: Int, in all: Int) -> Bool {
            Int.random(in: 0..<all, using: &random) < count
        }

        /// Returns blocks that differ from those of every other body, and from each other.
        mutating func makeBody(of count: Int) -> [UInt8] {
            let block = (0..<Self.blockWords).map { _ in random.next() }
            return [UInt8](unsafeUninitializedCapacity: count) { buffer, made in
                let bytes = UnsafeMutableRawBufferPointer(buffer)
                for start in stride(from: 0, to: count, by: Self.blockWords * 8) {
                    var block = block
                    block[0] &+= UInt64(start)
                    let end = min(start + Self.blockWords * 8, count)
                    block.withUnsafeBytes { words in
                        UnsafeMutableRawBufferPointer(rebasing: bytes[start..<end])
                            .copyMemory(from: .init(rebasing: words[..<(end - start)]))
                    }
                }
                made = count
            }
        }

        private static let blockWords = 256
    }

    package let path: String
    /// All paths of the object.
    package let locations: [String]
    /// Digests in the list; empty for none.
    package let listed: [ExpectedDigest]
    private let shape: Shape
    private let state: Mutex<State>

    /// Creates a script.
    ///
    /// - Parameter listed: algorithms of digests that the list may have.
    package init(
        seed: UInt64, path: String, shape: Shape = Shape(),
        listing algorithms: [DigestAlgorithm] = DigestAlgorithm.allCases
    ) {
        self.shape = shape
        var random = SeededRandom(seed: seed)
        let validation = Validation.allCases.randomElement(using: &random) ?? .none
        var state = State(
            random: random, validation: validation, current: [], everything: [],
            statesDigests: false, lies: false)
        let first = state.makeBody(of: Int.random(in: shape.bytes, using: &state.random))
        state.current = [Version(body: first, number: 0)]
        self.path = path
        if shape.hasLocations, state.chance(1, in: 6) {
            // Two locations with equal tags, lengths and dates, but different bytes.
            state.current.append(Version(body: state.makeBody(of: first.count), number: 0))
            locations = [path, path + "/0", path + "/1"]
        } else {
            locations = [path]
        }
        state.everything = state.current.map(\.body)
        state.statesDigests = state.chance(1, in: 3)
        var listed: [ExpectedDigest] = []
        if state.chance(1, in: 3) {
            let algorithm = algorithms.randomElement(using: &state.random) ?? .sha256
            listed = [digest(algorithm, first)].compactMap(\.self)
            // Four bytes do not detect lies reliably.
            state.lies = algorithm != .crc32c && state.chance(1, in: 2)
        }
        self.listed = listed
        self.state = Mutex(state)
    }

    package var events: [String] { state.withLock { $0.events } }

    package func log(_ event: String) { state.withLock { $0.events.append(event) } }

    /// Returns true for a complete version of the object; with a listed digest, only for that
    /// version.
    package func isRight(_ bytes: [UInt8]) -> Bool {
        state.withLock { state in
            state.everything.contains(bytes)
                && listed.allSatisfy { digest($0.algorithm, bytes) == $0 }
        }
    }

    package func answer(_ request: Request) -> Response {
        state.withLock { state in
            let (response, event) = answer(request, &state)
            let range = request.headers["range"] ?? "all"
            state.events.append("\(request.path) \(range): \(event)")
            return response
        }
    }

    private func answer(_ request: Request, _ state: inout State) -> (Response, String) {
        var index = 0
        if state.current.count > 1 {
            guard let last = request.path.split(separator: "/").last, request.path != path else {
                let choice = state.chance(1, in: 2) ? 1 : 0
                return (.redirect(to: "\(path)/\(choice)"), "redirected to \(choice)")
            }
            index = last == "1" ? 1 : 0
        }
        if state.chance(shape.changes, in: Self.all) { change(index, &state) }
        if state.chance(shape.statuses, in: Self.all) {
            let status = [503, 500, 429, 416, 404].randomElement(using: &state.random) ?? 503
            return (Response(status), "status \(status)")
        }
        var (response, event) = describe(request, index, &state)
        if state.lies, state.chance(1, in: 4) {
            let count = response.body.count
            if count > 0 {
                let position = Int.random(in: 0..<count, using: &state.random)
                response = response.corrupted(at: position)
                event += ", a lie at \(position)"
            }
        }
        if response.body.count > 1, state.chance(shape.cuts, in: Self.all) {
            let count = Int.random(in: 1..<response.body.count, using: &state.random)
            let isReset = state.chance(1, in: 3)
            response = response.cut(after: count, then: isReset ? .reset : .close)
            event += ", \(isReset ? "reset" : "cut") after \(count)"
        }
        return (response, event)
    }

    private static let all = 56

    private func change(_ index: Int, _ state: inout State) {
        let isSameLength = state.chance(1, in: 2)
        let other = Int.random(in: shape.bytes, using: &state.random)
        let body = state.makeBody(of: isSameLength ? state.current[index].body.count : other)
        state.current[index] = Version(body: body, number: state.versions)
        state.everything.append(body)
        state.versions += 1
        state.events.append("place \(index) has version \(state.versions - 1) now")
    }

    /// Returns the response before faults: 200 or a 206, with the version's validators.
    private func describe(
        _ request: Request, _ index: Int, _ state: inout State
    ) -> (Response, String) {
        let version = state.current[index]
        var headers = validators(of: version.number, state.validation)
        if state.statesDigests, let digest = digest(.sha1, version.body) {
            headers.append(("Repr-Digest", "sha=:\(base64(digest.bytes)):"))
        }
        if shape.promisesRanges { headers.append(("Accept-Ranges", "bytes")) }
        let condition = request.headers["if-range"]
        let holds = condition.map { value in headers.contains { $0.1 == value } } ?? true
        let ignoresCondition = state.chance(1, in: 5)
        let drops = state.validation == .strongUnconditional && condition != nil
        guard request.headers["range"] != nil, holds || ignoresCondition, !drops,
            !state.chance(shape.ignoredRanges, in: Self.all)
        else { return (Response(headers: headers, body: version.body), "200 v\(version.number)") }
        let count = version.body.count
        guard var range = request.range(within: count) else {
            return (
                Response(416, headers: headers + [("Content-Range", "bytes */\(count)")]), "416"
            )
        }
        if state.chance(shape.shifts, in: Self.all) { range = shifted(range, count, &state) }
        var label: String? = "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(count)"
        if state.chance(shape.missingLabels, in: Self.all) {
            label = state.chance(1, in: 2) ? nil : "bytes */\(count)"
        }
        if let label { headers.append(("Content-Range", label)) }
        let body = Array(version.body[range])
        return (
            Response(206, headers: headers, body: body),
            "206 v\(version.number) \(label ?? "without a label")"
        )
    }

    /// Returns another range than the requested one.
    private func shifted(_ range: Range<Int>, _ count: Int, _ state: inout State) -> Range<Int> {
        let start = Int.random(in: 0..<count, using: &state.random)
        // Of the same length, if possible, so that only its label differs.
        return start..<min(max(start + range.count, start + 1), count)
    }

    private func validators(
        of version: Int, _ validation: Validation
    ) -> [(String, String)] {
        let start = "Sun, 06 Nov 1994 08:"
        let minute = version < 10 ? "0\(version)" : "\(version)"
        switch validation {
        case .strong, .strongUnconditional: return [("ETag", "\"v\(version)\"")]
        case .weak: return [("ETag", "W/\"v\"")]
        case .date:
            return [
                ("Last-Modified", "\(start)\(minute):37 GMT"), ("Date", "\(start)59:59 GMT"),
            ]
        case .youngDate:
            return [("Last-Modified", "\(start)49:37 GMT"), ("Date", "\(start)49:37 GMT")]
        case .none: return []
        }
    }
}
