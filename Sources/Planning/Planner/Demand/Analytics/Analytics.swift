/// Reads users or requests over time from a table, as analytics, monitoring and CDNs export them.
///
/// Each record has a time and one figure or more; several records of one time, such as those of
/// regions, are added. Times may be in any order.
package struct Analytics: Sendable {
    /// A figure of a table.
    package enum Field: String, Sendable, CaseIterable {
        case time
        /// Hour of the day, beside a date.
        case hour
        /// Users at the same time.
        case concurrent
        /// Different users of a period.
        case users
        case requests
        case requestsPerSecond = "requests-per-second"
        case bytes
        case hits
        case misses

        /// Names in headers.
        var names: [String] {
            switch self {
            case .time:
                [
                    "time", "timestamp", "datetime", "date hour YYYYMMDDHH", "date hour",
                    "date", "start time", "time bucket", "day", "hour ISO",
                    // CloudWatch's, below a line of full labels.
                    "label",
                ]
            case .hour: ["hour", "hour of day"]
            case .concurrent:
                [
                    "concurrent users", "concurrent viewers", "concurrent streams", "concurrent",
                    "peak concurrent viewers", "concurrent plays", "viewers",
                ]
            case .users:
                [
                    "active users", "users", "total users", "unique visitors", "visitors",
                    "unique viewers", "uniques",
                ]
            case .requests:
                ["requests", "request count", "total requests", "edge hits", "requests total"]
            case .requestsPerSecond:
                [
                    "requests per second", "requests/s", "request rate", "rps",
                    "edge hits per second",
                ]
            case .bytes:
                [
                    "bytes", "total bytes", "bytes sent", "bytes downloaded", "bandwidth",
                    "response bytes", "edge response bytes", "edge bytes",
                ]
            case .hits: ["hits", "cache hits", "cached requests", "hit", "hit count"]
            case .misses:
                ["misses", "cache misses", "miss", "miss count", "origin requests", "origin hits"]
            }
        }
    }

    /// A period of a table.
    struct Period: Sendable {
        var concurrent: Double?
        var users: Double?
        var requests: Double?
        var requestsPerSecond: Double?
        var bytes: Double?
        var hits: Double?
        var misses: Double?

        mutating func add(_ value: Double, _ field: Field) {
            func sum(_ old: Double?) -> Double { (old ?? 0) + value }
            switch field {
            case .concurrent: concurrent = sum(concurrent)
            case .users: users = sum(users)
            case .requests: requests = sum(requests)
            case .requestsPerSecond: requestsPerSecond = sum(requestsPerSecond)
            case .bytes: bytes = sum(bytes)
            case .hits: hits = sum(hits)
            case .misses: misses = sum(misses)
            case .time, .hour: break
            }
        }
    }

    private static let maxRows = 2_000_000
    private static let values = 0.0...1e18

    private var table: NamedTable
    private let columns: [NamedTable.Column]
    private(set) var periods: [Int: Period] = [:]

    /// - Parameter names: by field, the column that has it; for others the usual names are tried.
    package init(names: [Field: String] = [:]) {
        columns = Field.allCases.map { field in
            NamedTable.Column(
                field.rawValue, names: names[field].map { [$0] } ?? field.names,
                isRequired: field == .time || names[field] != nil,
                option: names[field] == nil ? "--analytics-column \(field.rawValue)" : nil)
        }
        table = NamedTable(columns, maxRows: Self.maxRows)
    }

    package mutating func read(_ piece: [UInt8]) throws(PlannerError) {
        var periods = periods
        self.periods = [:]
        defer { self.periods = periods }
        let columns = columns
        try table.read(piece) { row throws(PlannerError) in
            try Self.take(row, columns, &periods)
        }
    }

    package mutating func finish() throws(PlannerError) -> AnalyticsSummary {
        var periods = periods
        let columns = columns
        try table.finish { row throws(PlannerError) in try Self.take(row, columns, &periods) }
        let hasFigure = periods.values.contains {
            $0.concurrent != nil || $0.users != nil || $0.requests != nil
                || $0.requestsPerSecond != nil
        }
        guard hasFigure else {
            throw PlannerError(
                field: "the header",
                given: NamedTable.cut(table.header.joined(separator: ", "), at: 200),
                allowed: "name a column for users or requests (requests, active users, concurrent "
                    + "viewers), or map one with --analytics-column requests=NAME")
        }
        return try AnalyticsSummary(periods)
    }

    private static func take(
        _ row: NamedTable.Row, _ columns: [NamedTable.Column], _ periods: inout [Int: Period]
    ) throws(PlannerError) {
        func column(_ field: Field) -> Int { Field.allCases.firstIndex(of: field) ?? 0 }
        guard let text = row.cells[column(.time)] else {
            // Exports end with a line of totals.
            return
        }
        let time = AnalyticsTime.seconds(text)
        guard var time else {
            throw row.failure(
                columns[column(.time)], text,
                "use 2026-10-10T13:00Z, 2026-10-10 13:00, 20261010, 2026101013 or seconds since "
                    + "1970")
        }
        if let text = row.cells[column(.hour)] {
            guard let hour = Int(text), (0...23).contains(hour), time.isMultiple(of: 86_400) else {
                throw row.failure(
                    columns[column(.hour)], text, "use an hour from 0 to 23 beside a date")
            }
            time += hour * 3_600
        }
        for (index, field) in Field.allCases.enumerated() where field != .time && field != .hour {
            guard let text = row.cells[index] else { continue }
            guard let value = GroupedNumber.value(text), values.contains(value) else {
                throw row.failure(
                    columns[index], text,
                    "use a number, 0 or more, with a decimal point: 30000, 30,000 or 30000.5")
            }
            if field != .requestsPerSecond, GroupedNumber.isAmbiguous(text) {
                throw row.failure(
                    columns[index], text,
                    "write thousands without a point: 30000 or 30,000, not 30.000")
            }
            if field == .users, value != value.rounded() {
                throw row.failure(columns[index], text, "use a whole number of users")
            }
            periods[time, default: Period()].add(value, field)
        }
    }
}

/// Times of exports.
enum AnalyticsTime {
    /// Returns seconds since 1970, of UTC without a zone; nil for other text.
    static func seconds(_ text: String) -> Int? {
        let bytes = ArraySlice(text.utf8)
        if bytes.allSatisfy(isDigit) { return digits(bytes) }
        let start = bytes.startIndex
        func part(_ offset: Int, _ count: Int) -> Int? {
            wholeNumber(bytes, start + offset, count)
        }
        // 2026/10/10 is as clear as 2026-10-10; 10/10/2026 has two meanings.
        guard bytes.count >= 10, "-/".utf8.contains(bytes[start + 4]),
            bytes[start + 7] == bytes[start + 4], let year = part(0, 4), let month = part(5, 2),
            let day = part(8, 2)
        else { return nil }
        if bytes.count == 10 { return secondsSince1970(year, month, day, 0, 0, 0) }
        guard bytes.count >= 13, [0x54, 0x20].contains(bytes[start + 10]), let hour = part(11, 2)
        else { return nil }
        var rest = bytes[(start + 13)...]
        var (minute, second) = (0, 0)
        if rest.first == UInt8(ascii: ":") {
            guard let found = wholeNumber(rest, rest.startIndex + 1, 2) else { return nil }
            minute = found
            rest = rest.dropFirst(3)
        }
        if rest.first == UInt8(ascii: ":") {
            guard let found = wholeNumber(rest, rest.startIndex + 1, 2) else { return nil }
            second = found
            rest = rest.dropFirst(3)
        }
        if rest.first == UInt8(ascii: ".") { rest = rest.dropFirst().drop(while: isDigit) }
        guard let local = secondsSince1970(year, month, day, hour, minute, second),
            let zone = zone(rest)
        else { return nil }
        return local - zone
    }

    /// `20261010`, `2026101013`, seconds or milliseconds since 1970.
    private static func digits(_ bytes: ArraySlice<UInt8>) -> Int? {
        let start = bytes.startIndex
        func part(_ offset: Int, _ count: Int) -> Int? {
            wholeNumber(bytes, start + offset, count)
        }
        guard (8...13).contains(bytes.count), let number = part(0, bytes.count) else { return nil }
        switch bytes.count {
        case 13: return number / 1_000
        case 8, 10, 12:
            // Seconds since 1970 are no date before the year 2,100.
            let hour = bytes.count > 8 ? part(8, 2) : 0
            let minute = bytes.count > 10 ? part(10, 2) : 0
            if let year = part(0, 4), (1_990...2_099).contains(year), let month = part(4, 2),
                let day = part(6, 2), let hour, let minute,
                let time = secondsSince1970(year, month, day, hour, minute, 0)
            {
                return time
            }
            return bytes.count == 10 ? number : nil
        default: return nil
        }
    }

    private static func zone(_ text: ArraySlice<UInt8>) -> Int? {
        let text = text.drop { $0 == UInt8(ascii: " ") }
        guard let sign = text.first else { return 0 }
        if text.elementsEqual("Z".utf8) || text.elementsEqual("UTC".utf8) { return 0 }
        guard [UInt8(ascii: "+"), UInt8(ascii: "-")].contains(sign),
            let hours = wholeNumber(text, text.startIndex + 1, 2)
        else { return nil }
        let minutes = text.count >= 5 ? wholeNumber(text, text.endIndex - 2, 2) : 0
        guard let minutes, hours < 24, minutes < 60, text.count <= 6 else { return nil }
        let seconds = hours * 3_600 + minutes * 60
        return sign == UInt8(ascii: "-") ? -seconds : seconds
    }
}
