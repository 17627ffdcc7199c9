package import Model
package import Titles
import WebURL

/// Builds a plan target by target.
///
/// A value: used by one owner at a time. Limited by `LoadPlan.maxObjects` and `maxURLBytes`.
/// Beyond them, and for a title that cannot be played, it throws `input.target`.
package struct LoadPlanBuilder {
    /// Maximum length of all URLs together.
    package static let maxURLBytes = 256 << 20

    package private(set) var plan = LoadPlan()
    private let playsTitles: Bool
    private var renditions: [String: Int32] = [:]
    private var urlBytes = 0
    /// Objects of the title that is being added.
    private var indexes: [Part: Int32] = [:]
    /// BaseURLs with service locations above them.
    private var locations: Set<BaseURLLevels> = []

    private struct Part: Hashable {
        let url: String
        let range: SegmentRange?
        /// An element of `locations`.
        let locations: ObjectIdentifier?
    }

    /// Creates a builder.
    ///
    /// - Parameter playsTitles: true if viewers play titles; otherwise their objects are requested
    ///   in rotation.
    package init(playsTitles: Bool) { self.playsTitles = playsTitles }

    /// Adds a file.
    package mutating func add(
        file url: String, name: String, weight: Double, sha256: String?
    ) throws(Failure) {
        let start = begin(name, weight)
        let object = try add(url, nil, .file)
        plan.objects[Int(object)].sha256 = sha256
        end(from: start)
    }

    /// Records the URL of the last title's manifest after redirects.
    package mutating func redirected(to url: String) {
        guard playsTitles, let target = plan.targets.last else { return }
        plan.finalURLs[Int32(target.objects.lowerBound)] = url
    }

    /// Adds a title.
    ///
    /// - Parameters:
    ///   - manifest: the URL of its manifest.
    ///   - tracks: at least one.
    package mutating func add(
        manifest: String, tracks: [TitleTrack], name: String, weight: Double,
        steering: ContentSteering? = nil
    ) throws(Failure) {
        let start = begin(name, weight)
        // A player reads playlists; a test of segments alone does not.
        let first = playsTitles ? try add(manifest, nil, .playlist) : -1
        var pathways: [SteeringSource.Pathway] = []
        for (name, tracks) in playsTitles ? try Pathways(tracks, steering).all : [("", tracks)] {
            var pathway = SteeringSource.Pathway(name: name)
            pathway.title = try add(tracks, ofManifest: first)
            pathways.append(pathway)
        }
        guard plan.objects.count > Int(start) + (playsTitles ? 1 : 0) else {
            throw Failure(.inputTarget, "the title lists no segment")
        }
        guard playsTitles else { return end(from: start) }
        plan.targets[plan.targets.count - 1].title = pathways[0].title
        try add(steering, pathways, tracks)
        end(from: start)
    }

    private mutating func add(
        _ tracks: [TitleTrack], ofManifest manifest: Int32
    ) throws(Failure) -> MediaTitle? {
        var choice = PlayedTracks(tracks)
        // Single requests use the objects that a player would request.
        if choice.video.isEmpty { choice = PlayedTracks(everything: tracks) }
        var ladder: [MediaTitle.Track] = []
        for periods in choice.video { ladder.append(try add(periods, of: manifest)) }
        var audio: MediaTitle.Track?
        if !choice.audio.isEmpty { audio = try add(choice.audio, of: manifest) }
        guard playsTitles else { return nil }
        let all = ladder + (audio.map { [$0] } ?? [])
        guard plan.objects.count > Int(manifest) + 1 else {
            throw Failure(.inputTarget, "the title lists no segment")
        }
        guard !ladder.isEmpty, all.allSatisfy({ !$0.segments.isEmpty }) else {
            throw Failure(
                .inputTarget,
                "the manifest has no segment durations: viewers cannot play it")
        }
        return MediaTitle(manifest: manifest, video: ladder, audio: audio)
    }

    /// Adds a live title, which viewers follow.
    ///
    /// - Parameter tracks: with the segments that it lists now, at least one.
    package mutating func add(
        live properties: LiveTitleProperties, manifest: String, tracks: [TitleTrack], name: String,
        weight: Double, steering: ContentSteering? = nil
    ) throws(Failure) {
        let start = begin(name, weight)
        let first = try add(manifest, nil, .playlist)
        var clocks: [LiveClock] = []
        var directs = 0
        for clock in properties.clocks {
            switch clock {
            case .direct:
                clocks.append(.direct(directs))
                directs += 1
            case .url(let url): clocks.append(.url(try add(url, nil, .data)))
            }
        }
        var pathways: [SteeringSource.Pathway] = []
        for (name, tracks) in try Pathways(tracks, steering).all {
            var pathway = SteeringSource.Pathway(name: name)
            pathway.live = try add(live: properties, tracks, ofManifest: first, clocks)
            pathways.append(pathway)
        }
        plan.targets[plan.targets.count - 1].live = pathways[0].live
        try add(steering, pathways, tracks, reloads: properties.reloads)
        end(from: start)
    }

    private mutating func add(
        live properties: LiveTitleProperties, _ tracks: [TitleTrack], ofManifest first: Int32,
        _ clocks: [LiveClock]
    ) throws(Failure) -> LiveSource {
        let choice = PlayedTracks(tracks)
        for track in choice.video.joined() + choice.audio { _ = shared(track.locations) }
        var ladder: [LiveSource.Track] = []
        for track in choice.video.compactMap(\.last) {
            ladder.append(try add(live: track, manifest: first))
        }
        let audio = try choice.audio.last.map { (track) throws(Failure) in
            try add(live: track, manifest: first)
        }
        guard !ladder.isEmpty else {
            throw Failure(.inputTarget, "the live title has no track that viewers can play")
        }
        let isSingle = properties.form == .hls && ladder.contains { $0.playlist == first }
        var live = LiveSource(
            form: properties.form, manifest: isSingle ? nil : first, video: ladder, audio: audio)
        live.clocks = clocks
        live.answerOffsetSeconds = properties.answerOffsetSeconds
        live.reloadHosts = properties.reloads?.hosts ?? []
        live.variables = properties.variables
        return live
    }

    /// Adds content steering to the last target, if its title has any.
    private mutating func add(
        _ steering: ContentSteering?, _ pathways: [SteeringSource.Pathway], _ tracks: [TitleTrack],
        reloads: BaseURLLevels? = nil
    ) throws(Failure) {
        guard steering != nil || pathways.count > 1 else { return }
        func hasAudio(_ pathway: SteeringSource.Pathway) -> Bool {
            pathway.title?.audio != nil || pathway.live?.audio != nil
        }
        guard Set(pathways.map(hasAudio)).count < 2 else {
            throw Failure(
                .inputTarget, "some of its pathways have separate audio, and others have not")
        }
        let target = plan.targets.count - 1
        var source = SteeringSource(form: .hls, pathways: pathways)
        if let steering, !steering.locations.isEmpty {
            // In the manifest's order; tracks that are not played do not matter.
            let played = tracks.compactMap(\.locations).filter(locations.contains)
            let found = ServiceLocations(played + (reloads.map { [$0] } ?? []), steering)
            guard steering.serverURL != nil && !found.names.isEmpty || found.hasChoice else {
                return
            }
            source.form = .dash
            source.pathways = found.names.map { SteeringSource.Pathway(name: $0) }
            source.groups = found.groups
            source.bases = found.bases
        }
        if let steering, let url = steering.serverURL {
            let server = try add(steering.proxyURL ?? url, nil, .data)
            plan.objects[Int(server)].isSteering = true
            source.server = server
            source.serverURL = url
            source.proxyURL = steering.proxyURL
        }
        source.asksBeforeStart = steering?.asksBeforeStart ?? false
        for track in tracks {
            guard let id = track.rendition.stableID, let url = track.playlist?.text,
                let index = indexes[Part(url: url, range: nil, locations: nil)]
            else { continue }
            source.stableIDs[index] = SteeringSource.StableID(
                text: id, isRendition: track.rendition.group != nil)
        }
        plan.targets[target].steering = source
    }

    private mutating func add(
        live track: TitleTrack, manifest: Int32
    ) throws(Failure) -> LiveSource.Track {
        let rendition = track.rendition
        let name = Self.name(of: rendition)
        let index = renditionIndex(name)
        var playlist = manifest
        if let own = track.playlist {
            playlist = try add(playlist: own.text, of: track, index, manifest: manifest)
        }
        guard let newest = track.segments.last(where: { $0.role == .media }) else {
            throw Failure(.inputTarget, "the live title lists no segment yet")
        }
        let url = newest.reference.url.text
        let segments = try add(
            url, newest.range, .media, index, listedBy: playlist, at: shared(track.locations))
        let folder = url.utf8.prefix { $0 != UInt8(ascii: "?") }.lastIndex(of: UInt8(ascii: "/"))
        plan.labels[segments] = folder.map { "\(url[...$0])… (live segments)" }
        return LiveSource.Track(
            name: name, bitsPerSecond: rendition.bandwidth ?? rendition.averageBandwidth ?? 0,
            height: rendition.height, id: rendition.id, playlist: playlist, segments: segments)
    }

    // MARK: Tracks

    /// Adds a track, which consists of one track of each period.
    private mutating func add(
        _ periods: [TitleTrack], of manifest: Int32
    ) throws(Failure) -> MediaTitle.Track {
        let rendition = periods.first?.rendition ?? Rendition(id: "", kind: .other)
        let name = Self.name(of: rendition)
        let index = renditionIndex(name)
        var track = MediaTitle.Track(
            name: name, bitsPerSecond: rendition.bandwidth ?? rendition.averageBandwidth ?? 0,
            setup: [], segments: [])
        track.height = rendition.height
        var list = manifest
        if playsTitles, let period = periods.first, let playlist = period.playlist {
            list = try add(playlist: playlist.text, of: period, index, manifest: manifest)
            track.setup.append(list)
        }
        for period in periods {
            let locations = shared(period.locations)
            var needs = PartNeeds()
            for segment in period.segments {
                let object = try add(
                    segment.reference.url.text, segment.range, segment.role, index,
                    listedBy: list, at: locations)
                if segment.isClear { needs.takeNoKey() }
                switch segment.role {
                case .`init`: needs.takeInitialization(object)
                case .key: needs.takeKey(object)
                case .index: needs.takeIndex(object)
                default:
                    needs.takeSegment()
                    guard let seconds = segment.durationSeconds else { continue }
                    track.append(
                        .init(object: object, seconds: max(seconds, 0.001)),
                        needs: needs.objects)
                }
            }
        }
        return track
    }

    private mutating func add(
        playlist url: String, of track: TitleTrack, _ rendition: Int32, manifest: Int32
    ) throws(Failure) -> Int32 {
        let index = try add(url, nil, .playlist, rendition, listedBy: manifest)
        plan.finalURLs[index] = track.redirectedPlaylist?.text
        return index
    }

    private mutating func renditionIndex(_ name: String) -> Int32 {
        if let index = renditions[name] { return index }
        let index = Int32(plan.renditions.count)
        renditions[name] = index
        plan.renditions.append(name)
        return index
    }

    /// Returns a name such as `video 720p 3000 kbit/s` or `audio en`, the same for equal renditions
    /// of all titles.
    static func name(of rendition: Rendition) -> String {
        var words = [rendition.kind == .other ? "media" : rendition.kind.rawValue]
        if let height = rendition.height { words.append("\(height)p") }
        if let language = rendition.language { words.append(Redaction.shown(language)) }
        if let bits = rendition.bandwidth ?? rendition.averageBandwidth {
            words.append("\(Rendition.kilobits(bits)) kbit/s")
        }
        if words.count == 1, !rendition.id.isEmpty { words.append(Redaction.shown(rendition.id)) }
        return words.joined(separator: " ")
    }

    // MARK: Objects

    private mutating func begin(_ name: String, _ weight: Double) -> Int {
        indexes = [:]
        locations = []
        plan.targets.append(.init(name: name, weight: weight, objects: 0..<0))
        return plan.objects.count
    }

    private mutating func end(from start: Int) {
        plan.targets[plan.targets.count - 1].objects = start..<plan.objects.count
        indexes = [:]
        locations = []
    }

    /// Returns the first equal BaseURLs of this target.
    private mutating func shared(_ found: BaseURLLevels?) -> BaseURLLevels? {
        found.map { locations.insert($0).memberAfterInsert }
    }

    /// Returns the index of an object, which is added if this target does not have it.
    ///
    /// - Parameter locations: a result of `shared`.
    private mutating func add(
        _ url: String, _ range: SegmentRange?, _ role: SegmentRole, _ rendition: Int32 = -1,
        listedBy manifest: Int32 = -1, at locations: BaseURLLevels? = nil
    ) throws(Failure) -> Int32 {
        let part = Part(url: url, range: range, locations: locations.map(ObjectIdentifier.init))
        if let index = indexes[part] { return index }
        urlBytes += url.utf8.count
        guard plan.objects.count < LoadPlan.maxObjects, urlBytes <= Self.maxURLBytes else {
            throw Failure(
                .inputTarget,
                "all targets together have more than \(LoadPlan.maxObjects) objects, or "
                    + "\(Self.maxURLBytes) bytes of URLs")
        }
        let index = Int32(plan.objects.count)
        var object = LoadPlan.Object(
            url: url, role: role, target: Int32(plan.targets.count - 1))
        object.range = range
        object.rendition = rendition
        object.manifest = manifest
        object.locations = locations
        plan.objects.append(object)
        indexes[part] = index
        return index
    }
}

/// The tracks of a title that a player plays: renditions of one video, and one audio.
struct PlayedTracks {
    /// By bit rate, the lowest first; each with the tracks of all periods.
    private(set) var video: [[TitleTrack]] = []
    /// Tracks of all periods; empty if the video includes audio, or if there is none.
    private(set) var audio: [TitleTrack] = []

    /// Selects the first of several codecs, and the default or first of several audio tracks.
    init(_ tracks: [TitleTrack]) {
        let periods = Dictionary(grouping: tracks, by: \.period).sorted { $0.key < $1.key }
        var ladders: [[TitleTrack]] = []
        for (_, tracks) in periods {
            var variants = tracks.filter(\.rendition.isVariant)
            let hasPictures = !variants.isEmpty
            if !hasPictures {
                variants = tracks.filter {
                    $0.rendition.kind == .audio && $0.rendition.group == nil
                }
                variants = variants.filter {
                    $0.rendition.language == variants[0].rendition.language
                }
            }
            guard let first = variants.first else { continue }
            let codec = Self.codec(first)
            ladders.append(
                variants.filter { Self.codec($0) == codec }.enumerated().sorted {
                    (Self.bits($0.element), $0.offset) < (Self.bits($1.element), $1.offset)
                }.map(\.element))
            if hasPictures { audio += Self.sound(tracks, first).map { [$0] } ?? [] }
        }
        let most = ladders.map(\.count).max() ?? 0
        video = (0..<most).map { rung in ladders.map { $0[min(rung, $0.count - 1)] } }
    }

    /// Selects all tracks of a title that cannot be played.
    init(everything tracks: [TitleTrack]) { video = tracks.map { [$0] } }

    private static func bits(_ track: TitleTrack) -> Int64 {
        track.rendition.bandwidth ?? track.rendition.averageBandwidth ?? 0
    }

    /// Returns the name of the first codec: `avc1`.
    private static func codec(_ track: TitleTrack) -> Substring {
        (track.rendition.codecs ?? "").prefix { $0 != "." && $0 != "," && $0 != " " }
    }

    private static func sound(_ tracks: [TitleTrack], _ variant: TitleTrack) -> TitleTrack? {
        let groups = variant.rendition.groups
        let sounds = tracks.filter { track in
            track.rendition.kind == .audio && !track.rendition.isTrickMode
                // An audio-only variant of HLS is for players without video.
                && (track.playlist == nil || track.rendition.group.map(groups.contains) == true)
        }
        return sounds.first { $0.rendition.isDefault } ?? sounds.first
    }
}
