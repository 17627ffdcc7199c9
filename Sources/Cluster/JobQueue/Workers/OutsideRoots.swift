/// The roots of the workers, as a message names them.
func outsideRootsText(_ roots: String, hasSymlink: Bool) -> String {
    hasSymlink ? roots + "; a symlink on the way leads out of them" : roots
}
