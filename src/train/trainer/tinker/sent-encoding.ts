// Which encoding a server takes: where its kind does not say, protocol buffers are tried, and JSON from the first request on
// that they are refused in.
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

export class SentEncoding {
  /** Of the next request. */
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

  /** Whether a request was refused for its encoding alone, and comes again in another. */
  goesOn(reply: Reply, { contentType }: EncodedRequest): boolean {
    if (!this.#mayChange || contentType !== protobufType) return false;
    const isOfEncoding =
      reply.status === 415 || ([400, 422].includes(reply.status) && jsonPattern.test(reasonOf(reply)));
    if (isOfEncoding) this.current = jsonEncoding;
    return isOfEncoding;
  }
}

/** How servers say that a body is no JSON, or has none of the fields of one. */
const jsonPattern = /json|decode|utf-?8|content.?type|field required|valid dictionary/i;
