internal import CLinux

/// What this process has allocated.
package enum AllocatedMemory {
    /// Bytes that malloc has handed out and that have not been freed (mallinfo(3)). Memory that is
    /// resident is more: what was freed stays with the allocator.
    package static var bytes: Int64 { dray_allocated_bytes() }
}
