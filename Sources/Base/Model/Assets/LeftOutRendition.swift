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
    /// Its name in the manifest, an id in DASH, or else its attributes: `nameCharacters` at most.
    package var name: String?
    /// Language, resolution, bit rate and codecs, `nameCharacters` at most; nil if the manifest has none
    /// beside the name.
    package var attributes: String?
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

    /// Returns the failure with what follows from it.
    package func failure(_ consequence: String) -> Failure {
        failure.with(message: "\(message); \(consequence)")
    }

    /// Kind, name and attributes for people: `video "0" 1280x720 2400 kbit/s`.
    package var label: String {
        "\(kind?.rawValue ?? "a rendition") \"\(name ?? "")\"" + (attributes.map { " \($0)" } ?? "")
    }

    /// Returns this file as the reason why a rendition is left out.
    package func reason(
        for kind: RenditionKind?, name: String, attributes: String?
    ) -> LeftOutRendition {
        var copy = self
        copy.kind = kind
        copy.name = Self.bounded(name)
        copy.attributes = attributes.map(Self.bounded)
        return copy
    }

    /// Returns text from a manifest without control characters.
    private static func bounded(_ text: String) -> String {
        String(
            String.UnicodeScalarView(
                text.unicodeScalars.filter { $0.value >= 0x20 && $0.value != 0x7F }
                    .prefix(nameCharacters)))
    }
}
