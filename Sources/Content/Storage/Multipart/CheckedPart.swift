internal import Digest
internal import Model

/// A part of a file, after a check that the parts cover the file.
struct CheckedPart: Sendable {
    let offset: Int64
    let length: Int64
    let digest: SHA256Digest

    /// Returns the parts after a check that they cover the file without gaps.
    static func of(_ multipart: MultipartFile) throws(Failure) -> [CheckedPart] {
        var parts: [CheckedPart] = []
        var end: Int64 = 0
        for part in multipart.parts {
            guard part.offset == end, part.length > 0,
                part.length <= multipart.totalBytes - part.offset
            else { throw mismatch("the part at \(part.offset) does not follow the one before") }
            guard let digest = SHA256Digest(hex: part.sha256) else {
                throw mismatch("the part at \(part.offset) has no SHA-256")
            }
            parts.append(CheckedPart(offset: part.offset, length: part.length, digest: digest))
            end += part.length
        }
        guard end == multipart.totalBytes, end > 0 else {
            throw mismatch("the parts end at \(end) of \(multipart.totalBytes) bytes")
        }
        return parts
    }

    private static func mismatch(_ message: String) -> Failure {
        Failure(.integrityMultipartMismatch, message)
    }
}

/// The digests of a whole file.
struct ComputedDigests: Sendable {
    let totalBytes: Int64
    /// SHA-256 first.
    let digests: [ExpectedDigest]

    var stored: StoredObject { StoredObject(bytes: totalBytes, sha256: digests[0].hex) }

    func check(_ expected: [ExpectedDigest], by whom: String) throws(Failure) {
        for digest in expected {
            let given = digests.first { $0.algorithm == digest.algorithm }
            guard given != digest else { continue }
            throw Failure(
                .integrityDigestMismatch,
                "\(digest.algorithm.title) is \(given?.hex ?? "not available"); \(whom) states "
                    + digest.hex)
        }
    }
}
