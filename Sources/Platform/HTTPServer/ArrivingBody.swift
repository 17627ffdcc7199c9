internal import HTTP1

/// A request whose body is arriving.
struct ArrivingBody {
    /// The reason why no handler gets the request; the rest of the body is dropped.
    enum AbortReason {
        case refused(HTTPResponse)
        case tooLarge
        case tooMuchAtOnce
    }

    /// The request's handler, and where it runs.
    struct Route {
        let handler: HTTPServer.Handler
        let placement: HTTPServer.Placement
    }

    /// The request without its body.
    var request: HTTPRequest
    var decoder: ResponseBody
    var abortReason: AbortReason?
    /// The request's handler; nil for the server's own.
    let route: Route?
    private(set) var bytes: [UInt8] = []
    private(set) var receivedBytes = 0
    private var droppedBytes = 0

    init(_ request: HTTPRequest, _ decoder: ResponseBody, _ decision: HTTPServer.Decision) {
        self.request = request
        self.decoder = decoder
        switch decision {
        case .refused(let response):
            abortReason = .refused(response)
            route = nil
        case .admitted:
            abortReason = nil
            route = nil
        case .routed(let handler, on: let placement):
            abortReason = nil
            route = Route(handler: handler, placement: placement)
        }
    }

    enum Progress {
        case incomplete
        case complete
        /// The sender continues far beyond the limit, so it would not read a response either.
        case endless
    }

    /// Consumes the body's bytes from the start of `data`.
    mutating func take(
        _ data: inout UnsafeRawBufferPointer, _ budget: BodyBudget, _ held: inout Int
    ) throws(HTTPServer.Rejection) -> Progress {
        receivedBytes += data.count
        while !decoder.isDone {
            let piece: UnsafeRawBufferPointer
            do throws(MalformedResponse) {
                piece = try decoder.next(&data)
            } catch {
                throw .malformedRequest
            }
            guard !piece.isEmpty else { break }
            append(piece, budget, &held)
            if droppedBytes > max(budget.maximumBodyBytes, 1 << 20) { return .endless }
        }
        return decoder.isDone ? .complete : .incomplete
    }

    private mutating func append(
        _ piece: UnsafeRawBufferPointer, _ budget: BodyBudget, _ held: inout Int
    ) {
        let count = bytes.count + piece.count
        if abortReason == nil {
            if count > budget.maximumBodyBytes {
                abortReason = .tooLarge
            } else if !budget.hold(count, &held) {
                abortReason = .tooMuchAtOnce
            }
        }
        guard abortReason == nil else {
            bytes = []
            budget.letGo(&held)
            droppedBytes += piece.count
            return
        }
        bytes.append(contentsOf: piece)
    }
}
