import LoadModel
import Model

/// Encodes a scenario as JSON without request headers, which may contain secrets.
struct LoadAsked: Encodable {
    struct Stage: Encodable {
        let seconds: Double
        let from: Double
        let to: Double
    }

    struct Target: Encodable {
        let name: String
        let url: String?
        let kind: String?
        let list: String?
        let weight: Double
    }

    struct Viewer: Encodable {
        let startupSeconds: Double
        let bufferSeconds: Double
        let watchSeconds: Double?
        let loops: Bool
        let safety: Double
        let startBitsPerSecond: Int64?
        let fixedBitsPerSecond: Int64?
        let opensConnection: Bool
        let parallelRequests: Bool
        let classes: [ViewerClass]?
        let data: String?
    }

    struct Caps: Encodable {
        let durationSeconds: Double?
        let requests: Int64?
        let bytes: Int64?
    }

    struct Think: Encodable {
        let kind: String
        let seconds: Double
    }

    let model: String
    /// Only for the open model.
    let arrivals: String?
    let seed: UInt64
    let stages: [Stage]
    let warmUpSeconds: Double
    let user: String
    let viewer: Viewer?
    let targets: [Target]
    let zipfExponent: Double?
    let think: Think?
    let bodies: String
    let httpVersion: String
    let keepsAlive: Bool
    let concurrency: Int
    let timeoutSeconds: Double
    let maxRedirects: Int
    let caps: Caps

    init(_ scenario: LoadScenario) {
        switch scenario.model {
        case .open(let process): (model, arrivals) = ("open", process.rawValue)
        case .closed: (model, arrivals) = ("closed", nil)
        }
        seed = scenario.seed
        stages = scenario.stages.map { Stage(seconds: $0.seconds, from: $0.from, to: $0.to) }
        warmUpSeconds = scenario.warmUpSeconds
        switch scenario.user {
        case .requests: (user, viewer) = ("requests", nil)
        case .viewers(let settings):
            user = "viewers"
            viewer = Viewer(
                startupSeconds: settings.startupSeconds, bufferSeconds: settings.bufferSeconds,
                watchSeconds: settings.watchSeconds, loops: settings.loops, safety: settings.safety,
                startBitsPerSecond: settings.startBitsPerSecond,
                fixedBitsPerSecond: settings.fixedBitsPerSecond,
                opensConnection: settings.opensConnection,
                parallelRequests: settings.parallelRequests,
                classes: settings.classes.isEmpty ? nil : settings.classes,
                data: settings.data.map(LoadFormat.name))
        }
        targets = scenario.targets.map(Self.target)
        zipfExponent =
            if case .zipf(let exponent) = scenario.popularity { exponent } else { nil }
        think =
            switch scenario.think {
            case .none: nil
            case .constant(let seconds): Think(kind: "constant", seconds: seconds)
            case .exponential(let mean): Think(kind: "exponential", seconds: mean)
            }
        bodies = scenario.bodies.rawValue
        httpVersion = scenario.http.version.rawValue
        keepsAlive = scenario.http.keepsAlive
        concurrency = scenario.concurrency
        timeoutSeconds = scenario.http.timeoutSeconds
        maxRedirects = scenario.maxRedirects
        caps = Caps(
            durationSeconds: scenario.caps.durationSeconds, requests: scenario.caps.requests,
            bytes: scenario.caps.bytes)
    }

    private static func target(_ target: LoadTarget) -> Target {
        let name = LoadFormat.name(target.name)
        return switch target.source {
        case .url(let url, let kind):
            Target(
                name: name, url: LoadFormat.name(url), kind: kind.rawValue, list: nil,
                weight: target.weight)
        case .object(let object, _):
            Target(
                name: name, url: LoadFormat.name(object.urlWithoutFields),
                kind: AssetKind.file.rawValue, list: nil, weight: target.weight)
        case .replay(let replay):
            Target(
                name: name, url: nil, kind: "replay", list: LoadFormat.name(replay.name),
                weight: target.weight)
        case .list(let path):
            Target(
                name: name, url: nil, kind: nil, list: LoadFormat.name(path), weight: target.weight)
        }
    }
}
