// Trainers that write down how they are called and leave the work to others: what a test of a whole job looks at.
import type {
  OptimizerStep,
  Trainer,
  TrainerCall,
  TrainerProvider,
  TrainerStart,
  TrainingSequence,
} from "../trainer.ts";

/** One call, in the words of the contract. */
export type RecordedCall =
  | { readonly kind: "open"; readonly start: TrainerStart }
  | {
      readonly kind: "forward" | "forward of the base" | "forwardBackward";
      readonly data: readonly TrainingSequence[];
    }
  | { readonly kind: "optimStep"; readonly step: OptimizerStep }
  | { readonly kind: "save" | "close" };

export class RecordingTrainers implements TrainerProvider {
  /** In the order in which they were made. */
  readonly calls: RecordedCall[] = [];
  /** The ids of all calls that have one. */
  readonly ids: string[] = [];
  /** Called with each call before it is carried out. */
  onCall: (call: RecordedCall) => void = () => undefined;
  readonly #trainers: TrainerProvider;

  constructor(trainers: TrainerProvider) {
    this.#trainers = trainers;
  }

  get capabilities(): TrainerProvider["capabilities"] {
    return this.#trainers.capabilities;
  }

  get sequenceLengthMax(): number {
    return this.#trainers.sequenceLengthMax;
  }

  requireMemory(...batches: Parameters<TrainerProvider["requireMemory"]>): Promise<void> {
    return this.#trainers.requireMemory(...batches);
  }

  async open(start: TrainerStart): Promise<Trainer> {
    this.calls.push({ kind: "open", start });
    const trainer = await this.#trainers.open(start);
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
      save: (target, call) => {
        record({ kind: "save" }, call);
        return trainer.save(target, call);
      },
      close: () => {
        this.calls.push({ kind: "close" });
        return trainer.close();
      },
    };
  }
}
