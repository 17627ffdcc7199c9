internal import Curl
internal import Digest
internal import Model

/// What the header of an answer says, by the name of what it is for.
extension CurlEasy {
    /// The answer's own digests of the whole object.
    var statedDigests: [ExpectedDigest] {
        StatedDigests.of(isWhole: status != 206) { headers($0) }
    }

    /// What parts of the object would have to share; nil where the origin gives nothing strong enough.
    var strongValidator: String? {
        Validator.of(
            etag: header("ETag"), lastModified: header("Last-Modified"), date: header("Date"))
    }

    /// Ranges of the whole object that it answers with may be requested.
    var acceptsRanges: Bool {
        status == 200 && header("Accept-Ranges")?.lowercased() != "none"
    }
}

extension SHA256Digest {
    /// Tells the URL of an answer, without what may be signed anew each time.
    static func source(of url: String) -> SHA256Digest {
        SHA256Digest(hashing: Array(url.utf8.prefix { $0 != UInt8(ascii: "?") }))
    }

    /// Of a body whose bytes came from several URLs: no URL's.
    static let severalSources = SHA256Digest(hashing: Array("several".utf8))
}

extension TransferRequest {
    var isGuarded: Bool { resumption?.isGuarded == true }
}
