import Foundation
import Model
import TestSupport
import Testing

extension EndToEnd {
    /// A worker that sleeps past its lease, with an origin whose object has changed meanwhile.
    @Suite(.timeLimit(.minutes(2))) struct ZombieTests {
        @Test func aWorkerThatSleptPastItsLeaseReplacesNothing() async throws {
            let origin = try FaultOrigin()
            let gate = Gate()
            let old = [UInt8](repeating: 0x6F, count: 300_000)
            let new = [UInt8](repeating: 0x6E, count: 200_000)
            // The first to ask gets the old object, and its end only when it is a zombie.
            origin.route("/files/a.bin") { request in
                request.number == 1
                    ? request.serve(old).held(after: 100_000, at: gate) : request.serve(new)
            }
            let cluster = try await ProcessCluster(
                coordinators: 1, workers: 2, connections: 2, leaseSeconds: 5)
            let edge = try TemporaryDirectory("edge")
            let prefetch = try cluster.start([
                "prefetch", origin.url("/files/a.bin"), "--to", edge.path, "--name", "one",
            ])
            try await gate.waitUntilReached()
            var holder: ChildProcess?
            for worker in cluster.workers where try await cluster.jobsHeld(by: worker) > 0 {
                holder = worker
            }
            let zombie = try #require(holder)
            zombie.signal(SIGSTOP)
            // The other one wins, and the catalog ends with its object.
            #expect(try await prefetch.wait(deadlineSeconds: 60) == .exited(0))
            let file = "127.0.0.1:\(origin.port)/files/a.bin"
            #expect(try edge.read(file) == new)

            zombie.signal(SIGCONT)
            gate.open()
            try await waitUntil(deadlineSeconds: 30, "the zombie's awakening") {
                zombie.errors.contains("leases were lost")
            }
            // It works on, as if nothing had been.
            origin.serve("/files/b.bin", new)
            let next = try cluster.start([
                "prefetch", origin.url("/files/b.bin"), "--to", edge.path, "--name", "two",
            ])
            #expect(try await next.wait(deadlineSeconds: 30) == .exited(0))
            try await cluster.stop()
            #expect(try edge.read(file) == new)
            #expect(origin.count("/files/a.bin") == 2)
            let left = try edge.files().filter { $0.contains(".dray/tmp/") }
            #expect(left.isEmpty, "\(left)")
        }

        @Test func aKilledWorkersFilesAreResumedAndNotLeftBehind() async throws {
            let origin = try FaultOrigin()
            let gate = Gate()
            defer { gate.open() }
            let body = (0..<(10 << 20)).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 7) }
            origin.route("/files/a.bin") { request in
                let answer = request.serve(body, etag: "\"v1\"")
                return request.number == 1 ? answer.held(after: 9 << 20, at: gate) : answer
            }
            let cluster = try await ProcessCluster(
                coordinators: 1, workers: 2, connections: 2, leaseSeconds: 5)
            let edge = try TemporaryDirectory("edge")
            let prefetch = try cluster.start([
                "prefetch", origin.url("/files/a.bin"), "--to", edge.path, "--name", "one",
            ])
            try await waitUntil(deadlineSeconds: 60, "a record of what has come") {
                // All of it: it is found before it is written.
                try edge.files().contains { name in
                    try name.contains(".dray/partial/")
                        && edge.read(name).suffix(4) == Array("end\n".utf8)[...]
                }
            }
            var holder: ChildProcess?
            for worker in cluster.workers where try await cluster.jobsHeld(by: worker) > 0 {
                holder = worker
            }
            let killed = try #require(holder)
            killed.signal(SIGKILL)
            #expect(try await killed.wait() == .signalled(SIGKILL))
            #expect(try await prefetch.wait(deadlineSeconds: 60) == .exited(0))
            #expect(try edge.read("127.0.0.1:\(origin.port)/files/a.bin") == body)
            let range = try #require(origin.requests.last?.headers["range"])
            #expect(try #require(Int(range.dropFirst("bytes=".count).dropLast())) >= 8 << 20)
            let left = try edge.files().filter { $0.contains(".dray/") }
            #expect(left.isEmpty, "\(left)")
            try await cluster.stop()
        }
    }
}
