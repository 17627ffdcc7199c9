package import Model
package import S3
import Synchronization

extension S3Storage {
    /// Returns the uploads that Dray began below the site's prefix and that have not ended since,
    /// at most 1,000. Those of other programs are not in it.
    package func abandonedUploads(
        olderThanSeconds seconds: Double, now: Int64
    ) async throws(Failure) -> [UnfinishedUpload] {
        let page = try await client.list(prefix: privateKey("uploads/"))
        var abandoned: [UnfinishedUpload] = []
        for object in page.objects {
            guard let modified = object.modifiedSeconds, Double(now - modified) > seconds,
                let bytes = try await client.getSmall(object.key), let record = UploadRecord(bytes),
                record.key.hasPrefix(prefix), recordKey(of: record.key) == object.key
            else { continue }
            abandoned.append(
                UnfinishedUpload(key: record.key, id: record.id, begunSeconds: modified))
        }
        return abandoned
    }

    /// Ends an upload without an object, frees its parts, and removes its record.
    package func abort(_ upload: UnfinishedUpload) async throws(Failure) {
        try await client.abort(upload.key, upload: upload.id)
        try await client.delete([recordKey(of: upload.key)])
    }

    /// Removes what dead attempts have left in the bucket: uploads in parts and staged objects.
    /// Returns the number.
    package func sweepBucket(
        olderThanSeconds seconds: Double, now: Int64
    ) async throws(Failure) -> Int {
        let uploads = try await abandonedUploads(olderThanSeconds: seconds, now: now)
        for upload in uploads { try await abort(upload) }
        let staged = try await client.list(prefix: privateKey("tmp/")).objects.filter {
            $0.modifiedSeconds.map { Double(now - $0) > seconds } ?? false
        }
        try await client.delete(staged.map(\.key))
        return uploads.count + staged.count
    }

    /// Seconds between sweeps of the bucket; each lists it.
    static let sweepSeconds = 3_600.0

    /// Returns true once per `sweepSeconds`.
    func isSweepDue(now: ContinuousClock.Instant = .now) -> Bool {
        sweptAt.withLock { last in
            if let last, now - last < .seconds(Self.sweepSeconds) { return false }
            last = now
            return true
        }
    }
}
