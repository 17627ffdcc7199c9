package import Curl
internal import Glibc
package import Model

extension CurlEasy {
    /// Returns the code for libcurl's result of a request for `url` without a complete response. On
    /// its loop's thread.
    package func failureCode(of code: CurlCode, url: String) -> FailureCode {
        switch code {
        case .malformedURL: .inputURL
        // Includes an http URL whose server does not answer in HTTP.
        case .unsupportedProtocol: Self.isHTTP(url) ? .originProtocol : .inputURL
        case .couldNotResolveHost, .couldNotResolveProxy: .originDNS
        case .couldNotConnect, .proxy: .originConnect
        case .timedOut: .originTimeout
        case .partialFile: .originTruncated
        case .receiveFailed where hasBrokenChunks: .originProtocol
        // An HTTP/2 stream or connection closed by the peer counts as a reset.
        case .gotNothing, .sendFailed, .receiveFailed, .http2, .http2Stream: .originReset
        case .badContentEncoding: .originEncoding
        case .outOfMemory, .failedInit: .workerInternal
        // A handshake that the network interrupted may succeed next time.
        case .tlsConnect where [ECONNRESET, EPIPE].contains(systemError): .originReset
        case let code where code.isTLS: .originTLS
        default: .originProtocol
        }
    }

    private static func isHTTP(_ url: String) -> Bool {
        let start = url.prefix(8).lowercased()
        return start.hasPrefix("http://") || start == "https://"
    }
}
