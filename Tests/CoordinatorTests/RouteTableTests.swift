import HTTPServer
import TestSupport
import Testing

@testable import Coordinator

@Suite struct RouteTableTests {
    private static let table = RouteTable([
        .open("/healthz") { _ in .text(200, "") },
        .get("/v1/catalogs/{catalog}", .readers) { _ in .text(200, "one") },
        .get("/v1/catalogs/{catalog}/assets", .readers) { _ in .text(200, "list") },
        .post("/v1/catalogs/{catalog}/assets", .submitters) { request, path, _ in
            .text(200, path["catalog"] + request.method)
        },
        .post("/v1/leases", .workers) { _ in .text(200, "") }.frequent,
    ])

    private static func route(_ method: String, _ path: String) throws -> (Route, PathParameters) {
        let segments = path.split(separator: "/").map(String.init)
        guard case .found(let route, let parameters) = table.match(method, segments) else {
            throw NotFound()
        }
        return (route, parameters)
    }

    private struct NotFound: Error {}

    @Test func aRouteIsFoundByMethodAndPath() async throws {
        let (route, parameters) = try Self.route("POST", "/v1/catalogs/a b/assets")
        #expect(parameters["catalog"] == "a b" && route.path == "/v1/catalogs/{catalog}/assets")
        let request = HTTPRequest(method: "POST", path: "", segments: [])
        guard case .answer(.submitters, let handler) = route.handling else { throw NotFound() }
        let caller = Caller(access: Access(token: .test), token: nil)
        let answer = try await handler(request, parameters, caller)
        #expect(String(decoding: answer.body, as: UTF8.self) == "a bPOST")
        #expect(try Self.route("POST", "/v1/leases").0.isFrequent)
        #expect(try Self.route("GET", "/healthz").0.rule == nil)
    }

    @Test func whatAPathCanBeAskedFollowsFromItsRoutes() {
        guard
            case .otherMethods(let methods, isOpen: false) = Self.table.match(
                "PUT", ["v1", "catalogs", "1", "assets"])
        else {
            Issue.record("not found")
            return
        }
        #expect(methods == [.get, .post])
        guard case .otherMethods([.get], isOpen: true) = Self.table.match("PUT", ["healthz"])
        else {
            Issue.record("not open")
            return
        }
    }

    @Test(arguments: [
        [], ["v1"], ["v1", "catalogs"], ["v1", "catalogs", "1", ""], ["healthz", ""],
        ["v1", "catalogs", "1", "assets", "2"], ["v1", "Leases"],
    ])
    func anyOtherPathIsNone(_ segments: [String]) {
        guard case .none = Self.table.match("GET", segments) else {
            Issue.record("found")
            return
        }
    }
}
