import Rendering
import Testing

@Suite struct CSVTextTests {
    @Test func cellsFollowTheRFC() {
        let csv = CSVText(
            ["name", "bytes", "note"],
            [
                [.text("plain"), .integer(3), .none],
                [.text("a,b"), .integer(-3), .text("say \"so\"")],
                [.text("two\r\nlines"), .integer(Int?.none), .optional(nil)],
            ])
        #expect(
            csv.text == "name,bytes,note\r\nplain,3,\r\n\"a,b\",-3,\"say \"\"so\"\"\"\r\n"
                + "\"two\r\nlines\",,\r\n")
    }

    @Test(arguments: ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1"])
    func textIsNoFormula(text: String) {
        let csv = CSVText(["x"], [[.text(text)]]).text
        let cell = csv.dropFirst("x\r\n".count)
        #expect(cell.hasPrefix("'") || cell.hasPrefix("\"'"), "\(csv.debugDescription)")
    }
}
