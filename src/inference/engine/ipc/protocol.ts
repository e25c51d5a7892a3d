// Messages between an engine's process and its parent. Messages identify calls by number instead of by request id. A
// client may reuse an id as soon as one of the two processes considers its request ended, so ids would be ambiguous.
import type { AdapterReference, EngineState, GenerationRequest } from "../../../base/domain/generation.ts";
import type { TransferAsk } from "./ipc-transfers.ts";
import type { PackedOutputs } from "./packed-outputs.ts";

export type IpcRequest =
  | { readonly kind: "submit"; readonly call: number; readonly request: GenerationRequest }
  | { readonly kind: "abort"; readonly call: number }
  | { readonly kind: "stop-choice"; readonly call: number; readonly choice: number }
  | { readonly kind: "prepare-adapter"; readonly call: number; readonly reference: AdapterReference }
  | { readonly kind: "drop-adapter"; readonly id: string }
  | { readonly kind: "transfer"; readonly call: number; readonly ask: TransferAsk };

/** Outputs of one or several steps. `EventOutbox` decides when they are sent. */
export interface IpcEvents {
  readonly outputs: PackedOutputs;
  /** Values of the engine's gauges, in the order of its list of gauges. */
  readonly gauges: readonly number[];
}

export interface IpcProtocol {
  /** Parameters of the engine. Only the module that the process runs knows their type. */
  readonly load: unknown;
  readonly ready: {
    readonly state: Extract<EngineState, { readonly kind: "ready" }>;
    /**
     * Results of `roomFor`: index 0 has the result for one sampled choice, index n the result for a beam search with n
     * beams.
     */
    readonly rooms: readonly number[];
  };
  readonly request: IpcRequest;
  readonly event: IpcEvents;
}
