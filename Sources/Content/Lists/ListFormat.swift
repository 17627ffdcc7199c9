import Model
import Text
import Titles

/// The supported forms of lists; the raw value is the argument of `--format`.
package enum ListFormat: String, CaseIterable, Sendable {
    case json
    case ndjson
    case urls
    case csv
    case gsts
    case aria2
    case metalink
    case sitemap
    case directory

    /// The name for display.
    package var title: String {
        switch self {
        case .json: "Dray's JSON"
        case .ndjson: "NDJSON, an asset a line"
        case .urls: "a URL a line"
        case .csv: "CSV"
        case .gsts: "TSV of Google's Storage Transfer Service"
        case .aria2: "aria2 input"
        case .metalink: "Metalink 4"
        case .sitemap: "sitemap"
        case .directory: "directory listing of a web server"
        }
    }

    /// Detects a list by its first bytes; nil without an asset in them, or with any error.
    ///
    /// - Parameters:
    ///   - start: at most `sampleBytes`, decoded.
    ///   - isWhole: true if nothing follows them.
    package init?(start: [UInt8], isWhole: Bool) {
        var reader = ListReader(findsRepeats: false, followsIndexes: true)
        var assets = 0
        do throws(Failure) {
            assets += try reader.feed(start).count
            if isWhole { assets += try reader.finishDocument().count }
        } catch {
            return nil
        }
        assets += reader.takeSitemaps().count
        guard assets > 0, let format = reader.format else { return nil }
        self = format
    }

    /// Number of bytes used to detect the form of a list.
    package static let sampleBytes = FormatDetector.sampleBytes
}

/// Detects the form of a list by its start.
enum FormatDetector {
    /// The detected family: the root element distinguishes XML lists, each line those of URLs and
    /// aria2.
    enum Family {
        case json
        case ndjson
        case lines
        case csv
        case gsts
        case xml
    }

    /// Maximum number of bytes used for detection.
    static let sampleBytes = 64 << 10

    /// Returns nil if more of the list is needed. `held` is its start, without a byte order mark.
    ///
    /// Throws `input.malformed` for text in UTF-16, and for data that is not text.
    static func family(of held: [UInt8], isWhole: Bool) throws(Failure) -> Family? {
        let isAll = isWhole || held.count >= sampleBytes
        if held.starts(with: [0xFF, 0xFE]) || held.starts(with: [0xFE, 0xFF]) {
            if held.starts(with: [0xFF, 0xFE, 0x3C]) || held.starts(with: [0xFE, 0xFF, 0, 0x3C]) {
                return .xml
            }
            throw Failure(
                .inputMalformed, at: .line(1, column: 1),
                "the list is UTF-16, allowed UTF-8")
        }
        let first = held.firstIndex {
            !ASCII.isBlank($0) && $0 != ASCII.lineFeed && $0 != ASCII.carriageReturn
        }
        guard let first else { return isAll ? .lines : nil }
        switch held[first] {
        case ASCII.hash where held.count - first < 8 && !isAll: return nil
        case ASCII.hash where ManifestForm.isPlaylist(held, first..<held.count):
            throw Failure(
                .inputManifest, at: .line(1),
                "this is an HLS playlist, not a list of assets")
        case ASCII.openBracket: return .json
        case ASCII.less: return .xml
        case ASCII.openBrace:
            let isAsset = namesAnAsset(held, first)
            return isAsset.map { $0 ? .ndjson : .json } ?? (isAll ? .json : nil)
        default: return try text(held, first, isAll: isAll)
        }
    }

    private static let assetFields: Set<String> = [
        "url", "kind", "bytes", "sha256", "sha512", "sha1", "md5", "crc64nvme", "crc32",
        "crc32c", "mirrors",
    ]

    /// Returns true if the object at `start` is an asset, not a catalog; nil if that is not known
    /// yet.
    private static func namesAnAsset(_ bytes: [UInt8], _ start: Int) -> Bool? {
        var depth = 0
        var nameStart: Int?
        var isInString = false
        var expectsName = false
        var index = start
        while index < bytes.count {
            let byte = bytes[index]
            if isInString {
                if byte == ASCII.backslash {
                    index += 1
                } else if byte == ASCII.quote {
                    isInString = false
                    if let position = nameStart {
                        let name = String(decoding: bytes[position..<index], as: UTF8.self)
                        if name == "assets" || name == "priority" { return false }
                        if assetFields.contains(name) { return true }
                    }
                    nameStart = nil
                }
            } else if byte == ASCII.quote {
                isInString = true
                nameStart = expectsName && depth == 1 ? index + 1 : nil
                expectsName = false
            } else if byte == ASCII.openBrace || byte == ASCII.openBracket {
                depth += 1
                expectsName = depth == 1
            } else if byte == ASCII.closeBrace || byte == ASCII.closeBracket {
                depth -= 1
                if depth == 0 { return false }
            } else if byte == ASCII.comma {
                expectsName = depth == 1
            }
            index += 1
        }
        return nil
    }

    private static func text(
        _ bytes: [UInt8], _ start: Int, isAll: Bool
    ) throws(Failure) -> Family? {
        let mark: StaticString = "TsvHttpData-"
        if ASCII.hasPrefix(bytes, start..<bytes.count, mark) { return .gsts }
        var isFirst = true
        var index = start
        while index < bytes.count {
            let end = bytes[index...].firstIndex(of: ASCII.lineFeed)
            // The last line may be incomplete.
            guard end != nil || isAll else { return nil }
            let line = ASCII.trimmed(bytes, index..<(end ?? bytes.count))
            index = (end ?? bytes.count) + 1
            // Only lines that decide are checked, as the number of buffered lines depends on the
            // chunks. Comments may contain anything.
            let isRemark = line.first.map { bytes[$0] == ASCII.hash } ?? false
            let isText =
                !bytes[line].contains(0)
                && (end == nil || isRemark
                    || String(validating: bytes[line], as: UTF8.self) != nil)
            guard isText else {
                throw Failure(.inputMalformed, "the list is not text, allowed text in UTF-8")
            }
            guard let first = line.first, bytes[first] != ASCII.hash else { continue }
            if isFirst {
                if bytes[first] == ASCII.quote || isHeader(bytes, line) || areWords(bytes, line) {
                    return .csv
                }
                guard isWeb(bytes, line) else { return .lines }
            }
            isFirst = false
            if bytes[line].contains(ASCII.quote) { return .csv }
            guard namesAFile(bytes, line) else { return .lines }
        }
        guard isAll else { return nil }
        return isFirst ? .lines : .csv
    }

    private static func isWeb(_ bytes: [UInt8], _ line: Range<Int>) -> Bool {
        ASCII.hasPrefixIgnoringCase(bytes, line, "http://")
            || ASCII.hasPrefixIgnoringCase(bytes, line, "https://")
    }

    /// Returns true for column names that include `url`.
    private static func isHeader(_ bytes: [UInt8], _ line: Range<Int>) -> Bool {
        guard line.count <= 4_096 else { return false }
        let cells = bytes[line].split(separator: ASCII.comma, omittingEmptySubsequences: false)
        return cells.contains { cell in
            let cell = ASCII.trimmed(bytes, cell.startIndex..<cell.endIndex)
            return cell.count == 3 && ASCII.hasPrefixIgnoringCase(bytes, cell, "url")
        }
    }

    /// Returns true for words separated by commas, which are no URL: a header without `url`.
    private static func areWords(_ bytes: [UInt8], _ line: Range<Int>) -> Bool {
        line.count <= 4_096 && bytes[line].contains(ASCII.comma)
            && bytes[line].allSatisfy {
                $0 == ASCII.comma || CSVList.isOfWord($0)
            }
    }

    /// Returns true for `URL,FILENAME`: one comma, followed by a plausible file name. A URL may
    /// have a comma too, so every line of the sample must match.
    private static func namesAFile(_ bytes: [UInt8], _ line: Range<Int>) -> Bool {
        guard let comma = bytes[line].firstIndex(of: ASCII.comma) else { return false }
        let name = bytes[line][(comma + 1)...]
        let unlikely: [UInt8] = [
            ASCII.comma, ASCII.slash, ASCII.question, ASCII.equals, ASCII.percent,
        ]
        return name.contains(ASCII.dot) && !name.contains { unlikely.contains($0) }
    }
}
