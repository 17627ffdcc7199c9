import FoundationEssentials
package import Model

/// Writes a scenario for the workers of a cluster, as `LoadScenarioReader` reads it.
///
/// Workers have none of the client's files: they get rows of viewers' data and requests of a replay as
/// `LoadParts`. Thresholds are left out because they are judged over all shards.
package enum LoadScenarioWriter {
    /// Throws `input.field` for parts that a worker cannot read: a list, local files, a repeated
    /// header.
    package static func write(_ scenario: LoadScenario) throws(Failure) -> String {
        let document = try Document(scenario)
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.withoutEscapingSlashes, .sortedKeys]
        do {
            return String(decoding: try encoder.encode(document), as: UTF8.self)
        } catch {
            throw Failure(.workerInternal, "A scenario could not be written: \(error)")
        }
    }

    /// Truncates a name to the allowed length: a target without a name has its URL.
    package static func name(_ text: String) -> String {
        var name = ""
        for character in text {
            guard name.utf8.count + character.utf8.count <= LoadLimits.nameBytes else { break }
            name.append(character)
        }
        return name
    }

    /// Throws for files that a worker cannot read.
    package static func checkFiles(of scenario: LoadScenario) throws(Failure) {
        if let index = scenario.targets.firstIndex(where: \.isList) {
            throw Failure(
                .inputField, at: .field("targets[\(index)].list"),
                "given",
                allowed: "on a cluster: url")
        }
        guard scenario.http.caFile == nil else {
            throw Failure(
                .inputField, at: .field("http.caFile"),
                "given",
                allowed: "on a cluster: the certificate authorities that its workers trust")
        }
    }
}

extension LoadTarget {
    fileprivate var isList: Bool {
        if case .list = source { true } else { false }
    }
}

/// A scenario's JSON without nil fields.
private struct Document: Encodable {
    var name: String?
    var seed: UInt64
    var targets: [Target] = []
    var popularity: Popularity?
    var arrivals: Arrivals
    var viewers: ViewerSettings?
    var warmUpSeconds: Double
    var caps: Caps
    var http: HTTP
    var thinkTime: Think?
    var bodies: String
    var allow: [String]?
    var privateHosts: [String]?

    struct Target: Encodable {
        var url: String
        var kind: String
        var name: String
        var weight: Double?
        var sha256: String?
        var mayFail: Bool?
    }

    struct Popularity: Encodable {
        var zipf: Double
    }

    struct Arrivals: Encodable {
        var process: String?
        var stages: [Stage]
    }

    struct Stage: Encodable {
        var seconds: Double
        var from: Double
        var rate: Double?
        var users: Double?
    }

    struct Caps: Encodable {
        var seconds: Double?
        var requests: Int64?
        var bytes: Int64?
    }

    struct HTTP: Encodable {
        var version: String
        var keepAlive: Bool
        var concurrency: Int?
        var headers: [String: String]?
        var connectTimeoutSeconds: Double
        var timeoutSeconds: Double
        var maxRedirects: Int?
    }

    struct Think: Encodable {
        var seconds: Double?
        var meanSeconds: Double?
    }

    init(_ scenario: LoadScenario) throws(Failure) {
        try LoadScenarioWriter.checkFiles(of: scenario)
        name = scenario.name.isEmpty ? nil : scenario.name
        seed = scenario.seed
        warmUpSeconds = scenario.warmUpSeconds
        bodies = scenario.bodies.rawValue
        allow = scenario.allow.isEmpty ? nil : scenario.allow
        privateHosts = scenario.privateHosts.isEmpty ? nil : scenario.privateHosts
        let isZipf: Bool
        if case .zipf(let exponent) = scenario.popularity {
            popularity = Popularity(zipf: exponent)
            isZipf = true
        } else {
            isZipf = false
        }
        arrivals = Self.arrivals(scenario)
        if case .viewers(let settings) = scenario.user { viewers = settings }
        caps = Caps(
            seconds: scenario.caps.durationSeconds, requests: scenario.caps.requests,
            bytes: scenario.caps.bytes)
        thinkTime =
            switch scenario.think {
            case .none: nil
            case .constant(let seconds): Think(seconds: seconds)
            case .exponential(let mean): Think(meanSeconds: mean)
            }
        http = HTTP(
            version: scenario.http.version.rawValue, keepAlive: scenario.http.keepsAlive,
            concurrency: scenario.http.concurrency, headers: try Self.headers(scenario.http),
            connectTimeoutSeconds: scenario.http.connectTimeoutSeconds,
            timeoutSeconds: scenario.http.timeoutSeconds,
            maxRedirects: scenario.http.maxRedirects)
        for target in scenario.targets {
            guard let (url, kind) = Self.source(target) else { continue }
            targets.append(
                Target(
                    url: url, kind: kind.rawValue, name: LoadScenarioWriter.name(target.name),
                    weight: isZipf ? nil : target.weight, sha256: target.sha256,
                    mayFail: target.mayFail ? true : nil))
        }
    }

    /// Returns a target's URL; of a replay, that of its server.
    private static func source(_ target: LoadTarget) -> (url: String, kind: AssetKind)? {
        switch target.source {
        case .url(let url, let kind): (url, kind)
        case .object(_, let signedURL): signedURL.map { ($0, .file) }
        case .replay(let replay): (replay.serverURL, .file)
        case .list: nil
        }
    }

    private static func arrivals(_ scenario: LoadScenario) -> Arrivals {
        let isOpen: Bool
        var process: String?
        if case .open(let arrivals) = scenario.model {
            process = arrivals.rawValue
            isOpen = true
        } else {
            isOpen = false
        }
        return Arrivals(
            process: process,
            stages: scenario.stages.map { stage in
                Stage(
                    seconds: stage.seconds, from: stage.from, rate: isOpen ? stage.to : nil,
                    users: isOpen ? nil : stage.to)
            })
    }

    private static func headers(_ http: LoadHTTP) throws(Failure) -> [String: String]? {
        var headers: [String: String] = [:]
        for header in http.headers {
            guard headers.updateValue(header.value, forKey: header.name) == nil else {
                throw Failure(
                    .inputField, at: .field("http.headers.\(header.name)"),
                    "given twice",
                    allowed: "on a cluster: once")
            }
        }
        return headers.isEmpty ? nil : headers
    }
}

extension ViewerSettings: Encodable {
    private enum CodingKeys: String, CodingKey {
        case startupSeconds, bufferSeconds, watchSeconds, loops, safety, startBitsPerSecond,
            fixedBitsPerSecond, opensConnection, parallelRequests, classes
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(startupSeconds, forKey: .startupSeconds)
        try container.encode(bufferSeconds, forKey: .bufferSeconds)
        try container.encodeIfPresent(watchSeconds, forKey: .watchSeconds)
        try container.encode(loops, forKey: .loops)
        try container.encode(safety, forKey: .safety)
        try container.encodeIfPresent(startBitsPerSecond, forKey: .startBitsPerSecond)
        try container.encodeIfPresent(fixedBitsPerSecond, forKey: .fixedBitsPerSecond)
        try container.encode(opensConnection, forKey: .opensConnection)
        try container.encode(parallelRequests, forKey: .parallelRequests)
        if !classes.isEmpty { try container.encode(classes, forKey: .classes) }
    }
}
