import Foundation
import TestSupport
import Testing

extension EndToEnd {
    /// A refresh that is stopped in its middle, politely or not.
    @Suite(.timeLimit(.minutes(3))) struct RefreshStopTests {
        private static let count = 6

        private static func body(_ number: Int, version: Int) -> [UInt8] {
            [UInt8](repeating: UInt8(version * 16 + number), count: 20_000 + number)
        }

        /// Files that have a version, of which one waits for a gate.
        private static func serve(
            _ origin: FaultOrigin, version: Int, waiting: (number: Int, gate: Gate)? = nil
        ) {
            for number in 1...count {
                let body = Self.body(number, version: version)
                origin.route("/f\(number).bin") { request in
                    var response = request.serve(body, etag: "\"\(version)-\(number)\"")
                    if waiting?.number == number { response.gate = waiting?.gate }
                    return response
                }
            }
        }

        private static func refresh(_ home: EmbeddedHome) throws -> ChildProcess {
            try home.start(["refresh", "spring", "--state", home.path("own/state/dray")])
        }

        private static func versions(_ site: String) -> [Int] {
            (1...count).map { number in
                let stored = FileManager.default.contents(atPath: "\(site)/f\(number).bin")
                return (1...2).first { Self.body(number, version: $0) == stored.map(Array.init) }
                    ?? 0
            }
        }

        @Test(arguments: [SIGINT, SIGKILL])
        func changedTitlesAreCompleteAndTheNextRefreshContinues(signal: Int32) async throws {
            let origin = try FaultOrigin()
            Self.serve(origin, version: 1)
            let home = try await EmbeddedHome(.current, state: .ofAnEarlierRun)
            let list = home.path("list.txt")
            try (1...Self.count).map { origin.url("/f\($0).bin") + "\n" }.joined()
                .write(toFile: list, atomically: true, encoding: .utf8)
            let prefetch = try home.prefetch(list, ["--name", "spring"])
            #expect(try await prefetch.wait() == .exited(0), "\(prefetch.errors)")
            let site = "\(home.edge)/127.0.0.1:\(origin.port)"
            #expect(Self.versions(site) == Array(repeating: 1, count: Self.count))

            let gate = Gate()
            Self.serve(origin, version: 2, waiting: (4, gate))
            let stopped = try Self.refresh(home)
            try await gate.waitUntilReached(deadlineSeconds: 60)
            try await waitUntil(deadlineSeconds: 60, "the others at the edge") {
                Self.versions(site).count { $0 == 2 } == Self.count - 1
            }
            stopped.signal(signal)
            let end = try await stopped.wait(deadlineSeconds: 60)
            gate.open()
            if signal == SIGINT {
                #expect(end == .exited(130), "\(stopped.errors)")
                try await home.expectQuiet()
                // Nothing of it is owed.
                #expect(try await EdgeTree.checkSums(beneath: site).count == Self.count)
            } else {
                #expect(end == .signalled(SIGKILL))
            }
            #expect(Self.versions(site)[3] == 1)

            let prefetched = try home.prefetch(list, ["--name", "spring"])
            #expect(try await prefetched.wait() == .exited(0), "\(prefetched.errors)")
            let again = try Self.refresh(home)
            #expect(try await again.wait() == .exited(0), "\(again.errors)")
            #expect(Self.versions(site) == Array(repeating: 2, count: Self.count))
            #expect(try await EdgeTree.checkSums(beneath: site).count == Self.count)
            try await home.expectQuiet()
        }
    }
}
