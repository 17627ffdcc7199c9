import Lists
import Model
import TestSupport
import Testing

@Suite struct ListReaderTests {
    /// Reads a list in pieces of `piece` bytes.
    static func read(
        _ bytes: [UInt8], piece: Int = 1 << 16
    ) throws(Failure) -> (assets: [AssetSubmission], reader: ListReader) {
        var reader = ListReader()
        var assets: [AssetSubmission] = []
        var start = 0
        while start < bytes.count {
            let end = min(start + piece, bytes.count)
            assets += try reader.feed(Array(bytes[start..<end]))
            start = end
        }
        assets += try reader.finish()
        return (assets, reader)
    }

    static func read(_ text: String, piece: Int = 1 << 16) throws(Failure) -> [AssetSubmission] {
        try read([UInt8](text.utf8), piece: piece).assets
    }

    static func failure(_ text: String, piece: Int = 1 << 16) -> Failure? {
        do throws(Failure) {
            _ = try read(text, piece: piece)
            return nil
        } catch {
            return error
        }
    }

    // MARK: URL lists

    @Test(arguments: [1, 2, 3, 7, 1 << 16])
    func aURLListIsReadHoweverItArrives(piece: Int) throws {
        let list =
            "\u{FEFF}# a comment\r\nhttp://h/a.mp4\r\n\r\n  https://h/b/master.m3u8?t=1 \n\t# more\n"
            + "http://H:80/a.mp4\nhttp://h/c.MPD\nhttp://h/last"
        let (assets, reader) = try Self.read([UInt8](list.utf8), piece: piece)
        #expect(
            assets.map(\.url) == [
                "http://h/a.mp4", "https://h/b/master.m3u8?t=1", "http://h/a.mp4",
                "http://h/c.MPD", "http://h/last",
            ])
        #expect(assets.map(\.kind) == [.file, .hls, .file, .dash, .file])
        #expect(
            assets.map(\.key) == [
                "h/a.mp4", "h/b/master.m3u8?t=1", "h/a.mp4", "h/c.MPD", "h/last",
            ])
        #expect(reader.format == .urls)
        // What is named twice alike is one asset.
        #expect(reader.counts.assets == 4)
        #expect(reader.counts.repeats == 1)
        #expect(reader.counts.titles == 2)
        #expect(reader.counts.files == 2)
        #expect(assets.map(\.name) == assets.map(\.key))
    }

    @Test(
        arguments: [
            ("", "input.empty", "line 1, column 1: the list names no asset"),
            ("# nothing\n\n", "input.empty", "line 2, column 1: the list names no asset"),
            (
                "http://h/a\nftp://h/b\n", "input.url",
                "line 2, column 1: the URL must start with http:// or https://, given ftp://h/b"
            ),
            (
                "http://h/a\n  http://u:pw@h/b?sig=1\n", "input.url",
                "line 2, column 10: the URL must not hold a user name or password, "
                    + "given http://…@h/b?…"
            ),
            (
                "http://h/a b\n", "input.url",
                "line 1, column 11: the URL holds a space; write it as %20, given http://h/a b"
            ),
            (
                "http://h/ä\u{1}\n", "input.url",
                "line 1, column 11: the URL holds a control character, given http://h/ä\\u{1}"
            ),
            (
                "http://h/a%2Fb\n", "storage.pathRefused",
                "line 1, column 1: http://h/a%2Fb: its path has an encoded slash (%2F)"
            ),
            (
                "http://h/a\n\nhttps://h/a\n", "input.duplicate",
                "line 3: field name: repeats the name of line 1 for a different asset"
            ),
            (
                "<!DOCTYPE html>\n", "input.malformed",
                "line 1: this is HTML, or unsupported XML (it has a document type declaration); "
                    + "a list in XML is Metalink 4 or a sitemap"
            ),
        ] as [(String, FailureCode, String)])
    func aBadURLListIsNamedByLine(list: String, code: FailureCode, message: String) {
        #expect(Self.failure(list) == Failure(code, message))
        #expect(Self.failure(list, piece: 1) == Failure(code, message))
    }

    @Test func aLineIsBounded() {
        let endless = String(repeating: "x", count: 100_000)
        let failure = Self.failure("http://h/a\nhttp://h/" + endless, piece: 1_000)
        #expect(failure?.code == "input.tooLarge")
        #expect(failure?.message.hasPrefix("line 2,") == true)
    }

    @Test func bytesThatAreNoTextAreRefused() throws {
        let binary: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0x00]
        #expect { try Self.read(binary) } throws: { ($0 as? Failure)?.code == "input.malformed" }
    }

    @Test func aLargeListKeepsItsOrder() throws {
        let list = (0..<50_000).map { "http://h/\($0)\n" }.joined()
        let assets = try Self.read(list)
        #expect(assets.count == 50_000)
        #expect(assets.last?.url == "http://h/49999")
    }

    @Test func oneURLIsAnAsset() throws {
        #expect(
            try ListReader.asset(url: "https://h/t/index.m3u8")
                == AssetSubmission(
                    name: "h/t/index.m3u8", url: "https://h/t/index.m3u8", kind: .hls,
                    key: "h/t/index.m3u8"))
        #expect { try ListReader.asset(url: "h/a") } throws: {
            $0 as? Failure
                == Failure("input.url", "the URL must start with http:// or https://, given h/a")
        }
    }

    // MARK: JSON catalogs

    @Test func aFileMayHaveMirrors() throws {
        let text = #"[{"url": "http://h/1", "mirrors": ["HTTPS://M/1", "http://n/1?x"]}]"#
        #expect(try Self.read(text)[0].mirrors == ["https://m/1", "http://n/1?x"])
        for (mirrors, what) in [
            ("[]", "names 0 URLs"), (#"["ftp://h/1"]"#, "[0].mirrors[0]"),
            ("[1]", "[0].mirrors[0]"),
            (#""http://h""#, "[0].mirrors"), (#"["http://u:p@h/"]"#, "user name"),
            ("[" + (0..<8).map { "\"http://h/\($0)\"" }.joined(separator: ",") + "]", "names 8"),
        ] {
            let failure = Self.failure("[{\"url\": \"http://h/1\", \"mirrors\": \(mirrors)}]")
            #expect(failure?.message.contains(what) == true, "\(failure?.message ?? "")")
        }
        let title = #"[{"url": "http://h/1.m3u8", "mirrors": ["http://m/1.m3u8"]}]"#
        #expect(Self.failure(title)?.message.contains("for kind file only") == true)
    }

    @Test func anAssetMayHaveSidecars() throws {
        let digest = Self.times("0a", 16)
        let assets = try Self.read(
            #"[{"url": "http://h/1.m3u8", "sidecars": ["http://i/P.JPG?v=1", {"url": "#
                + #""http://h/en.vtt", "required": false, "bytes": 3, "md5": "\#(digest)"}]}]"#)
        var wanted = try ListReader.asset(url: "http://h/1.m3u8")
        wanted.sidecars = [
            SidecarSubmission(url: "http://i/P.JPG?v=1", key: "i/P.JPG?v=1", role: .image),
            SidecarSubmission(
                url: "http://h/en.vtt", key: "h/en.vtt", role: .subtitles, required: false,
                bytes: 3, digests: "md5=\(digest)"),
        ]
        #expect(assets == [wanted])
        let many = (0...50).map { "\"http://h/\($0)\"" }.joined(separator: ",")
        for (sidecars, what) in [
            ("[]", "names 0 files"), ("[\(many)]", "names 51 files"), ("[7]", "[0].sidecars[0]"),
            (#"[{"url": "http://h/1", "required": 1}]"#, "allowed true or false"),
            (#"[{"required": true}]"#, "[0].sidecars[0].url: is missing"),
            (#"[{"url": "http://h/1", "name": "x"}]"#, "[0].sidecars[0].name: is not known"),
            (#"[{"url": "http://h/%2f"}]"#, "encoded slash"),
            (#"["http://h/1", "http://h/1"]"#, "would be stored at h/1"),
            (#"["http://h/a"]"#, "would be stored at h/a"),
        ] {
            let failure = Self.failure("[{\"url\": \"http://h/a\", \"sidecars\": \(sidecars)}]")
            #expect(failure?.message.contains(what) == true, "\(failure?.message ?? "")")
        }
    }

    @Test(arguments: [1, 5, 1 << 16])
    func aCatalogIsRead(piece: Int) throws {
        let digest = String(repeating: "aB", count: 32)
        let text = """
            {
              "name": "Winter \\u00e4 \\ud83c\\udf84",
              "priority": 9,
              "assets": [
                {"name": "One", "url": "http://h/1", "kind": "hls"},
                {"url": "http://h/2.mp4", "sha256": "\(digest)", "bytes": 12},
                "http://h/3.m3u8"
              ]
            }
            """
        let (assets, reader) = try Self.read([UInt8](text.utf8), piece: piece)
        #expect(reader.catalogName == "Winter ä 🎄")
        #expect(reader.priority == 9)
        #expect(reader.counts.assets == 3)
        #expect(reader.format == .json)
        #expect(
            assets == [
                AssetSubmission(name: "One", url: "http://h/1", kind: .hls, key: "h/1"),
                AssetSubmission(
                    name: "h/2.mp4", url: "http://h/2.mp4", kind: .file, key: "h/2.mp4", bytes: 12,
                    sha256: digest.lowercased()),
                AssetSubmission(
                    name: "h/3.m3u8", url: "http://h/3.m3u8", kind: .hls, key: "h/3.m3u8"),
            ])
    }

    @Test func aFileMayHaveSeveralDigests() throws {
        let assets = try Self.read(
            #"[{"url": "http://h/a", "md5": "\#(Self.times("Ab", 16))", "crc32c": "0123ABCD","#
                + #" "sha512": "\#(Self.times("0", 128))", "sha1": "\#(Self.times("f", 40))"}]"#)
        #expect(
            assets.first?.digests
                == "crc32c=0123abcd,md5=\(Self.times("ab", 16)),sha1=\(Self.times("f", 40)),"
                + "sha512=\(Self.times("0", 128))")
        #expect(assets.first?.digests.map(FurtherDigests.isValid) == true)
        for wrong in [
            "", "md5=", "md5=00", "md6=\(Self.times("0", 32))", "crc32c=0123ABCD",
            "crc32c=01234567,crc32c=01234567", "crc32c=0123456g", "sha256=\(Self.times("0", 64))",
            "md5=\(Self.times("0", 32)),crc32c=01234567", "crc32c=01234567,",
        ] {
            #expect(!FurtherDigests.isValid(wrong), "\(wrong)")
        }
    }

    private static func times(_ text: String, _ count: Int) -> String {
        String(repeating: text, count: count)
    }

    @Test func aBareArrayIsACatalog() throws {
        let text = #"[ "http://h/a", {"url": "http://h/b"}, "http://h/a" ]"#
        let (assets, reader) = try Self.read([UInt8](text.utf8))
        #expect(assets.map(\.url) == ["http://h/a", "http://h/b", "http://h/a"])
        #expect(reader.counts.assets == 2)
    }

    @Test(
        arguments: [
            ("{}", "input.field", "line 1, column 1: field assets: is missing, allowed an array"),
            (#"{"assets": []}"#, "input.empty", "line 1, column 1: the list names no asset"),
            ("[]", "input.empty", "line 1, column 1: the list names no asset"),
            (
                "{\n \"asets\": []}", "input.field",
                "line 2, column 2: field asets: is not known here, allowed name, priority, assets"
            ),
            (
                #"{"assets": {}}"#, "input.field",
                "line 1, column 12: field assets: given an object, allowed an array"
            ),
            (
                "[\"http://h/a\",\n {\"url\": \"http://h/b\"},\n  {\"url\": \"htp://h/c\"}]",
                "input.url",
                "line 3, column 11: field [2].url: must start with http:// or https://, "
                    + "given \"htp://h/c\", allowed an http or https URL"
            ),
            (
                #"{"assets": [{"name": "x"}]}"#, "input.field",
                "line 1, column 13: field assets[0].url: is missing, allowed an http or https URL"
            ),
            (
                #"[{"url": "http://h/a", "kind": "HLS"}]"#, "input.field",
                "line 1, column 32: field [0].kind: given \"HLS\", allowed file, hls, dash"
            ),
            (
                #"[{"url": "http://h/a", "sha256": "abc"}]"#, "input.field",
                "line 1, column 34: field [0].sha256: given \"abc\", allowed 64 hex digits"
            ),
            (
                #"[{"url": "http://h/a", "crc32c": "0123456g"}]"#, "input.field",
                "line 1, column 34: field [0].crc32c: given \"0123456g\", allowed 8 hex digits"
            ),
            (
                #"[{"url": "http://h/a", "bytes": -1}]"#, "input.field",
                "line 1, column 33: field [0].bytes: given -1, allowed a whole number, 0 to "
            ),
            (
                #"[{"url": "http://h/a", "bytes": 1.5}]"#, "input.field",
                "line 1, column 33: field [0].bytes: given 1.5, allowed a whole number, 0 to "
            ),
            (
                #"[{"url": "http://h/a", "bytes": "1"}]"#, "input.field",
                "line 1, column 33: field [0].bytes: given a string, allowed a number"
            ),
            (
                #"[{"url": "http://h/a.m3u8", "bytes": 1}]"#, "input.field",
                "line 1, column 38: field [0].bytes: given for a title of kind hls, allowed for kind"
            ),
            (
                #"[{"url": "http://h/a", "name": ""}]"#, "input.field",
                "line 1, column 32: field [0].name: given \"\", allowed 1 to 1000 characters"
            ),
            (
                #"{"priority": 10, "assets": []}"#, "input.field",
                "line 1, column 14: field priority: given 10, allowed a whole number, 0 to 9"
            ),
            (
                "[{\"url\": \"http://h/a\", \"name\": \"x\"},\n{\"url\": \"http://h/b\", \"name\": \"x\"}]",
                "input.duplicate",
                "line 2: field name: repeats the name of line 1 for a different asset"
            ),
            (
                #"[{"url": "http://h/a%2f"}]"#, "storage.pathRefused",
                "line 1, column 10: field [0].url: http://h/a%2f: its path has an encoded slash"
            ),
            (
                #"["http://h/a",]"#, "input.malformed",
                "line 1, column 15: expected a value, given \"]\""
            ),
            (
                #"["http://h/a""#, "input.malformed",
                "line 1, column 14: expected a comma or ], given"
            ),
            (#"["http://h/a"] x"#, "input.malformed", "line 1, column 16: expected the end of"),
            (#"[{"url" "http://h/a"}]"#, "input.malformed", "line 1, column 9: expected a colon"),
            (#"[{'url': 1}]"#, "input.malformed", "line 1, column 3: expected a name in quotes"),
            (
                #"[{"url": "http://h/a", "url": "http://h/b"}]"#, "input.malformed",
                "line 1, column 24: the field \"url\" is repeated in one object"
            ),
            (
                #"[null]"#, "input.field",
                "line 1, column 2: field [0]: given null, allowed an object"
            ),
            (#"[nul]"#, "input.malformed", "line 1, column 2: expected a value, given \"n\""),
            (
                "[\"http://h/\u{1}\"]", "input.malformed",
                "line 1, column 12: a string holds a control"
            ),
            (#"["\ud800"]"#, "input.malformed", "line 1, column 3: an escape is half a surrogate"),
            (#"["\x"]"#, "input.malformed", "line 1, column 3: a string holds an escape"),
            (#"["\u12g4"]"#, "input.malformed", "line 1, column 3: \\u needs four hex digits"),
            (#"["http"#, "input.malformed", "line 1, column 2: a string has no closing quote"),
            ("{", "input.malformed", "line 1, column 2: expected"),
            ("[", "input.malformed", "line 1, column 2: expected"),
        ] as [(String, FailureCode, String)])
    func aBadCatalogIsReportedWithLineAndField(text: String, code: FailureCode, message: String) {
        let failure = Self.failure(text)
        #expect(failure?.code == code, "\(text) → \(String(describing: failure))")
        #expect(
            failure?.message.hasPrefix(message) == true,
            "\(text) → \(String(describing: failure?.message))")
    }

    @Test func aNumberIsWrittenAsJSONWantsIt() {
        for number in ["01", "+1", ".5", "1.", "1e", "--1", "0x10", "-"] {
            let failure = Self.failure("[{\"url\": \"http://h/a\", \"bytes\": \(number)}]")
            #expect(failure?.code == "input.malformed", "\(number): \(String(describing: failure))")
        }
    }

    @Test func aStringIsUTF8() {
        #expect {
            try Self.read([UInt8]("[\"http://h/".utf8) + [0xC3, 0x28] + [UInt8]("\"]".utf8))
        } throws: {
            $0 as? Failure == Failure("input.malformed", "line 1, column 2: a string is not UTF-8")
        }
    }

    @Test func brokenInputEndsInAFailure() {
        // Every prefix and every changed byte of a catalog: a list or a failure, never a crash.
        let text = [UInt8](
            #"{"name":"n","priority":3,"assets":["http://h/a",{"url":"http://h/é\u00e9","bytes":1}]}"#
                .utf8)
        for end in 0..<text.count {
            #expect(throws: Failure.self) { try Self.read(Array(text[..<end])) }
        }
        for index in text.indices {
            for byte in [0, 0x22, 0x5C, 0x7B, 0x5D, 0x2C, 0xFF, 0x0A, 0x35] as [UInt8] {
                var changed = text
                changed[index] = byte
                _ = try? Self.read(changed)
            }
        }
    }
}
