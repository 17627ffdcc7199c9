import Model
import Text
import WebURL

extension DASHManifest {
    /// The URL templates of one representation.
    struct Templates {
        var media: DASHTemplate?
        var index: DASHTemplate?
        var initialization: DASHTemplate?
        var bitstreamSwitching: DASHTemplate?

        /// Creates the templates; `failure` makes a failure from a code and a description.
        init(
            _ representation: Representation, isStrict: Bool,
            names: (String) -> KeyQueryRules.Names,
            _ failure: (FailureCode, String) -> Failure
        ) throws(Failure) {
            let addressing = representation.addressing
            guard addressing.kind == .template else { return }
            func template(
                _ name: String, _ text: String?, _ use: DASHTemplate.Use
            ) throws(Failure) -> DASHTemplate? {
                guard let text else { return nil }
                do throws(DASHTemplate.Malformed) {
                    return try DASHTemplate(
                        text, use, id: representation.id, bandwidth: representation.bandwidth,
                        isStrict: isStrict, names: names(text))
                } catch {
                    throw failure(
                        .manifestMalformed,
                        "the \(name) template \(error.what), given \(Redaction.shown(text))")
                }
            }
            media = try template("media", addressing.media, .segments)
            index = try template("index", addressing.index, .segments)
            initialization = try template(
                "initialization", addressing.initializationTemplate, .once)
            bitstreamSwitching = try template(
                "bitstreamSwitching", addressing.bitstreamSwitchingTemplate, .once)
        }
    }

    /// Accepts an object by a plain reference at a base, with the index of its rendition, instead
    /// of a segment; returns false if a segment is needed.
    typealias TakesPlain = (ReferenceBase, [UInt8], SegmentRole, Int) throws(Failure) -> Bool

    /// Lists the segments of one representation.
    struct Lister {
        let base: ReferenceBase
        /// Mirrors of the base.
        let others: [ReferenceBase]
        /// Base of keys, if it is not `base`.
        var namingBase: ReferenceBase?
        /// Role of its media segments.
        let role: SegmentRole
        let rendition: Int
        /// URL of the MPD, which is not a segment.
        let manifest: WebURL
        /// If true, a reference to the MPD is rejected, otherwise skipped.
        let isStrict: Bool
        let rules: KeyQueryRules
        /// True if a reference to the MPD was found.
        private(set) var namesManifest = false
        /// Makes a failure from a code and a description.
        let failure: (FailureCode, String) -> Failure
        /// Bytes of resolved references, including earlier listers.
        private(set) var resolvedBytes: Int
        /// The BaseURLs above, if any has a service location.
        let locations: BaseURLLevels?
        private var buffer: [UInt8] = []
        /// Reference for the key, if it differs from `buffer`.
        private var edgeBuffer: [UInt8] = []

        init(
            base: ReferenceBase, others: [ReferenceBase], namingBase: ReferenceBase?,
            role: SegmentRole, rendition: Int, manifest: WebURL, isStrict: Bool,
            rules: KeyQueryRules, resolvedBytes: Int, locations: BaseURLLevels?,
            failure: @escaping (FailureCode, String) -> Failure
        ) {
            self.base = base
            self.others = others
            self.namingBase = namingBase
            self.role = role
            self.rendition = rendition
            self.manifest = manifest
            self.isStrict = isStrict
            self.rules = rules
            self.resolvedBytes = resolvedBytes
            self.locations = locations
            self.failure = failure
        }

        /// Returns the query parameters that belong to keys of a template's URLs.
        func names(ofTemplate text: String) -> KeyQueryRules.Names {
            rules.names(ofReference: Array(text.utf8), at: (namingBase ?? base).url)
        }

        /// Passes on the object of the buffer's reference.
        private mutating func hand(
            _ role: SegmentRole, _ range: SegmentRange? = nil, _ seconds: Double? = nil,
            isOfTemplate: Bool = false, _ plain: TakesPlain,
            _ body: (ManifestSegment) throws(Failure) -> Void
        ) throws(Failure) {
            let isPlain =
                others.isEmpty && namingBase == nil && edgeBuffer.isEmpty
                && base.plainQueryStart(buffer, buffer.indices) == buffer.count
                && !isManifest
            if isPlain, try plain(base, buffer, role, rendition) {
                return try countBytes(isPlain: true)
            }
            guard let segment = try segment(role, range, seconds) else { return }
            if isOfTemplate { try checkQuery(of: segment) }
            try body(segment)
        }

        /// True if a plain reference in the buffer leads to the MPD.
        private var isManifest: Bool {
            let name = manifest.text.utf8
            return name.count == base.folder.count + buffer.count
                && name.suffix(buffer.count).elementsEqual(buffer)
                && name.starts(with: base.folder)
        }

        /// Counts resolved bytes. They may exceed the resulting URLs by far: a reference may leave
        /// all folders of its base.
        private mutating func countBytes(isPlain: Bool = false) throws(Failure) {
            let isRelative =
                !isPlain && !buffer.isEmpty && buffer[0] != ASCII.slash
                && !ReferenceBase.hasScheme(buffer, buffer.indices)
            resolvedBytes +=
                (buffer.count + (isRelative ? base.folder.count : 0)) * (1 + others.count)
            guard resolvedBytes <= DASHManifest.maximumReferenceBytes else {
                throw failure(
                    .manifestTooMany,
                    "the references of the title exceed "
                        + "\(DASHManifest.maximumReferenceBytes) bytes")
            }
        }

        /// Returns the segment of the buffer's reference; nil for the MPD.
        private mutating func segment(
            _ role: SegmentRole, _ range: SegmentRange?, _ seconds: Double?
        ) throws(Failure) -> ManifestSegment? {
            let all = buffer.indices
            try countBytes(isPlain: base.plainQueryStart(buffer, all) != nil)
            let url: WebURL
            var named: WebURL?
            do throws(WebURLError) {
                url = try base.resolve(buffer, all)
                if !edgeBuffer.isEmpty {
                    named = try (namingBase ?? base).resolve(edgeBuffer, edgeBuffer.indices)
                } else if namingBase != nil {
                    named = try namingBase?.resolve(buffer, all)
                }
                if named == url { named = nil }
            } catch {
                throw failure(
                    error.rejection,
                    "the URI \(error.detail), given \(Redaction.shown(buffer, all))")
            }
            if url == manifest {
                guard !isStrict else {
                    throw failure(.manifestMalformed, "it names the manifest itself")
                }
                namesManifest = true
                return nil
            }
            var segment = ManifestSegment(
                ManifestReference(url: url, named: named, line: 0), role, rendition: rendition,
                range: range, durationSeconds: seconds)
            if others.isEmpty { return segment }
            for other in others {
                // An absolute reference has no mirrors.
                guard let mirror = try? other.resolve(buffer, all), mirror != url else { continue }
                segment.mirrors.append(mirror)
            }
            return segment
        }

        /// Adds an object; without a URL it is the base itself.
        mutating func add(
            _ source: Source, _ role: SegmentRole, seconds: Double? = nil, _ plain: TakesPlain,
            _ body: (ManifestSegment) throws(Failure) -> Void
        ) throws(Failure) {
            buffer.removeAll(keepingCapacity: true)
            if let url = source.url { buffer.append(contentsOf: url.utf8) }
            edgeBuffer.removeAll(keepingCapacity: true)
            try hand(role, source.range, seconds, plain, body)
        }

        /// Adds the object of a template without numbers.
        mutating func add(
            _ template: DASHTemplate, _ role: SegmentRole, _ plain: TakesPlain,
            _ body: (ManifestSegment) throws(Failure) -> Void
        ) throws(Failure) {
            write(template, number: 0, time: 0, subNumber: 0)
            try hand(role, isOfTemplate: true, plain, body)
        }

        private mutating func write(
            _ template: DASHTemplate, number: Int64, time: Int64, subNumber: Int64
        ) {
            template.write(number: number, time: time, subNumber: subNumber, into: &buffer)
            template.writeAtEdge(
                number: number, time: time, subNumber: subNumber, into: &edgeBuffer)
        }

        /// Throws `manifest.unsupported` if a player at the edge, which only has the template,
        /// would request another file.
        private func checkQuery(of segment: ManifestSegment) throws(Failure) {
            guard SiteKey.keepsQuery(of: segment.reference.keyURL, rules) else {
                throw failure(
                    .manifestUnsupported,
                    "the query of a template, given \(Redaction.shown(buffer, buffer.indices)), is "
                        + "not allowed in file names")
            }
        }

        /// Returns the first segment of a run; nil for the MPD.
        ///
        /// - Parameter storedTime: its time in its key; nil if it is the run's.
        mutating func first(
            of run: DASHTimeline.Run, _ media: DASHTemplate, storedTime: Int64? = nil
        ) throws(Failure) -> ManifestSegment? {
            write(media, number: run.number, time: run.time, subNumber: 0)
            if let storedTime, storedTime != run.time {
                media.writeAtEdge(
                    number: run.number, time: storedTime, subNumber: 0, into: &edgeBuffer)
                if edgeBuffer.isEmpty {
                    media.write(
                        number: run.number, time: storedTime, subNumber: 0, into: &edgeBuffer)
                }
            }
            guard let first = try segment(role, nil, nil) else { return nil }
            try checkQuery(of: first)
            return first
        }

        /// Returns the object of a template without numbers; nil for the MPD.
        mutating func section(of template: DASHTemplate) throws(Failure) -> ManifestSegment? {
            write(template, number: 0, time: 0, subNumber: 0)
            guard let section = try segment(.`init`, nil, nil) else { return nil }
            try checkQuery(of: section)
            return section
        }

        /// Adds a segment list with its index segments.
        mutating func add(
            _ addressing: Addressing, _ plain: TakesPlain,
            _ body: (ManifestSegment) throws(Failure) -> Void
        ) throws(Failure) {
            guard !addressing.list.isEmpty else {
                throw failure(.manifestEmpty, "its SegmentList lists no segment")
            }
            let durations = Self.durations(addressing)
            let list = addressing.list
            edgeBuffer.removeAll(keepingCapacity: true)
            for index in list.indices {
                if list.indexes > 0, list[index].hasIndexOfItsOwn {
                    let entry = list[index]
                    let url = entry.index ?? entry.media
                    try add(Source(url: url, range: entry.indexRange), .index, plain, body)
                }
                let units =
                    durations.isEmpty
                    ? addressing.duration : durations[min(index, durations.count - 1)]
                list.copyMedia(index, into: &buffer)
                try hand(
                    role, list.mediaRange(index),
                    units.map { Double($0) / Double(addressing.timescale) }, plain, body)
            }
        }

        /// Returns the durations of a list's segments from its timeline, as far as it goes.
        private static func durations(_ addressing: Addressing) -> [Int64] {
            var durations: [Int64] = []
            for entry in addressing.timeline ?? Timeline() {
                let rest = addressing.list.count - durations.count
                let count = entry.repeats < 0 ? rest : min(rest, Int(entry.repeats) + 1)
                durations += Array(repeating: entry.duration, count: count)
            }
            return durations
        }

        /// Adds the segments of a template, each with its index segment if there is one.
        mutating func add(
            _ timeline: DASHTimeline, _ media: DASHTemplate, index: DASHTemplate?,
            _ plain: TakesPlain, _ body: (ManifestSegment) throws(Failure) -> Void
        ) throws(Failure) {
            if let index, !index.tellsSegments { try add(index, .index, plain, body) }
            let ofEach = index.flatMap { $0.tellsSegments ? $0 : nil }
            let timescale = Double(timeline.addressing.timescale)
            try timeline.forEachRun { (run) throws(Failure) in
                let parts = media.hasSubNumber ? run.sequence : 1
                let seconds =
                    run.duration > 0 ? Double(run.duration) / timescale / Double(parts) : nil
                var run = run
                while run.count > 0 {
                    for part in 0..<parts {
                        if let ofEach {
                            write(ofEach, number: run.number, time: run.time, subNumber: part)
                            try hand(.index, isOfTemplate: true, plain, body)
                        }
                        write(media, number: run.number, time: run.time, subNumber: part)
                        try hand(role, nil, seconds, isOfTemplate: true, plain, body)
                    }
                    // Without a number or a time all segments are the same object.
                    guard media.tellsSegments else { return false }
                    run.time += run.duration
                    run.number += 1
                    run.count -= 1
                }
                return true
            }
        }
    }
}
