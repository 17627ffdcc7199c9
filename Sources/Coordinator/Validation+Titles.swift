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
}
