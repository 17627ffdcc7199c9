import Foundation
import Glibc
import Model
import Storage
import TestSupport
import Testing

@Suite struct AdoptTests {
    @Test func theSameBytesAreAdopted() throws {
        let site = try Site()
        let bytes = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 / 7) }
        try site.store("h/a/b", bytes)
        #expect(site.storage.adopt(key: "h/a/b", expected: Site.expected(bytes)))
        try site.store("empty", [])
        #expect(site.storage.adopt(key: "empty", expected: Site.expected([])))
    }

    @Test func anythingElseIsNot() throws {
        let site = try Site()
        try site.store("h/a", [1, 2, 3])
        #expect(!site.storage.adopt(key: "h/a", expected: Site.expected([1, 2, 4])))
        #expect(!site.storage.adopt(key: "h/a", expected: Site.expected([1, 2])))
        #expect(!site.storage.adopt(key: "h/b", expected: Site.expected([1, 2, 3])))
        #expect(!site.storage.adopt(key: "h", expected: Site.expected([1, 2, 3])))
        #expect(!site.storage.adopt(key: "h/a/b", expected: Site.expected([1, 2, 3])))
        #expect(!site.storage.adopt(key: "h/a", expected: StoredObject(bytes: 3, sha256: "xyz")))
        #expect(!site.storage.adopt(key: "h/a", expected: StoredObject(bytes: -3, sha256: "")))
    }

    @Test func aFIFOIsNeitherReadNorWaitedFor() throws {
        let site = try Site()
        #expect(mkfifo(site.directory.path("pipe"), 0o644) == 0)
        #expect(!site.storage.adopt(key: "pipe", expected: Site.expected([])))
    }
}
