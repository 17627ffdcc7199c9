import Model
import WebURL

/// A file of a Metalink, built from its elements.
struct MetalinkFile {
    var name: String?
    /// Priority of the current URL.
    var priority: String?
    private var bytes: Int64?
    private var digests = ListDigests()
    /// Ordered by priority; equal ones in the order of the document.
    private var urls: [(priority: Int, url: WebURL)] = []
    private var problem: Failure?
    private var passed: [String] = []
    private var hasOtherScheme = false

    /// A URL without one comes last (RFC 5854, 4.2.16.1).
    private static let priorities = 1...999_999

    mutating func begin() { priority = nil }

    /// Adds the text of an element.
    mutating func take(_ role: String, _ text: [UInt8], _ range: Range<Int>, _ line: Int) {
        guard problem == nil else { return }
        let given = String(decoding: text[range], as: UTF8.self)
        do throws(Failure) {
            switch role {
            case "size": bytes = try ListField.bytes(given, line, "size")
            case "url": try takeURL(text, range, line)
            default:
                let type = String(role.dropFirst("hash ".count))
                guard let algorithm = ListDigests.algorithm(type) else {
                    pass("hashes of type \(Redaction.shown(type)) are not checked")
                    return
                }
                if let allowed = digests.set(algorithm, given) {
                    throw ListField.failure(
                        line, "hash of type \(algorithm)", given: given, allowed: allowed)
                }
            }
        } catch {
            problem = error
        }
    }

    private mutating func takeURL(
        _ text: [UInt8], _ range: Range<Int>, _ line: Int
    ) throws(Failure) {
        if ListField.isOfAnotherScheme(text, range) {
            hasOtherScheme = true
            return
        }
        var rank = Self.priorities.upperBound
        if let priority {
            guard let value = Int(priority), Self.priorities.contains(value) else {
                throw ListField.failure(
                    line, "priority", given: priority, allowed: "a whole number, 1 to 999999")
            }
            rank = value
        }
        let url = try ListField.url(text, range, line, "url")
        guard !urls.contains(where: { $0.url == url }) else { return }
        let index = urls.firstIndex { $0.priority > rank } ?? urls.count
        urls.insert((rank, url), at: index)
        if urls.count > WireLimits.mirrorsPerAsset + 1 {
            urls.removeLast()
            pass("URLs of a file beyond \(WireLimits.mirrorsPerAsset + 1) are ignored")
        }
    }

    private mutating func pass(_ message: String) {
        if passed.count < 10, !passed.contains(message) { passed.append(message) }
    }

    /// Returns the findings for the file, which begins on `line`.
    func findings(_ line: Int) -> [XMLFinding] {
        var findings = passed.map { XMLFinding.passed(line: line, message: $0, topic: $0) }
        if hasOtherScheme, !urls.isEmpty {
            let message = "URLs that are not http or https are ignored"
            findings.append(.passed(line: line, message: message, topic: message))
        }
        do throws(Failure) {
            findings.append(.asset(try asset(line), line: line))
        } catch {
            findings.append(.bad(error))
        }
        return findings
    }

    private func asset(_ line: Int) throws(Failure) -> AssetSubmission {
        if let problem { throw problem }
        guard let name, ListField.isName(name), Self.staysBeneath(name) else {
            throw ListField.failure(
                line, "name", given: name ?? "",
                allowed: ListField.allowedName + ", a relative path without ..")
        }
        guard let first = urls.first else {
            throw Failure(
                hasOtherScheme ? .inputURL : .inputField, at: .line(line, field: "url"),
                (hasOtherScheme ? "none is http or https" : "is missing")
                    + ", allowed http and https URLs")
        }
        let item = ListItem(
            url: first.url, mirrors: urls.dropFirst().map(\.url), name: name, kind: .file,
            bytes: bytes, digests: digests)
        do throws(Failure) {
            return try item.asset()
        } catch {
            throw error.at(.line(line, field: "url"))
        }
    }

    /// RFC 5854, 4.1.2.1: a name must not lead out of a directory.
    private static func staysBeneath(_ name: String) -> Bool {
        let parts = name.split(omittingEmptySubsequences: false) { $0 == "/" || $0 == "\\" }
        return parts.allSatisfy { !$0.isEmpty && $0 != "." && $0 != ".." }
    }
}
