import Titles

extension PlaylistCase {
    private static func refused(
        _ name: String, _ text: String, _ failure: String
    ) -> PlaylistCase {
        PlaylistCase(
            name: name, text: text, expected: [failure], url: "http://h/p.m3u8",
            policies: [.strict])
    }

    /// Bodies that are not fetchable playlists, with their failures.
    static let refused = [
        refused("nothing", "", "manifest.empty: http://h/p.m3u8: the body is empty"),
        refused("blanks", " \r\n\n", "manifest.empty: http://h/p.m3u8: the body is empty"),
        refused(
            "an HTML page", "\n<!DOCTYPE HTML><html><body>Not found</body></html>",
            "manifest.html: http://h/p.m3u8: received an HTML page instead of a playlist"),
        refused(
            "a DASH manifest", "<?xml version=\"1.0\"?>\n<MPD type=\"static\"></MPD>",
            "manifest.unsupported: http://h/p.m3u8: this is a DASH manifest (MPD), but the list specifies HLS"
        ),
        refused(
            "something else", "[playlist]\nFile1=a.mp3",
            "manifest.malformed: http://h/p.m3u8 line 1: a playlist starts with #EXTM3U"),
        refused(
            "no #EXTM3U", "#EXTINF:6,\na.ts\n#EXT-X-ENDLIST",
            "manifest.malformed: http://h/p.m3u8 line 1: a playlist starts with #EXTM3U"),
        refused(
            "nothing listed", "#EXTM3U\n",
            "manifest.empty: http://h/p.m3u8: the playlist lists no segment"),
        refused(
            "an end and no segment", "#EXTM3U\n#EXT-X-ENDLIST",
            "manifest.empty: http://h/p.m3u8: the playlist lists no segment"),
        refused(
            "renditions and no variant", "#EXTM3U\n#EXT-X-SESSION-DATA:DATA-ID=\"a\",VALUE=\"b\"",
            "manifest.empty: http://h/p.m3u8: the playlist names no variant"),
        refused(
            "live", "#EXTM3U\n#EXT-X-TARGETDURATION:6\n#EXTINF:6,\na.ts\n",
            "manifest.live: http://h/p.m3u8: the playlist has no EXT-X-ENDLIST: it is live, or it was "
                + "cut short"),
        refused(
            "live before its first segment", "#EXTM3U\n#EXT-X-TARGETDURATION:6\n",
            "manifest.live: http://h/p.m3u8: the playlist has no EXT-X-ENDLIST: it is live, or it was "
                + "cut short"),
        refused(
            "a delta update", "#EXTM3U\n#EXT-X-SKIP:SKIPPED-SEGMENTS=3\n#EXTINF:4,\na.ts\n",
            "manifest.unsupported: http://h/p.m3u8 line 2: a delta update (EXT-X-SKIP) is not the "
                + "whole playlist"),
        refused(
            "a NUL behind a duration", "#EXTM3U\n#EXTINF:6,t\0t\na.ts\n#EXT-X-ENDLIST",
            "manifest.malformed: http://h/p.m3u8 line 2: it contains a NUL character"),
        refused(
            "a file URI", "#EXTM3U\n#EXTINF:6,\nfile:///etc/passwd\n#EXT-X-ENDLIST",
            "manifest.uriRefused: http://h/p.m3u8 line 3: the URI must start with http:// or https://, "
                + "given file:///etc/passwd"),
        refused(
            "a data URI as a key",
            "#EXTM3U\n#EXT-X-KEY:METHOD=AES-128,URI=\"data:;base64,AAAA\"\n#EXT-X-ENDLIST",
            "manifest.uriRefused: http://h/p.m3u8 line 2: the URI must start with http:// or https://, "
                + "given data:;base64,AAAA"),
        refused(
            "a concat URI in a multivariant playlist",
            "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\nconcat:http://h/a|file:///etc/passwd",
            "manifest.uriRefused: http://h/p.m3u8 line 3: the URI must start with http:// or https://, "
                + "given concat:http://h/a|file:///etc/passwd"),
        refused(
            "user information", "#EXTM3U\n#EXTINF:6,\nhttp://u:p@h/a.ts\n#EXT-X-ENDLIST",
            "manifest.uriRefused: http://h/p.m3u8 line 3: the URI must not hold a user name or "
                + "password, given http://…@h/a.ts"),
        refused(
            "a control character in a URI", "#EXTM3U\n#EXTINF:6,\na\tb.ts\n#EXT-X-ENDLIST",
            "manifest.malformed: http://h/p.m3u8 line 3: the URI holds a control character, given "
                + "a\\u{9}b.ts"),
        refused(
            "no URI after a variant",
            "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\n#EXT-X-STREAM-INF:BANDWIDTH=2\nb.m3u8",
            "manifest.malformed: http://h/p.m3u8 line 2: no URI follows EXT-X-STREAM-INF"),
        refused(
            "no URI after the last variant", "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\n",
            "manifest.malformed: http://h/p.m3u8 line 2: no URI follows EXT-X-STREAM-INF"),
        refused(
            "a mix of both kinds",
            "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\na.m3u8\n#EXTINF:6,\nb.ts\n#EXT-X-ENDLIST",
            "manifest.malformed: http://h/p.m3u8 line 4: it mixes tags of a media playlist and of a "
                + "multivariant playlist"),
        refused(
            "a bare URI in a multivariant playlist",
            "#EXTM3U\nb.m3u8\n#EXT-X-STREAM-INF:BANDWIDTH=1\na.m3u8\n",
            "manifest.malformed: http://h/p.m3u8 line 2: a multivariant playlist has a URI "
                + "without EXT-X-STREAM-INF"),
        refused(
            "a map without a URI", "#EXTM3U\n#EXT-X-MAP:BYTERANGE=\"1@0\"\n#EXT-X-ENDLIST",
            "manifest.malformed: http://h/p.m3u8 line 2: a tag has no URI"),
        refused(
            "an open quote", "#EXTM3U\n#EXT-X-MAP:URI=\"a.mp4\n#EXT-X-ENDLIST",
            "manifest.malformed: http://h/p.m3u8 line 2: a quoted value has no closing quote"),
        refused(
            "an attribute twice", "#EXTM3U\n#EXT-X-MAP:URI=\"a\",URI=\"b\"\n#EXT-X-ENDLIST",
            "manifest.malformed: http://h/p.m3u8 line 2: the attribute URI occurs twice"),
        refused(
            "a byte range without numbers",
            "#EXTM3U\n#EXTINF:6,\n#EXT-X-BYTERANGE:all\na.ts\n#EXT-X-ENDLIST",
            "manifest.malformed: http://h/p.m3u8 line 3: EXT-X-BYTERANGE is not length or "
                + "length@offset"),
        refused(
            "no duration", "#EXTM3U\n#EXTINF:long,\na.ts\n#EXT-X-ENDLIST",
            "manifest.malformed: http://h/p.m3u8 line 2: EXTINF has no duration"),
        refused(
            "an undefined variable", "#EXTM3U\n#EXTINF:6,\n{$a}.ts\n#EXT-X-ENDLIST",
            "manifest.malformed: http://h/p.m3u8 line 3: the variable a is used before it is defined"
        ),
        refused(
            "an import without a multivariant playlist",
            "#EXTM3U\n#EXT-X-DEFINE:IMPORT=\"a\"\n#EXT-X-ENDLIST",
            "manifest.malformed: http://h/p.m3u8 line 2: EXT-X-DEFINE imports a, but no multivariant "
                + "playlist named this one"),
        refused(
            "a query parameter that is not there",
            "#EXTM3U\n#EXT-X-DEFINE:QUERYPARAM=\"a\"\n#EXT-X-ENDLIST",
            "manifest.malformed: http://h/p.m3u8 line 2: the playlist's URL has no query parameter a"
        ),
        refused(
            "a variable twice",
            "#EXTM3U\n#EXT-X-DEFINE:NAME=\"a\",VALUE=\"1\"\n#EXT-X-DEFINE:NAME=\"a\",VALUE=\"2\"\n",
            "manifest.malformed: http://h/p.m3u8 line 3: the variable a is defined twice"),
    ]
}
