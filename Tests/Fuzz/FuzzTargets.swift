import API
import Gzip
import HTTP1
import HTTPServer
import JSON
import Lists
import Model
import Text
import Titles
import WebURL

/// What `scripts/fuzz TARGET` runs: each is given one input, and stops the process when Dray answers
/// what it must not answer. A crash, a hang or a growth of memory libFuzzer finds by itself.
enum FuzzTargets {
    static let all: [String: @Sendable ([UInt8]) -> Void] = {
        var targets: [String: @Sendable ([UInt8]) -> Void] = [
            "list": { list($0, nil) },
            "gzip": gzip,
            "m3u8": { title($0, .hls) },
            "mpd": { title($0, .dash) },
            "sidx": index,
            "http1": http1,
            "request": request,
            "rows": rows,
            "origins": { _ = try? OriginSettingsReader.read($0) },
            "url": url,
        ]
        for format in ListFormat.allCases { targets[format.rawValue] = { list($0, format) } }
        return targets
    }()

    // MARK: Rows

    /// A message in rows that is accepted keeps its meaning when it is written again.
    private static func rows(_ bytes: [UInt8]) {
        keeps(ReportRequest.self, bytes)
        keeps(ReportAnswer.self, bytes)
        keeps(LeaseRequest.self, bytes)
        keeps(LeaseGrant.self, bytes)
        keeps(SegmentBatch.self, bytes)
        keeps(AssetBatch.self, bytes)
        keeps(ChecksumPage.self, bytes)
    }

    private static func keeps<Message: Codable>(_ type: Message.Type, _ bytes: [UInt8]) {
        guard let message = try? WireFormat.rows.decodeStrictly(type, from: bytes) else { return }
        // A list whose elements have newlines is rejected when it is written.
        guard let written = try? WireFormat.rows.encode(message) else { return }
        let again = try? WireFormat.rows.decodeStrictly(type, from: written)
        let rewritten = again.flatMap { try? WireFormat.rows.encode($0) }
        // The order of keys in JSON varies.
        require(
            rewritten?.sorted() == written.sorted(), "\(type) is read as it was written")
    }

    // MARK: Lists

    /// A list has the same result however it arrives; its assets can be stored beneath a site.
    private static func list(_ bytes: [UInt8], _ format: ListFormat?) {
        // libxml2 rejects it in content only where it comes in one piece.
        let mayBeXML = [nil, .metalink, .sitemap].contains(format)
        if mayBeXML, bytes.indices.contains(where: { bytes[$0...].starts(with: "]]>".utf8) }) {
            return
        }
        let whole = read(bytes, format, piece: max(bytes.count, 1), maxFailures: 0)
        let pieces = read(bytes, format, piece: 7, maxFailures: 0)
        require(
            whole.failure?.code == pieces.failure?.code,
            "a list fails the same however it arrives: \(whole.failure as Any), \(pieces.failure as Any)"
        )
        require(
            whole.failure != nil || whole.assets == pieces.assets,
            "a list names the same however it arrives")
        whole.assets.forEach(check)
        // Continuing behind what is wrong finds at least that.
        let gathered = read(bytes, format, piece: 1_000, maxFailures: 3)
        require(
            (whole.failure == nil) == (gathered.failure == nil),
            "a list is wrong whether failures are gathered or not: \(whole.failure as Any)")
    }

    private struct Outcome {
        var assets: [AssetSubmission] = []
        var failure: Failure?
    }

    private static func read(
        _ bytes: [UInt8], _ format: ListFormat?, piece: Int, maxFailures: Int
    ) -> Outcome {
        var reader = ListReader(format: format, maxFailures: maxFailures)
        reader.base = "http://h/d/"
        var outcome = Outcome()
        do throws(Failure) {
            var start = 0
            while start < bytes.count {
                let end = min(start + piece, bytes.count)
                outcome.assets += try reader.feed(Array(bytes[start..<end]))
                start = end
            }
            outcome.assets += try reader.finish()
            outcome.failure = reader.failures.first
        } catch {
            outcome.failure = error
        }
        return outcome
    }

    private static func check(_ asset: AssetSubmission) {
        require(!asset.name.isEmpty && asset.name.utf8.count <= WireLimits.nameBytes, "a name")
        checkKey(asset.key)
        for url in [asset.url] + (asset.mirrors ?? []) {
            require(url.hasPrefix("http://") || url.hasPrefix("https://"), "http or https")
            require(url.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }, "a URL is printable ASCII")
        }
        require((asset.mirrors ?? []).count <= WireLimits.mirrorsPerAsset, "so many mirrors")
        require(asset.digests.map(FurtherDigests.isValid) ?? true, "digests are well-formed")
    }

    private static func checkKey(_ key: String) {
        let parts = key.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        let isBeneath = parts.allSatisfy {
            !$0.isEmpty && !$0.elementsEqual(".".utf8) && !$0.elementsEqual("..".utf8)
        }
        require(isBeneath, "a key stays beneath")
        require(key.utf8.count <= WireLimits.keyBytes, "a key is bounded")
    }

    private static func gzip(_ bytes: [UInt8]) {
        guard let decoder = try? GzipDecoder() else { return }
        var input = bytes[...]
        var decoded = 0
        while let piece = try? decoder.next(&input), !piece.isEmpty, decoded < 16 << 20 {
            decoded += piece.count
        }
        try? decoder.finish()
    }

    private static func url(_ bytes: [UInt8]) {
        guard let url = try? WebURL(String(decoding: bytes, as: UTF8.self)) else { return }
        require((try? WebURL(url.text)) == url, "a normalised URL stays as it is")
        if let key = try? SiteKey(url) { checkKey(key.text) }
    }

    // MARK: Manifests

    /// A recording of the MPDs one after the other.
    private static func record(_ bodies: [[UInt8]]) {
        var options = TitleOptions()
        options.records = true
        var cursor: RecordingCursor?
        for (number, body) in (bodies + bodies.suffix(1)).enumerated() {
            let resolver = try? TitleResolver(
                url: "https://h/t/manifest", kind: .dash, options: options, following: cursor,
                snapshotSeconds: 1_767_227_400 + Double(number) * 10)
            guard var resolver else { return }
            while !resolver.isComplete {
                for request in resolver.next() {
                    guard !request.isOptional else {
                        resolver.receiveOptional(request, nil)
                        continue
                    }
                    do throws(Failure) {
                        try resolver.receive(
                            request, finalURL: request.url, body: body, sha256: "")
                    } catch {
                        return
                    }
                }
                if resolver.kind != .dash { return }
            }
            guard let pass = try? resolver.recordingPass(after: cursor) else { return }
            require(pass.update.entries.count <= RecordingPass.maxEntries, "a pass is bounded")
            for object in pass.objects { checkKey(object.key) }
            cursor = pass.update.cursor
        }
    }

    /// A title: its manifest, and behind a byte 1 those that it names. Live ones are taken for what they
    /// list; of every other input it is a choice of tracks, every third is read strictly.
    private static func title(_ bytes: [UInt8], _ kind: AssetKind) {
        let bodies = bytes.split(separator: 1, omittingEmptySubsequences: false).map(Array.init)
        if kind == .dash { record(bodies) }
        var options = TitleOptions()
        options.takesSnapshots = true
        options.isStrict = bytes.count % 3 == 0
        if bytes.count % 2 == 1 {
            options.tracks.maximumHeight = 720
            options.tracks.audio = ["en"]
            options.leavesKeys = true
        }
        let resolver = try? TitleResolver(
            url: "https://h/t/manifest", kind: kind, options: options,
            snapshotSeconds: 1_767_227_400)
        guard var resolver else { return }
        var served = 0
        while !resolver.isComplete {
            for request in resolver.next() {
                let body = bodies[served % bodies.count]
                served += 1
                do throws(Failure) {
                    try resolver.receive(
                        request, finalURL: request.url, body: body,
                        sha256: String(repeating: "0", count: 64))
                } catch {
                    return
                }
            }
        }
        for segment in (try? resolver.segments()).map(Array.init) ?? [] {
            checkKey(segment.key)
            let urls = [segment.url] + (segment.mirrors ?? [])
            require(urls.allSatisfy { $0.hasPrefix("http") }, "a segment comes by http or https")
            require(urls.count <= WireLimits.mirrorsPerSegment + 1, "so many mirrors")
        }
        guard let listing = try? resolver.listing() else { return }
        for sum in listing.sums {
            require(sum.estimatedBytes ?? 0 >= 0, "an estimate is no less than nothing")
            require(sum.durationSeconds >= 0 && sum.durationSeconds.isFinite, "a duration is one")
        }
        for segment in listing.segments {
            require(segment.rendition ?? 0 <= listing.renditions.count, "a rendition is listed")
        }
    }

    private static func index(_ bytes: [UInt8]) {
        guard let index = try? SegmentIndex.parse(bytes, at: 1_000, name: "x") else { return }
        var end: Int64 = 1_000
        for entry in index.entries {
            let length = entry.range.length ?? 0
            require(entry.range.offset >= end && length > 0, "parts follow each other")
            require(entry.durationSeconds >= 0, "a part takes no less than no time")
            end = entry.range.offset + length
        }
    }

    // MARK: Answers

    /// An answer has the same result whether it arrives whole or byte for byte.
    private static func http1(_ bytes: [UInt8]) {
        let (whole, split) = (answer(bytes, piece: max(bytes.count, 1)), answer(bytes, piece: 1))
        require(whole == split, "an answer is read alike: \(whole), \(split)")
    }

    private struct Answer: Equatable {
        var status = 0
        var data: [UInt8] = []
        var isDone = false
        var failure: MalformedResponse?
    }

    private static func answer(_ bytes: [UInt8], piece: Int) -> Answer {
        var answer = Answer()
        var body: ResponseBody?
        var head: [UInt8] = []
        var start = 0
        do throws(MalformedResponse) {
            while start < bytes.count, body?.isDone != true {
                let end = min(start + piece, bytes.count)
                if body == nil {
                    let searched = head.count
                    head += bytes[start..<end]
                    let length = head.withUnsafeBytes {
                        ResponseHead.length(in: $0, from: searched)
                    }
                    guard let length else {
                        start = end
                        continue
                    }
                    let read = try ResponseHead(head[..<length])
                    answer.status = read.status
                    body = read.body
                    start += length - searched
                    head = []
                } else {
                    try body?.take(bytes[start..<end], &answer.data)
                    start = end
                }
            }
        } catch {
            answer.failure = error
        }
        answer.isDone = body?.isDone == true
        return answer
    }

    // MARK: Requests

    /// A request's head is the same however it comes, and nothing in it could be taken for another's.
    private static func request(_ bytes: [UInt8]) {
        let (whole, split) = (head(bytes, piece: max(bytes.count, 1)), head(bytes, piece: 1))
        require(whole == split, "a request is read alike: \(whole), \(split)")
        let texts = [whole.method, whole.target] + whole.fields
        require(
            texts.allSatisfy { $0.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 9 } },
            "no control character in \(texts)")
        require(whole.rejection != nil || !whole.target.utf8.contains(0x20), "one target")
    }

    private struct Head: Equatable {
        var length = 0
        var method = ""
        var target = ""
        var fields: [String] = []
        var body = ResponseBody.none
        var rejection: HTTPServer.Rejection?
    }

    private static func head(_ bytes: [UInt8], piece: Int) -> Head {
        var head = Head()
        var (come, searched) = (0, 0)
        bytes.withUnsafeBytes { bytes in
            do throws(HTTPServer.Rejection) {
                while come < bytes.count {
                    come = min(come + piece, bytes.count)
                    let part = UnsafeRawBufferPointer(rebasing: bytes[..<come])
                    guard let length = try RequestHead.length(in: part, from: searched) else {
                        searched = come
                        continue
                    }
                    let read = try RequestHead(UnsafeRawBufferPointer(rebasing: part[..<length]))
                    head = Head(
                        length: length, method: read.method, target: read.target,
                        fields: read.headers.flatMap { [$0.name, $0.value] }, body: read.body)
                    return
                }
            } catch {
                head.rejection = error
            }
        }
        return head
    }

    private static func require(_ holds: Bool, _ what: @autoclosure () -> String) {
        // An optimised build does not report why a precondition fails.
        if !holds { fatalError("broken: \(what())") }
    }
}

extension ResponseHead {
    fileprivate init(_ bytes: ArraySlice<UInt8>) throws(MalformedResponse) {
        let result = bytes.withUnsafeBytes { bytes in
            Result { () throws(MalformedResponse) in try ResponseHead(bytes) }
        }
        self = try result.get()
    }
}

extension ResponseBody {
    fileprivate mutating func take(
        _ bytes: ArraySlice<UInt8>, _ data: inout [UInt8]
    ) throws(MalformedResponse) {
        var (body, taken) = (self, data)
        let result = bytes.withUnsafeBytes { bytes in
            Result { () throws(MalformedResponse) in
                var bytes = bytes
                while !bytes.isEmpty, !body.isDone { taken += try body.next(&bytes) }
            }
        }
        (self, data) = (body, taken)
        try result.get()
    }
}
