package import Titles

/// The way from the URL at which a manifest was read before the load to the one at which a viewer
/// received it, after redirects.
///
/// What the manifest lists on its own origin follows it, as references of their forms do (RFC 3986,
/// section 5); URLs on other origins stay.
package struct ManifestMove: Sendable, Equatable {
    private let from: Folder
    private let to: Folder

    /// An origin, and the path up to its last slash.
    private struct Folder: Sendable, Equatable {
        var origin: [UInt8]
        var path: [UInt8]

        init(of url: String) {
            let bytes = Array(url.utf8)
            let start = Self.pathStart(bytes)
            origin = Array(bytes[..<start])
            let end = bytes[start...].firstIndex { $0 == UInt8(ascii: "?") } ?? bytes.count
            let last = bytes[start..<end].lastIndex(of: UInt8(ascii: "/"))
            path = last.map { Array(bytes[start...$0]) } ?? [UInt8(ascii: "/")]
        }

        static func pathStart(_ bytes: [UInt8]) -> Int {
            var slashes = 0
            for (index, byte) in bytes.enumerated() {
                if byte == UInt8(ascii: "/") { slashes += 1 }
                if slashes == 3 || byte == UInt8(ascii: "?") { return index }
            }
            return bytes.count
        }
    }

    package init(from: String, to: String) {
        self.from = Folder(of: from)
        self.to = Folder(of: to)
    }

    /// True if nothing moves.
    package var isNone: Bool { from == to }

    /// Returns the URL that an object has for the viewer.
    package func url(_ url: String, as form: ReferenceForm = .relative) -> String {
        let bytes = Array(url.utf8)
        let start = Folder.pathStart(bytes)
        guard form != .url, bytes[..<start].elementsEqual(from.origin) else { return url }
        guard form == .relative else {
            return String(decoding: to.origin + bytes[start...], as: UTF8.self)
        }
        // The shortest relative reference: up to the folder that both are in, then down.
        var common = 0
        for (index, (left, right)) in zip(from.path, bytes[start...]).enumerated() {
            guard left == right else { break }
            if left == UInt8(ascii: "/") { common = index + 1 }
        }
        var up = from.path[common...].count { $0 == UInt8(ascii: "/") }
        var folder = to.path[...]
        // A reference that climbs above the root ends there.
        while up > 0, folder.count > 1 {
            folder = folder.dropLast()
            while folder.last != UInt8(ascii: "/") { folder = folder.dropLast() }
            up -= 1
        }
        let text = to.origin + folder + bytes[start...].dropFirst(common)
        return String(decoding: text, as: UTF8.self)
    }
}

/// The URLs at which a viewer received its manifests, if they differ from those read before the
/// load.
package struct ManifestMoves: Sendable {
    /// By index of the manifest.
    private var moves: [Int32: ManifestMove] = [:]

    package init() {}

    package var isEmpty: Bool { moves.isEmpty }

    /// Records the URL at which a manifest was received.
    package mutating func received(_ manifest: Int32, at url: String, in plan: borrowing LoadPlan) {
        let move = ManifestMove(from: plan.base(ofManifest: manifest), to: url)
        moves[manifest] = move.isNone ? nil : move
    }

    /// Returns where a manifest went; nil if it is where it was read before the load.
    func move(ofManifest manifest: Int32) -> ManifestMove? { moves[manifest] }

    /// Returns the URL that an object has for the viewer; nil if it is the object's own.
    package func url(of object: borrowing LoadPlan.Object) -> String? {
        guard object.manifest >= 0, object.form != .url, let move = moves[object.manifest] else {
            return nil
        }
        return move.url(object.url, as: object.form)
    }
}
