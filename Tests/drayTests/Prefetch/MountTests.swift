import API
import Foundation
import Model
import TestSupport
import Testing

extension EndToEnd {
    /// Sites on file systems that are mounted, and unmounted again.
    @Suite(.timeLimit(.minutes(5))) struct MountTests {
        private static func entries(_ path: String) throws -> [String] {
            try FileManager.default.contentsOfDirectory(atPath: path)
        }

        private func waitForFault(_ code: FailureCode, _ cluster: ProcessCluster) async throws {
            // A worker leases again within seconds of a resumption.
            try await waitUntil(deadlineSeconds: 40, "the fault \(code)") {
                try await cluster.status().queues.first?.siteFault?.code == code
            }
        }

        @Test(.enabled("needs root that may mount a tmpfs") { await SmallFileSystem.isAllowed() })
        func aClusterWritesNothingToAnEmptyMountPoint() async throws {
            let (first, second) = (try await FileOrigin(files: 20), try await FileOrigin(files: 20))
            let disk = try await SmallFileSystem(options: "size=64m")
            let path = disk.directory.path
            let cluster = try await ProcessCluster(
                coordinators: 1, workers: 1, connections: 4, leaseSeconds: 10)
            let known = try cluster.start(["prefetch", first.list, "--to", path])
            #expect(try await known.wait(deadlineSeconds: 120) == .exited(0), "\(known.errors)")
            try await first.expectCopied(to: path)
            // The worker runs on, and gives its directories up by itself.
            try await waitUntil(deadlineSeconds: 60, "the unmounting") {
                (try? await disk.unmount(tries: 1)) != nil
            }
            let process = try cluster.start(
                ["prefetch", second.list, "--to", path, "--name", "second"])
            try await waitForFault("storage.otherVolume", cluster)
            #expect(try Self.entries(path).isEmpty)
            #expect(second.requests.isEmpty)
            let queue = try #require(try await cluster.status().queues.first).name
            let shown = try cluster.start(["site"])
            #expect(try await shown.wait() == .exited(0))
            #expect(
                shown.output.contains("dray site set \(queue) --accept-volume"), "\(shown.output)")
            // Another volume is no better, until an operator accepts it.
            try await disk.mountAnother(options: "size=64m")
            let resumed = try cluster.start(["site", "resume", queue])
            #expect(try await resumed.wait() == .exited(0), "\(resumed.errors)")
            try await waitForFault("storage.otherVolume", cluster)
            #expect(try Self.entries(path).isEmpty)
            let accepted = try cluster.start(["site", "set", queue, "--accept-volume"])
            #expect(try await accepted.wait() == .exited(0), "\(accepted.errors)")
            #expect(
                accepted.output.contains("volume: set by the next worker"),
                "\(accepted.output)")
            #expect(
                try await process.wait(deadlineSeconds: 120) == .exited(0), "\(process.errors)")
            #expect(process.errors.contains("--accept-volume"), "\(process.errors)")
            try await second.expectCopied(to: path)
            #expect(try await cluster.status().catalogs.allSatisfy { $0.totals.failed == 0 })
            try await cluster.stop()
        }

        @Test(.enabled("needs root that may mount a tmpfs") { await SmallFileSystem.isAllowed() })
        func prefetchRefusesAVolumeThatIsNotMounted() async throws {
            let origin = try await FileOrigin(files: 3)
            let home = try await EmbeddedHome(.current)
            let disk = try await SmallFileSystem(options: "size=64m")
            let path = disk.directory.path
            func prefetch(_ options: [String] = []) throws -> ChildProcess {
                try home.start(
                    ["prefetch", origin.list, "--to", path, "--state", home.path("state")]
                        + options)
            }
            let first = try prefetch()
            #expect(try await first.wait(deadlineSeconds: 120) == .exited(0), "\(first.errors)")
            try await disk.unmount()
            let second = try prefetch()
            #expect(try await second.wait(deadlineSeconds: 120) != .exited(0))
            #expect(second.errors.contains("storage.otherVolume"), "\(second.errors)")
            #expect(second.errors.contains("--accept-volume"), "\(second.errors)")
            #expect(try Self.entries(path).isEmpty)
            let third = try prefetch(["--accept-volume"])
            #expect(try await third.wait(deadlineSeconds: 120) == .exited(0), "\(third.errors)")
            try await origin.expectCopied(to: path)
        }

        /// Nothing else can be mounted there: `rm -r` and the same command again fetch everything again.
        @Test func prefetchMakesARemovedDirectoryAgain() async throws {
            let origin = try await FileOrigin(files: 3)
            let home = try await EmbeddedHome(.current)
            let first = try home.prefetch(origin.list)
            #expect(try await first.wait(deadlineSeconds: 120) == .exited(0), "\(first.errors)")
            let mark = try Self.entries("\(home.edge)/.dray/volume")
            for isLeft in [false, true] {
                try FileManager.default.removeItem(atPath: home.edge)
                if isLeft { mkdir(home.edge, 0o755) }
                let again = try home.prefetch(origin.list)
                #expect(try await again.wait(deadlineSeconds: 120) == .exited(0), "\(again.errors)")
                #expect(!again.errors.contains("storage.otherVolume"), "\(again.errors)")
                try await origin.expectCopied(to: home.edge)
                #expect(try Self.entries("\(home.edge)/.dray/volume") == mark)
            }
            // A state of its own knows nothing of it, and a directory of several sites is one volume.
            let other = try home.start([
                "prefetch", origin.list, "--to", home.edge, "--state", home.path("own/other"),
            ])
            #expect(try await other.wait(deadlineSeconds: 120) == .exited(0), "\(other.errors)")
            #expect(try Self.entries("\(home.edge)/.dray/volume") == mark)
        }

        @Test(.enabled(if: geteuid() == 0, "only root can become another user"))
        func aSiteOfAnotherUserNamesBoth() async throws {
            let origin = try await FileOrigin(files: 3)
            let home = try await EmbeddedHome(.ordinary)
            let edge = try TemporaryDirectory("edge")
            let (service, printed) = try await UpTests.up(home)
            defer { service.signal(SIGKILL) }
            let process = try home.start(
                ["prefetch", origin.list, "--to", edge.path], printed.filter { !$0.value.isEmpty })
            defer { process.signal(SIGKILL) }
            try await waitUntil(deadlineSeconds: 60, "the notice") {
                process.errors.contains("storage.sitePermission") || process.ending != nil
            }
            #expect(
                process.errors.contains("nobody (65534) may not write to \(edge.path)"),
                "\(process.errors)")
            #expect(process.errors.contains("belongs to root (0) with mode 755"))
            chown(edge.path, Account.ordinaryID, Account.ordinaryID)
            #expect(
                try await process.wait(deadlineSeconds: 110) == .exited(0), "\(process.errors)")
            try await origin.expectCopied(to: edge.path)
            service.signal(SIGTERM)
            #expect(try await service.wait(deadlineSeconds: 60) == .exited(0), "\(service.errors)")
        }
    }
}
