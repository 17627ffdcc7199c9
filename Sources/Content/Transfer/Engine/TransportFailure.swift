internal import Curl
internal import Model

/// Finds the failure of a request without a complete response.
struct TransportFailure {
    let easy: CurlEasy
    let url: String
    let profile: OriginProfile

    /// Returns the failure for libcurl's result.
    func failure(_ code: CurlCode, addressRejection: Failure?) -> Failure {
        if let addressRejection, code == .couldNotConnect {
            return problem(addressRejection.code, addressRejection.message)
        }
        if easy.hasTooLongHeader(code) {
            return problem(
                .originProtocol, "a header of more than \(profile.maximumHeaderBytes) bytes")
        }
        if code == .outOfMemory, hasBegunAnswer {
            return problem(.originProtocol, "a header line that is too long")
        }
        if easy.proxyStatus >= 300 {
            return problem(.originConnect, "the proxy answers with status \(easy.proxyStatus)")
        }
        // libcurl quotes the proxy's URL, which may contain a password.
        let detail = profile.usesProxy ? "" : easy.errorDetail
        return problem(
            easy.failureCode(of: code, url: url), detail.isEmpty ? code.message : detail)
    }

    /// True if a response has begun. For a header line over 100 KiB, libcurl reports a lack of
    /// memory because its buffer is full.
    private var hasBegunAnswer: Bool { easy.status > 0 || easy.timings.firstByteSeconds > 0 }

    private func problem(_ code: FailureCode, _ message: String) -> Failure {
        Failure(code, of: url, message)
    }
}
