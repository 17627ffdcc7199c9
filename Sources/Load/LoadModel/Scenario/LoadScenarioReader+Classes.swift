import JSON
import Model

/// Reads the classes of viewers.
extension LoadScenarioReader {
    private static let classMembers = [
        "name", "weight", "bitsPerSecond", "roundTripSeconds", "maxBitsPerSecond", "maxHeight",
        "meanWatchSeconds", "meanSeekSeconds", "abandonStartupSeconds", "abandonStallSeconds",
    ]

    static func readViewerClass(
        _ cursor: inout JSONCursor, _ path: String
    ) throws(Failure) -> ViewerClass {
        var type = ViewerClass()
        try cursor.expect(.object, path)
        try cursor.object { (cursor, name, offset) throws(Failure) in
            let field = "\(path).\(name)"
            switch name {
            case "name": type.name = try cursor.plainText(field, limit: LoadLimits.nameBytes)
            case "weight": type.weight = try cursor.decimalNumber(field, LoadLimits.weight)
            case "bitsPerSecond":
                type.bitsPerSecond = try cursor.wholeNumber(field, LoadLimits.bitsPerSecond)
            case "roundTripSeconds":
                type.roundTripSeconds = try cursor.decimalNumber(field, LoadLimits.roundTripSeconds)
            case "maxBitsPerSecond":
                type.maxBitsPerSecond = try cursor.wholeNumber(field, LoadLimits.bitsPerSecond)
            case "maxHeight": type.maxHeight = try cursor.wholeNumber(field, LoadLimits.height)
            case "meanWatchSeconds":
                type.meanWatchSeconds = try cursor.decimalNumber(field, LoadLimits.watchSeconds)
            case "meanSeekSeconds":
                type.meanSeekSeconds = try cursor.decimalNumber(field, LoadLimits.watchSeconds)
            case "abandonStartupSeconds":
                type.abandonStartupSeconds = try cursor.decimalNumber(
                    field, LoadLimits.watchSeconds)
            case "abandonStallSeconds":
                type.abandonStallSeconds = try cursor.decimalNumber(field, LoadLimits.watchSeconds)
            default: throw unknown(cursor, name, offset, in: path, classMembers)
            }
        }
        return type
    }
}
