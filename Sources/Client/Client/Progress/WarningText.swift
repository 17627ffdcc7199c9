package import Model
import Rendering
import Text

/// Warnings about manifests, for people.
package enum WarningText {
    /// Returns one line per warning, and the number of further ones.
    package static func lines(_ warnings: ManifestWarnings) -> String {
        var text = warnings.first.map { "warning: \(printable($0.text))\n" }.joined()
        let more = warnings.count - warnings.first.reduce(0) { $0 + $1.count }
        if more > 0 { text += "and \(HumanFormat.count(more, "more warning"))\n" }
        return text
    }
}
