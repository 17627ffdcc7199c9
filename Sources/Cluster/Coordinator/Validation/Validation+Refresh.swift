import API
import Model

/// Checks of workers' requests about refreshes.
extension Validation {
    static func check(_ request: RefreshFilesRequest) throws(Failure) {
        if let after = request.after { try range(after, "after", 0...maxOrdinal) }
    }

    static func check(_ batch: RefreshBatch) throws(Failure) {
        try range(batch.files.count, "files", 1...WireLimits.segmentsPerRequest)
        if let wanted = batch.publication { try check(wanted) }
        if let warnings = batch.warnings { try check(warnings) }
        try check(
            batch.files.map(\.segment), maxOrdinal: maxOrdinal, in: "files", member: ".segment")
        for (index, file) in batch.files.enumerated() {
            try length(file.stored.bytes, "files[\(index)].stored.bytes")
            try digest(file.stored.sha256, "files[\(index)].stored.sha256")
            if let staged = file.staged {
                try range(staged, "files[\(index)].staged", 1...maxOrdinal + 1)
            }
            guard let validator = file.validator else { continue }
            try text(validator, "files[\(index)].validator", 1...WireLimits.validatorCharacters)
        }
    }

    static func check(_ wanted: RefreshBatch.Publication) throws(Failure) {
        if let leftOut = wanted.leftOut { try check(leftOut, in: "publication.leftOut") }
        guard let segments = wanted.segments else { return }
        try range(segments, "publication.segments", 1...WireLimits.segmentsPerAsset)
    }

    /// Sidecars have numbers after those of a manifest.
    private static let maxOrdinal =
        WireLimits.segmentsPerAsset + WireLimits.sidecarsPerAsset - 1
}
