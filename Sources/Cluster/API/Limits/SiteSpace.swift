package import Model

/// Limits of the space at a lease's site.
package struct SiteSpace: Codable, Hashable, Sendable {
    /// Bytes of its file system to leave free; 0 for none.
    package var floorBytes: Int64
    /// Bytes that the site's quota leaves besides stored files and others' running transfers; nil
    /// for no quota.
    package var quotaLeftBytes: Int64?
    /// True if the site was not writable: the worker tests it before any request to an origin, and
    /// reports success in a heartbeat.
    package var isTried: Bool
    /// Abandoned multipart files, which the worker removes; nil for none.
    package var abandoned: [MultipartID]?

    package init(floorBytes: Int64, quotaLeftBytes: Int64?, isTried: Bool) {
        self.floorBytes = floorBytes
        self.quotaLeftBytes = quotaLeftBytes
        self.isTried = isTried
    }
}

/// A worker's report on a site of its jobs, in a heartbeat.
package struct SiteReport: Codable, Hashable, Sendable {
    package var site: SiteID
    /// Free bytes of its file system, 0 or more; nil if unknown.
    package var availableBytes: Int64?
    /// True if the worker has just written there, because a lease or a coordinator requested a test.
    package var isSound: Bool

    package init(site: SiteID, availableBytes: Int64?, isSound: Bool) {
        self.site = site
        self.availableBytes = availableBytes
        self.isSound = isSound
    }
}

/// `POST /v1/sites/volumes`: a worker reads the volume of a site, or records it if none is
/// recorded.
package struct SiteVolumeRequest: Codable, Sendable {
    package var worker: WorkerID
    package var site: SiteID
    /// A lease of the worker with jobs of the site; needed with `volume`.
    package var lease: LeaseID?
    /// The volume that the worker found or marked there; nil to read.
    package var volume: VolumeID?
    /// The file system of the volume; nil if it has no identity.
    package var fileSystem: FileSystemID?
    /// The marks in the site's directory and in those that contain it; nil if the worker did not look.
    package var marks: [VolumeID]?

    package init(
        worker: WorkerID, site: SiteID, lease: LeaseID? = nil, volume: VolumeID? = nil,
        fileSystem: FileSystemID? = nil, marks: [VolumeID]? = nil
    ) {
        self.worker = worker
        self.site = site
        self.lease = lease
        self.volume = volume
        self.fileSystem = fileSystem
        self.marks = marks
    }

    /// Maximum number of `marks`.
    package static let maximumMarks = 100
}

/// The answer to `SiteVolumeRequest`.
package struct SiteVolumeAnswer: Codable, Sendable {
    /// The recorded volume: of several workers that record at once, the first one's. Nil for none.
    package var volume: VolumeID?
    /// The last file system of the volume; nil if it has no identity.
    package var fileSystem: FileSystemID?
    /// Seconds since an operator resumed the site or accepted its volume; nil for never.
    package var resumedSeconds: Double?
    /// Other sites with catalogs that one of the request's marks belongs to. If a volume is recorded:
    /// sites with the same one, by the order in which sites were added, before this one. Nil for none.
    package var others: [MarkedSite]?

    /// A site and its recorded volume.
    package struct MarkedSite: Codable, Hashable, Sendable {
        /// The name of its queue.
        package var name: String
        package var storageURL: String
        package var volume: VolumeID

        package init(name: String, storageURL: String, volume: VolumeID) {
            self.name = name
            self.storageURL = storageURL
            self.volume = volume
        }

        /// Returns the failure of a site that uses the directory of this one.
        package func sharedFailure(with url: String) -> Failure {
            Failure(
                .storageSharedDirectory,
                "\(url) is, or lies in, the directory of site \(name), \(storageURL): "
                    + "it has that site's mark .dray/volume/\(volume). "
                    + "If it is a copy or was moved, remove the mark here")
        }
    }

    package init(volume: VolumeID?, fileSystem: FileSystemID? = nil) {
        self.volume = volume
        self.fileSystem = fileSystem
    }

    /// The volume with its file system; nil if none is recorded.
    package var recorded: SiteVolume? {
        volume.map { SiteVolume(id: $0, fileSystem: fileSystem) }
    }
}
