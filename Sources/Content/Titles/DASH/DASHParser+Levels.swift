import Model
internal import XML

/// Parses the levels of an MPD.
extension DASHParser {
    func takeManifest(_ element: borrowing XMLElement) throws(Failure) {
        try element.forEachAttribute { (_, name, value) throws(Failure) in
            if name == "type" {
                manifest.isLive = value == "dynamic"
            } else if name == "mediaPresentationDuration" {
                manifest.duration = try optional { () throws(Failure) in try duration(value, name) }
            } else if name == "availabilityStartTime" {
                manifest.availabilityStart = try optional { () throws(Failure) in
                    try date(value, name)
                }
            } else if name == "availabilityEndTime" {
                // Only recordings use it.
                manifest.availabilityEnd = XMLTime.seconds(dateTime: value.string)
            } else if name == "publishTime" {
                // Only clocks are compared with it.
                manifest.publishedSeconds = XMLTime.seconds(dateTime: value.string)
            } else if name == "timeShiftBufferDepth" {
                manifest.timeShiftBufferDepth = try optional { () throws(Failure) in
                    try duration(value, name)
                }
            } else if name == "minimumUpdatePeriod" {
                manifest.minimumUpdate = try optional { () throws(Failure) in
                    try duration(value, name)
                }
            } else if name == "suggestedPresentationDelay" {
                manifest.suggestedDelay = try optional { () throws(Failure) in
                    try duration(value, name)
                }
            }
        }
        if manifest.duration == 0, !manifest.findings.isStrict {
            try note(.dashDuration) { "mediaPresentationDuration is 0" }
            manifest.duration = nil
        }
        if manifest.isLive, manifest.live == .refused {
            throw Failure(.manifestLive, "the MPD is dynamic: it is live")
        }
    }

    private func takeSteering(_ element: borrowing XMLElement) throws(Failure) {
        reference.begin()
        var steering = DASHManifest.Steering()
        try element.forEachAttribute { (_, name, value) throws(Failure) in
            if name == "defaultServiceLocation" {
                steering.firstLocations = try text(value, name).split(separator: " ")
                    .map(String.init)
            } else if name == "proxyServerURL" {
                steering.proxy = try text(value, name)
            } else if name == "queryBeforeStart" {
                steering.asksBeforeStart = value == "true" || value == "1"
            }
        }
        manifest.steering = steering
    }

    func takePeriod(_ element: borrowing XMLElement) throws(Failure) -> Element {
        var period = DASHManifest.Period()
        period.line = line
        var isNothing = false
        try element.forEachAttribute { (namespace, name, value) throws(Failure) in
            if try isRemote(namespace, name, value) {
                isNothing = true
            } else if name == "id" {
                period.id = try text(value, name)
            } else if name == "start" {
                period.start = try optional { () throws(Failure) in try duration(value, name) }
            } else if name == "duration" {
                period.duration = try optional { () throws(Failure) in try duration(value, name) }
            }
        }
        if isNothing { return .other }
        try amounts.addElement()
        manifest.periods.append(period)
        return .period
    }

    func takeSet(_ element: borrowing XMLElement) throws(Failure) -> Element {
        var set = DASHManifest.AdaptationSet()
        var isNothing = false
        try element.forEachAttribute { (namespace, name, value) throws(Failure) in
            if try isRemote(namespace, name, value) {
                isNothing = true
            } else if name == "contentType" {
                set.contentType = try text(value, name)
            } else {
                try take(name, value, into: &set.common)
            }
        }
        if isNothing { return .other }
        try amounts.addElement()
        withPeriod { period in
            set.addressing = period.addressing
            period.sets.append(set)
        }
        return .adaptationSet
    }

    func takeRepresentation(_ element: borrowing XMLElement) throws(Failure) -> Element {
        var representation = DASHManifest.Representation()
        representation.line = line
        withSet { set in
            representation.common = set.common
            representation.addressing = set.addressing
        }
        try element.forEachAttribute { (namespace, name, value) throws(Failure) in
            if try isRemote(namespace, name, value) { return }
            if name == "id" {
                representation.id = try text(value, name)
            } else if name == "bandwidth" {
                representation.bandwidth = try number(value, name)
            } else {
                try take(name, value, into: &representation.common)
            }
        }
        try amounts.addElement()
        withSet { $0.representations.append(representation) }
        return .representation
    }

    private func take(
        _ name: XMLText, _ value: XMLText, into common: inout DASHManifest.Common
    ) throws(Failure) {
        if name == "mimeType" {
            common.mimeType = try text(value, name)
        } else if name == "codecs" {
            common.codecs = try text(value, name)
        } else if name == "lang" {
            common.language = try text(value, name)
        } else if name == "width" {
            common.width = try optional { () throws(Failure) in try number(value, name) }
        } else if name == "height" {
            common.height = try optional { () throws(Failure) in try number(value, name) }
        }
    }

    /// Parses elements that occur at several levels.
    func takeCommon(_ element: borrowing XMLElement) throws(Failure) -> Element {
        let isLocation = element.name == "Location" && open.last == .manifest
        if element.name == "BaseURL" || isLocation {
            reference.begin()
            try element.forEachAttribute { (_, name, value) throws(Failure) in
                if name == "serviceLocation" { reference.location = try text(value, name) }
            }
            return isLocation ? .location : .baseURL
        }
        if element.name == "ContentSteering", open.last == .manifest {
            try takeSteering(element)
            return .steering
        }
        if element.name == "UTCTiming" { try takeClock(element) }
        if open.last == .manifest { return .other }
        if element.name == "SegmentBase" {
            try takeAddressing(element, .base)
            return .segmentBase
        }
        if element.name == "SegmentList" {
            try takeAddressing(element, .list)
            return .segmentList
        }
        if element.name == "SegmentTemplate" {
            try takeAddressing(element, .template)
            return .segmentTemplate
        }
        if element.name == "ImportedMPD" {
            throw Failure(.manifestUnsupported, "an ImportedMPD is not followed")
        }
        if element.name == "RequestParam" { try refuseParameters(element) }
        if element.name == "ContentComponent" || element.name == "EssentialProperty"
            || element.name == "SupplementalProperty"
        {
            try takeProperty(element)
        }
        return .other
    }

    /// Parses a clock; one that is not supported is ignored.
    private func takeClock(_ element: borrowing XMLElement) throws(Failure) {
        guard open.last == .manifest, manifest.clocks.count < DASHClock.maxClocks else { return }
        var scheme = ""
        var value = ""
        try element.forEachAttribute { (_, name, text) throws(Failure) in
            if name == "schemeIdUri" {
                scheme = try self.text(text, name)
            } else if name == "value" {
                value = try self.text(text, name)
            }
        }
        if let clock = DASHClock(scheme: scheme, value: value, base: manifest.url) {
            manifest.clocks.append(clock)
        }
    }

    /// Rejects the 6th edition's replacement of UrlQueryInfo.
    private func refuseParameters(_ element: borrowing XMLElement) throws(Failure) {
        var isOfSegments = true
        element.forEachAttribute { _, name, value in
            if name == "includeInRequests" { isOfSegments = value.string.contains("segment") }
        }
        guard isOfSegments else { return }
        throw Failure(
            .manifestUnsupported,
            "URL parameters (RequestParam) are not supported: without "
                + "them its URLs are not those that a player requests")
    }

    private func takeProperty(_ element: borrowing XMLElement) throws(Failure) {
        guard open.last == .adaptationSet else { return }
        let isComponent = element.name == "ContentComponent"
        try element.forEachAttribute { (_, name, value) throws(Failure) in
            if isComponent, name == "contentType" {
                // A set of several multiplexed contents has the type of the first, usually its
                // video.
                let type = try text(value, name)
                withSet { $0.contentType = $0.contentType ?? type }
            } else if name == "schemeIdUri", value == "http://dashif.org/guidelines/trickmode" {
                withSet { $0.isTrickMode = true }
            }
        }
    }
}
