import API
import Model
import Storage

/// Fetches segments and files: reuses what is stored already, and transfers the rest.
struct Fetcher: Sendable {
    let sites: SitesInUse
    let reuse: StoredFiles
    let rewritten: RewrittenManifestWriter
    let partials: PartialBodies
    let transfers: FetchTransfers
    let adoption: FoundFileCheck
    let finished: FinishedTransfers
    let held: HeldWork
    let blocking: BlockingCalls
    let reporter: Reporter
    let pace: LeasePace

    /// Starts the fetches of a lease: reuses stored files and downloads the rest. `ended` has the
    /// bytes that were stored when the lease was requested.
    func fetch(_ jobs: [LeasedJob], at site: LeasedSite, ended: [SiteID: Int64]) async {
        guard !jobs.isEmpty else { return }
        let storage: SiteStorage
        do throws(Failure) {
            storage = try await sites.open(site, ended: ended)
        } catch {
            for job in jobs { reporter.fail(job, error) }
            return
        }
        let work = jobs.compactMap { Assignment($0, storage) }
        await download(work.filter { !StoredFiles.mayBeStored($0.fetch) })
        let known = work.filter { StoredFiles.mayBeStored($0.fetch) }
        guard !known.isEmpty else { return }
        // Hashing stored files uses the disk and one core; transfers continue meanwhile. Nothing
        // waits for this task: a file system may hang.
        Task {
            for start in stride(from: 0, to: known.count, by: StoredFiles.batch) {
                let batch = known[start..<min(start + StoredFiles.batch, known.count)]
                await self.reuseOrFetch(Array(batch))
            }
        }
    }

    private func reuseOrFetch(_ work: [Assignment]) async {
        let found = await reuse.take(work)
        for work in found.toConfirm {
            guard work.fetch.previous?.foundModified != nil else {
                transfers.start(work, isStored: true)
                continue
            }
            adoption.confirm(work) { work in Task { await self.download([work]) } }
        }
        for work in found.missing where work.fetch.body == .rewrittenManifest {
            await rewritten.write(work)
        }
        await download(found.missing.filter { $0.fetch.body != .rewrittenManifest })
    }

    /// Starts the transfers of one site's jobs: at once, or after reading the partial bodies of
    /// earlier attempts.
    private func download(_ work: [Assignment]) async {
        guard let storage = work.first?.storage else { return }
        let left = await partials.index(of: storage)
        await partials.removeAbandoned(of: work)
        let begun = left.isEmpty ? [] : work.filter { left.contains(partials.identity(of: $0)) }
        let others =
            left.isEmpty ? work : work.filter { !left.contains(partials.identity(of: $0)) }
        // A partial body needs space for its rest only.
        for work in await withRoom(others) { transfers.start(work) }
        guard !begun.isEmpty else { return }
        // Hashing stored bytes uses the disk and one core; transfers continue meanwhile.
        Task {
            for work in begun {
                switch await self.partials.take(work, of: left) {
                case .success(let partial):
                    if let partial, partial.record.isComplete(length: work.fetch.part?.length) {
                        self.store(partial, of: work)
                    } else {
                        self.transfers.start(work, from: partial)
                    }
                case .failure(let failure): self.reporter.fail(work.leased, failure)
                }
            }
        }
    }

    /// Stores a body that an earlier attempt has received whole, or fetches it again.
    private func store(_ partial: PartialBody, of work: Assignment) {
        guard let object = partial.object, let done = partials.done(with: partial, work) else {
            partial.object?.discard()
            return transfers.start(work)
        }
        if !work.storage.isBucket { held.downloaded(work.leased) }
        finished.push(FinishedTransfer(work: work, object: object, done: done))
        pace.ended(1)
    }

    /// Returns the jobs for which there is space, as far as their lengths are known. The others
    /// fail before any request to an origin.
    private func withRoom(_ work: [Assignment]) async -> [Assignment] {
        guard work.contains(where: { $0.fetch.length != nil && !$0.fetch.isPart }) else {
            return work
        }
        let failures = await blocking.run {
            work.map { work -> Failure? in
                guard let length = work.fetch.length, !work.fetch.isPart else { return nil }
                do throws(Failure) {
                    try work.storage.receiving.checkSpace(for: length)
                } catch {
                    return error
                }
                return nil
            }
        }
        for (work, failure) in zip(work, failures) {
            if let failure { reporter.fail(work.leased, failure) }
        }
        return zip(work, failures).filter { $0.1 == nil }.map(\.0)
    }
}
