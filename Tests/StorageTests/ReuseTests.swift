import Digest
import Foundation
import Glibc
import Model
import Storage
import TestSupport
import Testing

@Suite struct ReuseTests {
    @Test func theSameBytesAreReused() throws {
        let site = try Site()
        let bytes = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 / 7) }
        try site.store("h/a/b", bytes)
        #expect(site.storage.reuse(key: "h/a/b", expected: Site.expected(bytes)))
        try site.store("empty", [])
        #expect(site.storage.reuse(key: "empty", expected: Site.expected([])))
    }

    @Test func anythingElseIsNot() throws {
        let site = try Site()
        try site.store("h/a", [1, 2, 3])
        #expect(!site.storage.reuse(key: "h/a", expected: Site.expected([1, 2, 4])))
        #expect(!site.storage.reuse(key: "h/a", expected: Site.expected([1, 2])))
        #expect(!site.storage.reuse(key: "h/b", expected: Site.expected([1, 2, 3])))
        #expect(!site.storage.reuse(key: "h", expected: Site.expected([1, 2, 3])))
        #expect(!site.storage.reuse(key: "h/a/b", expected: Site.expected([1, 2, 3])))
        #expect(!site.storage.reuse(key: "h/a", expected: StoredObject(bytes: 3, sha256: "xyz")))
        #expect(!site.storage.reuse(key: "h/a", expected: StoredObject(bytes: -3, sha256: "")))
    }

    @Test func everyDigestOfTheListHasToAgree() throws {
        let site = try Site()
        let bytes = Array("123456789".utf8)
        try site.store("h/a", bytes)
        func reuses(_ digests: [ExpectedDigest?], _ length: Int64? = nil) -> Bool {
            let stored = site.storage.reuse(
                key: "h/a", bytes: length, digests: digests.compactMap { $0 })
            return stored == Site.expected(bytes)
        }
        let md5 = ExpectedDigest(.md5, hex: "25f9e794323b453885f5181f1b624d0b")
        let other = ExpectedDigest(.md5, hex: String(repeating: "0", count: 32))
        let sha256 = ExpectedDigest(SHA256Digest(hashing: bytes))
        let crc32c = ExpectedDigest(.crc32c, hex: "e3069283")
        #expect(reuses([md5]) && reuses([sha256, md5]) && reuses([sha256, crc32c]))
        #expect(!reuses([other]) && !reuses([sha256, other]) && !reuses([]))
        // Thirty-two bits prove little about a file of any length.
        #expect(!reuses([crc32c]) && reuses([crc32c], 9))
    }

    @Test func aFIFOIsNeitherReadNorWaitedFor() throws {
        let site = try Site()
        #expect(mkfifo(site.directory.path("pipe"), 0o644) == 0)
        #expect(!site.storage.reuse(key: "pipe", expected: Site.expected([])))
        #expect(site.storage.foundFile(key: "pipe", bytes: nil) == nil)
    }

    @Test func aFileOfAnotherToolIsDescribed() throws {
        let site = try Site()
        let bytes = sampleBytes(3_000_000)
        for name in ["h/a", "h/ancient"] { try site.directory.write(bytes, to: name) }
        for (name, seconds) in [("h/a", 1_700_000_000.75), ("h/ancient", 0)] {
            try FileManager.default.setAttributes(
                [.modificationDate: Date(timeIntervalSince1970: seconds)],
                ofItemAtPath: site.directory.path(name))
        }
        try FileManager.default.createSymbolicLink(
            atPath: site.directory.path("h/link"), withDestinationPath: "a")
        let found = try #require(site.storage.foundFile(key: "h/a", bytes: nil))
        #expect(StoredObject(bytes: found.bytes, sha256: found.sha256) == Site.expected(bytes))
        #expect(found.modified == 1_700_000_000)
        #expect(site.storage.foundFile(key: "h/a", bytes: 3_000_000) == found)
        #expect(site.storage.foundFile(key: "h/a", bytes: 2_999_999) == nil)
        for key in ["h", "h/b", "h/link", "h/ancient"] {
            #expect(site.storage.foundFile(key: key, bytes: nil) == nil, "\(key)")
        }
        // aria2 reserves the whole length before it has the bytes.
        try site.directory.write("", to: "h/a.aria2")
        #expect(site.storage.foundFile(key: "h/a", bytes: nil) == nil)
        #expect(site.storage.reuse(key: "h/a", expected: Site.expected(bytes)))
    }
}
