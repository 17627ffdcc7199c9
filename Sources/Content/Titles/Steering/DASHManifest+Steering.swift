import Model
import WebURL

extension DASHManifest {
    /// Returns the manifest's content steering, and its service locations; nil without any.
    ///
    /// Locations are those of BaseURLs of the whole MPD. Throws `manifest.unsupported` if it cannot
    /// be followed.
    func contentSteering() throws(Failure) -> ContentSteering? {
        var result = ContentSteering()
        for (reference, name) in zip(baseURLs, serviceLocations) where !name.isEmpty {
            guard ContentSteering.isName(name) else {
                guard steering != nil else { continue }
                throw ContentSteering.failure(
                    "\(url)", "the serviceLocation \(Redaction.shown(name)) cannot be sent")
            }
            guard !result.locations.contains(where: { $0.name == name }),
                let base = try? url.resolve(reference)
            else { continue }
            result.locations.append(ContentSteering.Location(name: name, base: base.text))
        }
        if let first = baseURLs.first { result.base = (try? url.resolve(first).text) ?? "" }
        if let steering {
            do throws(WebURLError) {
                result.serverURL = try url.resolve(steering.server).text
            } catch {
                throw ContentSteering.failure("\(url)", "the server's URL \(error.detail)")
            }
            result.first = steering.firstLocation
            result.asksBeforeStart = steering.asksBeforeStart
        }
        guard steering != nil && !result.locations.isEmpty || result.locations.count > 1 else {
            return nil
        }
        return result
    }
}
