import Client
import CommandLine
import LoadModel
import Model
import Text
import WebURL

/// Targets of the command line.
extension LoadTestOptions {
    /// Reads a scenario's file; `-` is stdin. Its file paths are relative to its directory.
    static func file(_ path: String) throws -> LoadScenario {
        var scenario = try read(path)
        guard path != "-", let slash = path.lastIndex(of: "/") else { return scenario }
        let folder = path[...slash]
        for (index, target) in scenario.targets.enumerated() {
            guard case .list(let list) = target.source, list != "-", !list.contains("://"),
                !list.hasPrefix("/")
            else { continue }
            scenario.targets[index].source = .list(folder + list)
        }
        if let file = scenario.http.caFile, !file.hasPrefix("/") {
            scenario.http.caFile = folder + file
        }
        if case .viewers(var viewers) = scenario.user, let data = viewers.data,
            !data.hasPrefix("/")
        {
            viewers.data = folder + data
            scenario.user = .viewers(viewers)
        }
        return scenario
    }

    /// Reads a scenario; the failure for a missing file explains TARGET.
    private static func read(_ path: String) throws -> LoadScenario {
        let bytes: [UInt8]
        do throws(Failure) { (bytes, _) = try SmallFile.read(path) } catch {
            guard error.code == .inputUnreadable, path != "-" else { throw error }
            throw UsageError(
                error.message,
                hint:
                    "TARGET is a URL that starts with http://, https:// or s3://, or a scenario "
                    + "file.")
        }
        let file = path == "-" ? "standard input" : printable(path)
        guard isObject(bytes) else {
            throw UsageError(
                "\(file): it is not a scenario, which is a JSON object",
                hint: "Give a list of files and titles as --list \(printable(path)).")
        }
        do throws(Failure) { return try LoadScenarioReader.read(bytes) } catch {
            throw Failure(error.code, "\(file): \(error.message)")
        }
    }

    private static func isObject(_ bytes: [UInt8]) -> Bool {
        let rest = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? bytes.dropFirst(3) : bytes[...]
        return rest.first { !" \t\r\n".utf8.contains($0) } == UInt8(ascii: "{")
    }

    static func target(
        _ operand: String, _ arguments: Arguments
    ) throws -> LoadTarget {
        let kind = arguments.choice("kind", AssetKind.self)
        guard !BucketLocation.isURL(operand) else {
            return try LoadTargetURL.object(BucketLocation(object: operand)).target(kind: kind)
        }
        let url: WebURL
        do throws(WebURLError) { url = try WebURL(operand) } catch {
            guard error.reason == .scheme else { throw error.failure(given: operand) }
            throw Failure(
                .inputURL,
                "the URL must start with http://, https:// or s3://, given "
                    + Redaction.shown(operand),
                hint: "Give the URL of a server, or s3://bucket/key?endpoint=URL&region=NAME.")
        }
        return try LoadTargetURL.web(url).target(kind: kind)
    }

    static func setTargets(
        _ scenario: inout LoadScenario, _ arguments: Arguments
    ) throws {
        if let exponent = arguments.number("zipf") {
            scenario.popularity = .zipf(exponent: exponent)
        }
        for text in arguments.texts("allow") {
            scenario.allow.append(
                try checked("allow", text) { text throws(LoadInputError) in
                    try LoadAllowance.checked(text)
                })
        }
        if let seed = arguments.integer("seed") { scenario.seed = UInt64(seed) }
        if arguments.flag("may-fail") {
            for index in scenario.targets.indices { scenario.targets[index].mayFail = true }
        }
    }
}
