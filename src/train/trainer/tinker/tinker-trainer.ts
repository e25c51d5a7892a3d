// A trainer for a model on a remote server. The server returns log-probabilities; this class computes the loss and its
// slopes, and sends the slopes to the server as token weights. It sends them only with the optimizer step, when the
// number of sequences is known.
import { batchLoss } from "../losses/batch-loss.ts";
import { SerialCalls, throwIfAborted } from "../serial-calls.ts";
import { invalid, ServiceError } from "../../../base/domain/service-error.ts";
import {
  type ForwardBackwardResult,
  type ForwardOptions,
  type ForwardResult,
  type Loss,
  type OptimizerStep,
  type OptimizerStepResult,
  type Trainer,
  type TrainerCall,
  type TrainerProvider,
  type TrainingSequence,
  requireLossInputs,
  requireTrainable,
} from "../trainer.ts";
import { atTrainedTargets, datumOf, gradientData, type SlopedSequence } from "./data.ts";
import type { RemoteModel, TinkerService } from "./remote-model.ts";

export interface TinkerTrainerParts {
  readonly service: TinkerService;
  readonly model: RemoteModel;
  readonly limits: Pick<TrainerProvider, "sequenceLengthMax">;
  /** Opens an untrained model that serves as the base model. It is called once, and again only after a failure. */
  readonly openBase: (signal: AbortSignal) => Promise<RemoteModel>;
  readonly exportTo: (folder: string, name: string) => Promise<void>;
  readonly discard: (state: string) => Promise<void>;
  /** Ends the session with the server, which then removes the session's models. */
  readonly end: () => Promise<void>;
}

export class TinkerTrainer implements Trainer {
  readonly #parts: TinkerTrainerParts;
  readonly #calls = new SerialCalls();
  /** Sequences that the next optimizer step trains on, with the slopes of their loss. */
  #pending: SlopedSequence[] = [];
  #base: Promise<RemoteModel> | null = null;
  /** For each name, the server's name of the last state that was saved under it. */
  readonly #states = new Map<string, string>();
  #nameCount = 0;
  /** Reason why the trainer cannot be used any more; null while it can be used. */
  #fault: ServiceError | null = null;
  #ending: Promise<void> | null = null;

  constructor(parts: TinkerTrainerParts) {
    this.#parts = parts;
  }

  forward(
    data: readonly TrainingSequence[],
    call: TrainerCall,
    { hasAdapter = true }: ForwardOptions = {},
  ): Promise<ForwardResult> {
    return this.#run("forward", call, async () => {
      requireTrainable(data, this.#parts.limits);
      const model = hasAdapter ? this.#parts.model : await this.#openBase(call.signal);
      return { logprobs: await logprobsOf(model, data, call.signal) };
    });
  }

  forwardBackward(
    data: readonly TrainingSequence[],
    loss: Loss,
    call: TrainerCall,
  ): Promise<ForwardBackwardResult> {
    return this.#run("forwardBackward", call, async () => {
      requireTrainable(data, this.#parts.limits);
      requireLossInputs(data, loss);
      const logprobs = await logprobsOf(this.#parts.model, data, call.signal);
      const inputs = data.map((sequence, row) => ({ sequence, logprobs: logprobs[row] }));
      const { loss: value, slopes } = batchLoss(inputs, loss);
      requireFinite(value, slopes);
      throwIfAborted(call.signal);
      this.#pending.push(...inputs.map((input, row) => ({ ...input, slopes: slopes[row] })));
      return { loss: value, logprobs, metrics: {} };
    });
  }

  optimStep(step: OptimizerStep, call: TrainerCall): Promise<OptimizerStepResult> {
    return this.#run("optimStep", call, async () => {
      if (this.#pending.length === 0)
        throw invalid("There is no gradient to step with; call forwardBackward first.");
      const { model, service } = this.#parts;
      try {
        await model.forwardBackward(gradientData(this.#pending, service.kind), "importance_sampling");
        const measured = await model.optimStep(step);
        this.#pending = [];
        return { metrics: metricsOf(measured) };
      } catch (error) {
        // The server may have added a part of the gradient before the call failed. Nothing can remove that part, so the
        // trainer becomes unusable.
        this.#fault = unfinished(error);
        throw error;
      }
    });
  }

  saveState(name: string, call: TrainerCall): Promise<string> {
    return this.#run("saveState", call, async () => {
      const state = await this.#parts.model.saveState(this.#nameFor(name));
      const earlier = this.#states.get(name);
      this.#states.set(name, state);
      // Ignores a failure to remove the earlier state; a run that continues from the new state removes it later.
      if (earlier !== undefined) await this.#parts.discard(earlier).catch(() => undefined);
      return state;
    });
  }

  exportAdapter(folder: string, call: TrainerCall): Promise<void> {
    return this.#run("exportAdapter", call, () => this.#parts.exportTo(folder, this.#nameFor("adapter")));
  }

  close(): Promise<void> {
    return (this.#ending ??= this.#close());
  }

  async #close(): Promise<void> {
    await this.#calls.close();
    this.#pending = [];
    await this.#parts.end();
  }

  #run<Result>(method: string, call: TrainerCall, action: () => Promise<Result>): Promise<Result> {
    return this.#calls.run(method, call, () => {
      if (this.#fault !== null) throw this.#fault;
      return action();
    });
  }

  #openBase(signal: AbortSignal): Promise<RemoteModel> {
    if (!this.#parts.service.kind.hasBasePass)
      throw new ServiceError({ code: "unsupported", message: "This trainer has no base pass." });
    const opening = (this.#base ??= this.#parts.openBase(signal));
    opening.catch(() => (this.#base = null));
    return opening;
  }

  /** Returns a name that the server accepts: at most 255 letters, digits, `_` and `-`. It is unique per model. */
  #nameFor(name: string): string {
    this.#nameCount += 1;
    return `${name.replaceAll(/[^\w-]/g, "_").slice(-200)}-${this.#nameCount}`;
  }
}

async function logprobsOf(
  model: RemoteModel,
  data: readonly TrainingSequence[],
  signal: AbortSignal,
): Promise<readonly Float32Array[]> {
  const all = await model.forward(data.map(datumOf), signal);
  return data.map((sequence, row) => atTrainedTargets(sequence, all[row]));
}

function requireFinite(loss: number, slopes: readonly (readonly number[])[]): void {
  if (Number.isFinite(loss) && slopes.every((each) => each.every(Number.isFinite))) return;
  throw new ServiceError({
    code: "unsupported",
    message: "The loss is not finite, so training stopped; lower the learning rate or check the rewards.",
  });
}

/** Finds the gradient norm in the server's metrics. Servers use different names for it, with or without a prefix. */
function metricsOf(measured: Readonly<Record<string, unknown>>): Readonly<Record<string, number>> {
  const [, norm] = Object.entries(measured).find(([name]) => /(?:^|[/:_])grad_norm\b/.test(name)) ?? [];
  if (typeof norm !== "number") return {};
  if (Number.isFinite(norm)) return { gradient_norm: norm };
  throw new ServiceError({
    code: "unsupported",
    message: "The gradient is not finite, so training stopped; lower the learning rate.",
  });
}

function unfinished(cause: unknown): ServiceError {
  return new ServiceError({
    code: "unavailable",
    message: "A step of the trainer failed halfway; training continues from its last state.",
    cause,
  });
}
