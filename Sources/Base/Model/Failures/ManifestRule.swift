/// A rule of a standard that manifests break and players tolerate, because the intended bytes are
/// clear.
///
/// Breaking one is a failure for titles read strictly (`TitleOptions.isStrict`), a warning
/// otherwise.
package enum ManifestRule: String, CaseIterable, Sendable {
    case hlsHeader = "hls.header"
    case hlsDuration = "hls.duration"
    case hlsRange = "hls.range"
    case hlsRangeOffset = "hls.rangeOffset"
    case hlsMixedTags = "hls.mixedTags"
    case hlsStrayURI = "hls.strayURI"
    case hlsVariantURI = "hls.variantURI"
    case hlsRequiredURI = "hls.requiredURI"
    case hlsAttribute = "hls.attribute"
    case hlsEnd = "hls.end"
    case dashOrder = "dash.order"
    case dashIdentifier = "dash.identifier"
    case dashWidth = "dash.width"
    case dashPeriod = "dash.period"
    case dashDuration = "dash.duration"
    case dashNumber = "dash.number"
    case dashAttribute = "dash.attribute"
    case dashRange = "dash.range"
    case dashItself = "dash.itself"
    case dashNamespace = "dash.namespace"
    case dashPrefix = "dash.prefix"
    case dashDeclaration = "dash.declaration"
    case dashClock = "dash.clock"

    /// One rule.
    package struct Row: Sendable {
        /// The standard with its section or clause.
        package let source: String
        /// The deviation from the rule.
        package let deviation: String
        /// Dray's reading of it, a clause.
        package let reading: String

        fileprivate init(_ source: String, _ deviation: String, _ reading: String) {
            self.source = source
            self.deviation = deviation
            self.reading = reading
        }
    }

    package var row: Row {
        switch self {
        case .hlsHeader, .hlsDuration, .hlsRange, .hlsRangeOffset, .hlsMixedTags, .hlsStrayURI,
            .hlsVariantURI, .hlsRequiredURI, .hlsAttribute, .hlsEnd:
            hls
        default: dash
        }
    }

    private var hls: Row {
        func row(_ section: String, _ deviation: String, _ reading: String) -> Row {
            Row("RFC 8216, \(section)", deviation, reading)
        }
        return switch self {
        case .hlsHeader:
            row(
                "4.3.1.1", "A playlist does not start with `#EXTM3U`.",
                "the playlist is read anyway")
        case .hlsDuration:
            row(
                "4.3.2.1", "`EXTINF` has no duration, or a malformed one.",
                "the target duration is used")
        case .hlsRange:
            row("4.3.2.2", "A byte range is malformed.", "the whole file is fetched")
        case .hlsRangeOffset:
            row(
                "4.3.2.2", "The first byte range of a file has no offset.", "it starts at byte 0")
        case .hlsMixedTags:
            row(
                "4.1",
                "A multivariant playlist has tags of segments, or a media playlist those "
                    + "of a multivariant one.",
                "the tag is ignored")
        case .hlsStrayURI:
            row(
                "4.3.4.2", "A URI in a multivariant playlist has no `EXT-X-STREAM-INF`.",
                "it is ignored")
        case .hlsVariantURI:
            row("4.3.4.2", "`EXT-X-STREAM-INF` has no URI after it.", "the tag is ignored")
        case .hlsRequiredURI:
            row("4.3.4.3", "`EXT-X-I-FRAME-STREAM-INF` has no `URI`.", "the tag is ignored")
        case .hlsAttribute:
            row("4.2", "A tag has an attribute twice.", "the first one is used")
        default:
            row("4.3.3.5", "A playlist of type `VOD` has no `EXT-X-ENDLIST`.", "it is complete")
        }
    }

    private var dash: Row {
        func row(_ clause: String, _ deviation: String, _ reading: String) -> Row {
            Row("ISO/IEC 23009-1, \(clause)", deviation, reading)
        }
        return switch self {
        case .dashOrder:
            row(
                "5.3.3.3",
                "SegmentBase, SegmentList or SegmentTemplate comes after the elements "
                    + "that it applies to.",
                "it applies to all of its level")
        case .dashIdentifier:
            row(
                "5.3.9.4.4",
                "A template has an identifier that is unknown, or has no meaning there.",
                "it stays in the URL unchanged")
        case .dashWidth:
            row(
                "5.3.9.4.4", "A width is not in the form `%0Nd`: `%014llu`, `%04x`.",
                "it is read as printf does")
        case .dashPeriod:
            row(
                "5.3.2.1", "The last period starts when the presentation is over.",
                "the duration is counted from the first period's start")
        case .dashDuration: row("5.3.1.2", "A duration is 0.", "it is ignored")
        case .dashClock:
            row(
                "5.8.4.11", "A clock that the MPD names is wrong.",
                "the next one is used, or the time of the MPD's answer")
        case .dashNumber:
            Row(
                "XML Schema 2, 3.3.20", "A number has a point, or white space around it.",
                "it is read as a whole number")
        case .dashAttribute:
            row(
                "5.3", "An attribute that does not affect segments is malformed.",
                "it is ignored")
        case .dashRange: row("5.3.9.2.2", "A byte range is malformed.", "the whole file is fetched")
        case .dashItself:
            row(
                "5.3.9.1", "A representation names the MPD itself, or nothing.",
                "nothing more is fetched for it")
        case .dashNamespace:
            row("5.2", "The MPD has an unknown namespace.", "it is read as an MPD")
        case .dashPrefix:
            Row(
                "Namespaces in XML 1.0, 5", "Nothing declares a prefix.",
                "elements with it are ignored")
        default:
            Row("XML 1.0, 2.8", "White space precedes the XML declaration.", "it is skipped")
        }
    }

    /// Returns a section of `docs/failures.md`.
    package static func markdown() -> String {
        var page = """

            ## Rules that manifests break

            Made from `Sources/Base/Model/Failures/ManifestRule.swift`. A manifest that breaks a rule is read as players read it, with
            a warning; with `--strict` it fails with `manifest.malformed`.

            | rule | standard | deviation | reading |
            | --- | --- | --- | --- |

            """
        for rule in allCases {
            let row = rule.row
            let reading = row.reading.prefix(1).uppercased() + row.reading.dropFirst()
            page += "| `\(rule.rawValue)` | \(row.source) | \(row.deviation) | \(reading). |\n"
        }
        return page
    }
}
