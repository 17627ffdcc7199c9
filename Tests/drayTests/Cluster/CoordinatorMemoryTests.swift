import Foundation
import TestSupport
import Testing

extension EndToEnd {
    /// A coordinator's memory under any requests.
    @Suite(.timeLimit(.minutes(2))) struct CoordinatorMemoryTests {
        private static let megabyte = 1 << 20
        private static let worker = "11111111-2222-4333-8444-555555555555"

        private struct Body {
            var type = "application/json"
            var bytes: [UInt8]

            var headers: [String: String] {
                ProcessCluster.authorization.merging(["Content-Type": type]) { $1 }
            }
        }

        private static func report(_ fields: String) -> Body {
            Body(bytes: Array(#"{"worker":"\#(worker)",\#(fields)}"#.utf8))
        }

        private static func rows(_ text: String) -> Body {
            Body(type: "application/vnd.dray.rows", bytes: Array(text.utf8))
        }

        private static func times(_ text: String, megabytes: Int) -> String {
            String(repeating: text, count: megabytes * megabyte / text.utf8.count)
        }

        /// Each nearly as large as a request may be, and made to be many times that when decoded.
        private static let bodies: [Body] = [
            report(#""results":"# + times("[", megabytes: 10)),
            report(#""results":[\#(times("0,", megabytes: 15))0]"#),
            report(#""results":[\#(times("{},", megabytes: 15)){}]"#),
            report(#""results":[{"outcome":"\#(times("\\u0041", megabytes: 15))"}]"#),
            rows("worker\n\(worker)\njob\tlease\n" + times("1\ta\n", megabytes: 15)),
            rows(
                "worker\n\(worker)\njob\tlease\torigins\n1\ta\t" + times("[", megabytes: 15) + "\n"),
            rows(times("\t", megabytes: 15) + "\n"),
        ]

        /// The most memory that a process has had resident, in MiB.
        private static func peakMegabytes(of process: ChildProcess) throws -> Int {
            let status = try String(
                contentsOfFile: "/proc/\(process.pid)/status", encoding: .utf8)
            let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
            let kilobytes = line?.split { !$0.isNumber }.first.flatMap { Int($0) }
            return try #require(kilobytes) / 1_024
        }

        @Test func hostileBodiesCostLittle() async throws {
            let cluster = try await ProcessCluster(
                coordinators: 1, workers: 0, connections: 1, leaseSeconds: 30)
            let coordinator = cluster.coordinators[0]
            for body in Self.bodies {
                let answer = try await Wire.exchange(
                    port: coordinator.port, "POST", "/v1/reports",
                    headers: body.headers, body: body.bytes)
                #expect([400, 413].contains(answer.status), "\(answer)")
            }
            #expect(try Sanitizer.isOn || Self.peakMegabytes(of: coordinator.process) < 200)

            // Half a gigabyte at once: some get a Retry-After, and none costs more than the rest.
            try await withThrowingTaskGroup(of: Int.self) { group in
                for index in 0..<32 {
                    group.addTask {
                        let body = Self.bodies[index % Self.bodies.count]
                        return try await Wire.exchange(
                            port: coordinator.port, "POST", "/v1/reports",
                            headers: body.headers, body: body.bytes
                        ).status
                    }
                }
                for try await status in group { #expect([400, 413, 503].contains(status)) }
            }
            #expect(try Sanitizer.isOn || Self.peakMegabytes(of: coordinator.process) < 400)
            _ = try await cluster.status()
            try await cluster.stop()
        }
    }
}
