import Digest
import Model
import Storage
import TestSupport
import Transfer

/// One object that is fetched attempt after attempt at one site, as workers do it: each attempt has a
/// lease of its own, takes over what is left, and leaves what it has.
struct Attempts {
    let fetcher: Fetcher
    var url: String
    var key: String
    var storage: DirectoryStorage
    var asset = AssetID(1)
    var cluster: ClusterID = "one"
    /// The asset has no other object.
    var isOnly = false
    private var number = 0

    /// How an attempt's process ends when its transfer does not end well.
    enum End {
        /// It keeps its bytes, and reports it.
        case orderly
        /// It is killed: what it has noted down by then is all that is known.
        case killed
    }

    struct Outcome {
        /// Nil for a success.
        var code: FailureCode?
        /// What lies under the final key after a success.
        var bytes: [UInt8]?
        var isVerified = false
        /// The previous partial body, if it was resumed.
        var startedFrom: Int64?
    }

    init(_ fetcher: Fetcher, url: String, key: String) {
        self.fetcher = fetcher
        self.url = url
        self.key = key
        storage = fetcher.storage
    }

    mutating func run(
        _ end: End = .orderly, minimumBytes: Int64 = 1_000, noteBytes: Int64 = 1_000,
        longBytes: Int64 = .max,
        _ adjust: (inout TransferRequest) -> Void = { _ in }
    ) async throws -> Outcome {
        number += 1
        let lease: LeaseID = "lease-\(asset)-\(key.filter { $0.isLetter || $0.isNumber })-\(number)"
        // A number is granted once.
        let job = JobID(Int64(number))
        let attempt = ObjectAttempt(lease: lease, job: job, asset: asset)
        let (storage, key) = (storage, key)
        let identity = PartialIdentity(
            url: url, key: key, cluster: cluster, asset: isOnly ? asset : nil)
        var request = TransferRequest(
            url: url, group: lease.description,
            destination: .object { (bytes) throws(Failure) in
                try storage.createTemporary(
                    lease: lease, job: job, key: key, reservingBytes: bytes ?? 0)
            }, role: .file)
        adjust(&request)
        let partial = try storage.takePartial(
            identity, of: try storage.partials(), for: attempt, location: .key(key),
            digests: request.expected.furtherDigests.map(\.algorithm))
        var resumption = Resumption(partial: partial) { object, record in
            guard let object else { return }
            storage.note(record, of: object, as: identity, by: attempt)
        }
        resumption.minimumBytes = minimumBytes
        resumption.noteBytes = noteBytes
        resumption.longBytes = longBytes
        resumption.isGuarded =
            request.expected.sha256 != nil
            || request.expected.furtherDigests.contains { $0.algorithm != .crc32c }
        request.delivery.resumption = resumption
        let result = await fetcher.fetch(request)
        var outcome = Outcome(startedFrom: partial?.record.bytes)
        switch result.outcome {
        case .success(let fetched):
            if let object = fetched.object {
                for stored in storage.commit([object]) { try stored.get() }
            }
            outcome.isVerified = fetched.isVerified
            outcome.bytes = try fetcher.directory.read(key)
            if outcome.bytes.map(sha256) != fetched.sha256 {
                outcome.bytes = nil
            }
        case .failure(let failure):
            outcome.code = failure.code
            guard let left = result.left, let object = left.object else { break }
            switch end {
            case .orderly:
                storage.keep(left.record, of: object, as: identity, by: attempt)
            case .killed: object.leave()
            }
        }
        return outcome
    }
}
