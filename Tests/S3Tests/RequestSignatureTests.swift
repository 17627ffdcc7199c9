import Model
import Testing

@testable import S3

/// AWS's published examples of signature version 4.
@Suite struct RequestSignatureTests {
    private static let example = Credentials(
        accessKey: "AKIAIOSFODNN7EXAMPLE", secretKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")
    private static let signature = RequestSignature(credentials: example, region: "us-east-1")
    private static let host = "examplebucket.s3.amazonaws.com"

    /// Returns the signature alone.
    private static func sign(
        _ method: String, _ path: String, query: [(name: String, value: String)] = [],
        headers: [(name: String, value: String)], bodyHash: String = RequestSignature.emptyBody
    ) -> Substring? {
        let headers =
            headers + [
                ("host", host), ("x-amz-date", "20130524T000000Z"),
                ("x-amz-content-sha256", bodyHash),
            ]
        return signature.authorization(
            method: method, path: path, query: query, headers: headers, bodyHash: bodyHash,
            time: "20130524T000000Z"
        ).split(separator: "Signature=").last
    }

    @Test func anObjectIsRead() {
        #expect(
            Self.sign("GET", "/test.txt", headers: [("range", "bytes=0-9")])
                == "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41")
    }

    @Test func anObjectIsPut() {
        #expect(
            Self.sign(
                "PUT", "/" + RequestSignature.encoded("test$file.text"),
                headers: [
                    ("date", "Fri, 24 May 2013 00:00:00 GMT"),
                    ("x-amz-storage-class", "REDUCED_REDUNDANCY"),
                ], bodyHash: "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072")
                == "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd")
    }

    @Test func aBucketIsAsked() {
        #expect(
            Self.sign("GET", "/", query: [("lifecycle", "")], headers: [])
                == "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543")
    }

    @Test func aBucketIsListed() {
        #expect(
            Self.sign("GET", "/", query: [("prefix", "J"), ("max-keys", "2")], headers: [])
                == "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7")
    }

    /// `get-vanilla` of the suite of test vectors.
    @Test func anotherServiceIsAsked() {
        let credentials = Credentials(
            accessKey: "AKIDEXAMPLE", secretKey: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY")
        let header = RequestSignature(
            credentials: credentials, region: "us-east-1", service: "service"
        ).authorization(
            method: "GET", path: "/", query: [],
            headers: [("host", "example.amazonaws.com"), ("x-amz-date", "20150830T123600Z")],
            bodyHash: RequestSignature.emptyBody, time: "20150830T123600Z")
        #expect(
            header
                == "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request,"
                + "SignedHeaders=host;x-amz-date,Signature="
                + "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31")
    }

    /// The example of "Authenticating Requests: Using Query Parameters".
    @Test func anObjectIsReadByItsURLAlone() throws {
        let signer = URLSigner(credentials: Self.example, now: 1_369_353_600)
        let object = try BucketLocation(
            object: "s3://examplebucket/test.txt?endpoint=https://s3.amazonaws.com&style=host")
        #expect(
            signer.url(ofObject: object, seconds: 86_400)
                == "https://examplebucket.s3.amazonaws.com/test.txt?X-Amz-Algorithm=AWS4-HMAC-SHA256"
                + "&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2Fus-east-1%2Fs3%2Faws4_request"
                + "&X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400&X-Amz-SignedHeaders=host"
                + "&X-Amz-Signature="
                + "aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404")
    }

    /// The signature was calculated by another program.
    @Test func aURLHasTheTokenOfTemporaryCredentials() throws {
        let credentials = Credentials(
            accessKey: Self.example.accessKey, secretKey: Self.example.secretKey,
            sessionToken: "Fwo+/==", expiresAt: 1_369_353_700)
        let signer = URLSigner(credentials: credentials, now: 1_369_353_600)
        let object = try BucketLocation(
            object:
                "s3://edge/a%20b/%C3%A4+1.bin?endpoint=http://127.0.0.1:9000&region=eu-central-1")
        #expect(
            signer.url(ofObject: object, seconds: 60)
                == "http://127.0.0.1:9000/edge/a%20b/%C3%A4%2B1.bin?X-Amz-Algorithm=AWS4-HMAC-SHA256"
                + "&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2Feu-central-1%2Fs3%2Faws4_request"
                + "&X-Amz-Date=20130524T000000Z&X-Amz-Expires=60"
                + "&X-Amz-Security-Token=Fwo%2B%2F%3D%3D&X-Amz-SignedHeaders=host&X-Amz-Signature="
                + "616cab8104a87dfea2b463cb767dcd56ff8f1e53a4b9b66c599243ec3b1d50ba")
        #expect(signer.credentialSeconds == 100)
    }

    @Test func keysAreEncodedOnce() {
        #expect(
            RequestSignature.encoded("a b/ä+%41~", keepsSlashes: true) == "a%20b/%C3%A4%2B%2541~")
        #expect(RequestSignature.text(of: [("b", "1/2"), ("a", "")]) == "a=&b=1%2F2")
    }

    @Test func timesHaveOneForm() {
        #expect(SigningTime.text(1_369_353_600) == "20130524T000000Z")
        #expect(SigningTime.seconds("2013-05-24T00:00:00.000Z") == 1_369_353_600)
        #expect(SigningTime.seconds("yesterday") == nil)
    }

    @Test func noTextShowsSecrets() {
        #expect("\(Self.example)" == "credentials")
        #expect(!String(reflecting: Self.example).contains("wJalr"))
        var dumped = ""
        dump(Self.example, to: &dumped)
        #expect(!dumped.contains("wJalr"))
    }
}
