import Foundation
import LoadModel
import Model
import TestSupport

/// Two nginx servers with the same files, which are the pathways of a title, and the steering server
/// of its viewers.
struct SteeredServers {
    let directory: TemporaryDirectory
    let a: NginxServer
    let b: NginxServer
    let steering: FaultOrigin

    init(_ name: String) async throws {
        directory = try TemporaryDirectory(name)
        a = try await NginxServer(root: directory.path)
        b = try await NginxServer(root: directory.path)
        steering = try FaultOrigin()
    }
}

/// A suite whose viewers play from these servers; their access logs are the judges.
protocol SteeredSuite {
    var servers: SteeredServers { get }
}

extension SteeredSuite {
    var directory: TemporaryDirectory { servers.directory }
    var a: NginxServer { servers.a }
    var b: NginxServer { servers.b }
    var steering: FaultOrigin { servers.steering }

    /// Returns viewers of a title on server `b`, which start early and buffer little.
    func scenario(
        _ path: String, _ kind: AssetKind, users: Double = 1, seconds: Double = 5
    ) -> LoadScenario {
        var scenario = LoadScenario.closed(users: users, seconds: seconds)
        scenario.targets = [LoadTarget(name: "t", source: .url("\(b.url)\(path)", kind))]
        var settings = ViewerSettings()
        settings.startupSeconds = 0.5
        settings.bufferSeconds = 1
        scenario.user = .viewers(settings)
        return scenario
    }

    /// Returns a steering manifest that is requested again after a second.
    static func list(_ names: [String], _ more: String = "") -> FaultOrigin.Response {
        let list = names.map { "\"\($0)\"" }.joined(separator: ",")
        return FaultOrigin.Response(
            text: "{\"VERSION\":1,\"TTL\":1,\"PATHWAY-PRIORITY\":[\(list)]\(more)}")
    }

    /// Returns the attributes of an MPD with segments of a second: a live one has begun five seconds
    /// ago.
    static func attributes(ofMPD seconds: Int, isLive: Bool) -> String {
        guard isLive else {
            return "type=\"static\" mediaPresentationDuration=\"PT\(seconds)S\""
        }
        let start = ISO8601DateFormatter().string(from: Date(timeIntervalSinceNow: -5))
        return "type=\"dynamic\" availabilityStartTime=\"\(start)\" minimumUpdatePeriod=\"PT1S\""
    }
}
