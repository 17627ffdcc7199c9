/// A day in UTC, written as `2026-11-26`. Years are 1970 to 9999.
package struct UTCDay: Hashable, Sendable, CustomStringConvertible {
    package let description: String

    /// Parses four, two and two digits with hyphens. Returns nil for other text, and for a day that
    /// the calendar does not have.
    package init?(_ text: String) {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.map(\.utf8.count) == [4, 2, 2],
            parts.allSatisfy({ $0.utf8.allSatisfy { (0x30...0x39).contains($0) } }),
            let year = Int(parts[0]), let month = Int(parts[1]), let day = Int(parts[2]),
            year >= 1970, (1...12).contains(month),
            (1...Self.days(ofMonth: month, year: year)).contains(day)
        else { return nil }
        description = text
    }

    private static func days(ofMonth month: Int, year: Int) -> Int {
        switch month {
        case 2:
            year.isMultiple(of: 4) && (!year.isMultiple(of: 100) || year.isMultiple(of: 400))
                ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }
}

extension UTCDay: Comparable {
    package static func < (first: UTCDay, second: UTCDay) -> Bool {
        first.description < second.description
    }
}
