extension PlaylistCase {
    private static let folder = "https://cdn.example/vod/title/"

    private static func media(
        _ name: String, _ lines: String, _ expected: [String], imports: [String: String]? = nil
    ) -> PlaylistCase {
        PlaylistCase(
            name: name, text: "#EXTM3U\n" + lines + "\n#EXT-X-ENDLIST\n",
            expected: ["media"] + expected, imports: imports)
    }

    /// Media playlists; every one has an EXT-X-ENDLIST.
    static let media = [
        media(
            "simple",
            "#EXT-X-TARGETDURATION:6\n#EXTINF:6,\na.ts\n#EXTINF:6.5,Title, with comma\nb.ts",
            ["media \(folder)a.ts", "media \(folder)b.ts"]),
        media(
            "absolute, rooted and parent URIs",
            "#EXTINF:6,\nhttp://other.example:8080/x.ts\n#EXTINF:6,\n/root.ts\n#EXTINF:6,\n../up.ts\n"
                + "#EXTINF:6,\n//third.example/y.ts\n#EXTINF:6,\n?seg=1",
            [
                "media http://other.example:8080/x.ts", "media https://cdn.example/root.ts",
                "media https://cdn.example/vod/up.ts", "media https://third.example/y.ts",
                "media \(folder)index.m3u8?seg=1",
            ]),
        media(
            "query strings and fragments", "#EXTINF:6,\na.ts?token=a/b=c&d#t=1\n#EXTINF:6,\na.ts?2",
            ["media \(folder)a.ts?token=a/b=c&d", "media \(folder)a.ts?2"]),
        media(
            "byte ranges of one object",
            "#EXTINF:6,\n#EXT-X-BYTERANGE:100@0\nall.mp4\n#EXTINF:6,\n#EXT-X-BYTERANGE:200\nall.mp4\n"
                + "#EXT-X-BYTERANGE:5@400\n#EXTINF:6,\nall.mp4\n#EXTINF:6,\nall.mp4",
            [
                "media \(folder)all.mp4 0+100", "media \(folder)all.mp4 100+200",
                "media \(folder)all.mp4 400+5", "media \(folder)all.mp4",
            ]),
        media(
            "initialization sections",
            "#EXT-X-MAP:URI=\"init,1.mp4\",BYTERANGE=\"720@0\"\n#EXTINF:6,\n1.m4s\n"
                + "#EXT-X-DISCONTINUITY\n#EXT-X-MAP:URI=\"init2.mp4\"\n#EXTINF:6,\n2.m4s",
            [
                "init \(folder)init,1.mp4 0+720", "media \(folder)1.m4s", "init \(folder)init2.mp4",
                "media \(folder)2.m4s",
            ]),
        media(
            "keys",
            "#EXT-X-KEY:METHOD=AES-128,URI=\"https://keys.example/k?id=1,2\",IV=0x1\n#EXTINF:6,\n1.ts\n"
                + "#EXT-X-KEY:METHOD=SAMPLE-AES,KEYFORMAT=\"identity\",URI=\"k2\"\n#EXTINF:6,\n2.ts\n"
                + "#EXT-X-KEY:METHOD=NONE\n#EXTINF:6,\n3.ts",
            [
                "key https://keys.example/k?id=1,2", "media \(folder)1.ts", "key \(folder)k2",
                "media \(folder)2.ts", "media \(folder)3.ts",
            ]),
        media(
            "keys of a DRM system are its own business",
            "#EXT-X-KEY:METHOD=SAMPLE-AES,KEYFORMAT=\"com.apple.streamingkeydelivery\","
                + "URI=\"skd://asset\"\n#EXT-X-KEY:METHOD=SAMPLE-AES-CTR,"
                + "KEYFORMAT=\"urn:uuid:edef8ba9\",URI=\"data:text/plain;base64,AAAA\"\n"
                + "#EXTINF:6,\n1.mp4",
            ["media \(folder)1.mp4"]),
        media(
            "gaps are not fetched",
            "#EXTINF:6,\n1.ts\n#EXT-X-GAP\n#EXTINF:6,\n2.ts\n#EXTINF:6,\n#EXT-X-GAP\n3.ts\n"
                + "#EXTINF:6,\n4.ts",
            ["media \(folder)1.ts", "media \(folder)4.ts"]),
        media("gaps alone", "#EXTINF:6,\n#EXT-X-GAP\n1.ts", []),
        media(
            "I-frames only",
            "#EXT-X-I-FRAMES-ONLY\n#EXTINF:6,\n#EXT-X-BYTERANGE:9@1\n1.ts\n#EXTINF:6,\n"
                + "#EXT-X-BYTERANGE:9@99\n1.ts\n#EXTINF:6,\n#EXT-X-BYTERANGE:9@1\n2.ts",
            [
                "media \(folder)1.ts 1+9", "media \(folder)1.ts 99+9", "media \(folder)2.ts 1+9",
            ]),
        media(
            "variables",
            "#EXT-X-DEFINE:NAME=\"path\",VALUE=\"a b\"\n#EXT-X-DEFINE:NAME=\"host\",VALUE=\"h.example\"\n"
                + "#EXT-X-MAP:URI=\"https://{$host}/i.mp4\"\n#EXTINF:6,\nhttps://{$host}/{$host}.ts\n"
                + "#EXTINF:6,\nplain.ts\n#EXTINF:6,\n{x}{$host}.ts",
            [
                "init https://h.example/i.mp4", "media https://h.example/h.example.ts",
                "media \(folder)plain.ts", "media \(folder)%7Bx%7Dh.example.ts",
            ]),
        media(
            "imported variables", "#EXT-X-DEFINE:IMPORT=\"cdn\"\n#EXTINF:6,\n{$cdn}/1.ts",
            ["media https://m.example/1.ts"], imports: ["cdn": "https://m.example"]),
        PlaylistCase(
            name: "a variable from the query",
            text: "#EXTM3U\n#EXT-X-DEFINE:QUERYPARAM=\"token\"\n#EXTINF:6,\n1.ts?t={$token}\n"
                + "#EXT-X-ENDLIST",
            expected: ["media", "media http://h/p/1.ts?t=a/b"],
            url: "http://h/p/index.m3u8?x=1&token=a%2Fb"),
        media(
            "low latency: parts and hints are not fetched",
            "#EXT-X-PART-INF:PART-TARGET=1\n#EXT-X-PART:DURATION=1,URI=\"1.1.m4s\"\n#EXTINF:6,\n1.m4s\n"
                + "#EXT-X-PRELOAD-HINT:TYPE=PART,URI=\"2.1.m4s\"\n"
                + "#EXT-X-RENDITION-REPORT:URI=\"../b.m3u8\"",
            ["media \(folder)1.m4s"]),
        media(
            "interstitials are titles of their own",
            "#EXTINF:6,\n1.ts\n#EXT-X-DATERANGE:ID=\"ad\",CLASS=\"com.apple.hls.interstitial\","
                + "START-DATE=\"2020-01-02T21:55:44Z\",X-ASSET-URI=\"http://ads.example/ad1.m3u8\"",
            ["media \(folder)1.ts"]),
        media(
            "unknown tags, comments, blank lines and blanks at line ends",
            "#EXT-X-FUTURE:URI=\"nothing\"\n# comment\n\n#EXTINF:6,  \n  1.ts \t\n#EXT-OATCLS-SCTE35:/DA=",
            ["media \(folder)1.ts"]),
        media(
            "attribute lists in the wild: a leading comma, a word, a stray quote",
            "#EXT-X-MAP:,FLAG,URI=\"i.mp4\"\n#EXT-X-KEY:METHOD=AES-128,IV=00ff\",URI=\"k\"\n"
                + "#EXTINF:6,\n1.ts",
            ["init \(folder)i.mp4", "key \(folder)k", "media \(folder)1.ts"]),
        media(
            "segments without EXTINF", "#EXT-X-TARGETDURATION:6\n1.ts\n2.ts",
            ["media \(folder)1.ts", "media \(folder)2.ts"]),
        media(
            "URIs beyond ASCII are percent-encoded", "#EXTINF:6,\nübung.ts",
            ["media \(folder)%C3%BCbung.ts"]),
        PlaylistCase(
            name: "tags after the end",
            text: "#EXTM3U\n#EXT-X-TARGETDURATION:6\n#EXT-X-ENDLIST\n#EXTINF:6,\n1.ts",
            expected: ["media", "media \(folder)1.ts"]),
    ]

    private static func multivariant(
        _ name: String, _ lines: String, _ expected: [String]
    ) -> PlaylistCase {
        PlaylistCase(
            name: name, text: "#EXTM3U\n" + lines, expected: ["multivariant"] + expected)
    }

    static let multivariant = [
        multivariant(
            "variants",
            "#EXT-X-STREAM-INF:BANDWIDTH=1,CODECS=\"avc1.4d401f,mp4a.40.2\"\nlow/index.m3u8\n"
                + "#EXT-X-STREAM-INF:BANDWIDTH=2\n# a comment\nhttps://b.example/high.m3u8",
            ["variant \(folder)low/index.m3u8", "variant https://b.example/high.m3u8"]),
        multivariant(
            "groups",
            "#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"a\",NAME=\"English, stereo\",URI=\"en.m3u8\"\n"
                + "#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"a\",NAME=\"In the variant\"\n"
                + "#EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID=\"s\",NAME=\"German\",URI=\"de.m3u8\"\n"
                + "#EXT-X-MEDIA:TYPE=VIDEO,GROUP-ID=\"v\",NAME=\"Left\",URI=\"left.m3u8\"\n"
                + "#EXT-X-MEDIA:TYPE=CLOSED-CAPTIONS,GROUP-ID=\"c\",NAME=\"CC\",INSTREAM-ID=\"CC1\"\n"
                + "#EXT-X-STREAM-INF:BANDWIDTH=1,AUDIO=\"a\",SUBTITLES=\"s\"\nv.m3u8",
            [
                "media \(folder)en.m3u8", "subtitles \(folder)de.m3u8", "media \(folder)left.m3u8",
                "variant \(folder)v.m3u8",
            ]),
        multivariant(
            "I-frame and image playlists",
            "#EXT-X-I-FRAME-STREAM-INF:BANDWIDTH=1,URI=\"iframes.m3u8\"\n"
                + "#EXT-X-IMAGE-STREAM-INF:BANDWIDTH=1,RESOLUTION=320x180,URI=\"thumbs.m3u8\"\n"
                + "#EXT-X-STREAM-INF:BANDWIDTH=1\nv.m3u8",
            [
                "iFrames \(folder)iframes.m3u8", "images \(folder)thumbs.m3u8",
                "variant \(folder)v.m3u8",
            ]),
        multivariant(
            "session data, session keys, content steering",
            "#EXT-X-CONTENT-STEERING:SERVER-URI=\"/steering?video=1\",PATHWAY-ID=\"A\"\n"
                + "#EXT-X-SESSION-DATA:DATA-ID=\"title\",VALUE=\"x\"\n"
                + "#EXT-X-SESSION-DATA:DATA-ID=\"chapters\",URI=\"chapters.json\"\n"
                + "#EXT-X-SESSION-KEY:METHOD=AES-128,URI=\"https://key.example\"\n"
                + "#EXT-X-STREAM-INF:BANDWIDTH=1\nv.m3u8",
            [
                "variant \(folder)v.m3u8", "data \(folder)chapters.json",
                "key https://key.example/",
            ]),
        multivariant(
            "variables",
            "#EXT-X-DEFINE:NAME=\"q\",VALUE=\"hd\"\n#EXT-X-STREAM-INF:BANDWIDTH=1\n{$q}/v.m3u8",
            ["variant \(folder)hd/v.m3u8"]),
    ]
}
