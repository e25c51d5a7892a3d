// How data go to a server and what it computes of them comes back: as protocol buffers, or as JSON where a server is older
// than August 2026. Both say the same.

/** A sequence as the server takes it: each input token with the one that follows, and numbers for each of these. */
export interface Datum {
  /** All tokens but the last. */
  readonly inputs: Int32Array;
  /** All tokens but the first. */
  readonly targets: Int32Array;
  /** 1 where a target trains, else 0. */
  readonly weights: Float32Array;
  /** What the loss compares with, and how much each target counts; without them it is computed forwards alone. */
  readonly loss?: { readonly logprobs: Float32Array; readonly advantages: Float32Array };
}

/** Which loss a server computes. Ratios to given log-probabilities, times advantages; or the negative log-probability. */
export type LossName = "importance_sampling" | "cross_entropy";

export interface ForwardBackwardRequest {
  readonly modelId: string;
  /** Grows by 1 with each operation of a model. */
  readonly seqId: number;
  readonly loss: LossName;
  /** Whether no gradient is wanted. */
  readonly isForwardOnly: boolean;
}

export interface EncodedRequest {
  /** Below `/api/v1`. */
  readonly path: string;
  readonly contentType: string;
  readonly body: Uint8Array;
}

export interface Encoding {
  /** One of the data, alone: what is joined in a request. */
  datum(datum: Datum): Uint8Array;
  request(request: ForwardBackwardRequest, data: readonly Uint8Array[]): EncodedRequest;
  /** What it is asked for results in. */
  readonly accept: string;
}

export const protobufType = "application/x-protobuf";
export const jsonType = "application/json";
