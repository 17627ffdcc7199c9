// Hand-written codec for the long lists of a submission, with an object per element, compatible
// with Foundation's, which takes ten times as long.

extension AssetBatch: WireMessage {
    func wireBytes() -> [UInt8] {
        var writer = WireTextWriter()
        writer.reserve(assets.count * 250 + 100)
        writer.raw("{\"generation\":")
        writer.integer(Int64(generation))
        writer.raw(",\"assets\":[")
        for asset in assets {
            writer.raw("{\"name\":")
            writer.string(asset.name)
            writer.raw(",\"url\":")
            writer.string(asset.url)
            writer.raw(",\"kind\":")
            writer.string(asset.kind.rawValue)
            writer.raw(",\"key\":")
            writer.string(asset.key)
            if let mirrors = asset.mirrors {
                writer.raw(",")
                writer.column("\"mirrors\":", Array(mirrors.indices)) { $0.string(mirrors[$1]) }
                writer.removeLast()
            }
            writer.sidecars(asset.sidecars)
            writer.content(asset.bytes, asset.sha256, asset.digests)
        }
        if !assets.isEmpty { writer.removeLast() }
        writer.raw("]}")
        return writer.bytes
    }

    static func reading(_ bytes: [UInt8]) -> AssetBatch? {
        bytes.withUnsafeBufferPointer { bytes in
            var reader = WireTextReader(bytes)
            var generation: Int64?
            var assets: [AssetSubmission]?
            let isRead = reader.object { reader, name in
                if name.isName("generation") { return reader.once(&generation) { $0.integer() } }
                if name.isName("assets") {
                    return reader.once(&assets) { $0.array { AssetSubmission(reading: &$0) } }
                }
                return false
            }
            guard isRead, reader.isAtEnd, let generation, let assets else { return nil }
            return AssetBatch(generation: Int(generation), assets: assets)
        }
    }
}

extension AssetSubmission {
    /// Returns nil for input that Foundation must read.
    fileprivate init?(reading reader: inout WireTextReader) {
        var name: String?
        var url: String?
        var kind: AssetKind?
        var key: String?
        var bytes: Int64?
        var sha256: String?
        var mirrors: [String]?
        var digests: String?
        var sidecars: [SidecarSubmission]?
        let isRead = reader.object { reader, member in
            if member.isName("name") { return reader.once(&name) { $0.string() } }
            if member.isName("url") { return reader.once(&url) { $0.string() } }
            if member.isName("kind") {
                return reader.once(&kind) { $0.string().flatMap(AssetKind.init(rawValue:)) }
            }
            if member.isName("key") { return reader.once(&key) { $0.string() } }
            if member.isName("bytes") { return reader.once(&bytes) { $0.integer() } }
            if member.isName("sha256") { return reader.once(&sha256) { $0.string() } }
            if member.isName("mirrors") {
                return reader.once(&mirrors) { $0.array { $0.string() } }
            }
            if member.isName("digests") { return reader.once(&digests) { $0.string() } }
            if member.isName("sidecars") {
                return reader.once(&sidecars) { $0.array { SidecarSubmission(reading: &$0) } }
            }
            return false
        }
        guard isRead, let name, let url, let kind, let key else { return nil }
        self.init(name: name, url: url, kind: kind, key: key, bytes: bytes, sha256: sha256)
        self.mirrors = mirrors
        self.digests = digests
        self.sidecars = sidecars
    }
}

extension SidecarSubmission {
    /// Returns nil for input that Foundation must read.
    fileprivate init?(reading reader: inout WireTextReader) {
        var url: String?
        var key: String?
        var role: SegmentRole?
        var required: Bool?
        var bytes: Int64?
        var sha256: String?
        var digests: String?
        let isRead = reader.object { reader, member in
            if member.isName("url") { return reader.once(&url) { $0.string() } }
            if member.isName("key") { return reader.once(&key) { $0.string() } }
            if member.isName("role") {
                return reader.once(&role) { $0.string().flatMap(SegmentRole.init(rawValue:)) }
            }
            if member.isName("required") { return reader.once(&required) { $0.bool() } }
            if member.isName("bytes") { return reader.once(&bytes) { $0.integer() } }
            if member.isName("sha256") { return reader.once(&sha256) { $0.string() } }
            if member.isName("digests") { return reader.once(&digests) { $0.string() } }
            return false
        }
        guard isRead, let url, let key, let role, let required else { return nil }
        self.init(
            url: url, key: key, role: role, required: required, bytes: bytes, sha256: sha256,
            digests: digests)
    }
}

extension SegmentBatch: WireMessage {
    func wireBytes() throws -> [UInt8] {
        var writer = WireTextWriter()
        writer.reserve(segments.count * 200 + 200)
        writer.raw("{\"worker\":")
        writer.string(worker)
        writer.raw(",\"job\":")
        writer.integer(job.rawValue)
        writer.raw(",\"lease\":")
        writer.string(lease)
        writer.raw(",\"segments\":[")
        for segment in segments {
            writer.raw("{\"ordinal\":")
            writer.integer(Int64(segment.ordinal))
            writer.raw(",\"url\":")
            writer.string(segment.url)
            writer.raw(",\"key\":")
            writer.string(segment.key)
            writer.raw(",\"role\":")
            writer.string(segment.role.rawValue)
            if let content = segment.content {
                writer.raw(",\"content\":")
                writer.string(content)
            }
            if let served = segment.servedSHA256 {
                writer.raw(",\"servedSHA256\":")
                writer.string(served)
            }
            if let mirrors = segment.mirrors {
                writer.raw(",\"mirrors\":[")
                for mirror in mirrors {
                    writer.string(mirror)
                    writer.raw(",")
                }
                if !mirrors.isEmpty { writer.removeLast() }
                writer.raw("]")
            }
            writer.content(segment.bytes, segment.sha256)
        }
        if !segments.isEmpty { writer.removeLast() }
        writer.raw("]")
        if let warnings {
            writer.raw(",\"warnings\":")
            writer.raw(try WireJSON.plain(warnings))
        }
        writer.raw("}")
        return writer.bytes
    }

    /// Returns nil for input that Foundation must read: a batch with warnings.
    static func reading(_ bytes: [UInt8]) -> SegmentBatch? {
        bytes.withUnsafeBufferPointer { bytes in
            var reader = WireTextReader(bytes)
            var worker: String?
            var job: Int64?
            var lease: String?
            var segments: [ResolvedSegment]?
            let isRead = reader.object { reader, name in
                if name.isName("worker") { return reader.once(&worker) { $0.string() } }
                if name.isName("job") { return reader.once(&job) { $0.integer() } }
                if name.isName("lease") { return reader.once(&lease) { $0.string() } }
                if name.isName("segments") {
                    return reader.once(&segments) { $0.array { ResolvedSegment(reading: &$0) } }
                }
                return false
            }
            guard isRead, reader.isAtEnd, let worker, let job, let lease, let segments else {
                return nil
            }
            return SegmentBatch(worker: worker, job: JobID(job), lease: lease, segments: segments)
        }
    }
}

extension ResolvedSegment {
    /// Returns nil for input that Foundation must read.
    fileprivate init?(reading reader: inout WireTextReader) {
        var ordinal: Int64?
        var url: String?
        var key: String?
        var role: SegmentRole?
        var bytes: Int64?
        var sha256: String?
        var content: String?
        var served: String?
        var mirrors: [String]?
        let isRead = reader.object { reader, member in
            if member.isName("ordinal") { return reader.once(&ordinal) { $0.integer() } }
            if member.isName("url") { return reader.once(&url) { $0.string() } }
            if member.isName("key") { return reader.once(&key) { $0.string() } }
            if member.isName("role") {
                return reader.once(&role) { $0.string().flatMap(SegmentRole.init(rawValue:)) }
            }
            if member.isName("bytes") { return reader.once(&bytes) { $0.integer() } }
            if member.isName("sha256") { return reader.once(&sha256) { $0.string() } }
            if member.isName("content") { return reader.once(&content) { $0.string() } }
            if member.isName("servedSHA256") { return reader.once(&served) { $0.string() } }
            if member.isName("mirrors") {
                return reader.once(&mirrors) { $0.array { $0.string() } }
            }
            return false
        }
        guard isRead, let ordinal, let url, let key, let role else { return nil }
        self.init(
            ordinal: Int(ordinal), url: url, key: key, role: role, bytes: bytes, sha256: sha256)
        self.content = content
        servedSHA256 = served
        self.mirrors = mirrors
    }
}

extension WireTextWriter {
    fileprivate mutating func sidecars(_ sidecars: [SidecarSubmission]?) {
        guard let sidecars else { return }
        raw(",\"sidecars\":[")
        for sidecar in sidecars {
            raw("{\"url\":")
            string(sidecar.url)
            raw(",\"key\":")
            string(sidecar.key)
            raw(",\"role\":")
            string(sidecar.role.rawValue)
            raw(sidecar.required ? ",\"required\":true" : ",\"required\":false")
            content(sidecar.bytes, sidecar.sha256, sidecar.digests)
        }
        if !sidecars.isEmpty { removeLast() }
        raw("]")
    }

    /// Writes the end of an element with its known length and digests.
    fileprivate mutating func content(
        _ length: Int64?, _ sha256: String?, _ digests: String? = nil
    ) {
        if let length {
            raw(",\"bytes\":")
            integer(length)
        }
        if let sha256 {
            raw(",\"sha256\":")
            string(sha256)
        }
        if let digests {
            raw(",\"digests\":")
            string(digests)
        }
        raw("},")
    }
}
