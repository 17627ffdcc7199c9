import Gzip
import TestSupport
import Testing

@Suite("Compressing gzip") struct GzipTests {
    @Test(arguments: [0, 1, 1_000_000])
    func gzipReadsWhatWasCompressed(_ count: Int) async throws {
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* $0 >> 7) }
        let directory = try TemporaryDirectory("gzip")
        let path = try directory.write(Gzip.compressed(bytes), to: "text.gz")
        try await ChildProcess.run(["gzip", "--decompress", path])
        #expect(try directory.read("text") == bytes)
    }
}
