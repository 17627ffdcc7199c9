import Glibc
package import Lists
package import Model
import Text

/// The LIST operand: one URL, a file, stdin, or a list at a URL. It is read twice, once to check it
/// and once to submit it.
///
/// Input that cannot be read twice (stdin, a pipe) is copied to an unnamed temporary file during
/// the check. So a malformed list starts nothing, at any length and in bounded memory.
package struct ListSource: Sendable {
    private enum Content: Sendable {
        case url(String)
        case file(ListFile)
        /// A list at a URL.
        case remote(String)
    }

    /// Name for messages: the file's name, `stdin`, or a list's URL; nil for the URL of an asset.
    package let label: String?
    /// Name for a list without one, from the file's name or the URL's host and path.
    package let defaultName: String
    /// The requested format; nil to detect it.
    package let format: ListFormat?
    /// Rules for the query parameters that belong to keys.
    private let rules: KeyQueryRules
    private let content: Content
    /// The documents to fetch; nil if nothing is fetched.
    private let documents: ListDocuments?

    /// Opens the list. Throws `input.unreadable`.
    ///
    /// - Parameter downloader: fetches the list at a URL if `format` is set, and the sitemaps of an
    ///   index. Without one, such a URL is an asset, and an index is rejected.
    package init(
        _ operand: String, format: ListFormat? = nil, downloader: ListDownloader? = nil,
        rules: KeyQueryRules = KeyQueryRules()
    ) throws(Failure) {
        self.format = format
        self.rules = rules
        documents = downloader.map { ListDocuments($0, format) }
        if Self.isURL(operand) {
            let isList = format != nil && downloader != nil
            content = isList ? .remote(operand) : .url(operand)
            label = isList ? Redaction.shown(operand) : nil
            defaultName = Self.name(of: operand)
            return
        }
        label = operand == "-" ? "stdin" : operand
        content = .file(try ListFile(operand))
        let fileName = operand == "-" ? "stdin" : operand.split(separator: "/").last ?? "list"
        let stem = fileName.split(separator: ".").first.map(String.init) ?? String(fileName)
        defaultName = Self.cleaned(stem)
    }

    /// Opens the list at a URL.
    package init(
        url: String, format: ListFormat?, downloader: ListDownloader, rules: KeyQueryRules
    ) {
        self.format = format
        self.rules = rules
        documents = ListDocuments(downloader, format)
        content = .remote(url)
        label = Redaction.shown(url)
        defaultName = Self.name(of: url)
    }

    /// Fetches a list at a URL before its first pass. Returns false if the origin confirms that it
    /// still has `validator`; then there is nothing to read.
    package func fetch(unless validator: String?) async throws(Failure) -> Bool {
        guard case .remote(let url) = content, let documents else { return true }
        return try await documents.begin(url, unless: validator)
    }

    /// The digest of all fetched documents.
    package var sha256: String? { documents?.sha256 }
    /// The validator of the list; nil if it has none, or consists of several documents.
    package var validator: String? { documents?.validator }

    /// Returns true for a URL: a file may have any name, but an operand with :// that is no file is
    /// a URL.
    package static func isURL(_ operand: String) -> Bool {
        operand.contains("://") && access(operand, F_OK) != 0
    }

    /// Returns a name such as `cdn.example/films/7/master.m3u8`: each title of a host is a catalog.
    private static func name(of url: String) -> String {
        let rest = url.split(separator: "://", maxSplits: 1).last ?? "url"
        var text = redacted(url: "x://\(rest)").dropFirst(4)
        // The redaction mark has no meaning in a name.
        if text.hasPrefix(Redaction.mark + "@") { text = text.dropFirst(1 + Redaction.mark.count) }
        for end in ["?", "#"] where text.hasSuffix(end + Redaction.mark) {
            text = text.dropLast(1 + Redaction.mark.count)
        }
        while text.last == "/" { text.removeLast() }
        let name = printable(String(text))
        guard name.count > 200 else { return cleaned(name) }
        // Such URLs differ at their ends.
        return cleaned("\(name.prefix(99))…\(name.suffix(100))")
    }

    /// Returns a valid name: 1 to 200 characters without control characters.
    private static func cleaned(_ text: String) -> String {
        let name = String(printable(text).prefix(200))
        return name.isEmpty ? "list" : name
    }

    /// The purpose of a pass over the list.
    package enum Purpose {
        /// The only pass; collects invalid entries, up to a number.
        case report(maxFailures: Int)
        /// The first of two passes; throws for an invalid entry.
        case check
        /// The second pass, with the first one's result: keys are not compared again.
        case submission(SharedKeys)
    }

    /// The result of a pass.
    package struct Reading: Sendable {
        package var format: ListFormat?
        package var name: String?
        package var priority: Int?
        package var counts = ListCounts()
        package var failures: [Failure] = []
        package var failureCount = 0
        package var notices: [ListNotice] = []
        package var noticeCount = 0
        package var sharedKeys = SharedKeys()
    }

    /// Reads the whole list and passes its assets to `take` as they arrive.
    ///
    /// Throws if the list is invalid, with its name and line. A report has that as its last failure
    /// instead, without the name.
    package func read(
        _ purpose: Purpose, _ take: ([AssetSubmission]) async throws(Failure) -> Void
    ) async throws(Failure) -> Reading {
        switch content {
        case .url(let url):
            let asset = try ListReader.asset(url: url, rules)
            try await take([asset])
            return Reading(
                counts: ListCounts(
                    assets: 1, titles: asset.kind == .file ? 0 : 1,
                    files: asset.kind == .file ? 1 : 0))
        case .file, .remote:
            var reader = reader(purpose)
            var problem: Failure?
            // All failures of a report are of the same list.
            var shown = label
            if case .report = purpose { shown = nil }
            do throws(Failure) {
                if case .file(let file) = content {
                    try await feed(
                        ListInput(file, copies: purpose.isFirstOfTwo), shown, &reader, take)
                }
                if let documents { try await read(documents, purpose, &reader, take) }
                let rest = try labelled(shown) { () throws(Failure) in try reader.finish() }
                if !rest.isEmpty { try await take(rest) }
            } catch {
                problem = error
            }
            return try reading(of: reader, problem, purpose)
        }
    }

    /// Reads documents: fetches them, or reads those that an earlier pass fetched.
    private func read(
        _ documents: ListDocuments, _ purpose: Purpose, _ reader: inout ListReader,
        _ take: ([AssetSubmission]) async throws(Failure) -> Void
    ) async throws(Failure) {
        if case .submission = purpose {
            _ = reader.takeSitemaps()
            for document in documents.all {
                try await feed(document, &reader, take)
                _ = reader.takeSitemaps()
            }
            return
        }
        if case .remote(let url) = content {
            try documents.add([ListedSitemap(url: url, line: 1)], depth: 0, in: "")
        } else {
            try documents.add(reader.takeSitemaps(), depth: 1, in: label ?? "list")
        }
        while let document = try await documents.next() {
            try await feed(document, &reader, take)
            try documents.add(
                reader.takeSitemaps(), depth: document.depth + 1, in: document.label)
        }
    }

    private func feed(
        _ document: ListDocuments.Document, _ reader: inout ListReader,
        _ take: ([AssetSubmission]) async throws(Failure) -> Void
    ) async throws(Failure) {
        reader.document = document.label
        reader.base = document.content.finalURL
        defer { (reader.document, reader.base) = (nil, nil) }
        let extent = document.content.extent
        let input = ListInput { (buffer, offset) throws(Failure) in
            try extent.read(&buffer, at: offset)
        }
        try await feed(input, document.label, &reader, take)
    }

    /// Reads one document of the list completely.
    private func feed(
        _ input: ListInput, _ label: String?, _ reader: inout ListReader,
        _ take: ([AssetSubmission]) async throws(Failure) -> Void
    ) async throws(Failure) {
        while let bytes = try labelled(label, { () throws(Failure) in try input.next() }) {
            let assets = try labelled(label) { () throws(Failure) in try reader.feed(bytes) }
            if !assets.isEmpty { try await take(assets) }
        }
        let rest = try labelled(label) { () throws(Failure) in try reader.finishDocument() }
        if !rest.isEmpty { try await take(rest) }
    }

    private func reader(_ purpose: Purpose) -> ListReader {
        let follows = documents != nil
        return switch purpose {
        case .report(let most):
            ListReader(
                format: format, scratch: ScratchFile(), maxFailures: most, rules: rules,
                followsIndexes: follows)
        case .check:
            ListReader(
                format: format, scratch: ScratchFile(), rules: rules, followsIndexes: follows)
        case .submission(let sharedKeys):
            ListReader(
                format: format, findsRepeats: false, sharedKeys: sharedKeys, rules: rules,
                followsIndexes: follows)
        }
    }

    private func reading(
        of reader: ListReader, _ problem: Failure?, _ purpose: Purpose
    ) throws(Failure) -> Reading {
        var reading = Reading(
            format: reader.format, name: reader.catalogName, priority: reader.priority,
            counts: reader.counts, failures: reader.failures,
            failureCount: reader.failureCount, notices: reader.notices,
            noticeCount: reader.noticeCount, sharedKeys: reader.sharedKeys)
        if let problem {
            guard case .report = purpose else { throw problem }
            reading.failures.append(problem)
            reading.failureCount += 1
        }
        return reading
    }

    /// Runs `body`; a failure gets the list's name.
    private func labelled<Value>(
        _ label: String?, _ body: () throws(Failure) -> Value
    ) throws(Failure) -> Value {
        do throws(Failure) {
            return try body()
        } catch {
            guard let label else { throw error }
            throw error.inDocument(printable(label))
        }
    }
}

extension ListSource.Purpose {
    fileprivate var isFirstOfTwo: Bool {
        if case .check = self { return true }
        return false
    }
}
