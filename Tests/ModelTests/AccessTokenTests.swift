import Model
import TestSupport
import Testing

/// Tokens that can hold 128 bits, and others.
@Suite struct AccessTokenTests {
    private static let hex = "0123456789abcdef"
    private static let base64 = "q7Zt+dLm/0KxVw4RbYp9cA"
    private static let letters = "k3v9q0zj7m2xw8c5r1tb6yhd4"
    private static let digits = "314159265358979323846264338327950288419"

    @Test(arguments: [
        hex + hex, String((hex + hex).reversed()).uppercased(), base64, letters, digits,
        base64 + "~!@#$%^&*()_+{}|:\"<>?[]\\;',./`", String(repeating: base64, count: 46),
    ])
    func enough(text: String) throws {
        #expect(try AccessToken(text).text == text)
    }

    private static let tooWeak: [(text: String, reason: String)] = [
        ("", "its length is 0;"), ("secret", "at least 25 letters of one case and digits"),
        ("0123456789abcdef0123456789abcde", "at least 32 hexadecimal digits"),
        ("k3v9q0zj7m2xw8c5r1tb6yhd", "at least 25 letters of one case and digits"),
        ("31415926535897932384626433832795028841", "at least 39 digits"),
        ("q7Zt+dLm/0KxVw4RbYp9c", "at least 22 characters"),
        ("ab12ab12ab12ab12ab12ab12ab12ab12ab12ab12", "fewer than 8 different characters"),
        ("\(base64) ", "printable ASCII"), ("\(base64)\n", "printable ASCII"),
        ("\(base64)\r\nX: y", "printable ASCII"), ("tokén\(base64)", "printable ASCII"),
        (String(repeating: base64, count: 47), "at most 1024"),
    ]

    @Test(arguments: tooWeak)
    func refused(text: String, reason: String) {
        let failure = #expect(throws: Failure.self) { try AccessToken(text) }
        #expect(failure?.code == "input.token")
        #expect(failure?.message.contains(reason) == true, "\(failure?.message ?? "")")
        #expect(text.isEmpty || failure?.message.contains(text) == false)
    }

    @Test func issuedTokensAreRecognisedAndAccepted() throws {
        let token = AccessToken.issued()
        #expect(token.text.wholeMatch(of: /dray_[0-9a-f]{64}/) != nil)
        #expect(try AccessToken(token.text) == token && AccessToken.issued() != token)
    }

    @Test func randomTokensDifferAndAreAccepted() throws {
        let tokens = (0..<100).map { _ in AccessToken.random().text }
        #expect(Set(tokens).count == 100)
        for token in tokens {
            #expect(token.utf8.count == 64)
            #expect(try AccessToken(token).text == token)
        }
    }

    @Test func noDescriptionHasTheText() throws {
        let token = try AccessToken(Self.base64)
        var dumped = ""
        dump(token, to: &dumped)
        for text in ["\(token)", String(reflecting: token), "\([token])", dumped] {
            #expect(!text.contains(Self.base64))
        }
    }
}
