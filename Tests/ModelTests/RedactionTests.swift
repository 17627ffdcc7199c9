import API
import Model
import TestSupport
import Testing

@Suite("What is hidden of URLs")
struct RedactionTests {
    @Test(
        "user information, query and fragment",
        arguments: [
            ("https://user:p@ss@host:8/a/b?sig=1#f", "https://…@host:8/a/b?…"),
            ("https://host/a#frag", "https://host/a#…"),
            ("https://host?x", "https://host?…"),
            ("https://host/a", "https://host/a"),
            ("https://[::1]:80/a", "https://[::1]:80/a"),
            ("https://u@[::1]:80/a", "https://…@[::1]:80/a"),
            ("ftp://u@p@o", "ftp://…@o"),
            ("http://h/a@b", "http://h/a@b"),
            ("/path?secret", "/path?…"),
            (
                "http://h/b/k?X-Amz-Credential=AK%2Fs3&X-Amz-Security-Token=T&X-Amz-Signature=s",
                "http://h/b/k?…"
            ),
            ("/a@b/c", "/a@b/c"),
            ("not a url?secret", "not a url?…"),
            ("file:///srv@1/edge", "file:///srv@1/edge"),
            ("http://h/st=1~exp=2~hmac=s/v/a.ts", "http://h/…/v/a.ts"),
            ("http://h/hdntl=exp=1/a?b", "http://h/…/a?…"),
            ("http://h/a.ts;token=s", "http://h/a.ts;…"),
            ("http://h/v=1/a", "http://h/v=1/a"),
            ("", ""), ("?", "?…"), ("#", "#…"), ("@", "…@"), ("://", "://"),
        ])
    func urls(url: String, shown: String) {
        #expect(redacted(url: url) == shown)
    }

    @Test(
        "without a scheme, with one that is misspelt, and within another URL",
        arguments: [
            ("user:secret@host/a?b", "…@host/a?…"),
            ("user:secret@host", "…@host"),
            ("//user:secret@host/a", "//…@host/a"),
            ("http:/user:secret@host/a", "http:/…@host/a"),
            ("http:user:secret@host/a", "…@host/a"),
            ("http:///user:secret@host/a", "http:///…@host/a"),
            (#"http:\\user:secret@host/a"#, #"http:\\…@host/a"#),
            ("https://cdn/x/https://user:secret@host/a", "https://cdn/x/https://…@host/a"),
            ("https://user:se/cret@host/a", "https://…@host/a"),
            ("https://user:secret?@host/a", "https://…?…"),
        ])
    func misspelt(url: String, shown: String) {
        #expect(redacted(url: url) == shown)
    }

    /// Characters that join the one before, and make one `Character` with it.
    static let joiners = [
        "\u{301}", "\u{200D}", "\u{FE0F}", "\u{20E3}", "\u{338}", "\u{E0100}", "\u{1F3FB}",
        "\u{200C}",
    ]

    @Test("a combining mark or joiner hides nothing", arguments: joiners)
    func combining(joiner: String) {
        #expect(redacted(url: "https://h/a?\(joiner)secret") == "https://h/a?…")
        #expect(redacted(url: "https://h/a#\(joiner)secret") == "https://h/a#…")
        #expect(
            Array(redacted(url: "https://u:secret@\(joiner)h/a").utf8)
                == Array("https://…@\(joiner)h/a".utf8))
        for text in [
            "https://h/a?\(joiner)secret", "https://h/a#\(joiner)secret",
            "https:\(joiner)//u:secret@h/a",
            "https://\(joiner)u:secret@h/\(joiner)a", "u:secret@\(joiner)h/a",
        ] {
            #expect(!redacted(url: text).contains("secret"), "\(text.unicodeScalars.map(\.value))")
            #expect(!Redaction.shown(text).contains("secret"))
        }
    }

    @Test("what a message shows has no control characters and is cut")
    func messages() {
        #expect(Redaction.shown("https://u:p@h/a?sig=1") == "https://…@h/a?…")
        #expect(Redaction.shown("a\u{1B}[2J\u{202E}\n") == "a\\u{1B}[2J\\u{202E}\\u{A}")
        #expect(Redaction.shown("http://o/a\r\nX") == "http://o/a\\u{D}\\u{A}X")
        #expect(Redaction.shown(String(repeating: "x", count: 500)).count == 200)
        #expect(Redaction.shown(String(repeating: "x", count: 500), limit: 2_000).count == 500)
    }

    @Test(
        "URLs within a message are redacted, and the rest of it stays",
        arguments: [
            ("There is no site http://h/a?x=1&Signature=secret.", "There is no site http://h/a?…."),
            ("unknown command 'https://u:secret@h/a'", "unknown command 'https://…@h/a'"),
            (
                "<http://h/a?\u{200D}secret> and http://u:secret@h: 1",
                "<http://h/a?… and http://…@h: 1"
            ),
            ("http://h/a?…: Failed to connect", "http://h/a?…: Failed to connect"),
            ("--set is 'a=b?c': use 1:2:3", "--set is 'a=b?c': use 1:2:3"), ("://", "://"),
            ("a://:", "a://:"),
        ])
    func messagesWithURLs(text: String, shown: String) {
        #expect(Redaction.message(text) == shown)
    }

    @Test(
        "a key is shown without what may be a secret in it",
        arguments: [
            ("h/a?v=1", "h/a?v=1"), ("h/a?token=s", "h/a?…"), ("h/a?v=1&sig=s", "h/a?v=1&…"),
            ("h/hdnts=s/a?v=1", "h/…/a?v=1"), ("h/a", "h/a"),
        ])
    func keys(key: String, shown: String) {
        #expect(Redaction.key(key) == shown)
    }

    @Test(
        "a failure's message has neither the query nor a token of a key",
        arguments: [
            ("h/a?v=1", "h/a?…"), ("rename h/a?token=s", "rename h/a?…"),
            ("open h/hdnts=s/a.ts", "open h/…/a.ts"),
            ("h/st=1~exp=2~hmac=s/v/a.ts?x", "h/…/v/a.ts?…"), ("open h/a", "open h/a"),
        ])
    func paths(text: String, shown: String) {
        #expect(Redaction.path(text) == shown)
    }

    @Test("an asset is shown without the secrets of its URLs, and of a name that is one")
    func assets() {
        var asset = AssetStatus(
            id: AssetID(1), name: "h/a?token=secret", url: "https://u:secret@h/a?token=secret",
            kind: .file, state: .failed)
        asset.missing = [
            .init(
                url: "https://h/b.vtt?secret", path: "h/b.vtt?v=1&sig=secret",
                failure: Failure("origin.http.404", ""))
        ]
        asset.path = "h/a?token=secret"
        #expect(asset.redacted.name == "h/a?…")
        #expect(asset.redacted.path == "h/a?…")
        #expect(asset.redacted.missing?.first?.path == "h/b.vtt?v=1&…")
        #expect(asset.redacted.url == "https://…@h/a?…")
        #expect(asset.redacted.missing?.first?.url == "https://h/b.vtt?…")
        asset.name = "Who?"
        asset.url = "https://h/a"
        #expect(asset.redacted.name == "Who?")
    }
}
