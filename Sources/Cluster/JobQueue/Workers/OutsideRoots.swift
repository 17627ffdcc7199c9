/// Returns the workers' roots for a message.
func outsideRootsText(_ roots: String, hasSymlink: Bool) -> String {
    hasSymlink ? roots + "; a symlink on the way leads out of them" : roots
}
