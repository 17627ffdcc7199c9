import FileSystem
import Testing

@Suite struct NetworkFileSystemTests {
    @Test func fileSystemsAreRecognizedByTheirNumbers() throws {
        // NFS, SMB 2 as a negative number of 32 bits, FUSE.
        for type in [0x6969, Int(Int32(bitPattern: 0xFE53_4D42)), 0x6573_5546] {
            #expect(NetworkFileSystem.contains(type: type))
        }
        // ext4, xfs, btrfs, tmpfs, overlay.
        for type in [0xEF53, 0x5846_5342, 0x9123_683E, 0x0102_1994, 0x794C_7630] {
            #expect(!NetworkFileSystem.contains(type: type))
        }
        #expect(try !FileDescriptor.open("/proc", 0).isOnNetwork())
    }
}
