import API
import Foundation
import Model
import TestSupport
import Testing

extension EndToEnd {
    /// A cluster at work, and an operator with the commands of control.
    @Suite(.timeLimit(.minutes(3))) struct ControlCommandTests {
        private static let files = 400

        /// Runs a command that is to succeed and answers what it prints.
        private static func run(
            _ cluster: ProcessCluster, _ words: String..., exits code: Int32 = 0
        ) async throws -> String {
            let process = try cluster.start(words)
            let ending = try await process.wait()
            #expect(ending == .exited(code), "\(words): \(process.errors)")
            return code == 0 ? process.output : process.errors
        }

        private static func read<Value: Decodable>(
            _ text: String, as type: Value.Type = Value.self
        ) throws -> Value {
            try JSONDecoder().decode(Value.self, from: Data(text.utf8))
        }

        /// All that is left of the catalog stops, and continues.
        private static func expectPausedAndResumed(_ cluster: ProcessCluster) async throws {
            let paused: SelectionAnswer = try read(
                try await run(cluster, "assets", "pause", "movies", "--match", "*", "--json"))
            #expect(paused.assets > 0)
            try await waitUntil(deadlineSeconds: 30, "what workers hold is returned") {
                try await cluster.status().queues.first?.leased == 0
            }
            let totals = try await cluster.status().catalogs[0].totals
            let left = files - totals.completed
            #expect(left > 0 && totals.paused == left && left <= paused.assets)
            let shown = try await run(cluster, "catalog", "show", "movies")
            #expect(shown.contains("assets are paused"), "\(shown)")
            let listed = try await run(
                cluster, "assets", "list", "movies", "--asset-state", "paused", "--limit", "1")
            #expect(listed.contains(" paused "), "\(listed)")
            let nothing = try await run(cluster, "assets", "pause", "movies")
            #expect(nothing == "Nothing to pause.\n")
            // Of whatever catalog.
            let resumed = try await run(
                cluster, "assets", "resume", "--state", "paused,interrupted")
            #expect(resumed.hasPrefix("Resumed: \(left) assets."), "\(resumed)")
            try await cluster.waitForSegments(totals.segmentsDone + 5)
        }

        @Test func workIsHeldCancelledAndTriedAgain() async throws {
            let origin = try await FileOrigin(files: Self.files, requestsPerSecond: 50)
            let cluster = try await ProcessCluster(
                coordinators: 1, workers: 1, connections: 4, leaseSeconds: 10)
            let edge = try TemporaryDirectory("edge")
            let prefetch = try cluster.start([
                "prefetch", origin.list, "--to", edge.path, "--name", "movies",
            ])
            try await cluster.waitForSegments(20)

            let listed: QueueList = try Self.read(try await Self.run(cluster, "queue", "--json"))
            let name = try #require(listed.queues.first?.name)
            #expect(try await Self.run(cluster, "queue").contains(name))
            let paused = try await Self.run(cluster, "queue", "pause", name)
            #expect(paused.hasPrefix("Queue \(name) is paused: "))
            try await waitUntil(deadlineSeconds: 30, "the end of what is held") {
                try await cluster.status().queues.first?.leased == 0
            }
            let held = try await cluster.status().catalogs[0].totals.segmentsDone
            #expect(held < Self.files)
            #expect(try await Self.run(cluster, "status").contains("paused"))
            let missing = try await Self.run(cluster, "queue", "pause", "nowhere", exits: 2)
            #expect(missing.contains("There is no queue nowhere"))

            _ = try await Self.run(cluster, "queue", "resume", name)
            try await cluster.waitForSegments(held + 20)
            try await Self.expectPausedAndResumed(cluster)
            let cancelled: SelectionAnswer = try Self.read(
                try await Self.run(cluster, "catalog", "cancel", "movies", "--json"))
            #expect(cancelled.assets > 0 && cancelled.jobs >= cancelled.assets)
            // Its followers are notified; stored files stay.
            #expect(try await prefetch.wait() == .exited(4))
            let status = try await cluster.status().catalogs[0]
            #expect(status.state == .cancelled && status.totals.cancelled == cancelled.assets)
            #expect(try await Self.run(cluster, "status").contains("Cancelled"))
            #expect(status.totals.completed + cancelled.assets == Self.files)
            let ended = try await Self.run(cluster, "catalog", "show", "movies")
            #expect(
                ended.hasSuffix(
                    "\n  next: dray catalog retry \(status.id), or submit the catalog again\n"),
                "\(ended)")

            let gone: AssetListing = try Self.read(
                try await Self.run(
                    cluster, "assets", "list", "movies", "--code", "worker.*", "--limit", "3",
                    "--json"))
            #expect(gone.assets.count == 3 && gone.next != nil)
            #expect(gone.assets.allSatisfy { $0.failure?.code == "worker.cancelled" })
            let largest = try await Self.run(
                cluster, "assets", "list", "movies", "--asset-state", "completed", "--sort",
                "bytes",
                "--limit",
                "2")
            #expect(largest.contains("completed") && largest.contains("More: --after '"))
            let bad = try await Self.run(
                cluster, "assets", "list", "movies", "--asset-state", "done", exits: 2)
            #expect(bad.contains("--asset-state is 'done'") && bad.contains("completed"))

            for (words, columns, rows) in [
                (["assets", "list", "movies", "--limit", "3"], "name,url,kind,state,segments,", 3),
                (["queue"], "name,state,waiting,leased,", 1),
                (["site"], "queue,storageURL,schedule,isClosed,", 1),
                (["origins"], "origin,hasOwnLimits,connections,", 1),
                (["report", "--by", "origin"], "origin,queue,storageURL,isAddressable,", 1),
                (["status"], "id,name,state,queue,storageURL,", 1),
                (["status", "--list", "workers"], "name,activeTransfers,silentSeconds,", 1),
            ] {
                let process = try cluster.start(words + ["--csv"])
                try await process.wait()
                let lines = process.output.components(separatedBy: "\r\n")
                #expect(process.output.hasPrefix(columns), "\(process.output)\(process.errors)")
                #expect(lines.count == rows + 2 && lines.last == "", "\(process.output)")
                let count = lines[0].components(separatedBy: ",").count
                #expect(
                    lines.dropLast().allSatisfy { $0.components(separatedBy: ",").count == count })
            }
            let both = try await Self.run(cluster, "queue", "--json", "--csv", exits: 2)
            #expect(both.contains("--json and --csv cannot be combined"))

            let again = try await Self.run(
                cluster, "catalog", "retry", "all", "--code", "worker.cancelled")
            #expect(again.hasPrefix("Retrying: \(cancelled.assets) assets"), "\(again)")
            try await waitUntil(deadlineSeconds: 60, "the end") {
                try await cluster.status().catalogs[0].state == .completed
            }
            try await origin.expectCopied(to: edge.path)
            let nothing = try await Self.run(cluster, "catalog", "retry", "movies")
            #expect(nothing == "Nothing to retry.\n")
            try await cluster.stop()
        }

        /// An asset that would be the last, and then its catalog.
        @Test func whatIsReprioritisedIsFetchedNext() async throws {
            let origin = try await FileOrigin(files: 600, requestsPerSecond: 40)
            let cluster = try await ProcessCluster(
                coordinators: 1, workers: 1, connections: 4, leaseSeconds: 10)
            let edge = try TemporaryDirectory("edge")
            let prefetch = try cluster.start([
                "prefetch", origin.list, "--to", edge.path("files"), "--name", "movies",
            ])
            try await cluster.waitForSegments(5)
            let last = try await Self.run(
                cluster, "assets", "reprioritise", "movies", "--match", "*/599.bin",
                "--priority", "9")
            #expect(last == "Reprioritised: 1 asset, 1 job.\n")
            try await waitUntil(deadlineSeconds: 30, "the last file") {
                origin.server.requests().contains { $0.target.hasSuffix("/599.bin") }
            }
            let index = origin.server.requests().firstIndex { $0.target.hasSuffix("/599.bin") }
            #expect(try #require(index) < 500)
            let moved = try await Self.run(
                cluster, "catalog", "reprioritise", "movies", "--priority", "9")
            #expect(moved.hasPrefix("Reprioritised: "), "\(moved)")
            #expect(try await cluster.status().catalogs[0].priority == 9)
            let bad = try await Self.run(
                cluster, "assets", "reprioritise", "movies", "--match", "*", exits: 2)
            #expect(bad.contains("--priority"), "\(bad)")
            _ = try await Self.run(cluster, "catalog", "cancel", "movies")
            #expect(try await prefetch.wait() == .exited(4))
            try await cluster.stop()
        }

        @Test func aCatalogBeginsWhenItsTimeHasCome() async throws {
            let origin = try await FileOrigin(files: 3)
            let cluster = try await ProcessCluster(
                coordinators: 1, workers: 1, connections: 4, leaseSeconds: 10)
            let edge = try TemporaryDirectory("edge")
            let prefetch = try cluster.start([
                "prefetch", origin.list, "--to", edge.path, "--name", "movies", "--not-before",
                "2d", "--deadline", "3d",
            ])
            try await waitUntil(deadlineSeconds: 30, "the catalog") {
                try await cluster.status().catalogs.first?.state == .running
            }
            let shown = try await Self.run(cluster, "status")
            #expect(shown.contains("Not before") && shown.contains("Deadline"), "\(shown)")
            let late = try await Self.run(
                cluster, "catalog", "reschedule", "movies", "--deadline", "1d", exits: 2)
            #expect(late.contains("it would come before"), "\(late)")
            #expect(try await cluster.status().catalogs[0].totals.segmentsDone == 0)

            let moved = try await Self.run(
                cluster, "catalog", "reschedule", "movies", "--not-before", "none")
            #expect(moved == "Rescheduled: 3 assets running.\n")
            #expect(try await prefetch.wait() == .exited(0))
            #expect(prefetch.errors.contains("it does not start before 20"), "\(prefetch.errors)")
            try await origin.expectCopied(to: edge.path)
            let status = try await cluster.status().catalogs[0]
            #expect(status.notBefore == nil && status.deadline != nil)
            try await cluster.stop()
        }

        @Test func limitsAndSchedulesAreSetAndShown() async throws {
            let cluster = try await ProcessCluster(
                coordinators: 1, workers: 0, connections: 1, leaseSeconds: 10)
            // A catalog makes its site, its queue and its origin known.
            let prefetch = try cluster.start([
                "prefetch", "http://127.0.0.1:9/file", "--to", "/srv/edge-of-a-test", "--name", "m",
            ])
            try await waitUntil(deadlineSeconds: 30, "the catalog") {
                try await cluster.status().catalogs.first?.state == .running
            }
            let set = try await Self.run(
                cluster, "origins", "set", "http://127.0.0.1:9/path?x", "--connections", "8",
                "--requests", "0.5")
            #expect(set == "http://127.0.0.1:9: at most 8 connections, 0.5 requests/s.\n")
            _ = try await Self.run(cluster, "origins", "default", "--bandwidth", "200Mbit/s")
            let origins = try await Self.run(cluster, "origins")
            #expect(origins.hasPrefix("Default: at most 200Mbit/s\n"), "\(origins)")
            #expect(origins.contains("0 of 8") && origins.contains("0 of 0.5"), "\(origins)")
            var page: OriginPage = try Self.read(
                try await Self.run(cluster, "origins", "list", "--json"))
            #expect(page.origins.map(\.limits.connections) == [8])
            #expect(
                try await Self.run(cluster, "origins", "clear", "http://127.0.0.1:9")
                    == "http://127.0.0.1:9: the default.\n")
            page = try Self.read(try await Self.run(cluster, "origins", "--json"))
            #expect(page.origins.map(\.limits.bytesPerSecond) == [25_000_000])

            let site = try await Self.run(
                cluster, "site", "set", "file:///srv/edge-of-a-test", "--schedule",
                "off in Europe/Berlin", "--maximum", "8MiB/s")
            #expect(
                site == "Site edge-of-a-test: off now; schedule: off in Europe/Berlin; "
                    + "maximum: 8MiB/s; floor: none; quota: none; not before: any time; expires: never; "
                    + "keep for: ever; evicts: off; audits: none; serves: none; volume: set by the next worker.\n"
            )
            let sites = try await Self.run(cluster, "site")
            #expect(sites.contains("off in Europe/Berlin") && sites.contains("8MiB/s"), "\(sites)")
            let status: ClusterStatus = try Self.read(
                try await Self.run(cluster, "status", "--json"))
            #expect(status.queues.map(\.isSiteClosed) == [true])
            let unknown = try await Self.run(
                cluster, "site", "set", "edge-of-a-test", "--schedule", "off in No/Where",
                exits: 2)
            #expect(unknown.contains("No/Where"), "\(unknown)")
            _ = try await Self.run(
                cluster, "site", "set", "edge-of-a-test", "--schedule", "unlimited")
            let list: SiteList = try Self.read(try await Self.run(cluster, "site", "--json"))
            #expect(list.sites.map(\.schedule) == [""] && list.sites.map(\.isClosed) == [false])
            #expect(list.sites.map(\.bytesPerSecond) == [8 << 20])

            // There is no worker here; a draining queue accepts no more.
            _ = try await Self.run(cluster, "queue", "drain", "edge-of-a-test")
            let refused = try await Self.run(
                cluster, "prefetch", "http://127.0.0.1:9/other", "--to", "/srv/edge-of-a-test",
                exits: 2)
            #expect(refused.contains("is draining"), "\(refused)")
            prefetch.signal(SIGTERM)
            #expect(try await prefetch.wait() == .exited(130))
            try await cluster.stop()
        }
    }
}
