package import Model

extension TransferSchedule {
    /// Parses a schedule: entries separated by commas, semicolons or line breaks, each with days,
    /// dates and times followed by a bandwidth; at the end the default and the time zone.
    ///
    ///     22:00-06:00 unlimited, else 200Mbit/s
    ///     Mon-Fri 08:00-18:00 50Mbit/s, Sat,Sun off, else unlimited in Europe/Berlin
    ///     Fri 20:00-Mon 06:00 1Gbit/s, *-12-24..*-12-26 off, else 100Mbit/s
    ///
    /// Without `else` the default is unlimited; without `in` the zone is UTC. Throws `input.field`
    /// with the entry, its error and the allowed values.
    package init(_ text: String) throws(Failure) {
        guard text.utf8.count <= Self.maximumBytes else {
            throw Self.refused("\(text.utf8.count) bytes", "at most \(Self.maximumBytes)")
        }
        guard text.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || (9...13).contains($0) }) else {
            throw Self.refused("a control character", "text")
        }
        var lines = text[...]
        while lines.last?.isWhitespace == true { lines.removeLast() }
        var words = lines.split { $0 == " " || $0 == "\t" }.map(String.init)
        timeZone = "UTC"
        if words.count > 1, words[words.count - 2].lowercased() == "in" {
            timeZone = try Self.zone(words[words.count - 1])
            words.removeLast(2)
        }
        entries = []
        otherwise = .unlimited
        var isClosed = false
        for (index, words) in try Self.parts(words.joined(separator: " ")).enumerated() {
            let shown = "entry \(index + 1) '\(words.joined(separator: " "))'"
            guard !isClosed else {
                throw Self.refused(shown, "nothing after else, or a bandwidth without a time")
            }
            do throws(Failure) {
                var reader = EntryReader(words)
                let entry = try reader.read()
                isClosed = reader.isLast
                if isClosed { otherwise = entry.bandwidth } else { entries.append(entry) }
            } catch {
                throw Failure(error.code, "schedule: \(shown): \(error.message)")
            }
        }
        guard entries.count <= Self.maximumEntries else {
            throw Self.refused("\(entries.count) entries", "at most \(Self.maximumEntries)")
        }
    }

    /// Checks a zone's name: letters, digits and `_+-/`, at most 64 characters, as in the IANA
    /// database.
    private static func zone(_ name: String) throws(Failure) -> String {
        let isName = name.utf8.allSatisfy {
            switch $0 {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
            default: "_+-/".utf8.contains($0)
            }
        }
        guard isName, (1...64).contains(name.utf8.count) else {
            throw refused("in \(name)", "a time zone such as Europe/Berlin or UTC")
        }
        return ["utc", "gmt", "z"].contains(name.lowercased()) ? "UTC" : name
    }

    /// Splits a text into the words of each entry. A comma also separates days, dates or times
    /// within an entry: one without a bandwidth continues after the comma.
    private static func parts(_ text: String) throws(Failure) -> [[String]] {
        var parts: [[String]] = []
        var open: [String] = []
        for piece in joiningRanges(text).split(whereSeparator: { ",;".contains($0) || $0.isNewline }
        ) {
            let words = piece.split(separator: " ").map(String.init)
            open += words
            guard let last = words.last, !EntryReader.isCondition(last) else { continue }
            parts.append(open)
            open = []
        }
        if !open.isEmpty {
            throw refused("'\(open.joined(separator: " "))'", "a bandwidth at its end")
        }
        guard !parts.isEmpty else {
            throw refused("nothing", "for example 22:00-06:00 unlimited, else 200Mbit/s")
        }
        return parts
    }

    /// Removes spaces around `-` and `..`, and replaces en dashes by hyphens.
    private static func joiningRanges(_ text: String) -> String {
        var result = ""
        var spaces = ""
        for character in text {
            let isRange = character == "-" || character == "–" || character == "."
            if character == " " {
                spaces = result.hasSuffix("-") || result.hasSuffix("..") ? "" : " "
                continue
            }
            result += isRange ? "" : spaces
            result.append(character == "–" ? "-" : character)
            spaces = ""
        }
        return result
    }

    private static func refused(_ given: String, _ allowed: String) -> Failure {
        Failure(.inputField, "schedule: \(given) was given; allowed: \(allowed).")
    }
}

/// Parses the words of one entry, in their order: days, dates, times, bandwidth.
private struct EntryReader {
    private var words: ArraySlice<String>
    private var entry = TransferSchedule.Entry(bandwidth: .unlimited)
    /// True for the default, which applies outside all earlier entries.
    private(set) var isLast = false

    init(_ words: [String]) { self.words = words[...] }

    mutating func read() throws(Failure) -> TransferSchedule.Entry {
        if words.first?.lowercased() == "else" {
            words.removeFirst()
            isLast = true
        }
        while let word = words.first, Self.isCondition(word) {
            guard !isLast else { throw refused(word, "only a bandwidth after else") }
            words.removeFirst()
            try readCondition(word)
        }
        if let word = words.first, words.count > 1, words.count > 2 || word.first?.isNumber != true
        {
            throw refused(word, "days (Mon-Fri), dates, times, a bandwidth, in this order")
        }
        guard entry.windows.count < 2 || !entry.windows.contains(where: \.needsDays) else {
            throw refused("more times", "only one from a day to another in an entry")
        }
        entry.bandwidth = try Bandwidth(words.joined(separator: " "))
        // A bandwidth alone applies at any time.
        if entry.days.isEmpty, entry.dates.isEmpty, entry.windows.isEmpty { isLast = true }
        return entry
    }

    private mutating func readCondition(_ word: String) throws(Failure) {
        if Self.isDate(word) {
            guard entry.windows.isEmpty else { throw refused(word, "dates before times") }
            entry.dates.append(try dates(word))
        } else if word.first?.isNumber == true {
            try readTimes(word)
        } else {
            guard entry.dates.isEmpty, entry.windows.isEmpty else {
                throw refused(word, "days before dates and times; a bandwidth ends an entry")
            }
            entry.days.formUnion(try days(word))
        }
    }

    /// Returns true for a day, a date or a time, valid or not, as opposed to a bandwidth.
    static func isCondition(_ word: String) -> Bool {
        isDate(word) || word.contains(":")
            || (word.first?.isLetter == true && index(ofDay: String(word.prefix(3))) != nil)
    }

    private static func isDate(_ word: String) -> Bool {
        guard let first = word.first, first == "*" || first.isNumber else { return false }
        return word.contains("-") && !word.contains(":") && !word.contains("/")
    }

    // MARK: Days

    private static func index(ofDay name: String) -> Int? {
        let days = [
            "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday",
        ]
        let name = name.lowercased()
        return days.firstIndex { $0 == name || (name.count >= 3 && $0.hasPrefix(name)) }
    }

    private func day(_ name: Substring) throws(Failure) -> Int {
        guard let index = Self.index(ofDay: String(name)) else {
            throw refused(name, "a day from Mon to Sun, or days such as Mon-Fri")
        }
        return index
    }

    private func days(_ word: String) throws(Failure) -> Weekdays {
        let ends = word.split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
        let first = try day(ends[0])
        return Weekdays(first, through: ends.count == 1 ? first : try day(ends[1]))
    }

    // MARK: Dates

    private func dates(_ word: String) throws(Failure) -> CalendarDates {
        guard let dots = word.firstRange(of: "..") else {
            let date = try date(word)
            return CalendarDates(first: date, last: date)
        }
        let first = try date(String(word[..<dots.lowerBound]))
        let last = try date(String(word[dots.upperBound...]))
        guard (first.year == nil) == (last.year == nil), (first.month == nil) == (last.month == nil)
        else { throw refused(word, "the same * in both dates") }
        guard first.year == nil || first.rank <= last.rank else {
            throw refused(word, "the earlier date first")
        }
        return CalendarDates(first: first, last: last)
    }

    private func date(_ text: String) throws(Failure) -> CalendarDates.Pattern {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        let form = "a date such as 2026-12-24, *-12-24 or *-*-01"
        guard parts.count == 3, let day = number(parts[2], digits: 2, 1...31) else {
            throw refused(text, form)
        }
        let year = number(parts[0], digits: 4, 1_970...9_999)
        let month = number(parts[1], digits: 2, 1...12)
        guard year != nil || parts[0] == "*", month != nil || parts[1] == "*",
            month != nil || year == nil
        else { throw refused(text, form) }
        if let month {
            let isLeap = year.map { $0 % 4 == 0 && ($0 % 100 != 0 || $0 % 400 == 0) } ?? true
            let lengths = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
            guard day <= lengths[month - 1] else { throw refused(text, "a day that the month has") }
        }
        return CalendarDates.Pattern(year: year, month: month, day: day)
    }

    // MARK: Times

    private mutating func readTimes(_ word: String) throws(Failure) {
        let ends = word.split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
        guard ends.count == 2, let start = minute(ends[0]), start < 1_440 else {
            throw refused(word, "times such as 22:00-06:00, from 00:00 to 24:00")
        }
        guard ends[1].first?.isLetter == true else {
            guard let end = minute(ends[1]), end != start else {
                throw refused(
                    word,
                    "two times that differ, from 00:00 to 24:00; omit the time for the "
                        + "whole day")
            }
            let minutes = end > start ? end - start : end + 1_440 - start
            entry.windows.append(.init(startMinute: start, minutes: minutes))
            return
        }
        try readDaysApart(word, start, until: ends[1])
    }

    /// Parses the rest of `Fri 20:00-Mon 06:00`: the first day and time and the last day's name are
    /// already parsed.
    private mutating func readDaysApart(
        _ word: String, _ start: Int, until name: Substring
    ) throws(Failure) {
        let last = try day(name)
        let firsts = (0..<7).filter { entry.days.contains(index: $0) }
        guard let time = words.popFirst(), let end = minute(time[...]) else {
            throw refused(word, "a time after the day: Fri 20:00-Mon 06:00")
        }
        guard firsts.count == 1, let first = firsts.first, entry.dates.isEmpty,
            entry.windows.isEmpty
        else {
            throw refused("\(word) \(time)", "one day and time to another: Fri 20:00-Mon 06:00")
        }
        let minutes = (last - first + 7) % 7 * 1_440 + end - start
        guard minutes != 0, minutes != 10_080 else {
            throw refused(
                "\(word) \(time)", "two times that differ; a bandwidth alone for all times")
        }
        entry.windows = [
            .init(startMinute: start, minutes: minutes > 0 ? minutes : minutes + 10_080)
        ]
    }

    /// Returns the minutes since midnight of `HH:MM`, including 24:00.
    private func minute(_ text: Substring) -> Int? {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, let hour = number(parts[0], digits: 2, 0...24, fewest: 1),
            let minute = number(parts[1], digits: 2, 0...59), hour < 24 || minute == 0
        else { return nil }
        return hour * 60 + minute
    }

    private func number(
        _ text: Substring, digits: Int, _ allowed: ClosedRange<Int>, fewest: Int? = nil
    ) -> Int? {
        guard ((fewest ?? digits)...digits).contains(text.utf8.count),
            text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let value = Int(text),
            allowed.contains(value)
        else { return nil }
        return value
    }

    private func refused(_ given: some StringProtocol, _ allowed: String) -> Failure {
        Failure(.inputField, "'\(given.prefix(40))' was given; allowed: \(allowed).")
    }
}
