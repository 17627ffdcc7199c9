/// The identity of a request in its answer, `X-Request-Id`, and in logs: the sender's, or random.
enum RequestID {
    static let header = "X-Request-Id"
    /// Longest identity of a sender in bytes; a longer one is replaced.
    static let maximumBytes = 128

    /// Returns the identity that a request states, if it is short and has only visible ASCII
    /// characters; else a new one.
    static func of(_ stated: String?) -> String {
        guard let stated, (1...maximumBytes).contains(stated.utf8.count),
            stated.utf8.allSatisfy({ 0x21...0x7E ~= $0 })
        else { return random() }
        return stated
    }

    /// 16 random hexadecimal digits.
    static func random() -> String {
        let digits = String(UInt64.random(in: 0 ... .max), radix: 16)
        return String(repeating: "0", count: 16 - digits.utf8.count) + digits
    }
}
