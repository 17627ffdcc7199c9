/// Users of a machine whose processes may receive a token.
package enum CoordinatorUsers: Sendable, Equatable {
    /// User numbers.
    case these(Set<UInt32>)
    case anyone
}

/// An access token of a cluster, as a request carries it. Its holder may do what its role allows, with
/// the token of the coordinators' environment everything.
///
/// 22 to 1,024 printable ASCII characters without spaces. It must be long enough in its alphabet to
/// hold 128 bits. No description and no message contains its text.
package struct AccessToken: Sendable, Equatable {
    package private(set) var text: String
    /// The user of the file that it was read from, who knows it anyway; nil without a file.
    package var owner: UInt32?
    /// Other users on this machine that may run the coordinator receiving it.
    package var coordinatorUsers = CoordinatorUsers.these([])
    /// Its source for messages: a variable or a file.
    package var source: String?

    /// Maximum length in characters; the minimum depends on the alphabet.
    package static let maximumLength = 1_024
    /// Minimum number of different characters in the output of a random generator.
    static let minimumVariety = 8

    /// Throws `input.token`.
    package init(_ text: String) throws(Failure) {
        guard text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw Self.rejection("it has other characters than printable ASCII without spaces")
        }
        let count = text.utf8.count
        guard count <= Self.maximumLength else {
            throw Self.rejection(
                "its length is \(count); at most \(Self.maximumLength) characters are allowed")
        }
        let (minimum, alphabet) = Self.minimumLength(of: text)
        guard count >= minimum else {
            throw Self.rejection(
                "its length is \(count); at least \(minimum) \(alphabet) are needed for 128 bits"
            )
        }
        guard Set(text.utf8).count >= Self.minimumVariety else {
            throw Self.rejection("it has fewer than \(Self.minimumVariety) different characters")
        }
        self.text = text
    }

    package static func == (one: AccessToken, other: AccessToken) -> Bool { one.text == other.text }

    private init(digits: [UInt64]) {
        text = digits.map { word in
            let digits = String(word, radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }.joined()
    }

    /// Returns 256 random bits in hexadecimal digits.
    package static func random() -> AccessToken {
        var random = SystemRandomNumberGenerator()
        return AccessToken(digits: (0..<4).map { _ in random.next() })
    }

    /// The start of every token that a coordinator issues, by which people and scanners recognise it.
    package static let issuedPrefix = "dray_"

    /// Returns 256 random bits for a coordinator to issue: `dray_` and hexadecimal digits.
    package static func issued() -> AccessToken {
        var token = random()
        token.text = issuedPrefix + token.text
        return token
    }

    /// Returns how many characters of a text's alphabet hold 128 bits, and the alphabet's name.
    private static func minimumLength(of text: String) -> (Int, String) {
        func isHex(_ byte: UInt8) -> Bool {
            isDigit(byte) || (0x61...0x66).contains(byte | 0x20)
        }
        func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }
        func isLower(_ byte: UInt8) -> Bool { (0x61...0x7A).contains(byte) }
        func isUpper(_ byte: UInt8) -> Bool { (0x41...0x5A).contains(byte) }
        let bytes = text.utf8
        if bytes.allSatisfy(isDigit) { return (39, "digits") }
        if bytes.allSatisfy(isHex) { return (32, "hexadecimal digits") }
        if bytes.allSatisfy({ isDigit($0) || isLower($0) })
            || bytes.allSatisfy({ isDigit($0) || isUpper($0) })
        {
            return (25, "letters of one case and digits")
        }
        return (22, "characters")
    }

    private static func rejection(_ reason: String) -> Failure {
        Failure(.inputToken, "The token is rejected: \(reason)")
    }
}

extension AccessToken: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { "…" }
    package var debugDescription: String { "…" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
