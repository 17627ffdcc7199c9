import API
import CoordinatorClient
import Model
import Services
import Storage

/// Deletes the files of purge jobs: page by page, and reports each before it asks for the next.
struct Purger: Sendable {
    let worker: WorkerID
    let client: CoordinatorClient
    let storages: SiteStorages
    let bodies: BodyPurger
    let held: HeldWork
    let draining: ShutdownSignal
    let blocking: BlockingCalls
    let reporter: Reporter
    let pace: LeasePace

    func purge(_ work: LeasedJob) async {
        do throws(Failure) {
            try await deletePages(work)
        } catch {
            reporter.fail(work, error)
        }
        pace.ended(1)
    }

    private func deletePages(_ work: LeasedJob) async throws(Failure) {
        var request = PurgeRequest(worker: worker, job: work.job.id, lease: work.lease)
        while true {
            // What is deleted is reported, before anything else.
            let isLast = draining.isDraining || !held.isWanted(work)
            if isLast, request.results.isEmpty { return reporter.giveBack(work) }
            request.isLast = isLast ? true : nil
            let page = try await client.purge(request)
            if isLast { return reporter.giveBack(work) }
            (request.results, request.freed) = ([], nil)
            if page.files.isEmpty, page.bodies == nil {
                guard let seconds = page.waitSeconds else {
                    return reporter.done(work)
                }
                guard seconds <= 0 else {
                    return reporter.giveBack(work, afterSeconds: min(seconds, 60))
                }
                continue
            }
            request.results = try await delete(page.files, work)
            guard let entries = page.bodies else { continue }
            do throws(Failure) {
                request.freed = try await bodies.delete(work)
                request.results += entries.map { PurgeRequest.Result(file: $0, deleted: true) }
            } catch {
                let failure = Failure(error.code, String(error.message.prefix(500)))
                request.results += entries.map {
                    PurgeRequest.Result(file: $0, deleted: false, failure: failure)
                }
            }
        }
    }

    /// Files whose lease was lost meanwhile are not among the results.
    private func delete(
        _ files: [PurgePage.File], _ work: LeasedJob
    ) async throws(Failure) -> [PurgeRequest.Result] {
        // A cache has none of them.
        if work.site.cache != nil {
            return files.map { PurgeRequest.Result(file: $0.file, deleted: false) }
        }
        let deletions = await blocking.run { () -> Result<[Deletion], Failure> in
            Result { () throws(Failure) in
                let storage = try self.storages.storage(at: work.site.storageURL)
                return try storage.delete(
                    files.map(\.key), lease: work.lease, job: work.job.id
                ) { self.held.isWanted(work) }
            }
        }
        return zip(files, try deletions.get()).compactMap { file, deletion in
            switch deletion {
            case .deleted: PurgeRequest.Result(file: file.file, deleted: true)
            case .absent: PurgeRequest.Result(file: file.file, deleted: false)
            case .failed(let failure):
                failure.code == .workerLeaseLost
                    ? nil
                    : PurgeRequest.Result(
                        file: file.file, deleted: false,
                        failure: Failure(failure.code, String(failure.message.prefix(500))))
            }
        }
    }
}
