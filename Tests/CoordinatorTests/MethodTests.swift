import TestSupport
import Testing

/// A method that a path does not have is 405, and the answer lists the allowed ones.
@Suite struct MethodTests {
    /// The paths of the table of access, with what they allow.
    private static let paths: [(path: String, allowed: String)] = {
        let methods = Dictionary(grouping: RouteAccess.table, by: \.anyPath).mapValues {
            $0.map(\.method)
        }
        return methods.sorted { $0.key < $1.key }.map { path, methods in
            let names =
                (methods.contains("GET") ? ["GET", "HEAD"] : [])
                + (methods.contains("POST") ? ["POST"] : [])
            return (path, (names + ["OPTIONS"]).joined(separator: ", "))
        }
    }()

    @Test func otherMethodsAreNamedAsWrong() async throws {
        try await Fixture.with { fixture in
            try await fixture.submit(["a"])
            let before = try await fixture.tables()
            for (path, allowed) in Self.paths {
                let names = allowed.split(separator: ", ").map(String.init)
                for method in ["GET", "POST", "PUT", "PATCH", "DELETE", "TRACE", "get", "BREW"]
                where !names.contains(method) {
                    let answer = try await fixture.send(method, path, "{}")
                    #expect(answer.status == 405, "\(method) \(path): \(answer)")
                    #expect(answer.code == "input.method", "\(method) \(path): \(answer)")
                    #expect(answer.headers["allow"] == allowed, "\(method) \(path)")
                }
                let options = try await fixture.send("OPTIONS", path)
                #expect(options.status == 204 && options.body.isEmpty, "\(path): \(options)")
                #expect(options.headers["allow"] == allowed, "\(path)")
            }
            #expect(try await fixture.tables() == before)
        }
    }

    /// Of every route, as of any other path.
    @Test func aPathWithASlashAtItsEndIsNotFound() async throws {
        try await Fixture.with { fixture in
            for (path, allowed) in Self.paths {
                let method = allowed.hasPrefix("GET") ? "GET" : "POST"
                for wrong in [path + "/", "/" + path] {
                    let answer = try await fixture.send(method, wrong, "{}")
                    #expect(answer.status == 404, "\(method) \(wrong): \(answer)")
                    #expect(answer.code == "input.notFound", "\(method) \(wrong)")
                }
            }
            // Not a catalog without a name.
            for path in ["/v1/catalogs/", "/v1/load-tests/", "/v1/catalogs//assets"] {
                #expect(try await fixture.send("GET", path).code == "input.notFound", "\(path)")
            }
        }
    }

    @Test func aPathThatIsNotThereIsNamed() async throws {
        try await Fixture.with { fixture in
            let answer = try await fixture.send("GET", "/v1/workers")
            #expect(answer.status == 404)
            #expect(
                answer.body.replacing("\\/", with: "/").contains("There is no GET /v1/workers."))
        }
    }

    @Test func headIsGetWithoutTheBody() async throws {
        try await Fixture.with { fixture in
            try await fixture.submit(["a"])
            for path in ["/healthz", "/readyz", "/v1/status", "/v1/catalogs/1", "/v1/nothing"] {
                let get = try await fixture.send("GET", path)
                let head = try await fixture.send("HEAD", path)
                #expect(head.status == get.status, "\(path)")
                #expect(head.headers["content-type"] == get.headers["content-type"], "\(path)")
                #expect(head.body.isEmpty && !get.body.isEmpty, "\(path)")
            }
        }
    }

    /// Who has no token does not learn what there is.
    @Test func requestsWithoutATokenLearnNoMethodsAndPaths() async throws {
        try await Fixture.with { fixture in
            for (path, _) in Self.paths + [("/v1/nothing", "")] where path.hasPrefix("/v1") {
                for method in ["GET", "POST", "OPTIONS", "BREW"] {
                    let answer = try await fixture.send(
                        method, path, "{}", headers: ["Authorization": ""])
                    #expect(answer.status == 401, "\(method) \(path)")
                    #expect(answer.code == "cluster.unauthorized", "\(method) \(path)")
                    #expect(answer.headers["allow"] == nil, "\(method) \(path)")
                }
            }
            #expect(try await fixture.send("POST", "/healthz", "{}").status == 405)
        }
    }
}
