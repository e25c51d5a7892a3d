// For tests: a model on the stub server, with the trainer that computes its results. It also stores the data received
// since the last optimizer step, with the derivatives of the server's own loss.
import type { OptimizerStep, Trainer, TrainingSequence } from "../../trainer.ts";
import type { ReceivedDatum } from "./stub-wire.ts";

/** A received sequence, and the derivative of the loss with respect to the log-probability of each target. */
interface Counted {
  readonly datum: ReceivedDatum;
  readonly slopes: readonly number[];
}

export class StubModel {
  readonly trainer: Trainer;
  readonly rank: number;
  readonly #normalization: "sum" | "mean-of-data";
  #pending: Counted[] = [];
  #count = 0;

  constructor(trainer: Trainer, rank: number, normalization: "sum" | "mean-of-data") {
    this.trainer = trainer;
    this.rank = rank;
    this.#normalization = normalization;
  }

  /**
   * Computes the log-probabilities of all targets. Also adds the data to the gradient, unless the call is only a
   * forward pass.
   */
  async compute(
    data: readonly ReceivedDatum[],
    { loss, isForwardOnly }: { readonly loss: string; readonly isForwardOnly: boolean },
  ): Promise<readonly Float32Array[]> {
    const { logprobs } = await this.trainer.forward(
      data.map((datum) => sequenceOf(datum)),
      this.#call(),
    );
    if (!isForwardOnly)
      this.#pending.push(
        ...data.map((datum, row) => ({ datum, slopes: slopesOf(loss, datum, logprobs[row]) })),
      );
    return logprobs;
  }

  async step(step: OptimizerStep): Promise<number> {
    const pending = this.#pending;
    this.#pending = [];
    const scaled = pending.map(({ datum, slopes }) => {
      const divisor =
        this.#normalization === "sum" ? 1 : Math.max(sumOf(datum.inputs["weights"]), 1e-9) * pending.length;
      return { datum, slopes: slopes.map((slope) => slope / divisor) };
    });
    const size = scaled.reduce((count, { slopes }) => count + slopes.length, 0) + 1e-6;
    const weighed = scaled.map(({ datum, slopes }) => ({
      ...sequenceOf(datum),
      weight: size,
      tokenWeights: Float32Array.from([0, ...slopes.map((slope) => -slope)]),
    }));
    await this.trainer.forwardBackward(weighed, { kind: "cross-entropy" }, this.#call());
    return (await this.trainer.optimStep(step, this.#call())).metrics["gradient_norm"];
  }

  #call(): { readonly id: string; readonly signal: AbortSignal } {
    return { id: `${(this.#count += 1)}`, signal: new AbortController().signal };
  }
}

/** Converts a received sequence to a training sequence in which every token except the first is trained. */
function sequenceOf({ tokens, inputs }: ReceivedDatum): TrainingSequence {
  const targets = inputs["target_tokens"];
  const tokenIds = Int32Array.from([...tokens, targets[targets.length - 1]]);
  return {
    tokenIds,
    targetIds: Int32Array.from([tokens[0], ...targets]),
    mask: new Uint8Array(tokenIds.length).fill(1, 1),
    oldLogprobs: new Float32Array(tokenIds.length).fill(NaN),
    advantage: 0,
    weight: 1,
    group: 0,
  };
}

/** Returns the derivatives of the server's weighted loss with respect to the log-probabilities. */
function slopesOf(loss: string, { inputs }: ReceivedDatum, logprobs: Float32Array): readonly number[] {
  const { weights, advantages, logprobs: given } = inputs;
  if (loss === "cross_entropy") return weights.map((weight) => -weight);
  if (loss !== "importance_sampling") throw new Error(`Loss functions ['${loss}'] are not supported here`);
  return weights.map((weight, at) =>
    weight === 0 ? 0 : -weight * advantages[at] * Math.exp(logprobs[at] - given[at]),
  );
}

function sumOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}
