import API
import Model
import Rendering

/// What a catalog's completed assets have adopted: files, and bytes of titles.
struct AdoptionCounts {
    private var byDigest = 0
    private var byOrigin = 0
    private var fetched = 0
    private var titles = 0
    private var adoptedBytes: Int64 = 0
    private var fetchedBytes: Int64 = 0

    /// - Parameter wasAsked: true if the origin was asked about its file.
    mutating func add(_ asset: AssetStatus, wasAsked: Bool) {
        let adopted = asset.adoptedBytes ?? 0
        if asset.kind != .file {
            titles += 1
            adoptedBytes += adopted
            fetchedBytes += max(0, asset.bytes - adopted)
        } else if adopted != asset.bytes {
            fetched += 1
        } else if wasAsked {
            byOrigin += 1
        } else {
            byDigest += 1
        }
    }

    /// A line for files, and one for titles, if there are any.
    var text: String {
        var text = ""
        if titles == 0 || byDigest + byOrigin + fetched > 0 {
            text +=
                "adopted: \(HumanFormat.count(byDigest)) by digest, \(HumanFormat.count(byOrigin)) by "
                + "length and date; fetched: \(HumanFormat.count(fetched))\n"
        }
        if titles > 0 {
            text +=
                "\(HumanFormat.count(titles, "title")): \(HumanFormat.bytes(adoptedBytes)) adopted; "
                + "\(HumanFormat.bytes(fetchedBytes)) fetched, with the manifests\n"
        }
        return text
    }
}
