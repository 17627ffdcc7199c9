package import Model

/// The kind of a request in results: the role of its object, or what it is for.
///
/// It repeats the cases of `SegmentRole`, because its raw values and indexes belong to the format of
/// results and thresholds, which clusters exchange and users store: a new or renamed role must not
/// change them unnoticed.
package enum LoadKind: String, Sendable, CaseIterable {
    case file
    case media
    case `init`
    case key
    case playlist
    case subtitles
    case image
    case index
    case data
    /// A request of a steering manifest.
    case steering
    /// A request that was answered with a redirect, which was followed.
    case redirect

    package init(_ role: SegmentRole) {
        switch role {
        case .file: self = .file
        case .media: self = .media
        case .`init`: self = .`init`
        case .key: self = .key
        case .playlist: self = .playlist
        case .subtitles: self = .subtitles
        case .image: self = .image
        case .index: self = .index
        case .data: self = .data
        }
    }

    /// Its index in `allCases`.
    package var index: Int {
        switch self {
        case .file: 0
        case .media: 1
        case .`init`: 2
        case .key: 3
        case .playlist: 4
        case .subtitles: 5
        case .image: 6
        case .index: 7
        case .data: 8
        case .steering: 9
        case .redirect: 10
        }
    }
}
