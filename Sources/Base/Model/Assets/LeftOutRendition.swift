/// A kind of renditions that a title may lack.
package enum RenditionKind: String, Codable, Hashable, CaseIterable, Sendable {
    /// Variants, and tracks for seeking.
    case video
    case audio
    case subtitles
    /// Thumbnails.
    case image
}

/// A rendition that a title lacks, because one of its files cannot be fetched.
package struct LeftOutRendition: Codable, Hashable, Sendable {
    /// Its kind; nil for a file of which is not known yet which renditions list it.
    package var kind: RenditionKind?
    /// Its name in the manifest, or its attributes: `nameCharacters` at most.
    package var name: String?
    /// The key of the file.
    package var key: String
    /// The failure with which fetching the file ended.
    package var code: FailureCode
    package var message: String

    /// Maximum Unicode scalars of a name.
    package static let nameCharacters = 200

    package init(
        _ kind: RenditionKind? = nil, name: String? = nil, key: String, _ failure: Failure
    ) {
        self.kind = kind
        self.name = name
        self.key = key
        code = failure.code
        message = failure.message
    }

    package var failure: Failure { Failure(code, message) }

    /// Returns this file as the reason why a rendition is left out.
    package func reason(for kind: RenditionKind, name: String) -> LeftOutRendition {
        var copy = self
        copy.kind = kind
        copy.name = String(
            String.UnicodeScalarView(
                name.unicodeScalars.filter { $0.value >= 0x20 && $0.value != 0x7F }
                    .prefix(Self.nameCharacters)))
        return copy
    }
}
