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
}
