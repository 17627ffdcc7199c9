import HTTPServer
import Synchronization

/// A receiver of webhooks: keeps what it got, and answers with the statuses that it is given, 200 afterwards.
final class WebhookReceiver: Sendable {
    private struct State {
        var requests: [HTTPRequest] = []
        var answers: [HTTPResponse] = []
    }

    private let state = Mutex(State())
    private let server = Mutex<HTTPServer?>(nil)

    init(answers: [HTTPResponse] = []) throws {
        state.withLock { $0.answers = answers }
        let server = try HTTPServer.start(HTTPServer.Configuration()) { [weak self] request in
            self?.answer(request) ?? .text(500, "")
        }
        self.server.withLock { $0 = server }
    }

    private func answer(_ request: HTTPRequest) -> HTTPResponse {
        state.withLock { state in
            state.requests.append(request)
            return state.answers.isEmpty ? .text(200, "") : state.answers.removeFirst()
        }
    }

    var requests: [HTTPRequest] { state.withLock(\.requests) }
    var url: String { "http://127.0.0.1:\(server.withLock { $0?.port ?? 0 })/hook?key=canary" }

    func stop() async { await server.withLock { $0 }?.shutdown(graceSeconds: 0) }
}
