package import Model

// Types that check what they are decoded from, or whose fields depend on each other.

extension UniqueID: SchemaDescribed {
    package static func schema(by tracer: SchemaTracer) -> Schema {
        Schema(.string, .pattern("^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$"))
    }

    package static var sample: Self { .zero }
}

extension FileSystemID: SchemaDescribed {
    package static func schema(by tracer: SchemaTracer) -> Schema {
        Schema(.string, .pattern("^[0-9a-f:]{1,64}$"))
    }

    package static var sample: FileSystemID {
        guard let sample = FileSystemID("0") else { preconditionFailure("0 is an identity") }
        return sample
    }
}

extension CatalogWait: SchemaDescribed {
    package static func schema(by tracer: SchemaTracer) -> Schema {
        func optional(_ name: String, _ kind: Schema.Kind) -> Schema.Property {
            Schema.Property(name, Schema(kind).nullable, isRequired: false)
        }
        return Schema(
            .object([
                Schema.Property("reason", Schema(.string)),
                optional("seconds", .number), optional("until", .number),
                optional("queue", .string), optional("workers", .integer),
                optional("code", .string), optional("worker", .string),
                optional("leases", .integer), optional("origin", .string),
                optional("origins", .integer), optional("catalogs", .integer),
            ]))
    }

    package static var sample: CatalogWait { CatalogWait(.siteLimit) }
}

extension CatalogFinish: SchemaDescribed {
    package static func schema(by tracer: SchemaTracer) -> Schema {
        func optional(_ name: String, _ kind: Schema.Kind) -> Schema.Property {
            Schema.Property(name, Schema(kind), isRequired: false)
        }
        return Schema(
            .object([
                Schema.Property("state", Schema(.string, .values(["finishes", "unknown"]))),
                Schema.Property("reason", Schema(.string)),
                Schema.Property(
                    "deadline", Schema(.string, .values(Deadline.allCases.map(\.rawValue)))),
                optional("at", .number), optional("seconds", .number),
                optional("workers", .integer), optional("origin", .string),
                optional("origins", .integer), optional("catalogs", .integer),
                optional("queue", .string), optional("code", .string),
                optional("missingBytes", .integer),
            ]))
    }

    package static var sample: CatalogFinish {
        CatalogFinish(.unknown(.noRate), deadline: .noDeadline)
    }
}

extension OriginLimitsChange: SchemaDescribed {
    package static func schema(by tracer: SchemaTracer) -> Schema {
        Schema(
            .object([
                Schema.Property(
                    "origin", Schema(.string, .characters(1...WireLimits.urlBytes)).nullable,
                    isRequired: false),
                Schema.Property("limits", tracer.schema(of: OriginLimits.self).nullable),
            ]))
    }

    package static var sample: OriginLimitsChange { OriginLimitsChange(origin: nil, limits: nil) }
}
