extension HTTPServer {
    /// A reason for the server to answer by itself.
    package enum Rejection: Error, Sendable, CaseIterable {
        /// Not HTTP, or a request that two readers could interpret differently.
        case malformedRequest
        case malformedTarget
        /// A request line longer than 16 KiB.
        case targetTooLong
        /// More than 32 KiB or 100 fields.
        case headersTooLarge
        case versionNotSupported
        /// HTTP without TLS at a server with a certificate.
        case notTLS
        /// A transfer coding other than chunked.
        case unknownCoding
        case bodyTooLarge
        /// A head or a body that exceeds its deadline.
        case timedOut
        /// Arriving and handled bodies have reached the maximum of held bytes.
        case tooManyBodies
        case tooManyConnections
        case shuttingDown
        /// The handler's response has a status or a header that HTTP does not allow.
        case unsendableAnswer

        package var status: Int {
            switch self {
            case .malformedRequest, .malformedTarget, .notTLS: 400
            case .timedOut: 408
            case .bodyTooLarge: 413
            case .targetTooLong: 414
            case .headersTooLarge: 431
            case .unsendableAnswer: 500
            case .unknownCoding: 501
            case .tooManyBodies, .tooManyConnections, .shuttingDown: 503
            case .versionNotSupported: 505
            }
        }

        package var reason: String {
            switch self {
            case .malformedRequest: "malformed HTTP"
            case .malformedTarget: "malformed request target"
            case .targetTooLong: "request line longer than \(RequestHead.maximumLineBytes) bytes"
            case .headersTooLarge:
                "headers of more than \(RequestHead.maximumBytes) bytes or "
                    + "\(RequestHead.maximumFields) fields"
            case .versionNotSupported: "HTTP/1.1 and 1.0 only"
            case .notTLS: "this port speaks https; use an https URL"
            case .unknownCoding: "a transfer coding other than chunked"
            case .bodyTooLarge: "body too large"
            case .timedOut: "the request did not arrive in time"
            case .tooManyBodies: "too many large bodies at once"
            case .tooManyConnections: "too many connections at once"
            case .shuttingDown: "the server is shutting down"
            case .unsendableAnswer: "the answer cannot be sent"
            }
        }
    }
}
