import Model

extension ListReader {
    /// Reads a JSON catalog.
    ///
    /// Either an object, `{"name": "…", "priority": 0 to 9, "assets": […]}`, of which only `assets` is
    /// required, or the array alone. An asset is an object, `{"url": "…", "name": "…",
    /// "kind": "file" | "hls" | "dash", "sha256": "64 hex digits", "bytes": 0…, "mirrors": ["…"]}`,
    /// of which only `url` is required, or a string, its URL. `sha256`, `bytes` and `mirrors` are
    /// for files only. A field that is not listed here is refused, as a misspelt one would otherwise be lost in silence.
    mutating func readJSON(_ bytes: [UInt8]) throws(Failure) -> [AssetSubmission] {
        var decoder = ListDecoder(names: names)
        var cursor = JSONCursor(bytes)
        try decoder.list(&cursor)
        try cursor.finish()
        catalogName = decoder.catalogName
        priority = decoder.priority
        return decoder.assets
    }
}

/// The fields of one JSON catalog.
private struct ListDecoder {
    var catalogName: String?
    var priority: Int?
    var assets: [AssetSubmission] = []
    var names: NameTable
    /// Lines before `countedTo`, so that an asset's line costs only what is new.
    private var lines = 1
    private var countedTo = 0

    init(names: NameTable) { self.names = names }

    mutating func list(_ cursor: inout JSONCursor) throws(Failure) {
        if try cursor.peek() == .array {
            try readAssets(&cursor, path: "")
            return
        }
        var sawAssets = false
        let start = cursor.index
        var decoder = self
        try cursor.object { (cursor, name, place) throws(Failure) in
            switch name {
            case "name":
                decoder.catalogName = try decoder.name(&cursor, "name", limit: 200)
            case "priority":
                decoder.priority = Int(try decoder.integer(&cursor, "priority", 0...9))
            case "assets":
                sawAssets = true
                try decoder.expect(&cursor, .array, "assets")
                try decoder.readAssets(&cursor, path: "assets")
            default:
                throw decoder.unknown(cursor, name, place, path: "", "name, priority, assets")
            }
        }
        self = decoder
        if !sawAssets {
            throw fieldFailure(
                cursor, start, "assets", "is missing", "an array of objects or of URLs")
        }
    }

    private mutating func readAssets(_ cursor: inout JSONCursor, path: String) throws(Failure) {
        var decoder = self
        var position = 0
        try cursor.array { (cursor) throws(Failure) in
            let item = "\(path)[\(position)]"
            let start = cursor.index
            if position >= ListReader.lines {
                throw Failure("input.tooLarge", "a list holds at most \(ListReader.lines) assets")
            }
            let isString = try cursor.peek() == .string
            let asset =
                isString
                ? try decoder.asset(urlAt: &cursor, item)
                : try decoder.asset(&cursor, item)
            do throws(Failure) {
                let line = decoder.line(cursor, start)
                if try decoder.names.isNew(asset, line: line, mergesSameURL: isString) {
                    decoder.assets.append(asset)
                }
            } catch {
                throw Failure(
                    error.code,
                    "\(TextPosition(cursor.bytes, start)): field \(item).name: \(error.message)")
            }
            position += 1
        }
        self = decoder
    }

    private mutating func line(_ cursor: JSONCursor, _ offset: Int) -> Int {
        for index in countedTo..<max(countedTo, offset)
        where cursor.bytes[index] == ASCII.lineFeed {
            lines += 1
        }
        countedTo = max(countedTo, offset)
        return lines
    }

    private func asset(
        urlAt cursor: inout JSONCursor, _ path: String
    ) throws(Failure) -> AssetSubmission {
        let start = cursor.index
        let url = try url(&cursor, path)
        return try keyed(cursor, start, path) { () throws(Failure) in
            try ListReader.asset(url: url)
        }
    }

    private func asset(
        _ cursor: inout JSONCursor, _ path: String
    ) throws(Failure) -> AssetSubmission {
        try expect(&cursor, .object, path)
        let start = cursor.index
        var fields = AssetFields()
        try cursor.object { (cursor, name, place) throws(Failure) in
            let field = "\(path).\(name)"
            fields.places[name] = cursor.index
            switch name {
            case "url": fields.url = try url(&cursor, field)
            case "name": fields.name = try self.name(&cursor, field, limit: 1_000)
            case "kind": fields.kind = try kind(&cursor, field)
            case "sha256": fields.sha256 = try digest(&cursor, field, hexDigits: 64)
            case "bytes": fields.bytes = try integer(&cursor, field, 0...Int64.max)
            case "mirrors": fields.mirrors = try mirrors(&cursor, field)
            case let name where FurtherDigests.hexDigits[name] != nil:
                fields.digests[name] = try digest(
                    &cursor, field, hexDigits: FurtherDigests.hexDigits[name] ?? 0)
            default:
                throw unknown(
                    cursor, name, place, path: path + ".",
                    "url, name, kind, bytes, sha256, sha512, sha1, md5, crc32c, mirrors")
            }
        }
        guard let url = fields.url else {
            throw fieldFailure(cursor, start, path + ".url", "is missing", "an http or https URL")
        }
        var asset = try keyed(cursor, fields.places["url"] ?? start, path + ".url") {
            () throws(Failure) in try ListReader.asset(url: url)
        }
        asset.name = fields.name ?? asset.name
        asset.kind = fields.kind ?? asset.kind
        asset.bytes = fields.bytes
        asset.sha256 = fields.sha256
        asset.mirrors = fields.mirrors
        asset.digests = FurtherDigests.text(fields.digests)
        if asset.kind != .file {
            let digests = FurtherDigests.hexDigits.keys.sorted()
            for name in ["sha256", "bytes", "mirrors"] + digests {
                guard let place = fields.places[name] else { continue }
                throw fieldFailure(
                    cursor, place, "\(path).\(name)", "given for a title of kind \(asset.kind)",
                    "for kind file only")
            }
        }
        return asset
    }

    private struct AssetFields {
        var url: WebURL?
        var name: String?
        var kind: AssetKind?
        var sha256: String?
        var bytes: Int64?
        var mirrors: [String]?
        /// By the name of the algorithm, besides SHA-256.
        var digests: [String: String] = [:]
        /// Where each field's value starts.
        var places: [String: Int] = [:]
    }

    /// Runs `make` and says where the URL stands when it fails.
    private func keyed(
        _ cursor: JSONCursor, _ start: Int, _ path: String,
        _ make: () throws(Failure) -> AssetSubmission
    ) throws(Failure) -> AssetSubmission {
        do throws(Failure) {
            return try make()
        } catch {
            throw Failure(
                error.code,
                "\(TextPosition(cursor.bytes, start)): field \(path): \(error.message)")
        }
    }

    private func url(_ cursor: inout JSONCursor, _ path: String) throws(Failure) -> WebURL {
        try expect(&cursor, .string, path)
        let start = cursor.index
        let text = try cursor.string()
        do throws(WebURLError) {
            return try WebURL(text)
        } catch {
            throw Failure(
                "input.url",
                "\(TextPosition(cursor.bytes, start)): field \(path): \(error.detail), given "
                    + "\"\(Redaction.shown(text))\", allowed an http or https URL")
        }
    }

    private func mirrors(
        _ cursor: inout JSONCursor, _ path: String
    ) throws(Failure) -> [String] {
        try expect(&cursor, .array, path)
        let start = cursor.index
        var mirrors: [String] = []
        try cursor.array { (cursor) throws(Failure) in
            mirrors.append(try url(&cursor, "\(path)[\(mirrors.count)]").text)
        }
        guard (1...WireLimits.mirrorsPerAsset).contains(mirrors.count) else {
            throw fieldFailure(
                cursor, start, path, "names \(mirrors.count) URLs",
                "1 to \(WireLimits.mirrorsPerAsset)")
        }
        return mirrors
    }

    private func name(
        _ cursor: inout JSONCursor, _ path: String, limit: Int
    ) throws(Failure) -> String {
        try expect(&cursor, .string, path)
        let start = cursor.index
        let text = try cursor.string()
        let isPlain = text.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
        guard isPlain, (1...limit).contains(text.unicodeScalars.count) else {
            throw fieldFailure(
                cursor, start, path, "given \"\(Redaction.shown(text))\"",
                "1 to \(limit) characters without control characters")
        }
        return text
    }

    private func kind(_ cursor: inout JSONCursor, _ path: String) throws(Failure) -> AssetKind {
        try expect(&cursor, .string, path)
        let start = cursor.index
        let text = try cursor.string()
        guard let kind = AssetKind(rawValue: text) else {
            throw fieldFailure(
                cursor, start, path, "given \"\(Redaction.shown(text))\"",
                AssetKind.allCases.map(\.rawValue).joined(separator: ", "))
        }
        return kind
    }

    private func digest(
        _ cursor: inout JSONCursor, _ path: String, hexDigits: Int
    ) throws(Failure) -> String {
        try expect(&cursor, .string, path)
        let start = cursor.index
        let text = try cursor.string()
        guard text.utf8.count == hexDigits, text.utf8.allSatisfy({ ASCII.hexValue($0) != nil })
        else {
            throw fieldFailure(
                cursor, start, path, "given \"\(Redaction.shown(text))\"",
                "\(hexDigits) hex digits")
        }
        return text.lowercased()
    }

    private func integer(
        _ cursor: inout JSONCursor, _ path: String, _ allowed: ClosedRange<Int64>
    ) throws(Failure) -> Int64 {
        try expect(&cursor, .number, path)
        let start = cursor.index
        let text = try cursor.number()
        guard let value = Int64(text), allowed.contains(value) else {
            throw fieldFailure(
                cursor, start, path, "given \(text.prefix(40))",
                "a whole number, \(allowed.lowerBound) to \(allowed.upperBound)")
        }
        return value
    }

    private func expect(
        _ cursor: inout JSONCursor, _ kind: JSONCursor.Kind, _ path: String
    ) throws(Failure) {
        let given = try cursor.peek()
        if given != kind {
            throw fieldFailure(
                cursor, cursor.index, path, "given \(given.rawValue)", kind.rawValue)
        }
    }

    private func unknown(
        _ cursor: JSONCursor, _ name: String, _ place: Int, path: String, _ allowed: String
    ) -> Failure {
        fieldFailure(
            cursor, place, path + Redaction.shown(name), "is not known here", allowed)
    }

    private func fieldFailure(
        _ cursor: JSONCursor, _ offset: Int, _ path: String, _ given: String, _ allowed: String
    ) -> Failure {
        Failure(
            "input.field",
            "\(TextPosition(cursor.bytes, offset)): field \(path): \(given), allowed \(allowed)")
    }
}
