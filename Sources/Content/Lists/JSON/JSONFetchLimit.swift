import JSON
import Model

extension JSONCursor {
    /// Reads `{"count": 3, "period": "30d"}`.
    mutating func fetchLimit(_ path: String) throws(Failure) -> FetchLimit {
        try expect(.object, path)
        let start = index
        var count: Int?
        var seconds: Double?
        try object { (cursor, name, offset) throws(Failure) in
            let field = "\(path).\(name)"
            switch name {
            case "count":
                count = try cursor.count(field, WireLimits.fetchesPerTitle)
            case "period": seconds = try cursor.duration(field)
            default:
                throw cursor.fieldFailure(
                    at: offset, "\(path).\(Redaction.shown(name))", "is not known here",
                    allowed: "count, period")
            }
        }
        guard let count, let seconds else {
            throw fieldFailure(
                at: start, path, "lacks \(count == nil ? "count" : "period")",
                allowed: "{\"count\": 3, \"period\": \"30d\"}")
        }
        return FetchLimit(count: count, periodSeconds: seconds)
    }

    /// Reads a whole number within `allowed`.
    mutating func count(_ path: String, _ allowed: ClosedRange<Int>) throws(Failure) -> Int {
        Int(try wholeNumber(path, Int64(allowed.lowerBound)...Int64(allowed.upperBound)))
    }
}
