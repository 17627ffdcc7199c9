import API
import FoundationEssentials
import HTTPServer
import Model
import Text

/// Converts failures to responses: the status follows from the code.
enum FailureAnswer {
    /// Returns the response for a request that the server itself rejects.
    static func refusal(_ refusal: HTTPServer.Refusal) -> HTTPResponse {
        let code: FailureCode =
            switch refusal {
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
        var answer = response(to: Failure(code, "The request: \(refusal.reason)."))
        answer.status = refusal.status
        return answer
    }

    static func response(to failure: Failure) -> HTTPResponse {
        let status =
            switch failure.code {
            case .inputNotFound: 404
            case .inputMethod: 405
            case .workerLeaseLost, .inputDraining, .inputLoadTestRunning,
                .storageOutsideRoots:
                409
            case .inputTooLarge: 413
            case .clusterUnauthorized: 401
            case .clusterForbidden, .clusterOutOfScope: 403
            case let code where code.isOfUnavailableCluster: 503
            case .workerInternal: 500
            default: 400
            }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Some messages contain the caller's input, such as a decoder's.
        let shown = Failure(failure.code, printable(failure.message))
        let body = (try? encoder.encode(ErrorAnswer(shown))) ?? Data()
        return HTTPResponse.json(status, bytes: Array(body))
    }
}
