import API
import FoundationEssentials
import HTTPServer
import Model
import Text

/// Converts failures to responses: problem documents (RFC 9457), whose status follows from the
/// code.
enum FailureAnswer {
    /// Returns the response for a request that the server itself rejects.
    static func rejection(_ rejection: HTTPServer.Rejection) -> HTTPResponse {
        let code: FailureCode =
            switch rejection {
            case .malformedRequest, .malformedTarget, .versionNotSupported, .unknownCoding:
                .inputMalformed
            case .targetTooLong, .headersTooLarge, .bodyTooLarge: .inputTooLarge
            case .timedOut: .inputTimeout
            case .notTLS: .clusterTLSRequired
            case .tooManyBodies, .tooManyConnections: .clusterBusy
            // As if it were down: callers use another coordinator.
            case .shuttingDown: .clusterCoordinatorUnreachable
            case .unsendableAnswer: .workerInternal
            }
        return response(
            to: Failure(code, "The request: \(rejection.reason)."), status: rejection.status)
    }

    /// Returns the failure that an error stands for; that of a bug for an unexpected one.
    static func failure(of error: any Error) -> Failure {
        (error as? Failure) ?? Failure(.workerInternal, "\(error)")
    }

    static func status(of code: FailureCode) -> Int {
        switch code {
        case .inputNotFound: 404
        case .inputMethod: 405
        case .workerLeaseLost, .inputDraining, .inputLoadTestRunning, .inputAuditRunning,
            .inputLoadFixed, .inputCacheSite, .storageOutsideRoots, .inputAlreadyCreated,
            .inputNameInUse, .clusterRequestRunning, .storageSharedDirectory:
            409
        case .clusterEventsGone: 410
        case .inputTooLarge: 413
        case .inputKeyReused: 422
        case .clusterRateLimited: 429
        case .clusterUnauthorized: 401
        case .clusterForbidden, .clusterOutOfScope: 403
        case let code where code.isOfUnavailableCluster: 503
        case .workerInternal: 500
        default: 400
        }
    }

    /// - Parameter status: nil for that of the code.
    static func response(to failure: Failure, status: Int? = nil) -> HTTPResponse {
        let status = status ?? Self.status(of: failure.code)
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Some messages contain the caller's input, such as a decoder's.
        let shown = failure.with(message: printable(failure.message))
        let body = (try? encoder.encode(ErrorAnswer(shown, status: status))) ?? Data()
        var response = HTTPResponse(
            status: status,
            headers: [("Content-Type", ErrorAnswer.contentType), ("Cache-Control", "no-store")],
            body: Array(body))
        switch failure.code {
        case .clusterTooManyStreams:
            response.headers.append(("Retry-After", "\(EventHub.retrySeconds)"))
        // A rate is one request per second or more.
        case .clusterRateLimited, .clusterBusy, .clusterRequestRunning:
            response.headers.append(("Retry-After", "1"))
        case .clusterUnauthorized:
            response.headers.append(("WWW-Authenticate", "Bearer realm=\"dray\""))
        default: break
        }
        return response
    }
}
