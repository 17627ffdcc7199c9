package import Model
import WebURL

/// The URLs by which a request reached its current one: a redirect that leads back, or one too
/// many, ends it.
package struct RedirectRoute: Sendable {
    /// URLs so far, the first one first.
    private var urls: [String]
    private let most: Int

    /// - Parameter most: maximum number of redirects.
    package init(_ url: String, atMost most: Int) {
        urls = [url]
        self.most = most
    }

    package var url: String { urls[urls.count - 1] }

    /// True if a redirect was followed.
    package var isRedirected: Bool { urls.count > 1 }

    /// True if it has left the origin of its first URL.
    package var isElsewhere: Bool { originName(of: url) != originName(of: urls[0]) }

    /// Follows a redirect, and returns its absolute URL.
    ///
    /// Throws `origin.redirectLimit`, `origin.redirectLoop`, and `origin.redirectRefused` for what
    /// is no URL of the web.
    package mutating func follow(to location: String) throws(Failure) -> String {
        guard urls.count <= most else {
            throw Failure(
                .originRedirectLimit, "\(Redaction.shown(url)): more than \(most) redirects")
        }
        let next: String
        do throws(WebURLError) { next = try WebURL(url).resolve(location).text } catch {
            throw Failure(
                .originRedirectRefused,
                "a redirect to \(Redaction.shown(location)): the URL "
                    + error.detail)
        }
        guard !urls.contains(next) else {
            throw Failure(
                .originRedirectLoop,
                "\(Redaction.shown(url)): a redirect back to \(Redaction.shown(next))")
        }
        urls.append(next)
        return next
    }
}
