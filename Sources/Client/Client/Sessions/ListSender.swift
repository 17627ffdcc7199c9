import API
import CoordinatorClient
import ListSources
import Lists
import Model
import Services

/// Sends a checked list to catalogs that are open for submission.
struct ListSender {
    let source: ListSource
    /// The result of the first pass over `source`.
    let list: ListSource.Reading
    /// Files of a mirror that another tool made; nil for none.
    var adoption: Adoption?
    /// Ends the sending with `worker.cancelled`.
    let draining: ShutdownSignal

    /// Reads the list once and sends each of its batches to all of the catalogs.
    func send(
        to handles: [CatalogHandle], _ client: CoordinatorClient
    ) async throws(Failure) {
        var batch = SubmissionBatch()
        // The coordinator reads one batch while the database stores the previous one. The list is
        // checked, so the order of two batches does not matter.
        var sending: [Task<Result<Void, Failure>, Never>] = []
        let purpose = ListSource.Purpose.submission(list.sharedKeys)
        _ = try await source.read(purpose) { assets throws(Failure) in
            for asset in try await adoption?.offer(assets) ?? assets {
                if draining.isDraining { throw Failure(.workerCancelled, "interrupted") }
                guard let full = batch.add(asset) else { continue }
                if sending.count == 2 { try await sending.removeFirst().value.get() }
                sending.append(Task { await Self.send(full, to: handles, client) })
            }
        }
        if let rest = batch.takeRest() { try await Self.send(rest, to: handles, client).get() }
        for task in sending { try await task.value.get() }
    }

    private static func send(
        _ assets: [AssetSubmission], to handles: [CatalogHandle], _ client: CoordinatorClient
    ) async -> Result<Void, Failure> {
        do throws(Failure) {
            for handle in handles {
                try await client.submit(
                    AssetBatch(generation: handle.generation, assets: assets), to: handle.id)
            }
            return .success(())
        } catch {
            return .failure(error)
        }
    }
}
