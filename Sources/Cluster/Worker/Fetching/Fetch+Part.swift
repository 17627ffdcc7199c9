import API
import Model

extension Fetch {
    /// The part of a multipart file that is fetched; nil for a whole object.
    var part: (file: MultipartFile, offset: Int64, length: Int64)? {
        guard case .part(let file, let offset, let length) = body else { return nil }
        return (file, offset, length)
    }

    var isPart: Bool { part != nil }
}

extension Job {
    /// True for a part of a file, and for its verification: the coordinator counts the whole file.
    var isOfMultipartFile: Bool {
        switch task {
        case .fetch(let fetch): fetch.isPart
        case .verify: true
        case .resolve, .checksums, .refresh, .publish, .purge: false
        }
    }
}
