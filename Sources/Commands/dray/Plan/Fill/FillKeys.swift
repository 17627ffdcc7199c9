import Model
import Planner
import Services
import Text
import WebURL

/// The rule that makes keys and URLs of the paths of logs. A plan keeps it for `--check`.
struct FillKeys {
    /// Path at which a web server shows the site's files.
    let prefix: String
    /// The URL below which the logs' paths are; nil for the logs of edges.
    let origin: String?
    /// Prefix of paths in keys; empty for the logs of edges.
    let keyPrefix: String

    init(prefix: String?, origin: String?) throws(Failure) {
        self.prefix = prefix ?? "/"
        guard let text = origin else {
            (self.origin, keyPrefix) = (nil, "")
            return
        }
        let url: WebURL
        do throws(WebURLError) { url = try WebURL(text) } catch {
            throw error.failure(given: text)
        }
        var key = try SiteKey(url).text
        // A URL that ends in a slash has the key of its index.
        if url.path.isEmpty || url.path.hasSuffix("/") { key = String(key.dropLast(10)) }
        keyPrefix = key.hasSuffix("/") ? key : key + "/"
        // Without what a key leaves out, such as tokens.
        self.origin =
            (url.text.hasPrefix("http://") ? "http://" : "https://") + Self.encoded(keyPrefix)
    }

    func reader(since: Double) -> FileRequestReader {
        // Times beyond it are of a clock that is wrong: one of them would end the history.
        FileRequestReader(
            prefix: prefix, keyPrefix: keyPrefix, since: since,
            until: SystemWallClock().nowSeconds + 86_400)
    }

    /// Returns the URL of a file at its origin.
    func url(ofKey key: String) -> String {
        (origin?.hasPrefix("http://") == true ? "http://" : "https://") + Self.encoded(key)
    }

    private static func encoded(_ key: String) -> String {
        // The host stays as it is: [::1]:8080.
        let path = key.firstIndex(of: "/") ?? key.startIndex
        var text = String(key[..<path])
        for byte in key[path...].utf8 {
            if byte > 0x20, byte < 0x7F, !"\"#%<>?[\\]^`{|}".utf8.contains(byte) {
                text.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                let digits = String(byte, radix: 16, uppercase: true)
                text += digits.count == 1 ? "%0\(digits)" : "%\(digits)"
            }
        }
        return text
    }

    // MARK: What does not fit

    /// Describes the options for logs whose paths are no keys.
    static let advice =
        "Use --origin URL for logs of the origin or a CDN, whose paths are below URL, or --prefix "
        + "PATH if the server shows the site's files at PATH."

    /// Throws `input.field` for the first title of a log whose key begins with no host: its URL
    /// would be none.
    func check(titleOfLog key: String) throws(Failure) {
        guard keyPrefix.isEmpty, !Self.hasHost(key) else { return }
        throw Failure(
            .inputField,
            "the log has the path '\(printable(String(key.prefix(200))))' "
                + (prefix == "/" ? "" : "below \(printable(prefix)) ")
                + "which does not begin with the host of an origin",
            hint: Self.advice + " LIST has titles whose hosts have no dot.")
    }

    /// Returns true for `HOST/PATH` with a host that has a dot, a port, or is `localhost`.
    private static func hasHost(_ key: String) -> Bool {
        guard let slash = key.firstIndex(of: "/"), key.index(after: slash) < key.endIndex else {
            return false
        }
        let host = key[..<slash]
        return host == "localhost" || host.contains(".") || host.contains(":")
    }
}
