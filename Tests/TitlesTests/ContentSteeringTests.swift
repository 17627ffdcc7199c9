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
    private static func refusal(_ resolver: TitleResolver) -> Failure? {
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
        #expect(steering.first == "b" && steering.locations.isEmpty)
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
        #expect(Self.refusal(resolver)?.code == .manifestUnsupported)
        #expect(Self.refusal(resolver)?.message.contains("content steering") == true)
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
        #expect(steering.first == "b" && steering.asksBeforeStart)
        #expect(steering.base == "http://edge/x/one/")
        #expect(
            steering.locations == [
                ContentSteering.Location(name: "a", base: "http://edge/x/one/"),
                ContentSteering.Location(name: "b", base: "http://b/two/"),
            ])
    }

    @Test(arguments: [
        ("<BaseURL serviceLocation='a'>one/</BaseURL>", false),
        ("<BaseURL>one/</BaseURL><BaseURL>two/</BaseURL>", false),
        ("<ContentSteering>http://s/</ContentSteering>", false),
        (
            "<BaseURL serviceLocation='a'>1/</BaseURL><BaseURL serviceLocation='b'>2/</BaseURL>",
            true
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
    ])
    func anMPDThatCannotBeFollowedIsNamed(text: String) throws {
        let resolver = try Self.resolver(Self.mpd(text), .dash)
        #expect(Self.refusal(resolver)?.code == .manifestUnsupported)
    }
}
