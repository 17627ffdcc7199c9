import Model

/// Names, URLs and digests of the submitted work. Pure.
///
/// Nothing is fetched: the hosts end in `.example`, which is reserved (RFC 2606).
struct BenchmarkWork: Sendable {
    /// Name of the site, and so of its queue.
    var name: String
    /// Number that distinguishes catalogs of one site.
    var number: Int?
    var segments: Int
    /// Number of segments per title; 1 makes every segment a file asset.
    var segmentsPerTitle: Int
    var origins: Int

    var isFiles: Bool { segmentsPerTitle == 1 }

    var catalog: String { number.map { "\(name)-\($0)" } ?? name }

    var storageURL: String { "file:///dray/benchmark/\(name)" }

    /// Number of titles or files.
    var assets: Int { (segments + segmentsPerTitle - 1) / segmentsPerTitle }

    /// Returns the number of a title's segments; the last one may have fewer.
    func segmentCount(of title: Int) -> Int {
        min(segmentsPerTitle, segments - title * segmentsPerTitle)
    }

    func asset(_ index: Int) -> AssetSubmission {
        let base = "\(host(of: index))/\(catalog)/\(isFiles ? "files" : title(index))"
        let path =
            isFiles
            ? "\(base)/\(numbered(index / 1_000))/\(numbered(index)).bin"
            : "\(base)/master.m3u8"
        return AssetSubmission(
            name: isFiles ? "file \(index)" : "title \(index)", url: "http://\(path)",
            kind: isFiles ? .file : .hls, key: path)
    }

    /// Returns the index of an asset from its URL's path.
    func index(ofTitleAt url: String) -> Int? {
        let parts = url.split(separator: "/")
        guard parts.count > 2, let digits = parts.dropLast().last?.split(separator: "-").last else {
            return nil
        }
        return Int(digits)
    }

    /// Returns a range of a title's segments in the order of a manifest.
    func segments(of title: Int, _ range: Range<Int>) -> [ResolvedSegment] {
        let base = "\(host(of: title))/\(catalog)/\(self.title(title))"
        return range.map { ordinal in
            let path = "\(base)/video-1080p/segment-\(numbered(ordinal)).m4s"
            return ResolvedSegment(ordinal: ordinal, url: "http://\(path)", key: path, role: .media)
        }
    }

    private func host(of asset: Int) -> String { "cdn-\(asset % origins + 1).example" }

    private func title(_ index: Int) -> String { "title-\(numbered(index))" }

    private func numbered(_ number: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, 6 - digits.count)) + digits
    }

    /// Reported size of every segment.
    static let segmentBytes = 1_500_000

    /// Returns a string like a segment's digest, different for each job.
    static func digest(of job: Int64) -> String {
        let digits = String(UInt64(bitPattern: job), radix: 16)
        return String(repeating: "0", count: 64 - digits.count) + digits
    }
}
