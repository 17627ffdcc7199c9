import WebURL

/// The form of a reference in a manifest (RFC 3986, section 4.2): what it leaves out is taken from
/// the URL at which the manifest was received.
package enum ReferenceForm: Int, Comparable, Sendable {
    /// Follows the manifest's folder.
    case relative
    /// From the root (`/a/b`): follows the manifest's origin.
    case path
    /// With a host: follows nothing.
    case url

    package init(_ reference: String) {
        let bytes = Array(reference.utf8.drop { $0 == UInt8(ascii: " ") })
        if bytes.starts(with: "//".utf8) || ReferenceBase.hasScheme(bytes, bytes.indices) {
            self = .url
        } else {
            self = bytes.first == UInt8(ascii: "/") ? .path : .relative
        }
    }

    package static func < (left: ReferenceForm, right: ReferenceForm) -> Bool {
        left.rawValue < right.rawValue
    }
}

extension DASHManifest {
    /// Returns the form of references below a track's BaseURLs.
    ///
    /// If content steering chooses from alternatives, the one that follows the MPD most counts.
    func baseForm(of track: Track) -> ReferenceForm {
        let levels = [
            baseURLs, periods[track.period].baseURLs, track.set.baseURLs,
            track.representation.baseURLs,
        ]
        return levels.reduce(.relative) { outer, level in
            // Others are mirrors.
            let chosen = level.prefix(1) + level.dropFirst().filter { !$0.location.isEmpty }
            return max(outer, chosen.map { ReferenceForm($0.reference) }.min() ?? .relative)
        }
    }
}

extension DASHManifest.Addressing {
    /// Form of the references to media, below the BaseURLs; of a list, its first.
    var mediaForm: ReferenceForm {
        switch kind {
        case .none, .base: .relative
        case .list: form(list.isEmpty ? nil : list[0].media)
        case .template: form(media)
        }
    }

    /// Form of the reference to the initialization section, below the BaseURLs.
    var setupForm: ReferenceForm { form(initializationTemplate ?? initialization?.url) }

    private func form(_ reference: String?) -> ReferenceForm {
        reference.map { ReferenceForm($0) } ?? .relative
    }
}
