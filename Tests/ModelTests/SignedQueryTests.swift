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
        ])
    func secrets(query: String, kept: String) {
        let bytes = Array(query.utf8)
        let rest = SignedQuery.withoutSecrets(bytes[...])
        #expect(rest.map { String(decoding: $0, as: UTF8.self) } == kept)
    }

    @Test(
        "what names an object stays",
        arguments: ["", "id=7", "tokens=1", "a=token", "x-amz-", "v=1&&w", "signatures=1"])
    func others(query: String) {
        #expect(SignedQuery.withoutSecrets(Array(query.utf8)[...]) == nil)
    }

    @Test(
        "a signature names no other object; a token may",
        arguments: [
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
