import JSON
import Lists
package import Model
import WebURL

/// Reads a load test's scenario from JSON, strictly: rejects unknown fields and suggests the
/// nearest known one.
///
/// `docs/load-scenario.schema.json` is the schema of the same format. `LoadScenario.check` finds
/// missing and contradictory fields after the options are applied.
package enum LoadScenarioReader {
    /// Throws `input.malformed` and `input.field` with line, column and field, the given and the
    /// allowed value.
    package static func read(_ bytes: [UInt8]) throws(Failure) -> LoadScenario {
        var scenario = LoadScenario()
        var cursor = JSONCursor(bytes)
        try cursor.expect(.object, "scenario")
        try cursor.object { (cursor, name, offset) throws(Failure) in
            try readMember(&cursor, name, offset, into: &scenario)
        }
        try cursor.finish()
        return scenario
    }

    private static let members = [
        "$schema", "name", "seed", "targets", "popularity", "arrivals", "viewers", "warmUpSeconds",
        "caps", "http", "thinkTime", "bodies", "allow", "privateHosts", "thresholds",
    ]

    private static func readMember(
        _ cursor: inout JSONCursor, _ name: String, _ offset: Int, into scenario: inout LoadScenario
    ) throws(Failure) {
        switch name {
        // For editors.
        case "$schema": _ = try cursor.plainText(name)
        case "name": scenario.name = try cursor.plainText(name, limit: LoadLimits.nameBytes)
        case "seed": scenario.seed = UInt64(try cursor.wholeNumber(name, LoadLimits.seed))
        case "targets":
            scenario.targets = try list(&cursor, name, most: LoadLimits.targets, readTarget)
        case "popularity": scenario.popularity = try readPopularity(&cursor, name)
        case "arrivals": try readArrivals(&cursor, name, into: &scenario)
        case "viewers": scenario.user = .viewers(try readViewers(&cursor, name))
        case "warmUpSeconds":
            scenario.warmUpSeconds = try cursor.decimalNumber(name, LoadLimits.warmUpSeconds)
        case "caps": scenario.caps = try readCaps(&cursor, name)
        case "http": scenario.http = try readHTTP(&cursor, name)
        case "thinkTime": scenario.think = try readThinkTime(&cursor, name)
        case "bodies": scenario.bodies = try choice(&cursor, name, LoadBodies.self)
        case "allow":
            scenario.allow = try list(&cursor, name, most: LoadLimits.allow, readAllowed)
        case "privateHosts":
            scenario.privateHosts = try list(
                &cursor, name, most: LoadLimits.privateHosts, readHost)
        case "assets":
            throw cursor.fieldFailure(
                at: offset, name, "is of a list",
                allowed: "in a scenario: targets; give a list as --list FILE")
        case "thresholds":
            scenario.thresholds = try list(
                &cursor, name, most: LoadLimits.thresholds, readThreshold)
        default: throw unknown(cursor, name, offset, in: "", members)
        }
    }

    // MARK: Targets

    private static func readTarget(
        _ cursor: inout JSONCursor, _ path: String
    ) throws(Failure) -> LoadTarget {
        if try cursor.peek() == .string {
            let offset = cursor.index
            return try target(try readURL(&cursor, path), nil, &cursor, at: offset, path)
        }
        let start = cursor.index
        try cursor.expect(.object, path)
        var url: LoadTargetURL?
        var list: String?
        var kind: AssetKind?
        var target = LoadTarget(name: "", source: .list(""))
        try cursor.object { (cursor, name, offset) throws(Failure) in
            let field = "\(path).\(name)"
            switch name {
            case "url": url = try readURL(&cursor, field)
            case "list": list = try cursor.plainText(field, limit: 4_096)
            case "kind": kind = try choice(&cursor, field, AssetKind.self)
            case "name": target.name = try cursor.plainText(field, limit: LoadLimits.nameBytes)
            case "weight": target.weight = try cursor.decimalNumber(field, LoadLimits.weight)
            case "sha256": target.sha256 = try readSHA256(&cursor, field)
            case "mayFail": target.mayFail = try cursor.boolean(field)
            default:
                throw unknown(
                    cursor, name, offset, in: path,
                    ["url", "list", "kind", "name", "weight", "sha256", "mayFail"])
            }
        }
        guard (url == nil) != (list == nil) else {
            throw cursor.fieldFailure(
                at: start, path, url == nil ? "without url" : "given url and list",
                allowed: "one of url and list")
        }
        if let url {
            let plain = try Self.target(url, kind, &cursor, at: start, path)
            target.source = plain.source
            if target.name.isEmpty { target.name = plain.name }
        } else if let list {
            target.source = .list(list)
            if target.name.isEmpty { target.name = list }
        }
        if let fault = target.fault(hasKind: kind != nil) {
            throw cursor.fieldFailure(
                at: start, "\(path).\(fault.field)", fault.given, allowed: fault.allowed)
        }
        return target
    }

    private static func target(
        _ url: LoadTargetURL, _ kind: AssetKind?, _ cursor: inout JSONCursor, at offset: Int,
        _ path: String
    ) throws(Failure) -> LoadTarget {
        do throws(Failure) { return try url.target(kind: kind) } catch {
            throw cursor.fieldFailure(
                at: offset, path, error.detail, allowed: LoadTargetURL.allowedInBucket)
        }
    }

    private static func readURL(
        _ cursor: inout JSONCursor, _ path: String
    ) throws(Failure) -> LoadTargetURL {
        try cursor.expect(.string, path)
        let offset = cursor.index
        let text = try cursor.string()
        if BucketLocation.isURL(text) {
            do throws(Failure) { return .object(try BucketLocation(object: text)) } catch {
                throw cursor.fieldFailure(
                    at: offset, path, error.detail,
                    allowed: "s3://bucket/key?endpoint=URL&region=NAME&style=path")
            }
        }
        do throws(WebURLError) { return .web(try WebURL(text)) } catch {
            throw cursor.fieldFailure(
                at: offset, path, "the URL \(error.detail)", allowed: "an http, https or s3 URL")
        }
    }

    private static func readSHA256(
        _ cursor: inout JSONCursor, _ path: String
    ) throws(Failure) -> String {
        let offset = cursor.index
        let text = try cursor.plainText(path, limit: 200).lowercased()
        guard text.utf8.count == 64, text.utf8.allSatisfy({ "0123456789abcdef".utf8.contains($0) })
        else {
            throw cursor.fieldFailure(at: offset, path, "is no SHA-256", allowed: "64 hex digits")
        }
        return text
    }

    private static func readPopularity(
        _ cursor: inout JSONCursor, _ path: String
    ) throws(Failure) -> LoadPopularity {
        let allowed = "\"weights\", or {\"zipf\": EXPONENT}"
        let offset = cursor.index
        if try cursor.peek() == .string {
            let text = try cursor.plainText(path, limit: 64)
            guard text == "weights" else {
                throw cursor.fieldFailure(at: offset, path, "given \"\(text)\"", allowed: allowed)
            }
            return .weights
        }
        try cursor.expect(.object, path)
        var exponent: Double?
        try cursor.object { (cursor, name, offset) throws(Failure) in
            guard name == "zipf" else { throw unknown(cursor, name, offset, in: path, ["zipf"]) }
            exponent = try cursor.decimalNumber("\(path).zipf", LoadLimits.zipfExponent)
        }
        guard let exponent else {
            throw cursor.fieldFailure(at: offset, path, "without zipf", allowed: allowed)
        }
        return .zipf(exponent: exponent)
    }

    // MARK: Hosts and thresholds

    private static func readAllowed(
        _ cursor: inout JSONCursor, _ path: String
    ) throws(Failure) -> String {
        let offset = cursor.index
        let text = try cursor.plainText(path, limit: 300)
        do throws(LoadInputError) {
            return try LoadAllowance.checked(text)
        } catch {
            throw cursor.fieldFailure(
                at: offset, path, "given \"\(error.given)\"", allowed: error.allowed)
        }
    }

    private static func readHost(
        _ cursor: inout JSONCursor, _ path: String
    ) throws(Failure) -> String {
        let offset = cursor.index
        let host = try cursor.plainText(path, limit: 300).lowercased()
        guard LoadAllowance.host(of: "http://\(host)/") == host else {
            throw cursor.fieldFailure(
                at: offset, path, "given \"\(host)\"", allowed: "a host's name")
        }
        return host
    }

    private static func readThreshold(
        _ cursor: inout JSONCursor, _ path: String
    ) throws(Failure) -> LoadThreshold {
        if try cursor.peek() == .string { return try threshold(&cursor, path) }
        let start = cursor.index
        try cursor.expect(.object, path)
        var threshold: LoadThreshold?
        var abortAfterSeconds: Double?
        try cursor.object { (cursor, name, offset) throws(Failure) in
            let field = "\(path).\(name)"
            switch name {
            case "threshold": threshold = try Self.threshold(&cursor, field)
            case "abortAfterSeconds":
                abortAfterSeconds = try cursor.decimalNumber(field, LoadLimits.abortAfterSeconds)
            default:
                throw unknown(cursor, name, offset, in: path, ["threshold", "abortAfterSeconds"])
            }
        }
        guard var threshold else {
            throw cursor.fieldFailure(
                at: start, path, "without threshold", allowed: "threshold, and abortAfterSeconds")
        }
        threshold.abortAfterSeconds = abortAfterSeconds
        return threshold
    }

    private static func threshold(
        _ cursor: inout JSONCursor, _ path: String
    ) throws(Failure) -> LoadThreshold {
        let offset = cursor.index
        let text = try cursor.plainText(path, limit: LoadLimits.thresholdBytes)
        do throws(LoadInputError) { return try LoadThreshold.parse(text) } catch {
            throw cursor.fieldFailure(
                at: offset, path, "given \"\(error.given)\"", allowed: error.allowed)
        }
    }
}

extension LoadTarget {
    /// Returns the field that does not apply to this kind of target.
    func fault(hasKind: Bool) -> (field: String, given: String, allowed: String)? {
        switch source {
        case .list:
            if hasKind { return ("kind", "given with list", "with url: a list sets it itself") }
            if sha256 != nil { return ("sha256", "given with list", "in the list, at its files") }
        case .url(_, let kind):
            if kind != .file, sha256 != nil {
                return ("sha256", "given for a title", "for files")
            }
        case .object: break
        // Of the command line alone.
        case .replay: break
        }
        return nil
    }
}
