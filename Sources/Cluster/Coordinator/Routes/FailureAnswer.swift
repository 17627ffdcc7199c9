import FoundationEssentials
import HTTPServer
import Model
import Text

/// Words failures as answers: the status follows from the code.
enum FailureAnswer {
    /// What a request gets that the server itself refuses.
    static func refusal(_ refusal: HTTPServer.Refusal) -> HTTPResponse {
        let code: FailureCode =
            switch refusal {
            case .malformedRequest, .malformedTarget, .versionNotSupported, .unknownCoding:
                "input.malformed"
            case .targetTooLong, .headersTooLarge, .bodyTooLarge: "input.tooLarge"
            case .timedOut: "input.timeout"
            case .tooManyBodies, .tooManyConnections: "cluster.busy"
            // As if it were gone: callers go on to another one.
            case .shuttingDown: "cluster.coordinatorUnreachable"
            case .unsendableAnswer: "worker.internal"
            }
        var answer = response(to: Failure(code, "The request: \(refusal.reason)."))
        answer.status = refusal.status
        return answer
    }

    static func response(to failure: Failure) -> HTTPResponse {
        let status =
            switch failure.code {
            case "input.notFound": 404
            case "input.method": 405
            case "worker.leaseLost", "input.draining", "input.loadTestRunning",
                "storage.outsideRoots":
                409
            case "input.tooLarge": 413
            case "cluster.unauthorized": 401
            case let code where code.isOfUnavailableCluster: 503
            case "worker.internal": 500
            default: 400
            }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Some messages have what was given in them, as a decoder words it.
        let shown = Failure(failure.code, printable(failure.message))
        let body = (try? encoder.encode(ErrorAnswer(shown))) ?? Data()
        return HTTPResponse.json(status, bytes: Array(body))
    }
}
