import API
import Model

/// Checks a request's fields before anything acts on them. Each failure is `input.field` and
/// contains the field, the given value and the allowed ones.
enum Validation {
    static func check(_ submission: CatalogSubmission) throws(Failure) {
        try text(submission.name, "name", 1...200)
        try storageURL(submission.storageURL)
        try range(submission.priority, "priority", 0...9)
        try times(notBefore: submission.notBefore, deadline: submission.deadline)
        if let titles = submission.titles { try check(titles) }
        try rights(
            notBefore: submission.notBefore, expiresAt: submission.expiresAt,
            keepSeconds: submission.keepSeconds, "")
        try limits(submission.maxFetches, submission.maxSites, "")
        try refresh(submission.refreshSeconds, byOrigin: submission.refreshByOrigin, "")
        try check(neighbours: submission.neighbours ?? [], of: submission.storageURL)
    }

    /// Checks times in seconds since 1970. Also throws for a deadline before the start.
    static func times(notBefore: Double?, deadline: Double?) throws(Failure) {
        for (field, time) in [("notBefore", notBefore), ("deadline", deadline)] {
            guard let time, !WireLimits.pointsInTime.contains(time) else { continue }
            throw wrong(field, "\(time)", pointsInTime)
        }
        if let notBefore, let deadline, deadline <= notBefore {
            throw wrong("deadline", "\(deadline)", "later than notBefore, \(notBefore)")
        }
    }

    static func check(_ batch: AssetBatch) throws(Failure) {
        try range(batch.assets.count, "assets", 1...WireLimits.assetsPerRequest)
        var names: Set<String> = []
        for (index, asset) in batch.assets.enumerated() {
            var field: String { "assets[\(index)]" }
            guard names.insert(asset.name).inserted else {
                throw Failure(
                    .inputDuplicate, "\(field).name: \(Redaction.shown(asset.name)) is repeated.")
            }
            try text(asset.name, "\(field).name", 1...1_000)
            // Longer text does not fit into an entry of the unique index on names.
            try range(asset.name.utf8.count, "\(field).name, in bytes", 1...WireLimits.nameBytes)
            try url(asset.url, "\(field).url")
            try key(asset.key, "\(field).key")
            try length(asset.bytes, "\(field).bytes")
            try digest(asset.sha256, "\(field).sha256")
            try mirrors(asset, "\(field).mirrors")
            try further(asset.digests, "\(field).digests")
            try sidecars(asset, "\(field).sidecars")
            try rights(
                notBefore: asset.notBefore, expiresAt: asset.expiresAt,
                keepSeconds: asset.keepSeconds, "\(field).")
            try limits(of: asset, "\(field).")
            if let title = asset.title { try text(title, "\(field).title", 1...200) }
            try found(asset, "\(field).found")
        }
    }

    private static func further(_ digests: String?, _ field: String) throws(Failure) {
        guard let digests, !FurtherDigests.isValid(digests) else { return }
        throw wrong(field, digests, "crc32c=…,md5=… in hex digits")
    }

    private static func found(_ asset: AssetSubmission, _ field: String) throws(Failure) {
        guard let file = asset.found else { return }
        guard asset.kind == .file else {
            throw wrong(field, "given for a title", "for kind file only")
        }
        try length(file.bytes, "\(field).bytes")
        try digest(file.sha256, "\(field).sha256")
        guard WireLimits.pointsInTime.contains(Double(file.modified)) else {
            throw wrong("\(field).modified", "\(file.modified)", pointsInTime)
        }
    }

    private static func sidecars(_ asset: AssetSubmission, _ field: String) throws(Failure) {
        guard let sidecars = asset.sidecars else { return }
        try range(sidecars.count, field, 1...WireLimits.sidecarsPerAsset)
        var keys: Set<String> = [asset.key]
        for (index, sidecar) in sidecars.enumerated() {
            let field = "\(field)[\(index)]"
            try url(sidecar.url, "\(field).url")
            try key(sidecar.key, "\(field).key")
            guard keys.insert(sidecar.key).inserted else {
                throw Failure(
                    .inputDuplicate, "\(field).key: \(Redaction.shown(sidecar.key)) is repeated.")
            }
            guard [.image, .subtitles, .data].contains(sidecar.role) else {
                throw wrong("\(field).role", sidecar.role.rawValue, "image, subtitles, data")
            }
            try length(sidecar.bytes, "\(field).bytes")
            try digest(sidecar.sha256, "\(field).sha256")
            try further(sidecar.digests, "\(field).digests")
        }
    }

    private static func mirrors(_ asset: AssetSubmission, _ field: String) throws(Failure) {
        guard let mirrors = asset.mirrors else { return }
        guard asset.kind == .file else {
            throw wrong(field, "given for a title", "for kind file only")
        }
        try range(mirrors.count, field, 1...WireLimits.mirrorsPerAsset)
        for (index, mirror) in mirrors.enumerated() {
            try url(mirror, "\(field)[\(index)]")
            guard originName(of: mirror, allowsUserInfo: false) != nil else {
                throw wrong(
                    "\(field)[\(index)]", redacted(url: mirror), "a URL without credentials")
            }
        }
    }

    static func check(_ request: LeaseRequest) throws(Failure) {
        try range(request.maxJobs, "maxJobs", 1...WireLimits.jobsPerLease)
        try range(request.waitMilliseconds, "waitMilliseconds", 0...WireLimits.waitMilliseconds)
        try queues(request.queues)
        try roots(request.roots, refused: request.refusedSites)
        let past = request.pastLoadTests ?? []
        try range(past.count, "pastLoadTests", 0...WireLimits.pastLoadTests)
        try range(request.pastAudits?.count ?? 0, "pastAudits", 0...WireLimits.pastAudits)
        guard let slow = request.slow else { return }
        try range(slow.origins.count, "slowOrigins", 1...WireLimits.slowOriginsPerLease)
        try range(slow.maxJobs, "slowMaxJobs", 0...WireLimits.jobsPerLease)
        for (index, origin) in slow.origins.enumerated() {
            try text(origin, "slowOrigins[\(index)]", 1...WireLimits.urlBytes)
        }
    }

    static func check(_ request: ChecksumTurnRequest) throws(Failure) {
        try range(request.jobs.count, "jobs", 1...WireLimits.jobsPerLease)
    }

    static func check(_ request: ReportRequest) throws(Failure) {
        try range(request.results.count, "results", 1...WireLimits.resultsPerReport)
        for index in request.results.indices {
            if let origins = request.results[index].origins {
                try check(origins, "results[\(index)].origins")
            }
            switch request.results[index].outcome {
            case .done(let done): try check(done, "results[\(index)]")
            case .failed(let failed):
                try text(failed.failure.code.rawValue, "results[\(index)].failureCode", 1...100)
                try digest(failed.refused, "results[\(index)].refused")
            case .returned: break
            }
        }
    }

    private static func check(
        _ done: JobReport.Done, _ result: @autoclosure () -> String
    ) throws(Failure) {
        if let milliseconds = done.milliseconds {
            try range(
                milliseconds, "\(result()).milliseconds", 0...WireLimits.transferMilliseconds)
        }
        if let digests = done.digests { try stated(digests, "\(result()).digests") }
        if let seconds = done.freshSeconds {
            try range(seconds, "\(result()).freshSeconds", WireLimits.freshSeconds)
        }
        if let validator = done.validator {
            try text(validator, "\(result()).validator", 1...WireLimits.validatorCharacters)
        }
        if let cache = done.cache, CacheAnswer(text: cache) == nil {
            throw wrong("\(result()).cache", cache, "a state, an age or -, and a detail")
        }
    }

    static func check(_ batch: SegmentBatch) throws(Failure) {
        // A reload of a live title may bring nothing.
        let minSegments = batch.recording == nil ? 1 : 0
        try range(batch.segments.count, "segments", minSegments...WireLimits.segmentsPerRequest)
        if let update = batch.recording { try check(update, of: batch.segments) }
        try check(batch.segments, maxOrdinal: WireLimits.segmentsPerAsset - 1, in: "segments")
        try checkRanges(of: batch)
        if let warnings = batch.warnings { try check(warnings) }
        if let leftOut = batch.leftOut { try check(leftOut, in: "leftOut") }
    }

    /// - Parameters:
    ///   - list: name of the list that contains them.
    ///   - member: the segment's member of an element, with a leading dot; empty if the elements
    ///     are segments.
    static func check(
        _ segments: [ResolvedSegment], maxOrdinal: Int, in list: String, member: String = ""
    ) throws(Failure) {
        var ordinals = Set<Int>(minimumCapacity: segments.count)
        var contents = 0
        for (index, segment) in segments.enumerated() {
            var field: String { "\(list)[\(index)]\(member)" }
            guard ordinals.insert(segment.ordinal).inserted else {
                throw Failure(
                    .inputDuplicate, "\(field).ordinal: \(segment.ordinal) is repeated.")
            }
            try range(segment.ordinal, "\(field).ordinal", 0...maxOrdinal)
            try url(segment.url, "\(field).url")
            try key(segment.key, "\(field).key")
            try length(segment.bytes, "\(field).bytes")
            try digest(segment.sha256, "\(field).sha256")
            try digest(segment.servedSHA256, "\(field).servedSHA256")
            if let mirrors = segment.mirrors {
                try range(mirrors.count, "\(field).mirrors", 1...WireLimits.mirrorsPerSegment)
                for (index, mirror) in mirrors.enumerated() {
                    try url(mirror, "\(field).mirrors[\(index)]")
                }
            }
            guard let content = segment.content else { continue }
            guard segment.role == .playlist, segment.sha256 != nil, !content.utf8.contains(0) else {
                throw wrong(
                    "\(field).content", "given", "for role playlist, with its sha256, without NUL")
            }
            contents += content.utf8.count
            try range(contents, "\(field).content, in bytes", 0...WireLimits.rewrittenManifestBytes)
        }
    }

    static func stated(_ digests: String, _ field: String) throws(Failure) {
        guard !FurtherDigests.isStatement(digests) else { return }
        throw wrong(
            field, digests,
            "sha256=…,md5=… in lower-case hex digits, at most \(FurtherDigests.maxStated)")
    }

    /// Reads a Boolean query parameter; nil if it is missing.
    static func flag(_ text: String?, _ field: String) throws(Failure) -> Bool? {
        guard let text else { return nil }
        guard let value = Bool(text) else { throw wrong(field, text, "true or false") }
        return value
    }

    /// Reads a page's size from a query; defaults to the maximum.
    static func limit(_ text: String?) throws(Failure) -> Int {
        guard let text else { return WireLimits.pageRows }
        guard let rows = Int(text), (1...WireLimits.pageRows).contains(rows) else {
            throw wrong("limit", text, "1 to \(WireLimits.pageRows)")
        }
        return rows
    }

    /// Outcomes may be none: then no origin is at fault.
    private static func check(_ outcomes: [OriginOutcome], _ field: String) throws(Failure) {
        try range(outcomes.count, field, 0...WireLimits.originsPerResult)
        for outcome in outcomes {
            guard originName(of: outcome.origin) == outcome.origin else {
                throw wrong(field, outcome.origin, "scheme://host[:port]")
            }
            if let code = outcome.code { try text(code.rawValue, "\(field).code", 1...100) }
        }
    }

    /// Points in time that are allowed, for messages.
    static let pointsInTime =
        "\(Int(WireLimits.pointsInTime.lowerBound)) to \(Int(WireLimits.pointsInTime.upperBound)), in "
        + "seconds since 1970, such as 1795705445"

    static func wrong(_ field: String, _ given: String, _ allowed: String) -> Failure {
        let shown = given.isEmpty ? "an empty text" : Redaction.shown(given, limit: 80)
        return Failure(.inputField, "\(field): \(shown) was given; allowed: \(allowed).")
    }

    static func range(
        _ value: Int, _ field: @autoclosure () -> String, _ allowed: ClosedRange<Int>
    ) throws(Failure) {
        guard allowed.contains(value) else {
            throw wrong(field(), "\(value)", "\(allowed.lowerBound) to \(allowed.upperBound)")
        }
    }

    static func text(
        _ value: String, _ field: @autoclosure () -> String, _ count: ClosedRange<Int>
    ) throws(Failure) {
        guard count.contains(value.unicodeScalars.count), !hasControl(value) else {
            throw wrong(
                field(), value,
                "\(count.lowerBound) to \(count.upperBound) characters, no control characters")
        }
    }

    private static func hasControl(_ value: String) -> Bool {
        value.utf8.contains { $0 < 0x20 || $0 == 0x7F }
    }

    static func url(_ value: String, _ field: @autoclosure () -> String) throws(Failure) {
        let isWeb = value.hasPrefix("http://") || value.hasPrefix("https://")
        guard isWeb, value.utf8.count <= WireLimits.urlBytes,
            !value.utf8.contains(where: { $0 <= 0x20 || $0 == 0x7F })
        else {
            throw wrong(
                field(), redacted(url: value),
                "an http or https URL of at most \(WireLimits.urlBytes) bytes")
        }
    }

    /// Checks a path below the site: no empty, `.` or `..` component, nothing under `.dray`.
    static func key(_ value: String, _ field: @autoclosure () -> String) throws(Failure) {
        var value = value
        let isKey = value.withUTF8 { $0.count <= WireLimits.keyBytes && isPath($0) }
        guard isKey else {
            throw wrong(
                field(), value, "a relative path of at most \(WireLimits.keyBytes) bytes without .."
            )
        }
    }

    private static func isPath(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        var start = 0
        for end in 0...bytes.count {
            if end < bytes.count, bytes[end] != UInt8(ascii: "/") {
                if bytes[end] < 0x20 || bytes[end] == 0x7F { return false }
                continue
            }
            let component = bytes[start..<end]
            switch component.count {
            case 0: return false
            case 1...2 where component.allSatisfy { $0 == UInt8(ascii: ".") }: return false
            case 5 where start == 0 && component.elementsEqual(".dray".utf8): return false
            default: break
            }
            start = end + 1
        }
        return true
    }

    /// Maximum size of an object in bytes: 16 TiB. Sums over a catalog then stay within 64 bits.
    static let maxBytes: Int64 = 16 << 40

    static func length(_ value: Int64?, _ field: @autoclosure () -> String) throws(Failure) {
        guard let value, !(0...maxBytes).contains(value) else { return }
        throw wrong(field(), "\(value)", "0 to \(maxBytes)")
    }

    static func digest(_ value: String?, _ field: @autoclosure () -> String) throws(Failure) {
        guard let value else { return }
        let isHex = value.utf8.allSatisfy {
            (0x30...0x39).contains($0) || (0x61...0x66).contains($0)
        }
        guard isHex, value.utf8.count == 64 else {
            throw wrong(field(), value, "64 lower-case hex digits")
        }
    }

    /// Returns the canonical text of a storage URL.
    @discardableResult
    static func storageURL(
        _ value: String, _ field: @autoclosure () -> String = "storageURL"
    ) throws(Failure) -> String {
        let allowed = "file:///absolute/path, s3://bucket/prefix or cache:https://host?pop=address"
        let schemes = ["file:///", "s3://", "cache:"]
        guard schemes.contains(where: { value.hasPrefix($0) }), value.utf8.count <= 2_048,
            !hasControl(value)
        else { throw wrong(field(), value, allowed) }
        do throws(Failure) {
            return try StorageURL(value).description
        } catch {
            throw wrong(field(), value, "\(allowed): \(error.message)")
        }
    }

    /// Checks the directories that a worker may write to.
    static func roots(_ roots: [String]?, refused: [SiteID]?) throws(Failure) {
        if let roots {
            try range(roots.count, "roots", 1...WireLimits.rootsPerWorker)
            for (index, root) in roots.enumerated() {
                let canonical = try storageURL(root, "roots[\(index)]")
                guard canonical == root, root != "file:///" else {
                    throw wrong("roots[\(index)]", root, "file:///directory, in its shortest form")
                }
            }
        }
        try range(refused?.count ?? 0, "refusedSites", 0...WireLimits.refusedSites)
    }

    static func queues(_ names: [String]) throws(Failure) {
        try range(names.count, "queues", 0...1_000)
        for (index, name) in names.enumerated() { try text(name, "queues[\(index)]", 1...200) }
    }

    /// Reads the number of an object in a path.
    static func number(_ text: String, _ field: String) throws(Failure) -> Int64 {
        guard let number = Int64(text), number > 0 else {
            throw wrong(field, text, "a whole number from 1")
        }
        return number
    }

    /// Reads an identity that is no field of a body.
    static func id<Entity>(
        _ text: String, _ field: @autoclosure () -> String
    ) throws(Failure) -> UniqueID<Entity> {
        guard let id = UniqueID<Entity>(text) else {
            throw wrong(field(), text, UniqueID<Entity>.allowed)
        }
        return id
    }
}
