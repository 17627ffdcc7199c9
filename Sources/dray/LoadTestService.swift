import Foundation
import LoadEngine
import LoadTest
import Model
import Runtime
import Synchronization
import Transfer

/// Finds what a test's targets come to, tells of public addresses, and runs the test: a service, so that a
/// signal ends any of it in order.
final class LoadTestService: Service {
    let name = "load test"
    /// How long there is to think better of a load on somebody else's address.
    private static let noticeSeconds = 5.0

    private let scenario: LoadScenario
    private let course: LoadTestSession.Course
    private let options: LoadEngine.Options
    private let isTold: Bool
    private let display: LoadTestDisplay
    private let transfer: TransferEngine
    private let found = Mutex<LoadTestSession.Outcome?>(nil)

    init(
        _ scenario: LoadScenario, _ course: LoadTestSession.Course, _ options: LoadEngine.Options,
        isTold: Bool, _ display: LoadTestDisplay
    ) throws(Failure) {
        self.scenario = scenario
        self.course = course
        self.options = options
        self.isTold = isTold
        self.display = display
        var transfers = TransferEngine.Options()
        transfers.loops = 1
        transfers.addressPolicy = options.addressPolicy
        transfer = try TransferEngine(options: transfers)
    }

    /// What was measured; nil when it did not come to that.
    var outcome: LoadTestSession.Outcome? { found.withLock { $0 } }

    func run() async throws {
        let preflight = LoadPreflight(
            scenario, engine: transfer, addressPolicy: options.addressPolicy,
            nowSeconds: Date().timeIntervalSince1970
        ) { path async throws(Failure) in
            var assets: [AssetSubmission] = []
            _ = try await ListSource(path).read(.check) { some throws(Failure) in assets += some }
            return assets
        }
        let ready = try await preflight.run()
        try Task.checkCancellation()
        if !ready.publicHosts.isEmpty { try await tell(ready.publicHosts) }
        var options = options
        options.addressPolicy = ready.addressPolicy
        let session = LoadTestSession(
            scenario, course, LocalLoadRunner(plan: ready.plan, options: options),
            onStep: { [display] in display.begin($0, $1) },
            follower: { [display] in display.show($0, $1) })
        try await session.run()
        let outcome = session.outcome
        found.withLock { $0 = outcome }
    }

    func stop() async { transfer.shutdown() }

    private func tell(_ hosts: [(host: String, address: String)]) async throws {
        let named = hosts.prefix(5).map { "\($0.host) (\($0.address))" }
        let more = hosts.count > 5 ? " and \(hosts.count - 5) more" : ""
        Console.note(
            "this load goes to the public Internet: \(named.joined(separator: ", "))\(more)")
        guard !isTold else { return }
        Console.note("it begins in 5 s; Ctrl-C now sends nothing, --yes does not wait")
        try await Task.sleep(for: .seconds(Self.noticeSeconds))
    }
}
