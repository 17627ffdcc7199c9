import Model

extension Validation {
    /// What may be wanted of titles.
    static func check(_ titles: TitleOptions) throws(Failure) {
        let tracks = titles.tracks
        for (field, number) in [
            ("maximumHeight", tracks.maximumHeight),
            ("maximumBitsPerSecond", tracks.maximumBitsPerSecond),
            ("preferredBitsPerSecond", tracks.preferredBitsPerSecond),
        ] {
            guard let number, !(1...1_000_000_000_000).contains(number) else { continue }
            throw wrong("titles.tracks.\(field)", "\(number)", "1 to 1000000000000")
        }
        for (field, names) in [
            ("codecs", tracks.codecs), ("audio", tracks.audio), ("subtitles", tracks.subtitles),
        ] {
            guard let names else { continue }
            try range(names.count, "titles.tracks.\(field)", (field == "codecs" ? 1 : 0)...50)
            for (index, name) in names.enumerated() {
                try text(name, "titles.tracks.\(field)[\(index)]", 1...100)
            }
        }
    }

    /// Warnings about a title's manifests.
    static func check(_ warnings: ManifestWarnings) throws(Failure) {
        try range(warnings.first.count, "warnings.first", 0...WireLimits.warningsPerAsset)
        try range(warnings.count, "warnings.count", warnings.first.count...Int(Int32.max))
        for (index, warning) in warnings.first.enumerated() {
            let field = "warnings.first[\(index)]"
            try text(warning.rule, "\(field).rule", 1...100)
            try text(warning.source, "\(field).source", 1...100)
            try text(warning.manifest, "\(field).manifest", 1...ManifestWarnings.textCharacters)
            try text(warning.message, "\(field).message", 1...ManifestWarnings.textCharacters)
            try range(warning.line ?? 1, "\(field).line", 1...Int(Int32.max))
            try range(warning.count, "\(field).count", 1...Int(Int32.max))
        }
    }
}
