import Foundation
import TestSupport
import Testing

extension EndToEnd {
    /// `--header` for one run: to one origin, and nowhere else.
    @Suite(.timeLimit(.minutes(2))) struct RunHeaderTests {
        private static let tooMany = [[String]](
            repeating: ["--header", "X: s3cret"], count: 51
        ).flatMap { $0 }
        private static let header = ["--header", "X-Key: s3cret", "--header", "Cookie: a=s3cret"]

        private func value(_ origin: FaultOrigin, _ path: String) -> String? {
            origin.requests(for: path).last?.headers["x-key"]
        }

        /// A title whose segment and key lie elsewhere, and whose playlist redirects.
        private func title() throws -> (origin: FaultOrigin, other: FaultOrigin) {
            let origin = try FaultOrigin()
            let other = try FaultOrigin()
            other.serve("/b.ts", [2, 2])
            other.serve("/k", Array(repeating: 7, count: 16))
            origin.serve("/t/a.ts", [1])
            origin.route(
                "/t/main.m3u8",
                FaultOrigin.Response(
                    text: """
                        #EXTM3U
                        #EXT-X-TARGETDURATION:4
                        #EXT-X-KEY:METHOD=AES-128,URI="\(other.url("/k"))"
                        #EXTINF:4,
                        a.ts
                        #EXTINF:4,
                        \(other.url("/b.ts"))
                        #EXT-X-ENDLIST
                        """))
            return (origin, other)
        }

        @Test func aPrivateClusterSendsThemToTheirOriginAlone() async throws {
            let (origin, other) = try title()
            let home = try await EmbeddedHome(.current, state: .ofAnEarlierRun)
            let url = origin.url("/t/main.m3u8")
            let run = try home.prefetch(url, Self.header)
            #expect(try await run.wait() == .exited(0), "\(run.errors)")
            for path in ["/t/main.m3u8", "/t/a.ts"] {
                #expect(value(origin, path) == "s3cret", "\(path)")
                #expect(origin.requests(for: path).last?.headers["cookie"] == "a=s3cret")
            }
            #expect(other.count("/b.ts") == 1 && other.count("/k") == 1)
            #expect(other.requests.allSatisfy { $0.headers["x-key"] == nil })
            // Nothing that the run has left has them.
            for path in try home.everything() {
                let bytes = FileManager.default.contents(atPath: home.path(path)) ?? Data()
                #expect(bytes.range(of: Data("s3cret".utf8)) == nil, "\(path)")
            }
            #expect(!run.errors.contains("s3cret") && !run.output.contains("s3cret"))
        }

        @Test func theOriginThatIsNamedGetsThem() async throws {
            let (origin, other) = try title()
            let home = try await EmbeddedHome(.current, state: .ofAnEarlierRun)
            let list = home.path("list.txt")
            try "\(origin.url("/t/main.m3u8"))\n"
                .write(toFile: list, atomically: false, encoding: .utf8)
            let unnamed = try home.prefetch(list, Self.header)
            #expect(try await unnamed.wait() == .exited(2))
            #expect(unnamed.errors.contains("--header-origin"), "\(unnamed.errors)")
            let run = try home.prefetch(list, Self.header + ["--header-origin", other.url()])
            #expect(try await run.wait() == .exited(0), "\(run.errors)")
            #expect(value(other, "/b.ts") == "s3cret" && value(other, "/k") == "s3cret")
            #expect(origin.requests.allSatisfy { $0.headers["x-key"] == nil })
            let refresh = try home.start(
                ["refresh", "list", "--state", home.path("own/state/dray")] + Self.header + [
                    "--header-origin", origin.url(),
                ])
            #expect(try await refresh.wait() == .exited(0), "\(refresh.errors)")
            #expect(value(origin, "/t/a.ts") == "s3cret")
        }

        @Test func inspectAndListsSendThemAsWell() async throws {
            let (origin, other) = try title()
            let home = try await EmbeddedHome(.current, state: .ofAnEarlierRun)
            origin.route("/list.txt", .redirect(to: other.url("/list.txt")))
            other.route("/list.txt", .init(text: "\(other.url("/b.ts"))\n"))
            let inspect = try home.start(
                ["inspect", origin.url("/t/main.m3u8")] + Self.header)
            #expect(try await inspect.wait() == .exited(0), "\(inspect.errors)")
            #expect(value(origin, "/t/main.m3u8") == "s3cret")
            let list = try home.prefetch(
                origin.url("/list.txt"), ["--format", "urls"] + Self.header)
            #expect(try await list.wait() == .exited(0), "\(list.errors)")
            #expect(value(origin, "/list.txt") == "s3cret")
            #expect(other.requests.allSatisfy { $0.headers["x-key"] == nil })
        }

        @Test func theyReplaceThoseOfTheSettings() async throws {
            let origin = try FaultOrigin()
            origin.route("/x", .init(text: "x"))
            let home = try await EmbeddedHome(.current, state: .ofAnEarlierRun)
            let file = home.path("origins.json")
            try """
            {"\(origin.url())": {"bearer": "old", "headers": {"X-Key": "old", "X-Other": "kept"}}}
            """.write(toFile: file, atomically: false, encoding: .utf8)
            let run = try home.start(
                ["fetch", origin.url("/x"), "-o", "-", "--origin-settings", file] + Self.header
                    + ["--header", "Authorization: Basic bmV3"])
            #expect(try await run.wait() == .exited(0), "\(run.errors)")
            let headers = try #require(origin.requests.first?.headers)
            #expect(headers["x-key"] == "s3cret" && headers["x-other"] == "kept")
            #expect(headers["authorization"] == "Basic bmV3")
        }

        @Test(arguments: [
            (["--header", "Host: h"], "set by Dray"),
            (["--header", "X: a\r\nY: b"], "control character"),
            (["--header", "Transfer-Encoding: chunked"], "set by Dray"),
            (["--header", "X-Key"], "'Name: value'"),
            (["--header-origin", "http://h"], "--header-origin needs --header"),
            (["--header", "X: s3cret", "--header-origin", "http://h/path"], "--header-origin is"),
            (["--header", "X: s3cret", "--header-origin", "http://u:p@h"], "--header-origin is"),
            (tooMany, "at most 50"),
        ])
        func wrongHeadersSendNoRequest(options: [String], message: String) async throws {
            let origin = try FaultOrigin()
            let home = try await EmbeddedHome(.current, state: .ofAnEarlierRun)
            for words in [
                ["fetch", origin.url("/x"), "-o", "-"], ["inspect", origin.url("/x")],
                ["prefetch", origin.url("/x.txt"), "--to", home.edge],
            ] {
                let run = try home.start(words + options)
                #expect(try await run.wait() == .exited(2))
                #expect(run.errors.contains(message), "\(run.errors)")
                #expect(!run.errors.contains("s3cret"))
            }
            #expect(origin.acceptedConnections == 0)
        }

        @Test func aClusterRefusesThemAndNamesTheSettings() async throws {
            let origin = try FaultOrigin()
            let home = try await EmbeddedHome(.current, state: .ofAnEarlierRun)
            let cluster = ["DRAY_COORDINATOR": "http://127.0.0.1:1"]
            for words in [
                ["prefetch", origin.url("/x"), "--to", "/edge"],
                ["refresh", "x", "--header-origin", origin.url()],
            ] {
                let run = try home.start(words + Self.header, cluster)
                #expect(try await run.wait() == .exited(2))
                #expect(run.errors.contains("--origin-settings"), "\(run.errors)")
            }
            let file = home.path("m.m3u8")
            try "#EXTM3U\n".write(toFile: file, atomically: false, encoding: .utf8)
            let inspect = try home.start(
                ["inspect", file, "--base", "http://h/m.m3u8"] + Self.header)
            #expect(try await inspect.wait() == .exited(2))
            #expect(origin.acceptedConnections == 0)
        }
    }
}
