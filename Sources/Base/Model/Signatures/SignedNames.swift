/// Names by which services pass a signature or a token in a URL, in lower case and decoded.
///
/// Collected from AWS Signature 4 and 2, CloudFront, Google Cloud, Azure, Akamai, Alibaba OSS,
/// Huawei OBS, Volcengine TOS, Tencent COS, and the URL authentication of common CDNs and streaming
/// servers.
enum SignedNames {
    enum Meaning {
        /// A signature over the path, which never selects the response.
        case proof
        /// The scope or the issuer of a signature.
        case companion
        /// The end of a signature's validity, in any form.
        case time
        /// A secret that may also select the response.
        case token
        /// A name of content, unless a time accompanies it; its value may be a signature.
        case content
    }

    /// AWS, Google, Azure, Akamai, Tencent, Alibaba, Huawei, Volcengine, Wangsu, Wowza, Nimble,
    /// Cloudinary, Bunny, YouTube.
    static let proofs = [
        "__cld_token__", "__gda__", "__token__", "bcdn_token", "hdnea", "hdntl", "hdnts", "hmac",
        "hwsecret", "lsig", "q-signature", "sig", "signature", "txsecret", "volcsecret",
        "wmsauthsign", "wowzatokenhash", "wssecret",
    ]
    static let companions = [
        "accesskeyid", "awsaccesskeyid", "googleaccessid", "hash-algorithm", "key-pair-id",
        "ossaccesskeyid", "policy", "q-ak", "q-header-list", "q-key-time", "q-sign-algorithm",
        "q-sign-time", "q-url-param-list", "security-token", "token_countries", "token_path",
        "x-cos-security-token",
    ]
    static let times = [
        "exp", "expire", "expires", "expiry", "hwtime", "txtime", "volctime", "wsabstime",
        "wstime",
    ]
    /// These have other meanings too: a time has nine digits or more, or eight hex digits.
    static let shortTimes = ["e", "ex", "t"]
    static let tokens = [
        "access_token", "accesstoken", "api_key", "apikey", "auth", "auth_info", "auth_key",
        "auth_token", "authkey", "authorization", "authtoken", "fastly_token", "jwt", "password",
        "private_token", "secret", "sign", "token", "verify",
    ]
    static let content = ["h", "hash", "hm", "md5", "st"]
    /// Names of these that often mean something else (a height, a start). An accompanying `t`,
    /// which may only evade caches, does not decide.
    static let vagueContent = ["h", "st"]
    /// Fields of an Azure shared access signature, in addition to `sig` and `sv`.
    static let azure = [
        "saoid", "scid", "sdd", "se", "si", "sig", "sip", "ske", "skoid", "sks", "skt", "sktid",
        "skv", "sp", "spr", "sr", "srt", "ss", "st", "sv",
    ]

    /// Prefixes of names that belong to a signature.
    static let prefixes = ["wowzatoken", "x-amz-", "x-goog-", "x-obs-", "x-oss-", "x-tos-"]
    /// Exceptions, which select the response.
    static let choosing = ["x-obs-process", "x-oss-process", "x-tos-process"]
    static let prefixProofs = [
        "x-amz-signature", "x-goog-signature", "x-obs-signature", "x-oss-signature",
        "x-tos-signature",
    ]

    private static let byName: [String: Meaning] = {
        var found: [String: Meaning] = [:]
        let all: [([String], Meaning)] = [
            (companions, .companion), (times, .time), (tokens, .token), (content, .content),
            (proofs + prefixProofs, .proof),
        ]
        for (names, meaning) in all {
            for name in names { found[name] = meaning }
        }
        return found
    }()

    private static let longest = 200
    /// Minimum characters of a hash that can be a signature.
    private static let shortestHash = 16

    /// Returns the meaning of a parameter.
    ///
    /// - Parameters:
    /// - name: As in the URL.
    /// - value: The text after its `=`; nil if only the name is known.
    static func meaning(
        of name: ArraySlice<UInt8>, value: ArraySlice<UInt8>? = nil
    ) -> Meaning? {
        guard !name.isEmpty, name.count < longest else { return nil }
        let plain = lowercased(name)
        if let meaning = byName[plain] {
            if meaning == .content, let value, !isHash(value) { return nil }
            return meaning
        }
        if shortTimes.contains(plain) { return value.map(isTime) == true ? .time : nil }
        // Most begin with neither letter.
        guard let first = plain.utf8.first, [0x77, 0x78].contains(first) else { return nil }
        let isPrefixed = prefixes.contains {
            $0.utf8.count < plain.utf8.count && plain.hasPrefix($0)
        }
        return isPrefixed && !choosing.contains(plain) ? .companion : nil
    }

    /// Returns the name in lower case, with its escapes decoded.
    static func lowercased(_ name: ArraySlice<UInt8>) -> String {
        let letters = decoded(name).map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }
        return String(decoding: letters, as: UTF8.self)
    }

    /// Returns true if a value can be a hash: hex digits or base64, of either kind.
    private static func isHash(_ value: ArraySlice<UInt8>) -> Bool {
        let value = decoded(value)
        return value.count >= shortestHash
            && value.allSatisfy {
                switch $0 {
                case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
                // - _ + / =
                case 0x2D, 0x5F, 0x2B, 0x2F, 0x3D: true
                default: false
                }
            }
    }

    private static func isTime(_ value: ArraySlice<UInt8>) -> Bool {
        let isDigits = value.allSatisfy { (0x30...0x39).contains($0) }
        return isDigits && value.count >= 9
            || value.count == 8 && value.allSatisfy { hex($0) != nil }
    }

    /// Returns `text` with its percent escapes decoded; invalid ones stay.
    static func decoded(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        guard text.contains(0x25) else { return text }
        var out: [UInt8] = []
        var index = text.startIndex
        while index < text.endIndex {
            if text[index] == 0x25, index + 2 < text.endIndex, let high = hex(text[index + 1]),
                let low = hex(text[index + 2])
            {
                out.append(high << 4 | low)
                index += 3
            } else {
                out.append(text[index])
                index += 1
            }
        }
        return out[...]
    }

    private static func hex(_ byte: UInt8) -> UInt8? {
        switch byte {
        case 0x30...0x39: byte - 0x30
        case 0x41...0x46: byte - 0x41 + 10
        case 0x61...0x66: byte - 0x61 + 10
        default: nil
        }
    }
}
