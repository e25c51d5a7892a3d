// For tests of whole jobs: trainers that record their calls and pass them to other trainers.
import type {
  OptimizerStep,
  Trainer,
  TrainerCall,
  TrainerProvider,
  TrainerStart,
  TrainingSequence,
} from "../trainer.ts";

/** A recorded call of a method of the trainer contract. */
export type RecordedCall =
  | { readonly kind: "open"; readonly start: TrainerStart; readonly run: string }
  | {
      readonly kind: "forward" | "forward of the base" | "forwardBackward";
      readonly data: readonly TrainingSequence[];
    }
  | { readonly kind: "optimStep"; readonly step: OptimizerStep }
  | { readonly kind: "saveState"; readonly name: string }
  | { readonly kind: "discard"; readonly state: string }
  | { readonly kind: "exportAdapter" | "close" };

export class RecordingTrainers implements TrainerProvider {
  /** All calls, in the order in which they were made. */
  readonly calls: RecordedCall[] = [];
  /** Ids of the calls in `calls` that have one, in the same order. */
  readonly ids: string[] = [];
  /** Memory check of the wrapped trainers; absent if they have none. */
  requireMemory?: NonNullable<TrainerProvider["requireMemory"]>;
  /** Called with each call before the call is passed to the wrapped trainers. */
  onCall: (call: RecordedCall) => void = () => undefined;
  readonly #trainers: TrainerProvider;

  constructor(trainers: TrainerProvider) {
    this.#trainers = trainers;
  }

  get profile(): TrainerProvider["profile"] {
    return this.#trainers.profile;
  }

  get sequenceLengthMax(): number {
    return this.#trainers.sequenceLengthMax;
  }

  async discard(state: string): Promise<void> {
    this.calls.push({ kind: "discard", state });
    await this.#trainers.discard(state);
  }

  async open(start: TrainerStart, run: TrainerCall): Promise<Trainer> {
    const opening = { kind: "open", start, run: run.id } as const;
    this.calls.push(opening);
    this.onCall(opening);
    const trainer = await this.#trainers.open(start, run);
    const record = (call: RecordedCall, { id }: TrainerCall): void => {
      this.calls.push(call);
      this.ids.push(id);
      this.onCall(call);
    };
    return {
      forward: (data, call, options) => {
        const isBase = options?.hasAdapter === false;
        record({ kind: isBase ? "forward of the base" : "forward", data }, call);
        return trainer.forward(data, call, options);
      },
      forwardBackward: (data, loss, call) => {
        record({ kind: "forwardBackward", data }, call);
        return trainer.forwardBackward(data, loss, call);
      },
      optimStep: (step, call) => {
        record({ kind: "optimStep", step }, call);
        return trainer.optimStep(step, call);
      },
      saveState: (name, call) => {
        record({ kind: "saveState", name }, call);
        return trainer.saveState(name, call);
      },
      exportAdapter: (folder, call) => {
        record({ kind: "exportAdapter" }, call);
        return trainer.exportAdapter(folder, call);
      },
      close: () => {
        this.calls.push({ kind: "close" });
        return trainer.close();
      },
    };
  }
}
