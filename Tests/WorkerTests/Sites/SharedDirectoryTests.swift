import API
import CoordinatorClient
import Foundation
import Model
import TestSupport
import Testing

@testable import Worker

/// Two sites of one cluster whose paths lead to one directory.
@Suite(.timeLimit(.minutes(5))) struct SharedDirectoryTests {
    private static func site(_ path: String, _ cluster: Cluster) async throws -> SiteStatus {
        try #require(
            try await cluster.client.sites().sites.first { $0.storageURL == "file://\(path)" })
    }

    /// Stores a file at the first site, and submits another one to `path`.
    private static func submit(_ path: String, _ cluster: Cluster) async throws -> CatalogID {
        cluster.origin.serve("/a", [1])
        cluster.origin.serve("/b", [2])
        _ = try await cluster.run([try cluster.file("/a")], catalog: "first")
        return try await cluster.submit(
            [try cluster.file("/b")], catalog: "second", to: "file://\(path)")
    }

    private static func waitForFault(_ path: String, _ cluster: Cluster) async throws {
        try await waitUntil(deadlineSeconds: 60, "the fault") {
            try await site(path, cluster).fault?.code == .storageSharedDirectory
        }
    }

    @Test(arguments: ["", "/below"])
    func theSecondSiteWaitsAndNothingIsWritten(below: String) async throws {
        try await Cluster.with { cluster in
            let link = try TemporaryDirectory("link")
            let path = link.path("edge")
            mkdir(cluster.edge.path + "/below", 0o755)
            try FileManager.default.createSymbolicLink(
                atPath: path, withDestinationPath: cluster.edge.path + below)
            let catalog = try await Self.submit(path, cluster)
            try await Self.waitForFault(path, cluster)
            let message = try await Self.site(path, cluster).fault?.message ?? ""
            #expect(message.contains("file://\(path)"), "\(message)")
            #expect(message.contains("file://\(cluster.edge.path)"), "\(message)")
            #expect(!cluster.origin.requests.contains { $0.target == "/b" })
            #expect(!FileManager.default.fileExists(atPath: cluster.edge.path("below/.dray")))
            #expect(try cluster.storedPaths() == ["/a"])
            #expect(try await cluster.client.status(of: catalog).totals.failed == 0)
            #expect(try await Self.site(cluster.edge.path, cluster).fault == nil)

            // With a directory of its own it continues by itself.
            unlink(path)
            mkdir(path, 0o755)
            for worker in cluster.runningWorkers {
                for check in worker.service.sites.unusable.check() { await check.value }
            }
            let ended = try await cluster.end(of: catalog)
            #expect(ended["/b"]?.state == .completed)
            #expect(link.volumes("edge") != cluster.edge.volumeMarks())
        }
    }

    @Test(.enabled("needs root that may mount") { await SmallFileSystem.isAllowed() })
    func aBindMountIsTheSameDirectory() async throws {
        try await Cluster.with { cluster in
            let other = try TemporaryDirectory("bound")
            _ = try await ChildProcess.run(["mount", "--bind", cluster.edge.path, other.path])
            do {
                _ = try await Self.submit(other.path, cluster)
                try await Self.waitForFault(other.path, cluster)
                #expect(!cluster.origin.requests.contains { $0.target == "/b" })
            } catch {
                Issue.record(error)
            }
            // Directories are closed after some seconds without use.
            _ = try await ChildProcess.run(["umount", "--lazy", other.path])
        }
    }

    /// A copy has its original's mark, and is another directory all the same.
    @Test(arguments: [false, true])
    func aCopyOrAMovedDirectoryIsASiteOfItsOwn(isMoved: Bool) async throws {
        try await Cluster.with { cluster in
            cluster.origin.serve("/a", [1])
            cluster.origin.serve("/b", [2])
            _ = try await cluster.run([try cluster.file("/a")], catalog: "first")
            let parent = try TemporaryDirectory("parent")
            let path = parent.path("edge")
            _ = try await ChildProcess.run([
                isMoved ? "mv" : "cp", isMoved ? "-T" : "-a", cluster.edge.path, path,
            ])
            let catalog = try await cluster.submit(
                [try cluster.file("/b")], catalog: "second", to: "file://\(path)")
            #expect(try await cluster.end(of: catalog)["/b"]?.state == .completed)
            let volumes = [
                try await Self.site(path, cluster).volume,
                try await Self.site(cluster.edge.path, cluster).volume,
            ]
            #expect(volumes[0] != nil && volumes[1] != nil && volumes[0] != volumes[1])
        }
    }
}

extension TemporaryDirectory {
    fileprivate func volumes(_ name: String) -> [VolumeID] {
        let names = try? FileManager.default.contentsOfDirectory(
            atPath: path("\(name)/.dray/volume"))
        return (names ?? []).compactMap { VolumeID($0) }
    }
}
