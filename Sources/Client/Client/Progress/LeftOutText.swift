package import API
import Model
import Rendering
import Text

/// Renditions that titles lack, for people.
package enum LeftOutText {
    /// Returns a line with the number of titles that lack renditions.
    static func summary(_ titles: Int) -> String {
        "\(HumanFormat.count(titles, "title")) without renditions, see --report or dray assets\n"
    }

    /// Returns one line per rendition, such as
    /// `film: without audio "Deutsch" de: origin.http.404 (host/film/de/3.m4s)`.
    package static func lines(_ assets: [AssetStatus]) -> String {
        assets.flatMap { asset in
            let shown = asset.redacted
            return (shown.leftOut ?? []).map { rendition in
                "\(printable(shown.name)): without \(printable(rendition.label)): "
                    + "\(rendition.code) (\(printable(rendition.key)))\n"
            }
        }.joined()
    }
}
