internal import Model

extension AssetStatus {
    /// The asset for display: without possible secrets of its URLs, and of a name derived from a
    /// URL with a query.
    package var redacted: AssetStatus {
        var copy = self
        copy.name = redactedName
        copy.url = Model.redacted(url: url)
        copy.path = path.map(Redaction.key)
        copy.missing = missing?.map { sidecar in
            var sidecar = sidecar
            sidecar.path = Redaction.key(sidecar.path)
            sidecar.url = Model.redacted(url: sidecar.url)
            return sidecar
        }
        copy.leftOut = leftOut?.map { rendition in
            var rendition = rendition
            rendition.key = Redaction.key(rendition.key)
            return rendition
        }
        return copy
    }

    /// The name for display; one derived from a URL with a query contains its secrets too.
    package var redactedName: String { Redaction.name(name, ofURL: url) }
}

extension FilePage.StoredFile {
    /// The file for display.
    package var redacted: FilePage.StoredFile {
        var copy = self
        copy.path = Redaction.key(path)
        copy.url = Model.redacted(url: url)
        return copy
    }
}
