internal import Curl
internal import Digest
internal import Model

/// Values of a response's header, named by their purpose.
extension CurlEasy {
    /// Digests of the whole object, as stated by the response.
    var statedDigests: [ExpectedDigest] {
        StatedDigests.of(isWhole: status != 206) { headers($0) }
    }

    /// Validator that all parts of the object must have in common; nil if the origin gives no
    /// strong one.
    var strongValidator: String? {
        Validator.of(
            etag: header("ETag"), lastModified: header("Last-Modified"), date: header("Date"))
    }

    /// True if ranges of the whole object may be requested.
    var acceptsRanges: Bool {
        status == 200 && header("Accept-Ranges")?.lowercased() != "none"
    }
}

extension SHA256Digest {
    /// Returns a digest of a response's URL without its query, because signatures there may change.
    static func source(of url: String) -> SHA256Digest {
        SHA256Digest(hashing: Array(url.utf8.prefix { $0 != UInt8(ascii: "?") }))
    }

    /// Source of a body whose bytes came from several URLs; equal to no URL's.
    static let severalSources = SHA256Digest(hashing: Array("several".utf8))
}

extension TransferRequest {
    var isGuarded: Bool { delivery.resumption?.isGuarded == true }
}
