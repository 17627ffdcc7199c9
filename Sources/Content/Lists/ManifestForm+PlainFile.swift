import Text
package import Titles

extension ManifestForm {
    /// Describes a body that is not a manifest, by its first bytes: "an MP4 file". Nil for a
    /// possible manifest, for a web page, and for an empty body.
    ///
    /// - Parameter isWhole: true if nothing follows the bytes.
    package static func plainFile(_ start: [UInt8], isWhole: Bool) -> String? {
        guard !start.isEmpty, kind(of: start) == nil else { return nil }
        let lines = start.prefix(16 << 10).split(separator: ASCII.lineFeed)
        guard !lines.contains(where: { isPlaylist(start, $0.indices) }) else { return nil }
        if let media = mediaForm(start) { return media }
        if let format = ListFormat(start: start, isWhole: isWhole) {
            return "a list of assets (\(format.title))"
        }
        let text = start.drop { $0 <= ASCII.space }
        if text.first == ASCII.less { return nil }
        let isText =
            !start.contains(0) && String(validating: start.dropLast(3), as: UTF8.self) != nil
        return isText ? "a text file" : "a binary file"
    }

    private static func mediaForm(_ start: [UInt8]) -> String? {
        let boxes = ["ftyp", "styp", "moov", "moof", "sidx", "mdat"]
        if start.count >= 12, boxes.contains(where: { start[4..<8].elementsEqual($0.utf8) }) {
            return "an MP4 file"
        }
        if start.count > 188, start[0] == 0x47, start[188] == 0x47 {
            return "an MPEG transport stream"
        }
        let signatures: [([UInt8], String)] = [
            ([0x1A, 0x45, 0xDF, 0xA3], "a Matroska or WebM file"), ([0x1F, 0x8B], "gzip data"),
            (Array("ID3".utf8), "an audio file"), (Array("fLaC".utf8), "an audio file"),
            (Array("OggS".utf8), "an Ogg file"), (Array("WEBVTT".utf8), "subtitles (WebVTT)"),
            ([0xFF, 0xD8, 0xFF], "an image"), ([0x89, 0x50, 0x4E, 0x47], "an image"),
        ]
        return signatures.first { start.starts(with: $0.0) }?.1
    }
}
