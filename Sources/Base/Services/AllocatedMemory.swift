internal import CLinux

/// The memory that this process has allocated.
package enum AllocatedMemory {
    /// Bytes that malloc has handed out and that are not freed (mallinfo(3)). Resident memory is
    /// larger: the allocator keeps freed memory.
    package static var bytes: Int64 { dray_allocated_bytes() }
}
