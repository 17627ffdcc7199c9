internal import Curl
internal import Digest
internal import Model

extension ActiveTransfer {
    /// Checks what was received against what was promised, and hands it on.
    func check() throws(Failure) -> Fetched {
        if let wantedBytes, received < wantedBytes {
            throw problem(
                request.range == nil ? "content.lengthMismatch" : "origin.truncated",
                "\(received) of \(wantedBytes) bytes")
        }
        let computed = digests.finish()
        transfer.handle(.end)
        let checked = isFirstPart ? [] : try compare(computed.others + [.init(computed.sha256)])
        transfer.handle(.agree)
        var fetched = Fetched(
            bytes: received, sha256: computed.sha256.description, finalURL: url)
        fetched.isVerified = !checked.isEmpty
        if request.range != nil { fetched.stated = stated }
        fetched.object = object
        if case .memory = request.destination { fetched.body = memory }
        fetched.isFirstPart = isFirstPart
        fetched.etag = easy.header("ETag")
        fetched.lastModified = easy.header("Last-Modified")
        fetched.validator = Validator.kept(
            etag: fetched.etag, lastModified: fetched.lastModified, date: easy.header("Date"))
        fetched.contentType = easy.header("Content-Type")
        fetched.answeredSeconds = AnswerTime.seconds(
            date: easy.header("Date"), age: easy.header("Age"))
        return fetched
    }

    /// Compares with what was stated; answers what agrees.
    private func compare(_ computed: [ExpectedDigest]) throws(Failure) -> [ExpectedDigest] {
        var agreed: [ExpectedDigest] = []
        for digest in expected {
            guard let given = computed.first(where: { $0.algorithm == digest.algorithm }) else {
                throw problem("worker.internal", "no \(digest.algorithm.title) on this host")
            }
            guard given == digest else {
                throw problem(
                    "integrity.digestMismatch",
                    "\(given.algorithm.title) is \(given.hex), expected \(digest.hex)")
            }
            agreed.append(digest)
        }
        return agreed
    }
}
