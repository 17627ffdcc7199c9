import CoordinatorClient
import Digest
import Model
import Storage

extension WorkerService {
    /// Hashes a file that was put together from parts and gives it its final key.
    func verify(_ job: Job, _ lease: LeaseID, _ grant: LeaseGrant) async {
        let stated = Self.stated(of: job)
        let result = await blocking.run { () -> Result<StoredObject, Failure> in
            Result { () throws(Failure) in
                guard let assembly = job.assembly else {
                    throw Failure("cluster.protocol", "A verify job names no assembly.")
                }
                guard !self.held.isCancelled(job.id, lease) else {
                    throw Failure("worker.cancelled", "The job was cancelled.")
                }
                let storage = try self.storage(at: grant.sites[job.site.description] ?? "")
                return try storage.promoteAssembly(
                    assembly, key: job.key, expectedSHA256: job.sha256,
                    digests: Self.furtherDigests(of: job), stated: stated
                ) { self.isWanted(job, lease) }
            }
        }
        switch result {
        case .failure(let failure): fail(job, lease, failure)
        case .success(let stored):
            var report = JobReport(job: job.id, lease: lease, outcome: .done)
            report.stored = stored
            report.verified = job.sha256 != nil || job.digests != nil || !stated.isEmpty
            held.downloaded(job.id, lease)
            reports.push(report)
        }
        pace.ended(1)
    }

    /// What the origin says of the whole of a file, as far as it can be compared here.
    private static func stated(of job: Job) -> [ExpectedDigest] {
        (job.assembly?.digests ?? "").split(separator: ",").compactMap { ExpectedDigest($0) }
            .filter(\.algorithm.isAvailable)
    }

    /// What an origin states, as it travels; nil for nothing.
    static func text(of stated: [ExpectedDigest]) -> String? {
        guard !stated.isEmpty else { return nil }
        return stated.prefix(FurtherDigests.mostStated).map(\.description).joined(separator: ",")
    }

    /// Writes the `SHA256SUMS` of directories that no other worker writes. What was listed for another catalog since
    /// is done, and what is being listed waits for a second.
    func writeSums(_ jobs: [Job], _ lease: LeaseID, _ grant: LeaseGrant) async {
        let turns: SumsTurns
        do throws(Failure) {
            turns = try await client.sumsTurns(
                SumsRequest(worker: id, lease: lease, jobs: jobs.map(\.id)))
            guard turns.turns.count == jobs.count else {
                throw Failure(
                    "cluster.protocol",
                    "The coordinator answered \(turns.turns.count) turns for \(jobs.count) jobs.")
            }
        } catch {
            for job in jobs {
                fail(job, lease, error)
                pace.ended(1)
            }
            return
        }
        for (job, turn) in zip(jobs, turns.turns) {
            var result = JobReport(job: job.id, lease: lease, outcome: .done)
            switch turn {
            case .write:
                Task { await self.writeSums(job, lease, grant) }
                continue
            case .written: break
            case .wait:
                result.outcome = .returned
                result.retryAfterSeconds = 1
            case .stale: result.outcome = .returned
            }
            held.downloaded(job.id, lease)
            reports.push(result)
            pace.ended(1)
        }
    }

    /// Writes a directory's `SHA256SUMS`, of everything that completed assets have there.
    private func writeSums(_ job: Job, _ lease: LeaseID, _ grant: LeaseGrant) async {
        do {
            let entries = try await sums(of: job)
            let written = await blocking.run { () -> Result<Bool, Failure> in
                Result { () throws(Failure) in
                    guard self.isWanted(job, lease) else { return false }
                    guard !entries.isEmpty else { return true }
                    let storage = try self.storage(at: grant.sites[job.site.description] ?? "")
                    let document = SumsDocument(directory: job.key, entries: entries)
                    try storage.writeDocument(
                        key: document.key, lease: lease, job: job.id, chunks: document
                    ) { self.isWanted(job, lease) }
                    return true
                }
            }
            if try written.get() {
                held.downloaded(job.id, lease)
                reports.push(JobReport(job: job.id, lease: lease, outcome: .done))
            } else {
                giveBack(job, lease)
            }
        } catch {
            fail(job, lease, error)
        }
        pace.ended(1)
    }

    private func sums(of job: Job) async throws(Failure) -> [SumsPage.Entry] {
        // Two assets may share an object; it is listed once, with what was stored last.
        var entries: [SumsPage.Entry] = []
        var places: [String: Int] = [:]
        var after: String?
        repeat {
            let page = try await client.sums(
                site: job.site, directory: job.key, after: after)
            for entry in page.entries {
                if let place = places[entry.key] {
                    if entry.recordedSeconds >= entries[place].recordedSeconds {
                        entries[place] = entry
                    }
                } else {
                    places[entry.key] = entries.count
                    entries.append(entry)
                }
            }
            after = page.next
        } while after != nil
        return entries
    }
}

/// The text of a `SHA256SUMS`: a line an object, names relative to its directory, in the form that
/// `sha256sum -c` reads (GNU coreutils manual, "md5sum invocation").
struct SumsDocument: Sequence, Sendable {
    let directory: String
    let entries: [SumsPage.Entry]

    /// Where the list goes; aside when the origin has an object of that name.
    var key: String {
        var key = path("SHA256SUMS")
        while entries.contains(where: { $0.key == key }) { key += ".dray" }
        return key
    }

    private func path(_ name: String) -> String {
        directory.isEmpty ? name : "\(directory)/\(name)"
    }

    /// Chunks of about 64 KiB.
    func makeIterator() -> AnyIterator<[UInt8]> {
        var rest = entries[...]
        return AnyIterator {
            guard !rest.isEmpty else { return nil }
            var chunk: [UInt8] = []
            while let entry = rest.first, chunk.count < 64 << 10 {
                append(entry, to: &chunk)
                rest.removeFirst()
            }
            return chunk
        }
    }

    private func append(_ entry: SumsPage.Entry, to chunk: inout [UInt8]) {
        let backslash = UInt8(ascii: "\\")
        var name = relative(entry.key)
        // A backslash before the line says that the name is escaped.
        if name.utf8.contains(backslash) {
            chunk.append(backslash)
            name = name.replacing("\\", with: "\\\\")
        }
        chunk.append(contentsOf: entry.sha256.utf8)
        chunk.append(contentsOf: "  ".utf8)
        chunk.append(contentsOf: name.utf8)
        chunk.append(UInt8(ascii: "\n"))
    }

    /// A key as seen from the directory.
    func relative(_ key: String) -> String {
        if directory.isEmpty { return key }
        if key.utf8.starts(with: directory.utf8),
            key.utf8.dropFirst(directory.utf8.count).first == UInt8(ascii: "/")
        {
            return String(decoding: key.utf8.dropFirst(directory.utf8.count + 1), as: UTF8.self)
        }
        let base = directory.split(separator: "/")
        let parts = key.split(separator: "/")
        var shared = 0
        while shared < base.count && shared < parts.count - 1 && base[shared] == parts[shared] {
            shared += 1
        }
        return (Array(repeating: "..", count: base.count - shared) + parts[shared...])
            .joined(separator: "/")
    }
}
