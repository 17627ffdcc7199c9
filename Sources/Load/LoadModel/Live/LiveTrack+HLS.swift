import Model
import Titles
import WebURL

/// An initialization section or a key of a live track.
struct LiveNeed: Hashable {
    var url: String
    var range: SegmentRange?
    var locations: BaseURLLevels?
    var form: ReferenceForm
}

/// Reads media playlists (RFC 8216bis).
extension LiveTrack {
    private static let maxNeeds = 1_000
    private static let maxReloads = 16

    /// Reads an answer of its playlist.
    ///
    /// - Parameter epochSeconds: the time of the answer, in seconds since 1970.
    ///
    /// Throws `manifest.…`.
    func read(playlist body: [UInt8], epochSeconds: Double) throws(Failure) -> LiveView {
        let hash = RecentAnswers<LiveView>.hash(body)
        if let view = recent.find(hash) { return view }
        let view = try parse(body, epochSeconds)
        recent.insert(hash, view)
        return view
    }

    private func parse(_ body: [UInt8], _ now: Double) throws(Failure) -> LiveView {
        let url: WebURL
        do throws(WebURLError) { url = try WebURL(objects.base(source.playlist)) } catch {
            throw Failure(.manifestMalformed, error.detail)
        }
        let (playlist, edge) = try HLSPlaylist.parseLive(body, url: url, imports: variables)
        let before = edge.mediaSequence + edge.skipped
        // What is older than the kept segments stays unknown: no viewer starts there.
        let taken = max(before, segments.isEmpty ? edge.nextNumber - Int64(Self.maxAtFirst) : first)
        removeUnusedNeeds()
        var needs = PartNeeds()
        var row = 0
        for (index, listed) in edge.segments.enumerated() {
            while row < listed.row {
                take(playlist.segments[row], into: &needs)
                row += 1
            }
            row = max(row, listed.row + 1)
            let number = before + Int64(index)
            guard number >= taken, self[number]?.isWhole != true else { continue }
            var segment = Segment(
                startSeconds: -1, seconds: max(listed.seconds, 0.001), needs: needs.objects)
            if listed.row >= 0 {
                let media = playlist.segments[listed.row]
                if media.isClear {
                    needs.takeNoKey()
                    segment.needs = needs.objects
                }
                needs.takeSegment()
                segment.object = objects.add(
                    media.reference.url.text, media.range, .media, countsAs: source.segments)
            }
            put(number, segment, fillSeconds: edge.targetSeconds)
            if let date = listed.dateSeconds, let start = self[number]?.startSeconds {
                setEpoch(date - start, isExact: true)
            }
        }
        while row < playlist.segments.count {
            take(playlist.segments[row], into: &needs)
            row += 1
        }
        return view(of: edge, parts: take(edge.parts, needs.objects), now)
    }

    private func take(_ object: ManifestSegment, into needs: inout PartNeeds) {
        switch object.role {
        case .`init`: needs.takeInitialization(need(object))
        case .key: needs.takeKey(need(object))
        default: break
        }
    }

    /// Removes initialization sections and keys that no kept segment needs, once there are many.
    func removeUnusedNeeds() {
        guard needObjects.count >= Self.maxNeeds else { return }
        var used: Set<Int32> = []
        for segment in segments { used.formUnion(segment.needs) }
        for (need, object) in needObjects where !used.contains(object) {
            objects.remove(object)
            needObjects[need] = nil
        }
    }

    func need(
        _ object: ManifestSegment, at locations: BaseURLLevels? = nil,
        form: ReferenceForm = .relative
    ) -> Int32 {
        let key = LiveNeed(
            url: object.reference.url.text, range: object.range, locations: locations, form: form)
        if let known = needObjects[key] { return known }
        let index = objects.add(
            key.url, key.range, object.role, countsAs: source.segments, at: locations, form: form)
        needObjects[key] = index
        return index
    }

    /// Adds the listed parts, and returns the first segment that has any and the number of parts
    /// of the last one.
    private func take(
        _ parts: [HLSEdge.Part], _ needs: [Int32]
    ) -> (first: Int64, last: Int64, count: Int) {
        var result = (first: Int64.max, last: Int64.min, count: 0)
        for part in parts {
            if part.number != result.last { (result.last, result.count) = (part.number, 0) }
            result.first = min(result.first, part.number)
            let index = result.count
            result.count += 1
            if let known = self[part.number], known.parts.count > index { continue }
            guard segments.isEmpty || part.number == end || self[part.number] != nil else {
                continue
            }
            let object =
                part.isGap
                ? -1
                : objects.add(part.url.text, part.range, .media, countsAs: source.segments)
            put(
                part: Part(
                    object: object, seconds: max(part.seconds, 0.001),
                    isIndependent: part.isIndependent),
                index: index, of: part.number, needs: needs)
        }
        return result
    }

    private func view(
        of edge: HLSEdge, parts: (first: Int64, last: Int64, count: Int), _ now: Double
    ) -> LiveView {
        let next = edge.nextNumber
        var view = LiveView(numbers: min(max(edge.mediaSequence, first), next)..<next)
        let longest = edge.segments.lazy.map(\.seconds).max() ?? 0
        view.targetSeconds = edge.targetSeconds > 0 ? edge.targetSeconds : max(longest, 1)
        view.firstWithParts = parts.first
        view.nextParts = parts.last == next ? parts.count : 0
        view.holdBackSeconds = edge.holdBackSeconds ?? 3 * view.targetSeconds
        if let part = edge.partTargetSeconds, part > 0, parts.first < .max {
            view.partTargetSeconds = part
            view.holdBackSeconds = edge.partHoldBackSeconds ?? 3 * part
        }
        view.canBlock = edge.canBlockReload
        view.canSkip = edge.canSkipUntilSeconds != nil
        view.hasEnded = edge.hasEnded
        // A segment was whole at the latest now.
        if next == end || view.nextParts > 0 { setEpoch(now - endSeconds, isExact: false) }
        return view
    }

    /// Returns the request of a reload that the origin answers once it has the position.
    func reload(until cursor: LiveCursor, skips: Bool, hasParts: Bool) -> Int32 {
        if let known = reloads.first(where: { $0.cursor == cursor && $0.skips == skips }) {
            return known.object
        }
        let url = objects.url(source.playlist)
        var text = url + (url.utf8.contains(UInt8(ascii: "?")) ? "&" : "?")
        text += "_HLS_msn=\(cursor.number)"
        if hasParts { text += "&_HLS_part=\(cursor.part)" }
        if skips { text += "&_HLS_skip=YES" }
        let index = objects.add(text, nil, .playlist, countsAs: source.playlist)
        reloads.append((cursor, skips, index))
        if reloads.count > Self.maxReloads { objects.remove(reloads.removeFirst().object) }
        return index
    }
}
