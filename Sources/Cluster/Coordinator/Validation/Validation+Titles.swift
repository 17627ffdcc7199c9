import Model

extension Validation {
    /// Checks the options of titles.
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
        if titles.records ?? false, titles.takesSnapshots ?? false {
            throw wrong("titles.records", "true", "true only without titles.takesSnapshots")
        }
        if let time = titles.recordsUntilSeconds, !WireLimits.pointsInTime.contains(time) {
            throw wrong("titles.recordsUntilSeconds", "\(time)", pointsInTime)
        }
        if let kinds = titles.mayLack {
            try range(kinds.count, "titles.mayLack", 1...RenditionKind.allCases.count)
            guard Set(kinds).count == kinds.count else {
                throw wrong(
                    "titles.mayLack", kinds.map(\.rawValue).joined(separator: ","), "each kind once"
                )
            }
            guard titles.records != true else {
                throw wrong("titles.mayLack", "\(kinds.count)", "it only without titles.records")
            }
        }
        if let rules = titles.keyQueries { try check(rules) }
    }

    /// Checks renditions that a title lacks.
    static func check(_ renditions: [LeftOutRendition], in list: String) throws(Failure) {
        try range(renditions.count, list, 0...WireLimits.leftOutRenditions)
        for (index, rendition) in renditions.enumerated() {
            let field = "\(list)[\(index)]"
            guard rendition.kind != nil else {
                throw wrong(
                    "\(field).kind", "none",
                    RenditionKind.allCases.map(\.rawValue).joined(separator: ", "))
            }
            let length = 0...LeftOutRendition.nameCharacters
            try text(rendition.name ?? "", "\(field).name", length)
            try text(rendition.attributes ?? "", "\(field).attributes", length)
            try text(rendition.key, "\(field).key", 1...WireLimits.keyBytes)
            try text(rendition.code.rawValue, "\(field).code", 1...100)
            try text(rendition.message, "\(field).message", 0...1_000)
        }
    }

    /// Checks the rules for the query parameters of keys.
    private static func check(_ rules: [KeyQueryRule]) throws(Failure) {
        let all = "titles.keyQueries"
        try range(rules.count, all, 1...KeyQueryRule.maximumRules)
        var origins: Set<String?> = []
        for (index, rule) in rules.enumerated() {
            let field = "\(all)[\(index)]"
            if let origin = rule.origin, originName(of: origin, allowsUserInfo: false) != origin {
                throw wrong("\(field).origin", origin, "http://HOST[:PORT] or https://HOST[:PORT]")
            }
            guard origins.insert(rule.origin).inserted else {
                throw wrong("\(field).origin", rule.origin ?? "none", "each once")
            }
            for (part, names) in [("keep", rule.keep), ("leaveOut", rule.leaveOut)] {
                guard let names else { continue }
                try range(names.count, "\(field).\(part)", 0...KeyQueryRule.maximumNames)
                for (index, name) in names.enumerated()
                where !KeyQueryRule.isName(name) || name != name.lowercased() {
                    throw wrong(
                        "\(field).\(part)[\(index)]", name,
                        KeyQueryRule.allowedName + ", in lower case")
                }
            }
            if let name = rule.keep?.first(where: { rule.leaveOut?.contains($0) == true }) {
                throw wrong(field, name, "each name in one of keep and leaveOut")
            }
        }
        try range(
            rules.reduce(0) { $0 + $1.bytes }, "\(all), in bytes", 0...KeyQueryRule.maximumBytes)
    }

    /// Checks warnings about a title's manifests.
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
