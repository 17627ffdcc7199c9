import API
import Foundation
import Model
import TestSupport
import Testing

extension EndToEnd {
    /// `dray prefetch --site a,b,c`: later sites are filled from the web servers of those before them.
    @Suite(.timeLimit(.minutes(3))) struct NeighbourFillTests {
        /// An origin, sites and a cluster that knows them.
        private final class Setup {
            let sites: [String]
            let directory: TemporaryDirectory
            let origin: NginxServer
            let cluster: ProcessCluster
            let list: String

            init(sites: [String] = ["a", "b"]) async throws {
                self.sites = sites
                directory = try TemporaryDirectory("sites")
                let root = directory.path("origin")
                _ = try await ChildProcess.run([
                    "cp", "-r", SourceTree.path("examples/origin"), root,
                ])
                for number in 0..<40 {
                    let bytes = (0..<20_000).map { UInt8(truncatingIfNeeded: $0 * (number + 3)) }
                    try directory.write(bytes, to: "origin/many/\(number) &?.bin")
                }
                origin = try await NginxServer(root: root)
                let url = origin.url
                let files = (0..<40).map { "\(url)/many/\($0)%20%26%3F.bin" }
                list = try directory.write(
                    (files + ["\(url)/titles/clockwork/master.m3u8"]).map { $0 + "\n" }.joined()
                        .utf8,
                    to: "list.txt")
                cluster = try await ProcessCluster(
                    coordinators: 1, workers: 1, connections: 8, leaseSeconds: 5)
                for site in sites { try await run(["site", "add", edge(site)]) }
            }

            func edge(_ site: String) -> String { directory.path("edge-\(site)") }

            /// Name of a site's queue.
            func name(_ site: String) -> String {
                let words = edge(site).lowercased().split { !$0.isLetter && !$0.isNumber }
                return words.suffix(4).joined(separator: "-")
            }

            @discardableResult
            func run(_ arguments: [String], exits code: Int32 = 0) async throws -> String {
                let process = try cluster.start(arguments)
                #expect(try await process.wait() == .exited(code), "\(process.errors)")
                return process.output + process.errors
            }

            func serve(_ url: String, from site: String = "a") async throws {
                try await run(["site", "set", name(site), "--serves", url])
            }

            func prefetch(_ options: [String] = [], exits code: Int32 = 0) async throws -> String {
                try await run(
                    [
                        "prefetch", list, "--site", sites.map(name).joined(separator: ","),
                        "--name", "both",
                    ] + options, exits: code)
            }

            /// Paths of the stored objects of a site.
            func stored(_ site: String) throws -> Set<String> {
                try EdgeTree.files(beneath: edge(site)).filter {
                    !$0.hasPrefix(".dray/") && !$0.hasSuffix("SHA256SUMS")
                }
            }

            func bytes(_ site: String) throws -> Int64 {
                try stored(site).reduce(0) { sum, path in
                    let file = try FileManager.default.attributesOfItem(
                        atPath: "\(edge(site))/\(path)")
                    return sum + (file[.size] as? Int64 ?? 0)
                }
            }

            /// All sites have the same files, as their checksum files say.
            func check() async throws {
                let paths = try stored("a")
                #expect(paths.count > 50)
                for site in sites.dropFirst() {
                    #expect(try stored(site) == paths)
                    _ = try await EdgeTree.checkSums(beneath: edge(site))
                }
                for path in paths {
                    let files = sites.map {
                        FileManager.default.contents(atPath: "\(edge($0))/\(path)")
                    }
                    #expect(files[0] != nil && Set(files).count == 1, "\(path)")
                }
            }

            func end() async throws { try await cluster.stop() }
        }

        private static func bytes(_ server: NginxServer) -> Int64 {
            server.requests().reduce(0) { $0 + $1.bytesSent }
        }

        /// The figure to reach: 1.05 of the catalog for three sites, files and a title.
        @Test func theOriginSeesEachByteAboutOnce() async throws {
            let setup = try await Setup(sites: ["a", "b", "c"])
            var neighbours: [NginxServer] = []
            for site in ["a", "b"] {
                try FileManager.default.createDirectory(
                    atPath: setup.edge(site), withIntermediateDirectories: true)
                let neighbour = try await NginxServer(root: setup.edge(site))
                try await setup.serve(neighbour.url, from: site)
                neighbours.append(neighbour)
            }
            let output = try await setup.prefetch(["--report", setup.directory.path("run.json")])
            for site in setup.sites {
                #expect(
                    output.contains("both: completed, in \(setup.name(site))"), "\(output)")
                let report = setup.directory.path("run.\(setup.name(site)).json")
                #expect(FileManager.default.fileExists(atPath: report))
            }
            try await setup.check()
            let all = try setup.bytes("a")
            try await waitUntil(deadlineSeconds: 60, "nginx's log") {
                neighbours.reduce(0) { $0 + Self.bytes($1) } >= 2 * all * 9 / 10
            }
            let sent = Self.bytes(setup.origin)
            #expect(Double(sent) <= 1.05 * Double(all), "\(sent) of \(all) bytes")
            // Run again, all are checked where they lie.
            let requests = setup.origin.requests().count
            _ = try await setup.prefetch()
            #expect(setup.origin.requests().count == requests)
            try await setup.end()
        }

        enum Fault: String, CaseIterable {
            case wrongBytes, missing, down, servesNothing
        }

        @Test(arguments: Fault.allCases)
        func aSiteIsCompleteWhateverItsNeighbourServes(_ fault: Fault) async throws {
            let setup = try await Setup()
            let place = setup.directory.path("neighbour")
            try FileManager.default.createDirectory(
                atPath: place, withIntermediateDirectories: true)
            let neighbour = try await NginxServer(
                root: place,
                // As long as they should be, and others.
                configuration: fault == .wrongBytes
                    ? "rewrite ^ /wrong.bin break;" : "")
            try setup.directory.write(
                [UInt8](repeating: 7, count: 20_000), to: "neighbour/wrong.bin")
            if fault == .down { try await neighbour.stop() }
            if fault != .servesNothing { try await setup.serve(neighbour.url) }
            let output = try await setup.prefetch()
            #expect(
                output.contains("serves no files") == (fault == .servesNothing), "\(output)")
            try await setup.check()
            if fault == .wrongBytes || fault == .missing {
                #expect(!neighbour.requests().isEmpty)
            }
            // Each site has asked the origin.
            let all = try setup.bytes("a")
            try await waitUntil(deadlineSeconds: 60, "nginx's log") {
                Double(Self.bytes(setup.origin)) >= 1.95 * Double(all)
            }
            try await setup.end()
        }

        @Test func sitesAreKnownAndNamedOnce() async throws {
            let setup = try await Setup()
            let known = setup.name("a")
            for (sites, message) in [
                ("\(known),nowhere", "There is no site nowhere"),
                ("\(known),\(known)", "named twice"), ("\(known),", "--site"),
            ] {
                let output = try await setup.run(
                    ["prefetch", setup.list, "--site", sites, "--name", "both"], exits: 2)
                #expect(output.contains(message), "\(output)")
            }
            #expect(try await setup.cluster.status().catalogs.isEmpty)
            // A catalog of several sites is cancelled by its name at all of them.
            let detached = try await setup.prefetch(["--detach", "--not-before", "1h"])
            #expect(detached.contains("both at \(setup.name("b")) is catalog"), "\(detached)")
            try await setup.run(["catalog", "cancel", "both", "--all-sites"])
            let states = try await setup.cluster.status().catalogs.map(\.state)
            #expect(states == [.cancelled, .cancelled])
            try await setup.end()
        }
    }
}
