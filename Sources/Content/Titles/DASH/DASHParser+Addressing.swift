import Model
import Text
internal import XML

/// Parses SegmentBase, SegmentList, SegmentTemplate and their contents (5.3.9).
extension DASHParser {
    func takeAddressing(
        _ element: borrowing XMLElement, _ kind: DASHManifest.Addressing.Kind
    ) throws(Failure) {
        let (values, own) = try inherited()
        addressing = OpenAddressing(kind, inheriting: values, own)
        try element.forEachAttribute { (namespace, name, value) throws(Failure) in
            if try !isRemote(namespace, name, value) { try take(name, value) }
        }
    }

    /// Returns the addressing that a new addressing element extends: its own level's, otherwise
    /// that of the level above.
    private func inherited() throws(Failure) -> (
        DASHManifest.Addressing, DASHManifest.OwnAddressing
    ) {
        var found = DASHManifest.Addressing()
        var own = DASHManifest.OwnAddressing()
        switch open.last {
        case .period:
            withPeriod {
                (found, own) = ($0.addressing, $0.own)
                late.period = late.period || !$0.sets.isEmpty
            }
            if late.period { try noteOrder() }
        case .adaptationSet:
            withSet {
                (found, own) = ($0.addressing, $0.own)
                late.set = late.set || !$0.representations.isEmpty
            }
            if late.set { try noteOrder() }
        case .representation: withRepresentation { (found, own) = ($0.addressing, $0.own) }
        default: break
        }
        return (found, own)
    }

    private func noteOrder() throws(Failure) {
        try note(.dashOrder) { "segment addressing comes after the elements that it applies to" }
    }

    /// Applies late addressing to the levels below once they are complete.
    func handDown(_ level: Element?) {
        if level == .adaptationSet, late.set {
            late.set = false
            withSet { $0.handDown() }
        } else if level == .period, late.period {
            late.period = false
            withPeriod { $0.handDown() }
        }
    }

    /// Sets the addressing of the level whose addressing element ends.
    func storeAddressing() {
        let (values, own) = (addressing.values, addressing.own)
        switch open.last {
        case .period: withPeriod { ($0.addressing, $0.own) = (values, own) }
        case .adaptationSet: withSet { ($0.addressing, $0.own) = (values, own) }
        case .representation: withRepresentation { ($0.addressing, $0.own) = (values, own) }
        default: break
        }
    }

    private func take(_ name: XMLText, _ value: XMLText) throws(Failure) {
        if name == "timescale" {
            addressing.values.timescale = try positive(value, name)
            addressing.own.fields.insert(.timescale)
        } else if name == "presentationTimeOffset" {
            addressing.values.presentationTimeOffset = try number(value, name)
            addressing.own.fields.insert(.presentationTimeOffset)
        } else if name == "duration" {
            addressing.values.duration = try positive(value, name)
            addressing.values.timeline = nil
            addressing.own.fields.insert(.durations)
        } else if name == "startNumber" {
            addressing.values.startNumber = try number(value, name)
            addressing.own.fields.insert(.startNumber)
        } else if name == "endNumber" {
            addressing.values.endNumber = try number(value, name)
            addressing.own.fields.insert(.endNumber)
        } else if name == "eptDelta" {
            addressing.values.eptDelta = try signed(value, name)
            addressing.own.fields.insert(.eptDelta)
        } else if name == "indexRange" {
            addressing.values.indexRange = try range(value, name)
            addressing.own.fields.insert(.indexRange)
        } else {
            try takeTemplate(name, value)
        }
    }

    private func takeTemplate(_ name: XMLText, _ value: XMLText) throws(Failure) {
        if name == "media" {
            addressing.values.media = try template(value, name, .segments)
            addressing.own.fields.insert(.media)
        } else if name == "index" {
            addressing.values.index = try template(value, name, .segments)
            addressing.own.fields.insert(.index)
        } else if name == "initialization" {
            addressing.values.initializationTemplate = try template(value, name, .once)
            addressing.values.initialization = nil
            addressing.own.fields.insert(.initialization)
        } else if name == "bitstreamSwitching" {
            addressing.values.bitstreamSwitchingTemplate = try template(value, name, .once)
            addressing.values.bitstreamSwitching = nil
            addressing.own.fields.insert(.bitstreamSwitching)
        }
    }

    /// Parses a template, with warnings about broken rules in it; a strict parse rejects it when it
    /// is used.
    private func template(
        _ value: XMLText, _ name: XMLText, _ use: DASHTemplate.Use
    ) throws(Failure) -> String {
        let text = try text(value, name)
        guard !manifest.findings.isStrict, addressing.values.kind == .template,
            text.utf8.contains(ASCII.dollar),
            let template = try? DASHTemplate(text, use, id: "", bandwidth: 0, isStrict: false)
        else { return text }
        for deviation in template.deviations {
            manifest.findings.warn(deviation.rule, line: line) {
                "the \(name.string) template \(deviation.what)"
            }
        }
        return text
    }

    func takePart(
        _ element: borrowing XMLElement, of parent: Element
    ) throws(Failure) -> Element {
        if element.name == "SegmentTimeline" {
            addressing.values.timeline = DASHManifest.Timeline()
            addressing.values.duration = nil
            addressing.own.fields.insert(.durations)
            return .timeline
        }
        if element.name == "SegmentURL", parent == .segmentList {
            try takeListEntry(element)
            return .other
        }
        if element.name == "Initialization" {
            addressing.values.initialization = try source(element)
            addressing.values.initializationTemplate = nil
            addressing.own.fields.insert(.initialization)
        } else if element.name == "RepresentationIndex" {
            addressing.values.representationIndex = try source(element)
            addressing.own.fields.insert(.representationIndex)
        } else if element.name == "BitstreamSwitching" {
            addressing.values.bitstreamSwitching = try source(element)
            addressing.values.bitstreamSwitchingTemplate = nil
            addressing.own.fields.insert(.bitstreamSwitching)
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
        try amounts.addListEntries(entry.hasIndexOfItsOwn ? 2 : 1)
        addressing.append(entry)
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
            throw Failure(.manifestMalformed, "an S has no duration (d)")
        }
        try amounts.addTimelineEntry()
        addressing.values.timeline?.append(entry)
    }
}

extension DASHParser {
    /// The current addressing element, with inherited attributes.
    struct OpenAddressing {
        var values = DASHManifest.Addressing()
        /// Attributes that the element sets itself.
        var own = DASHManifest.OwnAddressing()
        private var listIsInherited = false

        init() {}

        /// Extends the addressing of its own level, otherwise of the level above.
        init(
            _ kind: DASHManifest.Addressing.Kind, inheriting values: DASHManifest.Addressing,
            _ own: DASHManifest.OwnAddressing
        ) {
            // Only elements of one kind inherit from each other (5.3.9.1).
            if values.kind == kind { self.values = values }
            if own.kind == kind { self.own = own }
            self.values.kind = kind
            self.own.kind = kind
            listIsInherited = true
        }

        /// Adds an entry of a list; a list of a lower level replaces the one above.
        mutating func append(_ entry: DASHManifest.ListEntry) {
            if listIsInherited { values.list = DASHManifest.SegmentList() }
            listIsInherited = false
            own.fields.insert(.list)
            values.list.append(entry)
        }
    }

    /// Levels with addressing that comes after the elements that it applies to.
    struct LateAddressing {
        /// After representations of the current set.
        var set = false
        /// After sets of the current period.
        var period = false
    }
}
