internal import CLinux
internal import Glibc

/// File systems served by another host, or by a process of this one.
package enum NetworkFileSystem {
    /// Their numbers in statfs(2), from the kernel's sources.
    private static let types: Set<UInt32> = [
        0x6969,  // NFS
        0xFF53_4D42, 0xFE53_4D42, 0x517B,  // CIFS, SMB 2, SMB
        0x6573_5546,  // FUSE
        0x00C3_6400,  // Ceph
        0x0102_1997,  // 9P
        0x0BD0_0BD0,  // Lustre
        0x4750_4653,  // GPFS
        0x5346_414F, 0x6B41_4653,  // AFS
        0x1983_0326,  // BeeGFS
        0x0116_1970, 0x7461_636F,  // GFS2, OCFS2
    ]

    /// - Parameter type: `f_type` of statfs(2).
    package static func contains(type: Int) -> Bool {
        types.contains(UInt32(truncatingIfNeeded: type))
    }
}

extension FileDescriptor {
    /// Returns true if the file is on a network file system.
    package func isOnNetwork() throws(SystemError) -> Bool {
        var kind = statfs()
        _ = try retrying("fstatfs") { fstatfs(rawValue, &kind) }
        return NetworkFileSystem.contains(type: Int(kind.f_type))
    }
}
