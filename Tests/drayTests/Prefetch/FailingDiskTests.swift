import API
import Foundation
import Model
import TestSupport
import Testing

extension EndToEnd {
    /// Workers on a disk that fails: the site waits, nothing is counted as stored that is not, and the
    /// jobs resume by themselves when the disk works again.
    @Suite(.timeLimit(.minutes(5))) struct FailingDiskTests {
        private func expectEnd(
            of process: ChildProcess, _ cluster: ProcessCluster
        ) async throws {
            let ending = try await process.wait(deadlineSeconds: 240)
            #expect(ending == .exited(0), "\(process.errors)")
            let status = try await cluster.status()
            #expect(status.catalogs.map(\.state) == [.completed])
            #expect(status.catalogs.map(\.totals.failed) == [0])
            try await waitUntil(deadlineSeconds: 60, "the end of the fault") {
                try await cluster.status().queues.map(\.siteFault?.code) == [nil]
            }
        }

        private func waitForFault(_ code: FailureCode, _ cluster: ProcessCluster) async throws {
            try await waitUntil(deadlineSeconds: 60, "the fault \(code)") {
                try await cluster.status().queues.first?.siteFault?.code == code
            }
        }

        @Test(
            .enabled("needs strace and leave to trace other processes") { await Self.canAttach() })
        func whatAFailedSyncDroppedIsFetchedAgain() async throws {
            let origin = try await FileOrigin(files: 20)
            let edge = try TemporaryDirectory("edge")
            let cluster = try await ProcessCluster(
                coordinators: 1, workers: 1, connections: 4, leaseSeconds: 10,
                workerOptions: ["--durability", "file"])
            let fault = try await Self.attach(
                to: cluster.workers[0],
                ["-e", "trace=fdatasync", "-e", "inject=fdatasync:error=EIO"])
            let process = try cluster.start(["prefetch", origin.list, "--to", edge.path])
            try await waitForFault("storage.io", cluster)
            #expect(try await cluster.status().catalogs.map(\.totals.bytes) == [0])
            fault.signal(SIGINT)
            _ = try await fault.wait()
            try await expectEnd(of: process, cluster)
            #expect(process.errors.contains("the site is not writable, its jobs wait: "))
            try await origin.expectCopied(to: edge.path)
            #expect(origin.repeatedRequests > 0)
            try await cluster.stop()
        }

        @Test(.enabled("needs root that may mount a tmpfs") { await SmallFileSystem.isAllowed() })
        func aFullDiskWaitsForSpace() async throws {
            let origin = try await FileOrigin(files: 200)
            let disk = try await SmallFileSystem(options: "size=300k")
            let cluster = try await ProcessCluster(
                coordinators: 1, workers: 2, connections: 4, leaseSeconds: 10)
            let process = try cluster.start(["prefetch", origin.list, "--to", disk.directory.path])
            try await waitForFault("storage.full", cluster)
            let shown = try cluster.start(["site"])
            #expect(try await shown.wait() == .exited(0))
            #expect(shown.output.contains("storage.full: "), "\(shown.output)")
            try await disk.remount("size=64m")
            try await expectEnd(of: process, cluster)
            try await origin.expectCopied(to: disk.directory.path)
            try await cluster.stop()
        }

        @Test(.enabled("needs root that may mount a tmpfs") { await SmallFileSystem.isAllowed() })
        func aDiskThatIsReadOnlyWaitsForAnOperator() async throws {
            let origin = try await FileOrigin(files: 20)
            let disk = try await SmallFileSystem(options: "size=64m")
            let cluster = try await ProcessCluster(
                coordinators: 1, workers: 1, connections: 4, leaseSeconds: 10)
            try await disk.remount("ro")
            let process = try cluster.start(["prefetch", origin.list, "--to", disk.directory.path])
            try await waitForFault("storage.readOnly", cluster)
            #expect(origin.requests.isEmpty)
            try await disk.remount("rw")
            let queue = try #require(try await cluster.status().queues.first)
            let resumed = try cluster.start(["site", "resume", queue.name])
            #expect(try await resumed.wait() == .exited(0), "\(resumed.errors)")
            try await expectEnd(of: process, cluster)
            try await origin.expectCopied(to: disk.directory.path)
            try await cluster.stop()
        }

        /// Its owner could change stored files; the jobs wait for an operator.
        @Test func aPrivateDirectoryThatOthersCanReachWaitsForAnOperator() async throws {
            let origin = try await FileOrigin(files: 20)
            let edge = try TemporaryDirectory("edge")
            mkdir(edge.path(".dray"), 0o755)
            let cluster = try await ProcessCluster(
                coordinators: 1, workers: 1, connections: 4, leaseSeconds: 10)
            let process = try cluster.start(["prefetch", origin.list, "--to", edge.path])
            try await waitForFault("storage.foreignDirectory", cluster)
            #expect(origin.requests.isEmpty)
            #expect(try await cluster.status().catalogs.map(\.totals.failed) == [0])
            chmod(edge.path(".dray"), 0o700)
            let queue = try #require(try await cluster.status().queues.first)
            let resumed = try cluster.start(["site", "resume", queue.name])
            #expect(try await resumed.wait() == .exited(0), "\(resumed.errors)")
            try await expectEnd(of: process, cluster)
            try await origin.expectCopied(to: edge.path)
            try await cluster.stop()
        }

        /// Of mode 0700 it cannot even be opened, which is no fault of the assets.
        @Test(.enabled(if: geteuid() == 0, "only root can become another user"))
        func aPrivateDirectoryOfAnotherUserWaitsForAnOperator() async throws {
            let origin = try await FileOrigin(files: 3)
            let home = try await EmbeddedHome(.ordinary)
            mkdir(home.edge, 0o755)
            mkdir("\(home.edge)/.dray", 0o700)
            chown(home.edge, Account.ordinaryID, Account.ordinaryID)
            let process = try home.prefetch(origin.list)
            try await waitUntil(deadlineSeconds: 60, "the notice") {
                process.errors.contains("the site is not writable, its jobs wait: ")
                    || process.ending != nil
            }
            #expect(process.errors.contains("storage.foreignDirectory"), "\(process.errors)")
            #expect(process.errors.contains("belongs to user 0 with mode 700"))
            chown("\(home.edge)/.dray", Account.ordinaryID, Account.ordinaryID)
            #expect(
                try await process.wait(deadlineSeconds: 110) == .exited(0), "\(process.errors)")
            try await origin.expectCopied(to: home.edge)
        }

        @Test func filesThatDoNotFitWaitForSpaceAndAreReported() async throws {
            let (first, origin) = (
                try await FileOrigin(files: 1), try await FileOrigin(files: 20)
            )
            let edge = try TemporaryDirectory("edge")
            let cluster = try await ProcessCluster(
                coordinators: 1, workers: 1, connections: 4, leaseSeconds: 10)
            let known = try cluster.start(["prefetch", first.list, "--to", edge.path])
            #expect(try await known.wait(deadlineSeconds: 240) == .exited(0), "\(known.errors)")
            let queue = try #require(try await cluster.status().queues.first)
            // No files of this list total just that, so there is always something left.
            let set = try cluster.start(["site", "set", queue.name, "--quota", "1000"])
            #expect(try await set.wait() == .exited(0), "\(set.errors)")
            let process = try cluster.start(
                ["prefetch", origin.list, "--to", edge.path, "--name", "second"])
            try await waitUntil(deadlineSeconds: 120, "what is left waits") {
                process.errors.contains("the remaining jobs wait for space: storage.noRoom: ")
            }
            let stored = try await cluster.status().catalogs.first { $0.name == "second" }?.totals
            #expect(
                stored.map { $0.completed > 0 && $0.failed == 0 && $0.bytes < 1_000 } == true,
                "\(String(describing: stored)) \(process.errors)")
            let lifted = try cluster.start(["site", "set", queue.name, "--quota", "none"])
            #expect(try await lifted.wait() == .exited(0), "\(lifted.errors)")
            #expect(try await process.wait(deadlineSeconds: 240) == .exited(0), "\(process.errors)")
            #expect(process.errors.contains("jobs that waited for space continue"))
            try await cluster.stop()
        }

        /// Runs strace on all threads of a process, until it gets SIGINT.
        private static func attach(
            to process: ChildProcess, _ options: [String]
        ) async throws -> ChildProcess {
            let strace = try ChildProcess(
                ["strace", "-f", "-qq", "-o", "/dev/null", "-p", "\(process.pid)"] + options)
            let status = "/proc/\(process.pid)/status"
            try await waitUntil(deadlineSeconds: 60, "a traced process") {
                guard strace.ending == nil else { throw POSIXFailure(strace.errors) }
                return try String(contentsOfFile: status, encoding: .utf8)
                    .contains("TracerPid:\t\(strace.pid)\n")
            }
            return strace
        }

        private static func canAttach() async -> Bool {
            guard let sleep = try? ChildProcess(["sleep", "60"]) else { return false }
            defer { sleep.signal(SIGKILL) }
            guard let strace = try? await attach(to: sleep, []) else { return false }
            strace.signal(SIGINT)
            _ = try? await strace.wait()
            return true
        }
    }
}
