#pragma once
#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/types.h>
#include <unistd.h>

/// openat2(2), which glibc 2.36 does not wrap. Returns a descriptor, or -1 with errno set.
static inline int dray_openat2(
    int directory, const char *_Nonnull path, uint64_t flags, uint64_t mode, uint64_t resolve)
{
    struct open_how how = {.flags = flags, .mode = mode, .resolve = resolve};
    return (int)syscall(SYS_openat2, directory, path, &how, sizeof how);
}

/// RESOLVE_* are macros over unsigned literals; constants import into Swift with a type.
static const uint64_t dray_resolve_beneath = RESOLVE_BENEATH;
static const uint64_t dray_resolve_no_magiclinks = RESOLVE_NO_MAGICLINKS;
static const uint64_t dray_resolve_no_symlinks = RESOLVE_NO_SYMLINKS;

/// O_PATH, which fcntl.h declares for _GNU_SOURCE only.
static const int dray_o_path = __O_PATH;
static const int dray_o_tmpfile = __O_TMPFILE;

/// glibc's text for an errno value, the same in every locale; null for an unknown one. Declared
/// here because string.h declares it for _GNU_SOURCE only.
extern const char *_Nullable strerrordesc_np(int code);

/// syncfs(2) and fallocate(2), which unistd.h and fcntl.h declare for _GNU_SOURCE only.
extern int syncfs(int descriptor);
extern int fallocate(int descriptor, int mode, off_t offset, off_t length);

/// renameat2(2) and its flags, which stdio.h declares for _GNU_SOURCE only.
extern int renameat2(
    int from_directory, const char *_Nonnull from, int to_directory, const char *_Nonnull to,
    unsigned int flags);
static const unsigned int dray_rename_noreplace = 1;
static const unsigned int dray_rename_exchange = 2;

/// UUIDs of file systems, declared by the headers of Linux 6.9 and later and of xfsprogs.
struct dray_fsuuid2 {
    uint8_t length;
    uint8_t uuid[16];
};
struct dray_xfs_geometry {
    uint32_t sizes[8];
    uint64_t blocks[4];
    uint8_t uuid[16];
    uint32_t rest[7];
};
static const unsigned long dray_get_fs_uuid = _IOR(0x15, 0, struct dray_fsuuid2);  // FS_IOC_GETFSUUID
static const unsigned long dray_get_xfs_geometry = _IOR('X', 100, struct dray_xfs_geometry);  // XFS_IOC_FSGEOMETRY_V1

/// Open file description locks (fcntl(2)), which fcntl.h declares for _GNU_SOURCE only. Unlike a
/// flock(2) lock, such a lock can be queried without taking it.
///
/// Takes the write lock of a whole file; 0, or -1 with errno set.
static inline int dray_take_ofd_lock(int descriptor)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    return fcntl(descriptor, 37 /* F_OFD_SETLK */, &lock);
}

/// Returns 1 if another open file has the write lock of the whole file, 0 if none has it, -1 with
/// errno set.
static inline int dray_is_ofd_locked(int descriptor)
{
    struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
    if (fcntl(descriptor, 36 /* F_OFD_GETLK */, &lock) != 0) return -1;
    return lock.l_type != F_UNLCK;
}
