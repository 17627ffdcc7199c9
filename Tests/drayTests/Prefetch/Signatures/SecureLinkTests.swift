import Digest
import Foundation
import Synchronization
import TestSupport
import Testing

extension EndToEnd {
    /// URLs with an expiry that nginx signs and checks (`secure_link`), as CDNs do.
    @Suite(.timeLimit(.minutes(3))) struct SecureLinkTests {
        private static let secret = "enigma"
        /// In 2020, and in 2100.
        private static let past = 1_600_000_000
        private static let future = 4_102_444_800

        private static func signed(
            _ path: String, expires: Int, as parameter: String = "md5"
        ) -> String {
            let text = "\(expires)\(path) \(secret)"
            let hash = base64(digest(.md5, Array(text.utf8))?.bytes ?? [])
            let name = hash.replacing("+", with: "-").replacing("/", with: "_")
                .replacing("=", with: "")
            return "\(path)?\(parameter)=\(name)&expires=\(expires)"
        }

        /// Serves `root`: 410 for an expired signature, 403 for a wrong one. Manifests come from elsewhere.
        private static func nginx(
            _ root: String, manifests: FaultOrigin? = nil, as parameter: String = "md5"
        ) async throws -> NginxServer {
            let proxy = manifests.map {
                "location ~ m3u8$ { proxy_pass http://127.0.0.1:\($0.port); }"
            }
            return try await NginxServer(
                root: root,
                configuration: """
                    location / {
                        secure_link $arg_\(parameter),$arg_expires;
                        secure_link_md5 "$secure_link_expires$uri \(secret)";
                        if ($secure_link = "") { return 403; }
                        if ($secure_link = "0") { return 410; }
                    }
                    \(proxy ?? "")
                    """)
        }

        private static func write(_ count: Int, in root: TemporaryDirectory) throws {
            for number in 0..<count {
                _ = try root.write(Array("segment \(number)".utf8), to: "t/\(number).ts")
            }
        }

        /// Returns how often each file was served with its whole body, by path.
        /// - Parameter total: how many answers are awaited: nginx logs them after they were sent.
        private static func served(
            _ nginx: NginxServer, total: Int
        ) async throws -> [String: Int] {
            func answers() -> [NginxServer.Request] {
                nginx.requests().filter { $0.status == 200 && $0.target.contains(".ts?") }
            }
            try await waitUntil(deadlineSeconds: 60, "the access log") {
                answers().count >= total
            }
            return Dictionary(
                grouping: answers(), by: { String($0.target.prefix { $0 != "?" }) }
            ).mapValues(\.count)
        }

        private static func expectWhole(
            _ home: EmbeddedHome, _ nginx: NginxServer, _ count: Int
        ) throws {
            for number in 0..<count {
                let stored = FileManager.default.contents(
                    atPath: "\(home.edge)/127.0.0.1:\(nginx.port)/t/\(number).ts")
                #expect(stored == Data("segment \(number)".utf8), "\(number)")
            }
        }

        /// However many segments are rejected, the manifest is read again once, and nothing is fetched twice.
        @Test(arguments: [0, 500]) func oneReadRenewsAThousandURLs(valid: Int) async throws {
            let root = try TemporaryDirectory("origin")
            try Self.write(1_000, in: root)
            let manifests = try FaultOrigin()
            let counter = Counter()
            manifests.route("/t/main.m3u8") { _ in
                let isFirst = counter.next() == 1
                let entries = (0..<1_000).map { number in
                    let expires = isFirst && number >= valid ? Self.past : Self.future
                    return "#EXTINF:4,\n\(Self.signed("/t/\(number).ts", expires: expires))\n"
                }
                return .init(
                    headers: [("Content-Type", "application/vnd.apple.mpegurl")],
                    text: "#EXTM3U\n#EXT-X-TARGETDURATION:4\n" + entries.joined()
                        + "#EXT-X-ENDLIST\n")
            }
            let nginx = try await Self.nginx(root.path, manifests: manifests)
            let home = try await EmbeddedHome(.current, state: .ofAnEarlierRun)
            let run = try home.prefetch("\(nginx.url)/t/main.m3u8", ["--name", "secure"])
            #expect(try await run.wait() == .exited(0), "\(run.output)\(run.errors)")
            try Self.expectWhole(home, nginx, 1_000)
            #expect(manifests.count("/t/main.m3u8") == 2)
            let served = try await Self.served(nginx, total: 1_000)
            #expect((0..<1_000).allSatisfy { served["/t/\($0).ts"] == 1 })
            let report = try home.start([
                "report", "--by", "code", "--json", "--state", home.stateDirectory,
            ])
            #expect(try await report.wait() == .exited(0), "\(report.errors)")
            #expect(report.output.contains("\"name\" : \"origin.http.410\""), "\(report.output)")
            #expect(report.output.contains("\"byFreshURL\" : 1"), "\(report.output)")
            #expect(report.output.contains("\"completed\" : 1"), "\(report.output)")
            let text = try home.start(["report", "--state", home.stateDirectory])
            #expect(try await text.wait() == .exited(0), "\(text.errors)")
            #expect(text.output.contains("fresh URL if signed"), "\(text.output)")
        }

        private final class Counter: Sendable {
            private let count = Atomic<Int>(0)
            func next() -> Int { count.add(1, ordering: .relaxed).newValue }
        }

        /// A list's URLs say when they expired; with fresh ones the list continues. A hash may choose what is served,
        /// unless an operator leaves it and its end out of keys.
        @Test(arguments: [("signature", false), ("md5", true), ("md5", false)])
        func aListWithFreshURLsContinues(parameter: String, leavesOut: Bool) async throws {
            let root = try TemporaryDirectory("origin")
            try Self.write(40, in: root)
            let nginx = try await Self.nginx(root.path, as: parameter)
            let home = try await EmbeddedHome(.current, state: .ofAnEarlierRun)
            func list(_ expires: (Int) -> Int) throws -> String {
                try root.write(
                    (0..<40).map {
                        let path = "/t/\($0).ts"
                        return nginx.url
                            + Self.signed(path, expires: expires($0), as: parameter) + "\n"
                    }.joined(), to: "list.txt")
            }
            let settings = home.path("origins.json")
            try #"{"\#(nginx.url)": {"keyQuery": {"leaveOut": ["\#(parameter)", "expires"]}}}"#
                .write(toFile: settings, atomically: false, encoding: .utf8)
            let options =
                ["--name", "secure"] + (leavesOut ? ["--origin-settings", settings] : [])
            let stale = try list { $0 < 20 ? Self.future : Self.past }
            let first = try home.prefetch(stale, options)
            #expect(try await first.wait() == .exited(1), "\(first.output)\(first.errors)")
            #expect(first.errors.contains("origin.signatureExpired"), "\(first.errors)")
            #expect(first.errors.contains("its URL expired at 2020-09-13T12:26:40Z"))
            #expect(first.errors.contains("under the same catalog name"), "\(first.errors)")
            let fresh = try list { _ in Self.future + 60 }
            let second = try home.prefetch(fresh, options)
            #expect(try await second.wait() == .exited(0), "\(second.output)\(second.errors)")
            try Self.expectWhole(home, nginx, 40)
            let isAgain = parameter == "md5" && !leavesOut
            let served = try await Self.served(nginx, total: isAgain ? 60 : 40)
            for number in 0..<40 {
                #expect(served["/t/\(number).ts"] == (isAgain && number < 20 ? 2 : 1), "\(number)")
            }
            #expect(first.errors.contains("unless keyQuery") == isAgain, "\(first.errors)")
            // A wrong signature that has not expired is another reason.
            let wrong = try root.write(
                "\(nginx.url)/t/41.ts?\(parameter)=AAAAAAAAAAAAAAAAAAAAAA&expires=\(Self.future)\n",
                to: "wrong.txt")
            let refused = try home.prefetch(
                wrong, ["--name", "wrong"])
            #expect(try await refused.wait() == .exited(1), "\(refused.errors)")
            #expect(
                refused.errors.contains("expires at 2100-01-01T00:00:00Z: the origin rejects it"),
                "\(refused.errors)")
        }
    }
}
