internal import Foundation
import Model

/// The shared credentials file of AWS's tools: sections of a profile, `name = value` lines.
struct SharedCredentials {
    let environment: [String: String]

    /// Maximum size of the file in bytes.
    private static let maximumBytes = 1 << 20

    /// Returns the profile's credentials; nil without a file. Throws `storage.credentials` if a
    /// named file or profile is missing or incomplete.
    func read() throws(Failure) -> Credentials? {
        let named = environment.value("AWS_SHARED_CREDENTIALS_FILE")
        let home = environment.value("HOME").map { "\($0)/.aws/credentials" }
        let profile = environment.value("AWS_PROFILE")
        guard let path = named ?? home, let text = Self.text(path) else {
            guard named == nil, profile == nil else {
                throw Failure(
                    .storageCredentials,
                    "the shared credentials file \(named ?? home ?? "") cannot be read")
            }
            return nil
        }
        let values = Self.values(in: text, of: profile ?? "default")
        guard let key = values.value("aws_access_key_id"),
            let secret = values.value("aws_secret_access_key")
        else {
            guard named == nil, profile == nil else {
                throw Failure(
                    .storageCredentials,
                    "\(path) has no access key in its profile \(profile ?? "default")")
            }
            return nil
        }
        return Credentials(
            accessKey: key, secretKey: secret, sessionToken: values.value("aws_session_token"))
    }

    private static func text(_ path: String) -> String? {
        guard let file = FileHandle(forReadingAtPath: path),
            let data = try? file.read(upToCount: maximumBytes)
        else { return nil }
        return String(decoding: data, as: UTF8.self)
    }

    static func values(in text: String, of profile: String) -> [String: String] {
        var values: [String: String] = [:]
        var isInProfile = false
        for line in text.split(whereSeparator: \.isNewline) {
            let line = line.trimmingCharacters(in: .whitespaces)
            guard !line.hasPrefix("#"), !line.hasPrefix(";") else { continue }
            if line.hasPrefix("["), let end = line.firstIndex(of: "]") {
                let name = line[..<end].dropFirst().trimmingCharacters(in: .whitespaces)
                isInProfile = name == profile || name == "profile \(profile)"
            } else if isInProfile, let sign = line.firstIndex(of: "=") {
                let name = line[..<sign].trimmingCharacters(in: .whitespaces).lowercased()
                values[name] = line[line.index(after: sign)...]
                    .trimmingCharacters(in: .whitespaces)
            }
        }
        return values
    }
}
