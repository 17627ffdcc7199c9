import Model
import Text
import WebURL

/// A URL per line, and aria2's input: mirrors of one file on a line, separated by TABs, and its
/// options on the following lines, each after a blank.
///
/// The first TAB or option distinguishes aria2. A file's location follows from its URL as in every
/// list, so `dir` and `out` only name the asset. Options that change requests are rejected, because
/// ignoring them would fetch another object; all others are ignored.
final class URLList: ListDecoder {
    private var lines = LineSplitter(maxBytes: ListReader.lineBytes)
    private let allowsOptions: Bool
    private var isAria2: Bool
    /// Entry of the previous line; its options may follow.
    private var pending: Pending?
    /// True if the current options belong to a rejected line.
    private var skipsOptions = false

    private struct Pending {
        var item: ListItem
        var line: Int
        var column: Int
        var directory: String?
        var out: String?

        /// Combined as by aria2.
        var name: String? {
            guard let directory else { return out }
            let file = out ?? item.url.path.split(separator: "/").last.map(String.init)
            return directory + (directory.hasSuffix("/") ? "" : "/") + (file ?? "index.html")
        }
    }

    /// Nil detects the form; otherwise `urls` or `aria2`.
    init(_ format: ListFormat?) {
        allowsOptions = format != .urls
        isAria2 = format == .aria2
    }

    var format: ListFormat? { isAria2 ? .aria2 : .urls }
    var line: Int { lines.number }

    func feed(_ bytes: [UInt8], _ output: ListOutput) throws(Failure) {
        var start = 0
        while let line = try lines.next(bytes, &start) { try take(line, output) }
    }

    func finish(_ output: ListOutput) throws(Failure) {
        if let line = try lines.last() { try take(line, output) }
        try flush(output)
    }

    private func take(_ line: LineSplitter.Line, _ output: ListOutput) throws(Failure) {
        let bytes = line.bytes
        let range = ASCII.trimmed(bytes, line.range)
        guard let first = range.first, bytes[first] != ASCII.hash else { return }
        if allowsOptions, first > line.range.lowerBound, let equals = optionEnd(bytes, range) {
            isAria2 = true
            do throws(Failure) {
                try option(
                    String(decoding: bytes[first..<equals], as: UTF8.self),
                    String(decoding: bytes[(equals + 1)..<range.upperBound], as: UTF8.self),
                    line.number, output)
            } catch {
                pending = nil
                skipsOptions = true
                try output.reject(error)
            }
            return
        }
        try flush(output)
        skipsOptions = false
        do throws(Failure) {
            pending = try entry(line, range, output)
        } catch {
            skipsOptions = true
            try output.reject(error)
        }
    }

    /// Emits the asset of `pending`.
    private func flush(_ output: ListOutput) throws(Failure) {
        guard var pending else { return }
        self.pending = nil
        pending.item.name = pending.name
        let asset: AssetSubmission
        do throws(Failure) {
            if let name = pending.item.name, !ListField.isName(name) {
                throw Failure(.inputField, "field out: allowed \(ListField.allowedName)")
            }
            asset = try pending.item.asset()
        } catch {
            return try output.reject(
                error.at(.line(pending.line, column: pending.column)))
        }
        try output.add(asset, line: pending.line)
    }

    // MARK: URLs

    private func entry(
        _ line: LineSplitter.Line, _ range: Range<Int>, _ output: ListOutput
    ) throws(Failure) -> Pending? {
        guard allowsOptions, line.bytes[range].contains(ASCII.tab) else {
            let url = try url(line, range)
            return Pending(
                item: ListItem(url: url), line: line.number,
                column: column(line, range.lowerBound))
        }
        isAria2 = true
        var urls: [WebURL] = []
        var otherScheme: Range<Int>?
        var start = range.lowerBound
        while start < range.upperBound {
            let end = line.bytes[start..<range.upperBound].firstIndex(of: ASCII.tab)
            let part = ASCII.trimmed(line.bytes, start..<(end ?? range.upperBound))
            start = (end ?? range.upperBound) + 1
            if part.isEmpty { continue }
            if ListField.isOfAnotherScheme(line.bytes, part) {
                otherScheme = part
                continue
            }
            let url = try url(line, part)
            if !urls.contains(url) { urls.append(url) }
        }
        guard let first = urls.first else {
            // This throws the reason.
            return Pending(
                item: ListItem(url: try url(line, otherScheme ?? range)), line: line.number,
                column: 1)
        }
        if otherScheme != nil {
            output.notices.add(
                line.number, "mirrors that are not http or https are ignored", topic: "scheme")
        }
        let mirrors = urls.dropFirst()
        if mirrors.count > WireLimits.mirrorsPerAsset {
            output.notices.add(
                line.number, "mirrors beyond \(WireLimits.mirrorsPerAsset) are ignored",
                topic: "mirrors")
        }
        return Pending(
            item: ListItem(url: first, mirrors: Array(mirrors.prefix(WireLimits.mirrorsPerAsset))),
            line: line.number, column: column(line, range.lowerBound))
    }

    private func column(_ line: LineSplitter.Line, _ index: Int) -> Int {
        line.bytes[line.range.lowerBound..<index].count { $0 & 0xC0 != 0x80 } + 1
    }

    private func url(
        _ line: LineSplitter.Line, _ range: Range<Int>
    ) throws(Failure) -> WebURL {
        do throws(WebURLError) {
            return try WebURL.parse(line.bytes, range)
        } catch {
            let offset = min(range.lowerBound + error.offset, range.upperBound)
            throw Failure(
                .inputURL, at: .line(line.number, column: column(line, offset)),
                "the URL \(error.detail), "
                    + "given \(Redaction.shown(line.bytes, range))")
        }
    }

    // MARK: Options

    /// Returns the index of the `=` in `name=value`; nil for other lines.
    private func optionEnd(_ bytes: [UInt8], _ range: Range<Int>) -> Int? {
        for index in range {
            let byte = bytes[index]
            if byte == ASCII.equals { return index > range.lowerBound ? index : nil }
            let isName =
                ASCII.isDigit(byte) || byte == ASCII.minus
                || ASCII.isLetter(byte) && ASCII.lowercased(byte) == byte
            if !isName { return nil }
        }
        return nil
    }

    /// These change the request or its target; most are available as settings of an origin.
    private static let refused: Set<String> = [
        "header", "referer", "user-agent", "http-user", "http-passwd", "load-cookies",
        "certificate", "private-key", "ca-certificate", "http-proxy", "https-proxy", "all-proxy",
        "http-proxy-user", "http-proxy-passwd", "https-proxy-user", "https-proxy-passwd",
        "all-proxy-user", "all-proxy-passwd",
    ]

    private func option(
        _ name: String, _ value: String, _ line: Int, _ output: ListOutput
    ) throws(Failure) {
        guard pending != nil else {
            if skipsOptions { return }
            throw Failure(
                .inputMalformed, at: .line(line),
                "the option \(name) comes before any URL")
        }
        let isHostile = value.utf8.contains(where: ASCII.isControl)
        switch name {
        case "out", "dir":
            guard !isHostile, ListField.isName(value) else {
                throw ListField.failure(
                    line, name, given: value, allowed: ListField.allowedName)
            }
            if name == "out" { pending?.out = value } else { pending?.directory = value }
        case "checksum":
            let halves = value.split(separator: "=", maxSplits: 1).map(String.init)
            let algorithm = halves.first.flatMap { ListDigests.algorithm($0) }
            guard halves.count == 2, let algorithm else {
                throw ListField.failure(
                    line, name, given: value,
                    allowed: "TYPE=DIGEST, of the types \(ListDigests.allowed)")
            }
            if let allowed = pending?.item.digests.set(algorithm, halves[1]) {
                throw ListField.failure(line, name, given: value, allowed: allowed)
            }
        case _ where Self.refused.contains(name):
            throw Failure(
                .inputField, at: .line(line, field: name),
                "requests are the same for all of an origin, allowed "
                    + "in the file of --origin-settings only")
        case "parameterized-uri" where value == "true":
            throw ListField.failure(line, name, given: value, allowed: "false")
        default:
            output.notices.add(line, "the option \(name) is ignored", topic: "option \(name)")
        }
    }
}
