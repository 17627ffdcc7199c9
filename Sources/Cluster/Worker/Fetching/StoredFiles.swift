import API
import CoordinatorClient
import Digest
import Model
import Storage

/// Reuses files that are already stored under their keys: a previous version, or the list's digest.
struct StoredFiles: Sendable {
    let held: HeldWork
    let blocking: BlockingCalls
    let reporter: Reporter
    let pace: LeasePace

    /// Maximum number of jobs whose files are hashed in one batch.
    static let batch = 64

    /// Returns the expected size and digests of the file under the key: the previous version's or
    /// the list's.
    private static func promised(_ fetch: Fetch) -> (bytes: Int64?, digests: [ExpectedDigest])? {
        if let stored = fetch.previous?.stored, let digest = SHA256Digest(hex: stored.sha256) {
            return (stored.bytes, [ExpectedDigest(digest)])
        }
        guard !fetch.isPart else { return nil }
        let sha256 = fetch.sha256.flatMap { SHA256Digest(hex: $0) }.map { [ExpectedDigest($0)] }
        let digests = (sha256 ?? []) + fetch.furtherDigests
        return digests.isEmpty ? nil : (fetch.length, digests)
    }

    /// Returns true if the file under a fetch's key can be checked.
    static func mayBeStored(_ fetch: Fetch) -> Bool { fetch.adopts || promised(fetch) != nil }

    /// The result of a search for stored files.
    struct Found: Sendable {
        /// Stored, but maybe of an old edition: the origin must confirm that it is unchanged.
        var toConfirm: [Assignment]
        var missing: [Assignment]
    }

    /// Hashes the files under the keys of one site's jobs, completes the jobs that need no more, and returns the
    /// rest.
    func take(_ work: [Assignment]) async -> Found {
        let unread = work.filter { Self.isUnread($0.fetch) }
        guard !unread.isEmpty else { return await compare(work) }
        let compared = await compare(work.filter { !Self.isUnread($0.fetch) })
        let read = await read(unread)
        return Found(
            toConfirm: compared.toConfirm + read.toConfirm,
            missing: compared.missing + read.missing)
    }

    /// Returns true if nothing but the file under a fetch's key shows what it has.
    private static func isUnread(_ fetch: Fetch) -> Bool { fetch.adopts && promised(fetch) == nil }

    /// Reads the files that another tool may have stored; their origins must confirm all that are there.
    private func read(_ work: [Assignment]) async -> Found {
        let files = await blocking.run {
            work.first?.storage.foundFiles(
                work.map { work in
                    self.held.isHeld(work.lease) ? (work.fetch.key, work.fetch.length) : nil
                }) ?? []
        }
        let found = zip(work, files)
        return Found(
            toConfirm: found.compactMap { work, file in
                file.map { Assignment(work, found: $0) }
            },
            missing: found.filter { $0.1 == nil }.map(\.0))
    }

    private func compare(_ work: [Assignment]) async -> Found {
        let stored = await blocking.run {
            work.first?.storage.reuse(
                work.map { work in
                    guard self.held.isHeld(work.lease), let promised = Self.promised(work.fetch)
                    else { return nil }
                    return (work.fetch.key, promised.bytes, promised.digests)
                }) ?? []
        }
        // Files of other assets, or of a previous track selection, may be of an old edition.
        let isToConfirm = { (fetch: Fetch) in
            fetch.previous?.validator != nil && fetch.body != .rewrittenManifest
        }
        let found = zip(work, stored).filter { $0.1 != nil }
        let reused = found.filter { !isToConfirm($0.0.fetch) }
        reporter.done(reused.map { $0.leased.report(.done(Self.done($0, reused: $1))) })
        pace.ended(reused.count)
        return Found(
            toConfirm: found.map(\.0).filter { isToConfirm($0.fetch) },
            missing: zip(work, stored).filter { $0.1 == nil }.map(\.0))
    }

    /// Returns the result of a job whose bytes are already stored under their key.
    ///
    /// - Parameter fresh: freshness of the response that confirmed them; nil if it states none.
    static func done(
        _ work: Assignment, reused stored: StoredObject?, fresh: Int? = nil
    ) -> JobReport.Done {
        let fetch = work.fetch
        let isVerified =
            fetch.sha256 != nil || fetch.digests != nil || fetch.previous?.isVerified == true
        var done = JobReport.Done(
            stored: stored, isReused: true, isVerified: isVerified,
            validator: fetch.previous?.validator)
        done.freshSeconds = fresh
        return done
    }
}
