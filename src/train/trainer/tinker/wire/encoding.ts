// Encoding of data and results: protocol buffers, or JSON for servers older than August 2026. Both carry the same
// content.

/** A sequence in the server's form: each input token with its successor, and values for each pair. */
export interface Datum {
  /** All tokens except the last. */
  readonly inputs: Int32Array;
  /** All tokens except the first. */
  readonly targets: Int32Array;
  /** 1 if the target trains, else 0. */
  readonly weights: Float32Array;
  /** Old log-probability and weight of each target; absent for a forward pass only. */
  readonly loss?: { readonly logprobs: Float32Array; readonly advantages: Float32Array };
}

/** The server's loss: ratios to given log-probabilities times advantages, or the negative log-probability. */
export type LossName = "importance_sampling" | "cross_entropy";

export interface ForwardBackwardRequest {
  readonly modelId: string;
  /** Grows by 1 with each operation of a model. */
  readonly seqId: number;
  readonly loss: LossName;
  /** True to compute no gradient. */
  readonly isForwardOnly: boolean;
}

export interface EncodedRequest {
  /** Path below `/api/v1`. */
  readonly path: string;
  readonly contentType: string;
  readonly body: Uint8Array;
}

export interface Encoding {
  /** Encodes one datum, to be joined into a request. */
  datum(datum: Datum): Uint8Array;
  request(request: ForwardBackwardRequest, data: readonly Uint8Array[]): EncodedRequest;
  /** Content type requested for results. */
  readonly accept: string;
}

export const protobufType = "application/x-protobuf";
export const jsonType = "application/json";
