package import Digest
package import Model
internal import S3
import Synchronization

extension S3Storage {
    /// Returns the object under `key` if its length and digests are the expected ones, else nil; as
    /// `DirectoryStorage.reuse`.
    ///
    /// A HEAD is enough if the server or Dray recorded the SHA-256 with the object, and no other
    /// digest is expected. Otherwise the object is read.
    package func reuse(
        key: String, bytes: Int64?, digests: [ExpectedDigest]
    ) async -> StoredObject? {
        guard digests.contains(where: { !$0.algorithm.isChecksum || bytes != nil }) else {
            return nil
        }
        do throws(Failure) {
            let key = self.key(try ObjectKey(key))
            guard let head = try await head(key), bytes.map({ $0 == head.bytes }) ?? true
            else { return nil }
            if let sha256 = head.sha256, digests.allSatisfy({ $0.algorithm == .sha256 }) {
                guard digests.allSatisfy({ $0.hex == sha256 }) else { return nil }
                return StoredObject(bytes: head.bytes, sha256: sha256)
            }
            guard let read = try await hash(key, digests.map(\.algorithm)),
                read.bytes == head.bytes, Set(read.digests).isSuperset(of: digests)
            else { return nil }
            return StoredObject(bytes: read.bytes, sha256: read.sha256)
        } catch {
            return nil
        }
    }

    /// Does the same for several objects, some at a time; nil for none expected.
    package func reuse(
        _ expected: [(key: String, bytes: Int64?, digests: [ExpectedDigest])?]
    ) async -> [StoredObject?] {
        await withTaskGroup(of: (Int, StoredObject?).self) { group in
            var found = [StoredObject?](repeating: nil, count: expected.count)
            var isFull = 0
            for (index, expected) in expected.enumerated() {
                guard let expected else { continue }
                if isFull == Self.headsAtATime, let (index, object) = await group.next() {
                    found[index] = object
                    isFull -= 1
                }
                isFull += 1
                group.addTask {
                    (
                        index,
                        await self.reuse(
                            key: expected.key, bytes: expected.bytes, digests: expected.digests)
                    )
                }
            }
            for await (index, object) in group { found[index] = object }
            return found
        }
    }

    /// Describes the objects under some keys, which another tool stored, some at a time; nil for those
    /// that are missing, or have another length than is given.
    package func foundFiles(_ wanted: [(key: String, bytes: Int64?)?]) async -> [FoundFile?] {
        await withTaskGroup(of: (Int, FoundFile?).self) { group in
            var found = [FoundFile?](repeating: nil, count: wanted.count)
            var running = 0
            for (index, wanted) in wanted.enumerated() {
                guard let wanted else { continue }
                if running == Self.headsAtATime, let (index, file) = await group.next() {
                    found[index] = file
                    running -= 1
                }
                running += 1
                group.addTask {
                    let file = try? await self.foundFile(key: wanted.key)
                    return (index, wanted.bytes ?? file?.bytes == file?.bytes ? file : nil)
                }
            }
            for await (index, file) in group { found[index] = file }
            return found
        }
    }

    private static let headsAtATime = 16

    /// Returns which objects have their keys and lengths.
    package func areStored(_ objects: [(key: String, bytes: Int64)]) async -> [Bool] {
        var stored: [Bool] = []
        for start in stride(from: 0, to: objects.count, by: Self.headsAtATime) {
            let turn = objects[start..<min(start + Self.headsAtATime, objects.count)]
            stored += await withTaskGroup(of: (Int, Bool).self) { group in
                for (index, object) in zip(turn.indices, turn) {
                    group.addTask { (index, await self.isStored(object.key, object.bytes)) }
                }
                var found: [Int: Bool] = [:]
                for await (index, isStored) in group { found[index] = isStored }
                return turn.indices.map { found[$0] ?? false }
            }
        }
        return stored
    }

    private func isStored(_ key: String, _ bytes: Int64) async -> Bool {
        guard let key = try? ObjectKey(key), let head = try? await client.head(self.key(key)) else {
            return false
        }
        return head.bytes == bytes
    }

    /// Reads an object and returns its length and digests; nil if there is none.
    func hash(
        _ key: String, _ algorithms: [DigestAlgorithm]
    ) async throws(Failure) -> (bytes: Int64, sha256: String, digests: [ExpectedDigest])? {
        let reading = ObjectReading(algorithms)
        guard try await client.get(key, into: { reading.update($0) }) else { return nil }
        return reading.finish()
    }
}

/// The digests of an object while it is read.
private final class ObjectReading: Sendable {
    private let digests: Mutex<DigestSet?>
    private let bytes = Atomic<Int64>(0)

    init(_ algorithms: [DigestAlgorithm]) {
        digests = Mutex(DigestSet(Set(algorithms).subtracting([.sha256])))
    }

    func update(_ block: UnsafeRawBufferPointer) -> Bool {
        digests.withLock { $0?.update(block) }
        bytes.add(Int64(block.count), ordering: .relaxed)
        return true
    }

    func finish() -> (bytes: Int64, sha256: String, digests: [ExpectedDigest])? {
        digests.withLock { digests in
            guard var taken = digests.take() else { return nil }
            let computed = taken.finish()
            return (
                bytes.load(ordering: .relaxed), computed.sha256.description,
                [ExpectedDigest(computed.sha256)] + computed.others
            )
        }
    }
}
