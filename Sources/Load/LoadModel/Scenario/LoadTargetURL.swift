import Lists
package import Model
package import WebURL

/// The URL of a target.
package enum LoadTargetURL: Sendable {
    /// A file or a title of a web server.
    case web(WebURL)
    /// An object of a bucket.
    case object(BucketLocation)

    static let allowedInBucket =
        "files; give the title's files as targets, or kind file for its manifest alone"

    /// Returns the target, named by the URL.
    ///
    /// Throws `input.url` for a title in a bucket: what its manifest names would not be signed.
    ///
    /// - Parameter kind: nil for that of the extension.
    package func target(kind: AssetKind?) throws(Failure) -> LoadTarget {
        switch self {
        case .web(let url):
            return LoadTarget(
                name: Redaction.shown(url.text),
                source: .url(url.text, kind ?? ListReader.defaultKind(of: url)))
        case .object(let object):
            let url = object.urlWithoutFields
            guard (kind ?? ListReader.defaultKind(ofPath: url)) == .file else {
                throw Failure(
                    .inputURL, at: nil,
                    "\(Redaction.shown(url)) is a title in a bucket, whose segments would not be signed",
                    allowed: Self.allowedInBucket, hint: "Allowed: \(Self.allowedInBucket).")
            }
            return LoadTarget(
                name: Redaction.shown(url), source: .object(object, signedURL: nil))
        }
    }
}

extension LoadTarget {
    /// True if it is one file.
    var isFile: Bool {
        switch source {
        case .url(_, let kind): kind == .file
        case .object: true
        case .list, .replay: false
        }
    }

    /// True if it is one URL.
    var isSingle: Bool {
        switch source {
        case .url, .object: true
        case .list, .replay: false
        }
    }
}
