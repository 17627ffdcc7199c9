import Model

/// The failure that an answer of an S3 server states: its own code, and its meaning for Dray.
struct AnswerFailure: Sendable {
    /// Such as `NoSuchKey`; empty without a document.
    let code: String
    let failure: Failure
    /// True if the same request may succeed soon.
    let isTransient: Bool

    /// - Parameter document: The document of the answer; an error in an answer of 200 as well.
    init(_ answer: HTTPAnswer, _ document: AnswerDocument?, at target: String) {
        let root = document?.root
        let error = root?.name == "Error" ? root : root?.all("Error").first
        let code = error?["Code"] ?? ""
        self.code = code
        let isOfS3 = error != nil || answer.headers["x-amz-request-id"] != nil
        let meaning = Self.meaning(of: code, status: answer.status, isOfS3: isOfS3)
        var text = "\(target): \(answer.status)"
        if !code.isEmpty { text += " \(code.prefix(100))" }
        if let message = error?["Message"], !message.isEmpty {
            text += ": \(Redaction.shown(String(message.prefix(200))))"
        }
        switch meaning {
        case .storageOtherRegion:
            if let region = answer.headers["x-amz-bucket-region"] ?? error?["Region"] {
                text += " (the bucket is in \(Redaction.shown(region, limit: 60)))"
            }
        case .storageClockSkew:
            if let date = answer.dateSeconds { text += " (the server's clock has \(date))" }
        case .storageNotS3:
            text +=
                " (\(Redaction.shown(answer.headers["content-type"] ?? "no type", limit: 60)), not an S3 answer)"
        default: break
        }
        failure = Failure(meaning, text)
        isTransient =
            [.storageSlowDown, .storageUnavailable, .storageBadDigest].contains(meaning)
            && !["NoSuchUpload", "InvalidPart"].contains(code)
    }

    private static func meaning(
        of code: String, status: Int, isOfS3: Bool
    ) -> FailureCode {
        switch code {
        case "SlowDown", "Throttling", "ThrottlingException", "RequestLimitExceeded",
            "BandwidthLimitExceeded", "TooManyRequests", "ServiceUnavailable", "Busy":
            return .storageSlowDown
        case "InternalError", "RequestTimeout", "OperationAborted", "NoSuchUpload", "InvalidPart",
            "ConditionalRequestConflict", "IncompleteBody":
            return .storageUnavailable
        case "BadDigest", "XAmzContentSHA256Mismatch", "InvalidDigest":
            return .storageBadDigest
        case "SignatureDoesNotMatch", "InvalidAccessKeyId", "ExpiredToken", "InvalidToken",
            "TokenRefreshRequired", "InvalidClientTokenId":
            return .storageCredentials
        case "AuthorizationHeaderMalformed": return .storageOtherRegion
        case "RequestTimeTooSkewed": return .storageClockSkew
        case "AccessDenied", "AllAccessDisabled", "AccountProblem": return .storageAccessDenied
        case "NoSuchBucket", "InvalidBucketName": return .storageNoBucket
        case "PermanentRedirect", "TemporaryRedirect", "IllegalLocationConstraintException",
            "IncorrectEndpoint":
            return .storageOtherRegion
        case "QuotaExceeded", "InsufficientStorage", "XMinioStorageFull": return .storageFull
        default: break
        }
        return switch status {
        case 301, 307, 308: isOfS3 ? .storageOtherRegion : .storageNotS3
        case 429, 503: .storageSlowDown
        case 501: .storageRefused
        case 500...599: .storageUnavailable
        case 403: .storageAccessDenied
        default: isOfS3 ? .storageRefused : .storageNotS3
        }
    }
}
