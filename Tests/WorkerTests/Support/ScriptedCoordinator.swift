import API
import FoundationEssentials
import HTTPServer
import Model
import Storage
import Synchronization
import TestSupport

@testable import Worker

/// A coordinator that a test plays, and a worker of its own: it hands out what the test has put
/// there, and keeps its reports. No database, no clock.
final class ScriptedCoordinator: Sendable {
    let edge: TemporaryDirectory
    private let script: Script
    private let server: HTTPServer
    let worker: WorkerService
    private let task: Task<Void, any Error>

    private init(connections: Int, partBytes: Int64, roots: SiteRoots?) throws {
        let script = Script()
        self.script = script
        edge = try TemporaryDirectory("edge")
        server = try HTTPServer.start(.init(port: 0)) { await script.answer($0) }
        worker = try WorkerService(
            WorkerService.Configuration(
                coordinators: ["http://127.0.0.1:\(server.port)"], token: .test,
                roots: try roots ?? SiteRoots(existing: [edge.path]), connections: connections,
                name: "w", durability: .none,
                partBytes: partBytes, splitBelowBytesPerSecond: .infinity, drainSeconds: 1))
        task = Task { [worker] in try await worker.run() }
    }

    /// Runs a test with one worker and stops everything.
    static func with(
        connections: Int = 8, partBytes: Int64 = 64 << 20, roots: SiteRoots? = nil,
        _ body: (ScriptedCoordinator) async throws -> Void
    ) async throws {
        let coordinator = try ScriptedCoordinator(
            connections: connections, partBytes: partBytes, roots: roots)
        let result: Result<Void, any Error>
        do {
            result = .success(try await body(coordinator))
        } catch {
            result = .failure(error)
        }
        coordinator.task.cancel()
        _ = try? await coordinator.task.value
        coordinator.script.close()
        await coordinator.server.shutdown(graceSeconds: 0)
        coordinator.edge.remove()
        try result.get()
    }

    /// Jobs to fetch `urls`, with numbers of their own, for the next request for work.
    @discardableResult
    func grant(
        _ urls: [String], shares: [OriginQuota]? = nil, cooldowns: [OriginCooldown]? = nil,
        space: SiteSpace? = nil, lease: LeaseID = .random(),
        site: String? = nil, volume: VolumeID? = nil
    ) -> [JobID] {
        var grant = LeaseGrant(
            lease: lease, seconds: 30,
            site: LeasedSite(
                id: SiteID(1), storageURL: site ?? "file://\(edge.path)", volume: volume,
                space: space),
            jobs: urls.map { script.job($0) })
        grant.shares = shares
        grant.cooldowns = cooldowns
        script.state.withLock { $0.volume = volume }
        script.hand(out: grant)
        return grant.jobs.map(\.id)
    }

    /// Asks the worker to probe a site.
    func probe(_ site: LeasedSite) {
        var grant = LeaseGrant(lease: nil, seconds: 30)
        grant.probe = site
        script.hand(out: grant)
    }

    /// What every heartbeat is answered with, but for its leases.
    func answerHeartbeats(_ change: (inout HeartbeatAnswer) -> Void) {
        script.state.withLock { change(&$0.answer) }
    }

    func answerSplits(_ answer: VerdictAnswer) { script.state.withLock { $0.split = answer } }

    var requests: [LeaseRequest] { script.state.withLock { $0.requests } }
    var heartbeats: [Heartbeat] { script.state.withLock { $0.heartbeats } }
    var reports: [JobReport] { script.state.withLock { $0.reports } }
    var holdsNothing: Bool { worker.core.held.isEmpty }

    /// Jobs that ended like this.
    func jobs(_ outcome: JobReport.Outcome.Kind) -> [JobID] {
        reports.filter { $0.outcome.kind == outcome }.map(\.job).sorted()
    }
}

/// The answers to the worker, and its reports.
private final class Script: Sendable {
    struct State {
        var grants: [LeaseGrant] = []
        var answer = HeartbeatAnswer(leases: [], seconds: 30)
        var requests: [LeaseRequest] = []
        var heartbeats: [Heartbeat] = []
        var reports: [JobReport] = []
        /// What a request to divide a file is answered with; nil for an error.
        var split: VerdictAnswer?
        /// The recorded one.
        var volume: VolumeID?
        var number: Int64 = 0
        /// A request for work that waits.
        var waiter: CheckedContinuation<Void, Never>?
        var isClosed = false
    }

    let state = Mutex(State())

    func job(_ url: String) -> Job {
        let number = state.withLock { state in
            state.number += 1
            return state.number
        }
        return .fetch(number, url, key: "h/\(number)", role: .file)
    }

    func hand(out grant: LeaseGrant) {
        state.withLock { state in
            state.grants.append(grant)
            return state.waiter.take()
        }?.resume()
    }

    func close() {
        state.withLock { state in
            state.isClosed = true
            return state.waiter.take()
        }?.resume()
    }

    func answer(_ request: HTTPRequest) async -> HTTPResponse {
        let body = Data(request.body)
        switch request.segments.last {
        case "leases":
            guard
                let wanted = try? WireFormat.rows.decode(
                    LeaseRequest.self, from: request.body)
            else {
                break
            }
            state.withLock { $0.requests.append(wanted) }
            return Self.json(await nextGrant())
        case "heartbeats":
            guard let beat = try? JSONDecoder().decode(Heartbeat.self, from: body) else { break }
            return Self.json(
                state.withLock { state in
                    state.heartbeats.append(beat)
                    var answer = state.answer
                    answer.leases = beat.leases
                    return answer
                })
        case "reports":
            guard
                let report = try? WireFormat.rows.decode(
                    ReportRequest.self, from: request.body)
            else {
                break
            }
            state.withLock { $0.reports += report.results }
            return Self.json(ReportAnswer(answers: report.results.map { _ in .accepted }))
        case "splits":
            guard let answer = state.withLock({ $0.split }) else { break }
            return Self.json(answer)
        case "volumes": return Self.json(SiteVolumeAnswer(volume: state.withLock { $0.volume }))
        default: break
        }
        return .text(404, "not played")
    }

    private func nextGrant() async -> LeaseGrant {
        while true {
            let (grant, isClosed) = state.withLock { state in
                (state.grants.isEmpty ? nil : state.grants.removeFirst(), state.isClosed)
            }
            if let grant { return grant }
            if isClosed { return LeaseGrant(lease: nil, seconds: 30) }
            await withCheckedContinuation { continuation in
                let old = state.withLock { state -> CheckedContinuation<Void, Never>? in
                    guard state.grants.isEmpty, !state.isClosed else { return continuation }
                    defer { state.waiter = continuation }
                    return state.waiter
                }
                old?.resume()
            }
        }
    }

    private static func json(_ value: some Encodable) -> HTTPResponse {
        (try? .json(200, value)) ?? .text(500, "not JSON")
    }
}
