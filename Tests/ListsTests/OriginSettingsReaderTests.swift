import Lists
import Model
import Testing

@Suite("Settings of origins in JSON")
struct OriginSettingsReaderTests {
    private func read(_ text: String) throws(Failure) -> OriginSettingsTable {
        try OriginSettingsReader.read(Array(text.utf8))
    }

    @Test func everyFieldIsRead() throws {
        let table = try read(
            """
            {
              "https://Media.example.com:443": {
                "headers": {"X-Tenant": "acme", "Accept-Language": "de"}, "bearer": "t0k.en==",
                "caFile": "ca.pem", "proxy": "http://ann:pw@proxy:3128/", "http": "2",
                "proxyCaFile": "proxy.pem",
                "timeouts": {"connectSeconds": 1.5, "firstByteSeconds": 2, "lowSpeedSeconds": 3,
                             "lowSpeedBytesPerSecond": 4, "totalSeconds": 5},
                "maximumBytes": 1000, "maximumHeaderBytes": 4096
              },
              "http://[2001:DB8::1]:8080": {
                "basic": {"user": "ann", "password": "p:w"},
                "clientCertificate": {"certificate": "c.pem", "key": "k.pem", "password": "kp"},
                "http": "2-prior-knowledge"
              },
              "default": {"headers": {"accept-language": "en"}, "userAgent": "acme/1"}
            }
            """)
        let media = try #require(table.byOrigin["https://media.example.com"])
        #expect(media.headers.map(\.line) == ["X-Tenant: acme", "Accept-Language: de"])
        #expect(media.authorization == .bearer("t0k.en=="))
        #expect(media.caFile == "ca.pem" && media.proxy == "http://ann:pw@proxy:3128/")
        #expect(media.proxyCAFile == "proxy.pem")
        #expect(media.http == .http2 && media.userAgent == "acme/1")
        var timeouts = TransferTimeouts()
        timeouts.connect = 1.5
        timeouts.firstByte = 2
        timeouts.lowSpeed = 3
        timeouts.lowSpeedBytesPerSecond = 4
        timeouts.total = 5
        #expect(media.timeouts == timeouts)
        #expect(media.maximumBytes == 1_000 && media.maximumHeaderBytes == 4_096)
        let other = try #require(table.byOrigin["http://[2001:db8::1]:8080"])
        #expect(other.authorization == .basic(user: "ann", password: "p:w"))
        #expect(
            other.clientCertificate
                == .init(certificate: "c.pem", key: "k.pem", password: "kp"))
        #expect(other.headers.map(\.line) == ["accept-language: en"])
        #expect(other.http == .http2PriorKnowledge && other.timeouts == TransferTimeouts())
        #expect(table.standard.userAgent == "acme/1" && table.hasSecrets)
        #expect(try read("{}") == OriginSettingsTable())
        #expect(try !read(#"{"default": {"userAgent": "x"}}"#).hasSecrets)
    }

    private static let wrongSettings: [(text: String, message: String)] = [
        ("[]", "an object"), ("{", "line 1"), (#"{"default": {}} x"#, "the end"),
        (#"{"h": {}}"#, "field h: is not an origin"),
        (#"{"https://h/path": {}}"#, "is not an origin"),
        (#"{"https://u@h": {}}"#, "is not an origin"),
        (#"{"ftp://h": {}}"#, "is not an origin"), (#"{"https://h": 1}"#, "field https://h"),
        (#"{"https://h": {}, "https://H:443": {}}"#, "https://h: occurs twice"),
        (#"{"default": {}, "default": {}}"#, "is repeated"),
        (#"{"https://h": {"baerer": "SECRET"}}"#, "https://h.baerer: is not known"),
        (#"{"default": {"bearer": "SECRET"}}"#, "default.bearer: is a credential"),
        (#"{"default": {"basic": {"user": "u", "password": "SECRET"}}}"#, "default.basic"),
        (#"{"default": {"clientCertificate": {}}}"#, "default.clientCertificate"),
        (#"{"default": {"headers": {"Cookie": "SECRET"}}}"#, "default.headers.Cookie"),
        (#"{"default": {"headers": {"authorization": "SECRET"}}}"#, "is a credential"),
        (#"{"https://h": {"bearer": "SECRET", "basic": {}}}"#, "https://h.basic: given beside"),
        (#"{"https://h": {"bearer": "SECRET TOO"}}"#, "https://h.bearer"),
        (#"{"https://h": {"bearer": "SECRET\r\nX: y"}}"#, "https://h.bearer"),
        (#"{"https://h": {"bearer": ""}}"#, "https://h.bearer: is empty"),
        (#"{"https://h": {"basic": {"user": "u:v", "password": "SECRET"}}}"#, "without a colon"),
        (#"{"https://h": {"basic": {"user": "u"}}}"#, "https://h.basic"),
        (#"{"https://h": {"headers": {"X": "SECRET\nY: z"}}}"#, "https://h.headers.X"),
        (#"{"https://h": {"headers": {"X Y": "SECRET"}}}"#, "a header's name"),
        (#"{"https://h": {"headers": {"Host": "SECRET"}}}"#, "set by Dray"),
        (#"{"https://h": {"headers": {"Range": "bytes=0-"}}}"#, "set by Dray"),
        (#"{"https://h": {"headers": {"X": "1", "x": "2"}}}"#, "names a header twice"),
        (#"{"https://h": {"headers": {"User-Agent": "x"}}}"#, "userAgent"),
        (
            #"{"https://h": {"bearer": "SECRET", "headers": {"Authorization": "SECRET"}}}"#,
            "given beside"
        ),
        (#"{"https://h": {"clientCertificate": {"key": "k"}}}"#, "certificate: is missing"),
        (#"{"https://h": {"proxy": "ftp://SECRET@h"}}"#, "https://h.proxy: is not a proxy"),
        (#"{"https://h": {"proxy": "http://"}}"#, "is not a proxy"),
        (#"{"https://h": {"proxy": "http://h/path"}}"#, "is not a proxy"),
        (#"{"https://h": {"proxy": "http://SECRET@h"}}"#, "https://h.proxy: has no port"),
        (#"{"https://h": {"proxy": "http://SECRET@h:"}}"#, "https://h.proxy: has no port"),
        (#"{"https://h": {"proxy": "http://[::1]"}}"#, "https://h.proxy: has no port"),
        (#"{"https://h": {"proxy": "http://h:0"}}"#, "https://h.proxy: has a port that is not 1"),
        (#"{"https://h": {"proxy": "http://h:99999"}}"#, "proxy: has a port that is not 1 to"),
        (#"{"https://h": {"proxy": "http://h:80x"}}"#, "proxy: has a port that is not 1 to 65535"),
        (#"{"https://h": {"proxy": "socks5://a:SECRET@:1080"}}"#, "https://h.proxy: has no host"),
        (#"{"https://h": {"proxy": "http://h h:1"}}"#, "https://h.proxy: is not a proxy"),
        (#"{"https://h": {"proxy": "http://h\u0001:1"}}"#, "https://h.proxy: cannot be used"),
        (#"{"https://h": {"proxy": "http://a%b:1"}}"#, "https://h.proxy: has"),
        (#"{"https://h": {"proxy": "http://[::x]:1"}}"#, "https://h.proxy: has a host in brackets"),
        (#"{"https://h": {"http": "3"}}"#, #"allowed "1.1", "2", "2-prior-knowledge""#),
        (#"{"http://h": {"http": "2"}}"#, #"allowed "1.1", "2-prior-knowledge""#),
        (#"{"https://h": {"timeouts": {"connect": 1}}}"#, "timeouts.connect: is not known"),
        (#"{"https://h": {"timeouts": {"connectSeconds": 0}}}"#, "timeouts.connectSeconds"),
        (#"{"https://h": {"maximumBytes": 0}}"#, "https://h.maximumBytes"),
        (#"{"https://h": {"maximumHeaderBytes": 1.5}}"#, "https://h.maximumHeaderBytes"),
    ]

    @Test(arguments: wrongSettings)
    func whatIsWrongIsNamedAndNoSecretRepeated(text: String, message: String) {
        let failure = #expect(throws: Failure.self) { try read(text) }
        #expect(failure?.message.contains(message) == true, "\(failure?.message ?? "")")
        #expect(failure?.message.contains("SECRET") != true)
        #expect(failure?.message.contains("line 1, column") == true || text == "[]")
    }
}
