import Foundation
import HTTPServer
import TestSupport
import Testing

@testable import Coordinator

/// What is not even a request gets a failure with a code as well.
@Suite struct MalformedRequestTests {
    @Test(arguments: HTTPServer.Rejection.allCases)
    func everyRejectionOfTheServerHasACode(_ rejection: HTTPServer.Rejection) throws {
        let answer = FailureAnswer.rejection(rejection)
        #expect(answer.status == rejection.status)
        let json = try #require(
            try JSONSerialization.jsonObject(with: Data(answer.body)) as? [String: Any])
        let code = try #require(json["code"] as? String)
        #expect(code.contains("."))
        #expect((json["detail"] as? String)?.contains(rejection.reason) == true)
        #expect(json["status"] as? Int == rejection.status)
        #expect(json["type"] as? String == "urn:dray:failure:" + code)
        #expect((json["title"] as? String)?.isEmpty == false)
        #expect((json["hint"] as? String)?.isEmpty == false)
    }

    @Test func theyComeOverTheWire() async throws {
        try await Fixture.with { fixture in
            let long = String(repeating: "a", count: 40 << 10)
            let cases: [(target: String, headers: [String: String], status: Int, code: String)] = [
                ("/ HTTP/1.1\r\nnonsense", [:], 400, "input.malformed"),
                ("/\(long)", [:], 414, "input.tooLarge"),
                ("/", ["X-Long": long], 431, "input.tooLarge"),
                ("/ HTTP/2.0\r\nX: y", [:], 505, "input.malformed"),
                ("/", ["Transfer-Encoding": "gzip"], 501, "input.malformed"),
            ]
            for one in cases {
                let answer = try await fixture.send("GET", one.target, headers: one.headers)
                #expect(answer.status == one.status && answer.code == one.code, "\(answer)")
                #expect(answer.headers["content-type"] == "application/problem+json")
                #expect(answer.headers["x-request-id"]?.count == 16)
            }
        }
    }
}
