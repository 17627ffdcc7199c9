import HTTPServer
import Testing

@testable import Coordinator

@Suite struct RouteTableTests {
    private static let table = RouteTable([
        .get("/healthz") { _ in .text(200, "") }.open,
        .get("/v1/catalogs/{catalog}") { _ in .text(200, "one") },
        .get("/v1/catalogs/{catalog}/assets") { _ in .text(200, "list") },
        .post("/v1/catalogs/{catalog}/assets") { .text(200, $1["catalog"] + $0.method) },
        .post("/v1/leases") { _ in .text(200, "") }.frequent,
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
        let answer = try await route.handler(request, parameters)
        #expect(String(decoding: answer.body, as: UTF8.self) == "a bPOST")
        #expect(try Self.route("POST", "/v1/leases").0.isFrequent)
        #expect(try Self.route("GET", "/healthz").0.isOpen)
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
