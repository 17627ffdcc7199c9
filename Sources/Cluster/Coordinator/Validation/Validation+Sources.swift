import API
import Lists
import Model

extension Validation {
    static func check(_ source: SourceSubmission) throws(Failure) {
        try url(source.url, "url")
        guard originName(of: source.url, allowsUserInfo: false) != nil else {
            throw wrong(
                "url", redacted(url: source.url),
                "a URL without credentials; workers add the headers of --origin-settings")
        }
        if let format = source.format {
            guard ListFormat(rawValue: format) != nil else {
                throw wrong(
                    "format", format, ListFormat.allCases.map(\.rawValue).joined(separator: ", "))
            }
        }
        try interval(source.everySeconds, "everySeconds")
        if let percent = source.maxDropPercent { try range(percent, "maxDropPercent", 0...100) }
    }

    static func interval(_ seconds: Double, _ field: String) throws(Failure) {
        let allowed = WireLimits.sourceSeconds
        guard allowed.contains(seconds) else {
            throw wrong(
                field, "\(seconds)",
                "\(Int(allowed.lowerBound)) to \(Int(allowed.upperBound)) seconds")
        }
    }

    static func check(_ check: SourceCheck) throws(Failure) {
        try range(check.names.count, "names", 0...WireLimits.namesPerSourceCheck)
        for (index, name) in check.names.enumerated() {
            try text(name, "names[\(index)]", 1...1_000)
        }
    }

    static func check(_ report: SourceReport) throws(Failure) {
        try digest(report.sha256, "sha256")
        if let validator = report.validator {
            try text(validator, "validator", 1...WireLimits.validatorCharacters)
        }
        for (field, count) in [("assets", report.assets), ("added", report.added)] {
            guard let count, !(0...1 << 40).contains(count) else { continue }
            throw wrong(field, "\(count)", "0 to \(1 << 40)")
        }
        guard report.result != .applied || report.sha256 != nil && report.assets != nil else {
            throw wrong("result", "applied", "applied with sha256 and assets")
        }
        if let failure = report.failure {
            try text(failure.code.rawValue, "failure.code", 1...100)
            try range(failure.message.utf8.count, "failure.message, in bytes", 0...2_000)
            guard !failure.message.utf8.contains(0) else {
                throw wrong("failure.message", "a NUL character", "text without it")
            }
        }
    }
}
