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

    private struct Record {
        var key: Range<Int>
        var segment: Int64
        /// Negative if it is not recorded as stored.
        var bytes: Int64
        var sha256: Range<Int>
    }

    private struct Found {
        var kind: WalkBatch.Kind
        var bytes: Int64
    }

    // The page.
    private var page: [UInt8] = []
    private var pageIndex = 0
    private var isLastPage = false
    private var record: Record?

    // The walk.
    private var batches: ArraySlice<WalkBatch> = []
    private var batchIndex = 0
    private var directoryBytes = 0
    private var path: [UInt8] = []
    private var found: Found?
    private var isWalkDone = false

    // What was found since the last `take`.
    private(set) var suspects: [AuditSuspect] = []
    private(set) var toRead: [AuditedRecord] = []
    private(set) var files: Int64 = 0
    private(set) var bytes: Int64 = 0
    private(set) var checkedFiles: Int64 = 0
    private(set) var uncomparedFiles: Int64 = 0
    private(set) var uncomparedBytes: Int64 = 0

    static let maxSuspects = 2_000

    /// Sets the next page of records, after the one before is done.
    mutating func take(page: [UInt8], isLast: Bool) {
        self.page = page
        pageIndex = 0
        isLastPage = isLast
    }

    /// Sets the next batches of the walk; none at its end.
    mutating func take(walk: [WalkBatch]) {
        batches = walk[...]
        batchIndex = 0
        if walk.isEmpty { isWalkDone = true }
    }

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
        (report.files, report.bytes, report.checkedFiles) = (files, bytes, checkedFiles)
        if uncomparedFiles > 0 {
            (report.uncomparedFiles, report.uncomparedBytes) = (uncomparedFiles, uncomparedBytes)
        }
        (files, bytes, checkedFiles, uncomparedFiles, uncomparedBytes) = (0, 0, 0, 0, 0)
    }

    /// Compares until something is needed. Throws `cluster.protocol` for a page that cannot be read.
    mutating func run() throws(Failure) -> Step {
        while suspects.count < Self.maxSuspects {
            if found == nil, !isWalkDone, !nextFound() { return .needsWalk }
            if record == nil, try !nextRecord() {
                // Files after the last key of a page belong to the next one.
                guard isLastPage, found != nil else { return .pageIsDone }
                addUnknown()
                continue
            }
            guard let record else { continue }
            guard let found else {
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

    private func compare(_ record: Record) -> Int32 {
        let common = min(path.count, record.key.count)
        let order = path.withUnsafeBufferPointer { path in
            page.withUnsafeBufferPointer { page -> Int32 in
                guard common > 0, let left = path.baseAddress, let right = page.baseAddress else {
                    return 0
                }
                return memcmp(left, right + record.key.lowerBound, common)
            }
        }
        if order != 0 { return order }
        return Int32(clamping: path.count - record.key.count)
    }

    // MARK: Findings

    private mutating func addMissing(_ record: Record) {
        self.record = nil
        guard record.bytes >= 0 else { return }
        checkedFiles += 1
        suspects.append(
            AuditSuspect(
                kind: .recorded, path: Array(page[record.key]), bytes: nil,
                segment: record.segment))
    }

    private mutating func addUnknown() {
        guard let found else { return }
        self.found = nil
        if found.kind == .file {
            files += 1
            bytes += found.bytes
        }
        suspects.append(
            AuditSuspect(kind: .unknown(found.kind), path: path, bytes: found.bytes, segment: 0))
    }

    private mutating func add(_ found: Found, as record: Record) {
        (self.found, self.record) = (nil, nil)
        if found.kind == .file {
            files += 1
            bytes += found.bytes
        }
        guard record.bytes >= 0 else {
            // Neither a file that was put aside nor a checksum file must be there or not.
            guard record.segment > 0, found.kind == .file else {
                guard found.kind != .file else {
                    uncomparedFiles += 1
                    uncomparedBytes += found.bytes
                    return
                }
                return suspects.append(
                    AuditSuspect(
                        kind: .unknown(found.kind), path: path, bytes: found.bytes, segment: 0))
            }
            return suspects.append(
                AuditSuspect(
                    kind: .unrecorded, path: path, bytes: found.bytes, segment: record.segment))
        }
        checkedFiles += 1
        guard found.kind == .file, found.bytes == record.bytes else {
            return suspects.append(
                AuditSuspect(
                    kind: .recorded, path: path, bytes: found.kind == .file ? found.bytes : nil,
                    segment: record.segment))
        }
        guard record.sha256.count == 64 else { return }
        toRead.append(
            AuditedRecord(
                key: String(decoding: path, as: UTF8.self), segment: record.segment,
                bytes: record.bytes, sha256: String(decoding: page[record.sha256], as: UTF8.self)))
    }

    // MARK: Reading

    /// Reads the next file of the walk; returns false if the batches are used up.
    private mutating func nextFound() -> Bool {
        while let batch = batches.first {
            guard batchIndex + WalkBatch.headerBytes <= batch.bytes.count else {
                batches.removeFirst()
                batchIndex = 0
                continue
            }
            let start = batchIndex + WalkBatch.headerBytes
            var kind: UInt8 = 0
            var (length, count): (Int64, UInt16) = (0, 0)
            batch.bytes.withUnsafeBytes { bytes in
                kind = bytes[batchIndex]
                length = Int64(
                    littleEndian: bytes.loadUnaligned(
                        fromByteOffset: batchIndex + 1, as: Int64.self))
                count = UInt16(
                    littleEndian: bytes.loadUnaligned(
                        fromByteOffset: batchIndex + 9, as: UInt16.self))
            }
            let end = start + Int(count)
            batchIndex = end
            let name = batch.bytes[start..<end]
            if kind == WalkBatch.Kind.directory.rawValue {
                path.removeAll(keepingCapacity: true)
                path.append(contentsOf: name)
                if !path.isEmpty { path.append(UInt8(ascii: "/")) }
                directoryBytes = path.count
                continue
            }
            path.removeSubrange(directoryBytes...)
            path.append(contentsOf: name)
            found = Found(kind: WalkBatch.Kind(rawValue: kind) ?? .other, bytes: length)
            return true
        }
        return false
    }

    /// Reads the next record of the page; returns false at its end.
    private mutating func nextRecord() throws(Failure) -> Bool {
        guard pageIndex < page.count else { return false }
        let space = UInt8(ascii: " ")
        let length = number(endingAt: space)
        let segment = number(endingAt: space)
        let bytes = number(endingAt: space)
        let digest = pageIndex
        while pageIndex < page.count, page[pageIndex] != UInt8(ascii: ":") { pageIndex += 1 }
        let sha256 = digest..<pageIndex
        pageIndex += 1
        guard let length, let segment, let bytes, length > 0,
            pageIndex + Int(length) <= page.count
        else {
            throw Failure(.clusterProtocol, "A page of records of an audit cannot be read.")
        }
        record = Record(
            key: pageIndex..<pageIndex + Int(length), segment: segment, bytes: bytes,
            sha256: sha256)
        pageIndex += Int(length) + 1
        return true
    }

    /// Reads a number and the byte after it; -1 for a `-`, nil for anything else.
    private mutating func number(endingAt end: UInt8) -> Int64? {
        let start = pageIndex
        var isNegative = false
        var value: Int64 = 0
        while pageIndex < page.count, page[pageIndex] != end {
            let byte = page[pageIndex]
            if byte == UInt8(ascii: "-"), pageIndex == start {
                isNegative = true
            } else {
                guard byte >= 0x30, byte <= 0x39, value < 1 << 58 else { return nil }
                value = value * 10 + Int64(byte - 0x30)
            }
            pageIndex += 1
        }
        guard pageIndex < page.count, pageIndex > start else { return nil }
        pageIndex += 1
        if isNegative, value == 0 { return -1 }
        return isNegative ? -value : value
    }
}
