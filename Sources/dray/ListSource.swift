import Catalog
import Glibc
import Model
import Runtime

/// What LIST names: one URL, a file, or stdin; read twice, once to check it and once to submit it.
///
/// What cannot be read twice (stdin, a pipe) is copied to an unnamed temporary file while it is checked,
/// so that nothing is begun for a list that turns out malformed, at any length and in bounded memory.
struct ListSource: Sendable {
    private enum Content: Sendable {
        case url(String)
        case file(ListFile)
    }

    /// For messages: the file's name, `stdin`, or nil for a URL.
    let label: String?
    /// Made of the file's name or the URL's host and path; used when the list gives no name.
    let defaultName: String
    /// The form that was asked for; nil to tell it from the list.
    let format: ListFormat?
    private let content: Content

    /// Opens the list. Throws `input.unreadable`.
    init(_ operand: String, format: ListFormat? = nil) throws(Failure) {
        self.format = format
        // A file may be called anything; something with :// that is no file is meant as a URL.
        if operand.contains("://"), access(operand, F_OK) != 0 {
            content = .url(operand)
            label = nil
            defaultName = Self.name(of: operand)
            return
        }
        label = operand == "-" ? "stdin" : operand
        content = .file(try ListFile(operand))
        let fileName = operand == "-" ? "stdin" : operand.split(separator: "/").last ?? "list"
        let stem = fileName.split(separator: ".").first.map(String.init) ?? String(fileName)
        defaultName = Self.cleaned(stem)
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

    /// What a reading is for.
    enum Purpose {
        /// It is the only one; entries that cannot be used are gathered, up to a number.
        case report(mostFailures: Int)
        /// It is the first of two; what cannot be used is thrown.
        case check
        /// It is the second, with what the first one found: names are not compared again.
        case submission(SharedKeys)
    }

    /// What a reading found.
    struct Reading: Sendable {
        var format: ListFormat?
        var name: String?
        var priority: Int?
        var counts = ListCounts()
        var failures: [Failure] = []
        var failureCount = 0
        var notices: [ListNotice] = []
        var noticeCount = 0
        var sharedKeys = SharedKeys()
    }

    /// Reads the whole list and hands its assets to `take` as they come.
    ///
    /// Throws what is wrong with the list, with its name and line, unless a report is asked for: that
    /// has it as its last failure, without the name.
    func read(
        _ purpose: Purpose, _ take: ([AssetSubmission]) async throws(Failure) -> Void
    ) async throws(Failure) -> Reading {
        switch content {
        case .url(let url):
            let asset = try ListReader.asset(url: url)
            try await take([asset])
            return Reading(
                counts: ListCounts(
                    assets: 1, titles: asset.kind == .file ? 0 : 1,
                    files: asset.kind == .file ? 1 : 0))
        case .file(let file):
            var reader = Self.reader(purpose, format)
            var problem: Failure?
            do throws(Failure) {
                let input = ListInput(file, copies: purpose.isFirstOfTwo)
                while let bytes = try input.next() {
                    let assets = try reader.feed(bytes)
                    if !assets.isEmpty { try await take(assets) }
                }
                let rest = try reader.finish()
                if !rest.isEmpty { try await take(rest) }
            } catch {
                problem = error
            }
            return try reading(of: reader, problem, purpose)
        }
    }

    private static func reader(_ purpose: Purpose, _ format: ListFormat?) -> ListReader {
        switch purpose {
        case .report(let most):
            ListReader(format: format, scratch: ScratchFile(), mostFailures: most)
        case .check: ListReader(format: format, scratch: ScratchFile())
        case .submission(let sharedKeys):
            ListReader(format: format, findsRepeats: false, sharedKeys: sharedKeys)
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
            guard case .report = purpose else { throw labelled(problem) }
            reading.failures.append(problem)
            reading.failureCount += 1
        }
        return reading
    }

    private func labelled(_ failure: Failure) -> Failure {
        // What `take` throws is not the list's.
        guard failure.code.rawValue.hasPrefix("input.") || failure.code == "storage.pathRefused"
        else { return failure }
        return Failure(failure.code, "\(printable(label ?? "list")): \(failure.message)")
    }
}

extension ListSource.Purpose {
    fileprivate var isFirstOfTwo: Bool {
        if case .check = self { return true }
        return false
    }
}
