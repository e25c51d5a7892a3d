// Calls of a training process that serves one live model, and their results.
import type { Failure } from "../../../base/processes/serialized-error.ts";
import type { TrainingLoad } from "../../trainer/child-protocol.ts";
import type { OptimizerStep, TrainerStart } from "../../trainer/trainer.ts";
import type { SessionLoss } from "./losses.ts";

/** A sequence, with one value per target for each input of the loss. */
export interface SessionDatum {
  /** Input tokens. */
  readonly tokens: Int32Array;
  /** For each input token, the next token whose log-probability counts in the loss. */
  readonly targets: Int32Array;
  readonly inputs: Readonly<Record<string, Float32Array>>;
}

/** Each kind of call, with its arguments and its result. */
export interface SessionCalls {
  readonly open: { readonly arguments: { readonly start: TrainerStart }; readonly result: null };
  readonly compute: {
    readonly arguments: {
      readonly data: readonly SessionDatum[];
      readonly loss: SessionLoss;
      /** True to compute log-probabilities and the loss without a gradient. */
      readonly isForwardOnly: boolean;
    };
    readonly result: {
      /** Log-probability of each target. */
      readonly logprobs: readonly Float32Array[];
      readonly metrics: Readonly<Record<string, number>>;
    };
  };
  readonly step: {
    readonly arguments: { readonly step: OptimizerStep };
    readonly result: Readonly<Record<string, number>>;
  };
  /** Writes the adapter, and optionally the trainer's state, to an empty folder. */
  readonly export: {
    readonly arguments: { readonly folder: string; readonly hasState: boolean };
    readonly result: { readonly adapterHash: string; readonly stateFile: string | null };
  };
}

export type CallKind = keyof SessionCalls;

export type SessionRequest = {
  [Kind in CallKind]: { readonly id: number; readonly kind: Kind } & SessionCalls[Kind]["arguments"];
}[CallKind];

export type SessionEvent =
  /** Heartbeat of a process that works. */
  | { readonly kind: "alive" }
  | { readonly kind: "done"; readonly id: number; readonly result: unknown }
  | { readonly kind: "failed"; readonly id: number; readonly failure: Failure };

export interface SessionProtocol {
  readonly load: TrainingLoad;
  readonly ready: { readonly sequenceLengthMax: number };
  readonly request: SessionRequest;
  readonly event: SessionEvent;
}
