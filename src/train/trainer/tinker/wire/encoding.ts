// Encodes data and decodes results, either as protocol buffers, or as JSON for servers older than August 2026. Both
// encodings have the same content.

/**
 * A sequence in the server's format. The target of each input token is the next token, and there are further values for
 * each target.
 */
export interface Datum {
  /** Input tokens: all tokens of the sequence except the last. */
  readonly inputs: Int32Array;
  /** Target tokens: all tokens of the sequence except the first. */
  readonly targets: Int32Array;
  /** For each target, 1 if it is trained on, otherwise 0. */
  readonly weights: Float32Array;
  /**
   * Inputs of the loss for each target: its old log-probability and its advantage. Absent if only a forward pass is
   * requested.
   */
  readonly loss?: { readonly logprobs: Float32Array; readonly advantages: Float32Array };
}

/**
 * Name of a loss on the server. `importance_sampling` is a token's current probability divided by a given one, times
 * the advantage; `cross_entropy` is the negative log-probability.
 */
export type LossName = "importance_sampling" | "cross_entropy";

export interface ForwardBackwardRequest {
  readonly modelId: string;
  /** Sequence number, which grows by 1 with each operation on a model. */
  readonly seqId: number;
  readonly loss: LossName;
  /** True to request only a forward pass, without a gradient. */
  readonly isForwardOnly: boolean;
}

export interface EncodedRequest {
  /** URL path below `/api/v1`. */
  readonly path: string;
  readonly contentType: string;
  readonly body: Uint8Array;
}

export interface Encoding {
  /** Encodes one sequence as a part of a request's body. */
  datum(datum: Datum): Uint8Array;
  request(request: ForwardBackwardRequest, data: readonly Uint8Array[]): EncodedRequest;
  /** Content type in which Hone requests results. */
  readonly accept: string;
}

export const protobufType = "application/x-protobuf";
export const jsonType = "application/json";
