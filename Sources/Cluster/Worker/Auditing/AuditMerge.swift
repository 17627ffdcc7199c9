import API
import Glibc
import Model
import Storage

/// Something that does not look as recorded, until it is checked again.
struct AuditSuspect: Sendable, Hashable {
    enum Kind: Sendable, Hashable {
        /// A recorded file is missing, has another length, or is no file.
        case recorded
        /// A recorded file has another digest.
        case digest
        /// A file is there that is recorded as not stored.
        case unrecorded
        /// No record of the pages has the path.
        case unknown(WalkBatch.Kind)
    }

    var kind: Kind
    var path: [UInt8]
    /// Length of the file; nil if it is missing.
    var bytes: Int64?
    /// A negative number is that of a directory; 0 for none.
    var segment: Int64

    /// The path as text; nil if it is not UTF-8, which no key is.
    var key: String? { String(validating: path, as: UTF8.self) }
}

/// A file that a deep audit reads.
struct AuditedRecord: Sendable, Hashable {
    var key: String
    var segment: Int64
    var bytes: Int64
    var sha256: String
}

/// Merges the walk of a site with the pages of its records; both are in the order of the bytes of
/// paths. A value.
struct AuditMerge {
    enum Step {
        /// The next batches of the walk are needed.
        case needsWalk
        /// Suspects should be checked before there are too many.
        case isFull
        case pageIsDone
    }

    /// Numbers of files since the last report.
    private struct Counts {
        var files: Int64 = 0
        var bytes: Int64 = 0
        var checkedFiles: Int64 = 0
        var uncomparedFiles: Int64 = 0
        var uncomparedBytes: Int64 = 0
    }

    private var page = AuditPage()
    private var walk = AuditWalk()

    // What was found since the last `take`.
    private var suspects: [AuditSuspect] = []
    private var toRead: [AuditedRecord] = []
    private var counts = Counts()

    static let maxSuspects = 2_000

    /// Sets the next page of records, after the one before is done.
    mutating func take(page: [UInt8], isLast: Bool) {
        self.page = AuditPage(page, isLast: isLast)
    }

    /// Sets the next batches of the walk; none at its end.
    mutating func take(walk batches: [WalkBatch]) { walk.take(batches) }

    /// Returns what was found, and forgets it.
    mutating func takeSuspects() -> [AuditSuspect] {
        defer { suspects = [] }
        return suspects
    }

    mutating func takeToRead() -> [AuditedRecord] {
        defer { toRead = [] }
        return toRead
    }

    /// Adds what was counted to a report, and forgets it.
    mutating func takeCounts(into report: inout SiteAuditReport) {
        report.files = counts.files
        report.bytes = counts.bytes
        report.checkedFiles = counts.checkedFiles
        if counts.uncomparedFiles > 0 {
            report.uncomparedFiles = counts.uncomparedFiles
            report.uncomparedBytes = counts.uncomparedBytes
        }
        counts = Counts()
    }

    /// Compares until something is needed. Throws `cluster.protocol` for a page that cannot be read.
    mutating func run() throws(Failure) -> Step {
        while suspects.count < Self.maxSuspects {
            if !walk.isDone, !walk.advance() { return .needsWalk }
            guard try page.advance(), let record = page.record else {
                // Files after the last key of a page belong to the next one.
                guard page.isLast, walk.found != nil else { return .pageIsDone }
                addUnknown()
                continue
            }
            guard let found = walk.found else {
                addMissing(record)
                continue
            }
            let order = compare(record)
            if order < 0 {
                addUnknown()
            } else if order > 0 {
                addMissing(record)
            } else {
                add(found, as: record)
            }
        }
        return .isFull
    }

    private func compare(_ record: AuditPage.Record) -> Int32 {
        let common = min(walk.path.count, record.key.count)
        let order = walk.path.withUnsafeBufferPointer { path in
            page.text.withUnsafeBufferPointer { page -> Int32 in
                guard common > 0, let left = path.baseAddress, let right = page.baseAddress else {
                    return 0
                }
                return memcmp(left, right + record.key.lowerBound, common)
            }
        }
        if order != 0 { return order }
        return Int32(clamping: walk.path.count - record.key.count)
    }

    // MARK: Findings

    private mutating func addMissing(_ record: AuditPage.Record) {
        page.removeRecord()
        guard record.bytes >= 0 else { return }
        counts.checkedFiles += 1
        suspects.append(
            AuditSuspect(
                kind: .recorded, path: Array(page.text[record.key]), bytes: nil,
                segment: record.segment))
    }

    private mutating func count(_ found: AuditWalk.Found) {
        guard found.kind == .file else { return }
        counts.files += 1
        counts.bytes += found.bytes
    }

    private mutating func addUnknown() {
        guard let found = walk.found else { return }
        walk.removeFound()
        count(found)
        suspects.append(
            AuditSuspect(
                kind: .unknown(found.kind), path: walk.path, bytes: found.bytes, segment: 0))
    }

    private mutating func add(_ found: AuditWalk.Found, as record: AuditPage.Record) {
        walk.removeFound()
        page.removeRecord()
        count(found)
        guard record.bytes >= 0 else {
            // Neither a file that was put aside nor a checksum file must be there or not.
            guard record.segment > 0, found.kind == .file else {
                guard found.kind != .file else {
                    counts.uncomparedFiles += 1
                    counts.uncomparedBytes += found.bytes
                    return
                }
                return suspects.append(
                    AuditSuspect(
                        kind: .unknown(found.kind), path: walk.path, bytes: found.bytes, segment: 0)
                )
            }
            return suspects.append(
                AuditSuspect(
                    kind: .unrecorded, path: walk.path, bytes: found.bytes, segment: record.segment)
            )
        }
        counts.checkedFiles += 1
        guard found.kind == .file, found.bytes == record.bytes else {
            return suspects.append(
                AuditSuspect(
                    kind: .recorded, path: walk.path,
                    bytes: found.kind == .file ? found.bytes : nil,
                    segment: record.segment))
        }
        guard record.sha256.count == 64 else { return }
        toRead.append(
            AuditedRecord(
                key: String(decoding: walk.path, as: UTF8.self), segment: record.segment,
                bytes: record.bytes,
                sha256: String(decoding: page.text[record.sha256], as: UTF8.self)))
    }
}
