import JSON
import Model
import Text

/// Reads the groups of fields of a scenario.
extension LoadScenarioReader {
    // MARK: Arrivals

    static func readArrivals(
        _ cursor: inout JSONCursor, _ path: String, into scenario: inout LoadScenario
    ) throws(Failure) {
        let start = cursor.index
        try cursor.expect(.object, path)
        var (rate, users, seconds): (Double?, Double?, Double?)
        var process: LoadModel.ArrivalProcess?
        var steps: [Step]?
        try cursor.object { (cursor, name, offset) throws(Failure) in
            let field = "\(path).\(name)"
            switch name {
            case "rate": rate = try cursor.decimalNumber(field, LoadLimits.rate)
            case "users": users = try readUsers(&cursor, field)
            case "seconds": seconds = try cursor.decimalNumber(field, LoadLimits.stageSeconds)
            case "process":
                process = try choice(&cursor, field, LoadModel.ArrivalProcess.self)
            case "stages":
                steps = try list(&cursor, field, most: LoadLimits.stages, readStep)
            default:
                throw unknown(
                    cursor, name, offset, in: path,
                    ["rate", "users", "seconds", "process", "stages"])
            }
        }
        func refuse(_ given: String, _ allowed: String) -> Failure {
            cursor.fieldFailure(at: start, path, given, allowed: allowed)
        }
        if steps == nil {
            guard (rate == nil) != (users == nil), let seconds else {
                let given =
                    rate != nil && users != nil
                    ? "given rate and users"
                    : "without \(rate == nil && users == nil ? "rate" : "seconds")"
                throw refuse(given, "seconds and one of rate and users, or stages")
            }
            let level = rate ?? users ?? 0
            steps = [Step(seconds: seconds, level: level, from: level, isRate: rate != nil)]
        } else if rate != nil || users != nil || seconds != nil {
            throw refuse(
                "given stages and also their own fields", "stages, or one rate or users")
        }
        let isOpen = steps?.first?.isRate ?? true
        guard steps?.allSatisfy({ $0.isRate == isOpen }) ?? false else {
            throw refuse("given stages of rate and of users", "stages of one of them")
        }
        guard isOpen || process == nil else {
            throw refuse("given process with users", "process with rate")
        }
        scenario.model = isOpen ? .open(process ?? .constant) : .closed
        scenario.stages = []
        for step in steps ?? [] {
            let from = step.from ?? scenario.stages.last?.to ?? 0
            scenario.stages.append(
                LoadStage(seconds: step.seconds, from: from, to: step.level))
        }
    }

    /// A stage as written.
    private struct Step {
        var seconds: Double
        var level: Double
        var from: Double?
        var isRate: Bool
    }

    private static func readStep(
        _ cursor: inout JSONCursor, _ path: String
    ) throws(Failure) -> Step {
        let start = cursor.index
        try cursor.expect(.object, path)
        var (seconds, rate, users, from): (Double?, Double?, Double?, Double?)
        try cursor.object { (cursor, name, offset) throws(Failure) in
            let field = "\(path).\(name)"
            switch name {
            case "seconds": seconds = try cursor.decimalNumber(field, LoadLimits.stageSeconds)
            case "rate": rate = try cursor.decimalNumber(field, LoadLimits.rate)
            case "users": users = try readUsers(&cursor, field)
            case "from": from = try cursor.decimalNumber(field, LoadLimits.rate)
            default:
                throw unknown(cursor, name, offset, in: path, ["seconds", "rate", "users", "from"])
            }
        }
        guard let seconds, (rate == nil) != (users == nil) else {
            let given =
                rate != nil && users != nil
                ? "given rate and users" : "without \(seconds == nil ? "seconds" : "rate")"
            throw cursor.fieldFailure(
                at: start, path, given, allowed: "seconds and one of rate and users; from")
        }
        if users != nil, let from, from != from.rounded() {
            throw cursor.fieldFailure(
                at: start, "\(path).from", "given \(from)", allowed: "a whole number of users")
        }
        return Step(seconds: seconds, level: rate ?? users ?? 0, from: from, isRate: rate != nil)
    }

    /// Reads a whole number of users.
    private static func readUsers(
        _ cursor: inout JSONCursor, _ path: String
    ) throws(Failure) -> Double {
        Double(try cursor.wholeNumber(path, LoadLimits.users))
    }

    // MARK: Viewers, caps, HTTP

    static func readViewers(
        _ cursor: inout JSONCursor, _ path: String
    ) throws(Failure) -> ViewerSettings {
        var viewers = ViewerSettings()
        try cursor.expect(.object, path)
        try cursor.object { (cursor, name, offset) throws(Failure) in
            let field = "\(path).\(name)"
            switch name {
            case "startupSeconds":
                viewers.startupSeconds = try cursor.decimalNumber(field, LoadLimits.startupSeconds)
            case "bufferSeconds":
                viewers.bufferSeconds = try cursor.decimalNumber(field, LoadLimits.bufferSeconds)
            case "watchSeconds":
                viewers.watchSeconds = try cursor.decimalNumber(field, LoadLimits.watchSeconds)
            case "loops": viewers.loops = try cursor.boolean(field)
            case "safety": viewers.safety = try cursor.decimalNumber(field, LoadLimits.safety)
            case "startBitsPerSecond":
                viewers.startBitsPerSecond = try cursor.wholeNumber(field, LoadLimits.bitsPerSecond)
            case "fixedBitsPerSecond":
                viewers.fixedBitsPerSecond = try cursor.wholeNumber(field, LoadLimits.bitsPerSecond)
            case "opensConnection": viewers.opensConnection = try cursor.boolean(field)
            case "parallelRequests": viewers.parallelRequests = try cursor.boolean(field)
            case "classes":
                viewers.classes = try list(
                    &cursor, field, most: LoadLimits.viewerClasses, readViewerClass)
            case "data": viewers.data = try cursor.plainText(field, limit: 4_096)
            default:
                throw unknown(
                    cursor, name, offset, in: path,
                    [
                        "startupSeconds", "bufferSeconds", "watchSeconds", "loops", "safety",
                        "startBitsPerSecond", "fixedBitsPerSecond", "opensConnection",
                        "parallelRequests", "classes", "data",
                    ])
            }
        }
        return viewers
    }

    static func readCaps(
        _ cursor: inout JSONCursor, _ path: String
    ) throws(Failure) -> LoadCaps {
        var caps = LoadCaps()
        try cursor.expect(.object, path)
        try cursor.object { (cursor, name, offset) throws(Failure) in
            let field = "\(path).\(name)"
            switch name {
            case "seconds":
                caps.durationSeconds = try cursor.decimalNumber(field, LoadLimits.capSeconds)
            case "requests": caps.requests = try cursor.wholeNumber(field, LoadLimits.requests)
            case "bytes": caps.bytes = try cursor.wholeNumber(field, LoadLimits.bytes)
            default:
                throw unknown(cursor, name, offset, in: path, ["seconds", "requests", "bytes"])
            }
        }
        return caps
    }

    static func readHTTP(
        _ cursor: inout JSONCursor, _ path: String
    ) throws(Failure) -> LoadHTTP {
        var http = LoadHTTP()
        try cursor.expect(.object, path)
        try cursor.object { (cursor, name, offset) throws(Failure) in
            let field = "\(path).\(name)"
            switch name {
            case "version": http.version = try choice(&cursor, field, LoadHTTP.Version.self)
            case "keepAlive": http.keepsAlive = try cursor.boolean(field)
            case "concurrency":
                http.concurrency = Int(try cursor.wholeNumber(field, LoadLimits.concurrency))
            case "headers": http.headers = try readHeaders(&cursor, field)
            case "connectTimeoutSeconds":
                http.connectTimeoutSeconds = try cursor.decimalNumber(
                    field, LoadLimits.timeoutSeconds)
            case "timeoutSeconds":
                http.timeoutSeconds = try cursor.decimalNumber(field, LoadLimits.timeoutSeconds)
            case "maxRedirects":
                http.maxRedirects = Int(try cursor.wholeNumber(field, LoadLimits.redirects))
            case "caFile": http.caFile = try cursor.plainText(field, limit: 4_096)
            default:
                throw unknown(
                    cursor, name, offset, in: path,
                    [
                        "version", "keepAlive", "concurrency", "headers", "connectTimeoutSeconds",
                        "timeoutSeconds", "maxRedirects", "caFile",
                    ])
            }
        }
        return http
    }

    private static func readHeaders(
        _ cursor: inout JSONCursor, _ path: String
    ) throws(Failure) -> [RequestHeader] {
        let start = cursor.index
        try cursor.expect(.object, path)
        var headers: [RequestHeader] = []
        try cursor.object { (cursor, name, offset) throws(Failure) in
            let field = "\(path).\(Redaction.shown(name))"
            let value = try cursor.plainText(field)
            do throws(Failure) {
                headers.append(try RequestHeader(name: name, value: value))
            } catch {
                throw cursor.fieldFailure(
                    at: offset, field, error.message, allowed: "headers that Dray sets itself")
            }
        }
        let names = Set(headers.map { $0.name.lowercased() })
        guard names.count == headers.count, names.count <= LoadLimits.headers else {
            throw cursor.fieldFailure(
                at: start, path, "given \(headers.count) headers",
                allowed: "\(LoadLimits.headers) at most, each once")
        }
        return headers
    }

    static func readThinkTime(
        _ cursor: inout JSONCursor, _ path: String
    ) throws(Failure) -> ThinkTime {
        let start = cursor.index
        try cursor.expect(.object, path)
        var (seconds, mean): (Double?, Double?)
        try cursor.object { (cursor, name, offset) throws(Failure) in
            let field = "\(path).\(name)"
            switch name {
            case "seconds": seconds = try cursor.decimalNumber(field, LoadLimits.thinkSeconds)
            case "meanSeconds": mean = try cursor.decimalNumber(field, LoadLimits.thinkSeconds)
            default: throw unknown(cursor, name, offset, in: path, ["seconds", "meanSeconds"])
            }
        }
        if let seconds, mean == nil { return .constant(seconds: seconds) }
        if let mean, seconds == nil { return .exponential(meanSeconds: mean) }
        throw cursor.fieldFailure(
            at: start, path, mean == nil ? "without seconds" : "given seconds and meanSeconds",
            allowed: "one of seconds and meanSeconds")
    }

    // MARK: Tools

    /// Reads an array of 1 to `most` elements.
    static func list<Element>(
        _ cursor: inout JSONCursor, _ path: String, most: Int,
        _ read: (inout JSONCursor, String) throws(Failure) -> Element
    ) throws(Failure) -> [Element] {
        try cursor.expect(.array, path)
        let start = cursor.index
        var elements: [Element] = []
        try cursor.array { (cursor) throws(Failure) in
            guard elements.count < most else {
                throw cursor.fieldFailure(
                    at: start, path, "has more than \(most)", allowed: "1 to \(most) elements")
            }
            elements.append(try read(&cursor, "\(path)[\(elements.count)]"))
        }
        guard !elements.isEmpty else {
            throw cursor.fieldFailure(
                at: start, path, "is empty", allowed: "1 to \(most) elements")
        }
        return elements
    }

    static func choice<Choice: RawRepresentable<String> & CaseIterable>(
        _ cursor: inout JSONCursor, _ path: String, _ type: Choice.Type
    ) throws(Failure) -> Choice {
        let offset = cursor.index
        let text = try cursor.plainText(path, limit: 64)
        if let choice = Choice(rawValue: text) { return choice }
        throw cursor.fieldFailure(
            at: offset, path, "given \"\(text)\"",
            allowed: Choice.allCases.map(\.rawValue).joined(separator: ", "))
    }

    /// Returns a failure that lists the known fields and suggests the nearest.
    static func unknown(
        _ cursor: JSONCursor, _ name: String, _ offset: Int, in path: String, _ known: [String]
    ) -> Failure {
        let nearest = suggestion(for: name, from: known).map { " (\($0))" } ?? ""
        return cursor.unknownField(
            name, at: offset, in: path, allowed: known.joined(separator: ", ") + nearest)
    }
}
