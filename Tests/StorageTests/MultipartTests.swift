import Digest
import Foundation
import Model
import Storage
import TestSupport
import Testing

@Suite struct MultipartTests {
    static let id: MultipartID = "0c6f8a52-0b55-4f4e-9a87-0c7d9f0f8f55"
    static let partBytes = 100_000
    static let content = (0..<950_000).map { UInt8(truncatingIfNeeded: $0 &* 2_654_435_761 >> 13) }

    /// The content cut into parts, with true digests.
    private func multipart() -> MultipartFile {
        let starts = stride(from: 0, to: Self.content.count, by: Self.partBytes)
        let parts = starts.map { start in
            let bytes = Array(Self.content[start..<min(start + Self.partBytes, Self.content.count)])
            return MultipartFile.Part(
                offset: Int64(start), length: Int64(bytes.count),
                sha256: SHA256Digest(hashing: bytes).description)
        }
        return MultipartFile(
            id: Self.id, totalBytes: Int64(Self.content.count), validator: "\"v1\"", parts: parts)
    }

    private func write(_ part: MultipartFile.Part, to storage: DirectoryStorage) throws {
        let object = try storage.openMultipart(
            id: Self.id, offset: part.offset, length: part.length, of: Int64(Self.content.count),
            isNew: true)
        let range = Int(part.offset)..<Int(part.offset + part.length)
        // In small pieces, as they arrive.
        for start in stride(from: range.lowerBound, to: range.upperBound, by: 16_384) {
            let piece = Self.content[start..<min(start + 16_384, range.upperBound)]
            try piece.withUnsafeBytes { try object.write($0, at: Int64(start)) }
        }
        for result in storage.commit([object]) { try result.get() }
    }

    private func code(_ body: () throws -> Void) -> FailureCode? {
        do {
            try body()
            return nil
        } catch { return (error as? Failure)?.code }
    }

    @Test func whoeverLostItsLeasePromotesNothing() throws {
        let site = try Site()
        let multipart = multipart()
        for part in multipart.parts { try write(part, to: site.storage) }
        try site.store("h/x", [1])
        #expect(
            code { _ = try site.storage.promoteMultipart(multipart, key: "h/x") { false } }
                == "worker.leaseLost")
        #expect(try site.directory.read("h/x") == [1])
        #expect(
            try site.storage.promoteMultipart(multipart, key: "h/x").bytes == multipart.totalBytes)
    }

    @Test func rangesFromManyWorkersBecomeOneFile() async throws {
        let site = try Site()
        let multipart = multipart()
        let parts = multipart.parts
        // Two storages over one directory, as two worker processes have.
        let other = try DirectoryStorage(site.storage.url)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (index, part) in parts.enumerated().reversed() {
                let storage = index % 2 == 0 ? site.storage : other
                group.addTask { try write(part, to: storage) }
            }
            try await group.waitForAll()
        }
        #expect(try site.visibleFiles().isEmpty)
        let stored = try site.storage.promoteMultipart(multipart, key: "h/big.mp4")
        #expect(stored == Site.expected(Self.content))
        #expect(try site.directory.read("h/big.mp4") == Self.content)
        #expect(try site.privateFiles().isEmpty)
        // The report was lost: the next try finds the file in its place.
        #expect(try other.promoteMultipart(multipart, key: "h/big.mp4") == stored)
    }

    /// A worker that does not know that the file started over would create one of full size.
    @Test func aPartOfWhatIsNotThereMakesNothing() throws {
        let site = try Site()
        let object = try site.storage.openMultipart(
            id: Self.id, offset: 0, length: 10, of: 30, isNew: true)
        object.discard()
        site.storage.removeMultipart(id: Self.id)
        #expect(
            code {
                _ = try site.storage.openMultipart(id: Self.id, offset: 10, length: 10, of: 30)
            } == "integrity.multipartMismatch")
        #expect(try site.privateFiles().isEmpty)
    }

    @Test func aDiscardedRangeLeavesTheOthers() throws {
        let site = try Site()
        let multipart = multipart()
        let parts = multipart.parts
        for part in parts { try write(part, to: site.storage) }
        let again = try site.storage.openMultipart(
            id: Self.id, offset: 0, length: 10, of: multipart.totalBytes, isNew: true)
        again.discard()
        #expect(
            try site.storage.promoteMultipart(multipart, key: "x").bytes == multipart.totalBytes)
    }

    @Test func aWrongPartIsFoundAndCanBeWrittenAgain() throws {
        let site = try Site()
        let multipart = multipart()
        let parts = multipart.parts
        for part in parts { try write(part, to: site.storage) }
        let bad = try site.storage.openMultipart(
            id: Self.id, offset: 250_000, length: 1, of: multipart.totalBytes, isNew: true)
        try [UInt8]([Self.content[250_000] ^ 1]).withUnsafeBytes {
            try bad.write($0, at: 250_000)
        }
        for result in site.storage.commit([bad]) { try result.get() }
        #expect(
            code { _ = try site.storage.promoteMultipart(multipart, key: "h/x") }
                == "integrity.multipartMismatch")
        #expect(try site.visibleFiles().isEmpty)
        try write(parts[2], to: site.storage)
        #expect(
            try site.storage.promoteMultipart(multipart, key: "h/x").bytes == multipart.totalBytes)
    }

    /// Ranges in their order, but for what ends the chain: the file is read, and is right all the same.
    @Test(arguments: ["ordered", "second try", "discarded", "another digest"])
    func theDigestOfTheWholeIsThatOfTheFile(how: String) throws {
        let site = try Site()
        let multipart = multipart()
        let parts = multipart.parts
        for (index, part) in parts.enumerated() {
            if how == "discarded", index == 3 {
                try site.storage.openMultipart(
                    id: Self.id, offset: part.offset, length: part.length, of: multipart.totalBytes,
                    isFirstTry: true, isNew: true
                ).discard()
            }
            let object = try site.storage.openMultipart(
                id: Self.id, offset: part.offset, length: part.length,
                of: multipart.totalBytes, isFirstTry: how != "second try" || index != 5, isNew: true
            )
            let bytes = Self.content[Int(part.offset)..<Int(part.offset + part.length)]
            try bytes.withUnsafeBytes { try object.write($0, at: part.offset) }
            object.note(sha256: how == "another digest" ? "" : part.sha256)
            for result in site.storage.commit([object]) { try result.get() }
        }
        #expect(
            try site.storage.promoteMultipart(multipart, key: "h/x") == Site.expected(Self.content))
        #expect(try site.directory.read("h/x") == Self.content)
    }

    /// What was written before the split is not read at once, which would hold up a transfer loop, but
    /// by who catches up; then nothing is read at the end.
    @Test(arguments: ["at once", "after the part", "after the next part", "never"])
    func whatWasWrittenBeforeASplitIsReadByWhoCatchesUp(when: String) throws {
        let site = try Site()
        let multipart = multipart()
        let parts = multipart.parts
        let early = Int(parts[0].length) / 2
        let whole = try site.pending("h/x", [UInt8](repeating: 0, count: early))
        let first = try site.storage.makeMultipart(
            of: whole, id: Self.id, firstPart: parts[0].length, totalBytes: multipart.totalBytes)
        // It was not read: what counts is what lies there now.
        try site.directory.write(Self.content[..<early], to: ".dray/multipart/\(Self.id)")
        if when == "at once" { first.catchUp() }
        for (index, part) in parts.enumerated() {
            let object =
                index == 0
                ? first
                : try site.storage.openMultipart(
                    id: Self.id, offset: part.offset, length: part.length, of: multipart.totalBytes,
                    isFirstTry: true, isNew: true)
            let start = index == 0 ? early : Int(part.offset)
            try Self.content[start..<Int(part.offset + part.length)].withUnsafeBytes {
                try object.write($0, at: Int64(start))
            }
            object.note(sha256: part.sha256)
            for result in site.storage.commit([object]) { try result.get() }
            if when == "after the part", index == 0 { first.catchUp() }
            if when == "after the next part", index == 1 { first.catchUp() }
        }
        // Who reads the file finds another digest.
        try site.directory.write(Self.content.map { ~$0 }, to: ".dray/multipart/\(Self.id)")
        if when == "never" {
            #expect(
                code { _ = try site.storage.promoteMultipart(multipart, key: "h/x") }
                    == "integrity.multipartMismatch")
        } else {
            #expect(
                try site.storage.promoteMultipart(multipart, key: "h/x")
                    == Site.expected(Self.content))
        }
    }

    @Test func partsMustCoverTheFile() throws {
        let site = try Site()
        let whole = multipart()
        let parts = whole.parts
        for part in parts { try write(part, to: site.storage) }
        var variants: [MultipartFile] = []
        for edited in [
            [], Array(parts.dropLast()), Array(parts.dropFirst()), Array(parts.reversed()),
            parts + [parts[0]], parts.filter { $0.offset != parts[3].offset },
        ] {
            var variant = whole
            variant.parts = edited
            variants.append(variant)
        }
        var longer = whole
        longer.totalBytes += 1
        var absurd = whole
        absurd.parts = [.init(offset: 0, length: .max, sha256: parts[0].sha256)]
        var undigested = whole
        undigested.parts[0].sha256 = ""
        var unlisted = whole
        unlisted.parts = []
        for variant in variants + [longer, absurd, undigested, unlisted] {
            #expect(
                code { _ = try site.storage.promoteMultipart(variant, key: "h/x") }
                    == "integrity.multipartMismatch")
        }
        #expect(try site.visibleFiles().isEmpty)
        #expect(try site.storage.promoteMultipart(whole, key: "h/x").bytes == whole.totalBytes)
    }

    @Test func whatIsGoneIsAMismatch() throws {
        let site = try Site()
        #expect(
            code { _ = try site.storage.promoteMultipart(multipart(), key: "h/x") }
                == "integrity.multipartMismatch")
        try site.store("h/x", [UInt8](repeating: 0, count: Self.content.count))
        #expect(
            code { _ = try site.storage.promoteMultipart(multipart(), key: "h/x") }
                == "integrity.multipartMismatch")
    }

    @Test func aFolderInTheWayIsAConflictAndNothingIsLost() throws {
        let site = try Site()
        let multipart = multipart()
        for part in multipart.parts { try write(part, to: site.storage) }
        try site.store("h/x/below", [1])
        try site.store("file", [1])
        for key in ["h/x", "file/x"] {
            #expect(
                code { _ = try site.storage.promoteMultipart(multipart, key: key) }
                    == "storage.pathConflict")
        }
        #expect(
            try site.storage.promoteMultipart(multipart, key: "y").bytes == multipart.totalBytes)
    }
}
