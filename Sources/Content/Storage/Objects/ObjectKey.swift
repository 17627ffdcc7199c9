package import Model

/// A final key: the path of an object beneath the site's root, as `host/path/name`.
///
/// Only a key whose text stays beneath the root can be created; the file system's symlinks are
/// checked when the key is opened.
package struct ObjectKey: Hashable, Sendable {
    /// Dray's private directory beneath the root.
    static let privateDirectory = ".dray"
    /// Linux: NAME_MAX bytes per component, PATH_MAX including its NUL per path.
    static let componentByteLimit = 255
    static let byteLimit = 4095
    /// Maximum depth, beyond the URLs of any web server; bounds the directories that a commit holds
    /// open.
    static let depthLimit = 128

    package let path: String
    /// The directory part; empty for an object in the root.
    package let directory: String
    /// The last component.
    package let name: String

    /// Throws `storage.pathRefused` with the rule that the key breaks.
    package init(_ path: String) throws(Failure) {
        func refuse(_ reason: String) -> Failure {
            Failure(
                .storagePathRefused,
                "the key \(Redaction.path(path).prefix(200).debugDescription) \(reason)")
        }
        guard !path.isEmpty else { throw refuse("is empty") }
        guard !path.utf8.contains(0) else { throw refuse("contains NUL") }
        guard path.utf8.count <= Self.byteLimit else {
            throw refuse("is longer than \(Self.byteLimit) bytes")
        }
        let components = path.utf8.split(
            separator: UInt8(ascii: "/"), omittingEmptySubsequences: false
        ).map { Substring($0) }
        guard let name = components.last, components.count <= Self.depthLimit else {
            throw refuse("has more than \(Self.depthLimit) components")
        }
        for component in components {
            guard !component.isEmpty else { throw refuse("has an empty component") }
            guard component != ".", component != ".." else { throw refuse("contains . or ..") }
            guard component.utf8.count <= Self.componentByteLimit else {
                throw refuse("has a component of more than \(Self.componentByteLimit) bytes")
            }
        }
        guard components[0] != Self.privateDirectory else {
            throw refuse("lies in Dray's own directory")
        }
        self.path = path
        self.name = String(name)
        directory = String(decoding: path.utf8.dropLast(name.utf8.count + 1), as: UTF8.self)
    }
}

extension ObjectKey: CustomStringConvertible {
    package var description: String { path }
}

/// Names of the files in `.dray`.
enum PrivateName {
    /// Returns true if a temporary name has a number, as those of refreshes do. These objects are
    /// staged, closed and without a record until the title is complete.
    static func isNumbered(_ name: String) -> Bool {
        // A lease is a UUID, with five groups.
        name.utf8.count { $0 == UInt8(ascii: "-") } > 5
    }

    /// Returns a temporary name. The lease in it keeps an attempt that lost its lease from the next
    /// attempt's file. A job of several files numbers them from 1.
    static func temporary(
        lease: LeaseID, job: JobID, number: Int = 0
    ) -> String {
        number == 0 ? "\(lease)-\(job)" : "\(lease)-\(job)-\(number)"
    }
}
