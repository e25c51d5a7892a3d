// For tests: requests and results of the stub server in a simple form, with numbers instead of byte arrays.
import { readJson as readJsonRequest, type JsonRequest } from "../wire/read-json-request.ts";
import {
  readProtobuf as readProtobufRequest,
  type ReceivedRequest as Received,
} from "../wire/read-request.ts";
import { writeJson as writeJsonResult, writeProtobuf as writeProtobufResult } from "../wire/write-result.ts";

export type { JsonRequest };

export interface ReceivedDatum {
  readonly tokens: readonly number[];
  /** Inputs of the loss, by name. Each has one value per target. */
  readonly inputs: Readonly<Record<string, readonly number[]>>;
}

export interface ReceivedRequest extends Pick<Received, "modelId" | "seqId" | "loss" | "isForwardOnly"> {
  readonly data: readonly ReceivedDatum[];
}

export const readProtobuf = (message: Uint8Array): ReceivedRequest => plain(readProtobufRequest(message));
export const readJson = (body: JsonRequest): ReceivedRequest => plain(readJsonRequest(body));

export const writeProtobuf = (logprobs: readonly Float32Array[]): Uint8Array =>
  writeProtobufResult({ logprobs, metrics: {} });
export const writeJson = (logprobs: readonly Float32Array[]): unknown =>
  writeJsonResult({ logprobs, metrics: {} });

function plain({ modelId, seqId, loss, isForwardOnly, data }: Received): ReceivedRequest {
  const numbers = ({ tokens, inputs }: Received["data"][number]): ReceivedDatum => ({
    tokens: [...tokens],
    inputs: Object.fromEntries([...inputs].map(([name, { values }]) => [name, [...values]])),
  });
  return { modelId, seqId, loss, isForwardOnly, data: data.map(numbers) };
}
