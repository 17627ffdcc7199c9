import API
import Foundation
import Model
import TestSupport
import Testing

extension EndToEnd {
    /// Everything is killed in the middle of 2,000 files.
    @Suite(.timeLimit(.minutes(3))) struct ChaosTests {
        private static let files = 2_000
        /// Long enough to bear the crash of the database, short enough to be waited for.
        private static let leaseSeconds = 10
        /// The files take 17 seconds at this rate, more than it takes a lease to run out.
        private static let requestsPerSecond = 120

        @Test func nothingIsLostAndNothingFetchedTwiceBeyondTheLostLeases() async throws {
            let origin = try await FileOrigin(
                files: Self.files, requestsPerSecond: Self.requestsPerSecond)
            let cluster = try await ProcessCluster(
                coordinators: 2, workers: 5, connections: 8, leaseSeconds: Self.leaseSeconds)
            let edge = try TemporaryDirectory("edge")
            let prefetch = try cluster.start(["prefetch", origin.list, "--to", edge.path])

            // A zombie: stopped until its lease is over, then awake with work that is others' now.
            try await cluster.waitForSegments(100)
            let zombie = cluster.workers[0]
            zombie.signal(SIGSTOP)
            let heldByZombie = try await cluster.jobsHeld(by: zombie)
            #expect(heldByZombie > 0)

            try await cluster.waitForSegments(300)
            // Stopped first, so that what it holds is known to the job.
            let victim = cluster.workers[1]
            victim.signal(SIGSTOP)
            let heldByVictim = try await cluster.jobsHeld(by: victim)
            #expect(heldByVictim > 0)
            victim.signal(SIGKILL)
            #expect(try await victim.wait() == .signalled(SIGKILL))

            try await cluster.waitForSegments(600)
            try await cluster.restartCoordinator(0, by: SIGKILL)
            try await cluster.waitForSegments(800)
            let takenBack = try await cluster.jobsGrantedLately()
            try await cluster.postgres.kill()
            try await cluster.postgres.start()
            try await cluster.waitForSegments(1_000)
            try await cluster.restartCoordinator(1, by: SIGKILL)

            try await waitUntil(deadlineSeconds: 60, "the end of the zombie's lease") {
                try await cluster.jobsHeld(by: zombie) == 0
            }
            zombie.signal(SIGCONT)

            #expect(try await prefetch.wait(deadlineSeconds: 90) == .exited(0))
            let totals = try #require(try await cluster.status().catalogs.first).totals
            try await cluster.stop()
            #expect(zombie.errors.contains("leases were lost"))

            #expect(totals.completed == Self.files)
            #expect(totals.failed == 0)
            try await origin.expectCopied(to: edge.path, killed: heldByVictim)
            #expect(Set(origin.requests.keys) == Set(origin.paths.map { "/\($0)" }))
            // A job of a lost lease may have been requested by its old worker and by its new one;
            // no other job was requested twice.
            let allowed = heldByZombie + heldByVictim + takenBack
            #expect(origin.repeatedRequests <= allowed, "retries: \(totals.retries)")
        }

        /// A file of four parts, which several workers fetch into one place.
        @Test func aLargeFileIsWholeThoughAWorkerOfItIsKilled() async throws {
            let place = TemporaryDirectory.fastParent(bytes: 512 << 20)
            let root = try TemporaryDirectory("large", in: place)
            try await ChildProcess.run([
                "sh", "-c", "seq -f '%015.0f' 13107200 >\(root.path)/large.bin",
            ])
            // A part of 64 MiB takes four seconds.
            let origin = try await NginxServer(
                root: root.path, configuration: "limit_rate 16m;")
            let cluster = try await ProcessCluster(
                coordinators: 1, workers: 3, connections: 1, leaseSeconds: 7)
            let edge = try TemporaryDirectory("edge", in: place)
            let prefetch = try cluster.start([
                "prefetch", "\(origin.url)/large.bin", "--to", edge.path,
            ])
            // At least two parts run, at two workers.
            var busy: [ChildProcess] = []
            try await waitUntil(deadlineSeconds: 30, "work for two workers") {
                busy = []
                for worker in cluster.workers where try await cluster.jobsHeld(by: worker) > 0 {
                    busy.append(worker)
                }
                return busy.count > 1
            }
            let victim = try #require(busy.last)
            victim.signal(SIGSTOP)
            let held = try await cluster.jobsHeld(by: victim)
            victim.signal(SIGKILL)
            #expect(try await victim.wait() == .signalled(SIGKILL))

            #expect(try await prefetch.wait() == .exited(0), "\(prefetch.errors)")
            try await cluster.stop()
            let file = "\(edge.path)/127.0.0.1:\(origin.port)/large.bin"
            try await ChildProcess.run(["cmp", file, root.path("large.bin")])
            let site = "\(edge.path)/127.0.0.1:\(origin.port)"
            #expect(try await EdgeTree.checkSums(beneath: site) == ["large.bin"])
            #expect(try EdgeTree.files(beneath: "\(edge.path)/.dray/multipart").isEmpty)
            // Four parts, and what the killed worker had begun once more.
            #expect((4...4 + held).contains(origin.requests().count))
        }
    }
}
