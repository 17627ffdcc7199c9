internal import Model

extension StoredObject {
    /// A length of up to 16 TiB and 64 lower-case hex digits.
    var isPlausible: Bool {
        var sha256 = sha256
        return (0...(16 << 40)).contains(bytes)
            && sha256.withUTF8 { digits in
                digits.count == 64
                    && digits.allSatisfy {
                        (0x30...0x39).contains($0) || (0x61...0x66).contains($0)
                    }
            }
    }
}
