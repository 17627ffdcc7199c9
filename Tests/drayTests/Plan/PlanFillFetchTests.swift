import Foundation
import Statistics
import TestSupport
import Testing

extension EndToEnd {
    /// A fill plan from the log of a real origin, fetched by Dray, and held against a real edge.
    @Suite(.timeLimit(.minutes(3))) struct PlanFillFetchTests {
        private static let files = 30
        private static let bytes = 10_000
        private static let requests = 300

        private let work: TemporaryDirectory

        init() throws { work = try TemporaryDirectory("fill") }

        /// Requests each file below `url`, the first ones most often, with curl.
        private func request(_ url: String, seed: UInt64) async throws {
            var random = SeededRandom(seed: seed)
            let words = (0..<Self.requests).map { _ in
                let file = Int(Double(Self.files) * random.uniform() * random.uniform())
                return "url = \"\(url)/f/\(file).mp4\"\noutput = \"/dev/null\"\n"
            }
            let list = try work.write(Array(words.joined().utf8), to: "curl-\(seed)")
            try await ChildProcess.run(["curl", "-sS", "--fail", "--config", list])
        }

        /// Returns the lines of an access log once it has so many.
        private func lines(_ name: String, atLeast count: Int) async throws -> [Substring] {
            func read() -> [Substring] {
                let text = (try? work.read(name)) ?? []
                return String(decoding: text, as: UTF8.self).split(separator: "\n")
            }
            try await waitUntil(deadlineSeconds: 20, "\(name)") { read().count >= count }
            return read()
        }

        private func fill(_ words: [String]) async throws -> [String: Any] {
            let process = try DrayProcess.start(["plan", "fill"] + words + ["--json"])
            #expect(try await process.wait() == .exited(0), "\(process.errors)")
            let answer = try #require(
                JSONSerialization.jsonObject(with: Data(process.output.utf8)) as? [String: Any])
            return try #require((answer["sites"] as? [[String: Any]])?.first)
        }

        private func log(_ name: String) -> String {
            "access_log \(work.path(name)) combined;"
        }

        @Test func theEdgesLogAgreesWithTheOriginsLog() async throws {
            for file in 0..<Self.files {
                try work.write(
                    [UInt8](repeating: UInt8(file), count: Self.bytes), to: "origin/f/\(file).mp4")
            }
            let origin = try await NginxServer(
                root: work.path("origin"), configuration: log("origin.log"))
            try await request(origin.url, seed: 1)
            _ = try await lines("origin.log", atLeast: Self.requests)
            let out = work.path("plan")
            let plan = try await fill([
                "--site", "edge=105kB", "--log", work.path("origin.log"), "--origin",
                "\(origin.url)/", "--out", out,
            ])
            #expect(plan["titles"] as? Int == 10)

            let home = try await EmbeddedHome(.current, state: .ofAnEarlierRun)
            let prefetch = try home.prefetch("\(out)/edge.ndjson")
            #expect(try await prefetch.wait() == .exited(0), "\(prefetch.errors)")
            let key = "127.0.0.1:\(origin.port)"
            let stored = try FileManager.default.contentsOfDirectory(
                atPath: "\(home.edge)/\(key)/f"
            ).filter { $0.hasSuffix(".mp4") }
            #expect(stored.count == 10)

            // The edge gets from the origin what it does not have.
            let edge = try await NginxServer(
                root: home.edge,
                configuration: log("edge.log") + """
                    location / { try_files $uri @origin; }
                    location @origin {
                        rewrite ^/[^/]+/(.*)$ /$1 break;
                        proxy_pass \(origin.url);
                    }
                    """)
            let before = try await lines("origin.log", atLeast: Self.requests + 10).count
            try await request("\(edge.url)/\(key)", seed: 2)
            let misses = try await lines("edge.log", atLeast: Self.requests).count { line in
                !stored.contains { line.contains("/f/\($0) ") }
            }
            #expect(misses > 0)
            let sent = try await lines("origin.log", atLeast: before + misses).count - before
            #expect(sent == misses)
            let check = try await fill([
                "--plan", out, "--check", work.path("edge.log"), "--prefix", "/",
            ])
            let ratio = try #require(check["hitRatio"] as? [String: Any])
            let measured = try #require(ratio["measured"] as? Double)
            #expect(abs(measured - (1 - Double(misses) / Double(Self.requests))) < 1e-9)
            #expect(abs(try #require(ratio["errorPoints"] as? Double)) < 15)
            let missed = try #require(check["mostMissed"] as? [[String: Any]])
            #expect(missed.count == 5)
            for title in missed {
                let name = try #require(title["title"] as? String)
                #expect(name.hasPrefix("\(key)/f/") && name.hasSuffix(".mp4"), "\(name)")
                #expect(!stored.contains(String(name.dropFirst("\(key)/f/".count))))
            }
        }
    }
}
