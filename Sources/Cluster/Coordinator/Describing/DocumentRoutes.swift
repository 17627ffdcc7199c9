import API
import HTTPServer
import Synchronization

/// The route of the OpenAPI document. Open to everyone: it has no secrets, and tools read it before
/// they have a token.
final class DocumentRoutes: Sendable {
    /// Made at the first request.
    private let document = Mutex<[UInt8]?>(nil)

    func openAPI(of routes: [Route]) throws -> HTTPResponse {
        let bytes = try document.withLock { document in
            if let document { return document }
            let made = try HTTPResponse.json(
                200, OpenAPIDocument(APIDescription(routes)).node
            ).body
            document = made
            return made
        }
        return .json(200, bytes: bytes)
    }
}
