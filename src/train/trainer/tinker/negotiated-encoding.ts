// Finds the encoding in which a server accepts requests. If the kind of server does not determine the encoding, Hone
// first sends protocol buffers. Once the server has refused a request because of its encoding, Hone sends JSON.
import type { ServerKind } from "./server-kinds.ts";
import { reasonOf, type Reply } from "./http/refusals.ts";
import {
  type Datum,
  type EncodedRequest,
  type Encoding,
  type ForwardBackwardRequest,
  protobufType,
} from "./wire/encoding.ts";
import { jsonEncoding } from "./wire/json-encoding.ts";
import { protobufEncoding } from "./wire/protobuf-encoding.ts";

export class NegotiatedEncoding {
  /** Encoding to use for the next request. */
  current: Encoding;
  readonly #mayChange: boolean;

  constructor({ encoding }: Pick<ServerKind, "encoding">) {
    this.current = encoding === "json" ? jsonEncoding : protobufEncoding;
    this.#mayChange = encoding === "auto";
  }

  encode(request: ForwardBackwardRequest, data: readonly Datum[]): EncodedRequest {
    const encoding = this.current;
    return encoding.request(
      request,
      data.map((datum) => encoding.datum(datum)),
    );
  }

  /**
   * True if the server refused a request only because of its encoding. The caller must then repeat it in the other
   * encoding, which later requests use too.
   */
  shouldRetry(reply: Reply, { contentType }: EncodedRequest): boolean {
    if (!this.#mayChange || contentType !== protobufType) return false;
    const isOfEncoding =
      reply.status === 415 || ([400, 422].includes(reply.status) && jsonPattern.test(reasonOf(reply)));
    if (isOfEncoding) this.current = jsonEncoding;
    return isOfEncoding;
  }
}

/** Matches error messages of servers that expected JSON, or fields of a JSON object. */
const jsonPattern = /json|decode|utf-?8|content.?type|field required|valid dictionary/i;
