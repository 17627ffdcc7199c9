import Lists
import Model
import TestSupport
import Testing

/// Entries of a list that differ in what may be a signature or a token alone.
@Suite("Keys that URLs of a list share")
struct SharedKeysTests {
    /// What a list submits: read twice, as `dray prefetch` does.
    private static func submitted(
        _ list: String
    ) throws -> (assets: [AssetSubmission], first: ListReader) {
        var first = ListReader()
        _ = try first.feed(Array(list.utf8))
        _ = try first.finish()
        var second = ListReader(findsRepeats: false, sharedKeys: first.sharedKeys)
        let assets = try second.feed(Array(list.utf8)) + second.finish()
        return (assets, first)
    }

    @Test(
        "each file has its own key, which reveals nothing of the token",
        arguments: ["token", "auth", "verify"])
    func apart(name: String) throws {
        let list = (0..<3).map { "http://h/get.php?id=1&\(name)=S3CRET\($0)\n" }.joined()
        let (assets, first) = try Self.submitted(list)
        #expect(Set(assets.map(\.key)).count == 3)
        #expect(assets.map(\.name) == assets.map(\.key))
        for asset in assets {
            #expect(asset.key.wholeMatch(of: /h\/get\.php\?id=1&~=[0-9a-f]{32}/) != nil)
            #expect(!asset.key.contains("S3CRET"))
        }
        #expect(first.counts.assets == 3)
        #expect(first.notices.map(\.line) == [1])
        #expect(first.notices[0].message.hasPrefix("3 URLs"))
        #expect(try Self.submitted(list).assets == assets)
        // Another order is no other key.
        let reversed = list.split(separator: "\n").reversed().joined(separator: "\n")
        #expect(try Set(Self.submitted(reversed).assets.map(\.key)) == Set(assets.map(\.key)))
    }

    @Test("a URL that differs in its signature is the same file, with no note")
    func signatures() throws {
        let (assets, first) = try Self.submitted(
            "http://h/a?Expires=1&Signature=x\nhttp://h/a?Expires=2&Signature=y\n")
        #expect(assets.map(\.key) == ["h/a", "h/a"])
        #expect(assets.map(\.name) == ["h/a", "h/a"])
        #expect(first.counts.assets == 1)
        #expect(first.counts.repeats == 1)
        #expect(first.notices.isEmpty)
    }

    @Test("assets share a sidecar whose URLs differ in signatures")
    func sharedSidecar() throws {
        let entries = (1...2).map {
            #"{"url": "http://h/\#($0)", "sidecars": ["http://h/poster.jpg?X-Amz-Signature=\#($0)"]}"#
        }
        let (assets, first) = try Self.submitted("[\(entries.joined(separator: ","))]")
        #expect(assets.compactMap { $0.sidecars?.first?.key } == ["h/poster.jpg", "h/poster.jpg"])
        #expect(first.notices.isEmpty)
    }

    @Test("two sidecars of one asset that differ in signatures alone are one file")
    func sidecarTwice() {
        #expect {
            try Self.submitted(
                #"[{"url": "http://h/a", "sidecars": ["http://h/s?sig=1", "http://h/s?sig=2"]}]"#)
        } throws: {
            ($0 as? Failure)?.code == "storage.pathConflict"
        }
    }

    @Test("keys stay when a signature beside tokens is renewed")
    func renewed() throws {
        func keys(_ signature: String) throws -> [String] {
            let lines = (1...2).map {
                "http://h/sig=\(signature)/a?token=\($0)&Expires=9&Signature=\(signature)\n"
            }
            return try Self.submitted(lines.joined()).assets.map(\.key)
        }
        #expect(try Set(keys("x")).count == 2)
        #expect(try keys("x") == keys("y"))
    }

    @Test("a hash that names content stays in the key as it is")
    func content() throws {
        let (assets, first) = try Self.submitted("http://h/g?md5=a\nhttp://h/g?md5=b\n")
        #expect(assets.map(\.key) == ["h/g?md5=a", "h/g?md5=b"])
        #expect(first.notices.isEmpty)
    }

    @Test("what nothing shares keeps its key, and a repeated entry is one")
    func alone() throws {
        let (assets, first) = try Self.submitted(
            "http://h/a?token=1\nhttp://h/b?token=1\nhttp://h/a?token=1\n")
        #expect(assets.map(\.key) == ["h/a", "h/b", "h/a"])
        #expect(first.counts.assets == 2)
        #expect(first.counts.repeats == 1)
    }

    @Test("a repeat among those that share a key is one of them")
    func repeats() throws {
        let (assets, first) = try Self.submitted(
            "http://h/a?token=2\nhttp://h/a?token=1\nhttp://h/a?token=1\n")
        #expect(first.counts.assets == 2)
        #expect(assets[1] == assets[2])
        #expect(Set(assets.map(\.key)).count == 2)
    }

    @Test("beside the same URL without a token that one keeps its key")
    func plain() throws {
        let (assets, first) = try Self.submitted("http://h/a?token=1\nhttp://h/a\n")
        #expect(assets[1].key == "h/a")
        #expect(assets[0].key.hasPrefix("h/a?~="))
        #expect(first.notices.count == 1)
    }

    @Test("names that a list gives stay, and sidecars count")
    func named() throws {
        let (assets, _) = try Self.submitted(
            #"[{"url": "http://h/a?token=1", "name": "one"}, {"url": "http://h/a?token=2", "name": "two","#
                + #" "sidecars": ["http://h/s?token=1", "http://h/s?token=2"]}]"#)
        #expect(assets.map(\.name) == ["one", "two"])
        #expect(assets[0].key != assets[1].key)
        let sidecars = try #require(assets[1].sidecars)
        #expect(Set(sidecars.map(\.key)).count == 2)
    }

    @Test("titles are not kept apart: their segments would share keys")
    func titles() {
        #expect {
            try Self.submitted("http://h/a.m3u8?token=1\nhttp://h/a.m3u8?token=2\n")
        } throws: {
            ($0 as? Failure)?.code == "input.duplicate"
        }
    }

    @Test("one URL with two lengths is still one name for two")
    func conflict() {
        let list =
            #"[{"url": "http://h/a?token=1", "bytes": 1}, {"url": "http://h/a?token=1", "bytes": 2}]"#
        #expect { try Self.submitted(list) } throws: {
            ($0 as? Failure)?.code == "input.duplicate"
        }
    }
}
