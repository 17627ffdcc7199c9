import API
import Model
import TestSupport
import Testing

extension EndToEnd {
    /// `--site` of commands that name a catalog takes the name of a site's queue, as it takes its directory.
    @Suite(.timeLimit(.minutes(2))) struct SiteNameTests {
        /// A catalog `spring` at the sites `berlin` (number 1) and `munich` (2), and no worker.
        private struct Setup {
            let work: TemporaryDirectory
            let cluster: ProcessCluster

            init() async throws {
                work = try TemporaryDirectory("named")
                cluster = try await ProcessCluster(
                    coordinators: 1, workers: 0, connections: 1, leaseSeconds: 10)
                let list = try work.write("http://origin.example/one.bin\n", to: "list.txt")
                for site in ["berlin", "munich"] {
                    try await run(["site", "add", work.path(site), "--name", site])
                }
                try await run([
                    "prefetch", list, "--site", "berlin,munich", "--name", "spring", "--detach",
                ])
            }

            /// Runs a command, and returns what it prints, to stdout and then to stderr.
            @discardableResult
            func run(
                _ words: [String], token: String = AccessToken.test.text, exits code: Int32 = 0
            ) async throws -> String {
                let process = try DrayProcess.start(
                    words, environment: ["DRAY_COORDINATOR": cluster.urls, "DRAY_TOKEN": token])
                #expect(
                    try await process.wait() == .exited(code),
                    "\(words): \(process.output)\(process.errors)")
                return process.output + process.errors
            }

            func states() async throws -> [CatalogID: CatalogState] {
                let catalogs = try await cluster.status().catalogs
                return Dictionary(uniqueKeysWithValues: catalogs.map { ($0.id, $0.state) })
            }
        }

        @Test func catalogsAreNamedWithTheirSites() async throws {
            let setup = try await Setup()
            let several = try await setup.run(["assets", "list", "spring"], exits: 2)
            #expect(several.contains("1 at berlin, 2 at munich. Specify its site (--site berlin)"))
            for site in [
                "munich", setup.work.path("munich"), "file://\(setup.work.path("munich"))",
            ] {
                let list = try await setup.run(["assets", "list", "spring", "--site", site])
                #expect(list.contains("Catalog 2, spring"), "\(list)")
            }
            for words in [
                ["assets", "pause"], ["assets", "resume"], ["assets", "pin"], ["assets", "unpin"],
                ["assets", "cancel"], ["assets", "retry"], ["catalog", "cancel"],
                ["catalog", "retry"], ["source", "show"], ["watch"], ["refresh"],
                ["catalog", "show"],
                ["catalog", "caches"], ["assets", "remove", "--yes"],
            ] {
                let verbs = words.filter { !$0.hasPrefix("-") }
                let unknown = try await setup.run(
                    verbs + ["spring", "--site", "nowhere"] + words.dropFirst(verbs.count), exits: 2
                )
                #expect(
                    unknown.contains(
                        "There is no site nowhere; other sites have one: 1 at berlin, 2 at munich."),
                    "\(words): \(unknown)")
                #expect(unknown.contains("`dray site list` lists"), "\(words): \(unknown)")
            }
            let munich = ["spring", "--site", "munich"]
            for action in ["pause", "resume", "pin", "unpin"] {
                let answer = try await setup.run(["assets", action] + munich)
                #expect(!answer.contains("Nothing to"), "\(action): \(answer)")
            }
            try await setup.run(["assets", "reprioritise"] + munich + ["--priority", "3"])
            try await setup.run(["catalog", "reschedule"] + munich + ["--deadline", "2d"])
            let source = ["http://origin.example/list.txt", "--every", "6h", "--site", "munich"]
            try await setup.run(["source", "set", "spring"] + source)
            let shown = try await setup.run(["catalog", "show"] + munich)
            #expect(shown.contains("spring (2): ") && shown.contains("every 6 h"), "\(shown)")
            try await setup.run(["source", "remove"] + munich)
            try await setup.run(["catalog", "cancel"] + munich)
            #expect(try await setup.states() == [CatalogID(1): .running, CatalogID(2): .cancelled])
            try await setup.run(["watch"] + munich, exits: 4)
            try await setup.run(["catalog", "forget"] + munich + ["--yes"])
            let gone = try await setup.run(["catalog", "show"] + munich, exits: 2)
            #expect(
                gone.contains(
                    "There is no catalog spring at munich; other sites have one: 1 at berlin."),
                "\(gone)")
            try await setup.cluster.stop()
        }

        /// A number of a script's that belongs to a catalog of another site changes nothing.
        @Test func aNumberIsRejectedAtAnotherSite() async throws {
            let setup = try await Setup()
            let url = "http://origin.example/list.txt"
            for words in [
                ["assets"], ["assets", "list"], ["assets", "pause"], ["assets", "resume"],
                ["assets", "pin"], ["assets", "unpin"], ["assets", "cancel"], ["assets", "retry"],
                ["assets", "reprioritise", "--priority", "3"], ["assets", "remove", "--yes"],
                ["catalog", "cancel"], ["catalog", "retry"], ["catalog", "show"],
                ["catalog", "status"], ["catalog", "reprioritise", "--priority", "3"],
                ["catalog", "reschedule", "--deadline", "2d"], ["catalog", "remove", "--yes"],
                ["catalog", "remove"], ["catalog", "forget"], ["catalog", "forget", "--yes"],
                ["catalog", "caches"], ["source", "show"], ["source", "read"],
                ["source", "remove"], ["source", "set", url, "--every", "6h"], ["watch"],
                ["refresh"],
            ] {
                let verbs = words.prefix { !$0.hasPrefix("-") && $0 != url }
                let command = verbs + ["1"] + words.dropFirst(verbs.count) + ["--site", "munich"]
                let rejected = try await setup.run(Array(command), exits: 2)
                #expect(
                    rejected.contains("Catalog 1 is of the site berlin, not of munich."),
                    "\(words): \(rejected)")
            }
            let unknown = try await setup.run(["assets", "1", "--site", "nowhere"], exits: 2)
            #expect(
                unknown.contains("There is no site nowhere; catalog 1 is of the site berlin."),
                "\(unknown)")
            #expect(try await setup.states() == [CatalogID(1): .running, CatalogID(2): .running])
            for site in ["munich", setup.work.path("munich")] {
                let list = try await setup.run(["assets", "2", "--site", site])
                #expect(list.contains("Catalog 2"), "\(list)")
            }
            try await setup.run(["catalog", "cancel", "2", "--site", "munich"])
            try await setup.run(["watch", "2", "--site", "munich"], exits: 4)
            #expect(try await setup.states() == [CatalogID(1): .running, CatalogID(2): .cancelled])
            try await setup.cluster.stop()
        }

        @Test func rejectionsOfAllSitesAreShown() async throws {
            let setup = try await Setup()
            let time = "2099-01-01T00:00Z"
            let list = try setup.work.write(
                #"[{"url": "http://origin.example/one.bin", "expiresAt": "\#(time)"}]"#,
                to: "late.json")
            try await setup.run([
                "prefetch", list, "--site", "berlin,munich", "--name", "late", "--detach",
                "--not-before", time,
            ])
            let retried = try await setup.run(["assets", "retry", "late", "--all-sites"])
            #expect(retried.contains("Rejected: 2 assets, whose rights "), "\(retried)")
            try await setup.cluster.stop()
        }

        @Test func aTokenIsBoundToTheSiteThatANameMeans() async throws {
            let setup = try await Setup()
            let create = ["token", "create", "--role", "submitter", "--name", "south", "--site"]
            let unknown = try await setup.run(create + ["nowhere"], exits: 2)
            #expect(unknown.contains("There is no site nowhere."), "\(unknown)")
            let process = try setup.cluster.start(create + ["munich"])
            #expect(try await process.wait() == .exited(0), "\(process.errors)")
            let token = String(process.output.dropLast())
            let tokens = try await setup.run(["token", "list", "--csv"])
            #expect(tokens.contains("south,submitter,active,,file://\(setup.work.path("munich")),"))
            let cancel = ["assets", "cancel", "spring", "--site"]
            for site in ["berlin", setup.work.path("berlin")] {
                let outside = try await setup.run(cancel + [site], token: token, exits: 3)
                #expect(outside.contains("(cluster.outOfScope)"), "\(outside)")
            }
            #expect(try await setup.states() == [CatalogID(1): .running, CatalogID(2): .running])
            try await setup.run(cancel + ["munich"], token: token)
            #expect(try await setup.states() == [CatalogID(1): .running, CatalogID(2): .cancelled])
            try await setup.cluster.stop()
        }
    }
}
