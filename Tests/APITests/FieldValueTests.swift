import API
import Testing

/// Texts of fields: tabs, newlines and backslashes are escaped.
@Suite struct FieldValueTests {
    /// Texts are looked through eight bytes at a time.
    @Test func whatIsSpecialIsEscapedWhereverItIs() {
        let specials = [
            ("\\", "\\\\"), ("\n", "\\n"), ("\t", "\\t"), ("\r", "\\r"), ("\u{1f}", "\u{1f}"),
            ("é", "é"),
        ]
        for length in 1...17 {
            for index in 0..<length {
                for (special, escaped) in specials {
                    var letters = [String](repeating: "a", count: length)
                    letters[index] = special
                    var bytes: [UInt8] = []
                    letters.joined().appendField(to: &bytes)
                    letters[index] = escaped
                    #expect(bytes == Array(letters.joined().utf8))
                }
            }
        }
    }
}
