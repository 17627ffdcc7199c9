import API
import CoordinatorClient
import Foundation
import Model
import Statistics
import TestSupport
import Testing

@testable import Worker

/// What audits find, and what they repair.
@Suite struct AuditCorruptionTests {
    /// A directory's entry itself.
    private struct Entry: Equatable {
        var inode: UInt
        var mode: UInt32
        var bytes: Int

        init(_ path: [UInt8]) throws {
            var status = stat()
            guard lstat(path.map(CChar.init(bitPattern:)) + [0], &status) == 0 else {
                throw POSIXFailure(errno, "lstat")
            }
            (inode, mode, bytes) = (UInt(status.st_ino), status.st_mode, Int(status.st_size))
        }
    }

    private struct Damage {
        var expected: [AuditFindingKind: Set<String>] = [:]
        var foreign: [String: [UInt8]] = [:]
        var links: [String] = []
        /// Directories, FIFOs and names that are not UTF-8: what they are.
        var others: [[UInt8]: Entry] = [:]
        /// Paths at the origin of what has to be fetched again.
        var fetched: Set<String> = []
    }

    @Test func aThousandCorruptionsAreFoundNamedAndRepaired() async throws {
        var random = SeededRandom(seed: 25)
        try await Cluster.with { cluster in
            var objects = EndToEndTests.serveTitle(cluster.origin, at: "/title")
            var assets = [try cluster.title("/title/main.m3u8")]
            for number in 0..<1_000 {
                let path = "/d\(number % 7)/e\(number % 13)/f\(number)"
                objects[path] = sampleBytes(1 + number % 300, seed: UInt64(number + 1))
                cluster.origin.serve(path, objects[path] ?? [])
                assets.append(try cluster.file(path))
            }
            let catalog = try await cluster.submit(assets)
            _ = try await cluster.end(of: catalog)
            let clean = try await cluster.audit()
            #expect(clean.findings == [])
            #expect(clean.expectedFiles == clean.checkedFiles)
            #expect(clean.files == clean.expectedFiles)

            let damage = try await corrupt(cluster, objects.keys.sorted(), &random)
            #expect(damage.expected.values.reduce(0) { $0 + $1.count } == 1_000)

            // Without repairs it reports, and changes nothing.
            let shallow = try await cluster.audit(deep: false)
            var found = try await cluster.findings(of: shallow)
            #expect(found[.changed] == nil)
            let told = try await cluster.audit()
            found = try await cluster.findings(of: told)
            for kind in AuditFindingKind.allCases {
                #expect(found[kind] ?? [] == damage.expected[kind] ?? [], "\(kind)")
                #expect(told[kind].found == Int64(damage.expected[kind]?.count ?? 0))
                #expect(told[kind].repaired == 0)
            }
            #expect(try await cluster.client.status(of: catalog).state == .completed)

            let before = cluster.origin.requests.count
            let repaired = try await cluster.audit(repair: true)
            #expect(repaired.unrepairedFiles == 0)
            #expect(repaired[.leftover].repaired == repaired[.leftover].found)
            _ = try await cluster.end(of: catalog)
            for (path, body) in objects { #expect(cluster.stored(path) == body, "\(path)") }
            for (path, body) in damage.foreign {
                #expect(try cluster.edge.read(path) == body, "\(path)")
            }
            for path in damage.links {
                let target = try FileManager.default.destinationOfSymbolicLink(
                    atPath: cluster.edge.path(path))
                #expect(target == "/etc/hostname")
            }
            for (path, entry) in damage.others { #expect(try Entry(path) == entry) }
            // Nothing but the damaged files was fetched again.
            let again = cluster.origin.requests.dropFirst(before).map(\.path)
            #expect(Set(again) == damage.fetched)
            #expect(again.count == damage.fetched.count)
            #expect(try await cluster.checkSums("/d0/e0") > 0)

            let last = try await cluster.audit()
            found = try await cluster.findings(of: last)
            #expect(found[.foreign] == damage.expected[.foreign])
            #expect(found[.symlink] ?? [] == Set(damage.links))
            #expect(Set(found.keys) == [.foreign, .symlink])
            #expect(
                try await cluster.execute(
                    "SELECT kind FROM dray.event WHERE kind LIKE 'site.%' ORDER BY id DESC LIMIT 3"
                )
                .contains("site.damaged"))
        }
    }

    /// Makes a thousand random corruptions.
    private func corrupt(
        _ cluster: Cluster, _ paths: [String], _ random: inout SeededRandom
    ) async throws -> Damage {
        var damage = Damage()
        let lease = LeaseID.random()
        let site = try await cluster.client.sites().sites[0].id
        try await cluster.execute(
            "INSERT INTO dray.lost_lease (id, site_id, is_swept) VALUES ('\(lease)', \(site), true)"
        )
        var left = paths.shuffled(using: &random)
        let manager = FileManager.default
        for number in 0..<1_000 {
            var kind = Int.random(in: 0..<12, using: &random)
            // Each file once.
            if left.isEmpty, kind < 5 { kind += 5 }
            let path = kind < 5 ? left.removeLast() : ""
            let key = cluster.root + path
            let file = cluster.edge.path(key)
            switch kind {
            case 0:
                try manager.removeItem(atPath: file)
                damage.expected[.missing, default: []].insert(key)
            case 1:
                let bytes = try cluster.edge.read(key)
                try cluster.edge.write(
                    bytes.prefix(Int.random(in: 0..<bytes.count, using: &random)), to: key)
                damage.expected[.truncated, default: []].insert(key)
            case 2:
                var bytes = try cluster.edge.read(key)
                let index = Int.random(in: 0..<bytes.count, using: &random)
                bytes[index] ^= 1 << UInt8.random(in: 0..<8, using: &random)
                try cluster.edge.write(bytes, to: key)
                damage.expected[.changed, default: []].insert(key)
            case 3:
                try manager.removeItem(atPath: file)
                try manager.createSymbolicLink(
                    atPath: file, withDestinationPath: "/etc/hostname")
                damage.expected[.symlink, default: []].insert(key)
            case 4:
                try manager.removeItem(atPath: file)
                try Self.makeFIFO(Array(file.utf8))
                damage.expected[.missing, default: []].insert(key)
            case 5:
                let name = [
                    "!first", "\(cluster.root)/d1/e1/z\(number)", "z/\(number)/a",
                    "\(cluster.root)-\(number)",
                ]
                let foreign = "\(name[number % 4])\(number)"
                damage.foreign[foreign] = sampleBytes(number, seed: 7)
                try cluster.edge.write(damage.foreign[foreign] ?? [], to: foreign)
                damage.expected[.foreign, default: []].insert(foreign)
            case 6:
                let link = "\(cluster.root)/d2/link\(number)"
                try manager.createSymbolicLink(
                    atPath: cluster.edge.path(link), withDestinationPath: "/etc/hostname")
                damage.links.append(link)
                damage.expected[.symlink, default: []].insert(link)
            case 7:
                let name = ".dray/tmp/\(lease)-\(number)"
                try cluster.edge.write([1, 2], to: name)
                damage.expected[.leftover, default: []].insert(name)
            case 8, 9, 10:
                let foreign = try makeOther(kind, number, cluster, &damage)
                damage.expected[.foreign, default: []].insert(foreign)
            default:
                let multipart = MultipartID.random()
                try await cluster.execute(
                    """
                    INSERT INTO dray.abandoned_multipart_file (id, site_id)
                    VALUES ('\(multipart)', \(site))
                    """)
                try cluster.edge.write([3], to: ".dray/multipart/\(multipart)")
                damage.expected[.leftover, default: []].insert(".dray/multipart/\(multipart)")
            }
            // The rewritten playlists come from the coordinator.
            if kind < 5 { damage.fetched.insert(path) }
        }
        return damage
    }

    private static func makeFIFO(_ path: [UInt8]) throws {
        guard mkfifo(path.map(CChar.init(bitPattern:)) + [0], 0o644) == 0 else {
            throw POSIXFailure(errno, "mkfifo")
        }
    }

    /// Makes a directory, a FIFO or a name that is not UTF-8; returns the path of the one finding.
    private func makeOther(
        _ kind: Int, _ number: Int, _ cluster: Cluster, _ damage: inout Damage
    ) throws -> String {
        func write(_ path: [UInt8]) throws {
            let file = open(path.map(CChar.init(bitPattern:)) + [0], O_CREAT | O_WRONLY, 0o644)
            guard file >= 0 else { throw POSIXFailure(errno, "open") }
            close(file)
        }
        func makeDirectory(_ path: [UInt8]) throws {
            guard mkdir(path.map(CChar.init(bitPattern:)) + [0], 0o755) == 0 else {
                throw POSIXFailure(errno, "mkdir")
            }
        }
        // Beside its files, and at the site's top.
        let folder = number % 2 == 0 ? "\(cluster.root)/d3/" : ""
        let place = Array(cluster.edge.path(folder).utf8)
        var (paths, name): ([[UInt8]], String)
        switch kind {
        case 8:
            // A directory without a file is no finding.
            let directory = place + Array("directory\(number)".utf8)
            try makeDirectory(directory)
            try makeDirectory(directory + Array("/empty".utf8))
            try write(directory + Array("/file".utf8))
            paths = ["", "/empty", "/file"].map { directory + Array($0.utf8) }
            name = "directory\(number)/file"
        case 9:
            paths = [place + Array("fifo\(number)".utf8)]
            try Self.makeFIFO(paths[0])
            name = "fifo\(number)"
        default:
            let bytes = place + [0xFF, 0x2E, 0xC3] + Array("\(number)".utf8)
            name = "\\xFF.\\xC3\(number)"
            switch number % 3 {
            case 0:
                paths = [bytes]
                try write(bytes)
            case 1:
                paths = [bytes]
                try Self.makeFIFO(bytes)
            default:
                paths = [bytes, bytes + Array("/file".utf8)]
                try makeDirectory(bytes)
                try write(paths[1])
                name += "/file"
            }
        }
        for path in paths { damage.others[path] = try Entry(path) }
        return folder + name
    }

    /// A directory is in a file's place: what others have made stays, and the file's asset fails.
    @Test func aDirectoryUnderAKeyStays() async throws {
        try await Cluster.with { cluster in
            for path in ["/d/a", "/d/b"] { cluster.origin.serve(path, [1, 2, 3]) }
            let catalog = try await cluster.submit([
                try cluster.file("/d/a"), try cluster.file("/d/b"),
            ])
            _ = try await cluster.end(of: catalog)
            let key = "\(cluster.root)/d/a"
            try FileManager.default.removeItem(atPath: cluster.edge.path(key))
            try cluster.edge.write([7], to: "\(key)/theirs")
            let audit = try await cluster.audit(repair: true)
            #expect(audit[.missing].found == 1 && audit[.missing].repaired == 1)
            let found = try await cluster.findings(of: audit)
            #expect(found == [.missing: [key], .foreign: ["\(key)/theirs"]])
            let assets = try await cluster.end(of: catalog)
            #expect(assets["/d/a"]?.failure?.code == .storagePathConflict)
            #expect(assets["/d/b"]?.state == .completed)
            #expect(try cluster.edge.read("\(key)/theirs") == [7])
        }
    }

    /// Files of failed assets that are there after all: with a digest they are tried again.
    @Test func filesThatAreRecordedAsNotStoredAreFoundAndReused() async throws {
        try await Cluster.with { cluster in
            let right = sampleBytes(300, seed: 3)
            let digest = Cluster.sha256(right)
            // The origin has none of them.
            let catalog = try await cluster.submit([
                try cluster.file("/u/right", sha256: digest),
                try cluster.file("/u/wrong", sha256: digest), try cluster.file("/u/unknown"),
                try cluster.file("/u/gone", sha256: digest),
            ])
            var assets = try await cluster.end(of: catalog)
            #expect(assets.values.allSatisfy { $0.state == .failed })
            for name in ["right", "wrong", "unknown"] {
                try cluster.edge.write(
                    name == "wrong" ? [1] : right, to: "\(cluster.root)/u/\(name)")
            }
            let keys = Set(["right", "wrong", "unknown"].map { "\(cluster.root)/u/\($0)" })
            for deep in [false, true] {
                let audit = try await cluster.audit(deep: deep)
                #expect(try await cluster.findings(of: audit) == [.unrecorded: keys])
                #expect(audit[.unrecorded].repaired == 0)
            }
            #expect(try await cluster.client.status(of: catalog).state == .failed)

            let before = cluster.origin.requests.count
            let repaired = try await cluster.audit(repair: true)
            #expect(repaired[.unrecorded].found == 3 && repaired[.unrecorded].repaired == 2)
            assets = try await cluster.end(of: catalog)
            #expect(assets["/u/right"]?.state == .completed)
            for name in ["wrong", "unknown", "gone"] {
                #expect(assets["/u/\(name)"]?.state == .failed)
            }
            #expect(cluster.stored("/u/right") == right)
            #expect(cluster.stored("/u/unknown") == right)
            // Only what is wrong is asked for.
            let again = cluster.origin.requests.dropFirst(before).map(\.path)
            #expect(Set(again) == ["/u/wrong"])
            let last = try await cluster.findings(of: try await cluster.audit())
            #expect(last[.unrecorded]?.contains("\(cluster.root)/u/right") == false)
        }
    }
}
