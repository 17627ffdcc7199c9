package import Model

/// Reads a list of assets: a JSON catalog, or a URL a line.
///
/// Which one it is follows from the first character that is not blank: `{` or `[` starts JSON. Feed it
/// the bytes as they come, then call `finish`; both hand out assets. A URL list is read as it streams
/// and holds about 40 bytes a line to find repeats; JSON is held whole, up to `jsonBytes`.
///
/// Every failure names line and column, and the field where there is one. After one the reader is done.
///
/// A URL list: a URL a line, blank lines, lines that start with `#`, LF or CRLF, with or without a byte
/// order mark. The same URL twice is one asset. The JSON forms are described at `readJSON`.
package struct ListReader: Sendable {
    /// Most bytes of a JSON catalog.
    package static let jsonBytes = 64 << 20
    /// Most lines of a URL list, and most assets of a JSON catalog.
    package static let lines = 10_000_000
    /// Longest line of a URL list in bytes.
    package static let lineBytes = WireLimits.urlBytes + 1_024

    /// The name that a JSON catalog gives itself; nil before `finish`, and when it gives none.
    package internal(set) var catalogName: String?
    /// The priority that a JSON catalog gives itself, 0 to 9.
    package internal(set) var priority: Int?
    /// Assets handed out so far.
    package internal(set) var count = 0

    private enum Format {
        case unknown
        case json
        case urls
    }

    private var format = Format.unknown
    /// Unknown and JSON: everything so far; URL list: the line that is not whole yet.
    private var held: [UInt8] = []
    private var line = 0
    var names = NameTable()

    private let expectedAssets: Int

    /// `expectedAssets`: how many there are, where an earlier reading has counted them; a table that
    /// has to grow takes half as much memory again.
    package init(expectedAssets: Int = 0) { self.expectedAssets = expectedAssets }

    /// The asset that one URL on the command line stands for.
    package static func asset(url text: String) throws(Failure) -> AssetSubmission {
        let url: WebURL
        do throws(WebURLError) {
            url = try WebURL(text)
        } catch {
            throw Failure("input.url", "the URL \(error.detail), given \(Redaction.shown(text))")
        }
        return try asset(url: url)
    }

    /// The next bytes of the list.
    package mutating func feed(_ bytes: [UInt8]) throws(Failure) -> [AssetSubmission] {
        switch format {
        case .unknown:
            held += bytes
            detect(isWhole: false)
            guard format == .urls else {
                try checkHeld()
                return []
            }
            let all = held
            held = []
            return try lines(of: all)
        case .json:
            held += bytes
            try checkHeld()
            return []
        case .urls:
            return try lines(of: bytes)
        }
    }

    /// The end of the list.
    package mutating func finish() throws(Failure) -> [AssetSubmission] {
        if format == .unknown { detect(isWhole: true) }
        var assets: [AssetSubmission] = []
        if format == .json {
            assets = try readJSON(held)
            count = assets.count
        } else if !held.isEmpty {
            assets = try lines(of: [ASCII.lineFeed])
        }
        held = []
        if count == 0 {
            throw Failure("input.empty", "line \(max(line, 1)), column 1: the list names no asset")
        }
        return assets
    }

    private func checkHeld() throws(Failure) {
        if held.count > Self.jsonBytes {
            throw Failure(
                "input.tooLarge",
                "a JSON catalog holds at most \(Self.jsonBytes) bytes; a URL list may be longer")
        }
    }

    private mutating func detect(isWhole: Bool) {
        var index = 0
        if held.starts(with: ASCII.byteOrderMark) {
            index = 3
        } else if !isWhole, ASCII.byteOrderMark.starts(with: held) {
            return
        }
        while index < held.count {
            switch held[index] {
            case ASCII.space, ASCII.tab, ASCII.lineFeed, ASCII.carriageReturn:
                index += 1
            case ASCII.openBrace, ASCII.openBracket:
                format = .json
                return
            default:
                format = .urls
                names.reserve(min(expectedAssets, Self.lines))
                return
            }
        }
        if isWhole { format = .urls }
    }

    /// Takes the lines that are whole with `bytes`; keeps the rest.
    private mutating func lines(of bytes: [UInt8]) throws(Failure) -> [AssetSubmission] {
        var assets: [AssetSubmission] = []
        var start = 0
        while let end = bytes[start...].firstIndex(of: ASCII.lineFeed) {
            if held.isEmpty {
                try take(bytes, start..<end, into: &assets)
            } else {
                let whole = held + bytes[start..<end]
                held = []
                try take(whole, 0..<whole.count, into: &assets)
            }
            start = end + 1
        }
        held += bytes[start...]
        if held.count > Self.lineBytes { throw lineTooLong(line + 1) }
        return assets
    }

    private func lineTooLong(_ line: Int) -> Failure {
        Failure(
            "input.tooLarge",
            "line \(line), column \(Self.lineBytes + 1): a line holds at most "
                + "\(Self.lineBytes) bytes")
    }

    private mutating func take(
        _ bytes: [UInt8], _ whole: Range<Int>, into assets: inout [AssetSubmission]
    ) throws(Failure) {
        line += 1
        if line > Self.lines {
            throw Failure(
                "input.tooLarge", "line \(line): a list holds at most \(Self.lines) lines")
        }
        if whole.count > Self.lineBytes { throw lineTooLong(line) }
        let mark = line == 1 && ASCII.hasPrefix(bytes, whole, "\u{FEFF}") ? 3 : 0
        let text = whole.lowerBound + mark
        let range = ASCII.trimmed(bytes, text..<whole.upperBound)
        guard let first = range.first, bytes[first] != ASCII.hash else { return }
        if line == 1 || count == 0, bytes[first] == ASCII.less {
            throw Failure(
                "input.malformed",
                "line \(line), column 1: this is HTML or XML; a list is JSON or a URL a line")
        }
        let url: WebURL
        do throws(WebURLError) {
            url = try WebURL.parse(bytes, range)
        } catch {
            let offset = min(first + error.offset, range.upperBound)
            let column = TextPosition(Array(bytes[text..<offset]), offset - text).column
            throw Failure(
                "input.url",
                "line \(line), column \(column): the URL \(error.detail), given "
                    + Redaction.shown(bytes, range))
        }
        do throws(Failure) {
            let asset = try Self.asset(url: url)
            guard try names.isNew(asset, line: line, mergesSameURL: true) else { return }
            count += 1
            assets.append(asset)
        } catch {
            throw Failure(
                error.code,
                "line \(line), column \(first - text + 1): \(error.message)")
        }
    }

    /// An asset of `url` with everything else by default.
    static func asset(url: WebURL) throws(Failure) -> AssetSubmission {
        let key = try SiteKey(url).text
        return AssetSubmission(
            name: defaultName(key), url: url.text, kind: defaultKind(of: url), key: key)
    }

    /// The key, cut to what a name may hold: the bound of a key is the larger one.
    static func defaultName(_ key: String) -> String {
        guard key.utf8.count > 1_000, key.count > 1_000 else { return key }
        let hash = String(decoding: StableHash.hex([UInt8](key.utf8)[...]), as: UTF8.self)
        return key.prefix(960) + "~" + hash
    }

    /// `.m3u8` and `.m3u` are HLS, `.mpd` is DASH, everything else a file.
    package static func defaultKind(of url: WebURL) -> AssetKind {
        let path = url.path.lowercased()
        if path.hasSuffix(".m3u8") || path.hasSuffix(".m3u") { return .hls }
        return path.hasSuffix(".mpd") ? .dash : .file
    }
}

/// Finds names that stand twice, at about 40 bytes a name.
///
/// Names are compared by 128 bits of keyed hash, new with each process, so nobody can make two
/// names that differ look the same.
struct NameTable: Sendable {
    private struct Digest: Hashable {
        let first: Int
        let second: Int

        init(_ text: String) {
            var first = Hasher()
            first.combine(1 as UInt8)
            first.combine(text)
            var second = Hasher()
            second.combine(2 as UInt8)
            second.combine(text)
            self.first = first.finalize()
            self.second = second.finalize()
        }
    }

    private struct Place {
        let line: Int32
        let url: Int32
    }

    private var places: [Digest: Place] = [:]

    mutating func reserve(_ count: Int) { places.reserveCapacity(count) }

    /// False when the same asset came before and `mergesSameURL`; throws when another has its name.
    mutating func isNew(
        _ asset: AssetSubmission, line: Int, mergesSameURL: Bool
    ) throws(Failure) -> Bool {
        let place = Place(
            line: Int32(clamping: line), url: Int32(truncatingIfNeeded: asset.url.hashValue))
        guard let before = places.updateValue(place, forKey: Digest(asset.name)) else {
            return true
        }
        places[Digest(asset.name)] = before
        if mergesSameURL, before.url == place.url { return false }
        throw Failure(
            "input.duplicate",
            "the name \(Redaction.shown(asset.name)) stands on line \(before.line) and again on "
                + "line \(line)")
    }
}
