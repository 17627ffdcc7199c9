import Digest
import Model
import Storage
import TestSupport
import Testing

@testable import Transfer

@Suite("Digests that origins state")
struct StatedDigestTests {
    private let body = sampleBytes(50_000)

    private func value(_ algorithm: DigestAlgorithm, of body: [UInt8]) -> String {
        base64(digest(algorithm, body)?.bytes ?? [])
    }

    /// Headers that each state the digest of `body`, one way or another.
    private func headers(of body: [UInt8]) -> [[(String, String)]] {
        let hex = digest(.crc32c, body)?.hex ?? ""
        return [
            [("Repr-Digest", "sha-256=:\(value(.sha256, of: body)):")],
            [("Repr-Digest", "unixsum=:AAAA:, sha-512=:\(value(.sha512, of: body)):;q=1")],
            [("Repr-Digest", "id=?1"), ("repr-digest", "sha=:\(value(.sha1, of: body)):")],
            [("Digest", "SHA-256=\(value(.sha256, of: body)),md5=\(value(.md5, of: body))")],
            [("Digest", "SHA=\(value(.sha1, of: body))")], [("Digest", "crc32c=\(hex)")],
            [("Content-MD5", value(.md5, of: body))],
            [("x-goog-hash", "crc32c=\(value(.crc32c, of: body))")],
            [
                ("x-goog-hash", "unknown=AAAA"), ("x-goog-hash", "md5=\(value(.md5, of: body))"),
            ],
            [("x-amz-checksum-sha256", value(.sha256, of: body))],
            [("x-amz-checksum-sha1", value(.sha1, of: body))],
            [("x-amz-checksum-crc32c", value(.crc32c, of: body))],
            [("x-amz-checksum-crc32", value(.crc32, of: body))],
            [("x-amz-checksum-crc64nvme", value(.crc64nvme, of: body))],
            [("x-amz-checksum-sha512", value(.sha512, of: body))],
            [("x-amz-checksum-md5", value(.md5, of: body))],
        ]
    }

    @Test("what agrees is verified, what does not is dropped")
    func compared() async throws {
        let (origin, fetcher) = (try FaultOrigin(), try Fetcher())
        for (right, wrong) in zip(headers(of: body), headers(of: [1])) {
            origin.route("/a", .init(headers: right, body: body))
            let fetched = try await fetcher.fetch(fetcher.request(origin.url("/a"))).outcome.get()
            #expect(fetched.isVerified, "\(right)")
            #expect(fetched.sha256 == sha256(body))
            fetched.object?.discard()
            origin.route("/a", .init(headers: wrong, body: body))
            let code = await fetcher.failure(fetcher.request(origin.url("/a")))
            #expect(code == "integrity.digestMismatch", "\(wrong)")
            #expect(try fetcher.temporaries().isEmpty)
        }
    }

    @Test("digests that do not apply to the stored bytes are ignored")
    func ignored() async throws {
        let (origin, fetcher) = (try FaultOrigin(), try Fetcher())
        let wrong = value(.sha256, of: [1])
        let md5 = value(.md5, of: [1])
        for headers in [
            [], [("Repr-Digest", "sha-256=\(wrong)")], [("Repr-Digest", "sha-256=:\(wrong)")],
            [("Repr-Digest", "sha-256=:AAAA:")], [("Repr-Digest", "unixsum=:\(wrong):")],
            [("Content-Digest", "sha-256=:\(wrong):")], [("Content-MD5", "not base64")],
            [("x-amz-checksum-sha256", "\(wrong)-3")],
            [("x-amz-checksum-sha256", wrong), ("x-amz-checksum-type", "COMPOSITE")],
            [("x-goog-hash", "md5=\(md5)"), ("x-goog-stored-content-encoding", "gzip")],
        ] {
            origin.route("/a", .init(headers: headers, body: body))
            let fetched = try await fetcher.fetch(fetcher.request(origin.url("/a"))).outcome.get()
            #expect(!fetched.isVerified, "\(headers)")
            fetched.object?.discard()
        }
    }

    @Test("all that a list names is compared", arguments: DigestAlgorithm.allCases)
    func listed(algorithm: DigestAlgorithm) async throws {
        let (origin, fetcher) = (try FaultOrigin(), try Fetcher())
        origin.serve("/a", body)
        let all = DigestAlgorithm.allCases.compactMap { digest($0, body) }
        var request = fetcher.request(origin.url("/a"))
        request.expected.furtherDigests = all
        let fetched = try await fetcher.fetch(request).outcome.get()
        #expect(fetched.isVerified)
        fetched.object?.discard()
        let wrong = try #require(digest(algorithm, [1]))
        request = fetcher.request(origin.url("/a"))
        request.expected.furtherDigests = all.filter { $0.algorithm != algorithm } + [wrong]
        #expect(await fetcher.failure(request) == "integrity.digestMismatch")
    }

    @Test("for a range, the digest of the whole is not compared")
    func ranges() async throws {
        let (origin, fetcher) = (try FaultOrigin(), try Fetcher())
        let (body, whole) = (body, value(.sha256, of: body))
        let part = value(.md5, of: Array(body[10..<30]))
        origin.route("/a") { request in
            request.serve(body, etag: "\"v\"").with("Repr-Digest", "sha-256=:\(whole):")
                .with("Content-MD5", whole).with("Digest", "md5=\(part)")
                .with("Content-Digest", "md5=:\(part):")
                .with("x-amz-checksum-sha256", whole)
        }
        var request = fetcher.memory(origin.url("/a"), role: .data)
        request.range = .init(offset: 10, length: 20, totalBytes: 50_000, validator: "\"v\"")
        let fetched = try await fetcher.fetch(request).outcome.get()
        #expect(fetched.body == Array(body[10..<30]))
        #expect(!fetched.isVerified)
        // It is for who has the whole.
        #expect(fetched.stated == [try #require(digest(.sha256, body))])
    }

    @Test("Base64 as RFC 4648 has it")
    func base64Vectors() {
        let vectors = [
            ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="), ("foobar", "Zm9vYmFy"),
        ]
        for (text, encoded) in vectors {
            #expect(Base64.decoded(encoded) == Array(text.utf8))
        }
        for wrong in ["Z", "Zg=", "Zg===", "Zm9v!", "Zm 9v", "=", "Zm9vY"] {
            #expect(Base64.decoded(wrong) == nil, "\(wrong)")
        }
        #expect(Base64.decoded("Zg") == Array("f".utf8))
    }
}
