import Foundation
import TestSupport
import Testing

@testable import Gzip

@Suite("Decoding gzip") struct GzipDecoderTests {
    /// `text` as gzip(1) packs it.
    static func packed(_ text: [UInt8]) async throws -> [UInt8] {
        let directory = try TemporaryDirectory("gzip")
        let path = try directory.write(text, to: "text")
        let process = try ChildProcess(["gzip", "-n", path])
        #expect(try await process.wait() == .exited(0))
        return [UInt8](try Data(contentsOf: URL(filePath: path + ".gz")))
    }

    private func decode(_ bytes: [UInt8], piece: Int = 1 << 16) throws -> [UInt8] {
        let decoder = try GzipDecoder()
        var out: [UInt8] = []
        var start = 0
        while start < bytes.count {
            var input = bytes[start..<min(start + piece, bytes.count)]
            start += piece
            while true {
                let decoded = try decoder.next(&input)
                if decoded.isEmpty { break }
                #expect(decoded.count <= GzipDecoder.pieceBytes)
                out += decoded
            }
        }
        try decoder.finish()
        return out
    }

    @Test("any packed bytes come out, however they arrive", arguments: [1, 7, 1 << 16])
    func roundTrip(piece: Int) async throws {
        let text = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 7 ^ $0 >> 8) }
        let packed = try await Self.packed(text)
        #expect(try decode(packed, piece: piece) == text)
        // Several files one after the other are one, as for gzip(1).
        #expect(try decode(packed + packed, piece: piece) == text + text)
        let empty = try await Self.packed([])
        #expect(try decode(empty, piece: piece).isEmpty)
    }

    @Test("what decodes to far more comes in bounded pieces")
    func bomb() async throws {
        let zeros = [UInt8](repeating: 0, count: 8 << 20)
        #expect(try decode(try await Self.packed(zeros)) == zeros)
    }

    @Test("what breaks off, was changed or is followed by something else is rejected")
    func broken() async throws {
        let packed = try await Self.packed(Array("a list of some length\n".utf8))
        for end in [0, 1, 5, 12, packed.count - 1] {
            #expect(throws: GzipError.self) { try decode(Array(packed[..<end])) }
        }
        for index in [0, 1, 2, packed.count - 8, packed.count - 1] {
            var changed = packed
            changed[index] ^= 0x55
            #expect(throws: GzipError.self) { try decode(changed) }
        }
        #expect(throws: GzipError.self) { try decode(packed + Array("and more".utf8)) }
    }
}
