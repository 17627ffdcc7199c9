import API
import Foundation
import Model
import TestSupport
import Testing

extension EndToEnd {
    /// Workers that write only to what their operator names.
    @Suite(.timeLimit(.minutes(3))) struct RootsTests {
        /// Whoever may submit could otherwise have a key written for root.
        @Test func aSubmissionBeyondTheRootsLeavesEverythingAlone() async throws {
            let origin = try await FileOrigin(files: 3)
            let cluster = try await ProcessCluster(
                coordinators: 1, workers: 0, connections: 4, leaseSeconds: 10)
            let folder = try TemporaryDirectory("sites")
            let (edge, outside) = (folder.path("edge"), folder.path("outside"))
            for path in [edge, outside] {
                try FileManager.default.createDirectory(
                    atPath: path, withIntermediateDirectories: true)
            }
            try FileManager.default.createSymbolicLink(
                atPath: "\(edge)/link", withDestinationPath: "../outside")
            let etc = try FileManager.default.contentsOfDirectory(atPath: "/etc").sorted()
            // Without a worker it waits, and reports why when one connects that may not write there.
            let words = ["prefetch", origin.list, "--quiet", "--to"]
            let early = try cluster.start(words + ["file:///etc", "--name", "early"])
            try await waitUntil(deadlineSeconds: 60, "the early catalog") {
                try await cluster.status().catalogs.first?.state == .running
            }
            try cluster.startWorker(["--allow-addresses", "127.0.0.0/8"], roots: [edge])
            try await waitUntil(deadlineSeconds: 60, "the notice") {
                early.errors.contains("no worker may write to the site")
            }
            #expect(early.errors.contains("file:///etc lies outside of the roots of all workers"))
            let shown = try await cluster.status()
            #expect(shown.catalogs[0].issue?.code == "storage.outsideRoots")
            #expect(shown.catalogs[0].totals.segmentsFailed == 0)
            early.signal(SIGINT)
            #expect(try await early.wait() == .exited(130))

            // From now on it is rejected at the edge.
            for site in ["file:///etc", outside, folder.path, "\(edge)ways"] {
                let late = try cluster.start(words + [site, "--name", "late"])
                #expect(try await late.wait() == .exited(2), "\(site)")
                #expect(late.errors.contains("(storage.outsideRoots)"), "\(late.errors)")
                #expect(late.errors.contains("file://\(edge)") && late.errors.contains("--root"))
            }
            // By its name it lies within: the worker finds out.
            let linked = try cluster.start(words + ["\(edge)/link/new", "--name", "linked"])
            try await waitUntil(deadlineSeconds: 60, "the notice") {
                linked.errors.contains("a symlink on the way leads out of them")
            }
            linked.signal(SIGINT)
            #expect(try await linked.wait() == .exited(130))

            let right = try cluster.start(words + ["\(edge)/a", "--name", "right"])
            #expect(try await right.wait() == .exited(0), "\(right.errors)")
            try await origin.expectCopied(to: "\(edge)/a")
            #expect(try FileManager.default.contentsOfDirectory(atPath: outside).isEmpty)
            #expect(try FileManager.default.contentsOfDirectory(atPath: "/etc").sorted() == etc)
            #expect(
                try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
                    == ["edge", "outside"])
            try await cluster.stop()
        }

        @Test func eachWorkerGetsItsSitesOnly() async throws {
            let origin = try await FileOrigin(files: 40)
            let cluster = try await ProcessCluster(
                coordinators: 1, workers: 0, connections: 4, leaseSeconds: 10)
            let (north, south) = (try TemporaryDirectory("north"), try TemporaryDirectory("south"))
            var workers: [ChildProcess] = []
            for root in [north, south] {
                workers.append(
                    try cluster.startWorker(
                        ["--allow-addresses", "127.0.0.0/8"], roots: [root.path]))
            }
            try await cluster.waitForWorkers(2)
            let sites = [north.path("x"), north.path("y"), south.path]
            let runs = try sites.map {
                try cluster.start(["prefetch", origin.list, "--quiet", "--to", $0])
            }
            for run in runs { #expect(try await run.wait() == .exited(0), "\(run.errors)") }
            for site in sites {
                try await origin.expectCopied(to: site)
            }
            // None was handed what it had to give back.
            for worker in workers { #expect(!worker.errors.contains("outside of this worker's")) }
            try await cluster.stop()
        }

        /// What the private cluster's worker may write to is the run's own DIR, at once after another run's.
        @Test func aPrivateClusterWritesToWhatItWasGiven() async throws {
            let origin = try await FileOrigin(files: 3)
            let home = try await EmbeddedHome(.current)
            for site in ["one", "two", "three"] {
                let run = try home.start([
                    "prefetch", origin.list, "--to", home.path(site), "--name", "movies", "--state",
                    home.path("state"),
                ])
                #expect(try await run.wait() == .exited(0), "\(run.errors)")
                try await origin.expectCopied(to: home.path(site))
            }
            let refresh = try home.start([
                "refresh", "movies", "--site", home.path("two"), "--state", home.path("state"),
            ])
            #expect(try await refresh.wait() == .exited(0), "\(refresh.errors)")
        }

        @Test func theEnvironmentNamesRootsToo() async throws {
            let folder = try TemporaryDirectory("roots")
            let worker = try DrayProcess.start(
                ["worker", "--coordinator", "http://127.0.0.1:9"],
                environment: ["DRAY_ROOTS": "\(folder.path):/no/such"])
            #expect(try await worker.wait() == .exited(2))
            #expect(worker.errors.contains("DRAY_ROOTS: \"/no/such\" cannot be a root"))
        }

        /// Beyond loopback, others submit.
        @Test func aPrivateClusterForOthersNeedsRoots() async throws {
            let folder = try TemporaryDirectory("up")
            let up = try DrayProcess.start(
                ["up", "--listen", "0.0.0.0:0", "--state", folder.path("state")],
                environment: ["DRAY_TOKEN": "0123456789abcdef0123456789abcdef"])
            #expect(try await up.wait() == .exited(2))
            #expect(up.errors.contains("--root is missing"), "\(up.errors)")
            #expect(try folder.files().isEmpty)
        }
    }
}
