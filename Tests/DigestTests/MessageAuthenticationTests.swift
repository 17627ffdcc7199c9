import Digest
import Testing

/// HMAC-SHA256, by the test cases of RFC 4231.
@Suite struct MessageAuthenticationTests {
    private static func hmac(_ message: [UInt8], _ key: [UInt8]) -> String {
        SHA256Digest(authenticating: message, key: key).description
    }

    @Test func theCasesOfRFC4231() {
        #expect(
            Self.hmac(Array("Hi There".utf8), Array(repeating: 0x0B, count: 20))
                == "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7")
        #expect(
            Self.hmac(Array("what do ya want for nothing?".utf8), Array("Jefe".utf8))
                == "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843")
        #expect(
            Self.hmac(
                Array(repeating: 0xDD, count: 50), Array(repeating: 0xAA, count: 20))
                == "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe")
        // A key that is longer than a block.
        #expect(
            Self.hmac(
                Array("Test Using Larger Than Block-Size Key - Hash Key First".utf8),
                Array(repeating: 0xAA, count: 131))
                == "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54")
    }
}
