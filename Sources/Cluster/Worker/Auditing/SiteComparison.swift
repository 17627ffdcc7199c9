import API
import Digest
import Model
import Services
import Storage

/// Compares a site's files with its records, page by page.
struct SiteComparison: Sendable {
    let held: AuditLease
    let storage: SiteStorage
    let isDeep: Bool
    let pace: AuditPace
    let blocking: BlockingCalls
    let draining: ShutdownSignal

    /// Maximum bytes that are read without a look at the lease.
    private static let readBytes: Int64 = 64 << 20

    /// Compares from a page on; returns the number of pages.
    func run(from first: Int) async throws(Failure) -> Int {
        held.begin(page: first)
        // The walk begins while the records are listed. Only of the first page its start is known.
        var early: WalkAhead?
        if first == 0 { early = try await begin(after: nil) }
        do throws(Failure) {
            var records = try await held.records(page: first)
            // A site without records has one page nevertheless.
            let pages = max(records.pages, 1)
            guard first < pages else { return first }
            let walk: WalkAhead
            if let early { walk = early } else { walk = try await begin(after: records.after) }
            early = walk
            var merge = AuditMerge()
            var page = first
            repeat {
                held.begin(page: page)
                merge.take(
                    page: Array(records.content.utf8), isLast: page + 1 >= pages)
                let following = page + 1 < pages ? page + 1 : nil
                // The next page comes while this one is compared.
                async let next = nextPage(following)
                try await compare(page, &merge, walk)
                if let new = try await next.get() { records = new }
                page += 1
            } while page < pages
            await walk.stop()
            return pages
        } catch {
            await early?.stop()
            throw error
        }
    }

    /// Nil for no page.
    private func nextPage(_ page: Int?) async -> Result<SiteAuditRecords?, Failure> {
        guard let page else { return .success(nil) }
        do throws(Failure) {
            return .success(try await held.records(page: page))
        } catch {
            return .failure(error)
        }
    }

    private func begin(after path: String?) async throws(Failure) -> WalkAhead {
        let storage = storage
        let walk = try await blocking.run {
            Result { () throws(Failure) in try storage.walk(after: path) }
        }.get()
        let ahead = WalkAhead(walk, blocking: blocking, pace: pace)
        Task { await ahead.run() }
        return ahead
    }

    private func compare(
        _ page: Int, _ merge: inout AuditMerge, _ walk: WalkAhead
    ) async throws(Failure) {
        var findings: [SiteAuditReport.Finding] = []
        var isDone = false
        while !isDone {
            try require()
            switch try merge.run() {
            case .needsWalk: merge.take(walk: try await walk.next())
            case .isFull: findings += try await confirm(merge.takeSuspects())
            case .pageIsDone: isDone = true
            }
            if findings.count >= AuditMerge.maxSuspects / 2 {
                try await report(&findings, page, isDone: false, &merge)
            }
        }
        findings += try await confirm(merge.takeSuspects())
        if isDeep { findings += try await confirm(try await read(merge.takeToRead())) }
        try await report(&findings, page, isDone: true, &merge)
    }

    /// Throws if the audit is lost or the worker drains.
    private func require() throws(Failure) {
        try held.require()
        guard !draining.isDraining else {
            throw Failure(.workerCancelled, "The worker stops.")
        }
    }

    private func report(
        _ findings: inout [SiteAuditReport.Finding], _ page: Int, isDone: Bool,
        _ merge: inout AuditMerge
    ) async throws(Failure) {
        let most = WireLimits.findingsPerAuditReport
        repeat {
            var report = SiteAuditReport(worker: held.worker, lease: held.lease, page: page)
            report.findings = Array(findings.prefix(most))
            findings.removeFirst(report.findings.count)
            report.isPageDone = isDone && findings.isEmpty
            if report.isPageDone {
                merge.takeCounts(into: &report)
            }
            try await held.send(report)
        } while !findings.isEmpty
    }

    // MARK: Reading

    /// Reads files; returns those whose digests differ.
    private func read(_ records: [AuditedRecord]) async throws(Failure) -> [AuditSuspect] {
        var suspects: [AuditSuspect] = []
        var rest = records[...]
        while !rest.isEmpty {
            try require()
            // Small files share a call.
            var batch: [AuditedRecord] = []
            var bytes: Int64 = 0
            while let record = rest.first, bytes < Self.readBytes, batch.count < 500 {
                batch.append(record)
                bytes += record.bytes
                rest.removeFirst()
            }
            if batch.count == 1, let record = batch.first {
                if try await !isIntact(record) { suspects.append(Self.suspect(record)) }
                continue
            }
            let storage = storage
            let (wrong, read) = try await blocking.run { [batch] in
                Result { () throws(Failure) in try Self.digests(of: batch, storage) }
            }.get()
            suspects += wrong.map { Self.suspect($0) }
            held.read(read)
            await pace.read(read)
        }
        return suspects
    }

    private static func suspect(_ record: AuditedRecord) -> AuditSuspect {
        AuditSuspect(
            kind: .digest, path: Array(record.key.utf8), bytes: record.bytes,
            segment: record.segment)
    }

    private static func digests(
        of records: [AuditedRecord], _ storage: SiteStorage
    ) throws(Failure) -> (wrong: [AuditedRecord], readBytes: Int64) {
        var read: Int64 = 0
        var wrong: [AuditedRecord] = []
        for (record, digest) in zip(records, storage.digests(of: records.map(\.key))) {
            let found = try readable { () throws(Failure) in try digest.get() }
            if found != nil { read += record.bytes }
            if found != record.sha256 { wrong.append(record) }
        }
        return (wrong, read)
    }

    /// Reads a file; returns nil for one that is not there or cannot be read.
    private static func digest(
        of key: String, _ storage: SiteStorage, _ read: inout Int64
    ) throws(Failure) -> String? {
        try readable { () throws(Failure) -> String? in
            guard let file = try storage.openForAudit(key: key) else { return nil }
            defer { read += file.readBytes }
            return try file.read(atMost: .max)?.description
        }
    }

    /// Returns nil if a file cannot be read, which is damage, or is replaced meanwhile. Throws what says nothing of the file: a
    /// limit of the process, or a site that is not there.
    private static func readable<Value>(
        _ body: () throws(Failure) -> Value?
    ) throws(Failure) -> Value? {
        do throws(Failure) {
            return try body()
        } catch {
            guard [.storageIO, .storagePermission, .contentChanged].contains(error.code) else {
                throw error
            }
            return nil
        }
    }

    /// Reads a file in pieces; returns true if its digest is the recorded one.
    private func isIntact(_ record: AuditedRecord) async throws(Failure) -> Bool {
        let storage = storage
        let opened = try await blocking.run {
            Result { () throws(Failure) -> AuditedFile? in
                try Self.readable { () throws(Failure) -> AuditedFile? in
                    try storage.openForAudit(key: record.key)
                }
            }
        }.get()
        guard let file = opened else { return false }
        while true {
            try require()
            let before = file.readBytes
            let piece = await blocking.run {
                Result { () throws(Failure) in try file.read(atMost: Self.readBytes) }
            }
            held.read(file.readBytes - before)
            await pace.read(file.readBytes - before)
            switch piece {
            case .success(let digest?): return digest.description == record.sha256
            case .success(nil): continue
            case .failure(let failure):
                _ = try Self.readable { () throws(Failure) -> Bool? in throw failure }
                return false
            }
        }
    }

    // MARK: Confirming

    /// Looks at suspects again: fetches continue meanwhile. Returns what is wrong still, by its present
    /// record. A file that is fetched or published now is skipped.
    private func confirm(
        _ suspects: [AuditSuspect]
    ) async throws(Failure) -> [SiteAuditReport.Finding] {
        var findings: [SiteAuditReport.Finding] = []
        for start in stride(from: 0, to: suspects.count, by: AuditMerge.maxSuspects) {
            let end = min(start + AuditMerge.maxSuspects, suspects.count)
            let batch = Array(suspects[start..<end])
            findings += try await confirmRecorded(batch.filter { $0.segment != 0 })
            findings += try await confirmUnknown(batch.filter { $0.segment == 0 })
        }
        return findings
    }

    private func confirmRecorded(
        _ suspects: [AuditSuspect]
    ) async throws(Failure) -> [SiteAuditReport.Finding] {
        guard !suspects.isEmpty else { return [] }
        let before = try await held.check { $0.segments = suspects.map(\.segment) }
        let storage = storage
        let (found, read) = try await blocking.run {
            Result { () throws(Failure) -> ([SiteAuditReport.Finding?], Int64) in
                var read: Int64 = 0
                var found: [SiteAuditReport.Finding?] = []
                for (suspect, record) in zip(suspects, before.segments) {
                    found.append(try Self.finding(suspect, record, storage, &read))
                }
                return (found, read)
            }
        }.get()
        held.read(read)
        await pace.read(read)
        let wrong = zip(zip(suspects, before.segments), found).compactMap { pair, finding in
            finding.map { (pair.0, pair.1, $0) }
        }
        guard !wrong.isEmpty else { return [] }
        // A fetch may have replaced a file in between.
        let after = try await held.check { $0.segments = wrong.map(\.0.segment) }
        return zip(wrong, after.segments).filter { $0.1 == $1 }.map(\.0.2)
    }

    private static func finding(
        _ suspect: AuditSuspect, _ record: SiteAuditChecked.Record, _ storage: SiteStorage,
        _ read: inout Int64
    ) throws(Failure) -> SiteAuditReport.Finding? {
        // What cannot be looked at, in a directory that is not to be searched, is no finding.
        guard let key = suspect.key,
            let found = try readable({ () throws(Failure) in try storage.find(key: key) })
        else { return nil }
        guard let bytes = record.bytes, let sha256 = record.sha256 else {
            guard suspect.kind == .unrecorded, record.isLacking, case .file(let length) = found
            else { return nil }
            var finding = SiteAuditReport.Finding(kind: .unrecorded, path: key, bytes: length)
            finding.segment = suspect.segment
            return finding
        }
        var finding: SiteAuditReport.Finding
        switch found {
        case .nothing, .other: finding = SiteAuditReport.Finding(kind: .missing, path: key)
        case .symlink: finding = SiteAuditReport.Finding(kind: .symlink, path: key)
        case .file(let length) where length != bytes:
            finding = SiteAuditReport.Finding(
                kind: length < bytes ? .truncated : .changed, path: key, bytes: length)
        case .file(let length):
            guard suspect.kind == .digest else { return nil }
            guard try digest(of: key, storage, &read) != sha256 else { return nil }
            finding = SiteAuditReport.Finding(kind: .changed, path: key, bytes: length)
        }
        finding.expectedBytes = bytes
        finding.sha256 = sha256
        // Another catalog may have stored it last.
        finding.segment = record.segment ?? suspect.segment
        return finding
    }

    private func confirmUnknown(
        _ suspects: [AuditSuspect]
    ) async throws(Failure) -> [SiteAuditReport.Finding] {
        let named = suspects.filter { ($0.key?.utf8.count ?? .max) <= WireLimits.keyBytes }
        var known: Set<[UInt8]> = []
        if !named.isEmpty {
            let answer = try await held.check { $0.keys = named.compactMap(\.key) }
            known = Set(zip(named, answer.keys).filter(\.1).map(\.0.path))
        }
        let storage = storage
        let rest = suspects.filter { !known.contains($0.path) }
        return await blocking.run {
            rest.compactMap { suspect -> SiteAuditReport.Finding? in
                // It may have been a temporary file of somebody else.
                if let key = suspect.key, (try? storage.find(key: key)) == .nothing { return nil }
                let kind: AuditFindingKind =
                    suspect.kind == .unknown(.symlink) ? .symlink : .foreign
                return SiteAuditReport.Finding(
                    kind: kind, path: Self.shown(suspect.path), bytes: suspect.bytes)
            }
        }
    }

    /// Returns a path as text; a byte that is not UTF-8 becomes `\xHH`, and a path has at most the
    /// length of a key.
    static func shown(_ path: [UInt8]) -> String {
        if path.count <= WireLimits.keyBytes, let text = String(validating: path, as: UTF8.self) {
            return text
        }
        var text = ""
        for byte in path.prefix(WireLimits.keyBytes / 4) {
            if (0x20..<0x7F).contains(byte), byte != UInt8(ascii: "\\") {
                text.unicodeScalars.append(UnicodeScalar(byte))
            } else {
                let digits = String(byte, radix: 16, uppercase: true)
                text += "\\x" + (digits.utf8.count == 1 ? "0" : "") + digits
            }
        }
        return text
    }
}
