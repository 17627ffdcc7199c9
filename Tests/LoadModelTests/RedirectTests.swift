import LoadModel
import Model
import Testing
import Titles

/// Redirects, and what the manifests behind them list.
@Suite struct RedirectTests {
    struct Case: Sendable {
        let from: String
        let to: String
        let url: String
        let moved: String
    }

    /// Relative references of RFC 3986 as seen from a manifest at two places.
    @Test(arguments: [
        Case(
            from: "http://a/v/m.m3u8", to: "http://b:81/v/m.m3u8", url: "http://a/v/1.ts",
            moved: "http://b:81/v/1.ts"),
        Case(
            from: "http://a/v/m.m3u8?t=/1", to: "https://b/x/y/m.m3u8?s=/2/",
            url: "http://a/v/s/1.ts?q", moved: "https://b/x/y/s/1.ts?q"),
        Case(
            from: "http://a/v/720/m.m3u8", to: "http://b/e/v/720/m.m3u8", url: "http://a/v/key",
            moved: "http://b/e/v/key"),
        Case(
            from: "http://a/v/w/m.m3u8", to: "http://b/m.m3u8", url: "http://a/key",
            moved: "http://b/key"),
        Case(
            from: "http://a/m.m3u8", to: "http://b/m.m3u8", url: "http://c/1.ts",
            moved: "http://c/1.ts"),
        Case(
            from: "http://a/m.m3u8", to: "http://b/m.m3u8", url: "http://a:80/1.ts",
            moved: "http://a:80/1.ts"),
        Case(from: "http://a", to: "http://b", url: "http://a/1.ts", moved: "http://b/1.ts"),
    ])
    func whatAManifestListsFollowsIt(_ wanted: Case) {
        let move = ManifestMove(from: wanted.from, to: wanted.to)
        #expect(!move.isNone)
        #expect(move.url(wanted.url) == wanted.moved)
    }

    /// What has a path of its own follows the origin only, and what has a host nothing.
    @Test(arguments: [
        (ReferenceForm.relative, "http://b/s/4/1.ts"), (.path, "http://b/v/1.ts"),
        (.url, "http://a/v/1.ts"),
    ])
    func onlyWhatAReferenceLeavesOutFollows(form: ReferenceForm, moved: String) {
        let move = ManifestMove(from: "http://a/v/m.mpd", to: "http://b/s/4/m.mpd")
        #expect(move.url("http://a/v/1.ts", as: form) == moved)
    }

    @Test func aManifestAtItsOwnPlaceMovesNothing() {
        #expect(ManifestMove(from: "http://a/v/m.m3u8", to: "http://a/v/n.m3u8?x").isNone)
    }

    private static func code(_ route: RedirectRoute, _ location: String) -> String {
        var route = route
        do throws(Failure) { return try route.follow(to: location) } catch {
            #expect(!error.message.contains("u:p"))
            return error.code.rawValue
        }
    }

    @Test func aRouteEndsAtItsLimitAndWhereItWasBefore() throws {
        var route = RedirectRoute("http://a/1?t=1", atMost: 3)
        #expect(!route.isRedirected)
        #expect(try route.follow(to: "2") == "http://a/2")
        #expect(!route.isElsewhere)
        #expect(try route.follow(to: "//b/3#f") == "http://b/3")
        #expect(route.isElsewhere && route.isRedirected)
        #expect(Self.code(route, "http://a/2") == "origin.redirectLoop")
        #expect(Self.code(route, "ftp://a/2") == "origin.redirectRefused")
        #expect(try route.follow(to: "http://a/4") == "http://a/4")
        #expect(!route.isElsewhere)
        #expect(Self.code(route, "http://a/5") == "origin.redirectLimit")
    }

    @Test(arguments: [
        ("http://a/1", "origin.redirectLoop"), ("mailto:x@y", "origin.redirectRefused"),
        ("http://", "origin.redirectRefused"), ("http://u:p@b/", "origin.redirectRefused"),
        ("http://b/" + String(repeating: "x", count: 9_000), "origin.redirectRefused"),
    ])
    func aHostileLocationIsRefused(_ location: String, _ code: String) {
        let route = RedirectRoute("http://a/1", atMost: 3)
        #expect(Self.code(route, location) == code)
    }
}
