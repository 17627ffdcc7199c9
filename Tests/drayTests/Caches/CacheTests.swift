import Foundation
import TestSupport
import Testing

extension EndToEnd {
    /// `dray prefetch` to real caches: Varnish, Traffic Server and nginx, with two POPs each.
    @Suite(
        .enabled(if: !CacheServers.installed.isEmpty, CacheServers.needs), .timeLimit(.minutes(4)))
    struct CacheTests {
        private static func warm(
            _ home: EmbeddedHome, _ list: String, _ site: String, _ options: [String] = []
        ) throws -> ChildProcess {
            try FileManager.default.createDirectory(
                atPath: home.path("own"), withIntermediateDirectories: true)
            return try home.start(
                [
                    "prefetch", list, "--to", site, "--report", home.report, "--state",
                    home.stateDirectory, "--name", "warm",
                ] + options)
        }

        private static func list(_ home: EmbeddedHome, _ urls: [String]) throws -> String {
            let path = home.path("list.txt")
            try Data(urls.joined(separator: "\n").utf8).write(to: URL(filePath: path))
            return path
        }

        /// Counts of the report's POPs, by POP and name.
        private static func pops(_ report: Report) throws -> [String: [String: Int]] {
            let caches = try #require(report.root["caches"] as? [String: Any])
            let pops = try #require(caches["pops"] as? [[String: Any]])
            return Dictionary(
                uniqueKeysWithValues: pops.map { pop in
                    (pop["pop"] as? String ?? "", pop.compactMapValues { $0 as? Int })
                })
        }

        private static func findings(_ report: Report) throws -> [[String: Any]] {
            let caches = try #require(report.root["caches"] as? [String: Any])
            return try #require(caches["findings"] as? [[String: Any]])
        }

        private static func serveTitle(_ servers: CacheServers) throws {
            let variant = "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=100000\nv/low.m3u8\n"
            try servers.serve("hls/master.m3u8", Array(variant.utf8))
            let media = """
                #EXTM3U
                #EXT-X-TARGETDURATION:4
                #EXTINF:4,
                0.ts
                #EXTINF:4,
                1.ts?token=a
                #EXT-X-ENDLIST

                """
            try servers.serve("hls/v/low.m3u8", Array(media.utf8))
            for index in 0..<2 { try servers.serve("hls/v/\(index).ts", sampleBytes(70_000)) }
        }

        @Test(arguments: CacheServers.installed)
        func theFirstPassFillsAndTheSecondHits(_ kind: CacheServers.Kind) async throws {
            let servers = try await CacheServers(kind)
            try Self.serveTitle(servers)
            for index in 0..<20 { try servers.serve("f/\(index).bin", sampleBytes(3_000 + index)) }
            try servers.serve("f/large.bin", sampleBytes(9 << 20))
            let home = try await EmbeddedHome(.current, state: .ofAnEarlierRun)
            let files = (0..<20).map { "\(servers.origin)/f/\($0).bin" }
            let list = try Self.list(
                home,
                files + ["\(servers.origin)/f/large.bin", "\(servers.origin)/hls/master.m3u8"])
            let before = servers.originRequests.count

            let first = try Self.warm(home, list, servers.site())
            #expect(try await first.wait(deadlineSeconds: 120) == .exited(0), "\(first.errors)")
            var report = try Report(home.report)
            let objects = 21 + 4
            for (pop, counts) in try Self.pops(report) {
                #expect(servers.pops.contains(pop))
                #expect(counts["objects"] == objects, "\(counts)")
                #expect(counts["bytes"] ?? 0 > 9 << 20)
                // Resolving the title requests its two playlists first.
                let filled = (counts["stored"] ?? 0) + (counts["misses"] ?? 0)
                #expect(filled == objects - 2 && counts["hits"] == 2, "\(counts)")
                #expect(counts["notCached"] == 0 && counts["failed"] == 0)
                if kind == .trafficserver { #expect(counts["stored"] == objects - 2) }
            }
            #expect(try Self.pops(report).count == 2)
            let requests = servers.originRequests
            #expect(requests.count == before + 2 * objects, "\(requests)")
            #expect(requests.contains { $0.hasPrefix("GET /hls/v/1.ts?token=a ") })
            // Each POP was asked at its address for the name of the edge.
            #expect(Set(servers.originHosts.dropFirst(before)) == [servers.host])
            #expect(first.output.contains("Not stored"))

            let second = try Self.warm(home, list, servers.site())
            #expect(try await second.wait(deadlineSeconds: 120) == .exited(0), "\(second.errors)")
            report = try Report(home.report)
            for counts in try Self.pops(report).values {
                #expect(counts["hits"] == objects && counts["misses"] == 0, "\(counts)")
            }
            #expect(servers.originRequests.count == requests.count)
            // Nothing is stored: no file, no directory, no checksum file.
            let everything = try home.everything()
            #expect(!everything.contains { $0.hasSuffix("SHA256SUMS") || $0.contains(".dray") })
            try await home.expectQuiet()
            try await servers.stop()
        }

        /// One run names what a cache does not keep, and fails for it only if asked to verify.
        @Test(arguments: CacheServers.installed)
        func whatIsNotCachedIsNamed(_ kind: CacheServers.Kind) async throws {
            let servers = try await CacheServers(kind)
            try servers.serve("f/a.bin", sampleBytes(2_000))
            try servers.serve("uncached/b.bin", sampleBytes(2_000))
            let home = try await EmbeddedHome(.current, state: .ofAnEarlierRun)
            let list = try Self.list(
                home, ["\(servers.origin)/f/a.bin", "\(servers.origin)/uncached/b.bin"])
            let plain = try Self.warm(home, list, servers.site())
            #expect(try await plain.wait(deadlineSeconds: 120) == .exited(0), "\(plain.errors)")
            #expect(plain.errors.contains("Cache-Control: no-store"))

            let process = try Self.warm(home, list, servers.site(), ["--verify"])
            #expect(try await process.wait(deadlineSeconds: 120) == .exited(1), "\(process.errors)")
            let report = try Report(home.report)
            for counts in try Self.pops(report).values {
                #expect(counts["hits"] == 1 && counts["notStored"] == 1, "\(counts)")
            }
            let findings = try Self.findings(report)
            #expect(findings.count == 2)
            for finding in findings {
                #expect(finding["code"] as? String == "content.notCached")
                #expect(finding["path"] as? String == "uncached/b.bin")
            }
            for pop in servers.pops {
                #expect(process.errors.contains("content.notCached: \(pop)/uncached/b.bin\n"))
            }
            try await servers.stop()
        }

        @Test(arguments: CacheServers.installed)
        func aPOPThatIsDownAndABodyThatDiffersAreFailures(_ kind: CacheServers.Kind) async throws {
            let servers = try await CacheServers(kind)
            for index in 0..<4 { try servers.serve("f/\(index).bin", sampleBytes(2_000)) }
            let home = try await EmbeddedHome(.current, state: .ofAnEarlierRun)
            let urls = (0..<4).map { "\(servers.origin)/f/\($0).bin" }
            let list = try Self.list(home, urls)
            let down = try Self.warm(home, list, servers.site(servers.pops + [servers.absentPOP]))
            #expect(try await down.wait(deadlineSeconds: 200) == .exited(1), "\(down.errors)")
            var report = try Report(home.report)
            let counts = try Self.pops(report)
            #expect(counts[servers.absentPOP]?["failed"] == 4, "\(counts)")
            for pop in servers.pops {
                #expect(counts[pop]?["failed"] == 0 && counts[pop]?["objects"] == 4, "\(counts)")
            }
            #expect(report.failureCode(of: "\(servers.absentPOP)/f/0.bin") == "origin.connect")

            let differing = try Self.list(home, urls + ["\(servers.origin)/differing"])
            let process = try Self.warm(home, differing, servers.site())
            #expect(try await process.wait(deadlineSeconds: 120) == .exited(1), "\(process.errors)")
            report = try Report(home.report)
            let findings = try Self.findings(report)
            #expect(Set(findings.compactMap { $0["sha256"] as? String }).count == 2)
            #expect(findings.allSatisfy { $0["path"] as? String == "differing" })
            #expect(process.errors.contains("content.differs: \(servers.pops[0])/differing"))
            try await servers.stop()
        }

        @Test(.enabled(if: CacheServers.installed.contains(.nginx)))
        func whatACacheLostIsNamedAndFilledAgain() async throws {
            let servers = try await CacheServers(.nginx)
            for index in 0..<3 { try servers.serve("f/\(index).bin", sampleBytes(2_000)) }
            let home = try await EmbeddedHome(.current, state: .ofAnEarlierRun)
            let list = try Self.list(home, (0..<3).map { "\(servers.origin)/f/\($0).bin" })
            let filled = try Self.warm(home, list, servers.site(), ["--verify", "--quiet"])
            #expect(try await filled.wait(deadlineSeconds: 120) == .exited(0), "\(filled.errors)")
            #expect(filled.output.isEmpty)

            try servers.evict()
            let process = try Self.warm(home, list, servers.site())
            #expect(try await process.wait(deadlineSeconds: 120) == .exited(0), "\(process.errors)")
            var report = try Report(home.report)
            let findings = try Self.findings(report)
            #expect(findings.count == 3)
            for finding in findings {
                #expect(finding["code"] as? String == "content.evicted")
                #expect(finding["pop"] as? String == servers.pops[0])
            }
            let counts = try Self.pops(report)
            #expect(counts[servers.pops[0]]?["evicted"] == 3)
            #expect(counts[servers.pops[1]]?["hits"] == 3)

            let last = try Self.warm(home, list, servers.site())
            #expect(try await last.wait(deadlineSeconds: 120) == .exited(0), "\(last.errors)")
            report = try Report(home.report)
            #expect(try Self.findings(report).isEmpty)
            try await servers.stop()
        }

        /// What warming gains: the same log misses at a cold POP, and hits at a warm one.
        @Test(
            arguments: [CacheServers.Kind.nginx, .varnish].filter(CacheServers.installed.contains))
        func aReplayShowsWhatWarmingGains(_ kind: CacheServers.Kind) async throws {
            let servers = try await CacheServers(kind)
            for index in 0..<8 { try servers.serve("f/\(index).bin", sampleBytes(2_000)) }
            let home = try await EmbeddedHome(.current, state: .ofAnEarlierRun)
            let log = home.path("access.log")
            let lines = (0..<40).map { index in
                "h - - [10/Oct/2026:12:00:0\(index / 10) +0000] \"GET /f/\(index % 8).bin HTTP/1.1\" "
                    + "200 2000 \"-\" \"-\"\n"
            }
            try Data(lines.joined().utf8).write(to: URL(filePath: log))
            func replay(_ pop: String) async throws -> [String: Int] {
                let load = try home.start([
                    "loadtest", "http://\(pop)", "--replay", log, "--speed-up", "2", "--json",
                    "--quiet",
                ])
                #expect(try await load.wait(deadlineSeconds: 60) == .exited(0), "\(load.errors)")
                let result = try JSONSerialization.jsonObject(with: Data(load.output.utf8))
                let counts = (result as? [String: Any])?["counts"] as? [String: Any]
                return try #require(counts).compactMapValues { $0 as? Int }
            }
            let cold = try await replay(servers.pops[0])
            // The request before the test has stored the first file.
            #expect(cold["cacheMisses"] == 7 && cold["cacheHits"] == 33, "\(cold)")
            let list = try Self.list(home, (0..<8).map { "\(servers.origin)/f/\($0).bin" })
            let site = "cache:http://\(servers.pops[1])?pop=\(servers.pops[1])"
            let warmed = try Self.warm(home, list, site)
            #expect(try await warmed.wait(deadlineSeconds: 120) == .exited(0), "\(warmed.errors)")
            let warm = try await replay(servers.pops[1])
            #expect(warm["cacheMisses"] == 0 && warm["cacheHits"] == 40, "\(warm)")
            try await servers.stop()
        }

        @Test func whatOnlyStorageHasIsRefused() async throws {
            let home = try await EmbeddedHome(.current)
            let list = try Self.list(home, ["http://127.0.0.1:9/f/a.bin"])
            let site = "cache:http://edge.example?pop=127.0.0.2"
            for options in [
                ["--prune"], ["--expires", "2099-01-01"], ["--keep-for", "1h"],
                ["--refresh-after", "1h"], ["--refresh-after", "origin"],
                ["--live", "record"],
            ] {
                let process = try Self.warm(home, list, site, options)
                #expect(try await process.wait() == .exited(2), "\(process.errors)")
                #expect(process.errors.contains("(input.cacheSite)"), "\(process.errors)")
            }
            for (bad, words) in [
                ("cache:edge.example", "cache:https://HOST"),
                ("cache:http://edge.example?pop=x", "IPv4"),
                ("cache:http://edge.example/path", "without a path"),
            ] {
                let process = try Self.warm(home, list, bad)
                #expect(try await process.wait() == .exited(2))
                #expect(process.errors.contains(words), "\(process.errors)")
                #expect(process.errors.contains("(input.destination)"), "\(process.errors)")
            }
            let process = try Self.warm(home, list, home.path("edge"), ["--verify"])
            #expect(try await process.wait() == .exited(2))
            #expect(process.errors.contains("--verify is for caches"))
        }
    }
}
