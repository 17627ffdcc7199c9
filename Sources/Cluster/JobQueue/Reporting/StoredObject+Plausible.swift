internal import Model

extension StoredObject {
    /// A length of up to 16 TiB and 64 lower-case hex digits.
    var isPlausible: Bool {
        (0...(16 << 40)).contains(bytes) && sha256.utf8.count == 64
            && sha256.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
    }
}
