/// A database identity that cannot be confused with that of another kind of entity.
///
/// On the wire and in SQL it is a plain 64-bit integer.
package struct Identifier<Entity>: Hashable, Comparable, Sendable, RawRepresentable {
    package let rawValue: Int64

    package init(rawValue: Int64) { self.rawValue = rawValue }
    package init(_ rawValue: Int64) { self.rawValue = rawValue }

    package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }

    // Faster than RawRepresentable's implementation through witness tables; these are the keys of
    // most collections.
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

/// Tags for `Identifier` and `UniqueID`.
package enum CatalogEntity {}
package enum RunEntity {}
package enum AssetEntity {}
package enum JobEntity {}
package enum SiteEntity {}
package enum LeaseEntity {}
package enum ClusterEntity {}
package enum VolumeEntity {}
package enum WorkerEntity {}
package enum LoadTestEntity {}
package enum MultipartEntity {}
package enum AccessTokenEntity {}
package enum WebhookEntity {}
package enum WebhookDeliveryEntity {}
package enum SiteAuditEntity {}

package typealias CatalogID = Identifier<CatalogEntity>
/// Number of a run of a catalog, from its start to its end.
package typealias RunID = Identifier<RunEntity>
package typealias AssetID = Identifier<AssetEntity>
package typealias JobID = Identifier<JobEntity>
package typealias SiteID = Identifier<SiteEntity>
package typealias AccessTokenID = Identifier<AccessTokenEntity>
package typealias WebhookID = Identifier<WebhookEntity>
package typealias WebhookDeliveryID = Identifier<WebhookDeliveryEntity>
package typealias SiteAuditID = Identifier<SiteAuditEntity>

/// Identity of a lease, chosen by the worker that asks for it, so that it stays unique across a
/// database failover.
package typealias LeaseID = UniqueID<LeaseEntity>

/// Identity of a database, created with it.
package typealias ClusterID = UniqueID<ClusterEntity>

/// Identity of a volume, in the name of the mark in a site's directory.
package typealias VolumeID = UniqueID<VolumeEntity>

/// Identity of a worker process, created by the worker at each start.
package typealias WorkerID = UniqueID<WorkerEntity>

/// Identity of a multipart file, created by the worker that splits a transfer.
package typealias MultipartID = UniqueID<MultipartEntity>

/// Identity of a load test, created by the client, so that a repeated request starts one test only.
package typealias LoadTestID = UniqueID<LoadTestEntity>
