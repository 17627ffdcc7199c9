import Model
import Testing

@testable import Titles

/// Content steering as manifests declare it.
@Suite struct ContentSteeringTests {
    private static func resolver(
        _ body: String, _ kind: AssetKind, at url: String = "http://o/t/m"
    ) throws -> TitleResolver {
        var resolver = try TitleResolver(url: url, kind: kind)
        for request in resolver.next() {
            try resolver.receive(
                request, finalURL: "http://edge/x/m", body: Array(body.utf8),
                sha256: String(repeating: "0", count: 64))
        }
        return resolver
    }

    /// The failure of its steering; nil if it is followed.
    private static func rejection(_ resolver: TitleResolver) -> Failure? {
        do throws(Failure) {
            _ = try resolver.steering()
            return nil
        } catch {
            return error
        }
    }

    private static func playlist(_ tag: String) -> String {
        """
        #EXTM3U
        #EXT-X-DEFINE:NAME="s",VALUE="steer"
        \(tag)
        #EXT-X-STREAM-INF:BANDWIDTH=1,PATHWAY-ID="a",STABLE-VARIANT-ID="v"
        v.m3u8
        """
    }

    @Test func aPlaylistNamesItsServer() throws {
        let resolver = try Self.resolver(
            Self.playlist("#EXT-X-CONTENT-STEERING:SERVER-URI=\"/{$s}?a\",PATHWAY-ID=\"b\""), .hls)
        let found = try resolver.steering()
        let steering = try #require(found)
        #expect(steering.serverURL == "http://edge/steer?a")
        #expect(steering.first == ["b"] && steering.locations.isEmpty)
        #expect(resolver.redirectedManifest == "http://edge/x/m")
    }

    @Test func aPlaylistWithoutItHasNone() throws {
        let resolver = try Self.resolver(Self.playlist("#EXT-X-VERSION:9"), .hls)
        let steering = try resolver.steering()
        #expect(steering == nil)
    }

    /// It matters to players alone: the title itself can be fetched.
    @Test(arguments: [
        "SERVER-URI=\"data:application/json,{}\"", "PATHWAY-ID=\"a\"", "SERVER-URI=\"{$none}\"",
        "SERVER-URI=\"x", "SERVER-URI=\"x\",SERVER-URI=\"y\"", "",
    ])
    func oneThatCannotBeFollowedIsNoFailureOfTheTitle(attributes: String) throws {
        let resolver = try Self.resolver(
            Self.playlist("#EXT-X-CONTENT-STEERING:\(attributes)"), .hls)
        #expect(Self.rejection(resolver)?.code == .manifestUnsupported)
        #expect(Self.rejection(resolver)?.message.contains("content steering") == true)
    }

    private static func mpd(_ text: String) -> String {
        """
        <MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="static" mediaPresentationDuration="PT4S">
        \(text)
        <Period><AdaptationSet mimeType="video/mp4">
        <SegmentTemplate media="$Number$.m4s" duration="2"/>
        <Representation id="v" bandwidth="1"/></AdaptationSet></Period></MPD>
        """
    }

    @Test func anMPDNamesItsServerAndLocations() throws {
        let resolver = try Self.resolver(
            Self.mpd(
                """
                <BaseURL serviceLocation="a">one/</BaseURL>
                <BaseURL serviceLocation="b">http://b/two/</BaseURL>
                <BaseURL serviceLocation="b">http://c/</BaseURL><BaseURL>http://d/</BaseURL>
                <ContentSteering defaultServiceLocation="b a" queryBeforeStart="true">
                  /steer<x>ignored</x>
                </ContentSteering>
                """), .dash)
        let found = try resolver.steering()
        let steering = try #require(found)
        #expect(steering.first == ["b", "a"] && steering.asksBeforeStart)
        #expect(steering.serverURL == "http://edge/steer" && steering.proxyURL == nil)
        #expect(steering.locations == ["a", "b"])
        let tracks = try resolver.tracks()
        let locations = try #require(tracks.first?.locations)
        #expect(locations.base == "http://edge/x/one/")
        #expect(locations.levels.map { $0.map(\.location) } == [[""], ["a", "b"]])
        #expect(
            locations.levels.map { $0.map(\.reference) }
                == [["http://edge/x/m"], ["one/", "http://b/two/"]])
    }

    /// An absolute one makes those above unimportant.
    @Test func locationsOfAllLevelsCount() throws {
        let resolver = try Self.resolver(
            """
            <MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="static"
              mediaPresentationDuration="PT8S">
            <BaseURL serviceLocation="a">http://a/</BaseURL>
            <Period duration="PT4S"><BaseURL serviceLocation="b">b/</BaseURL>
            <AdaptationSet mimeType="video/mp4">
            <BaseURL serviceLocation="c">//c/</BaseURL><BaseURL serviceLocation="a">http:/</BaseURL>
            <SegmentTemplate media="$Number$.m4s" duration="2"/>
            <Representation id="v" bandwidth="1"/>
            <Representation id="w" bandwidth="2"><BaseURL>http://d/</BaseURL></Representation>
            </AdaptationSet></Period>
            <Period duration="PT4S"><AdaptationSet mimeType="video/mp4">
            <BaseURL>x/</BaseURL><BaseURL>y/</BaseURL><BaseURL serviceLocation="e">z/</BaseURL>
            <SegmentTemplate media="$Number$.m4s" duration="2"/>
            <Representation id="v" bandwidth="1"/></AdaptationSet></Period></MPD>
            """, .dash)
        // A level has several, so no server is needed.
        let steering = try resolver.steering()
        #expect(steering?.locations == ["a", "b", "c", "e"])
        let tracks = try resolver.tracks()
        let found = tracks.map { track in
            track.locations?.levels.map { $0.map { "\($0.location)=\($0.reference)" } }
        }
        #expect(
            found == [
                [["c=http://c/"]], nil,
                [["a=http://a/"], ["=x/", "e=z/"]],
            ])
        #expect(tracks.map { $0.locations?.base } == ["http://c/", nil, "http://a/x/"])
        #expect(
            tracks.last?.locations?.hosts == ["http://a/", "http://a/x/", "http://a/z/"])
    }

    @Test func aProxyIsNamed() throws {
        let resolver = try Self.resolver(
            Self.mpd(
                """
                <BaseURL serviceLocation="a">one/</BaseURL>
                <ContentSteering proxyServerURL="/proxy?x=1">http://s/steer</ContentSteering>
                """), .dash)
        let steering = try resolver.steering()
        #expect(steering?.serverURL == "http://s/steer")
        #expect(steering?.proxyURL == "http://edge/proxy?x=1")
        #expect(steering?.first == [])
    }

    @Test(arguments: [
        ("<BaseURL serviceLocation='a'>one/</BaseURL>", false),
        ("<BaseURL>one/</BaseURL><BaseURL>two/</BaseURL>", false),
        ("<ContentSteering>http://s/</ContentSteering>", false),
        (
            "<BaseURL serviceLocation='a'>1/</BaseURL><BaseURL serviceLocation='b'>2/</BaseURL>",
            true
        ),
        (
            "<BaseURL serviceLocation='a'>1/</BaseURL>"
                + "<Period duration='PT1S'><BaseURL serviceLocation='b'>2/</BaseURL></Period>",
            false
        ),
    ])
    func locationsAloneAreEnough(_ text: String, _ isSteered: Bool) throws {
        let resolver = try Self.resolver(Self.mpd(text), .dash)
        let steering = try resolver.steering()
        #expect((steering != nil) == isSteered)
        #expect(steering?.serverURL == nil)
    }

    @Test(arguments: [
        "<BaseURL serviceLocation='a'>1/</BaseURL><ContentSteering>ftp://s/</ContentSteering>",
        "<BaseURL serviceLocation='a,b'>1/</BaseURL><ContentSteering>http://s/</ContentSteering>",
        "<BaseURL serviceLocation='a'>1/</BaseURL>"
            + "<ContentSteering proxyServerURL='data:x'>http://s/</ContentSteering>",
    ])
    func anMPDThatCannotBeFollowedIsNamed(text: String) throws {
        let resolver = try Self.resolver(Self.mpd(text), .dash)
        #expect(Self.rejection(resolver)?.code == .manifestUnsupported)
    }
}
