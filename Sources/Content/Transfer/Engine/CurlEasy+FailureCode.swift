package import Curl
internal import Glibc
package import Model

extension CurlEasy {
    /// What libcurl's result means for a request for `url` without a complete answer. On its loop's thread.
    package func failureCode(of code: CurlCode, url: String) -> FailureCode {
        switch code {
        case .malformedURL: "input.url"
        // An http URL that is answered with something that is not HTTP is one as well.
        case .unsupportedProtocol: Self.isHTTP(url) ? "origin.protocol" : "input.url"
        case .couldNotResolveHost, .couldNotResolveProxy: "origin.dns"
        case .couldNotConnect, .proxy: "origin.connect"
        case .timedOut: "origin.timeout"
        case .partialFile: "origin.truncated"
        case .receiveFailed where hasBrokenChunks: "origin.protocol"
        // An HTTP/2 stream or connection that the far end gives up is what a reset is below.
        case .gotNothing, .sendFailed, .receiveFailed, .http2, .http2Stream: "origin.reset"
        case .badContentEncoding: "origin.encoding"
        case .outOfMemory, .failedInit: "worker.internal"
        // A handshake that the network broke may go well next time.
        case .tlsConnect where [ECONNRESET, EPIPE].contains(systemError): "origin.reset"
        case let code where code.isTLS: "origin.tls"
        default: "origin.protocol"
        }
    }

    private static func isHTTP(_ url: String) -> Bool {
        let start = url.prefix(8).lowercased()
        return start.hasPrefix("http://") || start == "https://"
    }
}
