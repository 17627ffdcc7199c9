package import API
package import Model

/// The fields of a job whatever its task: tests look at jobs of all kinds.
extension Job {
    /// Creates a fetch.
    package static func fetch(
        _ number: Int64, asset: Int64? = nil, _ url: String, key: String,
        role: SegmentRole = .media, change: (inout Fetch) -> Void = { _ in }
    ) -> Job {
        var fetch = Fetch(url: url, key: key, role: role)
        change(&fetch)
        return Job(
            id: JobID(number), asset: AssetID(asset ?? number), task: .fetch(fetch))
    }

    package var fetch: Fetch? { if case .fetch(let fetch) = task { fetch } else { nil } }

    private var verification: Verification? {
        if case .verify(let verification) = task { verification } else { nil }
    }

    private var source: AssetSource? {
        switch task {
        case .resolve(let source), .refresh(let source), .publish(let source): source
        case .fetch, .verify, .checksums, .purge: nil
        }
    }

    /// Empty for a task without one.
    package var url: String { requestedURL ?? "" }

    /// The final key; of a checksum file its directory.
    package var key: String {
        switch task {
        case .fetch(let fetch): fetch.key
        case .verify(let verification): verification.key
        case .resolve(let source), .refresh(let source), .publish(let source): source.key
        case .checksums(let directory): directory
        case .purge: ""
        }
    }

    package var assetKind: AssetKind? { source?.kind }
    package var titles: TitleOptions? { source?.titles }
    package var role: SegmentRole? { fetch?.role }
    package var length: Int64? { fetch?.length }
    package var sha256: String? { fetch?.sha256 ?? verification?.sha256 }
    package var stated: String? { verification?.stated }
    package var previous: StoredObject? { fetch?.previous?.stored }
    package var mirrorOrigin: String? { fetch?.mirrorOrigin }

    package var mirrors: [String]? {
        fetch.flatMap { $0.mirrors.isEmpty ? nil : $0.mirrors }
    }

    package var isRewritten: Bool { fetch?.body == .rewrittenManifest }

    /// True for a whole object that must not be split.
    package var isWhole: Bool {
        if case .whole(isDivisible: false, _)? = fetch?.body { true } else { false }
    }

    package var abandonedMultipart: MultipartID? {
        if case .whole(_, let id)? = fetch?.body { id } else { nil }
    }

    /// The offset of a part.
    package var offset: Int64? {
        if case .part(_, let offset, _)? = fetch?.body { offset } else { nil }
    }

    package var multipart: MultipartFile? {
        if case .part(let file, _, _)? = fetch?.body { file } else { verification?.multipart }
    }
}
