package import API
import Model
import Text

/// Renditions that titles lack, for people.
package enum LeftOutText {
    /// Returns one line per rendition, such as
    /// `film: without audio "Deutsch": origin.http.404 (host/film/de/3.m4s)`.
    package static func lines(_ assets: [AssetStatus]) -> String {
        assets.flatMap { asset in
            let shown = asset.redacted
            return (shown.leftOut ?? []).map { rendition in
                "\(printable(shown.name)): without \(rendition.kind?.rawValue ?? "a rendition") "
                    + "\"\(printable(rendition.name ?? ""))\": \(rendition.code) "
                    + "(\(printable(rendition.key)))\n"
            }
        }.joined()
    }
}
