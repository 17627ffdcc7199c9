/// What a worker has to know of the room at one site; it stands in a lease.
package struct SiteSpace: Codable, Hashable, Sendable {
    package var site: SiteID
    /// Bytes of its file system that are to stay free; 0 for none.
    package var floorBytes: Int64
    /// What the site's quota leaves besides what is stored and what others have under way; nil for none.
    package var quotaLeftBytes: Int64?
    /// The site could not be written: the worker tries it before it asks an origin for anything, and
    /// says in a heartbeat when it could.
    package var isTried: Bool
    /// Assemblies that nobody goes on with, whose files the worker removes; nil for none.
    package var abandoned: [String]?

    package init(site: SiteID, floorBytes: Int64, quotaLeftBytes: Int64?, isTried: Bool) {
        self.site = site
        self.floorBytes = floorBytes
        self.quotaLeftBytes = quotaLeftBytes
        self.isTried = isTried
    }
}

/// What a worker sees of a site that it holds jobs of; it stands in a heartbeat.
package struct SiteSighting: Codable, Hashable, Sendable {
    package var site: SiteID
    /// Free bytes of its file system, 0 or more; nil when they cannot be told.
    package var availableBytes: Int64?
    /// The worker has just written there, because a lease asked it to try.
    package var isSound: Bool

    package init(site: SiteID, availableBytes: Int64?, isSound: Bool) {
        self.site = site
        self.availableBytes = availableBytes
        self.isSound = isSound
    }
}

/// `POST /v1/sites/volumes`: a worker reads the volume that a site is on, or records it where none is recorded.
package struct SiteVolumeRequest: Codable, Sendable {
    package var worker: WorkerID
    package var site: SiteID
    /// A lease of the worker with jobs of the site; needed with `volume`.
    package var lease: LeaseID?
    /// The volume that the worker found or marked there; nil to read.
    package var volume: VolumeID?
    /// The file system that it found the volume on; nil where that has no identity.
    package var fileSystem: FileSystemID?

    package init(
        worker: WorkerID, site: SiteID, lease: LeaseID? = nil, volume: VolumeID? = nil,
        fileSystem: FileSystemID? = nil
    ) {
        self.worker = worker
        self.site = site
        self.lease = lease
        self.volume = volume
        self.fileSystem = fileSystem
    }
}

/// The answer to `SiteVolumeRequest`.
package struct SiteVolumeAnswer: Codable, Sendable {
    /// What is recorded now: of several workers that record at once, what the first one found. Nil for none.
    package var volume: VolumeID?
    /// The file system that it was last found on; nil where that has no identity.
    package var fileSystem: FileSystemID?
    /// How long ago an operator resumed the site or accepted its volume; nil for never.
    package var resumedSeconds: Double?

    package init(volume: VolumeID?, fileSystem: FileSystemID? = nil) {
        self.volume = volume
        self.fileSystem = fileSystem
    }
}
