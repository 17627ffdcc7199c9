import API
import CoordinatorClient
import Model
import Services
import Storage
import Titles
import Transfer

// A refresh requests the files of assets at the edge again. It stores changed files beside the old
// ones and replaces these once all are stored.

/// Refreshes assets.
struct Refresher: Sendable {
    /// Number of assets that are refreshed at a time.
    let connections: Int
    let held: HeldWork
    let draining: ShutdownSignal
    let sites: SitesInUse
    let blocking: BlockingCalls
    let manifests: ManifestReader
    let staging: RefreshStaging
    let publishing: RefreshPublishing
    let reporter: Reporter
    let pace: LeasePace
    let refreshes: Mailbox<Refresh>

    /// Runs refreshes, as many at a time as there may be transfers, until the mailbox is closed.
    func run() async {
        await withTaskGroup(of: Void.self) { group in
            var underWay = 0
            while let refresh = await refreshes.next(1).first {
                if underWay >= connections {
                    await group.next()
                    underWay -= 1
                }
                underWay += 1
                group.addTask {
                    if self.draining.isDraining || !self.held.isWanted(refresh.work.work) {
                        self.reporter.giveBack(refresh.work.work)
                    } else {
                        await self.refresh(refresh)
                    }
                    self.pace.ended(1)
                }
            }
        }
    }

    /// Refreshes an asset, or completes its publication, and ends the job.
    private func refresh(_ refresh: Refresh) async {
        let work = refresh.work
        do {
            let storage = try await sites.open(work.work.site, ended: refresh.ended)
            let attempt = RefreshAttempt(work, storage, held: held)
            let isGranted = work.job.kind == .publish
            reporter.done(
                work.work, try await isGranted ? publishing.finish(attempt) : refreshed(attempt))
        } catch {
            reporter.fail(work.work, any: error)
        }
    }

    /// Requests the files, stages the changed ones and publishes them.
    private func refreshed(_ attempt: RefreshAttempt) async throws -> JobReport.Done {
        var change = try await wanted(attempt)
        let staged = try await staging.stage(&change, attempt)
        let files = change.reported(staged: Set(staged.map(\.index)))
        var done = JobReport.Done()
        done.freshSeconds = change.freshSeconds
        if staged.isEmpty {
            try await publishing.report(files, of: change, attempt)
            done.refreshed = change.isRelisted ? .changed : .unchanged
            done.segments = change.isRelisted ? change.listed : nil
        } else {
            let changed = staged.map {
                PublishedFile(
                    segment: change.files[$0.index].segment, stored: change.files[$0.index].stored,
                    object: $0.object)
            }
            try await publishing.request(changed, files, of: change, attempt)
            try await publishing.publish(changed, attempt: 1, attempt)
            done.refreshed = .changed
        }
        return done
    }

    // MARK: What is wanted

    /// Returns the files of an asset as they should be.
    private func wanted(_ attempt: RefreshAttempt) async throws -> RefreshChange {
        let (stored, _) = try await publishing.files(attempt)
        let storage = attempt.storage
        let there = await blocking.run {
            storage.areStored(stored.map { ($0.segment.key, $0.stored.bytes) })
        }
        let files = zip(stored, there).map { RefreshChange.File($0, isThere: $1) }
        guard attempt.source.kind != .file else {
            return RefreshChange(files: files)
        }
        var freshness = ManifestFreshness()
        guard try await hasOtherManifest(files, attempt.work, &freshness) else {
            var change = RefreshChange(files: files, playlistsAreRight: true)
            change.freshSeconds = freshness.seconds
            return change
        }
        let (objects, fresh) = try await resolved(attempt)
        var change = RefreshChange(files: files, listing: objects.map(\.checked))
        change.warnings = objects.warnings.ofAsset ?? ManifestWarnings()
        change.freshSeconds = fresh.seconds
        if attempt.source.titles?.mayLack != nil { change.leftOut = objects.leftOut }
        return change
    }

    /// Resolves the manifest of a title again, with the renditions that it lacks if their files can be
    /// fetched by now. It does not lose others.
    private func resolved(
        _ attempt: RefreshAttempt
    ) async throws -> (ResolvedSegments, ManifestFreshness) {
        let known = attempt.source.leftOut ?? []
        var resolved = try await whole(attempt, lost: [])
        if !known.isEmpty {
            let lost = try await staging.lost(known, of: resolved.0, attempt)
            if !lost.isEmpty { resolved = try await whole(attempt, lost: lost) }
        }
        let new = resolved.0.leftOut.first { rendition in
            !known.contains {
                $0.key == rendition.key || $0.kind == rendition.kind && $0.name == rendition.name
            }
        }
        if let new {
            let failure = new.failure("needed by \(new.label), which a refresh does not leave out")
            throw FetchFailure(failure: failure, origins: [])
        }
        return resolved
    }

    private func whole(
        _ attempt: RefreshAttempt, lost: [LeftOutRendition]
    ) async throws -> (ResolvedSegments, ManifestFreshness) {
        let reading = try await manifests.reading(of: attempt.work, lost: lost)
        guard case .whole(let objects, let freshness) = reading else {
            throw Failure(
                .manifestLive, "the title is live again; only its recording can follow it")
        }
        return (objects, freshness)
    }

    /// Returns true if a playlist of a title changed. One that was rewritten for the edge cannot be
    /// compared.
    private func hasOtherManifest(
        _ files: [RefreshChange.File], _ work: Leased<AssetSource>,
        _ freshness: inout ManifestFreshness
    ) async throws -> Bool {
        for file in files where file.isManifest {
            guard !file.isRewritten, let stored = file.stored, file.isThere else { return true }
            let fetched = try await manifests.manifest(
                file.segment.url, work, unless: file.validator)
            freshness.add(fetched)
            if !fetched.isUnchanged, fetched.sha256 != stored.sha256 { return true }
        }
        return false
    }
}
