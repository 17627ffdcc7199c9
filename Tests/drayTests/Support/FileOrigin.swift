import Foundation
import TestSupport
import Testing

/// An nginx over plain files of a test's own, with the list of their URLs.
struct FileOrigin {
    let server: NginxServer
    /// Every file's path, relative to the origin's root.
    let paths: [String]
    /// A file with a URL a line.
    let list: String
    private let directory: TemporaryDirectory

    /// - Parameters:
    ///   - files: how many, each with bytes of its own, over as many folders as their square root.
    ///   - requestsPerSecond: what nginx answers at most; nil for all it can.
    init(files: Int, requestsPerSecond: Int? = nil) async throws {
        directory = try TemporaryDirectory("origin")
        let folders = max(1, Int(Double(files).squareRoot()))
        paths = (0..<files).map { "files/\($0 % folders)/\($0).bin" }
        for (number, path) in paths.enumerated() {
            try directory.write(Self.bytes(of: number), to: "root/\(path)")
        }
        server = try await NginxServer(
            root: directory.path("root"), requestsPerSecond: requestsPerSecond)
        let url = server.url
        list = try directory.write(
            paths.map { "\(url)/\($0)\n" }.joined(), to: "list.txt")
    }

    /// Between 1 and 4,000 bytes that follow from the number.
    private static func bytes(of number: Int) -> [UInt8] {
        var state = UInt64(number) &* 0x9e37_79b9_7f4a_7c15 | 1
        return (0..<(1 + number * 37 % 4_000)).map { _ in
            state ^= state << 13
            state ^= state >> 7
            state ^= state << 17
            return UInt8(truncatingIfNeeded: state)
        }
    }

    /// The bytes of the file with this number.
    func content(_ number: Int) -> Data? {
        FileManager.default.contents(atPath: directory.path("root/\(paths[number])"))
    }

    /// What `program` (`sha256sum`) prints of each file, in hex digits.
    func digests(_ program: String) async throws -> [String] {
        let text = try await ChildProcess.run(
            [program] + paths.map { directory.path("root/\($0)") })
        return text.split(separator: "\n").map { String($0.prefix { $0 != " " }) }
    }

    /// What was asked so far, by target.
    var requests: [String: Int] {
        server.requests().reduce(into: [:]) { $0[$1.target, default: 0] += 1 }
    }

    /// Requests beyond the first for the same file.
    var repeatedRequests: Int { requests.values.reduce(0) { $0 + $1 - 1 } }

    /// Waits until nginx has logged `count` requests.
    func waitForRequests(_ count: Int) async throws {
        try await waitUntil(deadlineSeconds: 60, "request number \(count)") {
            server.requests().count >= count
        }
    }

    /// Every file lies at the edge, byte for byte, and nothing else but the checksums does.
    ///
    /// - Parameter killed: transfers that died with their worker and left their temporary files, at
    ///   most.
    func expectCopied(to edge: String, killed: Int = 0) async throws {
        let site = "\(edge)/127.0.0.1:\(server.port)"
        for path in paths {
            let ours = FileManager.default.contents(atPath: "\(site)/\(path)")
            #expect(ours == FileManager.default.contents(atPath: directory.path("root/\(path)")))
        }
        let others = try EdgeTree.files(beneath: site).subtracting(paths)
        #expect(others.allSatisfy { $0.hasSuffix("/SHA256SUMS") }, "\(others)")
        let summed = try await EdgeTree.checkSums(beneath: site)
        #expect(summed == Set(paths))
        #expect(try EdgeTree.ownFiles(of: edge).count <= killed)
    }
}

/// What lies at an edge.
enum EdgeTree {
    /// Relative paths of all files beneath a folder; none when it does not exist.
    static func files(beneath folder: String) throws -> Set<String> {
        guard FileManager.default.fileExists(atPath: folder) else { return [] }
        let all = try FileManager.default.subpathsOfDirectory(atPath: folder)
        return Set(
            all.filter { path in
                var isDirectory: ObjCBool = false
                let exists = FileManager.default.fileExists(
                    atPath: "\(folder)/\(path)", isDirectory: &isDirectory)
                return exists && !isDirectory.boolValue
            })
    }

    /// What Dray has of its own at a site, but for the mark of its volume.
    static func ownFiles(of edge: String) throws -> Set<String> {
        try files(beneath: "\(edge)/.dray").filter { !$0.hasPrefix("volume/") }
    }

    /// Runs `sha256sum --check` over every SHA256SUMS and answers the files that they list.
    static func checkSums(beneath folder: String) async throws -> Set<String> {
        var listed: Set<String> = []
        for sums in try files(beneath: folder) where sums.hasSuffix("SHA256SUMS") {
            let place = (sums as NSString).deletingLastPathComponent
            let output = try await ChildProcess.run([
                "env", "--chdir=\(folder)/\(place)", "LC_ALL=C", "sha256sum", "--check", "--strict",
                "SHA256SUMS",
            ])
            for line in output.split(separator: "\n") {
                #expect(line.hasSuffix(": OK"))
                let name = line.dropLast(4)
                let path = place.isEmpty ? "\(name)" : "\(place)/\(name)"
                listed.insert((path as NSString).standardizingPath)
            }
        }
        return listed
    }
}
