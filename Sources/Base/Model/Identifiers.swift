/// A database identity that cannot be mistaken for that of another kind of entity.
///
/// On the wire and in SQL it is a bare 64-bit integer.
package struct Identifier<Entity>: Hashable, Comparable, Sendable, RawRepresentable {
    package let rawValue: Int64

    package init(rawValue: Int64) { self.rawValue = rawValue }
    package init(_ rawValue: Int64) { self.rawValue = rawValue }

    package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }

    // Not what RawRepresentable offers, which takes its way through witness tables: these are the
    // keys of everything.
    package static func == (left: Self, right: Self) -> Bool { left.rawValue == right.rawValue }

    package func hash(into hasher: inout Hasher) { hasher.combine(rawValue) }
}

extension Identifier: Codable {
    package init(from decoder: any Decoder) throws {
        rawValue = try decoder.singleValueContainer().decode(Int64.self)
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(rawValue)
    }
}

extension Identifier: CustomStringConvertible {
    package var description: String { String(rawValue) }
}

/// Tags for `Identifier`.
package enum CatalogEntity {}
package enum AssetEntity {}
package enum SegmentEntity {}
package enum JobEntity {}
package enum SiteEntity {}

package typealias CatalogID = Identifier<CatalogEntity>
package typealias AssetID = Identifier<AssetEntity>
package typealias SegmentID = Identifier<SegmentEntity>
package typealias JobID = Identifier<JobEntity>
package typealias SiteID = Identifier<SiteEntity>

/// A lease's identity: a UUID in lower case, so that it stays unique across a database failover.
package typealias LeaseID = String

/// A database's identity: a UUID in lower case, made with it.
package typealias ClusterID = String

/// A volume's identity: a UUID in lower case, in the name of the mark that a site's directory has.
package typealias VolumeID = String

/// A file system's identity, the same after each mount and reboot: its type and its UUID or `f_fsid`, in
/// hexadecimal.
package typealias FileSystemID = String

/// A worker process's identity: a UUID in lower case, made by the worker at each start.
package typealias WorkerID = String

/// A load test's identity: a UUID in lower case, made by who asks for it, so that asking twice is one test.
package typealias LoadTestID = String
