import API
import CoordinatorClient
import Model
import Storage

/// Writes the `SHA256SUMS` files of directories.
struct ChecksumFileWriter: Sendable {
    /// A directory by its path, relative to the site.
    typealias Directory = String

    let worker: WorkerID
    let client: CoordinatorClient
    let storages: SiteStorages
    let held: HeldWork
    let blocking: BlockingCalls
    let reporter: Reporter
    let pace: LeasePace

    /// Writes the checksum files that no other worker writes. A job listed for another catalog
    /// meanwhile is returned; one that is being written waits for a second.
    func write(_ work: [Leased<Directory>], _ lease: LeaseID) async {
        let turns: ChecksumTurns
        do throws(Failure) {
            turns = try await client.checksumTurns(
                ChecksumTurnRequest(worker: worker, lease: lease, jobs: work.map(\.job.id)))
            guard turns.turns.count == work.count else {
                throw Failure(
                    .clusterProtocol,
                    "The coordinator answered \(turns.turns.count) turns for \(work.count) jobs.")
            }
        } catch {
            for work in work {
                reporter.fail(work.work, error)
                pace.ended(1)
            }
            return
        }
        for (work, turn) in zip(work, turns.turns) {
            switch turn {
            case .write:
                Task { await self.write(work) }
                continue
            case .written: reporter.done(work.work)
            case .wait: reporter.giveBack(work.work, afterSeconds: 1)
            case .stale: reporter.giveBack(work.work)
            }
            pace.ended(1)
        }
    }

    /// Writes a directory's `SHA256SUMS` with everything that completed assets stored there.
    private func write(_ directory: Leased<Directory>) async {
        let (work, job) = (directory.work, directory.job)
        do {
            let entries = try await entries(of: directory.task, at: work.site.id)
            let written = await blocking.run { () -> Result<JobReport.Done?, Failure> in
                Result { () throws(Failure) in
                    guard self.held.isWanted(work) else { return nil }
                    let storage = try self.storages.storage(at: work.site.storageURL)
                    let text = ChecksumFileText(directory: directory.task, entries: entries)
                    guard !entries.isEmpty else {
                        return try self.remove(text.key, from: storage, work)
                    }
                    try storage.writeGeneratedFile(
                        key: text.key, lease: work.lease, job: job.id, chunks: text
                    ) { self.held.isWanted(work) }
                    return JobReport.Done(stored: text.stored)
                }
            }
            if let done = try written.get() {
                reporter.done(work, done)
            } else {
                reporter.giveBack(work)
            }
        } catch {
            reporter.fail(work, any: error)
        }
        pace.ended(1)
    }

    /// Removes the checksum file of a directory whose last file was removed. Returns nil if the
    /// lease is lost.
    private func remove(
        _ key: String, from storage: SiteStorage, _ work: LeasedJob
    ) throws(Failure) -> JobReport.Done? {
        let deletions = try storage.delete([key], lease: work.lease, job: work.job.id) {
            self.held.isWanted(work)
        }
        guard case .failed(let failure)? = deletions.first else { return JobReport.Done() }
        guard failure.code == .workerLeaseLost else { throw failure }
        return nil
    }

    private func entries(
        of directory: Directory, at site: SiteID
    ) async throws(Failure) -> [ChecksumPage.Entry] {
        // Two assets may share an object; it is listed once, with the latest digest.
        var entries: [ChecksumPage.Entry] = []
        var indexes: [String: Int] = [:]
        var after: String?
        repeat {
            let page = try await client.checksums(
                site: site, directory: directory, after: after)
            for entry in page.entries {
                if let index = indexes[entry.key] {
                    if entry.recordedSeconds >= entries[index].recordedSeconds {
                        entries[index] = entry
                    }
                } else {
                    indexes[entry.key] = entries.count
                    entries.append(entry)
                }
            }
            after = page.next
        } while after != nil
        return entries
    }
}
