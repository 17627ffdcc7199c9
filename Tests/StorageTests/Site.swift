import Digest
import Model
import Storage
import TestSupport

/// A storage over a temporary directory, and short forms of what the tests do with it.
struct Site {
    let directory: TemporaryDirectory
    let storage: DirectoryStorage
    static let lease: LeaseID = "6f1f2a9e-6d9c-4c44-9c07-3f7f9f0b8f11"

    init(_ durability: Durability = .batch, in parent: String = "/tmp") throws {
        directory = try TemporaryDirectory("site", in: parent)
        storage = try DirectoryStorage(
            StorageURL(directory: directory.path), durability: durability)
    }

    /// A temporary object for `key` that holds `bytes`.
    func pending(_ key: String, _ bytes: [UInt8], job: Int64 = 1) throws -> PendingObject {
        let object = try storage.createTemporary(
            lease: Self.lease, job: JobID(job), key: key)
        try bytes.withUnsafeBytes { try object.write($0, at: 0) }
        return object
    }

    /// Stores one object; the failure is thrown.
    func store(_ key: String, _ bytes: [UInt8]) throws {
        for result in storage.commit([try pending(key, bytes)]) { try result.get() }
    }

    /// The failure code of storing something under `key`; nil when it was stored.
    func codeOfStoring(_ key: String) -> FailureCode? {
        do {
            try store(key, [1])
            return nil
        } catch { return (error as? Failure)?.code }
    }

    /// Files that the site holds, `.dray` left out.
    func visibleFiles() throws -> [String] {
        try directory.files().filter { !$0.hasPrefix(".dray/") }
    }

    func privateFiles() throws -> [String] {
        try directory.files().filter { $0.hasPrefix(".dray/") }
    }

    static func expected(_ bytes: [UInt8]) -> StoredObject {
        StoredObject(
            bytes: Int64(bytes.count), sha256: SHA256Digest(hashing: bytes).description)
    }
}
