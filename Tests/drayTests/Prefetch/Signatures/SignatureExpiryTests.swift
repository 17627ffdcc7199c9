import Foundation
import Synchronization
import TestSupport
import Testing

extension EndToEnd {
    /// Signed URLs that expire while a title is fetched, from a list to a site.
    @Suite(.timeLimit(.minutes(2))) struct SignatureExpiryTests {
        /// An origin that answers nothing but the signature that is valid now, and makes it another one after so many
        /// segments.
        private final class Signer: Sendable {
            private struct State {
                var epoch = 0
                var served = 0
            }
            private let state = Mutex(State())
            private let perEpoch: Int

            init(perEpoch: Int) { self.perEpoch = perEpoch }

            var query: String { state.withLock { Self.query($0.epoch) } }
            var epoch: Int { state.withLock { $0.epoch } }

            /// A URL with an expiry time in the past has expired when it is rejected.
            private static func query(_ epoch: Int) -> String {
                "Expires=\(1_000_000_000 + epoch)&Signature=S3CRET\(epoch)"
            }

            func rotate() { state.withLock { $0.epoch += 1 } }

            func isValid(_ request: FaultOrigin.Request) -> Bool {
                state.withLock { request.target.hasSuffix("?" + Self.query($0.epoch)) }
            }

            /// A segment was served.
            func count() {
                state.withLock { state in
                    state.served += 1
                    if state.served.isMultiple(of: perEpoch) { state.epoch += 1 }
                }
            }
        }

        private static let segments = 40

        /// `/t/main.m3u8` with its segments; the manifest wants a signature where it is signed itself.
        private static func serve(
            _ origin: FaultOrigin, _ signer: Signer, signsManifest: Bool,
            lists: @escaping @Sendable (Int) -> Bool = { _ in true }
        ) {
            origin.route("/t/main.m3u8") { request in
                guard !signsManifest || signer.isValid(request) else { return .init(403) }
                let query = signer.query
                let entries = (0..<segments).filter(lists).map { "#EXTINF:4,\n\($0).ts?\(query)\n" }
                let text =
                    "#EXTM3U\n#EXT-X-TARGETDURATION:4\n" + entries.joined() + "#EXT-X-ENDLIST\n"
                return .init(
                    headers: [("Content-Type", "application/vnd.apple.mpegurl")], text: text)
            }
            for number in 0..<segments {
                origin.route("/t/\(number).ts") { request in
                    guard signer.isValid(request) else { return .init(403) }
                    signer.count()
                    return request.serve(body(number), etag: "\"\(number)\"")
                }
            }
        }

        private static func body(_ number: Int) -> [UInt8] {
            Array("segment \(number)".utf8)
        }

        private static func site(_ home: EmbeddedHome, _ origin: FaultOrigin) -> String {
            "\(home.edge)/127.0.0.1:\(origin.port)/t"
        }

        private static func expectWhole(_ home: EmbeddedHome, _ origin: FaultOrigin) throws {
            let site = site(home, origin)
            for number in 0..<segments {
                let stored = FileManager.default.contents(atPath: "\(site)/\(number).ts")
                #expect(stored == Data(body(number)), "\(number)")
            }
            for name in try EdgeTree.files(beneath: home.edge) {
                #expect(!name.contains("S3CRET"))
                let data = FileManager.default.contents(atPath: "\(home.edge)/\(name)") ?? Data()
                #expect(!String(decoding: data, as: UTF8.self).contains("S3CRET"), "\(name)")
            }
        }

        private static func options() -> [String] { ["--connections", "2", "--name", "signed"] }

        @Test func segmentsGetFreshURLsFromTheirManifest() async throws {
            let origin = try FaultOrigin()
            let signer = Signer(perEpoch: 15)
            Self.serve(origin, signer, signsManifest: false)
            let home = try await EmbeddedHome(.current, state: .ofAnEarlierRun)
            let run = try home.prefetch(origin.url("/t/main.m3u8"), Self.options())
            #expect(try await run.wait() == .exited(0), "\(run.output)\(run.errors)")
            try Self.expectWhole(home, origin)
            // Once for each signature that has expired, and not for each segment.
            #expect((3...8).contains(origin.count("/t/main.m3u8")))
            for number in 0..<Self.segments {
                let served = origin.requests(for: "/t/\(number).ts").count
                #expect(served <= 4, "\(number)")
            }
            #expect(!run.errors.contains("S3CRET") && !run.output.contains("S3CRET"))
        }

        @Test func anInterruptedFileResumesWithAFreshURL() async throws {
            let origin = try FaultOrigin()
            let signer = Signer(perEpoch: 1_000)
            Self.serve(origin, signer, signsManifest: false)
            let large = [UInt8](repeating: 7, count: 4 << 20)
            let hasBroken = Mutex(false)
            origin.route("/t/0.ts") { request in
                guard signer.isValid(request) else { return .init(403) }
                let answer = request.serve(large, etag: "\"0\"")
                let breaks = hasBroken.withLock { isBroken in
                    defer { isBroken = true }
                    return !isBroken
                }
                guard breaks else { return answer }
                signer.rotate()
                return answer.cut(after: 2 << 20)
            }
            let home = try await EmbeddedHome(.current, state: .ofAnEarlierRun)
            let run = try home.prefetch(origin.url("/t/main.m3u8"), Self.options())
            #expect(try await run.wait() == .exited(0), "\(run.output)\(run.errors)")
            let stored = FileManager.default.contents(
                atPath: "\(Self.site(home, origin))/0.ts")
            #expect(stored == Data(large))
            let last = try #require(origin.requests(for: "/t/0.ts").last)
            #expect(last.headers["range"]?.hasPrefix("bytes=") == true)
        }

        @Test func aListWithFreshURLsFetchesWhatIsLacking() async throws {
            let origin = try FaultOrigin()
            let signer = Signer(perEpoch: 15)
            Self.serve(origin, signer, signsManifest: true)
            let home = try await EmbeddedHome(.current, state: .ofAnEarlierRun)
            var runs = 0
            var stored: Set<Int> = []
            while stored.count < Self.segments, runs < 5 {
                runs += 1
                let before = origin.requests.count
                let run = try home.prefetch(
                    origin.url("/t/main.m3u8?\(signer.query)"), Self.options())
                let status = try await run.wait()
                let asked = origin.requests.dropFirst(before).map(\.path)
                for number in stored { #expect(!asked.contains("/t/\(number).ts"), "\(number)") }
                stored = Set(
                    (0..<Self.segments).filter {
                        FileManager.default.fileExists(
                            atPath: "\(Self.site(home, origin))/\($0).ts")
                    })
                guard stored.count < Self.segments else {
                    #expect(status == .exited(0), "\(run.output)\(run.errors)")
                    break
                }
                #expect(status == .exited(1))
                #expect(run.errors.contains("origin.signatureExpired"), "\(run.errors)")
                #expect(run.errors.contains("submit the list again with a fresh one"))
                #expect(!run.errors.contains("S3CRET"))
            }
            #expect(runs == 3)
            try Self.expectWhole(home, origin)
        }

        @Test func whatIsNotListedAnyMoreFails() async throws {
            let origin = try FaultOrigin()
            let signer = Signer(perEpoch: 15)
            Self.serve(
                origin, signer, signsManifest: false, lists: { $0 != 39 || signer.epoch == 0 })
            let home = try await EmbeddedHome(.current, state: .ofAnEarlierRun)
            let run = try home.prefetch(origin.url("/t/main.m3u8"), Self.options())
            #expect(try await run.wait() == .exited(1), "\(run.output)\(run.errors)")
            #expect(run.errors.contains("manifest.changed"), "\(run.errors)")
            let count = try FileManager.default.contentsOfDirectory(
                atPath: Self.site(home, origin)
            ).count { $0.hasSuffix(".ts") }
            #expect(count == Self.segments - 1)
        }
    }
}
