import Foundation
import Model
import Storage
import TestSupport
import Testing

@Suite struct SweepTests {
    /// Sets a file's modification time back.
    private func age(_ path: String, bySeconds seconds: Double) throws {
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSinceNow: -seconds)], ofItemAtPath: path)
    }

    @Test func onlyWhatIsOldIsRemoved() throws {
        let site = try Site()
        try site.store("h/kept", [1])
        try age(site.directory.path("h/kept"), bySeconds: 1_000_000)
        let old = try site.pending("h/old", [1], job: 1)
        let young = try site.pending("h/young", [2], job: 2)
        let abandoned: MultipartID = "abandoned"
        let part = try site.storage.openMultipart(
            id: abandoned, offset: 0, length: 1, of: 1, isNew: true)
        for result in site.storage.commit([part]) { try result.get() }
        try age(site.directory.path(".dray/tmp/\(Site.lease)-1"), bySeconds: 7200)
        try age(site.directory.path(".dray/multipart/\(abandoned)"), bySeconds: 7200)

        #expect(try site.storage.sweepTemporaries(olderThanSeconds: 3600).removed == 2)
        #expect(try site.storage.sweepTemporaries(olderThanSeconds: 3600).removed == 0)
        #expect(try site.directory.files() == [".dray/tmp/\(Site.lease)-2", "h/kept"])
        let results = site.storage.commit([old, young])
        #expect(throws: Failure.self) { try results[0].get() }
        try results[1].get()
        #expect(try site.visibleFiles() == ["h/kept", "h/young"])
    }

    /// A process that is killed gives its locks back; what it left is of no use to a later attempt without a record.
    @Test func whatAKilledWriterLeftGoesSoon() throws {
        let site = try Site()
        let live = try site.pending("h/live", [1], job: 1)
        let (left, resumable) = ("\(Site.lease)-2", "\(Site.lease)-3")
        try site.directory.write([1], to: ".dray/tmp/\(left)")
        try site.directory.write([1], to: ".dray/tmp/\(resumable)")
        let record = ".dray/partial/\(String(repeating: "a", count: 32))-\(resumable)"
        try site.directory.write([1], to: record)

        #expect(try site.storage.sweepTemporaries(olderThanSeconds: 3600).removed == 0)
        let outcome = try site.storage.sweepTemporaries(olderThanSeconds: 3600, unownedSeconds: -1)
        #expect(outcome.removed == 1)
        #expect(
            try site.directory.files()
                == [record, ".dray/tmp/\(Site.lease)-1", ".dray/tmp/\(resumable)"])
        for result in site.storage.commit([live]) { try result.get() }
    }

    /// A refresh stages a title's files until the last of them is there, which may take hours.
    @Test func whatARefreshHasStagedStays() throws {
        let site = try Site()
        let object = try site.storage.createTemporary(
            lease: Site.lease, job: JobID(7), key: "h/title.ts", number: 1)
        try [UInt8](repeating: 1, count: 10).withUnsafeBytes { try object.write($0, at: 0) }
        let staged = try site.storage.stage([object])
        let outcome = try site.storage.sweepTemporaries(olderThanSeconds: 3600, unownedSeconds: -1)
        #expect(outcome.removed == 0)
        try site.storage.makeWay(for: staged)
        #expect(try site.storage.publish(staged) == [])
        #expect(try site.visibleFiles() == ["h/title.ts"])
        #expect(try site.storage.sweepTemporaries(olderThanSeconds: 0).removed == 0)
    }

    /// However many files are in use, those behind them have their turn.
    @Test func aSweepIsBoundedAndTheNextContinues() throws {
        let site = try Site()
        for number in 10..<60 {
            try site.directory.write([1], to: ".dray/tmp/l-\(number)")
            if number % 10 == 9 {
                try age(site.directory.path(".dray/tmp/l-\(number)"), bySeconds: 7200)
            }
        }
        let outcomes = try (0..<6).map { _ in
            try site.storage.sweepTemporaries(olderThanSeconds: 3600, most: 10)
        }
        #expect(outcomes.map(\.removed) == [1, 1, 1, 1, 1, 0])
        #expect(outcomes.map(\.isWhole) == [false, false, false, false, true, false])
        #expect(try site.privateFiles().count == 45)
    }
}

@Suite struct PrivateFileTests {
    /// The record of an object is no leftover though the object itself is left for another call.
    @Test func recordsOfFilesBeyondTheLimitAreNoOrphans() throws {
        let site = try Site()
        let identity = String(repeating: "0", count: 32)
        for number in 1...3 {
            // The first record is that of the last object.
            let identity = String(repeating: "\(3 - number)", count: 32)
            let name = "\(Site.lease)-\(number)"
            try site.directory.write([1], to: ".dray/tmp/\(name)")
            try site.directory.write([1], to: ".dray/partial/\(identity)-\(name)")
        }
        let files = try site.storage.privateFiles(maxFiles: 1)
        #expect(files.map(\.folder) == [.temporary])
        try site.directory.write([1], to: ".dray/partial/\(identity)-\(Site.lease)-0")
        #expect(try site.storage.privateFiles(maxFiles: 1).map(\.folder) == [.temporary, .partial])
    }
}

@Suite struct GeneratedFileTests {
    @Test func aGeneratedFileReplacesTheOneBefore() throws {
        let site = try Site()
        for text in ["first, which is longer\n", "second\n"] {
            try site.storage.writeGeneratedFile(
                key: "h/SHA256SUMS", lease: Site.lease, job: JobID(3),
                chunks: text.utf8.map { [$0] })
            #expect(try site.directory.read("h/SHA256SUMS") == Array(text.utf8))
        }
        #expect(try site.privateFiles().isEmpty)
    }

    @Test func aFolderInTheWayIsAConflict() throws {
        let site = try Site()
        try site.store("h/SHA256SUMS/x", [1])
        let failure = #expect(throws: Failure.self) {
            try site.storage.writeGeneratedFile(
                key: "h/SHA256SUMS", lease: Site.lease, job: JobID(3), chunks: [[1]])
        }
        #expect(failure?.code == "storage.pathConflict")
        #expect(try site.privateFiles().isEmpty)
    }
}
