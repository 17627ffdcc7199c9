import Model
internal import XML

/// SegmentBase, SegmentList, SegmentTemplate and what stands in them (5.3.9).
extension DASHParser {
    func takeAddressing(
        _ element: borrowing XMLElement, _ kind: DASHManifest.Addressing.Kind
    ) throws(Failure) {
        addressing = try inherited()
        // Only elements of one kind inherit from one another (5.3.9.1).
        if addressing.kind != kind { addressing = DASHManifest.Addressing() }
        addressing.kind = kind
        listIsInherited = true
        try element.forEachAttribute { (namespace, name, value) throws(Failure) in
            if try !isRemote(namespace, name, value) { try take(name, value) }
        }
    }

    /// What an addressing element that begins now goes on from: its own level's, else the one above.
    private func inherited() throws(Failure) -> DASHManifest.Addressing {
        var found = DASHManifest.Addressing()
        var isLate = false
        switch open.last {
        case .period:
            withPeriod {
                found = $0.addressing
                isLate = !$0.sets.isEmpty
            }
        case .adaptationSet:
            withSet {
                found = $0.addressing
                isLate = !$0.representations.isEmpty
            }
        case .representation: withRepresentation { found = $0.addressing }
        default: break
        }
        guard !isLate else {
            throw Failure(
                "manifest.malformed", "how segments are addressed stands after what it is for")
        }
        return found
    }

    func store(_ addressing: DASHManifest.Addressing) {
        switch open.last {
        case .period: withPeriod { $0.addressing = addressing }
        case .adaptationSet: withSet { $0.addressing = addressing }
        case .representation: withRepresentation { $0.addressing = addressing }
        default: break
        }
    }

    private func take(_ name: XMLText, _ value: XMLText) throws(Failure) {
        if name == "timescale" {
            addressing.timescale = try positive(value, name)
        } else if name == "presentationTimeOffset" {
            addressing.presentationTimeOffset = try number(value, name)
        } else if name == "duration" {
            addressing.duration = try positive(value, name)
            addressing.timeline = nil
        } else if name == "startNumber" {
            addressing.startNumber = try number(value, name)
        } else if name == "endNumber" {
            addressing.endNumber = try number(value, name)
        } else if name == "eptDelta" {
            addressing.eptDelta = try signed(value, name)
        } else if name == "indexRange" {
            addressing.indexRange = try range(value, name)
        } else if name == "media" {
            addressing.media = try text(value, name)
        } else if name == "index" {
            addressing.index = try text(value, name)
        } else if name == "initialization" {
            addressing.initializationTemplate = try text(value, name)
            addressing.initialization = nil
        } else if name == "bitstreamSwitching" {
            addressing.bitstreamSwitchingTemplate = try text(value, name)
            addressing.bitstreamSwitching = nil
        }
    }

    func takePart(
        _ element: borrowing XMLElement, of parent: Element
    ) throws(Failure) -> Element {
        if element.name == "SegmentTimeline" {
            addressing.timeline = DASHManifest.Timeline()
            addressing.duration = nil
            return .timeline
        }
        if element.name == "SegmentURL", parent == .segmentList {
            try takeListEntry(element)
            return .other
        }
        if element.name == "Initialization" {
            addressing.initialization = try source(element)
            addressing.initializationTemplate = nil
        } else if element.name == "RepresentationIndex" {
            addressing.representationIndex = try source(element)
        } else if element.name == "BitstreamSwitching" {
            addressing.bitstreamSwitching = try source(element)
            addressing.bitstreamSwitchingTemplate = nil
        }
        return .other
    }

    private func source(_ element: borrowing XMLElement) throws(Failure) -> DASHManifest.Source {
        var source = DASHManifest.Source()
        try element.forEachAttribute { (_, name, value) throws(Failure) in
            if name == "sourceURL" {
                source.url = try text(value, name)
            } else if name == "range" {
                source.range = try range(value, name)
            }
        }
        return source
    }

    private func takeListEntry(_ element: borrowing XMLElement) throws(Failure) {
        var entry = DASHManifest.ListEntry()
        try element.forEachAttribute { (_, name, value) throws(Failure) in
            if name == "media" {
                entry.media = try text(value, name)
            } else if name == "mediaRange" {
                entry.mediaRange = try range(value, name)
            } else if name == "index" {
                entry.index = try text(value, name)
            } else if name == "indexRange" {
                entry.indexRange = try range(value, name)
            }
        }
        listEntries += entry.hasIndexOfItsOwn ? 2 : 1
        guard listEntries <= DASHManifest.maximumListEntries else {
            throw Failure(
                "manifest.tooMany",
                "more than \(DASHManifest.maximumListEntries) segments are listed")
        }
        // A list of a lower level takes the place of the one above.
        if listIsInherited { addressing.list = DASHManifest.SegmentList() }
        listIsInherited = false
        addressing.list.append(entry)
    }

    func takeEntry(_ element: borrowing XMLElement) throws(Failure) {
        var entry = DASHManifest.TimelineEntry()
        try element.forEachAttribute { (_, name, value) throws(Failure) in
            if name == "t" {
                entry.time = try number(value, name)
            } else if name == "d" {
                entry.duration = try positive(value, name)
            } else if name == "r" {
                let repeats = try signed(value, name)
                guard repeats <= Int64(Int32.max) else {
                    throw wrong(name, value, "a number up to \(Int32.max)")
                }
                entry.repeats = Int32(max(repeats, -1))
            } else if name == "n" {
                entry.number = try number(value, name)
            } else if name == "k" {
                let sequence = try positive(value, name)
                guard sequence <= DASHManifest.maximumSequence else {
                    throw wrong(name, value, "1 to \(DASHManifest.maximumSequence)")
                }
                entry.sequence = Int32(sequence)
            }
        }
        guard entry.duration > 0 else {
            throw Failure("manifest.malformed", "an S has no duration (d)")
        }
        timelineEntries += 1
        guard timelineEntries <= DASHManifest.maximumTimelineEntries else {
            throw Failure(
                "manifest.tooMany",
                "more than \(DASHManifest.maximumTimelineEntries) entries of timelines")
        }
        addressing.timeline?.append(entry)
    }
}
