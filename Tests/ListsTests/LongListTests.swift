import Lists
import Model
import TestSupport
import Testing

/// Lists of many entries, and of many that cannot be used.
@Suite(.computing) struct LongListTests {
    /// Scratch space that counts its bytes.
    private final class Scratch: ListScratch {
        private var bytes: [UInt8] = []
        private(set) var writes = 0

        func append(_ bytes: UnsafeRawBufferPointer) throws(Failure) -> Int {
            writes += 1
            self.bytes += bytes
            return self.bytes.count - bytes.count
        }

        func read(_ bytes: UnsafeMutableRawBufferPointer, at offset: Int) throws(Failure) {
            bytes.copyBytes(from: self.bytes[offset..<(offset + bytes.count)])
        }
    }

    @Test func namesOfALongListLieInScratchSpace() throws {
        let scratch = Scratch()
        var reader = ListReader(scratch: scratch, maxFailures: 5)
        _ = try reader.feed([UInt8]("url,bytes,md5\n".utf8))
        let digest = String(repeating: "0", count: 32)
        for start in stride(from: 0, to: 150_000, by: 1_000) {
            // Every line with a number below 1,000 comes once more at the end, alike but for three.
            let lines = (start..<(start + 1_000)).map { "http://h/\($0),3,\(digest)\n" }
            _ = try reader.feed([UInt8](lines.joined().utf8))
        }
        let again = (0..<1_000).map { number in
            "http://h/\(number),\([7, 8, 999].contains(number) ? 4 : 3),\(digest)\n"
        }
        _ = try reader.feed([UInt8](again.joined().utf8))
        _ = try reader.finish()
        #expect(scratch.writes > 64)
        #expect(reader.counts.assets == 150_003)
        #expect(reader.counts.repeats == 997)
        #expect(reader.counts.files == 150_003)
        #expect(reader.counts.withDigest == 150_003)
        #expect(reader.counts.knownBytes == 150_000 * 3 + 3 * 4)
        #expect(
            reader.failures.map(\.message)
                == [(150_009, 9), (150_010, 10), (151_001, 1_001)].map {
                    "line \($0.0): field name: repeats the name of line \($0.1) "
                        + "for a different asset"
                })
    }

    @Test(
        arguments: [
            ("http://h/1\nftp://h/2\n out=x\nhttp://h/3\nh\nx\n", 2, 3),
            ("{\"url\": \"http://h/1\"}\n{\"url\": 1}\n{\"url\"\n{\"url\": \"http://h/2\"}", 2, 2),
            ("[\"http://h/1\", {\"url\": 1}, 7, {}, \"http://h/2\", {\"x\": 1}]", 2, 4),
            ("url,md5\nhttp://h/1,\nhttp://h/2,x\n\"x\"y,\nhttp://h/3,\n", 2, 2),
            ("TsvHttpData-1.0\nx\nhttp://h/1\nhttp://h/2\tx\n", 1, 2),
            (
                "<urlset><url><loc>x</loc></url><url><loc>http://h/1</loc></url>"
                    + "<url><loc>ftp://h/1</loc></url></urlset>", 1, 2
            ),
        ]) func whatIsWrongIsGathered(list: String, assets: Int, failures: Int) throws
    {
        for most in [1, 20] {
            var reader = ListReader(maxFailures: most)
            _ = try reader.feed([UInt8](list.utf8))
            _ = try reader.finish()
            #expect(reader.counts.assets == assets)
            #expect(reader.failureCount == failures)
            #expect(reader.failures.count == min(most, failures))
        }
    }
}
