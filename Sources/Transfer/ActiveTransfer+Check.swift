internal import Curl
internal import Digest
internal import Model

extension ActiveTransfer {
    /// Whether what was received is as long as was promised.
    func checkWhole() throws(Failure) {
        if let wantedBytes, received < wantedBytes {
            throw problem(
                request.range == nil ? "content.lengthMismatch" : "origin.truncated",
                "\(received) of \(wantedBytes) bytes")
        }
    }

    /// Checks the digests against what was promised.
    func check(
        _ fetched: inout Fetched, _ sha256: SHA256Digest, _ others: [ExpectedDigest] = []
    ) throws(Failure) {
        transfer.handle(.end)
        let checked = isFirstPart ? [] : try compare(others + [.init(sha256)])
        transfer.handle(.agree)
        fetched.sha256 = sha256.description
        fetched.isVerified = !checked.isEmpty
    }

    /// What was received, without its digest, while the answer's header is at hand.
    func makeFetched() -> Fetched {
        var fetched = Fetched(bytes: received, sha256: "", finalURL: url)
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

    /// Ends a transfer that was hashed after it had left its loop, with its digest checked.
    func finish(hashed digest: SHA256Digest, _ result: TransferResult) {
        var result = result
        do throws(Failure) {
            var fetched = try result.outcome.get()
            try check(&fetched, digest)
            result.outcome = .success(fetched)
        } catch {
            transfer.handle(.fail)
            result.left = leave(after: error)
            result.outcome = .failure(error)
        }
        transfer.completion(transfer, result)
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
