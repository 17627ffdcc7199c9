import Digest
import Foundation
import Model
import TestSupport
import Testing

@testable import Client

/// What a mirror of another tool puts into a site before anything is downloaded.
@Suite struct AdoptionTests {
    private let mirror: TemporaryDirectory
    private let site: TemporaryDirectory
    private static let right = sampleBytes(3_000_000)
    private static let digest = SHA256Digest(hashing: right).description

    init() throws {
        mirror = try TemporaryDirectory("mirror")
        site = try TemporaryDirectory("adopted")
    }

    private func offer(_ path: String, sha256: String?) async throws -> AssetSubmission {
        let asset = AssetSubmission(
            name: path, url: "http://h.test/\(path)", kind: .file, key: "h.test/\(path)",
            sha256: sha256)
        return try await Adoption(directory: mirror.path, site: site.path).offer([asset])[0]
    }

    @Test func onlyWhatHasTheDigestOfTheListGetsItsKey() async throws {
        try mirror.write(Self.right, to: "h.test/d/right")
        try mirror.write(Self.right, to: "plain")
        try mirror.write(Self.right.dropLast(), to: "h.test/d/cut")
        try mirror.write(Self.right, to: "h.test/d/undescribed")
        for path in ["d/right", "plain", "d/cut"] { _ = try await offer(path, sha256: Self.digest) }
        #expect(try await offer("d/undescribed", sha256: nil).found == nil)
        #expect(try site.files().sorted() == ["h.test/d/right", "h.test/plain"])
        #expect(try site.read("h.test/d/right") == Self.right)
        // A copy: what the other tool writes later changes nothing.
        let handle = try FileHandle(forWritingTo: URL(filePath: mirror.path("h.test/d/right")))
        try handle.write(contentsOf: [0, 0, 0])
        try handle.close()
        #expect(try site.read("h.test/d/right") == Self.right)
    }

    @Test func aFileAtItsKeyIsDescribedToTheOrigin() async throws {
        try site.write(Self.right, to: "h.test/a")
        let found = try #require(try await offer("a", sha256: nil).found)
        #expect(found.bytes == Int64(Self.right.count))
        #expect(found.sha256 == Self.digest)
        // aria2 has not completed it.
        try site.write("", to: "h.test/a.aria2")
        #expect(try await offer("a", sha256: nil).found == nil)
    }

    @Test func noSymlinkIsFollowed() async throws {
        let elsewhere = try TemporaryDirectory("elsewhere")
        try elsewhere.write(Self.right, to: "a")
        try mirror.write(Self.right, to: "h.test/in/a")
        for (link, target) in [
            (site.path("h.test"), elsewhere.path), (mirror.path("h.test/out"), elsewhere.path),
        ] {
            try FileManager.default.createSymbolicLink(
                atPath: link, withDestinationPath: target)
        }
        #expect(try await offer("in/a", sha256: Self.digest).found == nil)
        #expect(try await offer("a", sha256: nil).found == nil)
        #expect(try elsewhere.files() == ["a"])
        try FileManager.default.removeItem(atPath: site.path("h.test"))
        _ = try await offer("out/a", sha256: Self.digest)
        #expect(try site.files() == [])
    }
}
