import Model
import Testing

@Suite("Signatures and tokens in queries")
struct SignedQueryTests {
    @Test(
        "none stands in a key",
        arguments: [
            ("token=s", ""), ("v=1&token=s", "v=1"), ("Token=s&v=1&TOKEN=t", "v=1"),
            ("X-Amz-Algorithm=a&X-Amz-Credential=b&X-Amz-Date=c&X-Amz-Signature=d&n=1", "n=1"),
            ("Policy=p&Signature=s&Key-Pair-Id=k", ""), ("Expires=1&id=7&Signature=s", "id=7"),
            ("hdnts=exp=1~acl=/*~hmac=ab", ""), ("exp=1&sig", ""), ("X-Goog-Signature=s", ""),
            ("a&auth_key=s&b", "a&b"),
            ("n=1&st=1~exp=2~acl=/*~hmac=ab", "n=1"),
            // Names as they may be written.
            ("X%2DAmz%2DSignature=s&n=1", "n=1"), ("%73ig=s&n=1", "n=1"), ("auth%5fkey=s", ""),
            ("n=1;token=s;m=2", "n=1;m=2"), ("n=1&amp;Signature=s&amp;m=2", "n=1&amp;m=2"),
            ("amp;sig=s&n=1", "n=1"), ("hdnts=exp%3D1%7Ehmac%3Dab", ""),
            ("n=1&x=exp=1%7Eacl=/*%7Ehmac=ab", "n=1"),
            // Services.
            ("sv=2&ss=b&srt=o&sp=r&se=2026-01-01&st=2025-01-01&spr=https&sig=s&n=1", "n=1"),
            (
                "x-oss-signature=s&x-oss-expires=9&x-oss-process=image/resize",
                "x-oss-process=image/resize"
            ),
            ("OSSAccessKeyId=a&Expires=9&Signature=s&n=1", "n=1"),
            ("q-sign-algorithm=sha1&q-ak=a&q-sign-time=1&q-signature=s", ""),
            ("txSecret=s&txTime=5f5e100a", ""), ("wsSecret=s&wsTime=9", ""),
            ("hwSecret=s&hwTime=9", ""), ("verify=1-s", ""), ("__token__=s", ""), ("__gda__=s", ""),
            ("wowzatokenhash=s&wowzatokenendtime=1&wowzatokenstarttime=0", ""),
            ("token=s&expires=9&token_path=/v/&n=1", "n=1"),
            ("sign=s&t=5f5e100a", ""), ("h=0123456789abcdef&e=1700000000&n=1", "n=1"),
            ("st=AbCd-_1234567890abcdeg&e=1700000000", ""), ("md5=0123456789abcdef&expires=9", ""),
            ("hash=AbCd%2B%2F12345678901%3D&n=1&exp=9", "n=1"),
        ])
    func secrets(query: String, kept: String) {
        let bytes = Array(query.utf8)
        let rest = SignedQuery.withoutSecrets(bytes[...])
        #expect(rest.map { String(decoding: $0, as: UTF8.self) } == kept)
    }

    @Test(
        "what names an object stays",
        arguments: [
            "", "id=7", "tokens=1", "a=token", "x-amz-", "v=1&&w", "signatures=1", "md5=s", "h=720",
            "policy=a", "exp=1", "e=7", "h=720&e=7", "t=90", "st=1", "sv=1&se=2", "a;b;c",
            "x-oss-process=image/resize", "a=%2Dsig", "amp;v=1",
            // A height or a short hash beside a time, and a hash beside what may be a mere number.
            "w=300&h=200&t=1700000000", "h=200&e=1700000000", "st=1&ex=1700000000",
            "md5=s&expires=9",
            "h=0123456789abcdef&t=1700000000", "hash=0123456789abcdef%20&expires=9",
        ])
    func others(query: String) {
        #expect(SignedQuery.withoutSecrets(Array(query.utf8)[...]) == nil)
    }

    @Test(
        "a token in a path",
        arguments: [
            ("/st=1~exp=2~acl=%2f*~hmac=ab/v/a.ts", "/~/v/a.ts"), ("/hdntl=exp=1/v/a", "/~/v/a"),
            ("/exp=2%7Ehmac%3Dab/a", "/~/a"), ("/bcdn_token=s&expires=1&token_path=%2Fv/a", "/~/a"),
            ("/a.ts;token=s", "/a.ts;~"), ("/v=1/a", nil), ("/token/a", nil), ("/a~hmac/b", nil),
            ("/100%25/a", nil),
        ] as [(String, String?)])
    func paths(path: String, becomes: String?) {
        let out = SignedPath.replacingTokens(Array(path.utf8)[...], with: SignedPath.mark)
        #expect(out.map { String(decoding: $0, as: UTF8.self) } == becomes)
    }

    /// Also compared by PostgreSQL: see `KeyConflictTests`.
    @Test(
        "a signature names no other object; a token may",
        arguments: [
            ("http://h/a?X%2DAmz%2DSignature=x", "http://h/a?X-Amz-Signature=y", true),
            ("http://h/a?token=x&expires=1", "http://h/a?token=y&expires=2", false),
            (
                "http://h/a?md5=0123456789abcdef&e=170000000",
                "http://h/a?md5=fedcba9876543210&e=170000000", false
            ),
            ("http://h/a?h=200&t=1700000000", "http://h/a?h=450&t=1700000000", false),
            ("http://h/a?md5=x", "http://h/a?md5=y", false),
            ("http://h/a?token=x&Expires=1&sig=s", "http://h/a?token=y&Expires=1&sig=s", false),
            ("http://h/hdnts=x/a", "http://h/hdnts=y/a", true),
            ("http://h/~/a", "http://h/exp=1~hmac=f/a", false),
            ("http://h/token=x/a", "http://h/token=y/a", false),
            ("http://h/a?Expires=1&Signature=x", "http://h/a?Expires=2&Signature=y", true),
            ("http://h/a?id=1&sig=x", "http://h/a?sig=y&id=1", true),
            ("http://h/a?hdnts=x", "http://h/a?hdnts=y", true),
            ("http://h/a?token=x", "http://h/a?token=y", false),
            ("http://h/a?token=x", "http://h/a", false),
            ("http://h/a?exp=1", "http://h/a?exp=2", false),
            ("http://h/a?sig=x", "http://h/b?sig=x", false),
            ("http://h/a?id=1&sig=x", "http://h/a?id=2&sig=x", false),
            ("http://h/a//b", "http://h/a/b", false),
        ])
    func objects(left: String, right: String, isSame: Bool) {
        #expect(SignedQuery.isSameObject(Array(left.utf8), Array(right.utf8)) == isSame)
    }
}
