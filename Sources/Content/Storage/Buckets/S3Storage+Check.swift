internal import Digest
internal import Glibc
package import Model
internal import S3

/// Findings of a check of a bucket.
package struct BucketCheck: Sendable, Hashable {
    /// This host's clock less the server's, in seconds; nil if the server states no time.
    package var clockSkewSeconds: Int64?
    /// Uploads in parts that Dray began and did not end within a day.
    package var staleUploads: Int
}

extension S3Storage {
    /// Checks that objects can be put, read, listed and deleted, and compares the clocks.
    ///
    /// Throws the failure that storing an object would have, with the operation in its message.
    package func check() async throws(Failure) -> BucketCheck {
        let skew = try await client.clockSkew()
        let key = privateKey("\(Self.probeStart)\(UInt64.random(in: 0...UInt64.max))")
        let content = Array("dray\n".utf8)
        let hash = SHA256Digest(hashing: content).description
        _ = try await client.put(key, UploadBody(content), sha256: hash)
        guard try await client.getSmall(key) == content else {
            throw Failure(.storageNotS3, "\(url.path): an object that was put reads otherwise")
        }
        let stale = try await abandonedUploads(olderThanSeconds: 86_400, now: Int64(time(nil)))
        try await client.delete([key])
        return BucketCheck(clockSkewSeconds: skew, staleUploads: stale.count)
    }
}
