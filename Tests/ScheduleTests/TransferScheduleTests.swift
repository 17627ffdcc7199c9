import Model
import Schedule
import Services
import Statistics
import TestSupport
import Testing

@Suite struct TransferScheduleTests {
    /// Seconds since 1970 of `2026-03-29 01:59:59` in UTC, reckoned day by day.
    static func utc(_ text: String) throws -> Double {
        let numbers = text.split { !$0.isNumber }.compactMap { Int($0) }
        try #require(numbers.count >= 3)
        func isLeap(_ year: Int) -> Bool { year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) }
        var days = (1970..<numbers[0]).reduce(0) { $0 + (isLeap($1) ? 366 : 365) }
        let lengths = [31, isLeap(numbers[0]) ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
        days += lengths.prefix(numbers[1] - 1).reduce(0, +) + numbers[2] - 1
        let clock = numbers.dropFirst(3) + [0, 0, 0]
        let time = Array(clock.prefix(3))
        return Double(days * 86_400 + time[0] * 3_600 + time[1] * 60 + time[2])
    }

    private static func offset(
        _ schedule: TransferSchedule
    ) throws -> TransferSchedule.OffsetSeconds {
        let rules = try #require(TimeZoneRules(schedule.timeZone))
        return { rules.offsetSeconds(at: $0) }
    }

    private static func inForce(_ text: String, at instant: String) throws -> String {
        let schedule = try TransferSchedule(text)
        return schedule.bandwidth(at: try utc(instant), try offset(schedule)).description
    }

    // MARK: Text

    @Test(arguments: [
        ("22:00-06:00 unlimited, else 200Mbit/s", "22:00-06:00 unlimited, else 200Mbit/s"),
        (
            "Mon-Fri 08:00-18:00 50Mbit/s, Sat-Sun off, else unlimited in Europe/Berlin",
            "Mon-Fri 08:00-18:00 50Mbit/s, Sat-Sun off, else unlimited in Europe/Berlin"
        ),
        ("200 Mbit/s", "200Mbit/s"), ("off in Asia/Kolkata", "off in Asia/Kolkata"),
        ("unlimited in utc \n", "unlimited"), ("else off", "off"),
        ("08:00-18:00 off", "08:00-18:00 off, else unlimited"),
        (
            " mon , WED,friday  8:00 - 9:30   1 Gbps ;else OFF ",
            "Mon,Wed,Fri 08:00-09:30 1Gbit/s, else off"
        ),
        ("Fri-Mon off", "Mon,Fri-Sun off, else unlimited"),
        ("Mon-Sun 00:00-24:00 off", "Mon-Sun 00:00-24:00 off, else unlimited"),
        ("18:00-00:00 off", "18:00-24:00 off, else unlimited"),
        (
            "08:00-12:00, 13:00–17:00 off\n else 8MiB/s\n",
            "08:00-12:00,13:00-17:00 off, else 8MiB/s"
        ),
        ("Fri 20:00 - Mon 06:00 1Gbit/s, else off", "Fri 20:00-Mon 06:00 1Gbit/s, else off"),
        ("Fri 20:00-Fri 06:00 off", "Fri 20:00-Fri 06:00 off, else unlimited"),
        ("Fri 08:00-Sat 08:00 off", "Fri 08:00-Sat 08:00 off, else unlimited"),
        ("Fri 20:00-Sat 06:00 off", "Fri 20:00-06:00 off, else unlimited"),
        ("Mon 00:00-Sun 12:00 off", "Mon 00:00-Sun 12:00 off, else unlimited"),
        (
            "2026-12-24 .. 2026-12-26, 2027-01-01 off",
            "2026-12-24..2026-12-26,2027-01-01 off, else unlimited"
        ),
        ("*-12-24..*-01-01 off", "*-12-24..*-01-01 off, else unlimited"),
        (
            "Mon *-*-01..*-*-07 02:00-04:00 off",
            "Mon *-*-01..*-*-07 02:00-04:00 off, else unlimited"
        ),
        ("*-02-29 off", "*-02-29 off, else unlimited"),
    ])
    func textIsReadAndPrinted(text: String, printed: String) throws {
        let schedule = try TransferSchedule(text)
        #expect(schedule.description == printed)
        #expect(try TransferSchedule(printed) == schedule)
    }

    private static let wrongSchedules: [(text: String, message: String)] = [
        ("", "nothing was given"), (" , ;", "nothing was given"),
        ("22:00-06:00", "a bandwidth at its end"),
        ("22:00-06:00 unlimited, Mon", "'Mon' was given; allowed: a bandwidth at its end"),
        (
            "Mon off, 25:00-06:00 off",
            "entry 2 '25:00-06:00 off': '25:00-06:00' was given; allowed: times"
        ),
        ("22:60-06:00 off", "'22:60-06:00' was given; allowed: times"),
        ("22:00-24:01 off", "two times that differ"), ("22-06 off", "allowed: a date"),
        ("22:00 off", "allowed: times"), ("24:00-06:00 off", "allowed: times"),
        ("06:00-06:00 off", "omit the time for the whole day"), ("2:0-06:00 off", "allowed: times"),
        ("Mo off", "in this order"), ("Mo 08:00-09:00 off", "'Mo' was given"),
        ("Mon-Fry off", "'Fry' was given; allowed: a day from Mon to Sun"),
        ("Monkey off", "'Monkey' was given; allowed: a day"),
        ("08:00-09:00 Mon off", "'Mon' was given; allowed: days before dates and times"),
        ("Mon 08:00-09:00, Tue 09:00-10:00 off", "'Tue' was given"),
        ("Mon,Tue 20:00-Wed 06:00 off", "one day and time to another"),
        ("20:00-Wed 06:00 off", "one day and time to another"),
        ("Mon 20:00-Wed off", "a time after the day"),
        ("Mon 20:00-Mon 20:00 off", "two times that differ"),
        ("Mon 20:00-Wed 06:00, 08:00-09:00 off", "only one from a day to another"),
        ("2026-02-30 off", "a day that the month has"),
        ("2025-02-29 off", "a day that the month has"),
        ("2026-13-01 off", "allowed: a date"), ("2026-*-01 off", "allowed: a date"),
        ("12-24 off", "allowed: a date"), ("2026-12-26..2026-12-24 off", "the earlier date first"),
        ("2026-12-24..*-12-26 off", "the same * in both"),
        ("08:00-09:00 2026-12-24 off", "dates before times"),
        ("Mon off, 08:00-09:00 200Mb/s", "entry 2 '08:00-09:00 200Mb/s': '200Mb/s' was given"),
        ("08:00-09:00 off else unlimited", "entry 1"), ("08:00-09:00 else off", "entry 1"),
        ("else Mon off", "only a bandwidth after else"), ("else", "entry 1 'else'"),
        (
            "200Mbit/s, 22:00-06:00 unlimited",
            "entry 2 '22:00-06:00 unlimited' was given; allowed: nothing after"
        ),
        ("else off, else off", "entry 2"), ("off in Europe Berlin", "entry 1"),
        ("off in ../../etc/passwd", "a time zone such as Europe/Berlin"),
        ("off\u{0} ", "a control character"),
        (Array(repeating: "Mon off", count: 33).joined(separator: ","), "33 entries"),
        (String(repeating: "Mon off,", count: 126), "1008 bytes"),
    ]

    @Test(arguments: wrongSchedules)
    func whatIsWrongIsNamed(text: String, message: String) {
        let failure = #expect(throws: Failure.self) { try TransferSchedule(text) }
        #expect(failure?.code == "input.field")
        #expect(failure?.message.hasPrefix("schedule: ") == true)
        #expect(failure?.message.contains(message) == true, "\(failure?.message ?? "")")
    }

    /// Whatever is made of words of the language is read or rejected, and what is read is printed
    /// so that it is read as the same.
    @Test func textOfAnyKindIsReadOrRefused() throws {
        let words = [
            "Mon", "Fri-Mon", "sun", "08:00-18:00", "22:00-06:00", "20:00-Mon", "06:00", "-", "..",
            "*-12-24", "2026-12-24..2026-12-31", "off", "unlimited", "200Mbit/s", "8", "MiB/s",
            "else", "in", "Europe/Berlin", ",", ";", "\n", "24:00", "é", "*", "in UTC",
        ]
        var random = SeededRandom(seed: 7)
        var accepted = 0
        for _ in 0..<20_000 {
            let text = (0..<Int.random(in: 1...9, using: &random)).map { _ in
                words[Int.random(in: 0..<words.count, using: &random)]
            }.joined(separator: Bool.random(using: &random) ? " " : "")
            guard let schedule = try? TransferSchedule(text) else { continue }
            accepted += 1
            #expect(try TransferSchedule(schedule.description) == schedule, "\(text)")
        }
        #expect(accepted > 100)
    }

    // MARK: What is in force

    /// 2026-03-02 is a Monday.
    @Test(arguments: [
        ("22:00-06:00 off, else 8Mbit/s", "2026-03-02 21:59:59", "8Mbit/s"),
        ("22:00-06:00 off, else 8Mbit/s", "2026-03-02 22:00", "off"),
        ("22:00-06:00 off, else 8Mbit/s", "2026-03-03 00:00", "off"),
        ("22:00-06:00 off, else 8Mbit/s", "2026-03-03 05:59:59", "off"),
        ("22:00-06:00 off, else 8Mbit/s", "2026-03-03 06:00", "8Mbit/s"),
        // Days are those on which a window starts.
        ("Fri 22:00-06:00 off", "2026-03-06 05:00", "unlimited"),
        ("Fri 22:00-06:00 off", "2026-03-06 23:00", "off"),
        ("Fri 22:00-06:00 off", "2026-03-07 05:59", "off"),
        ("Fri 22:00-06:00 off", "2026-03-07 22:00", "unlimited"),
        ("Sun 22:00-06:00 off", "2026-03-02 05:59", "off"),
        ("Sat,Sun off", "2026-03-06 23:59:59", "unlimited"),
        ("Sat,Sun off", "2026-03-07 00:00", "off"),
        ("Sat,Sun off", "2026-03-09 00:00", "unlimited"),
        ("Fri 20:00-Mon 06:00 off", "2026-03-06 19:59", "unlimited"),
        ("Fri 20:00-Mon 06:00 off", "2026-03-06 20:00", "off"),
        ("Fri 20:00-Mon 06:00 off", "2026-03-08 12:00", "off"),
        ("Fri 20:00-Mon 06:00 off", "2026-03-09 05:59:59", "off"),
        ("Fri 20:00-Mon 06:00 off", "2026-03-09 06:00", "unlimited"),
        ("Fri 20:00-Fri 06:00 off", "2026-03-06 12:00", "unlimited"),
        ("Fri 20:00-Fri 06:00 off", "2026-03-13 05:59", "off"),
        // The first that holds decides, also of windows that overlap.
        ("Mon off, 08:00-18:00 8Mbit/s", "2026-03-02 12:00", "off"),
        ("08:00-18:00 8Mbit/s, Mon off", "2026-03-02 12:00", "8Mbit/s"),
        ("08:00-18:00 8Mbit/s, Mon off", "2026-03-02 18:00", "off"),
        ("10:00-12:00 off, 08:00-18:00 8Mbit/s, 06:00-20:00 16Mbit/s", "2026-03-02 11:00", "off"),
        (
            "10:00-12:00 off, 08:00-18:00 8Mbit/s, 06:00-20:00 16Mbit/s", "2026-03-02 12:00",
            "8Mbit/s"
        ),
        (
            "10:00-12:00 off, 08:00-18:00 8Mbit/s, 06:00-20:00 16Mbit/s", "2026-03-02 18:00",
            "16Mbit/s"
        ),
        ("*-12-24..*-01-01 off", "2027-01-01 23:59", "off"),
        ("*-12-24..*-01-01 off", "2027-01-02 00:00", "unlimited"),
        ("*-12-24..*-01-01 off", "2026-12-23 23:59", "unlimited"),
        ("*-*-28..*-*-02 off", "2026-03-01 12:00", "off"),
        ("*-*-28..*-*-02 off", "2026-03-03 00:00", "unlimited"),
        ("2026-12-31 22:00-04:00 off", "2027-01-01 03:59", "off"),
        ("Mon *-*-01..*-*-07 off", "2026-03-02 12:00", "off"),
        ("Mon *-*-01..*-*-07 off", "2026-03-09 12:00", "unlimited"),
        ("2024-02-29 off", "2024-02-29 12:00", "off"),
        ("2000-02-29 off", "2000-02-29 00:00", "off"),
        ("1970-01-01 off", "1970-01-01 00:00", "off"),
        // By the clocks of the zone.
        ("Mon 08:00-18:00 off in Europe/Berlin", "2026-03-02 07:00", "off"),
        ("Mon 08:00-18:00 off in Europe/Berlin", "2026-03-02 17:00", "unlimited"),
        ("Mon off in Pacific/Auckland", "2026-03-01 11:00", "off"),
        ("Sun off in America/Los_Angeles", "2026-03-02 07:59", "off"),
        ("12:00-13:00 off in Asia/Kolkata", "2026-03-02 06:30", "off"),
    ])
    func theWindowThatHoldsDecides(text: String, instant: String, expected: String) throws {
        #expect(try Self.inForce(text, at: instant) == expected)
    }

    @Test func datesAreThoseOfTheCalendar() throws {
        let schedule = try TransferSchedule("*-*-01 off")
        let start = try Self.utc("1999-01-01")
        var firsts = 0
        for day in 0..<(401 * 366) {
            let noon = start + Double(day) * 86_400 + 43_200
            if schedule.bandwidth(at: noon, { _ in 0 }) == .off { firsts += 1 }
        }
        // 146,766 days are 401 years and 304 days: the last first is that of 2400-10.
        #expect(firsts == 401 * 12 + 10)
    }

    // MARK: Changes

    private static func changes(
        _ text: String, from first: String, _ count: Int
    ) throws -> [String] {
        let schedule = try TransferSchedule(text)
        let offset = try Self.offset(schedule)
        var instant = try utc(first)
        var found: [String] = []
        for _ in 0..<count {
            guard let next = schedule.nextChange(after: instant, offset) else { break }
            #expect(next > instant)
            // Nothing changes before it.
            #expect(
                schedule.bandwidth(at: next - 1, offset)
                    == schedule.bandwidth(at: instant, offset))
            found.append(
                "\(timestamp(ofSeconds: next).prefix(16)) \(schedule.bandwidth(at: next, offset))")
            instant = next
        }
        return found
    }

    @Test(arguments: [
        (
            "22:00-06:00 off", "2026-03-02 12:00",
            ["2026-03-02T22:00 off", "2026-03-03T06:00 unlimited", "2026-03-03T22:00 off"]
        ),
        ("22:00-06:00 off", "2026-03-02 22:00", ["2026-03-03T06:00 unlimited"]),
        (
            "Mon-Fri 08:00-18:00 8Mbit/s, Sat-Sun off", "2026-03-06 12:00",
            [
                "2026-03-06T18:00 unlimited", "2026-03-07T00:00 off", "2026-03-09T00:00 unlimited",
                "2026-03-09T08:00 8Mbit/s",
            ]
        ),
        (
            "Fri 20:00-Mon 06:00 off", "2026-03-02 12:00",
            ["2026-03-06T20:00 off", "2026-03-09T06:00 unlimited"]
        ),
        // Adjacent windows with the same setting are no change.
        ("08:00-12:00 off, 12:00-14:00 off", "2026-03-02 09:00", ["2026-03-02T14:00 unlimited"]),
        ("2026-12-24 off", "2026-03-02", ["2026-12-24T00:00 off", "2026-12-25T00:00 unlimited"]),
        ("*-02-29 off", "2027-03-02", ["2028-02-29T00:00 off"]),
        ("2030-12-24 off", "2026-03-02", []), ("200Mbit/s", "2026-03-02", []),
        ("00:00-24:00 off", "2026-03-02", []),
        (
            "Mon off in Europe/Berlin", "2026-03-06 12:00",
            ["2026-03-08T23:00 off", "2026-03-09T23:00 unlimited"]
        ),
    ])
    func theNextChangeIsFound(text: String, first: String, expected: [String]) throws {
        #expect(
            try Self.changes(text, from: first, max(expected.count, 1)) == expected)
    }

    /// Berlin's clocks go from 02:00 to 03:00 on 2026-03-29, at 01:00 UTC.
    @Test(arguments: [
        ("01:00-04:00 off", ["2026-03-29T00:00 off", "2026-03-29T02:00 unlimited"]),
        // Half of it is left out, or all of it.
        ("02:30-03:30 off", ["2026-03-29T01:00 off", "2026-03-29T01:30 unlimited"]),
        ("02:00-03:00 off", ["2026-03-30T00:00 off", "2026-03-30T01:00 unlimited"]),
        ("02:15-02:45 off", ["2026-03-30T00:15 off", "2026-03-30T00:45 unlimited"]),
        ("22:00-06:00 off", ["2026-03-29T04:00 unlimited", "2026-03-29T20:00 off"]),
        ("Sun off", ["2026-03-29T22:00 unlimited", "2026-04-04T22:00 off"]),
    ])
    func clocksThatGoForward(text: String, expected: [String]) throws {
        #expect(
            try Self.changes("\(text) in Europe/Berlin", from: "2026-03-28 23:30", 2) == expected)
    }

    /// Berlin's clocks go from 03:00 to 02:00 on 2026-10-25, at 01:00 UTC.
    @Test(arguments: [
        ("01:00-04:00 off", ["2026-10-24T23:00 off", "2026-10-25T03:00 unlimited"]),
        ("02:00-03:00 off", ["2026-10-25T00:00 off", "2026-10-25T02:00 unlimited"]),
        (
            "02:15-02:45 off",
            [
                "2026-10-25T00:15 off", "2026-10-25T00:45 unlimited", "2026-10-25T01:15 off",
                "2026-10-25T01:45 unlimited",
            ]
        ),
        (
            "02:30-04:00 off",
            [
                "2026-10-25T00:30 off", "2026-10-25T01:00 unlimited", "2026-10-25T01:30 off",
                "2026-10-25T03:00 unlimited",
            ]
        ),
        ("Sun off", ["2026-10-25T23:00 unlimited", "2026-10-31T23:00 off"]),
    ])
    func clocksThatGoBack(text: String, expected: [String]) throws {
        #expect(
            try Self.changes(
                "\(text) in Europe/Berlin", from: "2026-10-24 22:30", expected.count) == expected)
    }

    /// Lord Howe's clocks move by half an hour, Apia left a day out.
    @Test func unusualClocks() throws {
        #expect(
            try Self.changes(
                "01:45-02:15 off in Australia/Lord_Howe", from: "2026-04-04 12:00", 4)
                == [
                    "2026-04-04T14:45 off", "2026-04-04T15:00 unlimited", "2026-04-04T15:15 off",
                    "2026-04-04T15:45 unlimited",
                ])
        #expect(
            try Self.changes("Fri off in Pacific/Apia", from: "2011-12-29 12:00", 1)
                == ["2012-01-05T10:00 off"])
    }

    /// The next change is what a search second by second would find.
    @Test func nothingChangesInBetween() throws {
        var random = SeededRandom(seed: 11)
        let days = ["", "Mon ", "Sat-Sun ", "Fri-Mon ", "*-*-29 ", "2026-03-29 "]
        let times = ["", "22:00-06:00 ", "02:30-03:30 ", "01:59-02:01 ", "00:00-24:00 "]
        for _ in 0..<60 {
            let entries = (0..<Int.random(in: 1...3, using: &random)).map { number in
                "\(days.randomElement(using: &random) ?? "")"
                    + "\(times.randomElement(using: &random) ?? "")\(8 + number)Mbit/s"
            }.filter { $0.contains(" ") }
            let text = (entries + ["else off in Europe/Berlin"]).joined(separator: ", ")
            let schedule = try TransferSchedule(text)
            let offset = try Self.offset(schedule)
            let start =
                try Self.utc("2026-03-27")
                + Double(Int.random(in: 0..<300_000, using: &random))
            let next = schedule.nextChange(after: start, offset) ?? start + 400_000
            let now = schedule.bandwidth(at: start, offset)
            for instant in stride(from: start, to: min(next, start + 400_000), by: 37) {
                #expect(schedule.bandwidth(at: instant, offset) == now, "\(text)")
            }
        }
    }
}
