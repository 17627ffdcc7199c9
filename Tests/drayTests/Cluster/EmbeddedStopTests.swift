import Foundation
import TestSupport
import Testing

extension EndToEnd {
    /// A `dray prefetch` that is stopped or killed in the middle resumes.
    @Suite(.timeLimit(.minutes(5))) struct EmbeddedStopTests {
        private static let files = 400
        private static let requestsPerSecond = 100
        private static let connections = 8

        @Test func anInterruptedRunEndsInOrderAndResumes() async throws {
            try await interrupt(.current)
        }

        @Test(.enabled(if: geteuid() == 0, "only root can become another user"))
        func anInterruptedRunResumesForAnOrdinaryUser() async throws {
            try await interrupt(.ordinary)
        }

        private func interrupt(_ account: Account) async throws {
            let origin = try await FileOrigin(
                files: Self.files, requestsPerSecond: Self.requestsPerSecond)
            let home = try await EmbeddedHome(account)
            let options = ["--connections", "\(Self.connections)"]

            let first = try home.prefetch(origin.list, options)
            try await origin.waitForRequests(100)
            first.signal(SIGINT)
            #expect(try await first.wait(deadlineSeconds: 60) == .exited(130))
            #expect(first.errors.contains("run the same command again"), "\(first.errors)")
            try await home.expectQuiet()
            let asked = origin.requests
            #expect(asked.count < Self.files)
            // Running jobs were finished and recorded.
            let report = try Report(home.report)
            #expect(report.state == "interrupted")
            #expect(report.total("completed") == asked.count)

            let second = try home.prefetch(origin.list, options)
            #expect(try await second.wait() == .exited(0), "\(second.errors)")
            try await home.expectQuiet()
            #expect(origin.repeatedRequests == 0)
            #expect(origin.requests.count == Self.files)
            try await origin.expectCopied(to: home.edge)
            #expect(try Report(home.report).state == "completed")
        }

        @Test func aKilledRunResumes() async throws {
            let origin = try await FileOrigin(
                files: Self.files, requestsPerSecond: Self.requestsPerSecond)
            let home = try await EmbeddedHome(.current)
            let options = ["--connections", "\(Self.connections)"]

            let first = try home.prefetch(origin.list, options)
            try await origin.waitForRequests(100)
            first.signal(SIGKILL)
            #expect(try await first.wait() == .signalled(SIGKILL))
            // PostgreSQL is left behind, and the next run takes it over.
            #expect(!home.processes.isEmpty)

            let second = try home.prefetch(origin.list, options)
            #expect(try await second.wait() == .exited(0), "\(second.errors)")
            try await waitUntil(deadlineSeconds: 60, "the end of all processes") {
                home.processes.isEmpty
            }
            // A worker holds twice as many jobs as it has connections, or a third of a second's
            // worth; what it had asked for of them and not reported is asked for again.
            let held = max(2 * Self.connections, Self.requestsPerSecond / 2)
            #expect(origin.repeatedRequests <= held)
            #expect(origin.requests.count == Self.files)
            try await origin.expectCopied(to: home.edge, killed: held)
        }

        @Test func aSecondSignalDoesNotWaitForASlowOrigin() async throws {
            let origin = try FaultOrigin()
            let gate = Gate()
            origin.route("/slow", FaultOrigin.Response(text: "late").held(at: gate))
            let home = try await EmbeddedHome(.current)
            let process = try home.prefetch(origin.url("/slow"))
            try await gate.waitUntilReached(deadlineSeconds: 60)
            process.signal(SIGINT)
            try await waitUntil(deadlineSeconds: 60, "the notice") {
                process.errors.contains("Ctrl-C again stops at once")
            }
            // Again and again: those of the first half second count as the first one.
            try await waitUntil(deadlineSeconds: 60, "its end") {
                process.signal(SIGINT)
                return process.ending != nil
            }
            #expect(process.ending == .exited(130))
            #expect(process.errors.contains("stopping at once"), "\(process.errors)")
            try await home.expectQuiet()

            gate.open()
            let again = try home.prefetch(origin.url("/slow"))
            #expect(try await again.wait() == .exited(0), "\(again.errors)")
            try await home.expectQuiet()
        }

        /// As with `timeout 3 dray prefetch …` again and again.
        @Test func aShortFileIsResumedWhereASignalStoppedIt() async throws {
            let origin = try FaultOrigin()
            let gate = Gate()
            defer { gate.open() }
            let (body, received) = (sampleBytes(512 << 10), 200_000)
            origin.route("/slow.bin") { request in
                let answer = request.serve(body, etag: "\"v1\"")
                return request.number == 1 ? answer.held(after: received, at: gate) : answer
            }
            let home = try await EmbeddedHome(.current)
            let process = try home.prefetch(origin.url("/slow.bin"))
            try await gate.waitUntilReached(deadlineSeconds: 60)
            let files = FileManager.default
            let directory = "\(home.edge)/.dray/tmp"
            try await waitUntil(deadlineSeconds: 60, "the bytes before the gate") {
                let names = (try? files.contentsOfDirectory(atPath: directory)) ?? []
                return names.contains { name in
                    let file = try? files.attributesOfItem(atPath: "\(directory)/\(name)")
                    return file?[.size] as? Int == received
                }
            }
            process.signal(SIGTERM)
            try await waitUntil(deadlineSeconds: 60, "the notice") {
                process.errors.contains("Ctrl-C again stops at once")
            }
            process.signal(SIGINT)
            #expect(try await process.wait() == .exited(130))
            #expect(process.errors.contains("stopping at once"), "\(process.errors)")
            let again = try home.prefetch(origin.url("/slow.bin"))
            #expect(try await again.wait() == .exited(0), "\(again.errors)")
            let ranges = origin.requests.map { $0.headers["range"] }
            #expect(ranges == [nil, "bytes=\(received)-"])
            try await home.expectQuiet()
        }

        /// `timeout` signals its command and the group of both.
        @Test func aSignalThatArrivesTwiceAtOnceIsOne() async throws {
            let origin = try FaultOrigin()
            let gate = Gate()
            origin.route("/slow", FaultOrigin.Response(text: "late").held(at: gate))
            let home = try await EmbeddedHome(.current)
            let process = try home.prefetch(origin.url("/slow"))
            try await gate.waitUntilReached(deadlineSeconds: 60)
            for _ in 1...2 { process.signal(SIGINT) }
            try await waitUntil(deadlineSeconds: 60, "the notice") {
                process.errors.contains("Ctrl-C again stops at once")
            }
            gate.open()
            #expect(try await process.wait(deadlineSeconds: 60) == .exited(130))
            // The current transfer was finished.
            #expect(try Report(home.report).total("completed") == 1, "\(process.errors)")
            try await home.expectQuiet()
        }

        @Test func aStateInUseIsNotTouched() async throws {
            let origin = try await FileOrigin(
                files: Self.files, requestsPerSecond: Self.requestsPerSecond)
            let home = try await EmbeddedHome(.current)
            let first = try home.prefetch(origin.list)
            try await origin.waitForRequests(10)
            let second = try home.prefetch(origin.list)
            #expect(try await second.wait() == .exited(3))
            #expect(second.errors.contains("is in use by the dray with process id \(first.pid)"))
            #expect(try await first.wait() == .exited(0), "\(first.errors)")
            try await home.expectQuiet()
            try await origin.expectCopied(to: home.edge)
        }
    }
}
