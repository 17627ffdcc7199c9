package import Model

/// A position among the events of a database: after one of them, or before all that come.
///
/// Its text is opaque to clients, and short.
package struct EventCursor: Hashable, Comparable, Sendable {
    /// Number of the transaction that made the event.
    package let transaction: Int64
    /// Number of the event, 0 for the position before all of the transaction.
    package let number: Int64

    package init(transaction: Int64, number: Int64) {
        self.transaction = transaction
        self.number = number
    }

    /// Reads the text of a cursor. Throws `input.field`, which names `field`.
    package init(_ text: String, field: String) throws(Failure) {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, let transaction = Self.number(parts[0]),
            let number = Self.number(parts[1])
        else {
            throw Failure(
                .inputField,
                "\(field): \(Redaction.shown(text, limit: 80)) was given; allowed: the id of an event, "
                    + "or the next of a page.")
        }
        self.init(transaction: transaction, number: number)
    }

    private static func number(_ text: Substring) -> Int64? {
        guard text.utf8.count <= 13, text.utf8.allSatisfy(isDigit) else { return nil }
        return Int64(text, radix: 36)
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x61...0x7A).contains(byte)
    }

    package static func < (left: EventCursor, right: EventCursor) -> Bool {
        (left.transaction, left.number) < (right.transaction, right.number)
    }
}

extension EventCursor: CustomStringConvertible {
    package var description: String {
        "\(String(transaction, radix: 36))-\(String(number, radix: 36))"
    }
}
