import API
import Model
import TestSupport
import Testing

@Suite struct WireFormatTests {
    @Test(arguments: [
        ("application/json", WireFormat.json), ("Application/JSON; charset=utf-8", .json),
        ("application/vnd.dray.rows", .rows), ("text/plain", nil), ("", nil),
        ("application/jsonp", nil),
    ])
    func contentTypes(text: String, format: WireFormat?) {
        #expect(WireFormat(contentType: text) == format)
    }

    @Test func numbersThatAreNotFiniteAreRefused() {
        let report = JobReport(
            job: JobID(1), lease: "l", outcome: .returned(afterSeconds: .infinity))
        #expect(throws: EncodingError.self) {
            try WireFormat.rows.encode(ReportRequest(worker: "w", results: [report]))
        }
    }

    @Test func textThatIsNotUTF8IsRefused() {
        #expect(throws: DecodingError.self) {
            try WireFormat.rows.decodeStrictly(
                AssetBatch.self,
                from: Array("generation\n1\nname\turl\tkind\tkey\na\tb\tfile\t".utf8)
                    + [0xC3, 0x28, 0x0A])
        }
    }

    /// Damage of one byte never traps, and never changes the number of rows unnoticed.
    @Test func damageIsRefusedOrReadAsAnotherMessage() throws {
        let results = (1...3 as ClosedRange<Int64>).map { number -> JobReport in
            var report = JobReport(job: JobID(number), lease: "l", outcome: .done())
            report.stored = StoredObject(bytes: number, sha256: "a\\\t")
            return report
        }
        let bytes = try WireFormat.rows.encode(ReportRequest(worker: "w", results: results))
        for index in bytes.indices {
            for byte in Array("\t\n\\N0-\u{0}".utf8) + [0xFF] {
                var damaged = bytes
                damaged[index] = byte
                let read = try? WireFormat.rows.decodeStrictly(ReportRequest.self, from: damaged)
                #expect((1...5).contains(read?.results.count ?? 3))
            }
            let cut = try? WireFormat.rows.decodeStrictly(
                ReportRequest.self, from: Array(bytes[..<index]))
            // Only a cut between rows leaves a message: HTTP reports a body that ends early.
            #expect(cut == nil || bytes[index - 1] == UInt8(ascii: "\n"))
        }
    }
}
