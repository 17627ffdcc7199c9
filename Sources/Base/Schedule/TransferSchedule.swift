package import Model

/// The bandwidth of a site over time: entries for windows of the week or the calendar, and a
/// default. The first matching entry applies.
///
/// Windows are in the wall clock of `timeZone`. Where clocks go forward, times in the skipped hour
/// do not occur; where they go back, the repeated hour counts twice. Days and dates are those of
/// the window's start, so that `Fri 22:00-06:00` ends on Saturday.
package struct TransferSchedule: Hashable, Sendable {
    /// Entries in order; the first match applies.
    package var entries: [Entry]
    /// The bandwidth outside all entries.
    package var otherwise: Bandwidth
    /// A name of the IANA time zone database; its existence is not checked here.
    package var timeZone: String

    package struct Entry: Hashable, Sendable {
        /// Days of the week; empty for every day.
        package var days: Weekdays = []
        /// Dates; empty for every date.
        package var dates: [CalendarDates] = []
        /// Times; empty for the whole day.
        package var windows: [Window] = []
        package var bandwidth: Bandwidth
    }

    /// A range of minutes that starts on a day and ends within a week.
    package struct Window: Hashable, Sendable {
        /// Start in minutes since midnight, 0 to 1,439.
        package var startMinute: Int
        /// Length in minutes, 1 to 10,080.
        package var minutes: Int
    }

    /// Maximum size of the text in bytes; `maximumEntries` is the maximum number of entries.
    package static let maximumBytes = 1_000
    package static let maximumEntries = 32

    /// Returns the zone's UTC offset at an instant: the seconds to add to UTC.
    package typealias OffsetSeconds = (_ secondsSince1970: Double) -> Int
}

/// A set of days of the week.
package struct Weekdays: OptionSet, Hashable, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Creates a set of one day, from Monday, 0, to Sunday, 6.
    package init(index: Int) { rawValue = 1 << UInt8(index) }

    /// Creates a set from `first` to `last` around the week: Friday to Monday are four days.
    package init(_ first: Int, through last: Int) {
        self = []
        for step in 0...((last - first + 7) % 7) { insert(Weekdays(index: (first + step) % 7)) }
    }

    package func contains(index: Int) -> Bool { contains(Weekdays(index: index)) }

    package static let names = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
}

/// A range of dates in one year or every year: `2026-12-24..2026-12-31`, `*-12-24..*-01-01`,
/// `*-*-01`.
package struct CalendarDates: Hashable, Sendable {
    package var first: Pattern
    /// The last date, with the same wildcards as `first`.
    package var last: Pattern

    package struct Pattern: Hashable, Sendable {
        /// Year; nil for every year.
        package var year: Int?
        /// Month; nil for every month.
        package var month: Int?
        package var day: Int

        /// Returns the order of a date by the parts that the pattern fixes.
        fileprivate func rank(year: Int, month: Int, day: Int) -> Int {
            (self.year == nil ? 0 : year * 10_000) + (self.month == nil ? 0 : month * 100) + day
        }

        var rank: Int { rank(year: year ?? 0, month: month ?? 0, day: day) }
    }

    func contains(_ date: (year: Int, month: Int, day: Int)) -> Bool {
        let rank = first.rank(year: date.year, month: date.month, day: date.day)
        // A range with its end before its start wraps around the year, or the month.
        return first.rank <= last.rank
            ? (first.rank...last.rank).contains(rank) : rank >= first.rank || rank <= last.rank
    }
}

// MARK: Evaluation

extension TransferSchedule {
    private static let daySeconds = 86_400

    /// Returns the bandwidth at an instant.
    package func bandwidth(at seconds: Double, _ offsetSeconds: OffsetSeconds) -> Bandwidth {
        let local = Int(seconds.rounded(.down)) + offsetSeconds(seconds)
        let second = local.modulo(Self.daySeconds)
        let day = (local - second) / Self.daySeconds
        return entries.first { $0.contains(day: day, second: second) }?.bandwidth ?? otherwise
    }

    /// Returns the next instant at which the bandwidth changes. Returns nil if it does not change
    /// within a year, or within two weeks if no entry has dates.
    package func nextChange(after seconds: Double, _ offsetSeconds: OffsetSeconds) -> Double? {
        let now = bandwidth(at: seconds, offsetSeconds)
        let days = entries.contains { !$0.dates.isEmpty } ? 370 : 15
        let minutes = boundaryMinutes
        let second = Int(seconds.rounded(.down))
        let today = second - second.modulo(Self.daySeconds)
        for start in stride(from: today, through: today + days * Self.daySeconds, by: 86_400) {
            let change = Self.instants(of: minutes, onDayFrom: start, offsetSeconds).first {
                Double($0) > seconds && bandwidth(at: Double($0), offsetSeconds) != now
            }
            if let change { return Double(change) }
        }
        return nil
    }

    /// The minutes of a day at which an entry may start or end.
    private var boundaryMinutes: [Int] {
        var minutes: Set<Int> = [0]
        for window in entries.flatMap(\.windows) {
            minutes.formUnion([window.startMinute, (window.startMinute + window.minutes) % 1_440])
        }
        return minutes.sorted()
    }

    /// Returns the instants within 24 hours at which the wall clock shows one of `minutes`, or
    /// changes, in order.
    private static func instants(
        of minutes: [Int], onDayFrom start: Int, _ offsetSeconds: OffsetSeconds
    ) -> [Int] {
        let day = start..<(start + daySeconds)
        let offsets = [start, day.upperBound].map { offsetSeconds(Double($0)) }
        var found: [Int] = []
        // If the clock changes, both offsets are tried: extra instants do no harm.
        for offset in Set(offsets) {
            for local in [start - daySeconds, start, start + daySeconds] {
                found += minutes.lazy.map { local + $0 * 60 - offset }.filter(day.contains)
            }
        }
        guard offsets[0] != offsets[1] else { return found.sorted() }
        var (before, after) = (start, day.upperBound)
        while after - before > 1 {
            let middle = (before + after) / 2
            if offsetSeconds(Double(middle)) == offsets[0] {
                before = middle
            } else {
                after = middle
            }
        }
        return (found + [after]).sorted()
    }
}

extension TransferSchedule.Entry {
    /// Returns true if the entry matches a second of a day by the wall clock; days count from
    /// 1970-01-01.
    fileprivate func contains(day: Int, second: Int) -> Bool {
        guard !windows.isEmpty else { return starts(on: day) }
        return windows.contains { window in
            let start = window.startMinute * 60
            let end = start + window.minutes * 60
            // Started today, or on an earlier day and not over yet.
            return (0...(end / 86_400)).contains { back in
                (start..<end).contains(second + back * 86_400) && starts(on: day - back)
            }
        }
    }

    private func starts(on day: Int) -> Bool {
        // 1970-01-01 was a Thursday.
        guard days.isEmpty || days.contains(index: (day + 3).modulo(7)) else { return false }
        guard !dates.isEmpty else { return true }
        let date = civilDate(ofDay: day)
        return dates.contains { $0.contains(date) }
    }
}

/// Returns the date of a day since 1970-01-01 in the proleptic Gregorian calendar.
///
/// Years start in March, so that the leap day is a year's last; 400 of them have 146,097 days.
package func civilDate(ofDay day: Int) -> (year: Int, month: Int, day: Int) {
    let sinceMarch0000 = day + 719_468
    let dayOfEra = sinceMarch0000.modulo(146_097)
    let era = (sinceMarch0000 - dayOfEra) / 146_097
    let yearOfEra =
        (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let monthFromMarch = (5 * dayOfYear + 2) / 153
    let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
    return (
        year: era * 400 + yearOfEra + (month <= 2 ? 1 : 0), month: month,
        day: dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
    )
}

extension Int {
    /// Returns the remainder, which is never negative.
    fileprivate func modulo(_ divisor: Int) -> Int {
        let rest = self % divisor
        return rest < 0 ? rest + divisor : rest
    }
}
