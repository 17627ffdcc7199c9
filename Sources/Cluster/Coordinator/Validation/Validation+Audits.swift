import API
import Model

extension Validation {
    static func check(_ audit: SiteAuditSubmission) throws(Failure) {
        try text(audit.site, "site", 1...2_048)
        if let rate = audit.readBytesPerSecond, rate != 0 {
            guard Bandwidth.allowed.contains(rate) else {
                throw wrong(
                    "readBytesPerSecond", "\(rate)",
                    "0, or \(Bandwidth.allowed.lowerBound) to \(Bandwidth.allowed.upperBound)")
            }
        }
        if let files = audit.filesPerSecond {
            try range(files, "filesPerSecond", WireLimits.auditFilesPerSecond)
        }
    }

    static func check(_ check: SiteAuditCheck) throws(Failure) {
        let most = WireLimits.recordsPerAuditPage
        for (field, count) in [
            ("segments", check.segments.count), ("keys", check.keys.count),
            ("multiparts", check.multiparts.count), ("leases", check.leases.count),
            ("assets", check.assets.count),
        ] {
            try range(count, field, 0...most)
        }
        for (index, segment) in check.segments.enumerated() where segment == 0 || segment == .min {
            throw wrong("segments[\(index)]", "\(segment)", "a segment's or a directory's number")
        }
        for (index, key) in check.keys.enumerated() { try path(key, "keys[\(index)]") }
    }

    static func check(_ report: SiteAuditReport) throws(Failure) {
        try range(report.page, "page", 0...1_000_000)
        if let number = report.number { try range(number, "number", 0...1_000_000_000) }
        let hasResults =
            report.isPageDone || report.isEnd || !report.findings.isEmpty || report.files != 0
            || report.bytes != 0 || report.checkedFiles != 0
        guard report.number != nil || !hasResults else {
            throw wrong("number", "null", "a number in a report of results")
        }
        if let failure = report.failure {
            try text(failure.code.rawValue, "failure.code", 1...100)
            try range(failure.message.utf8.count, "failure.message, in bytes", 0...2_000)
            guard !failure.message.utf8.contains(0) else {
                throw wrong("failure.message", "a NUL character", "text without it")
            }
        }
        for (field, count) in [
            ("files", report.files), ("bytes", report.bytes), ("readBytes", report.readBytes),
            ("checkedFiles", report.checkedFiles),
            ("uncomparedFiles", report.uncomparedFiles ?? 0),
            ("uncomparedBytes", report.uncomparedBytes ?? 0),
        ] where !(0...1 << 60).contains(count) {
            throw wrong(field, "\(count)", "0 to \(1 << 60)")
        }
        try range(report.findings.count, "findings", 0...WireLimits.findingsPerAuditReport)
        for (index, finding) in report.findings.enumerated() {
            let field = "findings[\(index)]"
            try path(finding.path, "\(field).path")
            for (name, bytes) in [
                ("bytes", finding.bytes), ("expectedBytes", finding.expectedBytes),
            ] {
                guard let bytes, !(0...1 << 60).contains(bytes) else { continue }
                throw wrong("\(field).\(name)", "\(bytes)", "0 to \(1 << 60)")
            }
            try digest(finding.sha256, "\(field).sha256")
            if let segment = finding.segment, segment == 0 || segment == .min {
                throw wrong(
                    "\(field).segment", "\(segment)", "a segment's or a directory's number")
            }
        }
    }

    /// A path at a site, which others may have made: of any characters but NUL.
    static func path(_ text: String, _ field: String) throws(Failure) {
        try range(text.utf8.count, "\(field), in bytes", 1...WireLimits.keyBytes)
        guard text.utf8.contains(0) else { return }
        throw wrong(field, "a NUL character", "a path")
    }
}
