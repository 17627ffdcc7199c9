import API
import Model

extension Validation {
    static func check(_ eviction: SiteEviction) throws(Failure) {
        try text(eviction.site, "site", 1...2_048)
        guard let bytes = eviction.bytes, !WireLimits.evictedBytes.contains(bytes) else { return }
        throw wrong(
            "bytes", "\(bytes)",
            "\(WireLimits.evictedBytes.lowerBound) to \(WireLimits.evictedBytes.upperBound)")
    }

    static func check(_ requests: SiteRequests) throws(Failure) {
        try text(requests.site, "site", 1...2_048)
        guard WireLimits.pointsInTime.contains(requests.time) else {
            throw wrong("time", "\(requests.time)", pointsInTime)
        }
        try range(requests.files.count, "files", 1...WireLimits.requestedFiles)
        for (index, file) in requests.files.enumerated() {
            try path(file.key, "files[\(index)].key")
            for (field, value) in [("requests", file.requests), ("bytes", file.bytes)] {
                guard !(0...WireLimits.requestsOfFile).contains(value) else { continue }
                throw wrong("files[\(index)].\(field)", "\(value)", "0 to 1e18")
            }
        }
    }
}
