package import Model
internal import S3
import Synchronization

extension S3Storage {
    /// Returns the uploads that Dray began below the site's prefix and that have not ended since.
    /// Those of other programs are not in it.
    func abandonedUploads(
        olderThanSeconds seconds: Double, now: Int64
    ) async throws(Failure) -> [UploadRecord] {
        var abandoned: [UploadRecord] = []
        let start = privateKey("uploads/")
        try await forEachObject(below: start, most: Self.sweptObjects) { (object) throws(Failure) in
            guard let modified = object.modifiedSeconds, Double(now - modified) > seconds,
                let bytes = try await self.client.getSmall(object.key),
                let record = UploadRecord(bytes), record.key.hasPrefix(self.prefix),
                self.recordKey(of: record) == object.key
            else { return }
            abandoned.append(record)
        }
        return abandoned
    }

    private func recordKey(of record: UploadRecord) -> String {
        switch record.owner {
        case .lease: recordKey(of: record.key)
        case .multipart(let id): recordKey(of: id)
        }
    }

    /// Removes what dead attempts have left in the bucket: uploads in parts, staged objects, and
    /// objects of checks. Returns the number.
    package func sweepBucket(
        olderThanSeconds seconds: Double, now: Int64
    ) async throws(Failure) -> Int {
        var removed = 0
        for folder in [PrivateFile.Folder.uploads, .temporary] {
            let start = privateKey("\(folder.rawValue)/")
            var old: [String] = []
            try await forEachObject(below: start, most: Self.sweptObjects) { object in
                if let modified = object.modifiedSeconds, Double(now - modified) > seconds {
                    old.append(String(object.key.dropFirst(start.count)))
                }
            }
            for name in old where try await sweep(name, in: folder) { removed += 1 }
        }
        var probes: [String] = []
        let start = privateKey(Self.probeStart)
        try await forEachObject(below: start, most: Self.sweptObjects) { object in
            if let modified = object.modifiedSeconds, Double(now - modified) > seconds {
                probes.append(object.key)
            }
        }
        try await client.delete(probes)
        return removed + probes.count
    }

    private func sweep(
        _ name: String, in folder: PrivateFile.Folder
    ) async throws(Failure) -> Bool {
        let kind =
            folder == .uploads
            ? try await kind(ofRecord: privateKey("uploads/\(name)")) : Self.kind(ofStaged: name)
        guard kind != .foreign else { return false }
        return try await remove(
            leftover: PrivateFile(folder, name, bytes: 0, kind, ageSeconds: 0))
    }

    /// Start of the names of objects that checks put and delete.
    static let probeStart = "probe-"
    /// Maximum number of objects of each kind that one sweep looks at.
    private static let sweptObjects = 50_000

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
