// Decodes an OTLP request from protocol buffers to the object that the request has in OTLP's JSON form, so that the
// same code reads the spans of both forms. Unknown fields are skipped.
import { ServiceError } from "../../base/domain/service-error.ts";
import type { Json } from "../../base/domain/text/json.ts";
import { BinaryReader } from "../../lib/protobuf/wire.ts";
import { messages, type FieldKind, type MessageName } from "./message-tables.ts";

export interface DecodeLimits {
  /** Maximum depth to which messages are nested. */
  readonly depthMax: number;
  /** Maximum number of fields in all messages together. */
  readonly valuesMax: number;
}

/**
 * Decodes an ExportTraceServiceRequest.
 *
 * @throws ServiceError `invalid` if the bytes are not such a message, or exceed a limit
 */
export function readProtobuf(bytes: Uint8Array, limits: DecodeLimits): Json {
  try {
    return new Decoder(bytes, limits).message("Request", bytes.length, 1);
  } catch (cause) {
    if (cause instanceof ServiceError) throw cause;
    throw invalidBody("The body is not an OTLP message in protobuf encoding.", cause);
  }
}

/** Returns the error of a body that cannot be read. */
export function invalidBody(message: string, cause?: unknown): ServiceError {
  return new ServiceError({ code: "invalid", message, cause });
}

class Decoder {
  readonly #reader: BinaryReader;
  readonly #limits: DecodeLimits;
  #valueCount = 0;

  constructor(bytes: Uint8Array, limits: DecodeLimits) {
    this.#reader = new BinaryReader(bytes);
    this.#limits = limits;
  }

  /** Reads the fields of a message that ends at `end`. */
  message(name: MessageName, end: number, depth: number): Json {
    if (depth > this.#limits.depthMax)
      throw invalidBody(`Messages may be nested at most ${this.#limits.depthMax} levels deep.`);
    const fields = messages[name];
    const found: Record<string, Json> = {};
    const lists: Record<string, Json[]> = {};
    while (this.#reader.pos < end) {
      const [number, wireType] = this.#reader.tag();
      const field = fields[number];
      if (field === undefined) {
        this.#reader.skip(wireType, number);
        continue;
      }
      this.#count();
      const value = this.#value(field.kind, depth);
      if (field.isList) (lists[field.name] ??= []).push(value);
      else found[field.name] = value;
    }
    if (this.#reader.pos !== end) throw new Error("a field is longer than its message");
    return { ...found, ...lists };
  }

  #value(kind: FieldKind, depth: number): Json {
    const reader = this.#reader;
    switch (kind) {
      case "text":
        return reader.string();
      case "hex":
        return Buffer.from(reader.bytes()).toString("hex");
      case "base64":
        return Buffer.from(reader.bytes()).toString("base64");
      case "integer":
        return String(reader.int64());
      case "nanoseconds":
        return String(reader.fixed64());
      case "double": {
        const value = reader.double();
        return Number.isFinite(value) ? value : String(value);
      }
      case "boolean":
        return reader.bool();
      case "enum":
        return reader.int32();
      default: {
        const length = reader.uint32();
        return this.message(kind, reader.pos + length, depth + 1);
      }
    }
  }

  #count(): void {
    this.#valueCount += 1;
    const { valuesMax } = this.#limits;
    if (this.#valueCount > valuesMax)
      throw invalidBody(`The body has more than ${valuesMax} values. Send fewer spans at a time.`);
  }
}
