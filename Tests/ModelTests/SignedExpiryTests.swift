import Model
import Testing

@Suite struct SignedExpiryTests {
    @Test(
        arguments: [(String, Double)]([
            ("http://a.test/1.ts?Expires=1700000000&Signature=x", 1_700_000_000),
            ("http://a.test/1.ts?e=1700000000&st=0123456789abcdef", 1_700_000_000),
            ("http://a.test/1.ts?exp=1700000000123&sig=x", 1_700_000_000.123),
            ("http://a.test/1.ts?txSecret=x&txTime=6553F100", 1_700_000_000),
            ("http://a.test/1.ts?hdnts=st=1~exp=1700000000~acl=/*~hmac=x", 1_700_000_000),
            ("http://a.test/1.ts?hdnts=exp%3D1700000000~acl%3D%2F*~hmac%3Dx", 1_700_000_000),
            ("http://a.test/exp=1700000000~acl=/*~hmac=x/1.ts", 1_700_000_000),
            (
                "http://a.test/1.ts?X-Amz-Date=20231114T221320Z&X-Amz-Expires=60&X-Amz-Signature=x",
                1_700_000_060
            ),
            ("http://a.test/1.ts?x-goog-expires=60&x-goog-date=20231114T221320Z", 1_700_000_060),
            ("http://a.test/1.ts?sv=1&se=2023-11-14T22%3A13%3A20Z&sig=x", 1_700_000_000),
            ("http://a.test/1.ts?Expires=1800000000&e=1700000000", 1_700_000_000),
            (
                "http://a.test/1.ts?token=eyJhbGciOiJIUzI1NiJ9.eyJzdWIiO"
                    + "iJ2IiwiZXhwIjoxNzAwMDAwMDAwLCJraWQiOiJhPj9-In0.c2ln",
                1_700_000_000
            ),
            (
                "http://a.test/1.ts?Key-Pair-Id=K&Signature=s&Policy="
                    + "eyJTdGF0ZW1lbnQiOlt7IlJlc291cmNlIjoiaHR0cHM6Ly9hLnRlc3QvKiIsIkNvbmRpdG"
                    + "lvbiI6eyJEYXRlR3JlYXRlclRoYW4iOnsiQVdTOkVwb2NoVGltZSI6MTYwMDAwMDAwMH0s"
                    + "IkRhdGVMZXNzVGhhbiI6eyJBV1M6RXBvY2hUaW1lIjoxNzAwMDAwMDAwfX19XX0_",
                1_700_000_000
            ),
        ])) func isRead(url: String, seconds: Double)
    {
        #expect(SignedExpiry.seconds(of: Array(url.utf8)) == seconds)
    }

    @Test(arguments: [
        "http://a.test/1.ts", "http://a.test/1.ts?token=1700000000", "http://a.test/1.ts?exp=soon",
        "http://a.test/1.ts?X-Amz-Expires=60", "http://a.test/1.ts?Expires=", "?", "",
        "http://a.test/1.ts?se=20231414T000000Z", "http://a.test/1.ts?exp=123456789012345678901234",
        "http://a.test/1.ts?token=eyJ.e30.x", "http://a.test/1.ts?token=eyJ..", "?Policy=",
    ]) func isNotKnown(url: String) {
        #expect(SignedExpiry.seconds(of: Array(url.utf8)) == nil)
    }

    @Test(arguments: [
        ("http://a.test/1.ts", false), ("http://a.test/1.ts?v=1", false),
        ("http://a.test/1.ts?v=1&token=x", true), ("http://a.test/hdntl=exp=1~hmac=x/1.ts", true),
        ("http://a.test/1.ts?Policy=p&Key-Pair-Id=k&Signature=s", true),
    ]) func isSigned(url: String, expected: Bool) {
        #expect(SignedQuery.isSigned(url: Array(url.utf8)) == expected)
    }
}
