import Glibc
package import Lists
package import Model
import Text

/// What LIST names: one URL, a file, stdin, or a list at a URL; read twice, once to check it and once to submit it.
///
/// What cannot be read twice (stdin, a pipe) is copied to an unnamed temporary file while it is checked,
/// so that nothing is begun for a list that turns out malformed, at any length and in bounded memory.
package struct ListSource: Sendable {
    private enum Content: Sendable {
        case url(String)
        case file(ListFile)
        /// A list at a URL.
        case remote(String)
    }

    /// For messages: the file's name, `stdin`, the URL of a list, or nil for a URL that is an asset.
    package let label: String?
    /// Made of the file's name or the URL's host and path; used when the list gives no name.
    package let defaultName: String
    /// The form that was asked for; nil to tell it from the list.
    package let format: ListFormat?
    /// Which query parameters belong to keys.
    private let rules: KeyQueryRules
    private let content: Content
    /// The lists that are fetched; nil where nothing is.
    private let documents: ListDocuments?

    /// Opens the list. Throws `input.unreadable`.
    ///
    /// - Parameter downloader: fetches the list at a URL whose `format` is named, and the sitemaps of an
    ///   index; without one the former is an asset, and the latter is refused.
    package init(
        _ operand: String, format: ListFormat? = nil, downloader: ListDownloader? = nil,
        rules: KeyQueryRules = KeyQueryRules()
    ) throws(Failure) {
        self.format = format
        self.rules = rules
        documents = downloader.map { ListDocuments($0) }
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

    /// A file may be called anything; something with :// that is no file is meant as a URL.
    package static func isURL(_ operand: String) -> Bool {
        operand.contains("://") && access(operand, F_OK) != 0
    }

    /// `cdn.example/films/7/master.m3u8`: titles of a host are catalogs of their own.
    private static func name(of url: String) -> String {
        let rest = url.split(separator: "://", maxSplits: 1).last ?? "url"
        var text = redacted(url: "x://\(rest)").dropFirst(4)
        // What stands for a secret says nothing.
        if text.hasPrefix(Redaction.mark + "@") { text = text.dropFirst(1 + Redaction.mark.count) }
        for end in ["?", "#"] where text.hasSuffix(end + Redaction.mark) {
            text = text.dropLast(1 + Redaction.mark.count)
        }
        while text.last == "/" { text.removeLast() }
        let name = printable(String(text))
        guard name.count > 200 else { return cleaned(name) }
        // Their ends differ.
        return cleaned("\(name.prefix(99))…\(name.suffix(100))")
    }

    /// A name holds 1 to 200 characters and no control characters.
    private static func cleaned(_ text: String) -> String {
        let name = String(printable(text).prefix(200))
        return name.isEmpty ? "list" : name
    }

    /// The purpose of a reading.
    package enum Purpose {
        /// It is the only one; entries that cannot be used are gathered, up to a number.
        case report(mostFailures: Int)
        /// It is the first of two; what cannot be used is thrown.
        case check
        /// It is the second, with what the first one found: names are not compared again.
        case submission(SharedKeys)
    }

    /// The result of a reading.
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

    /// Reads the whole list and hands its assets to `take` as they come.
    ///
    /// Throws what is wrong with the list, with its name and line, unless a report is asked for: that
    /// has it as its last failure, without the name.
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
            // Those of a report are all of the one list.
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

    /// Reads what is to be fetched, or was for an earlier reading.
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
        while let document = try documents.next() {
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
        defer { reader.document = nil }
        let extent = document.extent
        let input = ListInput { (buffer, offset) throws(Failure) in
            try extent.read(&buffer, at: offset)
        }
        try await feed(input, document.label, &reader, take)
    }

    /// Reads one document of the list whole.
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
                format: format, scratch: ScratchFile(), mostFailures: most, rules: rules,
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

    /// As `body`; a failure names the list that is read.
    private func labelled<Value>(
        _ label: String?, _ body: () throws(Failure) -> Value
    ) throws(Failure) -> Value {
        do throws(Failure) {
            return try body()
        } catch {
            guard let label else { throw error }
            throw Failure(error.code, "\(printable(label)): \(error.message)")
        }
    }
}

extension ListSource.Purpose {
    fileprivate var isFirstOfTwo: Bool {
        if case .check = self { return true }
        return false
    }
}
