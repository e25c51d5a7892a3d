// What an engine and its carrier say to each other across processes. Each call has a number, since a request's id may come
// again as soon as it has ended on one side.
import type { AdapterReference, EngineState, GenerationRequest } from "../../../base/domain/generation.ts";
import type { TransferAsk } from "./carried-transfers.ts";
import type { PackedOutputs } from "./packed-outputs.ts";

export type CarrierRequest =
  | { readonly kind: "submit"; readonly call: number; readonly request: GenerationRequest }
  | { readonly kind: "abort"; readonly call: number }
  | { readonly kind: "stop-choice"; readonly call: number; readonly choice: number }
  | { readonly kind: "prepare-adapter"; readonly call: number; readonly reference: AdapterReference }
  | { readonly kind: "drop-adapter"; readonly id: string }
  | { readonly kind: "transfer"; readonly call: number; readonly ask: TransferAsk };

/** What has gathered of one step or several; see `EventOutbox`. */
export interface CarrierEvents {
  readonly outputs: PackedOutputs;
  /** The values of the engine's gauges, in their order. */
  readonly gauges: readonly number[];
}

export interface CarrierProtocol {
  /** What the engine is made of; its maker in the process knows. */
  readonly load: unknown;
  readonly ready: {
    readonly state: Extract<EngineState, { readonly kind: "ready" }>;
    /** What `roomFor` says of one choice, and of as many beams as the index says. */
    readonly rooms: readonly number[];
  };
  readonly request: CarrierRequest;
  readonly event: CarrierEvents;
}
