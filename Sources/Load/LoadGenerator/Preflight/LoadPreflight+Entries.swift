internal import LoadModel
internal import Model

/// The files and titles of a test's targets.
extension LoadPreflight {
    /// One file or title.
    struct Entry: Sendable {
        /// Label for messages: `targets[2]`, and the asset of a list.
        var label: String
        var name: String
        var url: String
        var kind: AssetKind
        var weight: Double
        var sha256: String?
        var mayFail = false
        /// True for the first asset of a list, and for a single target.
        var isFirst = true
    }

    /// Returns all targets, those of lists one by one.
    func entries() async throws(Failure) -> [Entry] {
        var entries: [Entry] = []
        for (index, target) in scenario.targets.enumerated() {
            let label = "targets[\(index)]"
            switch target.source {
            case .url(let url, let kind):
                entries.append(
                    Entry(
                        label: "\(label) (\(Redaction.shown(url)))", name: target.name, url: url,
                        kind: kind, weight: target.weight, sha256: target.sha256,
                        mayFail: target.mayFail))
            case .object(let object, let signedURL):
                let label = "\(label) (\(Redaction.shown(object.urlWithoutFields)))"
                guard let signedURL else {
                    throw Failure(
                        .inputTarget,
                        "\(label) is not signed: `dray loadtest` signs objects of buckets, "
                            + "workers do not")
                }
                entries.append(
                    Entry(
                        label: label, name: target.name, url: signedURL, kind: .file,
                        weight: target.weight, sha256: target.sha256, mayFail: target.mayFail))
            case .replay(let replay):
                // A log also has what is gone by now, which does not prevent the start.
                entries += replay.urls.enumerated().map { number, url in
                    Entry(
                        label: "\(label) (\(Redaction.shown(url)))", name: Redaction.shown(url),
                        url: url, kind: .file, weight: 1, mayFail: true, isFirst: number == 0)
                }
            case .list(let path):
                let assets = try await means.readList(path)
                for (number, asset) in assets.enumerated() {
                    entries.append(
                        Entry(
                            label:
                                "\(label) (\(Redaction.shown(path)): \(Redaction.shown(asset.name)))",
                            name: Redaction.name(asset.name, ofURL: asset.url), url: asset.url,
                            kind: asset.kind,
                            weight: target.weight / Double(assets.count), sha256: asset.sha256,
                            mayFail: target.mayFail, isFirst: number == 0))
                }
            }
            guard entries.count <= LoadPlan.maxObjects else {
                throw Failure(
                    .inputTarget, "\(label): more than \(LoadPlan.maxObjects) files and titles")
            }
        }
        if playsTitles, let file = entries.first(where: { $0.kind == .file }) {
            throw Failure(
                .inputTarget, "\(file.label) is a file: viewers play titles, hls or dash")
        }
        return entries
    }
}
