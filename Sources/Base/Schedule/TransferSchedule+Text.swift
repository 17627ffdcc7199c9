import Model

extension TransferSchedule: CustomStringConvertible {
    /// A text that `init(_:)` parses to an equal schedule.
    package var description: String {
        let parts = entries.map(\.description)
        let rest = entries.isEmpty ? "\(otherwise)" : "else \(otherwise)"
        return (parts + [rest]).joined(separator: ", ")
            + (timeZone == "UTC" ? "" : " in \(timeZone)")
    }
}

extension TransferSchedule.Entry: CustomStringConvertible {
    package var description: String {
        var words: [String] = []
        if !days.isEmpty { words.append(days.description) }
        if !dates.isEmpty { words.append(dates.map(\.description).joined(separator: ",")) }
        if let window = windows.first, window.needsDays {
            let first = (0..<7).first { days.contains(index: $0) } ?? 0
            let end = window.startMinute + window.minutes
            let last = Weekdays.names[(first + end / 1_440) % 7]
            words.append(
                "\(clockText(window.startMinute))-\(last) \(clockText(end % 1_440))")
        } else if !windows.isEmpty {
            words.append(windows.map(\.description).joined(separator: ","))
        }
        return (words + [bandwidth.description]).joined(separator: " ")
    }
}

extension TransferSchedule.Window: CustomStringConvertible {
    /// True if its end is ambiguous without a day.
    var needsDays: Bool { minutes > 1_440 || (minutes == 1_440 && startMinute > 0) }

    package var description: String {
        let end = startMinute + minutes
        return "\(clockText(startMinute))-\(clockText(end > 1_440 ? end - 1_440 : end))"
    }
}

extension Weekdays: CustomStringConvertible {
    /// A text such as `Mon-Fri`, `Mon,Wed` or `Sat-Sun`.
    package var description: String {
        var texts: [String] = []
        var index = 0
        while index < 7 {
            guard contains(index: index) else {
                index += 1
                continue
            }
            let first = index
            while index < 7, contains(index: index) { index += 1 }
            let last = index - 1
            texts.append(
                first == last ? Self.names[first] : "\(Self.names[first])-\(Self.names[last])")
        }
        return texts.joined(separator: ",")
    }
}

extension CalendarDates: CustomStringConvertible {
    package var description: String { first == last ? "\(first)" : "\(first)..\(last)" }
}

extension CalendarDates.Pattern: CustomStringConvertible {
    package var description: String {
        let year = self.year.map { padded($0, 4) } ?? "*"
        let month = self.month.map { padded($0, 2) } ?? "*"
        return "\(year)-\(month)-\(padded(day, 2))"
    }
}

/// Returns a time as `HH:MM`.
private func clockText(_ minute: Int) -> String {
    "\(padded(minute / 60, 2)):\(padded(minute % 60, 2))"
}

private func padded(_ number: Int, _ width: Int) -> String {
    let digits = String(number)
    return String(repeating: "0", count: max(0, width - digits.count)) + digits
}
