import API
import Model

/// Validation of requests for the parts of large files.
extension Validation {
    static func check(_ request: SplitRequest) throws(Failure) {
        let size = PartSize(request.partBytes)
        guard size.bytes >= PartSize.minBytes else {
            throw wrong("partBytes", "\(size.bytes)", "\(PartSize.minBytes) or more")
        }
        guard size.splits(request.totalBytes), request.totalBytes <= maxBytes,
            size.count(of: request.totalBytes) <= PartSize.maxParts
        else {
            throw wrong(
                "totalBytes", "\(request.totalBytes)",
                "more than partBytes, at most \(PartSize.maxParts) parts, at most \(maxBytes)")
        }
        try text(request.validator, "validator", 1...1_000)
        if let digests = request.digests { try stated(digests, "digests") }
    }
}
