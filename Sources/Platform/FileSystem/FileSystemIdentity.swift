internal import CLinux
internal import Glibc

extension FileDescriptor {
    /// Identifies the file's file system, stable across mounts and reboots. Returns nil if it has
    /// no identity that this user can read, as for network file systems.
    ///
    /// It is `f_fsid` of statfs(2) if that derives from a UUID that the file system has stored, or
    /// created at its mount (tmpfs). Elsewhere `f_fsid` is a device number, which may change at the
    /// next boot. Then it is the UUID itself: XFS_IOC_FSGEOMETRY_V1, and FS_IOC_GETFSUUID of Linux
    /// 6.9.
    package func fileSystemIdentity() -> String? {
        var kind = statfs()
        guard fstatfs(rawValue, &kind) == 0 else { return nil }
        let type = UInt32(truncatingIfNeeded: Int(kind.f_type))
        guard !NetworkFileSystem.contains(type: Int(kind.f_type)) else { return nil }
        let bytes: [UInt8]
        if Self.typesOfStableID.contains(type) {
            bytes = withUnsafeBytes(of: kind.f_fsid) { Array($0) }
        } else {
            bytes = type == Self.xfs ? xfsUUID() : uuid()
        }
        guard bytes.contains(where: { $0 != 0 }) else { return nil }
        return "\(Self.hexadecimal(type, digits: 8)):"
            + bytes.map { Self.hexadecimal(UInt32($0), digits: 2) }.joined()
    }

    /// Their numbers in statfs(2), from the kernel's sources.
    private static let typesOfStableID: Set<UInt32> = [
        0xEF53,  // ext2, ext3, ext4
        0x9123_683E,  // Btrfs; each subvolume has its own
        0x2FC1_2FC1,  // ZFS; each dataset has its own
        0x0102_1994,  // tmpfs; new with each mount, 0 before Linux 5.13
        0x794C_7630,  // overlayfs; that of the upper file system
    ]
    private static let xfs: UInt32 = 0x5846_5342

    private func xfsUUID() -> [UInt8] {
        var geometry = dray_xfs_geometry()
        guard ioctl(rawValue, UInt(dray_get_xfs_geometry), &geometry) == 0 else { return [] }
        return withUnsafeBytes(of: geometry.uuid) { Array($0) }
    }

    private func uuid() -> [UInt8] {
        var found = dray_fsuuid2()
        guard ioctl(rawValue, UInt(dray_get_fs_uuid), &found) == 0, found.length <= 16 else {
            return []
        }
        return withUnsafeBytes(of: found.uuid) { Array($0.prefix(Int(found.length))) }
    }

    private static func hexadecimal(_ number: UInt32, digits: Int) -> String {
        let text = String(number, radix: 16)
        return String(repeating: "0", count: max(digits - text.count, 0)) + text
    }
}
