import Model
import Storage
import TestSupport
import Testing
import Transfer

/// Header lines that continue the line before (obs-fold, RFC 9112, 5.2) where there is no line before. In a
/// handle that was used before, libcurl up to 8.0.1 adds them to a freed header.
@Suite("Folded header lines")
struct FoldedHeaderTests {
    static let folded = "HTTP/1.1 200 OK\r\n Content-Length: 5\r\n\r\nhello"

    let origin: FaultOrigin
    let fetcher: Fetcher

    init() throws {
        origin = try FaultOrigin()
        // One loop, so that one handle is used again and again.
        fetcher = try Fetcher { $0.loops = 1 }
        origin.route(
            "/good", .init(headers: [("X-First", "one"), ("X-Second", "two")], text: "good"))
    }

    private func expectGood() async throws {
        let body = try await fetcher.fetch(fetcher.memory(origin.url("/good"))).outcome.get().body
        #expect(body == Array("good".utf8))
    }

    @Test("in front of all others, after another transfer", arguments: [" ", "\t", " \t  "])
    func afterTransfer(space: String) async throws {
        let text = Self.folded.replacing("\n Content", with: "\n\(space)Content")
        origin.route("/folded", .raw(text))
        for _ in 0..<20 {
            try await expectGood()
            let result = await fetcher.fetch(fetcher.memory(origin.url("/folded")))
            // libcurl rejects it; a server that only lost its first header's start is no success.
            guard case .failure(let failure) = result.outcome else { continue }
            #expect(failure.code == "origin.protocol")
        }
        try await expectGood()
    }

    @Test("in front of all others, after a redirect on the same handle")
    func afterRedirect() async throws {
        origin.route("/folded", .raw(Self.folded))
        origin.route("/moved", .redirect(to: origin.url("/folded")))
        for _ in 0..<20 {
            let result = await fetcher.fetch(fetcher.memory(origin.url("/moved")))
            guard case .failure(let failure) = result.outcome else { continue }
            #expect(failure.code == "origin.protocol")
        }
        try await expectGood()
    }

    @Test("behind an informational answer, and in a trailer")
    func elsewhere() async throws {
        origin.route("/hints", .raw("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n\(Self.folded)"))
        origin.route("/bare", .raw("HTTP/1.1 103 Early Hints\r\n\r\n\(Self.folded)"))
        origin.route(
            "/trailer",
            .raw(
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n folded\r\n\r\n"
            ))
        for path in ["/hints", "/bare", "/trailer"] {
            for _ in 0..<5 {
                try await expectGood()
                _ = await fetcher.fetch(fetcher.memory(origin.url(path)))
            }
        }
        try await expectGood()
    }
}
