import Model
import Synchronization
import TestSupport
import Testing
import Transfer

@Suite("Origins with too much to do")
struct OverloadTests {
    /// Transfers of one URL; what fails is tried again, as a queue does, until enough have succeeded.
    private final class Work: Sendable {
        struct Counts {
            var done = 0
            var refused = 0
            var refusedInFirstHalf = 0
            /// Of the origin, when enough were done: it is forgotten some seconds later.
            var activity: OriginActivity?
        }

        let fetcher: Fetcher
        let url: String
        let wanted: Int
        private let state = Mutex(Counts())

        init(_ fetcher: Fetcher, _ url: String, wanted: Int) {
            (self.fetcher, self.url, self.wanted) = (fetcher, url, wanted)
        }

        var counts: Counts { state.withLock { $0 } }
        private var isEnough: Bool { counts.done >= wanted }
        var isDone: Bool { counts.activity != nil }

        func fetch() {
            fetcher.engine.submit(fetcher.memory(url, role: .data)) { [self] _, result in
                state.withLock { counts in
                    guard case .success = result.outcome else {
                        counts.refused += 1
                        return
                    }
                    counts.done += 1
                    if counts.done == wanted / 2 { counts.refusedInFirstHalf = counts.refused }
                }
                guard isEnough else { return fetch() }
                let activity = fetcher.engine.origins.first
                state.withLock { $0.activity = $0.activity ?? activity }
            }
        }
    }

    /// An origin that bears six requests at a time, of which each takes it 10 ms.
    @Test("an origin that answers 503 above six at a time is met at about six")
    func overload() async throws {
        let origin = try FaultOrigin()
        defer { withExtendedLifetime(origin) {} }
        let body = sampleBytes(20_000)
        origin.route("/a") { [weak origin] request in
            if let origin, origin.activeRequests.now > 6 { return FaultOrigin.Response(503) }
            return request.serve(body).taking(seconds: 0.01)
        }
        let fetcher = try Fetcher { $0.connections = 32 }
        // Its callbacks are over before anything is released.
        defer { fetcher.engine.shutdown() }
        let work = Work(fetcher, origin.url("/a"), wanted: 3_000)
        for _ in 0..<64 { work.fetch() }
        try await waitUntil(deadlineSeconds: 120) { work.isDone }
        let counts = work.counts
        let decision = try #require(counts.activity).decision
        #expect((3...8).contains(decision.concurrency), "\(decision)")
        // Some at the start, when it is found out, and hardly any later.
        #expect(counts.refused > 0 && counts.refused < work.wanted / 20, "\(counts)")
        #expect(counts.refused - counts.refusedInFirstHalf < work.wanted / 50, "\(counts)")
        // Whether it had just been too many, or one more was just being tried.
        let reasons = ["503", "too many", "at a time", "probing beyond"]
        #expect(reasons.contains { decision.reason.contains($0) }, "\(decision)")
    }
}
