/// Indexes of the used fields in a CloudFront log.
struct CloudFrontFields: Sendable {
    private var date = -1
    private var time = -1
    private var bytes = -1
    private var seconds = -1
    private var result = -1
    private var method = -1
    private var path = -1
    private var status = -1

    /// Parses `#Fields: date time x-edge-location sc-bytes …`; nil for any other line.
    init?(_ line: ArraySlice<UInt8>) {
        let words = String(decoding: line, as: UTF8.self).split(whereSeparator: \.isWhitespace)
        guard words.first == "#Fields:" else { return nil }
        for (index, word) in words.dropFirst().enumerated() {
            switch word {
            case "date": date = index
            case "time": time = index
            case "sc-bytes": bytes = index
            case "time-taken": seconds = index
            case "x-edge-result-type": result = index
            case "cs-method": method = index
            case "cs-uri-stem": path = index
            case "sc-status": status = index
            default: break
            }
        }
        guard date >= 0, time >= 0 else { return nil }
    }

    func request(_ line: ArraySlice<UInt8>) -> AccessLogRequest? {
        let values = line.split(separator: UInt8(ascii: "\t"), omittingEmptySubsequences: false)
        func text(_ index: Int) -> ArraySlice<UInt8>? {
            index >= 0 && index < values.count ? values[index] : nil
        }
        guard let day = text(date), let clock = text(time), day.count == 10, clock.count == 8,
            let year = wholeNumber(day, day.startIndex, 4),
            let month = wholeNumber(day, day.startIndex + 5, 2),
            let date = wholeNumber(day, day.startIndex + 8, 2),
            let hour = wholeNumber(clock, clock.startIndex, 2),
            let minute = wholeNumber(clock, clock.startIndex + 3, 2),
            let second = wholeNumber(clock, clock.startIndex + 6, 2),
            let seconds = secondsSince1970(year, month, date, hour, minute, second)
        else { return nil }
        var request = AccessLogRequest(time: seconds)
        func number(_ index: Int) -> Double? {
            text(index).flatMap { Double(String(decoding: $0, as: UTF8.self)) }
                .flatMap { $0 >= 0 && $0 < 1e15 ? $0 : nil }
        }
        request.bytes = number(bytes) ?? 0
        request.seconds = number(self.seconds)
        if let type = text(result).map({ String(decoding: $0, as: UTF8.self) }) {
            switch type {
            case "Hit", "RefreshHit", "OriginShieldHit": request.isHit = true
            case "Miss": request.isHit = false
            default: break
            }
        }
        return request
    }

    /// Parses a line for the file that it requests; nil for any other line.
    func file(_ line: ArraySlice<UInt8>) -> LoggedFile? {
        guard let request = request(line), path >= 0 else { return nil }
        let values = line.split(separator: UInt8(ascii: "\t"), omittingEmptySubsequences: false)
        guard path < values.count else { return nil }
        func number(_ index: Int) -> Int? {
            index >= 0 && index < values.count
                ? Int(String(decoding: values[index], as: UTF8.self)) : nil
        }
        let isGet =
            method < 0 || method >= values.count
            || values[method].elementsEqual("GET".utf8)
        return LoggedFile(
            time: Double(request.time), target: values[path], bytes: request.bytes,
            isServed: isGet && LoggedFile.servedStatuses.contains(number(status) ?? 200),
            isHit: request.isHit)
    }
}
